"""Portable: a step graph as plain data, and back.  What a worker keeps of a partition, and what travels to another process.

Names, devices, source lines and the marks of bodies survive; the client's graph is not needed to read it.  Large data (arrays)
stand in a list of their own.  Python objects that mean nothing in another process (the function of a ``py_func``) stand in
a third list: a partition that has some cannot leave this one.

Each reading gives a graph of its own, so that passes may change it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.core.source import Source
from headrace.graph.body import Detached
from headrace.passes.bodies import bodies_within
from headrace.passes.step_graph import Node, StepGraph, Value

_PLAIN = frozenset({str, int, float, bool, type(None)})
_SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


@dataclass(slots=True)
class Portable:
    """A step graph as data: ``graphs[0]`` is the step, the others are the bodies in it."""

    graphs: list[dict[str, Any]] = field(default_factory=list)
    sources: list[tuple[str, int, str]] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)  # good in this process only


def to_portable(graph: StepGraph) -> Portable:
    """The graph as data.  The graph itself stays as it is."""
    writer = _Writer()
    writer.graph(graph)
    return writer.data


def from_portable(data: Portable, origins: Mapping[str, Any] | None = None) -> StepGraph:
    """A new graph.  ``origins`` are the client's operations by name, where they are at hand: errors then have them as ``op``."""
    return _Reader(data, origins or {}).graph(0)


def holder_of_object(data: Portable) -> tuple[dict[str, Any], str] | None:
    """The first node, and its attribute, that holds a Python object; None: the graph can leave this process."""
    for graph in data.graphs if data.objects else ():
        for node in graph["nodes"]:
            for name, value in node["attrs"]:
                if _holds_object(value):
                    return node, name
    return None


