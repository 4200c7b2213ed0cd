"""Cropping, padding, flipping and turning images (``tf.image``).  An image is [height, width, channels], or a batch of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import Assert
from headrace.library.control.control_flow import case, cond
from headrace.library.control.dependency import identity
from headrace.library.numeric.math import cast, equal, less, maximum, minimum, mod, round, subtract
from headrace.library.numeric.random import random_uniform
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.tensor.array import expand_dims, pad, reshape, reverse, shape, squeeze, stack, transpose
from headrace.library.tensor.slicing import slice


def _image(image: Any, name: str = "image") -> Tensor:
    image = convert_to_tensor(image, name=name)
    if image.shape.ndims is not None and image.shape.ndims < 3:
        raise ValueError(f"'image' (shape {image.shape}) must be at least three-dimensional.")
    if image.shape.ndims is not None and 0 in image.shape.as_list()[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {image.shape}")
    return image


def _batch(image: Any) -> tuple[Tensor, bool]:
    """-> a batch, and whether it was one.  What has no static rank is one image."""
    image = _image(image)
    if image.shape.ndims is None:
        batch = expand_dims(image, 0)
        batch.set_shape([None] * 4)
        return batch, False
    if image.shape.ndims == 3:
        return expand_dims(image, 0), False
    if image.shape.ndims != 4:
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return image, True


def _static(value: Any) -> int | None:
    if isinstance(value, Tensor):
        static_value = constant_value(value)
        return None if static_value is None else int(static_value)
    return int(value)


def _size(image: Tensor) -> tuple[Any, Any]:
    """Height and width of a batch: ints where known."""
    _, height, width, _ = image.shape.as_list()
    if height is not None and width is not None:
        return height, width
    have = shape(image)
    return have[1] if height is None else height, have[2] if width is None else width


def _require(what: str, condition: Any) -> list[Any]:
    """A condition, checked now if it is known and by an Assert when the graph runs if not."""
    if isinstance(condition, Tensor):
        return [Assert(condition, [what])]
    if not condition:
        raise ValueError(what)
    return []


def _compare(a: Any, b: Any) -> Any:
    """a >= b: a bool, or a tensor."""
    static_values = _static(a), _static(b)
    if static_values[0] is not None and static_values[1] is not None:
        return static_values[0] >= static_values[1]
    return raw_ops.GreaterEqual(convert_to_tensor(a, dtypes.int32), convert_to_tensor(b, dtypes.int32))


def _guarded(assertions: list[Any], value: Tensor) -> Tensor:
    if not assertions:
        return value
    with control_dependencies(assertions):
        return identity(value)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The part of an image that begins at an offset and has a size.

    Args:
      image: One image [height, width, channels], or a batch of them.
      offset_height: The first row of the part, 0 or more.
      offset_width: The first column of the part, 0 or more.
      target_height: How many rows the part has; they must lie in the image.
      target_width: How many columns the part has; they must lie in the image.

    Returns:
      An image [target_height, target_width, channels], or a batch of them, of the type of `image`.

    >>> image = tf.reshape(tf.range(9), [3, 3, 1])
    >>> tf.Session().run(tf.image.crop_to_bounding_box(image, 1, 0, 2, 2))[:, :, 0].tolist()
    [[3, 4], [6, 7]]
    """
    values = [image, offset_height, offset_width, target_height, target_width]
    with name_scope(None, "crop_to_bounding_box", values):
        image, batched = _batch(image)
        height, width = _size(image)
        assertions = _require("offset_width must be >= 0.", _compare(offset_width, 0))
        assertions += _require("offset_height must be >= 0.", _compare(offset_height, 0))
        assertions += _require("target_width must be > 0.", _compare(target_width, 1))
        assertions += _require("target_height must be > 0.", _compare(target_height, 1))
        assertions += _require("width must be >= target + offset.", _compare(width, target_width + offset_width))
        assertions += _require("height must be >= target + offset.", _compare(height, target_height + offset_height))
        image = _guarded(assertions, image)
        begin, size = [0, offset_height, offset_width, 0], [-1, target_height, target_width, -1]
        cropped = slice(image, _vector(begin), _vector(size))
        cropped.set_shape([image.shape[0].value, _static(target_height), _static(target_width), image.shape[3].value])
        return cropped if batched else squeeze(cropped, axis=[0])


