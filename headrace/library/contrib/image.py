"""contrib.image: images turned, moved and mapped; colours turned; warps by a field of displacements."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.library.linalg import matrix as linalg
from headrace.library.numeric import math, random
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation, indexing

_TYPES = (dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64)


def transform(
    images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: Any = None, name: str | None = None
) -> Any:
    """Each image seen through a projective map, [a0, a1, a2, b0, b1, b2, c0, c1], from output to input places.

    ``images`` are [batch, rows, columns, channels], [rows, columns, channels] or [rows, columns]; what lies outside is 0.

    Args:
      images: Images of uint8, int32, int64, float16, float32 or float64, and of known rank.
      transforms: One map, [8], or a map for each image, [batch, 8].
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: The [height, width] of the results; None for that of the images.
      name: The name scope of the ops.

    Returns:
      A tensor of the type and rank of `images`.

    >>> one_left = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    >>> tf.Session().run(tf.contrib.image.transform([[1, 2, 3]], one_left))
    array([[2, 3, 0]], dtype=int32)
    """
    with name_scope(name, "transform"):
        image = convert_to_tensor(images, name="images")
        maps = convert_to_tensor(transforms, dtypes.float32, name="transforms")
        if image.dtype.base_dtype not in _TYPES:
            raise TypeError(f"Invalid dtype {image.dtype.name}.")
        rank = image.shape.ndims
        if rank is None:
            raise TypeError("image_or_images rank must be statically known")
        if rank not in (2, 3, 4):
            raise TypeError("Images should have rank between 2 and 4.")
        batch = image[None, :, :, None] if rank == 2 else image[None] if rank == 3 else image
        maps = maps[None] if maps.shape.ndims == 1 else maps
        if output_shape is None:
            size = array.shape(batch)[1:3]
            static_size = batch.shape.as_list()[1:3]
            size = convert_to_tensor(static_size, dtypes.int32) if None not in static_size else size
        else:
            size = convert_to_tensor(output_shape, dtypes.int32, name="output_shape")
        transformed: Any = raw_ops.ImageProjectiveTransformV2(batch, maps, size, interpolation=interpolation.upper())
        return transformed[0, :, :, 0] if rank == 2 else transformed[0] if rank == 3 else transformed


def rotate(images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None) -> Any:
    """Images turned counterclockwise about their centres, by angles in radians.

    Args:
      images: Images [batch, rows, columns, channels], [rows, columns, channels] or [rows, columns].
      angles: One angle, or an angle for each image, [batch].
      interpolation: "NEAREST" or "BILINEAR".
      name: The name scope of the ops.

    Returns:
      A tensor of the type and shape of `images`; what comes from outside is 0.

    >>> tf.Session().run(tf.contrib.image.rotate([[1, 2], [3, 4]], np.pi))
    array([[4, 3],
           [2, 1]], dtype=int32)
    """
    with name_scope(name, "rotate"):
        image = convert_to_tensor(images, name="images")
        rank = image.shape.ndims
        sizes = math.to_float(array.shape(image)[1:3] if rank == 4 else array.shape(image)[:2])
        return transform(image, angles_to_projective_transforms(angles, sizes[0], sizes[1]), interpolation)


def translate(images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None) -> Any:
    """Images moved by [dx, dy], or by one such pair for each.

    Args:
      images: Images [batch, rows, columns, channels], [rows, columns, channels] or [rows, columns].
      translations: One pair [dx, dy], to the right and downwards, or a pair for each image, [batch, 2].
      interpolation: "NEAREST" or "BILINEAR".
      name: The name scope of the ops.

    Returns:
      A tensor of the type and shape of `images`; what comes from outside is 0.

    >>> tf.Session().run(tf.contrib.image.translate([[1, 2, 3]], [1, 0]))
    array([[0, 1, 2]], dtype=int32)
    """
    with name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def angles_to_projective_transforms(angles: Any, image_height: Any, image_width: Any, name: str | None = None) -> Any:
    """The maps that turn images of this size: [number, 8].

    Args:
      angles: One angle in radians, counterclockwise, or a vector of angles.
      image_height: The height of the images, a number or a scalar.
      image_width: The width of the images, a number or a scalar.
      name: The name scope of the ops.

    Returns:
      A float32 tensor [number, 8], for `tf.contrib.image.transform`.

    >>> tf.Session().run(tf.contrib.image.angles_to_projective_transforms(0.0, 4, 4))
    array([[ 1., -0.,  0.,  0.,  1.,  0.,  0.,  0.]], dtype=float32)
    """
    with name_scope(name, "angles_to_projective_transforms"):
        turn = convert_to_tensor(angles, dtypes.float32, name="angles")
        turn = turn[None] if turn.shape.ndims == 0 else turn
        if turn.shape.ndims != 1:
            raise TypeError("Angles should have rank 0 or 1.")
        cos, sin = math.cos(turn), math.sin(turn)
        wide, tall = (convert_to_tensor(v, dtypes.float32) - 1 for v in (image_width, image_height))
        x = (wide - (cos * wide - sin * tall)) / 2.0
        y = (tall - (sin * wide + cos * tall)) / 2.0
        zero = creation.zeros_like(cos)
        return array.stack([cos, -sin, x, sin, cos, y, zero, zero], axis=1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Any:
    """The maps that move images: [number, 8].

    Args:
      translations: One pair [dx, dy], to the right and downwards, or pairs [number, 2].
      name: The name scope of the ops.

    Returns:
      A float32 tensor [number, 8], for `tf.contrib.image.transform`.

    >>> tf.Session().run(tf.contrib.image.translations_to_projective_transforms([2.0, 3.0]))
    array([[ 1.,  0., -2.,  0.,  1., -3.,  0.,  0.]], dtype=float32)
    """
    with name_scope(name, "translations_to_projective_transforms"):
        by: Any = convert_to_tensor(translations, dtypes.float32, name="translations")
        by = by[None] if by.shape.ndims == 1 else by
        if by.shape.ndims != 2:
            raise TypeError("Translations should have rank 1 or 2.")
        one, zero = creation.ones_like(by[:, 0]), creation.zeros_like(by[:, 0])
        return array.stack([one, zero, -by[:, 0], zero, one, -by[:, 1], zero, zero], axis=1)


def flat_transforms_to_matrices(transforms: Any) -> Any:
    """[number, 8] -> [number, 3, 3]

    Args:
      transforms: One map, [8], or maps [number, 8].

    Returns:
      A float32 tensor [number, 3, 3], in which the last element of each matrix is 1.

    >>> tf.Session().run(tf.contrib.image.flat_transforms_to_matrices([1.0, 0.0, 2.0, 0.0, 1.0, 3.0, 0.0, 0.0]))
    array([[[1., 0., 2.],
            [0., 1., 3.],
            [0., 0., 1.]]], dtype=float32)
    """
    maps: Any = convert_to_tensor(transforms, dtypes.float32)
    maps = maps[None] if maps.shape.ndims == 1 else maps
    ones = creation.ones(array.stack([array.shape(maps)[0], 1]))
    return array.reshape(array.concat([maps, ones], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Any:
    """[number, 3, 3] -> [number, 8], scaled so that the last element is 1.

    Args:
      transform_matrices: Maps as matrices [number, 3, 3].

    Returns:
      A float32 tensor [number, 8], for `tf.contrib.image.transform`.

    >>> tf.Session().run(tf.contrib.image.matrices_to_flat_transforms(2.0 * tf.eye(3)))
    array([[1., 0., 0., 0., 1., 0., 0., 0.]], dtype=float32)
    """
    flat: Any = array.reshape(convert_to_tensor(transform_matrices, dtypes.float32), [-1, 9])
    return (flat / flat[:, 8:9])[:, :8]


def compose_transforms(*transforms: Any) -> Any:
    """One map that does to an image what several do one after another, the first one first.

    Args:
      *transforms: The maps, each [8] or [number, 8].

    Returns:
      A float32 tensor [number, 8].

    >>> move = tf.contrib.image.translations_to_projective_transforms([2.0, 3.0])
    >>> tf.Session().run(tf.contrib.image.compose_transforms(move, move))
    array([[ 1.,  0., -4.,  0.,  1., -6.,  0.,  0.]], dtype=float32)
    """
    if not transforms:
        raise ValueError("compose_transforms needs at least one transform")
    whole = flat_transforms_to_matrices(transforms[0])
    for one in transforms[1:]:
        whole = linalg.matmul(whole, flat_transforms_to_matrices(one))
    return matrices_to_flat_transforms(whole)


# ---- colours

_TO_YIQ = np.array(
    [[0.299, 0.596, 0.211], [0.587, -0.274, -0.523], [0.114, -0.322, 0.312]], np.float32
)  # columns: brightness and the two axes of colour


def adjust_hsv_in_yiq(
    image: Any, delta_hue: Any = 0, scale_saturation: Any = 1, scale_value: Any = 1, name: str | None = None
) -> Any:
    """Hue turned by radians, saturation and brightness scaled, in the space of colour television.

    Args:
      image: Images of floats, [..., 3].
      delta_hue: The angle by which the hue is turned.
      scale_saturation: The factor of the saturation.
      scale_value: The factor of the brightness.
      name: The name scope of the ops.

    Returns:
      A tensor of the type and shape of `image`.

    >>> tf.Session().run(tf.contrib.image.adjust_hsv_in_yiq([[[0.2, 0.4, 0.6]]], scale_value=0.5)).round(3)
    array([[[0.1, 0.2, 0.3]]], dtype=float32)
    """
    with name_scope(name, "adjust_hsv_in_yiq", [image]):
        x = convert_to_tensor(image, name="image")
        dtype = x.dtype.base_dtype
        if not dtype.is_floating:
            raise TypeError(f"image must be of a floating type, got {dtype.name}; see tf.image.convert_image_dtype")
        hue, saturation, value = (
            math.cast(convert_to_tensor(v, dtypes.float32), dtype) for v in (delta_hue, scale_saturation, scale_value)
        )
        cos, sin = saturation * math.cos(hue), saturation * math.sin(hue)
        zero, one = constant(0, dtype), constant(1, dtype)
        turn = array.stack(
            [array.stack([one, zero, zero]), array.stack([zero, cos, sin]), array.stack([zero, -sin, cos])]
        )
        there, back = constant(_TO_YIQ, dtype), constant(np.linalg.inv(_TO_YIQ.astype(np.float64)), dtype)
        matrix = value * linalg.matmul(linalg.matmul(there, turn), back)
        sizes = array.shape(x)
        adjusted = array.reshape(linalg.matmul(array.reshape(x, [-1, 3]), matrix), sizes)
        adjusted.set_shape(x.shape)
        return adjusted


def random_hsv_in_yiq(
    image: Any, max_delta_hue: float = 0, lower_saturation: float = 1, upper_saturation: float = 1,
    lower_value: float = 1, upper_value: float = 1, seed: int | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`adjust_hsv_in_yiq` by random amounts.

    Args:
      image: Images of floats, [..., 3].
      max_delta_hue: The largest angle by which the hue is turned, in either direction.
      lower_saturation, upper_saturation: The least and the largest factor of the saturation.
      lower_value, upper_value: The least and the largest factor of the brightness.
      seed: The seed of the amounts.
      name: The name scope of the ops.

    Returns:
      A tensor of the type and shape of `image`.

    >>> tf.contrib.image.random_hsv_in_yiq(tf.zeros([4, 4, 3]), max_delta_hue=0.2, lower_value=0.8).shape.as_list()
    [4, 4, 3]
    """
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for low, high, what in (
        (lower_saturation, upper_saturation, "saturation"), (lower_value, upper_value, "value"),
    ):  # fmt: skip
        if low < 0 or low > high:
            raise ValueError(f"lower_{what} must be non-negative and at most upper_{what}, got {low} and {high}")
    with name_scope(name, "random_hsv_in_yiq", [image]):
        hue = random.random_uniform([], -max_delta_hue, max_delta_hue, seed=seed) if max_delta_hue else 0.0
        saturation, value = (
            random.random_uniform([], low, high, seed=seed) if low < high else float(low)
            for low, high in ((lower_saturation, upper_saturation), (lower_value, upper_value))
        )
        return adjust_hsv_in_yiq(image, hue, saturation, value)


