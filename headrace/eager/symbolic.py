"""A tape in the body of a function or in a graph, where nothing runs yet.  It differentiates what was built under it."""

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
    """The nodes built while a tape was active, and the tensors it watches among them."""

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
        """The gradients of the targets for each source.  Nodes built while the tape was not active count as constants."""
        followed = [self._is_followed(s) for s in sources]
        asked = [s for s, yes in zip(sources, followed, strict=True) if yes]
        grads = gradients(
            list(targets), asked, weights, stop_gradients=self._outside(targets), unconnected_gradients=unconnected
        )
        each = iter(grads)
        return [next(each) if yes else None for yes in followed]

    def _is_followed(self, source: Any) -> bool:
        if not is_symbolic(source):
            return isinstance(as_handle(source), EagerHandle) or hasattr(source, "_as_graph_element")
        return id(source) in self._watched or source.dtype._is_ref_dtype or self._built_here(source.op)

    def _built_here(self, op: Operation) -> bool:
        return any(g is op.graph and first <= op._id and (end is None or op._id < end) for g, first, end in self._spans)

    def _outside(self, targets: Sequence[Any]) -> list[Tensor]:
        """The tensors where the walk back from the targets meets a node that was not built under the tape."""
        seen: set[Operation] = set()
        stops: list[Tensor] = []
        stack = [t for t in targets if is_symbolic(t)]
        while stack:
            tensor = stack.pop()
            op = tensor.op
            if not self._built_here(op):
                if op.inputs:
                    stops.append(tensor)
                continue
            if op not in seen:
                seen.add(op)
                stack.extend(op.inputs)
        return stops
