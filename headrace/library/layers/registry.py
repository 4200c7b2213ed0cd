"""The layers of Keras by the names of their classes, as configurations of models have them.

The table is filled by library/keras/layer_table.py, which knows the modules of all layers.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from headrace.library.layers.base_layer import Layer
from headrace.library.layers.named_object import deserialize_keras_object

LAYERS: dict[str, Any] = {}


def add_layers(*modules: ModuleType) -> None:
    """Adds the layers that these modules define."""
    for module in modules:
        for name, value in vars(module).items():
            own = isinstance(value, type) and issubclass(value, Layer) and value.__module__ == module.__name__
            if own and not name.startswith("_"):
                LAYERS[name] = value


def serialize(layer: Any) -> dict[str, Any]:
    """A layer as plain data.

    Args:
      layer: A layer.

    Returns:
      A dictionary ``{"class_name": ..., "config": ...}``.

    >>> tf.keras.layers.serialize(tf.keras.layers.Layer(name="same"))
    {'class_name': 'Layer', 'config': {'name': 'same', 'trainable': True, 'dtype': None}}
    """
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """A new layer, from plain data.

    Args:
      config: A dictionary ``{"class_name": ..., "config": ...}``.
      custom_objects: The user's own classes and functions by the names that `config` has for them.

    Returns:
      A layer or a model.

    >>> tf.keras.layers.deserialize({"class_name": "Layer", "config": {"name": "same"}}).name
    'same'
    """
    return deserialize_keras_object(
        config, module_objects=LAYERS, custom_objects=custom_objects, printable_module_name="layer"
    )
