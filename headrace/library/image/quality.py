"""How alike two images are (``tf.image``): PSNR and structural similarity."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.image.color import convert_image_dtype
from headrace.library.network.activation import relu
from headrace.library.network.pooling import avg_pool
from headrace.library.numeric.math import cast, log, squared_difference, subtract
from headrace.library.numeric.reduction import reduce_mean, reduce_prod
from headrace.library.scope import name_scope
from headrace.library.tensor.array import concat, pad, reshape, shape, stack

_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def _pair(a: Any, b: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Both as float32 images, and the largest value on that scale."""
    a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
    if a.dtype.base_dtype != b.dtype.base_dtype:
        raise ValueError(f"the images must have one dtype, got {a.dtype.name} and {b.dtype.name}")
    for image in (a, b):
        if image.shape.ndims is not None and image.shape.ndims < 3:
            raise ValueError(f"images must be at least three-dimensional, got shape {image.shape}")
    if not a.shape[-3:].is_compatible_with(b.shape[-3:]):
        raise ValueError(f"the images must have one size, got {a.shape} and {b.shape}")
    largest = convert_image_dtype(cast(max_val, a.dtype.base_dtype), dtypes.float32)
    return convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32), largest


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of each pair of images, in decibels.

    Args:
      a: One or more images, [..., height, width, channels].
      b: Images of the type of `a` to compare with, of the same height, width and channels.
      max_val: The largest value minus the least that pixels may have: 255 for uint8, 1.0 for most floats.
      name: A name for the op.

    Returns:
      A float32 tensor without the last three dimensions of the images.

    >>> tf.Session().run(tf.image.psnr(tf.zeros([2, 2, 1]), tf.fill([2, 2, 1], 0.1), max_val=1.0)).round()
    np.float32(20.0)
    """
    with name_scope(name, "PSNR", [a, b]) as scope:
        a, b, largest = _pair(a, b, max_val)
        error = reduce_mean(squared_difference(a, b), [-3, -2, -1])
        decibels = 20 / np.log(10).astype(np.float32)
        return subtract(log(largest) * decibels, log(error) * np.float32(10 / np.log(10)), name=scope)


def _gaussian(size: int, sigma: float) -> np.ndarray:
    """[size, size, 1, 1]"""
    at = np.arange(size, dtype=np.float32) - (size - 1) / 2
    exponents = (at * at * (-0.5 / (sigma * sigma))).astype(np.float32)
    both = exponents[:, None] + exponents
    weights = np.exp(both - both.max())
    return (weights / weights.sum()).astype(np.float32)[:, :, None, None]


def _ssim(
    a: Tensor, b: Tensor, largest: Tensor, filter_size: int, filter_sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """-> similarity, and its part without luminance, per channel."""
    c1, c2 = (k1 * largest) ** 2, (k2 * largest) ** 2
    channels = shape(a)[-1]
    kernel = raw_ops.Tile(_gaussian(filter_size, filter_sigma), stack([1, 1, channels, 1]))

    def blurred(x: Tensor) -> Tensor:
        have = shape(x)
        flat = reshape(x, concat([[-1], have[-3:]], 0))
        y = raw_ops.DepthwiseConv2dNative(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
        return reshape(y, concat([have[:-3], shape(y)[1:]], 0))

    mean_a, mean_b = blurred(a), blurred(b)
    product, squares = mean_a * mean_b * 2.0, mean_a**2 + mean_b**2
    luminance = (product + c1) / (squares + c1)
    covariance, power = blurred(a * b) * 2.0, blurred(a**2 + b**2)
    contrast = (covariance - product + c2) / (power - squares + c2)
    return reduce_mean(luminance * contrast, [-3, -2]), reduce_mean(contrast, [-3, -2])


def _check_window(a: Tensor, filter_size: int) -> None:
    for size in a.shape.as_list()[-3:-1] if a.shape.ndims is not None else ():
        if size is not None and size < filter_size:
            raise ValueError(f"images must be at least filter_size = {filter_size} high and wide, got {a.shape}")


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of each pair of images, at most 1.

    Args:
      img1: One or more images, [..., height, width, channels].
      img2: Images of the type of `img1` to compare with, of the same height, width and channels.
      max_val: The largest value minus the least that pixels may have: 255 for uint8, 1.0 for most floats.
      filter_size: The height and width of the window that is compared at a time; images must be as large.
      filter_sigma: The width of the Gaussian that weighs the pixels of a window.
      k1: How stable the comparison of brightness is where images are dark; a small number.
      k2: How stable the comparison of contrast is where images are even; a small number.

    Returns:
      A float32 tensor without the last three dimensions of the images.

    >>> image = tf.reshape(tf.range(16.0) / 16, [4, 4, 1])
    >>> tf.Session().run(tf.image.ssim(image, image, max_val=1.0, filter_size=3))
    np.float32(1.0)
    """
    with name_scope(None, "SSIM", [img1, img2]):
        a, b, largest = _pair(img1, img2, max_val)
        _check_window(a, filter_size)
        return reduce_mean(_ssim(a, b, largest, filter_size, filter_sigma, k1, k2)[0], [-1])


def ssim_multiscale(
    img1: Any, img2: Any, max_val: Any, power_factors: Any = _WEIGHTS, filter_size: int = 11, filter_sigma: float = 1.5,
    k1: float = 0.01, k2: float = 0.03,
) -> Tensor:  # fmt: skip
    """Structural similarity at several scales, each half the one before, weighed by `power_factors`.

    Args:
      img1: One or more images, [..., height, width, channels].
      img2: Images of the type of `img1` to compare with, of the same height, width and channels.
      max_val: The largest value minus the least that pixels may have: 255 for uint8, 1.0 for most floats.
      power_factors: The exponent of each scale, from the full size down; the default has five.
      filter_size: The height and width of the window that is compared at a time; the smallest scale must be as large.
      filter_sigma: The width of the Gaussian that weighs the pixels of a window.
      k1: How stable the comparison of brightness is where images are dark; a small number.
      k2: How stable the comparison of contrast is where images are even; a small number.

    Returns:
      A float32 tensor without the last three dimensions of the images.

    >>> image = tf.reshape(tf.range(64.0) / 64, [8, 8, 1])
    >>> tf.Session().run(tf.image.ssim_multiscale(image, image, 1.0, power_factors=[0.5, 0.5], filter_size=3))
    np.float32(1.0)
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        a, b, largest = _pair(img1, img2, max_val)
        parts: list[Tensor] = []
        similarity = a
        for scale in range(len(power_factors)):
            if scale:
                a, b = _halved(a), _halved(b)
            similarity, contrast = _ssim(a, b, largest, filter_size, filter_sigma, k1, k2)
            parts.append(relu(contrast))
        parts[-1] = relu(similarity)
        powers = stack(parts, axis=-1) ** convert_to_tensor(list(power_factors), dtypes.float32)
        return reduce_mean(reduce_prod(powers, [-1]), [-1])


def _halved(x: Tensor) -> Tensor:
    """Means of 2 x 2 pixels; an odd last row or column is mirrored."""
    have = shape(x)
    flat = reshape(x, concat([[-1], have[-3:]], 0))
    odd = have[-3:-1] % 2
    edges = raw_ops.ConcatV2([[0], odd, [0]], 0)
    both = stack([raw_ops.ZerosLike(edges), edges], axis=1)
    pooled = avg_pool(pad(flat, both, mode="SYMMETRIC"), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return reshape(pooled, concat([have[:-3], shape(pooled)[1:]], 0))
