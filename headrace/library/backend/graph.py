"""The graph that Keras builds in, and what it keeps for each graph.

In graph mode it is the default graph.  Where ops run eagerly, tensors made by `tf.keras.Input` belong to one graph of the
process, the *Keras graph*: a body that captures the eager variables of layers.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from typing import Any

from headrace.graph import context
from headrace.graph.body import FuncGraph
from headrace.graph.operation import Tensor

_KEY = ("__keras",)
_keras_graph: list[FuncGraph] = []


class GraphState:
    """What Keras keeps for a graph: how many objects have a name, its learning phase, its variables."""

    def __init__(self) -> None:
        self.uids: defaultdict[Any, int] = defaultdict(int)
        self.phase: Any = None  # None, an int or a tensor
        self.has_inputs = False  # whether there are tensors that Keras layers made
        self.variables: weakref.WeakSet[Any] = weakref.WeakSet()
        self.tests: weakref.WeakKeyDictionary[Any, Tensor] = (
            weakref.WeakKeyDictionary()
        )  # variable -> is it initialised


_states: weakref.WeakSet[GraphState] = weakref.WeakSet()


def get_graph() -> Any:
    """The graph that layers are called in: the default graph, or the Keras graph where ops run eagerly."""
    graph = context.get_default_graph()
    return keras_graph(graph) if graph.executing_eagerly else graph


def keras_graph(outside: Any) -> FuncGraph:
    """The graph of symbolic Keras tensors in a process that runs eagerly; made when it is first asked for."""
    if not _keras_graph:
        _keras_graph.append(FuncGraph("the graph of Keras models", outside, name="keras_graph"))
        _keras_graph[0].adopts_ops = True
    return _keras_graph[0]


def in_keras_graph(graph: Any) -> bool:
    """Whether this is the Keras graph, or a body inside it."""
    if not _keras_graph:
        return False
    return graph is _keras_graph[0] or (isinstance(graph, FuncGraph) and graph.encloses(_keras_graph[0]))


def forget_keras_graph() -> None:
    """The next symbolic tensor begins a new Keras graph."""
    _keras_graph.clear()


def graph_state(graph: Any = None) -> GraphState:
    """What Keras keeps for a graph; a body has that of the graph around it.

    It is held by the graph, since it refers to tensors of it.
    """
    graph = get_graph() if graph is None else graph
    owner = _keras_graph[0] if in_keras_graph(graph) else getattr(graph, "root", graph)
    if owner.executing_eagerly:
        owner = keras_graph(owner)
    states = owner.get_collection_ref(_KEY)
    if not states:
        states.append(GraphState())
        _states.add(states[0])
    state: GraphState = states[0]
    return state


def all_states() -> list[GraphState]:
    """What Keras keeps for the graphs that are still there."""
    return list(_states)
