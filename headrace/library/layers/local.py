"""Locally connected layers: convolutions with other weights at each place.

``implementation`` is how the weights are kept, which TensorFlow's checkpoints show: 1 the weights of each place, 2 a whole
matrix from inputs to outputs of which most is not used, 3 the used part of that matrix.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.layers import activations, regularizers
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.data_format import (
    normalize_data_format,
    normalize_padding,
    numbers,
    output_length,
    spatial_axes,
)
from headrace.library.layers.spec import InputSpec
from headrace.library.linalg.matrix import matmul
from headrace.library.sparse.math import sparse_tensor_dense_matmul
from headrace.library.tensor import array

_ARGS = """filters: The number of output channels.
      kernel_size: The size of the window: a number, or one for each axis.
      strides: The step of the window: a number, or one for each axis.
      padding: "valid"; with ``implementation`` 2 or 3 also "same".
      data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``.
      activation: A function of the result, or its name; None for none.
      use_bias: Whether a bias is added.
      kernel_initializer, bias_initializer: What makes the first values: an initializer, or its name.
      kernel_regularizer, bias_regularizer: Functions of a weight that give a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      kernel_constraint, bias_constraint: Functions that an optimizer applies to a weight after each update, or None.
      implementation: How weights are kept: 1 those of each place, 2 a whole matrix of which most is not used, 3 its used part.
      **kwargs: What every layer takes, such as ``name``."""


class _LocallyConnected(Layer):
    rank: int

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
        activation: Any = None, use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros", kernel_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
        implementation: int = 1, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.filters = filters
        self.kernel_size = numbers(kernel_size, self.rank, "kernel_size")
        self.strides = numbers(strides, self.rank, "strides")
        self.padding = normalize_padding(padding)
        if implementation not in (1, 2, 3):
            raise ValueError(f"Unrecognized implementation mode: {implementation}. Accepted: 1, 2 or 3 {at()}")
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f'Invalid border mode for {type(self).__name__} (implementation 1 supports only "valid"): {padding} {at()}'
            )
        self.data_format = normalize_data_format(data_format)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        weight.keep_arguments(self, "kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        weight.keep_arguments(self, "bias", bias_initializer, bias_regularizer, bias_constraint)
        self.implementation = implementation
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.kernel: Any = None
        self.bias: Any = None

    @property
    def _first(self) -> bool:
        return self.data_format == "channels_first"

    def _ordered(self, lengths: tuple[int, ...], channels: int) -> tuple[int, ...]:
        """Spatial lengths and channels in the layer's order."""
        return (channels, *lengths) if self._first else (*lengths, channels)

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        dims: list[Any] = shape.as_list()
        if None in dims[1:]:
            raise ValueError(
                f"The spatial dimensions and channels of the inputs to {type(self).__name__} should be fully-defined, but layer "
                f"received the inputs shape {shape} {at()}"
            )
        channel_axis = 1 if self._first else self.rank + 1
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={channel_axis: dims[channel_axis]})
        self._channels = dims[channel_axis]
        self._lengths = tuple(dims[a] for a in spatial_axes(self.data_format, self.rank))
        self._places = self._output_lengths(self._lengths)
        if min(self._places) < 1:
            raise ValueError(f"The window {self.kernel_size} does not fit into inputs of shape {shape} {at()}")
        self._windows = self._windows_of_places()
        self.kernel = weight.make(self, "kernel", self._kernel_shape())
        if self.use_bias:
            self.bias = weight.make(self, "bias", (*self._places, self.filters))
        self.built = True

    def _output_lengths(self, lengths: Any) -> tuple[Any, ...]:
        windows = zip(lengths, self.kernel_size, self.strides, strict=True)
        return tuple(output_length(n, k, self.padding, s) for n, k, s in windows)

    def _windows_of_places(self) -> list[np.ndarray]:
        """For each place of the output the places of the input that it sees, both counted in one row."""
        along = []
        for length, size, stride, count in zip(
            self._lengths, self.kernel_size, self.strides, self._places, strict=True
        ):
            before = size // 2 if self.padding == "same" else 0
            starts = [i * stride - before for i in range(count)]
            along.append([range(max(0, s), min(length, s + size)) for s in starts])
        grid = np.arange(math.prod(self._lengths)).reshape(self._lengths)
        return [grid[np.ix_(*ranges)].reshape(-1) for ranges in itertools.product(*along)]

    def _connections(self) -> np.ndarray:
        """[inputs, outputs] in the layer's order: which are connected."""
        spatial = np.zeros([math.prod(self._lengths), len(self._windows)], bool)
        for place, window in enumerate(self._windows):
            spatial[window, place] = True
        ones = np.ones([self._channels, self.filters], bool)
        return np.kron(ones, spatial) if self._first else np.kron(spatial, ones)

    def _kernel_shape(self) -> tuple[int, ...]:
        if self.implementation == 1:
            return len(self._windows), math.prod(self.kernel_size) * self._channels, self.filters
        if self.implementation == 2:
            return *self._ordered(self._lengths, self._channels), *self._ordered(self._places, self.filters)
        return (int(self._connections().sum()),)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        products = {1: self._place_by_place, 2: self._as_matrix, 3: self._as_sparse_matrix}
        outputs = products[self.implementation](inputs)
        if self.use_bias:
            bias: Any = self.bias
            if self._first:  # TensorFlow reshapes, and does not transpose: its checkpoints hold the bias so
                bias = array.reshape(bias, [self.filters, *self._places])
            outputs = outputs + array.expand_dims(bias, 0)
        return self.activation(outputs)

    def _place_by_place(self, inputs: Any) -> Tensor:
        spatial, last = math.prod(self._lengths), not self._first
        flat = array.reshape(inputs, [-1, spatial, self._channels] if last else [-1, self._channels, spatial])
        windows = raw_ops.GatherV2(
            flat, np.stack(self._windows), 1 if last else 2
        )  # of the places, or of channels and places
        count, width = len(self._windows), int(self.kernel.shape[1])
        patches = array.reshape(windows if last else array.transpose(windows, [0, 2, 1, 3]), [-1, count, width])
        outputs = matmul(array.transpose(patches, [1, 0, 2]), self.kernel)  # [places, batch, filters]
        outputs = array.transpose(outputs, [1, 0, 2] if last else [1, 2, 0])
        return array.reshape(outputs, [-1, *self._ordered(self._places, self.filters)])

    def _flat(self, inputs: Any) -> Tensor:
        return array.reshape(inputs, [-1, math.prod(self._lengths) * self._channels])

    def _as_matrix(self, inputs: Any) -> Tensor:
        connected = self._connections()
        matrix = array.reshape(self.kernel, connected.shape) * connected.astype(self.kernel.dtype.as_numpy_dtype)
        return array.reshape(matmul(self._flat(inputs), matrix), [-1, *self._ordered(self._places, self.filters)])

    def _as_sparse_matrix(self, inputs: Any) -> Tensor:
        connected = self._connections().T  # by outputs, in which order the weights are kept
        matrix = SparseTensor(np.argwhere(connected), self.kernel, connected.shape)
        outputs = array.transpose(sparse_tensor_dense_matmul(matrix, self._flat(inputs), adjoint_b=True))
        return array.reshape(outputs, [-1, *self._ordered(self._places, self.filters)])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims: list[Any] = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        lengths = [dims[a] for a in spatial_axes(self.data_format, self.rank)]
        return TensorShape([dims[0], *self._ordered(self._output_lengths(lengths), self.filters)])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(), "filters": self.filters, "kernel_size": self.kernel_size, "strides": self.strides,
            "padding": self.padding, "data_format": self.data_format,
            "activation": activations.serialize(self.activation), "use_bias": self.use_bias,
            **weight.config(self, "kernel", "bias"),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "implementation": self.implementation,
        }  # fmt: skip


class LocallyConnected1D(_LocallyConnected):
    __doc__ = f"""A convolution along the steps of [batch, steps, channels] with other weights at each step.

    Args:
      {_ARGS}

    >>> layer = tf.keras.layers.LocallyConnected1D(64, 3)
    >>> layer(tf.zeros([1, 10, 32])).shape.as_list(), layer.kernel.shape.as_list()
    ([1, 8, 64], [8, 96, 64])
    """

    rank = 1


class LocallyConnected2D(_LocallyConnected):
    __doc__ = f"""A convolution over images with other weights at each place.

    Args:
      {_ARGS}

    >>> layer = tf.keras.layers.LocallyConnected2D(4, (3, 3))
    >>> layer(tf.zeros([1, 8, 8, 3])).shape.as_list(), layer.kernel.shape.as_list()
    ([1, 6, 6, 4], [36, 27, 4])
    """

    rank = 2
