"""A tape where nothing runs yet, in the body of a function or in a graph: it differentiates what was built while it recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.autodiff.gradients import gradients, is_trainable
from headrace.eager.tensor import EagerHandle, Immediate, as_handle
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor


def is_symbolic(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, Immediate)


class Built:
    """The nodes made while a tape recorded, and the tensors it watches among them."""

    def __init__(self) -> None:
        self._spans: list[tuple[Graph, int, int | None]] = []
        self._watched: dict[int, Tensor] = {}

    def start(self) -> None:
        graph = context.get_default_graph()
        if not graph.executing_eagerly:
            self._spans.append((graph, len(graph._nodes), None))

    def stop(self) -> None:
        if self._spans and self._spans[-1][2] is None:
            graph, first, _ = self._spans[-1]
            self._spans[-1] = (graph, first, len(graph._nodes))

    def watch(self, tensor: Any) -> bool:
        """Whether the tensor is one of a graph; then it is watched."""
        if not is_symbolic(tensor):
            return False
        if is_trainable(tensor.dtype):
            self._watched[id(tensor)] = tensor
        return True

    def forget(self) -> None:
        self._spans, self._watched = [], {}

    def handles(self) -> list[EagerHandle]:
        """The trainable variables that were captured."""
        bodies = {id(graph): graph for graph, _, _ in self._spans if graph.building_function}
        every = [t for body in bodies.values() for t in body.captures]  # type: ignore[attr-defined]
        return [t for t in every if isinstance(t, EagerHandle) and t.trainable]

    def gradient(self, targets: Sequence[Any], sources: Sequence[Any], weights: Any, unconnected: str) -> list[Any]:
        """As a tape's ``gradient``; nodes made while it did not record are constants to it."""
        known = [self._is_known(s) for s in sources]
        asked = [s for s, yes in zip(sources, known, strict=True) if yes]
        found = gradients(
            list(targets), asked, weights, stop_gradients=self._outside(targets), unconnected_gradients=unconnected
        )
        each = iter(found)
        return [next(each) if yes else None for yes in known]

    def _is_known(self, source: Any) -> bool:
        if not is_symbolic(source):
            return isinstance(as_handle(source), EagerHandle) or hasattr(source, "_as_graph_element")
        return id(source) in self._watched or source.dtype._is_ref_dtype or self._recorded(source.op)

    def _recorded(self, op: Operation) -> bool:
        return any(g is op.graph and first <= op._id and (end is None or op._id < end) for g, first, end in self._spans)

    def _outside(self, targets: Sequence[Any]) -> list[Tensor]:
        """Where the walk back from the targets meets what was not recorded."""
        seen: set[Operation] = set()
        stops: list[Tensor] = []
        stack = [t for t in targets if is_symbolic(t)]
        while stack:
            tensor = stack.pop()
            op = tensor.op
            if not self._recorded(op):
                if op.inputs:
                    stops.append(tensor)
                continue
            if op not in seen:
                seen.add(op)
                stack.extend(op.inputs)
        return stops
