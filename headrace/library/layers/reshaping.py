"""Layers that give inputs another shape: Flatten, Reshape, Permute, RepeatVector."""

from __future__ import annotations

import math
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.data_format import normalize_data_format
from headrace.library.layers.spec import InputSpec
from headrace.library.tensor import array


class Flatten(Layer):
    """[batch, ...] becomes [batch, product of the rest]; channels that come first are moved to the end before.

    Args:
      data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.keras.layers.Flatten()(tf.zeros([8, 2, 3])).shape.as_list()
    [8, 6]
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = array.transpose(inputs, [0, *range(2, rank), 1])
        dims = inputs.shape.as_list()
        rest = dims[1:]
        if None not in rest:
            return raw_ops.Reshape(inputs, [-1 if dims[0] is None else dims[0], math.prod(rest)])
        if dims[0] is not None:
            return raw_ops.Reshape(inputs, [dims[0], -1])
        sizes: Any = array.shape(inputs)
        outputs = array.reshape(inputs, [sizes[0], -1])
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims: list[Any] = as_shape(input_shape).with_rank_at_least(1).as_list()
        return TensorShape([dims[0], None if None in dims[1:] else math.prod(dims[1:])])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


class Reshape(Layer):
    """Gives each sample a shape.

    Args:
      target_shape: The shape without the batch axis; one entry may be -1, for what is left.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.keras.layers.Reshape([-1, 2])(tf.zeros([8, 3, 4])).shape.as_list()
    [8, 6, 2]
    """

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        inputs = convert_to_tensor(inputs)
        shape = self.compute_output_shape(inputs.shape)
        if shape.ndims is not None and shape.as_list().count(None) <= 1:
            return array.reshape(inputs, [-1 if d is None else d for d in shape.as_list()])
        sizes: Any = array.shape(inputs)
        outputs = array.reshape(inputs, [sizes[0], *self.target_shape])
        outputs.set_shape(shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = as_shape(input_shape)
        if shape.ndims is None:
            return TensorShape([None, *(None if d == -1 else d for d in self.target_shape)])
        batch, *rest = shape.as_list()
        if None in rest:
            return TensorShape([batch, *(None if d == -1 else d for d in self.target_shape)])
        return TensorShape([batch, *self._filled(rest)])

    def _filled(self, dims: list[Any]) -> list[int]:
        """The target shape for samples of a known shape, with a number for -1."""
        known = math.prod(d for d in self.target_shape if d != -1)
        size, free = math.prod(dims), self.target_shape.count(-1)
        if free > 1:
            raise ValueError(
                f"Can only specify one unknown dimension. Received target_shape={self.target_shape} {at()}"
            )
        fits = size == known if not free else known > 0 and size % known == 0
        if not fits:
            raise ValueError(
                f"Total size of new array must be unchanged: samples of shape {tuple(dims)} have {size} elements, which do not "
                f"fit target_shape={self.target_shape} {at()}"
            )
        return [size // known if d == -1 else d for d in self.target_shape]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "target_shape": self.target_shape}


class Permute(Layer):
    """Puts the axes of each sample in another order.

    Args:
      dims: The axes in their new order, counted from 1: the batch axis stays.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.keras.layers.Permute([2, 1])(tf.zeros([8, 3, 4])).shape.as_list()
    [8, 4, 3]
    """

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in `dims` must be consecutive and "
                "start from 1."
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return array.transpose(inputs, [0, *self.dims])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims = as_shape(input_shape).with_rank(len(self.dims) + 1).as_list()
        return TensorShape([dims[0], *(dims[d] for d in self.dims)])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "dims": self.dims}


class RepeatVector(Layer):
    """Makes a sequence of a vector by repeating it.

    Args:
      n: How often.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.keras.layers.RepeatVector(3)(tf.zeros([8, 4])).shape.as_list()
    [8, 3, 4]
    """

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return array.tile(array.expand_dims(inputs, 1), [1, self.n, 1])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims = as_shape(input_shape).with_rank(2).as_list()
        return TensorShape([dims[0], self.n, dims[1]])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "n": self.n}
