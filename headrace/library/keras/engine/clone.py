"""clone_model: a model of the same layers with variables of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.library import nest
from headrace.library.backend.keras_tensor import is_keras_tensor
from headrace.library.keras.engine.model import Model
from headrace.library.keras.engine.sequential import Sequential
from headrace.library.keras.engine.topology import source
from headrace.library.layers.input_layer import Input, InputLayer


def _same_arguments(layer: Any) -> Any:
    return type(layer).from_config(layer.get_config())


def clone_model(model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None) -> Any:
    """A model of the same layers with new variables.

    Args:
      model: A model that is a graph of layers or a stack of layers.
      input_tensors: Tensors to begin with; None for new ones like the model's inputs.
      clone_function: What makes a new layer of each layer but the inputs; None for one with the same arguments.

    Returns:
      A new model.

    >>> model = tf.keras.Sequential([tf.keras.layers.Layer(name="same")])
    >>> copy = tf.keras.models.clone_model(model)
    >>> copy.layers[0].name, copy.layers[0] is model.layers[0]
    ('same', False)
    """
    if not isinstance(model, Model) or not (isinstance(model, Sequential) or model._is_graph_network):
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance or a `Sequential` instance, but got a subclassed "
            f"model instead: {model!r}"
        )
    make = clone_function or _same_arguments
    if not callable(make):
        raise ValueError("Expected `clone_function` argument to be a callable.")
    if isinstance(model, Sequential):
        return _clone_stack(model, input_tensors, make)
    return _clone_graph(model, input_tensors, make)


def _clone_stack(model: Sequential, input_tensors: Any, make: Callable[[Any], Any]) -> Any:
    layers = [make(layer) for layer in model.layers]
    if input_tensors is None:
        begin = model._layers[:1] if model._layers and isinstance(model._layers[0], InputLayer) else []
        return Sequential([*(_same_arguments(layer) for layer in begin), *layers], name=model.name)
    tensors = nest.flatten(input_tensors)
    if len(tensors) != 1:
        raise ValueError(
            f"To clone a `Sequential` model, we expect at most one tensor as part of `input_tensors`: {tensors}"
        )
    return Sequential([_input_layer(tensors[0], f"input_wrapper_for_{model.name}"), *layers], name=model.name)


def _input_layer(tensor: Any, name: str) -> Any:
    if is_keras_tensor(tensor) and isinstance(tensor._keras_history.layer, InputLayer):
        return tensor._keras_history.layer
    return InputLayer(input_tensor=tensor, name=name)


def _clone_graph(model: Any, input_tensors: Any, make: Callable[[Any], Any]) -> Any:
    inputs = _inputs(model, input_tensors)
    values = dict(zip(map(id, model.inputs), inputs, strict=True))
    copies: dict[int, Any] = {}

    def value(item: Any) -> Any:
        return values.get(id(item), item) if hasattr(item, "_keras_history") else item

    for node in model._topology.nodes():
        if node.is_input:
            continue
        layer = node.layer
        if id(layer) not in copies:
            copies[id(layer)] = make(layer)
        args = nest.map_structure(value, node.call_args)
        kwargs = {key: nest.map_structure(value, item) for key, item in node.call_kwargs.items()}
        outputs = copies[id(layer)](nest.map_structure(value, node.inputs), *args, **kwargs)
        values.update(zip(map(id, nest.flatten(node.outputs)), nest.flatten(outputs), strict=True))
    structured = nest.pack_sequence_as(model._nested_inputs, inputs)
    ends = nest.pack_sequence_as(model._nested_outputs, [values[id(t)] for t in model.outputs])
    cloned = Model(structured, ends, name=model.name)
    for tensor in model._added_ends:
        cloned._insert(values[id(tensor)])
    return cloned


def _inputs(model: Any, input_tensors: Any) -> list[Any]:
    if input_tensors is None:
        return [_like(t) for t in model.inputs]
    tensors = nest.flatten(input_tensors)
    if len(tensors) != len(model.inputs):
        raise ValueError(f"The model has {len(model.inputs)} inputs, but `input_tensors` are {len(tensors)}")
    names = model.input_names
    return [
        t if hasattr(t, "_keras_history") and source(t).is_input else Input(tensor=t, name=f"input_wrapper_for_{name}")
        for t, name in zip(tensors, names, strict=True)
    ]


def _like(tensor: Any) -> Any:
    layer = tensor._keras_history.layer
    return Input(batch_shape=layer._batch_input_shape, dtype=layer.dtype, sparse=layer.sparse, name=layer.name)
