"""What remains of an executed op: a light record with the face of a node, for gradient rules and error messages.

``active`` is the stack of tapes of this thread.  A tape keeps the records whose inputs depend on something it watches.
"""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from typing import Any

from headrace.core.registry import OpDef, Rule
from headrace.graph.source import UNKNOWN

active: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar("headrace_tapes", default=())


class Record:
    """One executed op.  Keeps its inputs and outputs alive as long as a tape keeps it."""

    __slots__ = ("_outputs", "attrs", "bound", "inputs", "op_def", "rule")

    source = UNKNOWN
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
            return self.attrs[name]
        except KeyError:
            raise ValueError(
                f"Operation {self.type} has no attr named '{name}'; it has {sorted(self.attrs)}."
            ) from None

    def __repr__(self) -> str:
        return f"<{self.type} executed, {len(self.inputs)} inputs>"


def keep(tapes: Sequence[Any], made: Record) -> None:
    """Gives the record to the tapes that follow one of its inputs."""
    inputs = made.inputs
    for tape in tapes:
        tracked = tape.tracked
        for tensor in inputs:
            if id(tensor) in tracked:
                tape.records.append(made)
                for output in made._outputs:
                    tracked[id(output)] = output
                break
