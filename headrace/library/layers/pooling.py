"""Pooling layers over one, two or three axes, and their functions."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.graph.operation import Tensor
from headrace.library.layers.base import InputSpec, Layer
from headrace.library.layers.convolutional import normalize_padding, numbers, output_length
from headrace.library.layers.core import normalize_data_format
from headrace.library.layers.function import layer_function
from headrace.library.network import pooling
from headrace.library.tensor import array

_POOLS: dict[tuple[str, int], Any] = {
    ("max", 2): pooling.max_pool,
    ("avg", 2): pooling.avg_pool,
    ("max", 3): pooling.max_pool3d,
    ("avg", 3): pooling.avg_pool3d,
}


class Pooling(Layer):
    """A pool by ``reduction`` over ``rank`` axes.  A pool over one axis is one over two, the second of length one."""

    reduction = "max"
    rank = 2

    def __init__(
        self, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
        name: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **kwargs)
        self.pool_size = numbers(pool_size, self.rank, "pool_size")
        self.strides = numbers(pool_size if strides is None else strides, self.rank, "strides")
        self.padding = normalize_padding(padding)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        first = self.data_format == "channels_first"
        window, strides = list(self.pool_size), list(self.strides)
        line = 3 if first else 2
        if self.rank == 1:
            inputs = array.expand_dims(inputs, line)
            window, strides = [*window, 1], [*strides, 1]
        pool = _POOLS[self.reduction, max(self.rank, 2)]
        layout = ("NCDHW" if self.rank == 3 else "NCHW") if first else ("NDHWC" if self.rank == 3 else "NHWC")
        outputs = pool(
            inputs, [1, 1, *window] if first else [1, *window, 1], [1, 1, *strides] if first else [1, *strides, 1],
            self.padding.upper(), data_format=layout,
        )  # fmt: skip
        return array.squeeze(outputs, [line]) if self.rank == 1 else outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        start = 2 if self.data_format == "channels_first" else 1
        for i, (size, stride) in enumerate(zip(self.pool_size, self.strides, strict=True), start):
            dims[i] = output_length(dims[i], size, self.padding, stride)
        return TensorShape(dims)


class MaxPooling1D(Pooling):
    """The largest value of each window along one axis."""

    reduction, rank = "max", 1


class MaxPooling2D(Pooling):
    """The largest value of each window of an image."""

    reduction, rank = "max", 2


class MaxPooling3D(Pooling):
    """The largest value of each window of a volume."""

    reduction, rank = "max", 3


class AveragePooling1D(Pooling):
    """The mean of each window along one axis."""

    reduction, rank = "avg", 1


class AveragePooling2D(Pooling):
    """The mean of each window of an image."""

    reduction, rank = "avg", 2


class AveragePooling3D(Pooling):
    """The mean of each window of a volume."""

    reduction, rank = "avg", 3


max_pooling1d = layer_function(
    "max_pooling1d", MaxPooling1D, "The largest value of each window along one axis of [batch, length, channels]."
)
max_pooling2d = layer_function(
    "max_pooling2d",
    MaxPooling2D,
    "The largest value of each window of images: ``tf.layers.max_pooling2d(x, 2, 2)`` halves height and width.",
)
max_pooling3d = layer_function("max_pooling3d", MaxPooling3D, "The largest value of each window of volumes.")
average_pooling1d = layer_function(
    "average_pooling1d", AveragePooling1D, "The mean of each window along one axis of [batch, length, channels]."
)
average_pooling2d = layer_function("average_pooling2d", AveragePooling2D, "The mean of each window of images.")
average_pooling3d = layer_function("average_pooling3d", AveragePooling3D, "The mean of each window of volumes.")