# ---- warps


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Any:
    """Pixel (j, i) of the result is that of the image at (j - flow[j, i, 0], i - flow[j, i, 1]), between pixels linearly.

    Args:
      image: Images of floats, [batch, height, width, channels].
      flow: The displacements, float [batch, height, width, 2]. Places outside of the image are moved to its edge.
      name: The name scope of the ops.

    Returns:
      A tensor of the type and shape of `image`.

    >>> image = tf.constant([[[[1.0], [2.0]], [[3.0], [4.0]]]])
    >>> tf.Session().run(tf.contrib.image.dense_image_warp(image, tf.fill([1, 2, 2, 2], 0.5)))[0, :, :, 0]
    array([[1. , 1.5],
           [2. , 2.5]], dtype=float32)
    """
    with name_scope(name):
        image, flow = convert_to_tensor(image), convert_to_tensor(flow)
        sizes = array.shape(image)
        batch, height, width = sizes[0], sizes[1], sizes[2]
        columns, rows = creation.meshgrid(creation.range(width), creation.range(height))
        places = math.cast(array.stack([rows, columns], axis=2), flow.dtype.base_dtype)
        points = array.reshape(array.expand_dims(places, 0) - flow, array.stack([batch, height * width, 2]))
        warped = array.reshape(_interpolated(image, points, batch, height, width), sizes)
        warped.set_shape(image.shape)
        return warped


