"""Rotations, shifts, shears and zooms of images: a matrix, and the image warped by it."""

from __future__ import annotations

from typing import Any

import numpy as np

_FILL_MODES = ("constant", "nearest", "reflect", "wrap")


def apply_affine_transform(
    x: Any, theta: float = 0, tx: float = 0, ty: float = 0, shear: float = 0, zx: float = 1, zy: float = 1,
    row_axis: int = 0, col_axis: int = 1, channel_axis: int = 2, fill_mode: str = "nearest", cval: float = 0.0,
    order: int = 1,
) -> np.ndarray:  # fmt: skip
    """Rotates, shifts, shears and zooms an image around its centre.

    Args:
      x: An array of rank 3.
      theta: The rotation in degrees.
      tx: The shift along the rows' axis, in pixels.
      ty: The shift along the columns' axis, in pixels.
      shear: The shear in degrees.
      zx: The zoom along the rows' axis: 0.5 shows half of the image at twice its size.
      zy: The zoom along the columns' axis.
      row_axis: Which axis are the rows.
      col_axis: Which axis are the columns.
      channel_axis: Which axis are the channels.
      fill_mode: What is seen beside the image: ``"constant"`` for `cval`, ``"nearest"`` for the pixels at the edge,
        ``"reflect"`` for the image mirrored, ``"wrap"`` for the image again.
      cval: The value for ``"constant"``.
      order: How to interpolate: 0 takes the nearest pixel, 1 is linear. Splines of order 2 to 5 need scipy.

    Returns:
      An array of the shape of `x`.

    >>> image = np.arange(4.0).reshape(2, 2, 1)
    >>> tf.keras.preprocessing.image.apply_affine_transform(image, tx=1)[:, :, 0]
    array([[2., 3.],
           [2., 3.]])
    """
    x = np.asarray(x)
    matrix = _matrix(theta, tx, ty, shear, zx, zy)
    if matrix is None:
        return x
    rows, columns = x.shape[row_axis], x.shape[col_axis]
    center = np.array([rows / 2 - 0.5, columns / 2 - 0.5])
    linear = matrix[:2, :2]
    offset = matrix[:2, 2] + center - linear @ center
    channels = np.moveaxis(x, channel_axis, 0)
    if row_axis > col_axis:
        linear, offset = linear[::-1, ::-1], offset[::-1]
    warped = np.stack([_warp(one, linear, offset, fill_mode, cval, order) for one in channels])
    return np.moveaxis(warped, 0, channel_axis)


def _matrix(theta: float, tx: float, ty: float, shear: float, zx: float, zy: float) -> np.ndarray | None:
    """The matrix from places in the result to places in the image, both from the centre; None if nothing changes."""
    parts = []
    if theta:
        angle = np.deg2rad(theta)
        parts.append([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    if tx or ty:
        parts.append([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear:
        angle = np.deg2rad(shear)
        parts.append([[1, -np.sin(angle), 0], [0, np.cos(angle), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        parts.append([[zx, 0, 0], [0, zy, 0], [0, 0, 1]])
    if not parts:
        return None
    matrix = np.eye(3)
    for part in parts:
        matrix = matrix @ np.array(part, dtype=np.float64)
    return matrix


def _warp(
    plane: np.ndarray, linear: np.ndarray, offset: np.ndarray, fill_mode: str, cval: float, order: int
) -> np.ndarray:
    """The plane whose element at p is that of `plane` at ``linear @ p + offset``."""
    if fill_mode not in _FILL_MODES:
        raise ValueError(f"fill_mode must be one of {', '.join(_FILL_MODES)}, got {fill_mode!r}")
    if order not in (0, 1):
        return _spline(plane, linear, offset, fill_mode, cval, order)
    rows, columns = np.indices(plane.shape)
    places = [linear[axis, 0] * rows + linear[axis, 1] * columns + offset[axis] for axis in range(2)]
    inside = np.ones(plane.shape, dtype=bool)
    corners: list[list[tuple[np.ndarray, Any]]] = []
    for place, size in zip(places, plane.shape, strict=True):
        if fill_mode == "constant":
            inside &= (place >= 0) & (place <= size - 1)
        corners.append(_neighbours(_within(place, size, fill_mode), size, order))
    result = np.zeros(plane.shape)
    for row, row_weight in corners[0]:
        for column, column_weight in corners[1]:
            result += plane[row, column] * (row_weight * column_weight)
    if fill_mode == "constant":
        result[~inside] = cval
    if np.issubdtype(plane.dtype, np.integer):
        result = np.rint(result)
    return result.astype(plane.dtype)


def _within(place: np.ndarray, size: int, fill_mode: str) -> np.ndarray:
    """The places of a line of `size` pixels that stand for places beside it."""
    last = size - 1
    if fill_mode == "reflect":  # a b c | c b a
        turned = np.mod(place + 0.5, 2 * size)
        place = np.minimum(turned, 2 * size - turned) - 0.5
    elif fill_mode == "wrap" and last:  # the first pixel lies on the last
        beside = (place < 0) | (place > last)
        place = np.where(beside, np.mod(place, last), place)
    return np.clip(place, 0, last)


def _neighbours(place: np.ndarray, size: int, order: int) -> list[tuple[np.ndarray, Any]]:
    """The pixels that a place between pixels is made of, each with its weight."""
    if order == 0:
        return [(np.floor(place + 0.5).astype(np.intp).clip(0, size - 1), 1.0)]
    lower = np.floor(place).astype(np.intp)
    upper = np.minimum(lower + 1, size - 1)
    part = place - lower
    return [(lower, 1 - part), (upper, part)]


def _spline(
    plane: np.ndarray, linear: np.ndarray, offset: np.ndarray, fill_mode: str, cval: float, order: int
) -> np.ndarray:
    try:
        from scipy import ndimage
    except ImportError:
        raise ImportError(
            f"interpolation of order {order} needs scipy: pip install scipy; orders 0 and 1 do not"
        ) from None
    return ndimage.affine_transform(plane, linear, offset, order=order, mode=fill_mode, cval=cval)
