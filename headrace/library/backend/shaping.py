"""Shapes of tensors, under Keras's names: reshaping, repeating, padding, resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.backend.config import image_data_format
from headrace.library.numeric import math
from headrace.library.sparse import tensor as sparse
from headrace.library.tensor import array, creation, indexing


def checked_format(data_format: str | None) -> str:
    """ "channels_last" or "channels_first"; None for the setting of the process."""
    data_format = image_data_format() if data_format is None else data_format
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format!r}; expected channels_first or channels_last")
    return data_format


def shape(x: Any) -> Tensor:
    """The shape of a tensor, as a tensor.

    Args:
      x: A tensor or variable.

    Returns:
      A vector of int32.

    >>> tf.keras.backend.get_value(tf.keras.backend.shape(tf.zeros([2, 3])))
    array([2, 3], dtype=int32)
    """
    return array.shape(x)


def reshape(x: Any, shape: Any) -> Tensor:
    """The elements in another shape.

    Args:
      x: A tensor or variable.
      shape: The shape, with at most one -1.

    Returns:
      A tensor.

    >>> tf.keras.backend.reshape(tf.zeros([2, 3]), [3, -1]).shape.as_list()
    [3, 2]
    """
    return array.reshape(x, shape)


def transpose(x: Any) -> Tensor:
    """The tensor with its axes in the opposite order.

    Args:
      x: A tensor or variable.

    Returns:
      A tensor.

    >>> tf.keras.backend.transpose(tf.zeros([2, 3])).shape.as_list()
    [3, 2]
    """
    return array.transpose(x)


def permute_dimensions(x: Any, pattern: Sequence[int]) -> Tensor:
    """The tensor with its axes in another order.

    Args:
      x: A tensor or variable.
      pattern: Which axis comes to each place.

    Returns:
      A tensor.

    >>> tf.keras.backend.permute_dimensions(tf.zeros([2, 3, 4]), (2, 0, 1)).shape.as_list()
    [4, 2, 3]
    """
    return array.transpose(x, pattern)


def gather(reference: Any, indices: Any) -> Tensor:
    """Slices of a tensor along its first axis.

    Args:
      reference: A tensor or variable.
      indices: A tensor of ints.

    Returns:
      A tensor of the shape of `indices` and the rest of `reference`.

    >>> tf.keras.backend.get_value(tf.keras.backend.gather(tf.constant([1.0, 2.0, 3.0]), [2, 0]))
    array([3., 1.], dtype=float32)
    """
    return indexing.gather(reference, indices)


def to_dense(tensor: Any) -> Any:
    """A sparse tensor as a dense one.

    Args:
      tensor: A tensor, sparse or not.

    Returns:
      A dense tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.to_dense(tf.SparseTensor([[1]], [5], [2])))
    array([0, 5], dtype=int32)
    """
    return sparse.sparse_tensor_to_dense(tensor) if isinstance(tensor, SparseTensor) else tensor


def concatenate(tensors: Sequence[Any], axis: int = -1) -> Any:
    """Tensors one after the other along an axis.

    Args:
      tensors: A list of tensors.
      axis: The axis.

    Returns:
      A tensor.

    >>> tf.keras.backend.concatenate([tf.zeros([2, 3]), tf.zeros([2, 4])]).shape.as_list()
    [2, 7]
    """
    if axis < 0:
        rank = tensors[0].shape.ndims
        axis = axis % rank if rank else 0
    if all(isinstance(x, SparseTensor) for x in tensors):
        return sparse.sparse_concat(axis, tensors)
    return array.concat([to_dense(x) for x in tensors], axis)


def stack(x: Sequence[Any], axis: int = 0) -> Tensor:
    """Tensors of one shape as one tensor with a new axis.

    Args:
      x: A list of tensors.
      axis: Where the new axis is.

    Returns:
      A tensor.

    >>> tf.keras.backend.stack([tf.zeros([2]), tf.zeros([2])], axis=1).shape.as_list()
    [2, 2]
    """
    return array.stack(x, axis=axis)


def expand_dims(x: Any, axis: int = -1) -> Tensor:
    """The tensor with a new axis of size 1.

    Args:
      x: A tensor or variable.
      axis: Where the new axis is.

    Returns:
      A tensor.

    >>> tf.keras.backend.expand_dims(tf.zeros([2])).shape.as_list()
    [2, 1]
    """
    return array.expand_dims(x, axis)


def squeeze(x: Any, axis: int) -> Tensor:
    """The tensor without an axis of size 1.

    Args:
      x: A tensor or variable.
      axis: The axis.

    Returns:
      A tensor.

    >>> tf.keras.backend.squeeze(tf.zeros([2, 1]), 1).shape.as_list()
    [2]
    """
    return array.squeeze(x, [axis])


def flatten(x: Any) -> Tensor:
    """The elements as a vector.

    Args:
      x: A tensor or variable.

    Returns:
      A vector.

    >>> tf.keras.backend.flatten(tf.zeros([2, 3])).shape.as_list()
    [6]
    """
    return array.reshape(x, [-1])


def batch_flatten(x: Any) -> Tensor:
    """A matrix: the first axis stays, the others become one.

    Args:
      x: A tensor or variable.

    Returns:
      A matrix.

    >>> tf.keras.backend.batch_flatten(tf.zeros([2, 3, 4])).shape.as_list()
    [2, 12]
    """
    sizes: Any = array.shape(x)
    return array.reshape(x, array.stack([-1, raw_ops.Prod(sizes[1:], 0)]))


def tile(x: Any, n: Any) -> Tensor:
    """The tensor, several times along each axis.

    Args:
      x: A tensor or variable.
      n: A list of how many times along each axis; a number for vectors.

    Returns:
      A tensor.

    >>> tf.keras.backend.tile(tf.zeros([2, 3]), [2, 1]).shape.as_list()
    [4, 3]
    """
    return array.tile(x, [n] if isinstance(n, int) else n)


def repeat(x: Any, n: int) -> Tensor:
    """A matrix repeated along a new axis in the middle.

    Args:
      x: A matrix.
      n: How many times.

    Returns:
      A tensor of rank 3.

    >>> tf.keras.backend.repeat(tf.zeros([2, 3]), 5).shape.as_list()
    [2, 5, 3]
    """
    x = convert_to_tensor(x)
    if x.shape.ndims != 2:
        raise ValueError(f"repeat takes a matrix, got a tensor of shape {x.shape}")
    return array.tile(array.expand_dims(x, 1), array.stack([1, n, 1]))


def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """The tensor with each element of an axis repeated in its place.

    Args:
      x: A tensor or variable.
      rep: How many times.
      axis: The axis.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.repeat_elements(tf.constant([1, 2]), 2, axis=0))
    array([1, 1, 2, 2], dtype=int32)
    """
    x = convert_to_tensor(x)
    dims = x.shape.as_list()
    axis %= len(dims)
    times = np.ones(len(dims) + 1, np.int32)
    times[axis + 1] = rep
    tiled = array.tile(array.expand_dims(x, axis + 1), times)
    dims[axis] = None if dims[axis] is None else dims[axis] * rep
    if dims.count(None) <= 1:
        return array.reshape(tiled, [-1 if d is None else d for d in dims])
    sizes: Any = array.shape(x)
    result = array.reshape(tiled, sizes * np.delete(times, axis))
    result.set_shape(dims)
    return result


def reverse(x: Any, axes: Any) -> Tensor:
    """The tensor with the elements of some axes in the opposite order.

    Args:
      x: A tensor or variable.
      axes: An axis, or a list of axes.

    Returns:
      A tensor.

    >>> tf.keras.backend.get_value(tf.keras.backend.reverse(tf.constant([1, 2, 3]), 0))
    array([3, 2, 1], dtype=int32)
    """
    return array.reverse(x, [axes] if isinstance(axes, int) else axes)


def one_hot(indices: Any, num_classes: int) -> Tensor:
    """Vectors that are 1 at an index and 0 elsewhere.

    Args:
      indices: A tensor of ints.
      num_classes: The length of the vectors.

    Returns:
      A tensor of floats with one axis more than `indices`.

    >>> tf.keras.backend.get_value(tf.keras.backend.one_hot(tf.constant([1]), 3))
    array([[0., 1., 0.]], dtype=float32)
    """
    return creation.one_hot(indices, depth=num_classes, axis=-1)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Tensor:
    """Numbers at equal distances.

    Args:
      start: The first number; the end if `stop` is None, and then they begin at 0.
      stop: The end, which is not among them.
      step: The distance.
      dtype: The dtype.

    Returns:
      A vector.

    >>> tf.keras.backend.get_value(tf.keras.backend.arange(1, 7, 2))
    array([1, 3, 5], dtype=int32)
    """
    if stop is None and isinstance(start, (int, float)) and start < 0:
        start = 0
    result = creation.range(start, limit=stop, delta=step, name="arange")
    return result if dtype == "int32" else math.cast(result, dtype)


def temporal_padding(x: Any, padding: Sequence[int] = (1, 1)) -> Tensor:
    """Zeros before and after the middle axis of a tensor of rank 3.

    Args:
      x: A tensor.
      padding: How many zeros before and after.

    Returns:
      A tensor.

    >>> tf.keras.backend.temporal_padding(tf.zeros([2, 3, 4]), (1, 2)).shape.as_list()
    [2, 6, 4]
    """
    before, after = padding
    return array.pad(x, [[0, 0], [before, after], [0, 0]])


def _padded(x: Any, padding: Any, data_format: str | None, rank: int) -> Tensor:
    pairs = [list(pair) for pair in padding]
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"padding takes {rank} pairs of numbers, got {padding!r}")
    rest = [[0, 0]]
    first = checked_format(data_format) == "channels_first"
    return array.pad(x, rest + rest + pairs if first else rest + pairs + rest)


def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None) -> Tensor:
    """Zeros around images.

    Args:
      x: A tensor of rank 4.
      padding: How many zeros before and after, for rows and for columns.
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.

    Returns:
      A tensor.

    >>> tf.keras.backend.spatial_2d_padding(tf.zeros([1, 4, 4, 3])).shape.as_list()
    [1, 6, 6, 3]
    """
    return _padded(x, padding, data_format, 2)


def spatial_3d_padding(x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None) -> Tensor:
    """Zeros around volumes.

    Args:
      x: A tensor of rank 5.
      padding: How many zeros before and after, for each of three axes.
      data_format: "channels_last" or "channels_first"; None for `image_data_format`.

    Returns:
      A tensor.

    >>> tf.keras.backend.spatial_3d_padding(tf.zeros([1, 4, 4, 4, 3])).shape.as_list()
    [1, 6, 6, 6, 3]
    """
    return _padded(x, padding, data_format, 3)


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images made larger by whole factors.

    Args:
      x: A tensor of rank 4.
      height_factor: How many times as high.
      width_factor: How many times as wide.
      data_format: "channels_last" or "channels_first".
      interpolation: "nearest" or "bilinear".

    Returns:
      A tensor.

    >>> tf.keras.backend.resize_images(tf.zeros([1, 2, 2, 3]), 2, 3, "channels_last").shape.as_list()
    [1, 4, 6, 3]
    """
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(f'interpolation should be one of "nearest" or "bilinear", got {interpolation!r}')
    first = checked_format(data_format) == "channels_first"
    images = array.transpose(x, [0, 2, 3, 1]) if first else convert_to_tensor(x)
    dims: list[Any] = images.shape.as_list()
    known = None not in dims[1:3]
    size: Any = [dims[1] * height_factor, dims[2] * width_factor]
    if not known:
        sizes: Any = array.shape(images)
        size = sizes[1:3] * np.array([height_factor, width_factor], np.int32)
    resize = raw_ops.ResizeNearestNeighbor if interpolation == "nearest" else raw_ops.ResizeBilinear
    result = resize(images, size, half_pixel_centers=True)
    return array.transpose(result, [0, 3, 1, 2]) if first else result


def resize_volumes(x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str) -> Tensor:
    """Volumes made larger by whole factors, by repeating elements.

    Args:
      x: A tensor of rank 5.
      depth_factor: How many times as deep.
      height_factor: How many times as high.
      width_factor: How many times as wide.
      data_format: "channels_last" or "channels_first".

    Returns:
      A tensor.

    >>> tf.keras.backend.resize_volumes(tf.zeros([1, 2, 2, 2, 3]), 2, 1, 3, "channels_last").shape.as_list()
    [1, 4, 2, 6, 3]
    """
    first = 2 if checked_format(data_format) == "channels_first" else 1
    for i, factor in enumerate((depth_factor, height_factor, width_factor)):
        x = repeat_elements(x, factor, axis=first + i)
    return x
