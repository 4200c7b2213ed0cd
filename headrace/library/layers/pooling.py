"""Pooling layers over one, two or three axes: of windows, and of all there is."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.graph.operation import Tensor
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.data_format import (
    normalize_data_format,
    normalize_padding,
    numbers,
    output_length,
    spatial_axes,
)
from headrace.library.layers.spec import InputSpec
from headrace.library.network import pooling
from headrace.library.numeric import math, reduction
from headrace.library.tensor import array

_POOLS: dict[tuple[str, int], Any] = {
    ("max", 2): pooling.max_pool,
    ("avg", 2): pooling.avg_pool,
    ("max", 3): pooling.max_pool3d,
    ("avg", 3): pooling.avg_pool3d,
}

_ARGS = """pool_size: The size of the window: a number, or one for each axis.
      strides: The step of the window, in the same form; None for its size.
      padding: "valid", or "same" for windows that reach over the edge.
      data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``.
      **kwargs: What every layer takes, such as ``name``."""


class Pooling(Layer):
    """A pool by ``reduction`` over ``rank`` axes.  A pool over one axis is one over two, the second of length one."""

    reduction = "max"
    rank = 2

    def __init__(
        self, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
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
        axes = spatial_axes(self.data_format, self.rank)
        for axis, size, stride in zip(axes, self.pool_size, self.strides, strict=True):
            dims[axis] = output_length(dims[axis], size, self.padding, stride)
        return TensorShape(dims)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(), "pool_size": self.pool_size, "strides": self.strides, "padding": self.padding,
            "data_format": self.data_format,
        }  # fmt: skip


class Pooling1D(Pooling):
    """A pool over steps of [batch, steps, channels], with Keras's default values."""

    rank = 1

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: str = "valid", data_format: str | None = "channels_last",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


class Pooling2D(Pooling):
    """A pool over images, with Keras's default values."""

    rank = 2

    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: str = "valid", data_format: str | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


class Pooling3D(Pooling):
    """A pool over volumes, with Keras's default values."""

    rank = 3

    def __init__(
        self, pool_size: Any = (2, 2, 2), strides: Any = None, padding: str = "valid", data_format: str | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


class MaxPooling1D(Pooling1D):
    __doc__ = f"""The largest value of each window along the steps of [batch, steps, channels].

    Args:
      {_ARGS}

    >>> tf.keras.layers.MaxPooling1D(2)(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 4, 3]
    """

    reduction = "max"


class MaxPooling2D(Pooling2D):
    __doc__ = f"""The largest value of each window of an image.

    Args:
      {_ARGS}

    >>> tf.keras.layers.MaxPooling2D()(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 4, 4, 3]
    """

    reduction = "max"


class MaxPooling3D(Pooling3D):
    __doc__ = f"""The largest value of each window of a volume.

    Args:
      {_ARGS}

    >>> tf.keras.layers.MaxPooling3D()(tf.zeros([1, 8, 8, 8, 3])).shape.as_list()
    [1, 4, 4, 4, 3]
    """

    reduction = "max"


class AveragePooling1D(Pooling1D):
    __doc__ = f"""The mean of each window along the steps of [batch, steps, channels].

    Args:
      {_ARGS}

    >>> tf.keras.layers.AveragePooling1D(2)(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 4, 3]
    """

    reduction = "avg"


class AveragePooling2D(Pooling2D):
    __doc__ = f"""The mean of each window of an image.

    Args:
      {_ARGS}

    >>> tf.keras.layers.AveragePooling2D()(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 4, 4, 3]
    """

    reduction = "avg"


class AveragePooling3D(Pooling3D):
    __doc__ = f"""The mean of each window of a volume.

    Args:
      {_ARGS}

    >>> tf.keras.layers.AveragePooling3D()(tf.zeros([1, 8, 8, 8, 3])).shape.as_list()
    [1, 4, 4, 4, 3]
    """

    reduction = "avg"


class GlobalPooling(Layer):
    """One value for each channel: ``reduction`` over all spatial axes."""

    reduction = "max"
    rank = 2

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        reduce = reduction.reduce_max if self.reduction == "max" else reduction.reduce_mean
        return reduce(inputs, axis=list(spatial_axes(self.data_format, self.rank)))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        return TensorShape([dims[0], dims[1 if self.data_format == "channels_first" else -1]])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


_GLOBAL = """data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``.
      **kwargs: What every layer takes, such as ``name``."""


class GlobalMaxPooling1D(GlobalPooling):
    __doc__ = f"""The largest value of each channel along the steps of [batch, steps, channels].

    Args:
      {_GLOBAL}

    >>> tf.keras.layers.GlobalMaxPooling1D()(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 3]
    """

    reduction, rank = "max", 1

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)


class GlobalMaxPooling2D(GlobalPooling):
    __doc__ = f"""The largest value of each channel of an image.

    Args:
      {_GLOBAL}

    >>> tf.keras.layers.GlobalMaxPooling2D()(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 3]
    """

    reduction, rank = "max", 2


class GlobalMaxPooling3D(GlobalPooling):
    __doc__ = f"""The largest value of each channel of a volume.

    Args:
      {_GLOBAL}

    >>> tf.keras.layers.GlobalMaxPooling3D()(tf.zeros([1, 8, 8, 8, 3])).shape.as_list()
    [1, 3]
    """

    reduction, rank = "max", 3


class GlobalAveragePooling1D(GlobalPooling):
    __doc__ = f"""The mean of each channel along the steps of [batch, steps, channels].

    Args:
      {_GLOBAL}

    >>> tf.keras.layers.GlobalAveragePooling1D()(tf.zeros([1, 8, 3])).shape.as_list()
    [1, 3]
    """

    reduction, rank = "avg", 1

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Tensor:  # type: ignore[override]
        if mask is None:
            return super().call(inputs)
        (steps,) = spatial_axes(self.data_format, 1)
        seen = array.expand_dims(math.cast(mask, inputs.dtype), 3 - steps)
        return reduction.reduce_sum(inputs * seen, axis=steps) / reduction.reduce_sum(seen, axis=steps)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


class GlobalAveragePooling2D(GlobalPooling):
    __doc__ = f"""The mean of each channel of an image.

    Args:
      {_GLOBAL}

    >>> tf.keras.layers.GlobalAveragePooling2D()(tf.zeros([1, 8, 8, 3])).shape.as_list()
    [1, 3]
    """

    reduction, rank = "avg", 2


class GlobalAveragePooling3D(GlobalPooling):
    __doc__ = f"""The mean of each channel of a volume.

    Args:
      {_GLOBAL}

    >>> tf.keras.layers.GlobalAveragePooling3D()(tf.zeros([1, 8, 8, 8, 3])).shape.as_list()
    [1, 3]
    """

    reduction, rank = "avg", 3
