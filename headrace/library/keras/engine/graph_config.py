"""A graph of layers as plain data, and back.

Each layer is there with its arguments and its calls; a call lists where its inputs come from, ``[layer, call, output,
arguments]``, in the structure that the layer was called with.  Calls are counted among those that belong to the model.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.library import log, nest
from headrace.library.backend.keras_tensor import is_tensor
from headrace.library.backend.session import get_value
from headrace.library.layers.node import Node
from headrace.library.layers.registry import deserialize

KERAS_VERSION = "2.2.4-tf"  # of TensorFlow 1.15


class _Place:
    """Where an input comes from; a leaf of nested structures."""

    def __init__(self, data: list[Any]) -> None:
        self.data = data


# ---- to plain data


def to_config(model: Any) -> dict[str, Any]:
    """The configuration of a model that is a graph of layers."""
    nodes = set(model._topology.nodes())
    numbers: dict[Node, int] = {}
    for layer in model.layers:
        first = 1 if _links_itself(layer) else 0
        for node in layer._inbound_nodes:
            if node in nodes:
                numbers[node] = first
                first += 1

    def place(tensor: Any) -> list[Any]:
        layer, node_index, tensor_index = tensor._keras_history
        return [layer.name, numbers.get(layer._inbound_nodes[node_index], 0), tensor_index]

    layers = [
        {
            "name": layer.name, "class_name": type(layer).__name__, "config": layer.get_config(),
            "inbound_nodes": [_call_data(node, place) for node in layer._inbound_nodes if node in nodes and not node.is_input],
        }
        for layer in model.layers
    ]  # fmt: skip
    config = {
        "name": model.name, "layers": layers, "input_layers": _ends(model._nested_inputs, place),
        "output_layers": _ends(model._nested_outputs, place),
    }  # fmt: skip
    return copy.deepcopy(config)


def _links_itself(layer: Any) -> bool:
    """Whether the first call of a layer is a model's own link from its inputs to its outputs."""
    return bool(getattr(layer, "_is_graph_network", False))


def _call_data(node: Node, place: Callable[[Any], list[Any]]) -> Any:
    kwargs = {key: nest.map_structure(lambda t: _plain_argument(t, place), v) for key, v in node.arguments.items()}
    try:
        json.dumps(kwargs, default=json_default)
    except TypeError:
        log.warning(
            "Layer %s was passed non-serializable keyword arguments: %s. They will not be included in the serialized model "
            "(and thus will be missing at deserialization time).", node.layer.name, node.arguments,
        )  # fmt: skip
        kwargs = {}
    data = nest.map_structure(lambda t: _Place([*place(t), kwargs]), node.inputs)
    data = _unwrapped(data)
    return [data] if not nest.is_nested(node.inputs) else data


