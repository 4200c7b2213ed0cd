"""Fetches: a nested Python structure -> the tensors and operations to run, and back from their values to the structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.client.conversion import Rebuild, conversion_of
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices, IndexedSlicesValue, SparseTensor, SparseTensorValue


class Fetches:
    """What one structure asks for: tensors to return, operations to run, and how to rebuild the structure."""

    __slots__ = ("_positions", "rebuild", "targets", "tensors")

    def __init__(self, graph: Graph, fetches: Any) -> None:
        self.tensors: list[Tensor] = []
        self.targets: list[Operation] = []
        self._positions: dict[Tensor, int] = {}
        self.rebuild: Rebuild = self._visit(graph, fetches)

    def _visit(self, graph: Graph, fetch: Any) -> Rebuild:
        if fetch is None:
            raise TypeError(
                "Fetch argument None has invalid type NoneType; a fetch must be a string, Tensor, Operation, Variable, or a "
                f"list, tuple or dict of these. (tf.gradients gives None where nothing connects y and x.) {at()}"
            )
        if isinstance(fetch, (Tensor, Operation, str, bytes)) or hasattr(fetch, "_as_graph_element"):
            return self._element(graph, fetch)
        conversion = conversion_of(fetch)
        if conversion is not None:
            parts, rebuild = conversion.fetch(fetch)
            children = [self._visit(graph, p) for p in parts]
            return lambda values: rebuild([c(values) for c in children])
        if isinstance(fetch, IndexedSlices):
            return self._slices(graph, fetch)
        if isinstance(fetch, SparseTensor):
            children = [self._visit(graph, p) for p in (fetch.indices, fetch.values, fetch.dense_shape)]
            return lambda values: SparseTensorValue(*[c(values) for c in children])
        if isinstance(fetch, (list, tuple)):
            children = [self._visit(graph, p) for p in fetch]
            if isinstance(fetch, tuple) and hasattr(fetch, "_fields"):
                make = type(fetch)
                return lambda values: make(*[c(values) for c in children])
            sequence = type(fetch) if type(fetch) in (list, tuple) else list
            return lambda values: sequence([c(values) for c in children])
        if isinstance(fetch, Mapping):
            named = [(k, self._visit(graph, v)) for k, v in fetch.items()]
            mapping = type(fetch) if type(fetch).__init__ is dict.__init__ or isinstance(fetch, dict) else dict
            return lambda values: _make_mapping(mapping, [(k, c(values)) for k, c in named])
        if hasattr(type(fetch), "__attrs_attrs__"):
            children = [self._visit(graph, getattr(fetch, a.name)) for a in type(fetch).__attrs_attrs__]
            build = type(fetch)
            return lambda values: build(*[c(values) for c in children])
        raise TypeError(
            f"Fetch argument {fetch!r} has invalid type {type(fetch).__name__}, must be a string, Tensor, Operation, Variable, "
            f"or a list, tuple or dict of these. {at()}"
        )

    def _element(self, graph: Graph, fetch: Any) -> Rebuild:
        try:
            element = graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
        except TypeError as e:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch).__name__}. ({e}) {at()}") from None
        except (ValueError, KeyError) as e:
            text = e.args[0] if e.args else str(e)
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({text}) {at()}") from None
        if not graph.is_fetchable(element):
            raise ValueError(f"Fetch argument {fetch!r} ({element.name}) has been marked as not fetchable. {at()}")
        if isinstance(element, Operation):
            if element not in self.targets:
                self.targets.append(element)
            return _nothing
        position = self._positions.get(element)
        if position is None:
            position = self._positions[element] = len(self.tensors)
            self.tensors.append(element)
        return lambda values: values[position]

    def _slices(self, graph: Graph, fetch: IndexedSlices) -> Rebuild:
        children = [self._visit(graph, p) for p in (fetch.values, fetch.indices)]
        if fetch.dense_shape is not None:
            children.append(self._visit(graph, fetch.dense_shape))
        return lambda values: IndexedSlicesValue(*[c(values) for c in children], *[None] * (3 - len(children)))


def _nothing(values: Sequence[Any]) -> None:
    return None


def _make_mapping(mapping_type: type, items: list[tuple[Any, Any]]) -> Any:
    mapping = mapping_type()
    for key, value in items:
        mapping[key] = value
    return mapping


_LEAVES = frozenset((Tensor, Operation))


def fetch_key(fetch: Any) -> Any:
    """A hashable key, equal for structures that fetch the same things in the same shape."""
    fetch_type = type(fetch)
    if fetch_type is list or fetch_type is tuple:
        return (fetch_type, *[f if type(f) in _LEAVES else fetch_key(f) for f in fetch])
    if fetch_type is dict:
        return (fetch_type, *[(k, fetch_key(v)) for k, v in fetch.items()])
    if isinstance(fetch, tuple):
        return (fetch_type, *[fetch_key(f) for f in fetch])
    return fetch
