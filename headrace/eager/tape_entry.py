"""``TapeEntry``: what a tape keeps of an executed op.  It looks like a node to gradient rules and error messages.

``active`` is the stack of tapes of this thread.  A tape keeps the entries whose inputs depend on something it watches.  An
observer (``learn``) follows nothing and is told of every op.
"""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from typing import Any

from headrace.core.registry import OpDef, Rule
from headrace.core.source import UNKNOWN
from headrace.eager.tensor import EagerHandle, EagerTensor
from headrace.graph import context as graphs
from headrace.graph.operation import public_attr


class _Active:
    """The tapes of this thread, innermost last."""

    __slots__ = ("_tapes", "get")

    def __init__(self) -> None:
        self._tapes: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar("headrace_tapes", default=())
        self.get = self._tapes.get

    def set(self, tapes: tuple[Any, ...]) -> Any:
        graphs.eager_tapes.set(None)
        return self._tapes.set(tapes)

    def reset(self, token: Any) -> None:
        graphs.eager_tapes.set(None)
        self._tapes.reset(token)


active = _Active()
now = graphs.eager_tapes.get  # the last answer of ``watching_tapes``, or None if it must be asked again


def watching_tapes() -> tuple[Any, ...] | None:
    """The tapes of this thread; None if ops do not run eagerly, or if more than dtypes and attributes decides how they run."""
    if not graphs.get_default_graph().quick:
        return None
    tapes = active.get()
    graphs.eager_tapes.set(tapes)
    return tapes


class TapeEntry:
    """One executed op.  Keeps its inputs and outputs alive as long as a tape keeps it."""

    __slots__ = ("_outputs", "attrs", "bound", "inputs", "op_def", "rule")

    source = UNKNOWN
    origin = None
    control_inputs: tuple[Any, ...] = ()
    colocation: tuple[str, ...] = ()
    device = _device = ""
    node_def = None
    graph: Any = None  # the eager context, set there

    def __init__(
        self, op_def: OpDef, inputs: Sequence[Any], outputs: Sequence[Any], attrs: dict[str, Any],
        rule: Rule | None = None, bound: Any = None,
    ) -> None:  # fmt: skip
        self.op_def = op_def
        self.inputs = inputs
        self._outputs = outputs
        self.attrs = attrs
        self.rule = rule  # a gradient of its own (custom_gradient)
        self.bound = bound  # the binding it ran by, for the next call

    @property
    def type(self) -> str:
        return self.op_def.name

    @property
    def name(self) -> str:
        return self.op_def.name

    @property
    def outputs(self) -> list[Any]:
        return list(self._outputs)

    def values(self) -> tuple[Any, ...]:
        return tuple(self._outputs)

    def get_attr(self, name: str) -> Any:
        try:
            return public_attr(self.attrs[name])
        except KeyError:
            raise ValueError(
                f"Operation {self.type} has no attr named '{name}'; it has {sorted(self.attrs)}."
            ) from None

    def __repr__(self) -> str:
        return f"<{self.type} executed, {len(self.inputs)} inputs>"


def snapshot(tapes: Sequence[Any], tensor: Any) -> Any:
    """What an op reads: a tensor itself, or a tensor of a variable's present value, which the tapes take for the variable."""
    if tensor.__class__ is not EagerHandle:
        return tensor
    reading = EagerTensor()
    reading._value = tensor._value.value
    reading._dtype_enum = tensor._dtype_enum - 100  # the dtype of the value, not of the reference
    for tape in tapes:
        if tensor.trainable:
            tape.accessed(tensor)
        tracked = tape.tracked
        if tracked is not None and id(tensor) in tracked:
            tracked[id(reading)] = reading
            tape.aliases[id(reading)] = tensor
    return reading


def keep(tapes: Sequence[Any], bound: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Tells the tapes that an op ran: those that follow one of its inputs keep an entry."""
    entry: TapeEntry | None = None
    for tape in tapes:
        tracked = tape.tracked
        if tracked is None:
            tape.see(bound, inputs, outputs)
        elif bound.differentiable:
            for tensor in inputs:
                if id(tensor) in tracked:
                    if entry is None:
                        entry = TapeEntry(bound.op_def, inputs, outputs, bound.node_attrs, bound=bound)
                    tape.entries.append(entry)
                    for output in outputs:
                        tracked[id(output)] = output
                    break


def keep_custom(tapes: Sequence[Any], entry: TapeEntry) -> None:
    """Tells the tapes that an op with a gradient rule of its own ran: those that follow one of its inputs keep its entry."""
    for tape in tapes:
        tracked = tape.tracked
        if tracked is None:
            tape.see(None, entry.inputs, entry._outputs)
        elif any(id(t) in tracked for t in entry.inputs):
            tape.entries.append(entry)
            tracked.update((id(t), t) for t in entry._outputs)
