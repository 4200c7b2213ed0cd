"""The graph between the inputs and the outputs of a model: its calls and layers, ordered by their distance to the outputs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.source import at
from headrace.library import nest
from headrace.library.layers.node import Node


@dataclass(frozen=True, slots=True)
class Topology:
    """Calls and layers by depth: 0 for those that only outputs depend on, the greatest for those to run first."""

    nodes_by_depth: dict[int, list[Node]]
    layers: list[Any]
    layers_by_depth: dict[int, list[Any]]

    @property
    def depths(self) -> list[int]:
        """The depths in the order of execution."""
        return sorted(self.nodes_by_depth, reverse=True)

    def nodes(self) -> list[Node]:
        """The calls in the order of execution."""
        return [node for depth in self.depths for node in self.nodes_by_depth[depth]]


def source(tensor: Any) -> Node:
    """The call that made a tensor."""
    history = tensor._keras_history
    node: Node = history.layer._inbound_nodes[history.node_index]
    return node


def map_topology(inputs: Sequence[Any], outputs: Sequence[Any]) -> Topology:
    """The calls that lead from the inputs to the outputs; ValueError if some input is missing, or two layers share a name."""
    order, rank = _producers_first(outputs)
    node_depth: dict[Node, int] = {}
    layer_depth: dict[Any, int] = {}
    for node in reversed(order):
        depth = max(node_depth.get(node, 0), layer_depth.get(node.layer, 0))
        node_depth[node] = layer_depth[node.layer] = depth
        for parent in node.parents:
            node_depth[parent] = max(depth + 1, node_depth.get(parent, 0))
    for tensor in inputs:  # those that no output needs: losses and metrics may
        layer = tensor._keras_history.layer
        if layer not in layer_depth:
            layer_depth[layer] = node_depth[layer._inbound_nodes[0]] = 0
            rank[layer] = -1
    layers_by_depth = _by_depth(layer_depth)
    for layers in layers_by_depth.values():
        layers.sort(key=rank.__getitem__)
    ordered = [layer for depth in sorted(layers_by_depth, reverse=True) for layer in layers_by_depth[depth]]
    topology = Topology(_by_depth(node_depth), ordered, layers_by_depth)
    _check_connected(topology, inputs)
    _check_names(ordered)
    return topology


def _by_depth(depths: dict[Any, int]) -> dict[int, list[Any]]:
    found: defaultdict[int, list[Any]] = defaultdict(list)
    for item, depth in depths.items():
        found[depth].append(item)
    return dict(found)


def _producers_first(outputs: Sequence[Any]) -> tuple[list[Node], dict[Any, int]]:
    """The calls that the outputs come from, and the rank of each layer: when a walk back from the outputs meets it first."""
    order: list[Node] = []
    rank: dict[Any, int] = {}
    seen: set[Node] = set()
    stack = [(source(tensor), False) for tensor in reversed(outputs)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            rank.setdefault(node.layer, len(rank))
            stack.append((node, True))
            stack.extend((parent, False) for parent in reversed(node.parents))
    return order, rank


def _check_connected(topology: Topology, inputs: Sequence[Any]) -> None:
    known = {id(tensor) for tensor in inputs}
    done: list[str] = []
    for node in topology.nodes():
        if node.is_input:
            continue
        for tensor in node.keras_inputs:
            if id(tensor) not in known:
                raise ValueError(
                    f'Graph disconnected: cannot obtain value for tensor {tensor} at layer "{node.layer.name}". The '
                    f"following previous layers were accessed without issue: {done} {at()}"
                )
        known.update(id(tensor) for tensor in nest.flatten(node.outputs))
        done.append(node.layer.name)


def _check_names(layers: Sequence[Any]) -> None:
    for name, count in Counter(layer.name for layer in layers).items():
        if count > 1:
            raise ValueError(f'The name "{name}" is used {count} times in the model. All layer names should be unique.')
