"""What static and dynamic unrolling share: batch sizes, checks, and steps past the end of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.control.control_flow import cond
from headrace.library.control.tensor_array import TensorArray
from headrace.library.numeric import math
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where


def transpose_batch_time(x: Any) -> Any:
    """[batch, time, ...] <-> [time, batch, ...]; tensors of lower rank are left as they are.

    Args:
      x: A tensor.

    Returns:
      The tensor with its first two axes exchanged, or the tensor itself.

    >>> tf.contrib.rnn.transpose_batch_time(tf.zeros([2, 5, 3])).shape.as_list()
    [5, 2, 3]
    """
    rank = x.shape.ndims
    if rank is not None and rank < 2:
        return x
    if rank is not None:
        return array.transpose(x, [1, 0, *range(2, rank)])
    return array.transpose(x, array.concat([[1, 0], creation.range(2, array.rank(x))], 0))


def best_effort_input_batch_size(flat_input: list[Any]) -> Any:
    """The batch size of time-major inputs: an int if it is known for any of them, else a tensor.

    Args:
      flat_input: A list of tensors [time, batch, ...].

    Returns:
      The size of axis 1: an int, or an int32 scalar tensor.

    >>> tf.contrib.rnn.best_effort_input_batch_size([tf.zeros([5, 2, 3])])
    2
    """
    for tensor in flat_input:
        shape = tensor.shape
        if shape.ndims is None:
            continue
        if shape.ndims < 2:
            raise ValueError(f"Expected input tensor {tensor.name} to have rank at least 2")
        batch = shape.as_list()[1]
        if batch is not None:
            return batch
    return array.shape(flat_input[0])[1]


def lengths_as_tensor(sequence_length: Any) -> Tensor:
    """Sequence lengths as an int32 (or int64) vector."""
    lengths = convert_to_tensor(sequence_length)
    if lengths.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
        lengths = math.cast(lengths, dtypes.int32)
    if lengths.shape.ndims not in (None, 1):
        raise ValueError(f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}")
    return lengths


def choose(finished: Tensor, old: Any, new: Any) -> Any:
    """Row by row: the old value where a sequence has finished, else the new one."""
    if isinstance(old, TensorArray) or isinstance(new, TensorArray):
        return new
    if new.shape.ndims == 0:
        return new
    chosen = where(finished, old, new)
    chosen.set_shape(new.shape)
    return chosen


def copy_some_through(
    finished: Tensor, zero_outputs: list[Any], state: list[Any], outputs: list[Any], new_state: list[Any]
) -> list[Any]:
    """Outputs and state after a step: zeros and the old state for the sequences that have ended.

    ``finished`` [batch, 1] says which have.
    """

    def chosen(old: Any, new: Any) -> Any:
        if isinstance(new, Tensor) and new.shape.ndims == 2:
            selected: Tensor = raw_ops.SelectV2(finished, old, new, name="Select")
            if not context.executing_eagerly():
                selected._shape = new._shape  # TensorFlow does not learn the size of the batch from the lengths
            return selected
        return choose(array.reshape(finished, [-1]), old, new)

    flat = [chosen(zero, new) for zero, new in zip(zero_outputs, outputs, strict=True)]
    return flat + [chosen(old, new) for old, new in zip(state, new_state, strict=True)]


def conditional_step(
    time: Any, lengths: Tensor, shortest: Tensor, longest: Tensor, zero_output: Any, state: Any,
    call_cell: Callable[[], tuple[Any, Any]],
) -> tuple[Any, Any]:  # fmt: skip
    """One step of a static unroll: nothing is computed past the longest sequence."""
    zeros, old = nest.flatten(zero_output), nest.flatten(state)

    def step() -> list[Any]:
        output, new_state = call_cell()
        nest.assert_same_structure(zero_output, output)
        nest.assert_same_structure(state, new_state)
        outputs, states = nest.flatten(output), nest.flatten(new_state)
        return cond(
            time < shortest,
            lambda: outputs + states,
            lambda: copy_some_through(array.expand_dims(time >= lengths, 1), zeros, old, outputs, states),
            strict=True,
        )

    flat = cond(time >= longest, lambda: zeros + old, step, strict=True)
    for result, like in zip(flat, zeros + old, strict=True):
        if isinstance(like, Tensor):
            result.set_shape(like.shape)
    output = nest.pack_sequence_as(zero_output, flat[: len(zeros)])
    return output, nest.pack_sequence_as(state, flat[len(zeros) :])
