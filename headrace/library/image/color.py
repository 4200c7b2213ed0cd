"""Brightness, contrast, hue, saturation, gamma, colour spaces and dtypes of images (``tf.image``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import assert_non_negative
from headrace.library.control.dependency import identity
from headrace.library.image.geometry import _image
from headrace.library.linalg.tensordot import tensordot
from headrace.library.numeric.math import cast, maximum, multiply, rsqrt, saturate_cast, sqrt, square
from headrace.library.numeric.random import random_uniform
from headrace.library.numeric.reduction import reduce_mean, reduce_prod
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.tensor.array import expand_dims, rank, shape, tile

_FLOATS = (dtypes.float16, dtypes.float32)


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """Converts an image and its scale: floats lie in [0, 1], integers in [0, the dtype's largest].

    `saturate` keeps values outside that range from wrapping around.

    Args:
      image: A tensor of floats or integers, of any shape.
      dtype: The type of the result: a float or an integer type.
      saturate: Whether values beyond the range of `dtype` become its limits.
      name: A name for the op.

    Returns:
      The image in `dtype`, of the same shape; the image itself if it has that type.

    >>> tf.Session().run(tf.image.convert_image_dtype(tf.constant([0, 255], tf.uint8), tf.float32)).tolist()
    [0.0, 1.0]
    """
    image = convert_to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    have = image.dtype.base_dtype
    if not (dtype.is_floating or dtype.is_integer):
        raise AttributeError("dtype must be either floating point or integer")
    if dtype == have:
        return identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as scope:
        if have.is_integer and dtype.is_integer:
            return _between_integers(image, have, dtype, saturate, scope)
        if have.is_floating and dtype.is_floating:
            return cast(image, dtype, name=scope)
        if have.is_integer:
            return multiply(cast(image, dtype), 1.0 / int(have.max), name=scope)
        scaled = multiply(image, int(dtype.max) + 0.5)
        return saturate_cast(scaled, dtype, name=scope) if saturate else cast(scaled, dtype, name=scope)


def _between_integers(image: Tensor, have: Any, dtype: Any, saturate: bool, scope: Any) -> Tensor:
    largest, target = int(have.max), int(dtype.max)
    if largest > target:
        scaled = raw_ops.Div(image, (largest + 1) // (target + 1))
        return saturate_cast(scaled, dtype, name=scope) if saturate else cast(scaled, dtype, name=scope)
    factor = (target + 1) // (largest + 1)
    widened = saturate_cast(image, dtype) if saturate else cast(image, dtype)
    return multiply(widened, factor, name=scope)


def _in_floats(image: Tensor) -> Tensor:
    return image if image.dtype.base_dtype in _FLOATS else convert_image_dtype(image, dtypes.float32)


# ---- brightness, contrast, gamma


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Adds `delta`, on the scale where white is 1, to every pixel.

    Args:
      image: One or more images of any type; integers are scaled to [0, 1] and back.
      delta: What to add, a scalar, between -1 and 1 for images in the usual range.

    Returns:
      The brighter or darker image, of the type and shape of `image`. Integers stay in their range; floats may leave
      [0, 1].

    >>> tf.Session().run(tf.image.adjust_brightness(tf.fill([1, 1, 1], 0.5), 0.25)).tolist()
    [[[0.75]]]
    """
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        floats = _in_floats(image)
        added = raw_ops.Add(floats, cast(delta, floats.dtype.base_dtype), name=scope)
        return convert_image_dtype(added, image.dtype.base_dtype, saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Moves every pixel away from, or towards, the mean of its channel.

    Args:
      images: One or more images, [..., height, width, channels]; integers are scaled to [0, 1] and back.
      contrast_factor: A float: above 1 for more contrast, from 0 to 1 for less.

    Returns:
      ``(x - mean) * contrast_factor + mean`` for each pixel, of the type and shape of `images`.

    >>> tf.Session().run(tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0)).tolist()
    [[[0.0], [4.0]]]
    """
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        floats = _in_floats(images)
        adjusted = raw_ops.AdjustContrastv2(floats, contrast_factor, name=scope)
        return convert_image_dtype(adjusted, images.dtype.base_dtype, saturate=True)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * image ** gamma``, on the scale where white is 1.

    Args:
      image: One or more images of any type; integers are scaled to [0, 1] and back.
      gamma: The exponent, not negative: above 1 for darker images, below 1 for brighter ones.
      gain: What the result is multiplied by.

    Returns:
      The image, of the type and shape of `image`.

    >>> tf.Session().run(tf.image.adjust_gamma(tf.fill([1, 1, 1], 0.5), gamma=2)).tolist()
    [[[0.25]]]
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        floats = _in_floats(image)
        if not isinstance(gamma, Tensor):
            if gamma < 0:
                raise ValueError("Gamma should be a non-negative real number.")
        else:
            with control_dependencies(
                [assert_non_negative(gamma, message="Gamma should be a non-negative real number.")]
            ):
                gamma = identity(gamma)
        return convert_image_dtype(gain * floats**gamma, image.dtype.base_dtype, saturate=True)


def per_image_standardization(image: Any) -> Tensor:
    """Shifts and scales each image to mean 0 and variance 1; an even image is not blown up beyond its noise.

    Args:
      image: One or more images, [..., height, width, channels]; what is not a float becomes float32.

    Returns:
      ``(x - mean) / max(deviation, 1 / sqrt(pixels))``, a float tensor of the shape of `image`.

    >>> tf.Session().run(tf.image.per_image_standardization([[[1.0], [3.0]]])).tolist()
    [[[-1.0], [1.0]]]
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = _image(image)
        if image.dtype.base_dtype not in _FLOATS:
            image = cast(image, dtypes.float32)
        count = reduce_prod(shape(image)[-3:])
        mean = reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        centred = image - mean
        deviation = sqrt(reduce_mean(square(centred), axis=[-1, -2, -3], keepdims=True))
        least = rsqrt(cast(count, image.dtype.base_dtype))
        return raw_ops.RealDiv(centred, maximum(deviation, least), name=scope)


# ---- hue and saturation


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Turns the hue of RGB images by `delta`, where 1 is all the way round.

    Args:
      image: One or more RGB images, with 3 as the last size; integers are scaled to [0, 1] and back.
      delta: How far to turn the hue, a float from -1 to 1.
      name: A name for the op.

    Returns:
      The image in other colours, of the type and shape of `image`.

    >>> tf.Session().run(tf.image.adjust_hue([[[1.0, 0.0, 0.0]]], 0.5)).tolist()
    [[[0.0, 1.0, 1.0]]]
    """
    with name_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        adjusted = raw_ops.AdjustHue(_in_floats(image), delta)
        return convert_image_dtype(adjusted, image.dtype.base_dtype)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Multiplies the saturation of RGB images.

    Args:
      image: One or more RGB images, with 3 as the last size; integers are scaled to [0, 1] and back.
      saturation_factor: The factor, a float: 0 for gray, above 1 for stronger colours.
      name: A name for the op.

    Returns:
      The image in other colours, of the type and shape of `image`.

    >>> tf.Session().run(tf.image.adjust_saturation([[[1.0, 0.5, 0.5]]], 0.0)).tolist()
    [[[1.0, 1.0, 1.0]]]
    """
    with name_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        adjusted = raw_ops.AdjustSaturation(_in_floats(image), saturation_factor)
        return convert_image_dtype(adjusted, image.dtype.base_dtype)


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value of RGB pixels in [0, 1].

    Args:
      images: A float tensor whose last size is 3: red, green and blue in [0, 1].
      name: A name for the op.

    Returns:
      Hue, saturation and value, all in [0, 1], of the type and shape of `images`.

    >>> tf.Session().run(tf.image.rgb_to_hsv([0.0, 1.0, 1.0])).tolist()
    [0.5, 1.0, 1.0]
    """
    return raw_ops.RGBToHSV(images, name=name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """RGB of pixels given as hue, saturation and value.

    Args:
      images: A float tensor whose last size is 3: hue, saturation and value in [0, 1].
      name: A name for the op.

    Returns:
      Red, green and blue in [0, 1], of the type and shape of `images`.

    >>> tf.Session().run(tf.image.hsv_to_rgb([0.5, 1.0, 1.0])).tolist()
    [0.0, 1.0, 1.0]
    """
    return raw_ops.HSVToRGB(images, name=name)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """One channel, of the brightness seen; the dtype stays.

    Args:
      images: One or more RGB images of any type, with 3 as the last size.
      name: A name for the op.

    Returns:
      A tensor of the type of `images`, with 1 as the last size.

    >>> gray = tf.image.rgb_to_grayscale(tf.constant([[[100, 100, 100]]], tf.uint8))
    >>> tf.Session().run(gray).tolist()
    [[[100]]]
    """
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        floats = convert_image_dtype(images, dtypes.float32)
        weighed = tensordot(floats, np.array([0.2989, 0.5870, 0.1140], np.float32), [-1, -1])
        return convert_image_dtype(expand_dims(weighed, -1), images.dtype.base_dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Three equal channels for one.

    Args:
      images: One or more images of any type, with 1 as the last size.
      name: A name for the op.

    Returns:
      A tensor of the type of `images`, with 3 as the last size.

    >>> tf.Session().run(tf.image.grayscale_to_rgb([[[0.5], [0.25]]])).tolist()
    [[[0.5, 0.5, 0.5], [0.25, 0.25, 0.25]]]
    """
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims is None:
            ones = raw_ops.Fill(expand_dims(rank(images) - 1, 0), 1)
            multiples: Any = raw_ops.ConcatV2([ones, [3]], 0)
        else:
            if images.shape[-1].value not in (None, 1):
                raise ValueError(f"grayscale_to_rgb needs images of one channel, got shape {images.shape}")
            multiples = [1] * (images.shape.ndims - 1) + [3]
        result = tile(images, multiples, name=scope)
        if images.shape.ndims is not None:
            result.set_shape([*images.shape.as_list()[:-1], 3])
        return result


_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


def _mixed(images: Any, matrix: list[list[float]]) -> Tensor:
    images = convert_to_tensor(images, name="images")
    kernel = convert_to_tensor(np.array(matrix), images.dtype.base_dtype, name="kernel")
    return tensordot(images, kernel, axes=[[_last(images)], [0]])


def _last(images: Tensor) -> int:
    if images.shape.ndims is None:
        raise ValueError("the rank of the images must be known")
    return images.shape.ndims - 1


def rgb_to_yiq(images: Any) -> Tensor:
    """Luma and two chroma channels (NTSC) of RGB pixels in [0, 1].

    Args:
      images: A float tensor of known rank whose last size is 3: red, green and blue in [0, 1].

    Returns:
      Y, I and Q of each pixel, of the type and shape of `images`.

    >>> tf.Session().run(tf.image.rgb_to_yiq([[1.0, 0.0, 0.0]])).round(3)
    array([[0.299, 0.596, 0.212]], dtype=float32)
    """
    return _mixed(images, _YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq`.

    Args:
      images: A float tensor of known rank whose last size is 3: Y, I and Q.

    Returns:
      Red, green and blue of each pixel, of the type and shape of `images`.

    >>> tf.Session().run(tf.image.yiq_to_rgb([[0.5, 0.0, 0.0]])).tolist()
    [[0.5, 0.5, 0.5]]
    """
    return _mixed(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """Luma and two chroma channels (PAL) of RGB pixels in [0, 1].

    Args:
      images: A float tensor of known rank whose last size is 3: red, green and blue in [0, 1].

    Returns:
      Y, U and V of each pixel, of the type and shape of `images`.

    >>> tf.Session().run(tf.image.rgb_to_yuv([[1.0, 0.0, 0.0]])).round(3)
    array([[ 0.299, -0.147,  0.615]], dtype=float32)
    """
    return _mixed(images, _YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv`.

    Args:
      images: A float tensor of known rank whose last size is 3: Y, U and V.

    Returns:
      Red, green and blue of each pixel, of the type and shape of `images`.

    >>> tf.Session().run(tf.image.yuv_to_rgb([[0.5, 0.0, 0.0]])).tolist()
    [[0.5, 0.5, 0.5]]
    """
    return _mixed(images, _FROM_YUV)


# ---- by chance


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a number drawn from [-max_delta, max_delta).

    Args:
      image: One or more images of any type; all get the same change.
      max_delta: The most that is added or taken away, not negative, on the scale where white is 1.
      seed: A seed for the number; None takes it from `tf.set_random_seed`, or draws one.

    Returns:
      The brighter or darker image, of the type and shape of `image`.

    >>> tf.Session().run(tf.image.random_brightness(tf.fill([1, 1, 1], 0.5), 0.0)).tolist()
    [[[0.5]]]
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def _range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a factor drawn from [lower, upper).

    Args:
      image: One or more images, [..., height, width, channels]; all get the same factor.
      lower: The least factor, not negative.
      upper: The largest factor, above `lower`.
      seed: A seed for the factor; None takes it from `tf.set_random_seed`, or draws one.

    Returns:
      The image, of the type and shape of `image`.

    >>> tf.image.random_contrast(tf.zeros([4, 4, 3]), 0.5, 1.5, seed=1).shape.as_list()
    [4, 4, 3]
    """
    _range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a number drawn from [-max_delta, max_delta).

    Args:
      image: One or more RGB images, with 3 as the last size; all get the same change.
      max_delta: The most that the hue turns by, from 0 to 0.5.
      seed: A seed for the number; None takes it from `tf.set_random_seed`, or draws one.

    Returns:
      The image, of the type and shape of `image`.

    >>> tf.image.random_hue(tf.zeros([4, 4, 3]), 0.1, seed=1).shape.as_list()
    [4, 4, 3]
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a factor drawn from [lower, upper).

    Args:
      image: One or more RGB images, with 3 as the last size; all get the same factor.
      lower: The least factor, not negative.
      upper: The largest factor, above `lower`.
      seed: A seed for the factor; None takes it from `tf.set_random_seed`, or draws one.

    Returns:
      The image, of the type and shape of `image`.

    >>> tf.image.random_saturation(tf.zeros([4, 4, 3]), 0.5, 1.5, seed=1).shape.as_list()
    [4, 4, 3]
    """
    _range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))