def _interpolated(image: Any, points: Any, batch: Any, height: Any, width: Any) -> Any:
    """The image at places [batch, number, 2]; those outside are moved to the edge."""
    dtype = points.dtype.base_dtype
    flat = array.reshape(image, array.stack([batch * height * width, -1]))
    offset = array.expand_dims(creation.range(batch) * height * width, 1)
    floors, shares = [], []
    for axis, size in ((0, height), (1, width)):
        low = math.cast(raw_ops.Maximum(size - 2, 0), dtype)
        floor = raw_ops.Minimum(raw_ops.Maximum(constant(0, dtype), math.floor(points[..., axis])), low)
        floors.append(math.cast(floor, dtypes.int32))
        share = raw_ops.Minimum(raw_ops.Maximum(constant(0, dtype), points[..., axis] - floor), constant(1, dtype))
        shares.append(array.expand_dims(math.cast(share, image.dtype.base_dtype), 2))

    def at(down: int, right: int) -> Any:
        return indexing.gather(flat, offset + (floors[0] + down) * width + floors[1] + right)

    top = shares[1] * (at(0, 1) - at(0, 0)) + at(0, 0)
    bottom = shares[1] * (at(1, 1) - at(1, 0)) + at(1, 0)
    return shares[0] * (bottom - top) + top
