"""A remembered call: the ops that a function ran, as a straight line of bound kernels on the arguments of the next call.

``learn`` makes plans; here they are kept and run.  Slots hold the tensors: the arguments, then the constants, then what the
steps give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from headrace.eager import record
from headrace.eager.binding import HOST, READ, VALUE, Bound, host_numbers, run
from headrace.eager.failure import explain
from headrace.eager.tensor import EagerTensor

_EXACT = {torch.mm: (2, 2), torch.bmm: (3, 3)}
_BY_DEFAULT = {
    torch.stack: (0,),
    torch.cat: (0,),
}  # arguments that torch takes by default in less time than it reads them
_tapes = record.active.get


class Step:
    """One op of a plan: ``refs`` are the slots of its inputs."""

    __slots__ = (
        "bound", "constants", "count", "exact", "function", "kind", "listed", "next", "pair", "quick", "reads", "refs",
        "rest", "run", "tail", "whole",
    )  # fmt: skip

    def __init__(
        self, bound: Bound, refs: Sequence[int], constants: dict[int, Any], ranks: Sequence[int] | None = None
    ) -> None:
        """``ranks``: of the arguments, which come first, where plans are kept by them."""
        self.bound = bound
        self.constants: tuple[Any, ...] = ()  # the inputs after the arguments, in a plan of one step
        self.refs = tuple(refs)
        self.function = bound.function
        self.kind = bound.kind
        self.listed = bound.grouped
        self.reads = READ in bound.codes
        self.count = _before_constants(bound, self.refs, constants)  # of the inputs that the kernel gets first
        self.whole = self.count == len(refs)
        self.quick = (
            bound.kind >= 0 and self.count >= 0 and not (bound.keywords or bound.stateful or bound.wants_node or bound.writes)
            and all(code in (VALUE, READ) for code in bound.codes[: self.count])
            and all(r in constants for r in self.refs[self.count :])
        )  # fmt: skip
        self.tail: tuple[Any, ...] = ()  # what it gets after them
        if self.quick:
            after = zip(self.refs[self.count :], bound.codes[self.count :], strict=True)
            numbers = [host_numbers(constants[r]) if c == HOST else constants[r]._value for r, c in after]
            self.tail = (*numbers, *bound.attrs)
            if _BY_DEFAULT.get(self.function) == self.tail:
                self.tail = ()
        self.pair = self.count if self.quick and not self.listed and not self.reads and 0 < self.count <= 2 else 0
        self.run = self.function
        # The same for the entry, which asks for None and nothing else: ``next`` if there is one, ``rest`` if there are several.
        one = len(self.tail) == 1 and self.tail[0] is not None
        self.next: Any = self.tail[0] if one else (self.tail or None)
        self.rest = None if one else self.tail
        # The ranks of the arguments where the function refuses all others by itself.
        self.exact = _EXACT.get(self.function) if self.quick and ranks else None
        if self.exact is not None and self.exact != tuple(ranks or ()):
            self.exact = None

    def failed(self, error: Exception, inputs: Sequence[Any]) -> BaseException:
        """What to raise for an error of the function."""
        return explain(error, self.bound.op_def, inputs)


def _before_constants(bound: Bound, refs: Sequence[int], constants: dict[int, Any]) -> int:
    """How many inputs come before those that are constants; a list, if any, comes first and stays whole, else -1."""
    signature = bound.op_def.signature.inputs
    if bound.grouped:
        one_list = signature[0].is_list and not any(a.is_list for a in signature[1:])
        return len(refs) - len(signature) + 1 if one_list else -1
    count = len(refs)
    while count and refs[count - 1] in constants:
        count -= 1
    return count


class Plan:
    """The steps and which slots are the result: an int, or a list (None for None) and ``wrap`` for it."""

    __slots__ = ("alone", "constants", "result", "steps", "wrap")

    def __init__(self, steps: Sequence[Step], constants: Sequence[Any], result: Any, wrap: Any, arguments: int) -> None:
        self.steps = tuple(steps)
        self.constants = list(constants)
        self.result = result
        self.wrap = wrap
        # The commonest plan, one op on the tensors given, in their order, is run without slots.
        first = self.steps[0] if len(self.steps) == 1 else None
        order = tuple(range(arguments + len(self.constants)))
        straight = first is not None and first.quick and first.refs == order and wrap is None
        self.alone = first if straight and result == len(order) else None
        if self.alone is not None:
            self.alone.constants = tuple(self.constants)

    def run(self, tensors: Sequence[Any], context: Any) -> Any:
        """The result of the call on these tensors."""
        slots = [*tensors, *self.constants]
        tapes = _tapes()
        for step in self.steps:
            if step.pair and not tapes:  # the commonest, in one piece
                function, refs, tail = step.function, step.refs, step.tail
                try:
                    first = slots[refs[0]]._value
                    if step.pair == 2:
                        second = slots[refs[1]]._value
                        value = function(first, second, *tail) if tail else function(first, second)
                    else:
                        value = function(first, *tail) if tail else function(first)
                except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
                    raise step.failed(e, [slots[i] for i in refs]) from e
                made = EagerTensor()
                made._value = value
                made._kind = step.kind
                slots.append(made)
            elif step.quick:
                slots.append(_quick(step, [slots[i] for i in step.refs], tapes))
            else:
                slots.extend(run(step.bound, [slots[i] for i in step.refs], context))
        if self.wrap is None:
            return slots[self.result]
        return self.wrap([None if i is None else slots[i] for i in self.result])


def _quick(step: Step, inputs: Sequence[Any], tapes: Sequence[Any]) -> Any:
    """One plain op: tensors in, one tensor out."""
    try:
        if step.reads:
            inputs = [record.snapshot(tapes, t) for t in inputs]
            values = [t._value for t in inputs[: step.count]]
        elif step.whole:
            values = [t._value for t in inputs]
        else:
            values = [t._value for t in inputs[: step.count]]
        function = step.function
        value = function(values, *step.tail) if step.listed else function(*values, *step.tail)
    except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
        raise step.failed(e, inputs) from e
    made = EagerTensor()
    made._value = value
    made._kind = step.kind
    if tapes:
        record.keep(tapes, step.bound, inputs, (made,))
    return made
