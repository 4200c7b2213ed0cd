"""Resizing images (``tf.image``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.factory import called
from headrace.library.image.geometry import pad_to_bounding_box
from headrace.library.numeric.math import cast, floor, maximum, minimum, round
from headrace.library.scope import name_scope
from headrace.library.tensor.array import expand_dims, shape, squeeze, stack


class ResizeMethod:
    """How `resize_images` computes new pixels.

    >>> tf.image.resize_images(tf.zeros([4, 4, 3]), [2, 2], tf.image.ResizeMethod.AREA).shape.as_list()
    [2, 2, 3]
    """

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def _resize(name: str, op_type: str, how: str, dtype: str, example: str) -> Callable[..., Tensor]:
    text = f"""Resizes [batch, height, width, channels] to `size`{how}.

Args:
  images: A batch of images [batch, height, width, channels] of real numbers.
  size: Two integers, [height, width], of the result.
  align_corners: Whether the middles of the corner pixels of both images lie on each other.
  name: A name for the op.
  half_pixel_centers: Whether pixels lie at the middles of their squares, or at the corners; not with `align_corners`.

Returns:
  A tensor [batch, size[0], size[1], channels] of {dtype}.

>>> image = tf.reshape([0.0, 2.0], [1, 1, 2, 1])
>>> tf.Session().run(tf.image.{name}(image, [1, 4])).flatten().tolist()
{example}
"""

    @called(name, text)
    def resize(
        images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
    ) -> Tensor:
        options = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
        return getattr(raw_ops, op_type)(images, size, **options, name=name)

    return resize


resize_bilinear = _resize(
    "resize_bilinear", "ResizeBilinear", " by bilinear interpolation; the result is float32", "float32",
    "[0.0, 1.0, 2.0, 2.0]",
)  # fmt: skip
resize_nearest_neighbor = _resize(
    "resize_nearest_neighbor", "ResizeNearestNeighbor", ", each pixel a copy of one; the dtype stays",
    "the type of `images`", "[0.0, 0.0, 2.0, 2.0]",
)  # fmt: skip
resize_bicubic = _resize(
    "resize_bicubic", "ResizeBicubic", " by bicubic interpolation; the result is float32", "float32",
    "[0.0, 1.0, 2.0, 2.1875]",
)  # fmt: skip


def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Resizes [batch, height, width, channels] to `size`, each pixel the mean of an area; the result is float32.

    Args:
      images: A batch of images [batch, height, width, channels] of numbers.
      size: Two integers, [height, width], of the result.
      align_corners: Whether the middles of the corner pixels of both images lie on each other.
      name: A name for the op.

    Returns:
      A float32 tensor [batch, size[0], size[1], channels].

    >>> tf.Session().run(tf.image.resize_area([[[[1.0], [3.0]]]], [1, 1])).tolist()
    [[[[2.0]]]]
    """
    return raw_ops.ResizeArea(images, size, align_corners=align_corners, name=name)


_BY_METHOD = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}


