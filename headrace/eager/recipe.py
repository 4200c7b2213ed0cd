"""A remembered call: the ops that a function ran, as a straight line of bound kernels on the tensors of the next call.

``learn`` makes recipes; this file runs them.  Slots hold the tensors: the arguments, then the constants, then the outputs of
the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.wording import cause
from headrace.eager import tape_entry
from headrace.eager.binding import HOST, VALUE, Bound, host_numbers, run
from headrace.eager.failure import op_error
from headrace.eager.tensor import EagerTensor
from headrace.graph.context import get_default_graph


class Step:
    """One op of a recipe: ``refs`` are the slots of its inputs.

    A ``plain`` op takes the tensors in the slots ``first``, then constants, and gives one tensor.  ``rest`` is what its kernel
    receives after the first ones: the constants in the form it takes, and the attributes.
    """

    __slots__ = ("bound", "first", "kernel", "later", "listed", "out_enum", "plain", "refs", "rest")

    def __init__(self, bound: Bound, refs: Sequence[int], constants: dict[int, Any]) -> None:
        count = _before_constants(bound, refs, constants)
        self.bound = bound
        self.kernel = bound.kernel
        self.out_enum = bound.out_enum
        self.listed = bound.grouped  # the kernel gets the first inputs as one list
        self.refs = tuple(refs)
        self.first, self.later = self.refs[:count], self.refs[count:]
        self.plain = bound.simple and count >= 0 and all(code == VALUE for code in bound.codes[:count])
        self.rest: tuple[Any, ...] = ()
        if self.plain:
            values = [
                host_numbers(constants[r]) if code == HOST else constants[r]._value
                for r, code in zip(self.later, bound.codes[count:], strict=True)
            ]
            self.rest = (*values, *bound.attrs)

    def run(self, first: Sequence[Any], later: Sequence[Any], tapes: Sequence[Any]) -> EagerTensor:
        """The output of a plain op on its first and later inputs."""
        kernel, rest, count = self.kernel, self.rest, len(first)
        try:
            if self.listed:
                value = kernel([t._value for t in first], *rest)
            elif count == 1:  # most ops have one tensor or two: a star too many costs as much as their kernels
                value = kernel(first[0]._value, *rest) if rest else kernel(first[0]._value)
            elif count == 2:
                value = kernel(first[0]._value, first[1]._value, *rest)
            else:
                value = kernel(*[t._value for t in first], *rest)
        except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
            raise op_error(e, self.bound.op_def, (*first, *later), self.bound.node_attrs) from cause(e)
        output = EagerTensor()
        output._value = value
        output._dtype_enum = self.out_enum
        if tapes:
            tape_entry.keep(tapes, self.bound, (*first, *later), (output,))
        return output


def _before_constants(bound: Bound, refs: Sequence[int], constants: dict[int, Any]) -> int:
    """How many inputs come before those that are constants; a list, if any, comes first and stays whole, else -1."""
    signature = bound.op_def.signature.inputs
    if bound.grouped:
        count = len(refs) - len(signature) + 1
        one_list = signature[0].is_list and not any(a.is_list for a in signature[1:])
        return count if one_list and all(r in constants for r in refs[count:]) else -1
    count = len(refs)
    while count and refs[count - 1] in constants:
        count -= 1
    return count


class Recipe:
    """The steps and which slots are the result: an int, or a list (None for None) and ``wrap`` for it."""

    __slots__ = ("alone", "constants", "result", "steps", "wrap")

    def __init__(self, steps: Sequence[Step], constants: Sequence[Any], result: Any, wrap: Any, arguments: int) -> None:
        self.steps = tuple(steps)
        self.constants = tuple(constants)
        self.result = result
        self.wrap = wrap
        self.alone: Step | None = None  # most recipes are one plain op on the arguments in order: no slots needed
        if len(self.steps) == 1 and self.steps[0].plain and wrap is None:
            order = tuple(range(arguments + len(self.constants)))
            step = self.steps[0]
            if result == len(order) and step.refs == order and len(step.first) == arguments:
                self.alone = step

    def run(self, tensors: Sequence[Any], tapes: Sequence[Any]) -> Any:
        """The result of the call on these tensors."""
        if self.alone is not None:
            return self.alone.run(tensors, self.constants, tapes)
        slots = [*tensors, *self.constants]
        for step in self.steps:
            if step.plain:
                slots.append(step.run([slots[i] for i in step.first], [slots[i] for i in step.later], tapes))
            else:
                slots += run(step.bound, [slots[i] for i in step.refs], get_default_graph())
        if self.wrap is None:
            return slots[self.result]
        return self.wrap([None if i is None else slots[i] for i in self.result])
