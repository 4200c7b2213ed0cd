"""A detached body as a Python function, for one element and, where it can be vectorised, for many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from headrace.passes import vectorise_rules as _rules  # noqa: F401 - it registers them
from headrace.passes.bodies import nodes_within
from headrace.passes.step_graph import Node, StepGraph
from headrace.passes.vectorise import Ragged, Rows, Vectorised, is_repeatable, vectorise
from headrace.resources.data.rows import Columns, RowFunction

Call = Callable[..., tuple[Any, ...]]


class BodyFunction:
    """Thread-safe.  Called with the values of an element and then what the body has captured."""

    __slots__ = ("__weakref__", "_body", "_by_rows", "_call", "_lock", "_plan", "_restart", "repeatable", "state")

    def __init__(
        self, body: StepGraph, plan: Callable[[StepGraph], Call], state: Callable[[Node], Any],
        restart: Callable[[Node], None],
    ) -> None:  # fmt: skip
        """``state``: of a node of the body.  ``restart`` lets that begin like a new one."""
        self._body, self._plan, self.state, self._restart = body, plan, state, restart
        self._call = plan(body)
        self._by_rows: dict[int, RowFunction | None] = {}
        self._lock = threading.Lock()
        self.repeatable = is_repeatable(body)

    @property
    def body(self) -> StepGraph:
        return self._body

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        return self._call(*values)

    def restart(self) -> None:
        """Random ops with seeds draw from the beginning again."""
        for node in nodes_within(self._body):
            if node.op_def.traits.random and any(node.attrs.get(seed) for seed in ("seed", "seed2")):
                self._restart(node)

    def by_rows(self, count: int) -> RowFunction | None:
        """The function for many elements of ``count`` values each, if there is one."""
        with self._lock:
            if count not in self._by_rows:
                found = vectorise(self._body, count)
                self._by_rows[count] = None if found is None else _row_function(found, self._plan(found.graph))
            return self._by_rows[count]


def _row_function(vectorised: Vectorised, call: Call) -> RowFunction:
    ragged = [form is Ragged for form in vectorised.feeds]
    forms = vectorised.fetches

    def run(columns: Columns, captured: Sequence[Any]) -> Columns:
        results = iter(call(*[value for column in columns for value in column], *captured))
        return [(next(results), next(results)) if form is Ragged else (next(results),) for form in forms]

    return RowFunction(run, ragged, [form in (Rows, Ragged) for form in forms])
