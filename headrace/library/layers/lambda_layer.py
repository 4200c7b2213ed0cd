"""The layer that calls a function of the user's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.library import nest
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.named_object import find_object

# Where Keras notes what a function is stored as, and in which module it was.
_KEPT_BESIDE = frozenset(
    f"{what}_{key}" for what in ("function", "output_shape", "mask") for key in ("type", "module")
) | {"module"}


class Lambda(Layer):
    """A function of tensors as a layer.

    A layer that is stored keeps the function's name only: give the function in ``custom_objects`` when it is read.

    Args:
      function: A function of the inputs; it may take ``mask`` and ``training`` too.
      output_shape: The shape of the output without the batch axis, or a function of the inputs' shape; None to find it out.
      mask: The mask of the output, or a function of the inputs and their mask; None for none.
      arguments: A dictionary of further arguments of the function.
      **kwargs: What every layer takes, such as ``name``.

    >>> double = tf.keras.layers.Lambda(lambda x: x * 2.0)
    >>> tf.Session().run(double(tf.constant([[1.0, 2.0]]))).tolist()
    [[2.0, 4.0]]
    """

    def __init__(
        self, function: Callable[..., Any], output_shape: Any = None, mask: Any = None,
        arguments: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if not callable(function):
            raise TypeError(f"The function of a Lambda layer must be callable. Received: {function!r}")
        self.function = function
        self.arguments = dict(arguments or {})
        self.mask = mask
        self.supports_masking = mask is not None
        self._output_shape = output_shape
        self._takes = _parameters(function)

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:  # type: ignore[override]
        arguments = dict(self.arguments)
        for name, value in (("mask", mask), ("training", training)):
            if name in self._takes:
                arguments[name] = value
        return self.function(inputs, **arguments)

    def compute_output_shape(self, input_shape: Any) -> Any:
        if self._output_shape is None:
            try:
                return super().compute_output_shape(input_shape)
            except NotImplementedError:
                raise NotImplementedError(
                    f"The output shape of the Lambda layer {self.name} could not be found out. Give its `output_shape`. {at()}"
                ) from None
        if callable(self._output_shape):
            return nest.map_structure(as_shape, self._output_shape(input_shape))
        return TensorShape([as_shape(nest.flatten(input_shape)[0])[0], *self._output_shape])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(), "function": self.function, "function_type": "function",
            "output_shape": self._output_shape, "output_shape_type": "raw", "mask": self.mask, "arguments": self.arguments,
        }  # fmt: skip

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A layer from ``get_config``'s data.

        Its function is looked up in ``custom_objects``: under the layer's name, then under that of the function.  Keras stores
        an anonymous function as bytecode, which is never run.
        """
        found = {key: value for key, value in config.items() if key not in _KEPT_BESIDE}
        for key in ("function", "output_shape", "mask"):
            if config.get(f"{key}_type") == "lambda" or (
                key == "function" and isinstance(found.get(key), (list, tuple, dict))
            ):
                found[key] = _in_place_of_code(key, config.get("name"), custom_objects)
            elif isinstance(found.get(key), str):
                own = find_object(str(config.get("name")), None, custom_objects) if key == "function" else None
                found[key] = own if own is not None else _function(found[key], config.get("name"), custom_objects)
        return cls(**found)


def _in_place_of_code(key: str, name: Any, custom_objects: Any) -> Callable[..., Any]:
    function = find_object(str(name), None, custom_objects) if key == "function" else None
    if function is None:
        raise ValueError(
            f"The Lambda layer {name!r} was stored with its {key} as Python bytecode, which is never run: a file may hold any "
            f"code. Give the function by the layer's name, custom_objects={{{name!r}: function}}, or store a layer of a class "
            f"of your own {at()}"
        )
    return function


def _function(name: str, layer: Any, custom_objects: Any) -> Callable[..., Any]:
    function = find_object(name, None, custom_objects)
    if function is None:
        raise ValueError(
            f"The Lambda layer {layer!r} was stored with the function {name!r}, of which only the name was kept. Give it "
            f"by the layer's name: custom_objects={{{layer!r}: function}}"
        )
    return function


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins have no signature
        return frozenset()
