"""Space to batch, space to depth and back, and patches of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.scope import name_scope
from headrace.library.tensor.array import stack
from headrace.library.tensor.creation import zeros


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Cuts the (padded) dimensions after the first into blocks and moves positions within blocks into the batch.

    Args:
      input: A tensor ``[batch, ...]``.
      block_shape: The size of a block in each dimension that is cut, a 1-D integer tensor.
      paddings: For each of these dimensions a pair: how many zeros to put before and after it.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input``; the batch is larger by the product of ``block_shape``.

    >>> tf.Session().run(tf.space_to_batch_nd([[1, 2, 3, 4]], [2], [[0, 0]]))
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return raw_ops.SpaceToBatchND(input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The inverse of ``space_to_batch_nd``.

    Args:
      input: A tensor ``[batch, ...]``.
      block_shape: The size of a block in each dimension that was cut, a 1-D integer tensor.
      crops: For each of these dimensions a pair: how many elements to drop at its start and end.
      name: A name for the op.

    Returns:
      A tensor of the type of ``input``; the batch is smaller by the product of ``block_shape``.

    >>> tf.Session().run(tf.batch_to_space_nd([[1, 3], [2, 4]], [2], [[0, 0]]))
    array([[1, 2, 3, 4]], dtype=int32)
    """
    return raw_ops.BatchToSpaceND(input, block_shape, crops, name=name)


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None, block_shape: Any = None  # noqa: A002
) -> Tensor:  # fmt: skip
    """``space_to_batch_nd`` for images with square blocks.

    Args:
      input: Images ``[batch, height, width, channels]``.
      paddings: Two pairs: how many rows, and how many columns, of zeros to put before and after.
      block_size: The side of a block.
      name: A name for the op.
      block_shape: The later name of ``block_size``: one number.

    Returns:
      A tensor of the type of ``input``; the batch is larger by ``block_size ** 2``.

    >>> tf.space_to_batch(tf.zeros([1, 4, 4, 3]), [[0, 0], [0, 0]], block_size=2).shape.as_list()
    [4, 2, 2, 3]
    """
    block_size = either("block_shape", block_shape, "block_size", block_size)
    return _images(space_to_batch_nd(input, np.array([block_size, block_size], dtype=np.int32), paddings, name))


def batch_to_space(
    input: Any, crops: Any, block_size: int, name: str | None = None, block_shape: Any = None  # noqa: A002
) -> Tensor:  # fmt: skip
    """The inverse of ``space_to_batch``.

    Args:
      input: Images ``[batch, height, width, channels]``.
      crops: Two pairs: how many rows, and how many columns, to drop at the start and end.
      block_size: The side of a block; None where ``block_shape`` is given.
      name: A name for the op.
      block_shape: The later name of ``block_size``: one number.

    Returns:
      A tensor of the type of ``input``; the batch is smaller by ``block_size ** 2``.

    >>> tf.batch_to_space(tf.zeros([4, 2, 2, 3]), [[0, 0], [0, 0]], block_size=2).shape.as_list()
    [1, 4, 4, 3]
    """
    block_size = either("block_shape", block_shape, "block_size", block_size)
    return _images(batch_to_space_nd(input, np.array([block_size, block_size], dtype=np.int32), crops, name))


