"""Weights as a checkpoint of TensorFlow, in which the attributes that lead to a variable are its name.

A message beside the variables, the object graph, says which objects there were and what they called each other.  Reading walks
it together with the model, so that names of variables do not matter.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from headrace.client.session import Session
from headrace.core import errors
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import constant
from headrace.graph.graph import Graph
from headrace.library import log
from headrace.library.backend.session import batch_get_value, batch_set_value
from headrace.library.keras.optimizers.optimizer_v2 import OptimizerV2
from headrace.library.layers.tracking import has_weights
from headrace.library.state.variable import Variable
from headrace.library.train.saver.reader import CheckpointReader, load_checkpoint
from headrace.library.train.saver.state_file import update_checkpoint_state

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"
_MOST_OBJECTS = 1_000_000


def is_checkpoint(path: Any) -> bool:
    """Whether there is a checkpoint of this name."""
    return os.path.isfile(f"{os.fspath(path)}.index")


def write(model: Any, prefix: str) -> None:
    """Writes the variables of a model, and of its optimizer, as the checkpoint ``prefix``."""
    objects = _walk(model)
    message, variables = _object_graph(objects)
    values = batch_get_value(list(variables.values()))
    arrays: dict[str, Any] = dict(zip(variables, values, strict=True))
    arrays[_OBJECT_GRAPH] = np.array(message.SerializeToString(), dtype=object)
    folder = os.path.dirname(prefix)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with Graph().as_default() as graph, Session(graph=graph) as session:
        names = list(arrays)
        tensors = [constant(arrays[name]) for name in names]
        session.run(raw_ops.SaveV2(prefix, names, [""] * len(names), tensors))
    update_checkpoint_state(folder or ".", prefix, [prefix])


def read(model: Any, prefix: str) -> None:
    """Sets the variables of a model, and of its optimizer as far as it has any yet, to those of the checkpoint."""
    reader = load_checkpoint(prefix)
    if reader.has_tensor(_OBJECT_GRAPH):
        keys = _keys_by_objects(model, _read_graph(reader))
    else:  # of a tf.train.Saver
        keys = {id(v): (v, v.op.name) for v in model.weights if reader.has_tensor(v.op.name)}
    missing = [variable.name for variable in model.weights if id(variable) not in keys]
    if len(missing) == len(model.weights) and missing:
        raise ValueError(
            f"the checkpoint {prefix!r} has no variable of the model {model.name!r}, such as {missing[0]} {at()}"
        )
    if missing:
        log.warning(
            "The checkpoint %s lacks %d variables of the model, which stay as they are: %s",
            prefix,
            len(missing),
            missing[:5],
        )
    batch_set_value([(variable, _value(reader, key, variable)) for variable, key in keys.values()])


def _value(reader: CheckpointReader, key: str, variable: Any) -> Any:
    shapes = reader.get_variable_to_shape_map()
    if key not in shapes:
        raise ValueError(f"the checkpoint says that {variable.name} is in {key!r}, which it lacks {at()}")
    if not variable.shape.is_compatible_with(shapes[key]):
        raise ValueError(
            f"{variable.name} has shape {variable.shape}, but {key!r} of the checkpoint has {shapes[key]} {at()}"
        )
    return reader.get_tensor(key)


# ---- the objects of a model


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, by the names that TensorFlow's Keras has for it."""
    if isinstance(value, Variable):
        return
    if isinstance(value, (list, tuple)):
        yield from ((str(i), item) for i, item in enumerate(value))
        return
    if isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())
        return
    if isinstance(value, OptimizerV2):
        yield "iter", value.iterations
        yield from ((name, hyper) for name, hyper in value._hyper.items() if isinstance(hyper, Variable))
        return
    if getattr(value, "_is_graph_network", False) or hasattr(value, "add") and hasattr(value, "layers"):
        yield from _layers_by_number(value.layers)
    yield from value.__dict__.get("_tracked_attributes", {}).items()
    if isinstance(getattr(value, "optimizer", None), OptimizerV2):
        yield "optimizer", value.optimizer


def _layers_by_number(layers: Any) -> Iterator[tuple[str, Any]]:
    """Layers with weights have a number of their own, so that those without may come and go."""
    with_weights = 0
    for i, layer in enumerate(layers):
        if layer.weights:
            yield f"layer_with_weights-{with_weights}", layer
            with_weights += 1
        yield f"layer-{i}", layer


def _is_kept(value: Any) -> bool:
    if isinstance(value, (list, tuple, Mapping)):
        items = value.values() if isinstance(value, Mapping) else value
        return any(_is_kept(item) for item in items)
    return isinstance(value, (Variable, OptimizerV2)) or has_weights(value)


class _Object:
    """An object of the graph: its number, the shortest way to it, and what it holds."""

    def __init__(self, value: Any, number: int, path: tuple[str, ...]) -> None:
        self.value, self.number, self.path = value, number, path
        self.children: list[tuple[str, int]] = []


