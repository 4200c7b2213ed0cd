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
    """Cuts the (padded) dimensions after the first into blocks and moves positions within blocks into the batch."""
    return raw_ops.SpaceToBatchND(input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The inverse of ``space_to_batch_nd``."""
    return raw_ops.BatchToSpaceND(input, block_shape, crops, name=name)


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None, block_shape: Any = None  # noqa: A002
) -> Tensor:  # fmt: skip
    """``space_to_batch_nd`` for images with square blocks."""
    block_size = either("block_shape", block_shape, "block_size", block_size)
    return _images(space_to_batch_nd(input, np.array([block_size, block_size], dtype=np.int32), paddings, name))


def batch_to_space(
    input: Any, crops: Any, block_size: int, name: str | None = None, block_shape: Any = None  # noqa: A002
) -> Tensor:  # fmt: skip
    """The inverse of ``space_to_batch``."""
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
    """-> (paddings, crops) that make block_shape divide the padded input."""
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
    """Moves blocks of space into channels."""
    return raw_ops.SpaceToDepth(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:  # noqa: A002
    """Moves channels into blocks of space."""
    return raw_ops.DepthToSpace(input, block_size=block_size, data_format=data_format, name=name)


def extract_image_patches(
    images: Any, ksizes: Any = None, strides: Any = None, rates: Any = None, padding: str | None = None,
    name: str | None = None, sizes: Any = None,
) -> Tensor:  # fmt: skip
    """Every window of the images, flattened into the last dimension."""
    ksizes = either("sizes", sizes, "ksizes", ksizes)
    return raw_ops.ExtractImagePatches(images, ksizes=ksizes, strides=strides, rates=rates, padding=padding, name=name)


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Tensor:
    """`extract_image_patches` under the name and arguments tf.image has for it."""
    return raw_ops.ExtractImagePatches(images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name)


def extract_volume_patches(input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None) -> Tensor:
    """Every window of volumes [batch, planes, rows, columns, channels], flattened into the last dimension."""
    return raw_ops.ExtractVolumePatches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)