def _vector(values: list[Any]) -> Any:
    return stack(values) if any(isinstance(v, Tensor) for v in values) else np.array(values, np.int32)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """An image of a size, zero but for the given one at an offset.

    Args:
      image: One image [height, width, channels], or a batch of them.
      offset_height: How many rows of zeros to put on top.
      offset_width: How many columns of zeros to put on the left.
      target_height: The height of the result, at least `offset_height` and the image's.
      target_width: The width of the result, at least `offset_width` and the image's.

    Returns:
      An image [target_height, target_width, channels], or a batch of them, of the type of `image`.

    >>> tf.Session().run(tf.image.pad_to_bounding_box([[[5]]], 1, 0, 2, 2))[:, :, 0].tolist()
    [[0, 0], [5, 0]]
    """
    values = [image, offset_height, offset_width, target_height, target_width]
    with name_scope(None, "pad_to_bounding_box", values):
        image, batched = _batch(image)
        height, width = _size(image)
        after_width = target_width - offset_width - width
        after_height = target_height - offset_height - height
        assertions = _require("offset_height must be >= 0", _compare(offset_height, 0))
        assertions += _require("offset_width must be >= 0", _compare(offset_width, 0))
        assertions += _require("width must be <= target - offset", _compare(after_width, 0))
        assertions += _require("height must be <= target - offset", _compare(after_height, 0))
        image = _guarded(assertions, image)
        edges: Any = [[0, 0], [offset_height, after_height], [offset_width, after_width], [0, 0]]
        if any(isinstance(v, Tensor) for pair in edges for v in pair):
            edges = reshape(stack([v for pair in edges for v in pair]), [4, 2])
        padded = pad(image, edges)
        padded.set_shape([image.shape[0].value, _static(target_height), _static(target_width), image.shape[3].value])
        return padded if batched else squeeze(padded, axis=[0])


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Cuts an image, or pads it with zeros, evenly on both sides, to a size.

    Args:
      image: One image [height, width, channels], or a batch of them.
      target_height: The height of the result, above 0.
      target_width: The width of the result, above 0.

    Returns:
      An image [target_height, target_width, channels], or a batch of them, of the type of `image`.

    >>> image = tf.reshape(tf.range(9), [3, 3, 1])
    >>> tf.Session().run(tf.image.resize_image_with_crop_or_pad(image, 1, 5))[:, :, 0].tolist()
    [[0, 3, 4, 5, 0]]
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image, batched = _batch(image)
        assertions = _require("target_width must be > 0.", _compare(target_width, 1))
        assertions += _require("target_height must be > 0.", _compare(target_height, 1))
        image = _guarded(assertions, image)
        height, width = _size(image)
        by_height, by_width = target_height - height, target_width - width
        cropped = crop_to_bounding_box(
            image, _larger(-by_height // 2, 0), _larger(-by_width // 2, 0), _smaller(target_height, height),
            _smaller(target_width, width),
        )  # fmt: skip
        resized = pad_to_bounding_box(
            cropped, _larger(by_height // 2, 0), _larger(by_width // 2, 0), target_height, target_width
        )
        if resized.shape.ndims is None:
            raise ValueError("resized contains no shape.")
        return resized if batched else squeeze(resized, axis=[0])


def _larger(a: Any, b: Any) -> Any:
    return maximum(a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else max(a, b)


def _smaller(a: Any, b: Any) -> Any:
    return minimum(a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else min(a, b)


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of an image: that fraction of its height and width.

    Args:
      image: One image [height, width, channels], or a batch of them.
      central_fraction: The part of each side to keep, above 0 and at most 1.

    Returns:
      A smaller image, or a batch of them, of the type of `image`.

    >>> image = tf.reshape(tf.range(16), [4, 4, 1])
    >>> tf.Session().run(tf.image.central_crop(image, 0.5))[:, :, 0].tolist()
    [[5, 6], [9, 10]]
    """
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        if image.shape.ndims is None:
            raise ValueError("`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = None.")
        image, batched = _batch(image)
        starts, sizes = [], []
        for length in _size(image):
            if isinstance(length, Tensor):
                real = cast(length, dtypes.float64)
                start: Any = cast((real - real * central_fraction) / 2, dtypes.int32)
            else:
                start = int((length - length * central_fraction) / 2)
            starts.append(start)
            sizes.append(length - start * 2)
        cropped = slice(image, _vector([0, *starts, 0]), _vector([-1, *sizes, -1]))
        cropped.set_shape([image.shape[0].value, _static(sizes[0]), _static(sizes[1]), image.shape[3].value])
        return cropped if batched else squeeze(cropped, axis=[0])


# ---- flipping and turning


def _flip(image: Any, axis: int, scope: str) -> Tensor:
    with name_scope(None, scope, [image]):
        image = _one_or_batch(image)
        rank = image.shape.ndims
        return reverse(image, [axis - 3 if rank is None else axis + rank - 3])


def _one_or_batch(image: Any) -> Tensor:
    image = _image(image)
    if image.shape.ndims not in (None, 3, 4):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return image


def _transposed(image: Tensor) -> Tensor:
    """Images with rows and columns exchanged."""
    if image.shape.ndims is not None:
        return transpose(image, [1, 0, 2] if image.shape.ndims == 3 else [0, 2, 1, 3])
    rank = raw_ops.Rank(image)
    return transpose(
        image, raw_ops.ConcatV2([raw_ops.Range(0, rank - 3, 1), rank + np.array([-2, -3, -1], np.int32)], 0)
    )


def flip_left_right(image: Any) -> Tensor:
    """Mirrors images from left to right.

    Args:
      image: One image [height, width, channels], or a batch of them.

    Returns:
      A tensor of the type and shape of `image`, with the columns in reverse.

    >>> tf.Session().run(tf.image.flip_left_right([[[1], [2]], [[3], [4]]]))[:, :, 0].tolist()
    [[2, 1], [4, 3]]
    """
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """Turns images upside down, without mirroring.

    Args:
      image: One image [height, width, channels], or a batch of them.

    Returns:
      A tensor of the type and shape of `image`, with the rows in reverse.

    >>> tf.Session().run(tf.image.flip_up_down([[[1], [2]], [[3], [4]]]))[:, :, 0].tolist()
    [[3, 4], [1, 2]]
    """
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: Any, axis: int, seed: int | None, scope: str) -> Tensor:
    with name_scope(None, scope, [image]) as within:
        image = _image(image)
        if image.shape.ndims == 3:
            flip = less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            result: Tensor = cond(flip, lambda: reverse(image, [axis]), lambda: image, name=within)
            result.set_shape(image.shape)
            return result
        if image.shape.ndims not in (None, 4):
            raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
        count = shape(image)[0] if image.shape.ndims is None or image.shape[0].value is None else image.shape[0].value
        drawn = random_uniform([count], 0, 1.0, seed=seed)
        flips = cast(round(reshape(drawn, [count, 1, 1, 1])), image.dtype.base_dtype)
        flipped = reverse(image, [axis + 1])
        return flips * flipped + (1 - flips) * image


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Mirrors each image from left to right, or not, by chance.

    Args:
      image: One image [height, width, channels], or a batch of them; each of a batch has its own chance.
      seed: A seed for the choice; None takes it from `tf.set_random_seed`, or draws one.

    Returns:
      A tensor of the type and shape of `image`.

    >>> flipped = tf.image.random_flip_left_right([[[1], [2]]], seed=1)
    >>> sorted(tf.Session().run(flipped).flatten().tolist())
    [1, 2]
    """
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Turns each image upside down, or not, by chance.

    Args:
      image: One image [height, width, channels], or a batch of them; each of a batch has its own chance.
      seed: A seed for the choice; None takes it from `tf.set_random_seed`, or draws one.

    Returns:
      A tensor of the type and shape of `image`.

    >>> flipped = tf.image.random_flip_up_down([[[1]], [[2]]], seed=1)
    >>> sorted(tf.Session().run(flipped).flatten().tolist())
    [1, 2]
    """
    return _random_flip(image, 0, seed, "random_flip_up_down")


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Turns images by `k` quarters, against the clock.

    Args:
      image: One image [height, width, channels], or a batch of them.
      k: How many quarters to turn by, an integer; negative ones turn with the clock.
      name: A name for the op.

    Returns:
      A tensor of the type of `image`; an odd `k` exchanges its height and width.

    >>> tf.Session().run(tf.image.rot90([[[1], [2]], [[3], [4]]]))[:, :, 0].tolist()
    [[2, 4], [1, 3]]
    """
    with name_scope(name, "rot90", [image, k]) as scope:
        image = _one_or_batch(image)
        k = convert_to_tensor(k, dtypes.int32, name="k")
        k.shape.assert_has_rank(0)
        k = mod(k, 4)
        rows, columns = (-3, -2) if image.shape.ndims is None else (image.shape.ndims - 3, image.shape.ndims - 2)

        def once() -> Tensor:
            return _transposed(reverse(image, [columns]))

        def twice() -> Tensor:
            return reverse(image, [rows, columns])

        def thrice() -> Tensor:
            return reverse(_transposed(image), [columns])

        static_k = constant_value(k)
        if static_k is not None:
            return [lambda: identity(image), once, twice, thrice][int(static_k)]()
        cases = [(equal(k, 1), once), (equal(k, 2), twice), (equal(k, 3), thrice)]
        result: Tensor = case(cases, default=lambda: identity(image), exclusive=True, name=scope)
        if image.shape.ndims is not None:
            result.set_shape([None] * image.shape.ndims)
        return result


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Exchanges rows and columns.

    Args:
      image: One image [height, width, channels], or a batch of them.
      name: A name for the op.

    Returns:
      A tensor of the type of `image`, with its height and width exchanged.

    >>> tf.Session().run(tf.image.transpose_image([[[1], [2]], [[3], [4]]]))[:, :, 0].tolist()
    [[1, 3], [2, 4]]
    """
    with name_scope(name, "transpose", [image]):
        return _transposed(_one_or_batch(image))


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the differences between neighbouring pixels, for each image.

    Args:
      images: One image [height, width, channels], or a batch of them.
      name: A name for the op.

    Returns:
      A scalar for one image, a vector with an element for each of a batch; of the type of `images`.

    >>> tf.Session().run(tf.image.total_variation([[[1.0], [3.0]], [[1.0], [4.0]]]))
    np.float32(6.0)
    """
    with name_scope(name, "total_variation"):
        images = convert_to_tensor(images)
        rank = images.shape.ndims
        if rank not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        if rank == 3:
            down, across, axis = images[1:] - images[:-1], images[:, 1:] - images[:, :-1], None
        else:
            down, across = subtract(images[:, 1:], images[:, :-1]), images[:, :, 1:] - images[:, :, :-1]
            axis = [1, 2, 3]
        axes = list(range(rank)) if axis is None else axis
        return raw_ops.Sum(raw_ops.Abs(down), axes) + raw_ops.Sum(raw_ops.Abs(across), axes)


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """-> differences between rows, differences between columns, of a batch; zero in the last row and column.

    Args:
      image: A batch of images [batch, height, width, channels].

    Returns:
      Two tensors of the type and shape of `image`: dy and dx.

    >>> dy, dx = tf.image.image_gradients(tf.reshape([1.0, 2.0, 4.0, 8.0], [1, 2, 2, 1]))
    >>> [one[0, :, :, 0].tolist() for one in tf.Session().run([dy, dx])]
    [[[3.0, 6.0], [0.0, 0.0]], [[1.0, 0.0], [4.0, 0.0]]]
    """
    image = convert_to_tensor(image)
    if image.shape.ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    down, across = image[:, 1:] - image[:, :-1], image[:, :, 1:] - image[:, :, :-1]
    return pad(down, [[0, 0], [0, 1], [0, 0], [0, 0]]), pad(across, [[0, 0], [0, 0], [0, 1], [0, 0]])


def sobel_edges(image: Any) -> Tensor:
    """[batch, height, width, channels, 2]: Sobel's edge detectors, dy and dx.

    Args:
      image: A batch of images [batch, height, width, channels], float32, at least 2 by 2; the channels must be known.

    Returns:
      A float32 tensor: dy at ``[..., 0]`` and dx at ``[..., 1]`` of each pixel and channel.

    >>> ramp = tf.reshape([[0.0, 1.0, 2.0]] * 3, [1, 3, 3, 1])
    >>> tf.Session().run(tf.image.sobel_edges(ramp))[0, 1, 1, 0].tolist()
    [0.0, 8.0]
    """
    image = convert_to_tensor(image)
    channels = image.shape.with_rank(4).as_list()[3]
    if channels is None:
        raise ValueError(f"sobel_edges needs the number of channels to be known, got {image.shape}")
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32)
    filters = np.tile(kernels.transpose(1, 2, 0)[:, :, None, :], (1, 1, channels, 1))
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = raw_ops.DepthwiseConv2dNative(padded, filters, strides=[1, 1, 1, 1], padding="VALID")
    have = image.shape.as_list()
    where = _vector([have[i] if have[i] is not None else shape(image)[i] for i in range(4)] + [2])
    result = reshape(edges, where)
    result.set_shape([*have, 2])
    return result
