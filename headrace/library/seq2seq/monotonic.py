"""Monotonic attention (Raffel et al., 2017): it looks at one position after another and never goes back."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph.convert import convert_to_tensor
from headrace.library.control.higher_order import scan
from headrace.library.layers.scoped.core import Dense
from headrace.library.numeric import math, random, reduction
from headrace.library.numeric.clip import clip_by_value
from headrace.library.scope import name_scope
from headrace.library.seq2seq.attention import BaseAttentionMechanism, bahdanau_score, luong_score
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.tensor import array, creation


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Any:
    """A cumulative product by logarithms, whose gradient does not divide by zero.

    Args:
      x: A tensor of numbers from 0 to 1; others are clipped.
      *args: Further arguments of `tf.cumsum`, from `axis` on.
      **kwargs: Further arguments of `tf.cumsum`, such as `axis` and `exclusive`.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.contrib.seq2seq.safe_cumprod([0.5, 0.5, 1.0])).round(3)
    array([0.5 , 0.25, 0.25], dtype=float32)
    """
    with name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.base_dtype.as_numpy_dtype).tiny
        return math.exp(reduction.cumsum(math.log(clip_by_value(x, tiny, 1.0)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """Where attention ends up, [batch, time], given where it was and the chance to stop at each position.

    ``mode`` is "recursive" (exact, step by step), "parallel" (exact up to rounding, all steps together) or "hard" (for
    chances that are all 0 or 1).

    Args:
      p_choose_i: The chance to stop at each position, [batch, time].
      previous_attention: Where attention was, [batch, time]: chances that add up to at most 1.
      mode: How to compute it: "recursive", "parallel" or "hard".

    Returns:
      A tensor of the shape of `p_choose_i`.

    >>> moved = tf.contrib.seq2seq.monotonic_attention([[0.5, 0.5, 1.0]], [[1.0, 0.0, 0.0]], mode="recursive")
    >>> tf.Session().run(moved)
    array([[0.5 , 0.25, 0.25]], dtype=float32)
    """
    p = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        batch = array.shape(p)[0]
        shifted = array.concat([creation.ones(array.stack([batch, 1]), dtype=p.dtype), 1 - p[:, :-1]], 1)

        def step(x: Any, factors: Any) -> Any:
            return array.reshape(factors[0] * x + factors[1], [batch])

        passed = scan(
            step, [array.transpose(shifted), array.transpose(previous)], creation.zeros(array.stack([batch]), p.dtype)
        )
        return p * array.transpose(passed)
    if mode == "parallel":
        left = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * left * reduction.cumsum(previous / clip_by_value(left, 1e-10, 1.0), axis=1)
    if mode == "hard":
        p = p * reduction.cumsum(previous, axis=1)
        return p * reduction.cumprod(1 - p, axis=1, exclusive=True)
    raise ValueError(f"mode must be 'recursive', 'parallel', or 'hard', got {mode!r}")


def _monotonic_probability(score: Any, previous: Any, sigmoid_noise: float, mode: str, seed: int | None = None) -> Any:
    """Scores as chances to stop; noise while training teaches them to be decided."""
    if sigmoid_noise > 0:
        score = score + sigmoid_noise * random.random_normal(array.shape(score), dtype=score.dtype, seed=seed)
    choice = math.cast(score > 0, score.dtype) if mode == "hard" else math.sigmoid(score)
    return monotonic_attention(choice, previous, mode)


class _MonotonicAttention(BaseAttentionMechanism):
    """Attention that starts, whole, at the first position."""

    _score_bias_init: float

    def _aligned(self, score: Any, query: Any, state: Any) -> tuple[Any, Any]:
        start = initializers.Constant(self._score_bias_init)
        bias = get_variable("attention_score_bias", dtype=query.dtype, initializer=start, shape=[])
        alignments = self._probability_fn(score + bias, state)
        return alignments, alignments

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        return creation.one_hot(
            creation.zeros(array.stack([batch_size]), dtype=dtypes.int32), self._alignments_size, dtype=dtype
        )


class BahdanauMonotonicAttention(_MonotonicAttention):
    """Monotonic attention by additive scores, shifted by a trained ``score_bias``.

    Args:
      num_units: The width of the hidden layer, to which queries and memory are mapped.
      memory: The tensor to attend to, [batch, time, size]: the outputs of an encoder as a rule.
      memory_sequence_length: How many positions count in each row of the batch, [batch]; None for all.
      normalize: True normalises the weights of the hidden layer.
      score_mask_value: The score of positions that do not count; None for minus infinity.
      sigmoid_noise: The standard deviation of noise added to the scores, for training; 0.0 for none.
      sigmoid_noise_seed: The seed of the noise.
      score_bias_init: What the bias of the scores starts from; a negative number lets attention move on at first.
      mode: "recursive" or "parallel" for training, "hard" for a choice of one position when the model is used.
      dtype: The type of the trained variables; None for float32.
      name: The name scope of the ops that prepare the memory.

    >>> attention = tf.contrib.seq2seq.BahdanauMonotonicAttention(4, tf.zeros([2, 5, 3]))
    >>> alignments, _ = attention(tf.zeros([2, 6]), attention.initial_state(2, tf.float32))
    >>> alignments.shape.as_list()
    [2, 5]
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, normalize: bool = False,
        score_mask_value: Any = None, sigmoid_noise: float = 0.0, sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0, mode: str = "parallel", dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:  # fmt: skip
        element_type = dtypes.float32 if dtype is None else dtype
        super().__init__(
            query_layer=Dense(num_units, name="query_layer", use_bias=False, dtype=element_type),
            memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=element_type), memory=memory,
            probability_fn=functools.partial(
                _monotonic_probability, sigmoid_noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
            ),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value, name=name,
        )  # fmt: skip
        self._num_units = num_units
        self._normalize = normalize
        self._score_bias_init = score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            score = bahdanau_score(query, self._query_layer, self._keys, self._num_units, self._normalize)
            return self._aligned(score, query, state)


