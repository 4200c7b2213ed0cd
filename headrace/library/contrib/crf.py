"""tf.contrib.crf: linear-chain conditional random fields: scores, likelihoods, and the best tags of a sequence.

``inputs`` are the scores of tags by themselves, [batch, time, tags]; ``transition_params`` those of a tag after another,
[tags, tags].  Steps from a sequence's length on do not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph.convert import convert_to_tensor
from headrace.library.control.higher_order import scan
from headrace.library.numeric import math, reduction
from headrace.library.rnn.base import RNNCell
from headrace.library.rnn.dynamic import dynamic_rnn
from headrace.library.scope import name_scope
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather_nd, where


def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The unnormalised score of each sequence of tags, [batch]; 0 for one of no steps.

    Args:
      inputs: The scores of tags by themselves, float [batch, time, tags].
      tag_indices: The tags of each sequence, int32 or int64 [batch, time].
      sequence_lengths: The length of each sequence, int32 or int64 [batch].
      transition_params: The scores of a tag (row) before another (column), float [tags, tags].

    Returns:
      A tensor [batch].

    >>> inputs, transitions = [[[1.0, 0.0], [0.0, 2.0]]], [[0.0, 0.5], [0.0, 0.0]]
    >>> tf.Session().run(tf.contrib.crf.crf_sequence_score(inputs, [[0, 1]], [2], transitions))
    array([3.5], dtype=float32)
    """
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def crf_multitag_sequence_score(inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The score of all sequences whose tags ``tag_bitmap``, [batch, time, tags], allows, added up: their logarithm, [batch].

    Args:
      inputs: The scores of tags by themselves, float [batch, time, tags].
      tag_bitmap: Which tags are allowed at each step, bool [batch, time, tags].
      sequence_lengths: The length of each sequence, int32 or int64 [batch].
      transition_params: The scores of a tag (row) before another (column), float [tags, tags].

    Returns:
      A tensor [batch].

    >>> inputs, allowed = [[[1.0, 0.0], [0.0, 2.0]]], [[[True, False], [False, True]]]
    >>> tf.Session().run(tf.contrib.crf.crf_multitag_sequence_score(inputs, allowed, [2], tf.zeros([2, 2])))
    array([3.], dtype=float32)
    """
    inputs = convert_to_tensor(inputs)
    impossible = creation.fill(array.shape(inputs), creation.ones([], inputs.dtype) * -np.inf)
    allowed = where(math.cast(tag_bitmap, dtypes.bool), inputs, impossible)
    return crf_log_norm(allowed, sequence_lengths, transition_params)


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The logarithm of what normalises the scores of each sequence, [batch]; 0 for one of no steps.

    Args:
      inputs: The scores of tags by themselves, float [batch, time, tags].
      sequence_lengths: The length of each sequence, int32 or int64 [batch].
      transition_params: The scores of a tag (row) before another (column), float [tags, tags].

    Returns:
      A tensor [batch].

    >>> log_norm = tf.contrib.crf.crf_log_norm(tf.zeros([1, 3, 2]), [3], tf.zeros([2, 2]))
    >>> tf.Session().run(tf.exp(log_norm)).round(3)
    array([8.], dtype=float32)
    """
    inputs, lengths = convert_to_tensor(inputs), convert_to_tensor(sequence_lengths)
    alphas = crf_forward(inputs[:, 1:], inputs[:, 0], transition_params, lengths)
    log_norm = reduction.reduce_logsumexp(alphas, [1])
    return where(math.less_equal(lengths, 0), creation.zeros_like(log_norm), log_norm)


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """The log-likelihood of each sequence of tags, [batch], and the transitions: a new variable unless they are given.

    Args:
      inputs: The scores of tags by themselves, float [batch, time, tags].
      tag_indices: The tags of each sequence, int32 or int64 [batch, time].
      sequence_lengths: The length of each sequence, int32 or int64 [batch].
      transition_params: The scores of a tag before another, [tags, tags]; None makes a variable `transitions`.

    Returns:
      A tensor [batch], and the transitions.

    >>> likelihood, transitions = tf.contrib.crf.crf_log_likelihood(tf.zeros([1, 3, 2]), [[0, 1, 0]], [3], tf.zeros([2, 2]))
    >>> tf.Session().run(tf.exp(likelihood)).round(3)
    array([0.125], dtype=float32)
    """
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        tags = inputs.shape[2].value
        transition_params = get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """What the tags by themselves add to the score of each sequence, [batch].

    Args:
      tag_indices: The tags of each sequence, int32 or int64 [batch, time].
      sequence_lengths: The length of each sequence, int32 or int64 [batch].
      inputs: The scores of tags by themselves, float [batch, time, tags].

    Returns:
      A tensor [batch].

    >>> tf.Session().run(tf.contrib.crf.crf_unary_score([[0, 1]], [2], [[[1.0, 0.0], [0.0, 2.0]]]))
    array([3.], dtype=float32)
    """
    inputs, tags = convert_to_tensor(inputs), convert_to_tensor(tag_indices)
    scores = gather_nd(inputs, array.expand_dims(tags, 2), batch_dims=2)
    steps = creation.sequence_mask(sequence_lengths, array.shape(tags)[1], inputs.dtype)
    return reduction.reduce_sum(scores * steps, 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """What the transitions between tags add to the score of each sequence, [batch].

    Args:
      tag_indices: The tags of each sequence, int32 or int64 [batch, time].
      sequence_lengths: The length of each sequence, int32 or int64 [batch].
      transition_params: The scores of a tag (row) before another (column), float [tags, tags].

    Returns:
      A tensor [batch].

    >>> tf.Session().run(tf.contrib.crf.crf_binary_score([[0, 1]], [2], [[0.0, 0.5], [0.0, 0.0]]))
    array([0.5], dtype=float32)
    """
    tags, transitions = convert_to_tensor(tag_indices), convert_to_tensor(transition_params)
    scores = gather_nd(transitions, array.stack([tags[:, :-1], tags[:, 1:]], axis=2))
    steps = creation.sequence_mask(sequence_lengths, array.shape(tags)[1], transitions.dtype)[:, 1:]
    return reduction.reduce_sum(scores * steps, 1)


def crf_forward(inputs: Any, state: Any, transition_params: Any, sequence_lengths: Any) -> Any:
    """The logarithms of the forward variables at the end of each sequence, [batch, tags].

    ``state``: those of the first step, [batch, tags]; ``inputs``: of the steps after it.

    Args:
      inputs: The scores of tags in the steps after the first, float [batch, time - 1, tags].
      state: The scores of tags in the first step, float [batch, tags].
      transition_params: The scores of a tag (row) before another (column), float [tags, tags].
      sequence_lengths: The length of each sequence, the first step included, int32 or int64 [batch].

    Returns:
      A tensor [batch, tags].

    >>> alphas = tf.contrib.crf.crf_forward(tf.zeros([1, 2, 2]), tf.zeros([1, 2]), tf.zeros([2, 2]), [3])
    >>> tf.Session().run(tf.exp(alphas)).round(3)
    array([[4., 4.]], dtype=float32)
    """
    state, lengths = convert_to_tensor(state), convert_to_tensor(sequence_lengths)
    transitions = array.expand_dims(transition_params, 0)

    def step(alphas: Any, scores: Any) -> Any:
        return scores + reduction.reduce_logsumexp(array.expand_dims(alphas, 2) + transitions, [1])

    padded = array.pad(inputs, [[0, 0], [0, 1], [0, 0]])  # a loop of no turns has outputs of no known shape
    later = scan(step, array.transpose(padded, [1, 0, 2]), state)
    alphas = array.concat([array.expand_dims(state, 1), array.transpose(later, [1, 0, 2])], 1)
    last = math.maximum(lengths - 1, creation.zeros_like(lengths))
    return gather_nd(alphas, array.expand_dims(last, 1), batch_dims=1)


class CrfForwardRnnCell(RNNCell):
    """One step of the forward sum, as a cell: outputs and state are the logarithms of the forward variables.

    Args:
      transition_params: The scores of a tag (row) before another (column), float [tags, tags].

    >>> cell = tf.contrib.crf.CrfForwardRnnCell(tf.zeros([2, 2]))
    >>> alphas, _ = cell(tf.zeros([1, 2]), tf.zeros([1, 2]))
    """

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transitions = array.expand_dims(transition_params, 0)
        self._tags = self._transitions.shape[2].value

    @property
    def state_size(self) -> Any:
        return self._tags

    @property
    def output_size(self) -> Any:
        return self._tags

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        alphas = inputs + reduction.reduce_logsumexp(array.expand_dims(state, 2) + self._transitions, [1])
        return alphas, alphas


class CrfDecodeForwardRnnCell(CrfForwardRnnCell):
    """One step of the search for the best tags: its outputs are pointers to the best tag before, its state the best scores.

    Args:
      transition_params: The scores of a tag (row) before another (column), float [tags, tags].

    >>> cell = tf.contrib.crf.CrfDecodeForwardRnnCell(tf.constant([[0.0, 1.0], [0.0, 0.0]]))
    >>> pointers, scores = cell(tf.zeros([1, 2]), tf.zeros([1, 2]))
    >>> tf.Session().run(scores)
    array([[0., 1.]], dtype=float32)
    """

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        scores = array.expand_dims(state, 2) + self._transitions
        return reduction.argmax(scores, 1, output_type=dtypes.int32), inputs + reduction.reduce_max(scores, [1])


class CrfDecodeBackwardRnnCell(RNNCell):
    """One step back along the pointers: outputs and state are the tags, [batch, 1].

    Args:
      num_tags: The number of tags; None if it is not known.

    >>> cell = tf.contrib.crf.CrfDecodeBackwardRnnCell(2)
    >>> tf.Session().run(cell(tf.constant([[1, 0]]), tf.constant([[0]]))[0])
    array([[1]], dtype=int32)
    """

    def __init__(self, num_tags: int | None) -> None:
        super().__init__()
        self._tags = num_tags

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return 1

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        tags = array.expand_dims(gather_nd(inputs, state, batch_dims=1), -1)
        return tags, tags


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """The best tags of each sequence, int32 [batch, time] with zeros after its end, and their scores, [batch].

    Args:
      potentials: The scores of tags by themselves, float [batch, time, tags].
      transition_params: The scores of a tag (row) before another (column), float [tags, tags].
      sequence_length: The length of each sequence, int32 or int64 [batch].

    Returns:
      The tags, int32 [batch, time], and their scores, float [batch].

    >>> tags, score = tf.contrib.crf.crf_decode([[[1.0, 0.0], [0.0, 1.0]]], [[3.0, 0.0], [0.0, 0.0]], [2])
    >>> tf.Session().run([tags, score])
    [array([[0, 0]], dtype=int32), array([4.], dtype=float32)]
    """
    potentials, lengths = convert_to_tensor(potentials), convert_to_tensor(sequence_length)
    transitions = convert_to_tensor(transition_params)
    with name_scope(None, "crf_decode", [potentials]), variable_scope("crf_decode"):
        earlier = math.maximum(lengths - 1, creation.zeros_like(lengths))  # steps but the first
        later = array.pad(potentials[:, 1:], [[0, 0], [0, 1], [0, 0]])
        pointers, scores = dynamic_rnn(
            CrfDecodeForwardRnnCell(transitions),
            later,
            earlier,
            potentials[:, 0],
            dtypes.int32,
            scope="forward",
        )
        last = array.expand_dims(reduction.argmax(scores, 1, output_type=dtypes.int32), 1)
        tags, _ = dynamic_rnn(
            CrfDecodeBackwardRnnCell(transitions.shape[0].value),
            array.reverse_sequence(pointers, earlier, seq_axis=1),
            earlier,
            last,
            dtypes.int32,
            scope="backward",
        )
        backwards = array.concat([last, array.squeeze(tags, [2])], 1)
        return array.reverse_sequence(backwards, lengths, seq_axis=1)[:, :-1], reduction.reduce_max(scores, [1])


def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[list[int], float]:
    """The best tags of one sequence, and their score, from arrays: ``score`` [time, tags].  Builds no graph.

    Args:
      score: The scores of tags by themselves, an array [time, tags].
      transition_params: The scores of a tag (row) before another (column), an array [tags, tags].

    Returns:
      A list of tags, and their score.

    >>> tags, score = tf.contrib.crf.viterbi_decode(np.array([[1., 0.], [0., 1.]]), np.array([[3., 0.], [0., 0.]]))
    >>> tags
    [0, 0]
    """
    best = score[0]
    pointers = []
    for scores in score[1:]:
        before = best[:, None] + transition_params
        pointers.append(before.argmax(0))
        best = scores + before.max(0)
    tags = [int(best.argmax())]
    for pointer in reversed(pointers):
        tags.append(int(pointer[tags[-1]]))
    return tags[::-1], best.max()
