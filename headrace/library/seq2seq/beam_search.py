"""BeamSearchDecoder: at every step the ``beam_width`` most likely continuations of each sequence are kept.

State and inputs of the cell have the batch and the beams merged ([batch * beam, ...]); here they are split again where the
beams of a sequence are compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.control.control_flow import cond
from headrace.library.control.tensor_array import TensorArray
from headrace.library.network.embedding import embedding_lookup
from headrace.library.network.softmax import log_softmax
from headrace.library.numeric import division, math, reduction
from headrace.library.numeric.reduction import top_k
from headrace.library.rnn.base import assert_like_cell
from headrace.library.scope import name_scope
from headrace.library.seq2seq.attention_wrapper import AttentionWrapperState
from headrace.library.seq2seq.beam_score import BeamScore, gather_beams, one_after_end
from headrace.library.seq2seq.decoder import Decoder
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather, where


class BeamSearchDecoderState(NamedTuple):
    """The cell's state, and for each beam its log-probability, whether it has finished, its length, its attention."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """For each beam of a step: its score, its last id, and the beam it continues."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """``predicted_ids`` [batch, time, beam], best beam first, and the outputs of the steps."""

    predicted_ids: Any
    beam_search_decoder_output: Any


def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: str | None = None
) -> Any:
    """The sequences [time, batch, beam] of a beam search from the ids and parents of each step.

    Args:
      step_ids: The ids chosen at each step, int32 [time, batch, beam].
      parent_ids: The beam that each of them continues, int32 [time, batch, beam].
      max_sequence_lengths: The number of steps of each row of the batch, int32 [batch].
      end_token: The id with which a sequence ends, an int32 scalar; what follows it becomes `end_token` too.
      name: A name for the op.

    Returns:
      An int32 tensor [time, batch, beam]: whole sequences, one for each beam of the last step.

    >>> ids, parents = [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]]
    >>> tf.Session().run(tf.contrib.seq2seq.gather_tree(ids, parents, [2], 9)).tolist()
    [[[2, 1]], [[3, 4]]]
    """
    return raw_ops.GatherTree(step_ids, parent_ids, max_sequence_lengths, end_token, name=name or "GatherTree")


def tile_batch(t: Any, multiplier: Any, name: str | None = None) -> Any:
    """Each entry of the batch ``multiplier`` times in a row: [batch, ...] -> [batch * multiplier, ...].

    Args:
      t: A tensor [batch, ...], or a nested structure of such tensors.
      multiplier: How often each entry is repeated, an int or an int32 scalar.
      name: A name for the ops.

    Returns:
      A structure like `t` of tensors [batch * multiplier, ...].

    >>> tf.Session().run(tf.contrib.seq2seq.tile_batch(tf.constant([1, 2]), multiplier=3))
    array([1, 1, 1, 2, 2, 2], dtype=int32)
    """
    with name_scope(name, "tile_batch", [*nest.flatten(t), multiplier]):
        return nest.map_structure(lambda x: _tiled(convert_to_tensor(x, name="t"), multiplier), t)


def _tiled(t: Tensor, multiplier: Any) -> Tensor:
    if t.shape.ndims is None:
        raise ValueError("t must have statically known rank")
    if t.shape.ndims == 0:
        raise ValueError("t must have rank 1 or more: tile_batch repeats along the first dimension")
    rank, shape = t.shape.ndims, array.shape(t)
    tiled = array.tile(array.expand_dims(t, 1), [1, multiplier, *([1] * (rank - 1))])
    tiled = array.reshape(tiled, array.concat([[shape[0] * multiplier], shape[1:]], 0))
    times = multiplier if isinstance(multiplier, int) else constant_value(multiplier)
    batch = t.shape.as_list()[0]
    batch = None if batch is None or times is None else batch * int(times)
    tiled.set_shape([batch, *t.shape.as_list()[1:]])
    return tiled