class LuongMonotonicAttention(_MonotonicAttention):
    """Monotonic attention by products, shifted by a trained ``score_bias``.

    Args:
      num_units: The width of the queries, to which the memory is mapped.
      memory: The tensor to attend to, [batch, time, size]: the outputs of an encoder as a rule.
      memory_sequence_length: How many positions count in each row of the batch, [batch]; None for all.
      scale: True multiplies the scores by a trained number.
      score_mask_value: The score of positions that do not count; None for minus infinity.
      sigmoid_noise: The standard deviation of noise added to the scores, for training; 0.0 for none.
      sigmoid_noise_seed: The seed of the noise.
      score_bias_init: What the bias of the scores starts from; a negative number lets attention move on at first.
      mode: "recursive" or "parallel" for training, "hard" for a choice of one position when the model is used.
      dtype: The type of the trained variables; None for float32.
      name: The name scope of the ops that prepare the memory.

    >>> attention = tf.contrib.seq2seq.LuongMonotonicAttention(4, tf.zeros([2, 5, 3]))
    >>> alignments, _ = attention(tf.zeros([2, 4]), attention.initial_state(2, tf.float32))
    >>> alignments.shape.as_list()
    [2, 5]
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False,
        score_mask_value: Any = None, sigmoid_noise: float = 0.0, sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0, mode: str = "parallel", dtype: Any = None, name: str = "LuongMonotonicAttention",
    ) -> None:  # fmt: skip
        element_type = dtypes.float32 if dtype is None else dtype
        super().__init__(
            query_layer=None, memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=element_type),
            memory=memory,
            probability_fn=functools.partial(
                _monotonic_probability, sigmoid_noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
            ),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value, name=name,
        )  # fmt: skip
        self._num_units = num_units
        self._scale = scale
        self._score_bias_init = score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with variable_scope(None, "luong_monotonic_attention", [query]):
            return self._aligned(luong_score(query, self._keys, self._scale), query, state)
