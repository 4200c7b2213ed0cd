"""Layers that make the spatial axes of inputs longer or shorter: padding with zeros, cropping, repeating."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.backend.shaping import repeat_elements, resize_images
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.data_format import normalize_data_format, numbers, pairs, spatial_axes
from headrace.library.layers.spec import InputSpec
from headrace.library.tensor import array

_FORMAT = """data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``.
      **kwargs: What every layer takes, such as ``name``."""
_PAIRS = "a number for all axes, one for each, or a pair for each: before and after"


class _Spatial(Layer):
    """A layer that changes the lengths of the ``rank`` axes between the batch and the channels."""

    rank: int

    def __init__(self, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _axes(self) -> range:
        return spatial_axes(self.data_format, self.rank)

    def _new_length(self, length: int, i: int) -> int:
        """What the length of the ``i``-th spatial axis becomes."""
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        for i, axis in enumerate(self._axes):
            length = dims[axis]
            if length is not None:
                dims[axis] = self._new_length(length, i)
        return TensorShape(dims)

    def get_config(self) -> dict[str, Any]:
        shown = {"data_format": self.data_format} if self.rank > 1 else {}
        return {**super().get_config(), **shown}


class _ZeroPadding(_Spatial):
    def __init__(self, padding: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding: Any = pairs(padding, self.rank, "padding")

    def _new_length(self, length: int, i: int) -> int:
        return length + sum(self._pads[i])

    @property
    def _pads(self) -> tuple[tuple[int, int], ...]:
        return self.padding if self.rank > 1 else (self.padding,)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        widths = [[0, 0] for _ in range(self.rank + 2)]
        for axis, pad in zip(self._axes, self._pads, strict=True):
            widths[axis] = list(pad)
        return array.pad(inputs, widths)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "padding": self.padding}


class ZeroPadding1D(_ZeroPadding):
    """Puts zeros before and after the steps of [batch, steps, channels].

    Args:
      padding: How many: a number, or a pair of before and after.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.keras.layers.ZeroPadding1D(2)(tf.zeros([1, 3, 4])).shape.as_list()
    [1, 7, 4]
    """

    rank = 1

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(0, "channels_last", **kwargs)
        self.padding = numbers(padding, 2, "padding")


class ZeroPadding2D(_ZeroPadding):
    __doc__ = f"""Puts zeros around images.

    Args:
      padding: How many: {_PAIRS}.
      {_FORMAT}

    >>> tf.keras.layers.ZeroPadding2D(((1, 0), (2, 2)))(tf.zeros([1, 3, 3, 4])).shape.as_list()
    [1, 4, 7, 4]
    """

    rank = 2

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class ZeroPadding3D(_ZeroPadding):
    __doc__ = f"""Puts zeros around volumes.

    Args:
      padding: How many: {_PAIRS}.
      {_FORMAT}

    >>> tf.keras.layers.ZeroPadding3D(1)(tf.zeros([1, 3, 3, 3, 4])).shape.as_list()
    [1, 5, 5, 5, 4]
    """

    rank = 3

    def __init__(self, padding: Any = (1, 1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class _Cropping(_Spatial):
    def __init__(self, cropping: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping: Any = pairs(cropping, self.rank, "cropping")

    @property
    def _cuts(self) -> tuple[tuple[int, int], ...]:
        return self.cropping if self.rank > 1 else (self.cropping,)

    def _new_length(self, length: int, i: int) -> int:
        left = length - sum(self._cuts[i])
        if left <= 0:
            raise ValueError(
                f"cropping={self.cropping} of layer {self.name} leaves nothing of an axis of length {length} {at()}"
            )
        return left

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        self.compute_output_shape(inputs.shape)
        parts = [slice(None)] * (self.rank + 2)
        for axis, (before, after) in zip(self._axes, self._cuts, strict=True):
            parts[axis] = slice(before, -after if after else None)
        return inputs[tuple(parts)]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cropping": self.cropping}


class Cropping1D(_Cropping):
    """Leaves out steps at the begin and the end of [batch, steps, channels].

    Args:
      cropping: How many: a number, or a pair of before and after.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.keras.layers.Cropping1D((1, 2))(tf.zeros([1, 8, 4])).shape.as_list()
    [1, 5, 4]
    """

    rank = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(0, "channels_last", **kwargs)
        self.cropping = numbers(cropping, 2, "cropping")


class Cropping2D(_Cropping):
    __doc__ = f"""Leaves out the edges of images.

    Args:
      cropping: How much: {_PAIRS}.
      {_FORMAT}

    >>> tf.keras.layers.Cropping2D(((1, 1), (2, 0)))(tf.zeros([1, 8, 8, 4])).shape.as_list()
    [1, 6, 6, 4]
    """

    rank = 2

    def __init__(self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


class Cropping3D(_Cropping):
    __doc__ = f"""Leaves out the edges of volumes.

    Args:
      cropping: How much: {_PAIRS}.
      {_FORMAT}

    >>> tf.keras.layers.Cropping3D(1)(tf.zeros([1, 8, 8, 8, 4])).shape.as_list()
    [1, 6, 6, 6, 4]
    """

    rank = 3

    def __init__(self, cropping: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


class _UpSampling(_Spatial):
    def __init__(self, size: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size: Any = numbers(size, self.rank, "size")

    def _new_length(self, length: int, i: int) -> int:
        return length * (self.size if self.rank == 1 else self.size[i])

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        sizes = [self.size] if self.rank == 1 else self.size
        for axis, times in zip(self._axes, sizes, strict=True):
            inputs = repeat_elements(inputs, times, axis)
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "size": self.size}


class UpSampling1D(_UpSampling):
    """Repeats each step of [batch, steps, channels].

    Args:
      size: How often.
      **kwargs: What every layer takes, such as ``name``.

    >>> tf.Session().run(tf.keras.layers.UpSampling1D(2)(tf.constant([[[1.0], [2.0]]])))[0, :, 0].tolist()
    [1.0, 1.0, 2.0, 2.0]
    """

    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(1, "channels_last", **kwargs)
        self.size = int(size)


class UpSampling2D(_UpSampling):
    __doc__ = f"""Makes images larger.

    Args:
      size: How many times as high and as wide: a number for both, or one for each.
      data_format: "channels_last" or "channels_first"; None for ``tf.keras.backend.image_data_format()``.
      interpolation: "nearest", which repeats, or "bilinear".
      {_FORMAT.splitlines()[1].strip()}

    >>> tf.keras.layers.UpSampling2D(3)(tf.zeros([1, 8, 8, 4])).shape.as_list()
    [1, 24, 24, 4]
    """

    rank = 2

    def __init__(
        self, size: Any = (2, 2), data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(
                f'`interpolation` argument should be one of "nearest" or "bilinear". Received: {interpolation!r}'
            )
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Tensor:
        if self.interpolation == "nearest":
            return super().call(inputs)
        height, width = self.size
        outputs = resize_images(inputs, height, width, self.data_format, self.interpolation)
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "interpolation": self.interpolation}


class UpSampling3D(_UpSampling):
    __doc__ = f"""Makes volumes larger by repeating.

    Args:
      size: How many times as long along each axis: a number for all, or one for each.
      {_FORMAT}

    >>> tf.keras.layers.UpSampling3D(2)(tf.zeros([1, 4, 4, 4, 3])).shape.as_list()
    [1, 8, 8, 8, 3]
    """

    rank = 3

    def __init__(self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(size, data_format, **kwargs)