class BeamSearchDecoder(Decoder):
    """Beam search for ``dynamic_decode``; the cell's initial state (and an attention's memory) must be tiled by ``tile_batch``.

    ``embedding`` is a table or a function of ids; ``length_penalty_weight`` favours longer sequences, and
    ``coverage_penalty_weight`` those whose attention covered the memory (Wu et al., 2016).

    Args:
      cell: The cell, with which each step is computed.
      embedding: The table of embeddings [ids, size], or a function from ids to embeddings.
      start_tokens: The first id of each sequence, int32 [batch].
      end_token: The id with which a sequence ends, an int32 scalar.
      initial_state: The cell's state before the first step, [batch * beam_width, ...].
      beam_width: The number of beams.
      output_layer: A layer from the cell's outputs to logits; None if the outputs are logits.
      length_penalty_weight: How much longer sequences are favoured; 0.0 for no penalty.
      coverage_penalty_weight: How much sequences are favoured whose attention covered the memory; 0.0 for no penalty.
      reorder_tensor_arrays: True orders TensorArrays of the final state, such as `alignment_history`, by the final beams.

    >>> cell, embedding = tf.nn.rnn_cell.GRUCell(4), tf.zeros([4, 3])
    >>> decoder = tf.contrib.seq2seq.BeamSearchDecoder(
    ...     cell, embedding, start_tokens=[0, 0], end_token=1, initial_state=cell.zero_state(2 * 3, tf.float32), beam_width=3)
    >>> outputs, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    >>> outputs.predicted_ids.shape.as_list()
    [2, None, 3]
    """

    def __init__(
        self, cell: Any, embedding: Any, start_tokens: Any, end_token: Any, initial_state: Any, beam_width: int,
        output_layer: Any = None, length_penalty_weight: float = 0.0, coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:  # fmt: skip
        assert_like_cell(cell)
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._output_layer = output_layer
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._embedding_fn = embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)
        self._start_tokens = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._end_token = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        static = self._start_tokens.shape.as_list()[0]
        self._batch_size = array.size(start_tokens) if static is None else static
        self._static_batch = static
        self._beam_width = beam_width
        self._score = BeamScore(length_penalty_weight, coverage_penalty_weight)
        self._initial_cell_state = nest.map_structure(self._split_state, initial_state)
        tokens = array.tile(array.expand_dims(self._start_tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(tokens)
        first = creation.zeros([self._batch_size], dtype=dtypes.int32)
        self._finished = creation.one_hot(first, depth=beam_width, on_value=False, off_value=True, dtype=dtypes.bool)

    # ---- what it puts out

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """Beams move: what has finished moves with them."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        each = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(scores=each, predicted_ids=each, parent_ids=each)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        dtype = nest.flatten(self._initial_cell_state)[0].dtype.base_dtype
        return BeamSearchDecoderOutput(scores=dtype, predicted_ids=dtypes.int32, parent_ids=dtypes.int32)

    # ---- batches of beams

    def _split(self, t: Any) -> Any:
        """[batch * beam, ...] -> [batch, beam, ...]."""
        split = array.reshape(t, array.concat([[self._batch_size, self._beam_width], array.shape(t)[1:]], 0))
        split.set_shape([self._static_batch, self._beam_width, *t.shape.as_list()[1:]])
        return split

    def _merge(self, t: Any) -> Any:
        """[batch, beam, ...] -> [batch * beam, ...]."""
        merged = array.reshape(t, array.concat([[self._batch_size * self._beam_width], array.shape(t)[2:]], 0))
        batch = None if self._static_batch is None else self._static_batch * self._beam_width
        merged.set_shape([batch, *t.shape.as_list()[2:]])
        return merged

    def _split_state(self, t: Any) -> Any:
        return t if isinstance(t, TensorArray) or t.shape.ndims == 0 else self._split(t)

    def _merge_state(self, t: Any) -> Any:
        return t if isinstance(t, TensorArray) or t.shape.ndims == 0 else self._merge(t)

    def _moved(self, t: Any, beams: Any) -> Any:
        """What the new beams inherit of what the old ones had."""
        if isinstance(t, TensorArray) or t.shape.ndims is not None and t.shape.ndims < 2:
            return t
        return gather_beams(t, beams, self._batch_size, self._beam_width)

    # ---- decoding

    def initialize(self, name: str | None = None) -> Any:
        """At first only one beam counts: the others have probability zero."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype.base_dtype
        first = creation.zeros([self._batch_size], dtype=dtypes.int32)
        log_probs = creation.one_hot(first, depth=self._beam_width, on_value=0.0, off_value=-np.inf, dtype=dtype)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=self._finished,
            lengths=creation.zeros([self._batch_size, self._beam_width], dtype=dtypes.int64),
            accumulated_attention_probs=self._attention_start(),
        )
        return self._finished, self._start_inputs, state

    def _attention_start(self) -> Any:
        attention = self._attention_of(self._initial_cell_state)
        return () if attention is None else creation.zeros_like(attention)

    def _attention_of(self, cell_state: Any) -> Any:
        """The alignments [batch, beam, memory] where a coverage penalty asks for them."""
        if self._score.coverage_weight == 0.0:
            return None
        if not isinstance(cell_state, AttentionWrapperState):
            raise ValueError("coverage_penalty_weight needs a cell that is an AttentionWrapper")
        every = cell_state.alignments
        return math.add_n(list(every)) / len(every) if isinstance(every, tuple) else every

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "BeamSearchDecoderStep", (time, inputs, state)):
            merged = nest.map_structure(self._merge_state, state.cell_state)
            outputs, cell_state = self._cell(nest.map_structure(self._merge, inputs), merged)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            cell_state = nest.map_structure(self._split_state, cell_state)
            result, next_state = self._continue(self._split(outputs), cell_state, state)
            ids = result.predicted_ids
            next_inputs = cond(
                reduction.reduce_all(next_state.finished), lambda: self._start_inputs, lambda: self._embedding_fn(ids)
            )
            next_inputs.set_shape(self._start_inputs.shape)
        return result, next_state, next_inputs, next_state.finished

    def _continue(self, logits: Any, cell_state: Any, state: Any) -> tuple[Any, Any]:
        """The best continuations of all beams of each sequence, and the state they are in."""
        batch, width = self._batch_size, self._beam_width
        vocabulary = logits.shape.as_list()[-1]
        vocabulary = array.shape(logits)[-1] if vocabulary is None else vocabulary
        going = math.logical_not(state.finished)
        step_probs = one_after_end(log_softmax(logits), self._end_token, state.finished, vocabulary)
        total = array.expand_dims(state.log_probs, 2) + step_probs
        attention = self._attention_of(cell_state)
        if attention is not None:
            counted = attention * array.expand_dims(math.cast(going, attention.dtype), 2)
            attention = state.accumulated_attention_probs + counted
        scores = self._score(total, self._lengths_if(going, state.lengths, vocabulary), attention)
        best, places = top_k(array.reshape(scores, [batch, -1]), width)
        best.set_shape([self._static_batch, width])
        places.set_shape([self._static_batch, width])
        ids, beams = math.mod(places, vocabulary), division.floordiv(places, vocabulary)
        log_probs = picked(array.reshape(total, [batch, -1]), places, batch)
        had_finished = self._moved(state.finished, beams)
        finished = math.logical_or(had_finished, math.equal(ids, self._end_token))
        grown = math.cast(math.logical_not(had_finished), dtypes.int64)
        next_state = BeamSearchDecoderState(
            cell_state=nest.map_structure(lambda t: self._moved(t, beams), cell_state),
            log_probs=log_probs,
            finished=finished,
            lengths=self._moved(state.lengths, beams) + grown,
            accumulated_attention_probs=() if attention is None else self._moved(attention, beams),
        )
        return BeamSearchDecoderOutput(scores=best, predicted_ids=ids, parent_ids=beams), next_state

    def _lengths_if(self, going: Any, lengths: Any, vocabulary: Any) -> Any:
        """The length of every continuation: one more, unless the beam has finished or finishes with it."""
        one_more = creation.one_hot(self._end_token, vocabulary, on_value=0, off_value=1, dtype=dtypes.int64)
        added = array.expand_dims(math.cast(going, dtypes.int64), 2) * array.reshape(one_more, [1, 1, -1])
        return array.expand_dims(lengths, 2) + added

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        longest = math.cast(reduction.reduce_max(final_state.lengths, axis=1), dtypes.int32)
        predicted = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder_tensor_arrays:
            cell_state = nest.map_structure(
                lambda t: self._ordered(t, outputs.parent_ids, final_state.lengths), final_state.cell_state
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(predicted, outputs), final_state

    def _ordered(self, t: Any, parents: Any, lengths: Any) -> Any:
        """An array that the cell filled, as a tensor [time, batch * beam, ...] in the order of the final beams."""
        if not isinstance(t, TensorArray):
            return t
        stacked = t.stack()
        steps, rest = array.shape(stacked)[0], array.shape(stacked)[2:]
        batch, width = self._batch_size, self._beam_width
        own = array.tile(array.reshape(creation.range(width), [1, 1, -1]), array.stack([steps, batch, 1]))
        longest = math.cast(reduction.reduce_max(lengths, axis=1), dtypes.int32)
        followed = gather_tree(own, parents, longest, width + 1)
        valid = array.transpose(creation.sequence_mask(lengths, maxlen=steps), [2, 0, 1])
        beams = array.reshape(where(valid, followed, own), [-1, width])
        flat = array.reshape(stacked, array.concat([[steps * batch, width], rest], 0))
        moved = gather_beams(flat, beams, steps * batch, width)
        return array.reshape(moved, array.shape(stacked))


def picked(values: Any, places: Any, batch_size: Any) -> Any:
    """values [batch, n] at places [batch, k]."""
    start = array.expand_dims(creation.range(batch_size) * array.shape(values)[1], 1)
    return array.reshape(gather(array.reshape(values, [-1]), array.reshape(places + start, [-1])), array.shape(places))