def _holds_object(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    is_object = len(value) == 2 and value[0] == "object" and type(value[1]) is int
    return is_object or any(_holds_object(one) for one in value)


def copy_of(graph: StepGraph) -> StepGraph:
    """The graph once more, its bodies too."""
    return from_portable(to_portable(graph), origins_of(graph))


def origins_of(graph: StepGraph) -> dict[str, Any]:
    """The client's operations behind the nodes of a graph and its bodies, by the nodes' names."""
    graphs = (graph, *bodies_within(graph))
    return {node.name: node.origin for one in graphs for node in one.nodes if node.origin is not None}


class _Writer:
    def __init__(self) -> None:
        self.data = Portable()
        self._graphs: dict[StepGraph, int] = {}
        self._sources: dict[Source, int] = {}
        self._arrays: dict[int, int] = {}

    def graph(self, graph: StepGraph) -> int:
        """The position of the graph in the list; a body that several nodes hold, or that calls itself, is there once."""
        position = self._graphs.get(graph)
        if position is not None:
            return position
        position = self._graphs[graph] = len(self.data.graphs)
        encoded: dict[str, Any] = {}
        self.data.graphs.append(encoded)
        at = {node: i for i, node in enumerate(graph.nodes)}

        def refer(values: list[Value]) -> list[list[int]]:
            return [[at[v.op], v.value_index] for v in values]

        encoded["nodes"] = [
            {
                "name": node.name,
                "op": node.type,
                "inputs": refer(node.inputs),
                "controls": [at[c] for c in node.control_inputs],
                "attrs": [[name, self.attr(value)] for name, value in node.attrs.items()],
                "order": float(node.order),
                "device": node.device,
                "colocation": list(node.colocation),
                "source": self.source(node.source),
                "outputs": [[v.dtype.as_datatype_enum, self.shape(v.shape)] for v in node.outputs],
            }
            for node in graph.nodes
        ]
        encoded["feeds"], encoded["fetches"] = refer(graph.feeds), refer(graph.fetches)
        encoded["targets"] = [at[n] for n in graph.targets]
        encoded["host"] = [list(graph.host_feeds), list(graph.host_fetches)]
        encoded["results"] = None if graph.results is None else list(graph.results)
        return position

    def source(self, source: Source) -> int:
        position = self._sources.get(source)
        if position is None:
            position = self._sources[source] = len(self.data.sources)
            self.data.sources.append((source.filename, source.lineno, source.function))
        return position

    @staticmethod
    def shape(shape: TensorShape) -> list[int | None] | None:
        return None if shape.tuple is None else list(shape.tuple)

    def attr(self, value: Any) -> Any:
        if type(value) in _PLAIN:
            return value
        if type(value) is bytes:
            return ["bytes", value.decode("latin-1")]  # as text, so that JSON can hold it too
        if isinstance(value, DType):
            return ["dtype", value.as_datatype_enum]
        if isinstance(value, TensorShape):
            return ["shape", self.shape(value)]
        if isinstance(value, np.ndarray):
            return ["array", self.array(value)]
        if isinstance(value, np.generic):
            return ["scalar", self.array(np.asarray(value))]
        if isinstance(value, StepGraph):
            return ["graph", self.graph(value)]
        if isinstance(value, Detached):
            return ["detached", self.graph(value.body)]
        if type(value).__name__ in _SEQUENCES and type(value) in (tuple, list, set, frozenset):
            return [type(value).__name__, [self.attr(v) for v in value]]
        if type(value) is dict:
            return ["dict", [[self.attr(k), self.attr(v)] for k, v in value.items()]]
        self.data.objects.append(value)
        return ["object", len(self.data.objects) - 1]

    def array(self, array: Any) -> int:
        position = self._arrays.get(id(array))
        if position is None:
            position = self._arrays[id(array)] = len(self.data.arrays)
            self.data.arrays.append(array)
        return position


class _Reader:
    def __init__(self, data: Portable, origins: Mapping[str, Any]) -> None:
        self._data = data
        self._origins = origins
        self._graphs: dict[int, StepGraph] = {}
        self._sources = [Source(*source) for source in data.sources]
        self._types: dict[Any, tuple[DType, TensorShape]] = {}

    def graph(self, position: int) -> StepGraph:
        graph = self._graphs.get(position)
        if graph is not None:
            return graph
        graph = self._graphs[position] = StepGraph([], [], [], [])
        encoded = self._data.graphs[position]
        nodes = graph.nodes = [self._node(one) for one in encoded["nodes"]]
        for node, one in zip(nodes, encoded["nodes"], strict=True):
            node.inputs = [nodes[i].outputs[k] for i, k in one["inputs"]]
            node.control_inputs = [nodes[i] for i in one["controls"]]
        graph.feeds = [nodes[i].outputs[k] for i, k in encoded["feeds"]]
        graph.fetches = [nodes[i].outputs[k] for i, k in encoded["fetches"]]
        graph.targets = [nodes[i] for i in encoded["targets"]]
        graph.host_feeds, graph.host_fetches = (list(marks) for marks in encoded["host"])
        graph.results = None if encoded["results"] is None else tuple(encoded["results"])
        return graph

    def _node(self, one: dict[str, Any]) -> Node:
        attrs = {name: self.attr(value) for name, value in one["attrs"]}
        name = one["name"]
        node = Node(
            name, REGISTRY.get(one["op"]), [], attrs, one["order"], None, one["device"], self._sources[one["source"]],
            self._origins.get(name),
        )  # fmt: skip
        node.colocation = tuple(one["colocation"])
        return node.add_outputs([self._type(enum, dims) for enum, dims in one["outputs"]])

    def _type(self, enum: int, dims: Sequence[int | None] | None) -> tuple[DType, TensorShape]:
        """The type and shape of a value; all values that have them share them."""
        key = (enum, None if dims is None else tuple(dims))
        answer = self._types.get(key)
        if answer is None:
            answer = self._types[key] = DType(enum), TensorShape(dims)
        return answer

    def attr(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        tag, content = value
        if tag == "bytes":
            return content.encode("latin-1")
        if tag == "dtype":
            return DType(content)
        if tag == "shape":
            return TensorShape(content)
        if tag == "array":
            return self._data.arrays[content]
        if tag == "scalar":
            return self._data.arrays[content][()]
        if tag == "graph":
            return self.graph(content)
        if tag == "detached":
            return Detached(self.graph(content))
        if tag == "dict":
            return {self.attr(k): self.attr(v) for k, v in content}
        if tag == "object":
            return self._data.objects[content]
        return _SEQUENCES[tag]([self.attr(v) for v in content])
