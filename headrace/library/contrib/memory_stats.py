"""tf.contrib.memory_stats: the memory of the device that an op is placed on."""

from __future__ import annotations

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor


def BytesInUse() -> Tensor:  # noqa: N802 - TensorFlow's name
    """How many bytes tensors take on the op's device; on the CPU, where nobody counts them, those of variables.

    Returns:
      An int64 scalar.

    >>> tf.contrib.memory_stats.BytesInUse().dtype
    tf.int64
    """
    return raw_ops.BytesInUse()


def MaxBytesInUse() -> Tensor:  # noqa: N802 - TensorFlow's name
    """The most bytes that tensors took on the op's device since the process began.  Only accelerators count.

    Returns:
      An int64 scalar.

    >>> tf.contrib.memory_stats.MaxBytesInUse().dtype
    tf.int64
    """
    return raw_ops.MaxBytesInUse()


def BytesLimit() -> Tensor:  # noqa: N802 - TensorFlow's name
    """How many bytes tensors may take on the op's device.

    Returns:
      An int64 scalar.

    >>> tf.contrib.memory_stats.BytesLimit().dtype
    tf.int64
    """
    return raw_ops.BytesLimit()
