"""Decoder and ``dynamic_decode``: a loop that asks a decoder for one step after the other until all sequences have ended."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from headrace.core import dtypes
from headrace.graph.convert import constant, convert_to_tensor
from headrace.library import nest
from headrace.library.control.tensor_array import TensorArray
from headrace.library.control.while_loop import while_loop
from headrace.library.numeric import math, reduction
from headrace.library.rnn.base import batch_zeros, map_sizes
from headrace.library.rnn.step import choose, transpose_batch_time
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where


class Decoder:
    """What ``dynamic_decode`` runs.  A subclass gives the properties, ``initialize`` and ``step``.

    >>> issubclass(tf.contrib.seq2seq.BasicDecoder, tf.contrib.seq2seq.Decoder)
    True
    """

    @property
    def batch_size(self) -> Any:
        """The size of the batch, an int or a scalar tensor."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """(A structure of) the shapes of what a step puts out, without the batch."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """(A structure of) the types of what a step puts out."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """(finished, inputs, state) before the first step."""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """(outputs, next state, next inputs, finished)."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """What to return, once all steps are done; not overridden, the outputs and the state as they are."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether ``finished`` of a step is final; otherwise a sequence once finished stays so."""
        return False


def dynamic_decode(
    decoder: Decoder, output_time_major: bool = False, impute_finished: bool = False, maximum_iterations: Any = None,
    parallel_iterations: int = 32, swap_memory: bool = False, scope: Any = None, **kwargs: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(outputs, final state, sequence lengths) of decoding until every sequence has finished.

    ``impute_finished`` gives zeros and keeps the state for sequences that have finished, as gradients need it.

    Args:
      decoder: The `Decoder` to run.
      output_time_major: True for outputs [time, batch, ...] in place of [batch, time, ...].
      impute_finished: True gives zeros and keeps the state for sequences that have finished.
      maximum_iterations: The largest number of steps, an int or an int32 scalar; None for no bound.
      parallel_iterations: How many steps of the loop may be under way together.
      swap_memory: True keeps what the gradient needs in the host's memory.
      scope: The variable scope, or its name; None for `decoder`.
      **kwargs: Accepted and not used.

    Returns:
      The outputs, nested like the decoder's `output_size`; the final state; the length of each sequence, int32 [batch].

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(tf.zeros([4, 3]), start_tokens=[0, 0], end_token=1)
    >>> decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    >>> outputs, state, lengths = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder"):
        limit = _limit(maximum_iterations)
        finished, inputs, state = decoder.initialize()
        finished = convert_to_tensor(finished)
        zeros = map_sizes(
            lambda size, dtype: batch_zeros(decoder.batch_size, size, dtype), decoder.output_size, decoder.output_dtype
        )
        if limit is not None:
            finished = math.logical_or(finished, limit <= 0)
        lengths = creation.zeros_like(finished, dtype=dtypes.int32)
        arrays = nest.map_structure(_array, zeros)

        def step(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
            outputs, next_state, next_inputs, done = decoder.step(time, inputs, state)
            if not decoder.tracks_own_finished:
                done = math.logical_or(done, finished)
            lengths = where(math.logical_not(finished), creation.fill(array.shape(lengths), time + 1), lengths)
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(zeros, outputs)
            nest.assert_same_structure(inputs, next_inputs)
            if impute_finished:
                outputs = nest.map_structure(lambda out, zero: where(finished, zero, out), outputs, zeros)
                next_state = nest.map_structure(lambda new, old: choose(finished, old, new), next_state, state)
            nest.map_structure(_keep_shape, next_state, state)
            written = nest.map_structure(lambda ta, out: ta.write(time, out), arrays, outputs)
            return time + 1, written, next_state, next_inputs, done, lengths

        result = while_loop(
            lambda time, arrays, state, inputs, finished, lengths: math.logical_not(reduction.reduce_all(finished)),
            step,
            (constant(0, dtype=dtypes.int32), arrays, state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            maximum_iterations=limit,
            swap_memory=swap_memory,
        )
        _, written, state, _, _, lengths = result
        outputs = nest.map_structure(lambda ta: ta.stack(), written)
        with suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


def _limit(maximum_iterations: Any) -> Any:
    if maximum_iterations is None:
        return None
    limit = convert_to_tensor(maximum_iterations, dtype=dtypes.int32, name="maximum_iterations")
    if limit.shape.ndims != 0:
        raise ValueError("maximum_iterations must be a scalar")
    return limit


def _array(zero: Any) -> TensorArray:
    return TensorArray(zero.dtype.base_dtype, size=0, dynamic_size=True, element_shape=zero.shape)


def _keep_shape(new: Any, old: Any) -> None:
    if not isinstance(new, TensorArray) and not isinstance(old, TensorArray):
        new.set_shape(old.shape)