def _plain_argument(value: Any, place: Callable[[Any], list[Any]]) -> Any:
    if getattr(value, "_keras_history", None) is not None:
        return place(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return np.asarray(get_value(value)).tolist() if is_tensor(value) else value


def _ends(structure: Any, place: Callable[[Any], list[Any]]) -> Any:
    data = _unwrapped(nest.map_structure(lambda t: _Place(place(t)), structure))
    return [data] if not nest.is_nested(structure) else data


def _unwrapped(structure: Any) -> Any:
    if isinstance(structure, _Place):
        return structure.data
    if isinstance(structure, dict):
        return {key: _unwrapped(value) for key, value in structure.items()}
    return [_unwrapped(value) for value in structure]


# ---- back


def from_config(
    config: dict[str, Any], custom_objects: dict[str, Any] | None = None, created: dict[str, Any] | None = None
) -> tuple[Any, Any, dict[str, Any]]:
    """The inputs and outputs that a configuration describes, and the layers by name, which are called anew."""
    layers = {} if created is None else created
    calls: dict[tuple[str, int], Node] = {}
    waiting: defaultdict[str, list[tuple[int, Any]]] = defaultdict(list)
    for data in config["layers"]:
        name = data["name"]
        if name not in layers:
            layers[name] = deserialize(data, custom_objects=custom_objects)
        first = 1 if _links_itself(layers[name]) else 0
        if not data["inbound_nodes"] and layers[name]._inbound_nodes:
            calls[name, 0] = layers[name]._inbound_nodes[0]
        for i, call in enumerate(data["inbound_nodes"]):
            waiting[name].append((first + i, call))
    while waiting:
        ready = _call_ready(layers, calls, waiting)
        if not ready:
            raise ValueError(
                f"The configuration is no graph: the inputs of {', '.join(sorted(waiting))} are never made"
            )
    return _tensors(config["input_layers"], calls), _tensors(config["output_layers"], calls), layers


def _call_ready(layers: dict[str, Any], calls: dict[tuple[str, int], Node], waiting: Any) -> int:
    """Calls all layers whose inputs are there, in the order of their calls; how many calls that was."""
    count = 0
    for name in list(waiting):
        while waiting[name]:
            number, data = waiting[name][0]
            places = _flat_places(data)
            if any((p[0], p[1]) not in calls for p in places):
                break
            waiting[name].pop(0)
            layer = layers[name]
            _call_layer(layer, data, calls)
            calls[name, number] = layer._inbound_nodes[-1]
            count += 1
        if not waiting[name]:
            del waiting[name]
    return count


def _call_layer(layer: Any, data: Any, calls: dict[tuple[str, int], Node]) -> None:
    first = _flat_places(data)[0]
    kwargs = {key: _argument(value, calls) for key, value in (first[3] if len(first) > 3 else {}).items()}
    inputs = _map_places(data, lambda p: _tensor(p, calls))
    if isinstance(inputs, list) and len(inputs) == 1:
        inputs = inputs[0]
    layer(inputs, **kwargs)


def _argument(value: Any, calls: dict[tuple[str, int], Node]) -> Any:
    if _is_place(value) and (value[0], value[1]) in calls:
        return _tensor(value, calls)
    if isinstance(value, (list, tuple)):
        return [_argument(item, calls) for item in value]
    return {key: _argument(item, calls) for key, item in value.items()} if isinstance(value, dict) else value


def _is_place(data: Any) -> bool:
    return (
        isinstance(data, (list, tuple)) and len(data) in (3, 4) and isinstance(data[0], str)
        and isinstance(data[1], int) and isinstance(data[2], int)
    )  # fmt: skip


def _map_places(data: Any, function: Callable[[Any], Any]) -> Any:
    if _is_place(data):
        return function(data)
    if isinstance(data, dict):
        return {key: _map_places(value, function) for key, value in data.items()}
    return [_map_places(value, function) for value in data]


def _flat_places(data: Any) -> list[Any]:
    found: list[Any] = []
    _map_places(data, found.append)
    for place in found:
        if len(place) == 4 and isinstance(place[3], dict):
            _map_arguments(place[3], found)
    return found


def _map_arguments(value: Any, found: list[Any]) -> None:
    """Tensors of layers among further arguments have to be there too."""
    if _is_place(value):
        found.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _map_arguments(item, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _map_arguments(item, found)


def _tensor(place: Sequence[Any], calls: dict[tuple[str, int], Node]) -> Any:
    return nest.flatten(calls[place[0], place[1]].outputs)[place[2]]


def _tensors(data: Any, calls: dict[tuple[str, int], Node]) -> Any:
    tensors = _map_places(data, lambda p: _tensor(p, calls))
    return tensors[0] if isinstance(tensors, list) and len(tensors) == 1 else tensors


def connect_rest(model: Any, layers: dict[str, Any]) -> None:
    """Adds the layers that no output needs, such as those of losses, to the model."""
    known = {id(layer) for layer in model.layers}
    for layer in layers.values():
        if id(layer) not in known and layer._inbound_nodes:
            for tensor in nest.flatten(layer._inbound_nodes[-1].outputs):
                model._insert(tensor)


# ---- text


def to_json(config: dict[str, Any], **kwargs: Any) -> str:
    """A configuration as JSON."""
    return json.dumps(config, default=json_default, **kwargs)


def json_default(value: Any) -> Any:
    """What stands in JSON for what JSON lacks: arrays, dtypes, shapes, layers and functions by name."""
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, DType):
        return value.name
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if hasattr(value, "__name__"):
        return value.__name__
    raise TypeError(f"Not JSON serializable: {value!r}")


def to_yaml(config: dict[str, Any], **kwargs: Any) -> str:
    """A configuration as YAML."""
    text: str = _yaml().dump(json.loads(to_json(config)), **kwargs)
    return text


def read_yaml(text: str) -> Any:
    """The configuration in a YAML text, which can hold nothing but plain data."""
    return _yaml().safe_load(text)


def _yaml() -> Any:
    try:
        import yaml  # type: ignore[import-untyped]  # an extra without types
    except ImportError:
        raise ImportError("Requires yaml module installed (`pip install pyyaml`).") from None
    return yaml