def _walk(model: Any) -> list[_Object]:
    """All objects that a model holds, the nearest first, each once."""
    objects = [_Object(model, 0, ())]
    numbers = {id(model): 0}
    waiting = deque(objects)
    while waiting:
        one = waiting.popleft()
        for name, value in _children(one.value):
            if not _is_kept(value):
                continue
            if id(value) not in numbers:
                numbers[id(value)] = len(objects)
                objects.append(_Object(value, len(objects), (*one.path, name)))
                waiting.append(objects[-1])
            one.children.append((name, numbers[id(value)]))
    return objects


def _key(path: tuple[str, ...]) -> str:
    return "/".join(name.replace(".", "..").replace("/", ".S") for name in path)


# ---- the message


def _message() -> Any:
    try:
        from tensorboard.compat.proto import trackable_object_graph_pb2
    except ImportError:
        raise ImportError(
            f"checkpoints of Keras models need TensorBoard, which defines a message in them: pip install tensorboard {at()}"
        ) from None
    return trackable_object_graph_pb2.TrackableObjectGraph()


def _object_graph(objects: list[_Object]) -> tuple[Any, dict[str, Any]]:
    """The message, and the variables by their keys."""
    message = _message()
    variables: dict[str, Any] = {}
    nodes = [message.nodes.add() for _ in objects]
    numbers = {id(one.value): one.number for one in objects}

    def add(node: Any, variable: Any, prefix: str) -> None:
        key = f"{prefix}/.ATTRIBUTES/{_VALUE}"
        node.attributes.add(name=_VALUE, full_name=variable.op.name, checkpoint_key=key)
        variables[key] = variable

    for one, node in zip(objects, nodes, strict=True):
        for name, number in one.children:
            node.children.add(local_name=name, node_id=number)
        if isinstance(one.value, Variable):
            add(node, one.value, _key(one.path))
    for one, node in zip(objects, nodes, strict=True):
        if isinstance(one.value, OptimizerV2):
            for variable, name, slot in _slots(one.value, objects):
                reference = node.slot_variables.add(slot_name=name)
                reference.original_variable_node_id = numbers[id(variable.value)]
                reference.slot_variable_node_id = len(message.nodes)
                prefix = f"{_key(variable.path)}/.OPTIMIZER_SLOT/{_key(one.path)}/{name}"
                add(message.nodes.add(), slot, prefix)
    return message, variables


def _slots(optimizer: OptimizerV2, objects: list[_Object]) -> Iterator[tuple[_Object, str, Any]]:
    for one in objects:
        if isinstance(one.value, Variable):
            for name, slot in optimizer.slots_of(one.value).items():
                yield one, name, slot


def _read_graph(reader: CheckpointReader) -> Any:
    message = _message()
    data = reader.get_tensor(_OBJECT_GRAPH)
    try:
        message.ParseFromString(data if isinstance(data, bytes) else np.asarray(data).item())
    except Exception as e:
        raise errors.DataLossError(
            None, None, f"the object graph of the checkpoint cannot be read: {e} {at()}"
        ) from None
    if len(message.nodes) > _MOST_OBJECTS:
        raise ValueError(f"the checkpoint has {len(message.nodes)} objects, more than {_MOST_OBJECTS} {at()}")
    return message


def _keys_by_objects(model: Any, message: Any) -> dict[int, tuple[Any, str]]:
    """The variables that the checkpoint has, with their keys, by identity: the model and the message are walked together."""
    keys: dict[int, tuple[Any, str]] = {}
    objects = _walk(model)
    places: dict[int, int] = {0: 0}  # number of an object -> number of its node
    for one in objects:
        if one.number not in places:
            continue
        node = _node(message, places[one.number])
        if isinstance(one.value, Variable):
            _add_key(keys, node, one.value)
        theirs = {child.local_name: child.node_id for child in node.children}
        for name, number in one.children:
            if name in theirs:
                places.setdefault(number, theirs[name])
    variables = {
        places[one.number]: one.value for one in objects if one.number in places and isinstance(one.value, Variable)
    }
    for one in objects:
        if isinstance(one.value, OptimizerV2) and one.number in places:
            for reference in _node(message, places[one.number]).slot_variables:
                variable = variables.get(reference.original_variable_node_id)
                slot = None if variable is None else one.value.slots_of(variable).get(reference.slot_name)
                if slot is not None:
                    _add_key(keys, _node(message, reference.slot_variable_node_id), slot)
    return keys


def _add_key(keys: dict[int, tuple[Any, str]], node: Any, variable: Any) -> None:
    for attribute in node.attributes:
        if attribute.name == _VALUE:
            keys[id(variable)] = (variable, attribute.checkpoint_key)


def _node(message: Any, number: int) -> Any:
    if not 0 <= number < len(message.nodes):
        raise ValueError(f"the object graph of the checkpoint names object {number} of {len(message.nodes)} {at()}")
    return message.nodes[number]
