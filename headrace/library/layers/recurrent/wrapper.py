"""Wrapper: a layer around another one."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.registry import deserialize, serialize


class Wrapper(Layer):
    """The base of layers around another one, to derive from.

    Args:
      layer: The layer inside.
      **kwargs: What every layer takes, such as ``name``.

    >>> class Twice(tf.keras.layers.Wrapper):
    ...     def call(self, inputs):
    ...         return self.layer(self.layer(inputs))
    >>> outer = Twice(tf.keras.layers.Dense(3))
    >>> outer(tf.zeros([2, 3])).shape.as_list(), len(outer.weights)
    ([2, 3], 2)
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(f"`{type(self).__name__}` goes around a `tf.keras.layers.Layer`; got {layer!r} {at()}")
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Builds the layer inside.

        Args:
          input_shape: The shape of its inputs.
        """
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    @property  # type: ignore[misc]
    def activity_regularizer(self) -> Any:
        """That of the layer inside, or None."""
        return getattr(self.layer, "activity_regularizer", None)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        return {**super().get_config(), "layer": serialize(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A new layer, from what `get_config` gives.

        Args:
          config: A dictionary.
          custom_objects: The user's own classes by name.

        Returns:
          A layer.
        """
        config = dict(config)
        layer = deserialize(config.pop("layer"), custom_objects=custom_objects)
        return cls(layer, **config)
