"""tf.contrib.nccl: reductions over tensors of several devices, and copies for all of them.

TensorFlow called NVIDIA's library.  Here the values are sent to one device, combined there, and the result goes back to all: two
transfers for each device but the first.  Any type of device will do, and fetching only some of the results is no error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.scope import device

Combine = Callable[[list[Tensor]], Tensor]


def all_sum(tensors: Sequence[Any]) -> list[Tensor]:
    """The sum of the tensors, on the device of each of them.

    Args:
      tensors: A list of tensors of one type and shape, each made in the scope of another device.

    Returns:
      A list of tensors, one on each of the devices.

    >>> with tf.device("/cpu:0"):
    ...     x = tf.constant([1.0, 2.0])
    >>> tf.Session().run(tf.contrib.nccl.all_sum([x]))
    [array([1., 2.], dtype=float32)]
    """
    return _all_reduce("all_sum", raw_ops.AddN, tensors)


def all_prod(tensors: Sequence[Any]) -> list[Tensor]:
    """The product of the tensors, element by element, on the device of each of them.

    Args:
      tensors: A list of tensors of one type and shape, each made in the scope of another device.

    Returns:
      A list of tensors, one on each of the devices.

    >>> with tf.device("/cpu:0"):
    ...     x = tf.constant([1.0, 2.0])
    >>> tf.Session().run(tf.contrib.nccl.all_prod([x]))
    [array([1., 2.], dtype=float32)]
    """
    return _all_reduce("all_prod", functools.partial(functools.reduce, raw_ops.Mul), tensors)


def all_min(tensors: Sequence[Any]) -> list[Tensor]:
    """The least of the tensors, element by element, on the device of each of them.

    Args:
      tensors: A list of tensors of one type and shape, each made in the scope of another device.

    Returns:
      A list of tensors, one on each of the devices.

    >>> with tf.device("/cpu:0"):
    ...     x = tf.constant([1.0, 2.0])
    >>> tf.Session().run(tf.contrib.nccl.all_min([x]))
    [array([1., 2.], dtype=float32)]
    """
    return _all_reduce("all_min", functools.partial(functools.reduce, raw_ops.Minimum), tensors)


def all_max(tensors: Sequence[Any]) -> list[Tensor]:
    """The greatest of the tensors, element by element, on the device of each of them.

    Args:
      tensors: A list of tensors of one type and shape, each made in the scope of another device.

    Returns:
      A list of tensors, one on each of the devices.

    >>> with tf.device("/cpu:0"):
    ...     x = tf.constant([1.0, 2.0])
    >>> tf.Session().run(tf.contrib.nccl.all_max([x]))
    [array([1., 2.], dtype=float32)]
    """
    return _all_reduce("all_max", functools.partial(functools.reduce, raw_ops.Maximum), tensors)


def reduce_sum(tensors: Sequence[Any]) -> Tensor:
    """The sum of the tensors, on the current device, which must be that of one of them.

    Args:
      tensors: A list of tensors of one type and shape, each made in the scope of another device.

    Returns:
      A tensor.

    >>> with tf.device("/cpu:0"):
    ...     total = tf.contrib.nccl.reduce_sum([tf.constant([1.0, 2.0])])
    >>> tf.Session().run(total)
    array([1., 2.], dtype=float32)
    """
    if not tensors:
        raise ValueError("Must pass >0 tensors to reduce operations")
    placed = _checked_tensors("reduce_sum", tensors)
    total: Tensor = raw_ops.AddN(placed, name="NcclReduce")
    if total.device not in {t.device for t in placed}:
        raise ValueError(
            "One input tensor must be assigned to current device: the tensors of reduce_sum are on "
            f"{', '.join(t.device for t in placed)}, and the current device is {total.device or 'none'}"
        )
    return total


def broadcast(tensor: Any) -> Tensor:
    """The tensor, for use on other devices.

    Args:
      tensor: A tensor that was made in the scope of a device.

    Returns:
      A tensor.

    >>> with tf.device("/cpu:0"):
    ...     x = tf.constant([1.0, 2.0])
    >>> tf.Session().run(tf.contrib.nccl.broadcast(x))
    array([1., 2.], dtype=float32)
    """
    (placed,) = _checked_tensors("broadcast", [tensor])
    with device(placed.device):
        result: Tensor = raw_ops.Identity(placed, name="NcclBroadcast")
    return result


def _all_reduce(name: str, combine: Combine, tensors: Sequence[Any]) -> list[Tensor]:
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    placed = _checked_tensors(name, tensors)
    with device(placed[0].device):
        whole = combine(placed)
    results = []
    for tensor in placed:
        with device(tensor.device):
            results.append(raw_ops.Identity(whole, name="NcclAllReduce"))
    return results


def _checked_tensors(name: str, values: Sequence[Any]) -> list[Tensor]:
    """The values as tensors, each on a device of its own."""
    tensors: dict[str, Tensor] = {}
    for value in values:
        tensor = convert_to_tensor(value)
        if not tensor.device:
            raise ValueError(
                f"Device assignment required for nccl collective ops: {_described(tensor)} has no device. Make it, or a "
                f"tf.identity of it, in a tf.device scope before it is passed to {name}"
            )
        if tensor.device in tensors:
            raise ValueError(
                f"Each tensor of {name} must be on a device of its own, but {_described(tensors[tensor.device])} and "
                f"{_described(tensor)} are both on {tensor.device}. Combine those of one device first"
            )
        tensors[tensor.device] = tensor
    return list(tensors.values())


def _described(tensor: Tensor) -> str:
    return f"{tensor.name} (made at {tensor.op.source})"