def resize_images(
    images: Any, size: Any, method: Any = ResizeMethod.BILINEAR, align_corners: bool = False,
    preserve_aspect_ratio: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Resizes one image, or a batch of them, to `size` = [height, width].

    An image that has that size already is given back as it is, in its dtype.

    Args:
      images: One image [height, width, channels], or a batch of them; the rank must be known.
      size: Two integers, [height, width], of the result.
      method: One of `ResizeMethod`, or a function of images, size and ``align_corners``.
      align_corners: Whether the middles of the corner pixels of both images lie on each other.
      preserve_aspect_ratio: Whether to take the largest size within `size` that keeps the ratio of height to width.
      name: A name for the op.

    Returns:
      A tensor [..., height, width, channels]: float32, or the type of `images` if NEAREST_NEIGHBOR.

    >>> image = tf.reshape([0.0, 2.0], [1, 2, 1])
    >>> tf.Session().run(tf.image.resize_images(image, [1, 4]))[:, :, 0].tolist()
    [[0.0, 1.0, 2.0, 2.0]]
    """
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        images, batched = _as_batch(images)
        _, height, width, _ = images.shape.as_list()
        try:
            size = convert_to_tensor(size, dtypes.int32, name="size")
        except (TypeError, ValueError) as error:
            raise ValueError(f"'size' must be a 1-D int32 Tensor: {error}") from None
        if not size.shape.is_compatible_with([2]):
            raise ValueError(
                f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width, got shape {size.shape}"
            )
        if preserve_aspect_ratio:
            size = _same_ratio(images, size)
        static_size = constant_value(size)
        rows, columns = (None, None) if static_size is None else (int(static_size[0]), int(static_size[1]))
        if rows is None or columns is None or (height, width) != (rows, columns):
            if not callable(method) and method not in _BY_METHOD:
                raise ValueError("Resize method is not implemented.")
            resize = method if callable(method) else _BY_METHOD[method]
            images = resize(images, size, align_corners=align_corners)
            images.set_shape([None, rows, columns, None])
        return images if batched else squeeze(images, axis=[0])


def _as_batch(images: Tensor) -> tuple[Tensor, bool]:
    if images.shape.ndims is None:
        raise ValueError("'images' contains no shape.")
    if images.shape.ndims == 3:
        return expand_dims(images, 0), False
    if images.shape.ndims != 4:
        raise ValueError(f"'images' must have either 3 or 4 dimensions, got shape {images.shape}.")
    return images, True


def _same_ratio(images: Tensor, size: Tensor) -> Tensor:
    """The largest size within `size` that has the images' ratio of height to width."""
    _, height, width, _ = images.shape.as_list()
    have = shape(images)
    real = [cast(have[i + 1] if static is None else static, dtypes.float32) for i, static in enumerate((height, width))]
    scale = minimum(cast(size[0], dtypes.float32) / real[0], cast(size[1], dtypes.float32) / real[1])
    return stack([cast(round(scale * n), dtypes.int32) for n in real])


def resize_image_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = ResizeMethod.BILINEAR, align_corners: bool = False
) -> Tensor:
    """Resizes without changing the ratio of height to width, and pads with zeros to the size asked for.

    Args:
      image: One image [height, width, channels], or a batch of them; the rank must be known.
      target_height: The height of the result.
      target_width: The width of the result.
      method: One of `ResizeMethod`, or a function of images, size and ``align_corners``.
      align_corners: Whether the middles of the corner pixels of both images lie on each other.

    Returns:
      A tensor [..., target_height, target_width, channels]: float32, or the type of `image` if NEAREST_NEIGHBOR.

    >>> image = tf.ones([1, 2, 1])
    >>> tf.Session().run(tf.image.resize_image_with_pad(image, 4, 4))[:, :, 0].tolist()
    [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    with name_scope(None, "resize_image_with_pad", [image]):
        image, batched = _as_batch(convert_to_tensor(image, name="image"))
        target = convert_to_tensor([target_height, target_width], dtypes.int32)
        size, have = cast(target, dtypes.float32), cast(shape(image)[1:3], dtypes.float32)
        fitting = have / raw_ops.Max(have / size, [0])
        edges = cast(floor(maximum(0.0, (size - fitting) / 2)), dtypes.int32)
        resized = resize_images(image, cast(floor(fitting), dtypes.int32), method, align_corners)
        padded = pad_to_bounding_box(resized, edges[0], edges[1], target_height, target_width)
        return padded if batched else squeeze(padded, axis=[0])


def crop_and_resize(
    image: Any, boxes: Any, box_ind: Any = None, crop_size: Any = None, method: str = "bilinear",
    extrapolation_value: float = 0, name: str | None = None, box_indices: Any = None,
) -> Tensor:  # fmt: skip
    """Cuts `boxes` (fractions: [y1, x1, y2, x2]) out of the images `box_ind` names, and resizes each to `crop_size`.

    Args:
      image: A batch of images [batch, height, width, channels] of numbers.
      boxes: [boxes, 4], float32: y1, x1, y2, x2 of each. With y1 above y2 the crop is upside down.
      box_ind: [boxes], int32: the number of the image in the batch for each box.
      crop_size: Two integers, [height, width], of the crops.
      method: How pixels are computed: 'bilinear' or 'nearest'.
      extrapolation_value: The value of pixels outside the image.
      name: A name for the op.
      box_indices: Another name of `box_ind`; give one of them.

    Returns:
      A float32 tensor [boxes, crop_size[0], crop_size[1], channels].

    >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.Session().run(tf.image.crop_and_resize(image, [[0.0, 0.0, 0.5, 0.5]], [0], [2, 2]))[0, :, :, 0].tolist()
    [[0.0, 1.0], [3.0, 4.0]]
    """
    index = either("box_indices", box_indices, "box_ind", box_ind)
    return raw_ops.CropAndResize(
        image, boxes, index, crop_size, method=method, extrapolation_value=float(extrapolation_value), name=name
    )
