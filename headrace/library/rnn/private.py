"""What programs import from TensorFlow's private modules of recurrent cells, under the names it has there."""

from __future__ import annotations

from typing import Any

from headrace.library.rnn.base import batch_zeros as _batch_zeros
from headrace.library.rnn.base import map_sizes as _map_sizes
from headrace.library.rnn.linear import Linear as _Linear
from headrace.library.rnn.step import transpose_batch_time as _transpose_batch_time

__all__ = ["_Linear", "_linear", "_transpose_batch_time", "_zero_state_tensors"]


def _linear(
    args: Any, output_size: int, bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None
) -> Any:
    """``concat(args) @ kernel + bias`` with variables ``kernel`` and ``bias`` of the current scope."""
    return _Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)


def _zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros of the structure of ``state_size``, each of shape [batch_size] + its size."""
    return _map_sizes(lambda size: _batch_zeros(batch_size, size, dtype), state_size)