def _images(result: Tensor) -> Tensor:
    """The tensor, whose rank is 4 whatever is known of it."""
    if not context.executing_eagerly():
        result.set_shape(result.shape.with_rank(4))
    return result


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """-> (paddings, crops) that make block_shape divide the padded input.

    Args:
      input_shape: The sizes of the dimensions to cut, a 1-D tensor of int32.
      block_shape: The size of a block in each of them, a 1-D tensor of int32 of known length.
      base_paddings: The least padding, a pair for each dimension; None for none.
      name: A name for the op.

    Returns:
      A pair of int32 tensors of shape ``[len(block_shape), 2]``: the paddings for ``space_to_batch_nd`` and the crops
      for the way back.

    >>> tf.Session().run(tf.required_space_to_batch_paddings([5], [2]))
    (array([[0, 1]], dtype=int32), array([[0, 1]], dtype=int32))
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = convert_to_tensor(input_shape, dtypes.int32, name="input_shape")
        block_shape = convert_to_tensor(block_shape, dtypes.int32, name="block_shape")
        block_shape.shape.assert_is_compatible_with([None])
        block_shape.shape.assert_is_fully_defined()
        count = block_shape.shape.as_list()[0]
        if count == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        input_shape.shape.assert_is_compatible_with([count])
        if base_paddings is None:
            base_paddings = zeros([count, 2], dtypes.int32)
        else:
            base_paddings = convert_to_tensor(base_paddings, dtypes.int32)
            base_paddings.shape.assert_is_compatible_with([count, 2])
        static_values = [constant_value(t) for t in (input_shape, block_shape, base_paddings)]
        if all(v is not None for v in static_values):
            return _fixed_paddings(*static_values)
        return _computed_paddings(input_shape, block_shape, base_paddings, count)


def _fixed_paddings(size: Any, block: Any, base: Any) -> tuple[Tensor, Tensor]:
    start, end = base[:, 0], base[:, 1]
    extra = (block - (size + start + end) % block) % block
    paddings = np.stack([start, end + extra], 1).astype(np.int32)
    crops = np.stack([np.zeros_like(extra), extra], 1).astype(np.int32)
    return constant(paddings, name="paddings"), constant(crops, name="crops")


def _computed_paddings(size: Tensor, block: Tensor, base: Tensor, count: int) -> tuple[Tensor, Tensor]:
    start, end = raw_ops.Unpack(base, num=2, axis=1)
    total = raw_ops.AddV2(raw_ops.AddV2(size, start, name="add"), end, name="add")
    over = raw_ops.FloorMod(total, block, name="mod")
    extra = raw_ops.FloorMod(raw_ops.Sub(block, over, name="sub"), block, name="mod")
    paddings = stack([start, raw_ops.AddV2(end, extra, name="add")], 1, name="paddings")
    return paddings, stack([zeros([count], dtypes.int32), extra], 1, name="crops")


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:  # noqa: A002
    """Moves blocks of space into channels.

    Args:
      input: Images of rank 4, in the order of ``data_format``.
      block_size: The side of a block, which divides height and width.
      name: A name for the op.
      data_format: "NHWC" or "NCHW".

    Returns:
      A tensor of the type of ``input`` with ``block_size ** 2`` times the channels.

    >>> tf.space_to_depth(tf.zeros([1, 4, 4, 3]), 2).shape.as_list()
    [1, 2, 2, 12]
    """
    return raw_ops.SpaceToDepth(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:  # noqa: A002
    """Moves channels into blocks of space.

    Args:
      input: Images of rank 4, in the order of ``data_format``.
      block_size: The side of a block; its square divides the number of channels.
      name: A name for the op.
      data_format: "NHWC" or "NCHW".

    Returns:
      A tensor of the type of ``input`` with ``block_size`` times the height and width.

    >>> tf.depth_to_space(tf.zeros([1, 2, 2, 12]), 2).shape.as_list()
    [1, 4, 4, 3]
    """
    return raw_ops.DepthToSpace(input, block_size=block_size, data_format=data_format, name=name)


def extract_image_patches(
    images: Any, ksizes: Any = None, strides: Any = None, rates: Any = None, padding: str | None = None,
    name: str | None = None, sizes: Any = None,
) -> Tensor:  # fmt: skip
    """Every window of the images, flattened into the last dimension.

    Args:
      images: Images ``[batch, height, width, channels]``.
      ksizes: The size of a window: ``[1, rows, columns, 1]``.
      strides: How far windows are apart: ``[1, rows, columns, 1]``.
      rates: How far the pixels of a window are apart: ``[1, rows, columns, 1]``.
      padding: "VALID" for windows inside the image only, "SAME" to fill with zeros at the edges.
      name: A name for the op.
      sizes: The later name of ``ksizes``.

    Returns:
      A tensor ``[batch, rows, columns, ksize_rows * ksize_columns * channels]``.

    >>> patches = tf.extract_image_patches(tf.zeros([1, 4, 4, 3]), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    >>> patches.shape.as_list()
    [1, 2, 2, 12]
    """
    ksizes = either("sizes", sizes, "ksizes", ksizes)
    return raw_ops.ExtractImagePatches(images, ksizes=ksizes, strides=strides, rates=rates, padding=padding, name=name)


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Tensor:
    """`extract_image_patches` under the name and arguments tf.image has for it.

    Args:
      images: Images ``[batch, height, width, channels]``.
      sizes: The size of a window: ``[1, rows, columns, 1]``.
      strides: How far windows are apart: ``[1, rows, columns, 1]``.
      rates: How far the pixels of a window are apart: ``[1, rows, columns, 1]``.
      padding: "VALID" for windows inside the image only, "SAME" to fill with zeros at the edges.
      name: A name for the op.

    Returns:
      A tensor ``[batch, rows, columns, size_rows * size_columns * channels]``.

    >>> patches = tf.image.extract_patches(tf.zeros([1, 4, 4, 3]), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    >>> patches.shape.as_list()
    [1, 2, 2, 12]
    """
    return raw_ops.ExtractImagePatches(images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name)


def extract_volume_patches(input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None) -> Tensor:
    """Every window of volumes [batch, planes, rows, columns, channels], flattened into the last dimension.

    Args:
      input: Volumes ``[batch, planes, rows, columns, channels]``.
      ksizes: The size of a window: ``[1, planes, rows, columns, 1]``.
      strides: How far windows are apart: ``[1, planes, rows, columns, 1]``.
      padding: "VALID" for windows inside the volume only, "SAME" to fill with zeros at the edges.
      name: A name for the op.

    Returns:
      A tensor ``[batch, planes, rows, columns, n]``, n being the size of a window times the channels.

    >>> patches = tf.extract_volume_patches(tf.zeros([1, 4, 4, 4, 1]), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID")
    >>> patches.shape.as_list()
    [1, 2, 2, 2, 8]
    """
    return raw_ops.ExtractVolumePatches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)
