"""tf.contrib.memory_stats: the memory of the device that an op is placed on."""

from __future__ import annotations

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor


def BytesInUse() -> Tensor:  # noqa: N802 - TensorFlow's name
    """How many bytes tensors take on the op's device; on the CPU, where nobody counts them, those of variables."""
    result: Tensor = raw_ops.BytesInUse()
    return result


def MaxBytesInUse() -> Tensor:  # noqa: N802 - TensorFlow's name
    """The most bytes that tensors took on the op's device since the process began.  Only accelerators count."""
    result: Tensor = raw_ops.MaxBytesInUse()
    return result


def BytesLimit() -> Tensor:  # noqa: N802 - TensorFlow's name
    """How many bytes tensors may take on the op's device."""
    result: Tensor = raw_ops.BytesLimit()
    return result
