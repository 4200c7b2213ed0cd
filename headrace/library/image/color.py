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
    """Adds `delta`, on the scale where white is 1, to every pixel."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        floats = _in_floats(image)
        added = raw_ops.Add(floats, cast(delta, floats.dtype.base_dtype), name=scope)
        return convert_image_dtype(added, image.dtype.base_dtype, saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Moves every pixel away from, or towards, the mean of its channel."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        floats = _in_floats(images)
        adjusted = raw_ops.AdjustContrastv2(floats, contrast_factor, name=scope)
        return convert_image_dtype(adjusted, images.dtype.base_dtype, saturate=True)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * image ** gamma``, on the scale where white is 1."""
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
    """Shifts and scales each image to mean 0 and variance 1; an even image is not blown up beyond its noise."""
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
    """Turns the hue of RGB images by `delta`, where 1 is all the way round."""
    with name_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        adjusted = raw_ops.AdjustHue(_in_floats(image), delta)
        return convert_image_dtype(adjusted, image.dtype.base_dtype)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Multiplies the saturation of RGB images."""
    with name_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        adjusted = raw_ops.AdjustSaturation(_in_floats(image), saturation_factor)
        return convert_image_dtype(adjusted, image.dtype.base_dtype)


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value of RGB pixels in [0, 1]."""
    return raw_ops.RGBToHSV(images, name=name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """RGB of pixels given as hue, saturation and value."""
    return raw_ops.HSVToRGB(images, name=name)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """One channel, of the brightness seen; the dtype stays."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        floats = convert_image_dtype(images, dtypes.float32)
        weighed = tensordot(floats, np.array([0.2989, 0.5870, 0.1140], np.float32), [-1, -1])
        return convert_image_dtype(expand_dims(weighed, -1), images.dtype.base_dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Three equal channels for one."""
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
    """Luma and two chroma channels (NTSC) of RGB pixels in [0, 1]."""
    return _mixed(images, _YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq`."""
    return _mixed(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """Luma and two chroma channels (PAL) of RGB pixels in [0, 1]."""
    return _mixed(images, _YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv`."""
    return _mixed(images, _FROM_YUV)


# ---- by chance


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a number drawn from [-max_delta, max_delta)."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def _range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a factor drawn from [lower, upper)."""
    _range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a number drawn from [-max_delta, max_delta)."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a factor drawn from [lower, upper)."""
    _range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))
