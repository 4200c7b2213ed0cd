"""Attention mechanisms: how much each position of a memory matters for a query.

``alignments, next_state = mechanism(query, state)``; ``mechanism.values`` is what is then averaged.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.layers.scoped.core import Dense
from headrace.library.linalg.matrix import matmul
from headrace.library.network.softmax import softmax
from headrace.library.numeric import math, reduction
from headrace.library.rnn.base import batch_zeros
from headrace.library.scope import name_scope
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where


class AttentionMechanism:
    """Anything with ``alignments_size``, ``state_size``, ``values``, initial values and ``__call__(query, state)``.

    >>> attention = tf.contrib.seq2seq.LuongAttention(4, tf.zeros([2, 5, 3]))
    >>> isinstance(attention, tf.contrib.seq2seq.AttentionMechanism), attention.alignments_size
    (True, 5)
    """

    @property
    def alignments_size(self) -> Any:
        """The number of positions, an int or a scalar tensor."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the mechanism's state."""
        raise NotImplementedError


def _masked(values: Any, lengths: Any) -> Any:
    """Values [batch, time, ...] with zeros past the end of each sequence."""
    if lengths is None:
        return values
    mask = creation.sequence_mask(lengths, maxlen=array.shape(values)[1], dtype=values.dtype.base_dtype)
    rank = values.shape.ndims
    return values * array.reshape(mask, array.concat([array.shape(mask), [1] * (rank - 2)], 0))


class BaseAttentionMechanism(AttentionMechanism):
    """A mechanism over a memory [batch, time, size], of which ``memory_sequence_length`` positions count."""

    def __init__(
        self, query_layer: Any, memory: Any, probability_fn: Callable[..., Any], memory_sequence_length: Any = None,
        memory_layer: Any = None, check_inner_dims_defined: bool = True, score_mask_value: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        self.dtype = memory_layer.dtype if memory_layer is not None and memory_layer.dtype else None
        if not callable(probability_fn):
            raise TypeError(f"probability_fn must be callable, saw type: {type(probability_fn).__name__}")
        with name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            lengths = None
            if memory_sequence_length is not None:
                lengths = convert_to_tensor(memory_sequence_length, name="memory_sequence_length")
            memory = convert_to_tensor(memory)
            if check_inner_dims_defined and None in memory.shape.as_list()[2:]:
                raise ValueError(
                    f"Expected memory {memory.name} to have fully defined inner dims, but saw: {memory.shape}"
                )
            self._values = _masked(memory, lengths)
            self._keys = memory_layer(self._values) if memory_layer is not None else self._values
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            batch, positions = self._keys.shape.as_list()[:2]
            self._batch_size = array.shape(self._keys)[0] if batch is None else batch
            self._alignments_size = array.shape(self._keys)[1] if positions is None else positions
        self._lengths = lengths
        self._score_mask_value = score_mask_value
        self._given_probability_fn = probability_fn

    def _probability_fn(self, score: Any, previous: Any) -> Any:
        return self._given_probability_fn(self._mask_score(score), previous)

    def _mask_score(self, score: Any) -> Any:
        if self._lengths is None:
            return score
        low = self._score_mask_value
        low = score.dtype.base_dtype.as_numpy_dtype(-np.inf) if low is None else low
        mask = creation.sequence_mask(self._lengths, maxlen=array.shape(score)[1])
        return where(mask, score, low * creation.ones_like(score))

    @property
    def memory_layer(self) -> Any:
        """The layer from the memory to the keys, or None."""
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        """The layer that queries pass first, or None."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """What is averaged: the memory, with zeros past the end of each sequence."""
        return self._values

    @property
    def keys(self) -> Any:
        """What queries are compared with, [batch, time, units]."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """The size of the memory's batch, an int or a scalar tensor."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros."""
        if isinstance(self._alignments_size, int):
            return batch_zeros(batch_size, self._alignments_size, dtype)
        return creation.zeros(array.stack([batch_size, self._alignments_size]), dtype=dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first query: the initial alignments."""
        return self.initial_alignments(batch_size, dtype)


def luong_score(query: Any, keys: Any, scaled: bool) -> Any:
    """Products [batch, time] of a query [batch, size] and keys [batch, time, size], ``scaled`` by a trained number."""
    depth, key_units = query.shape.as_list()[-1], keys.shape.as_list()[-1]
    if depth != key_units:
        raise ValueError(
            f"Incompatible or unknown inner dimensions between query and keys.  Query ({query.name}) has units: {depth}.  "
            f"Keys ({keys.name}) have units: {key_units}.  Perhaps you need to set num_units to the keys' dimension."
        )
    scale = None
    if scaled:
        scale = get_variable("attention_g", dtype=query.dtype, initializer=initializers.Ones(), shape=[])
    score = array.squeeze(matmul(array.expand_dims(query, 1), keys, transpose_b=True), [1])
    return score if scale is None else scale * score


class LuongAttention(BaseAttentionMechanism):
    """Multiplicative attention (Luong et al., 2015), with ``scale`` times a trained number.

    Args:
      num_units: The width of the queries, to which the memory is mapped.
      memory: The tensor to attend to, [batch, time, size]: the outputs of an encoder as a rule.
      memory_sequence_length: How many positions count in each row of the batch, [batch]; None for all.
      scale: True multiplies the scores by a trained number.
      probability_fn: A function from scores to alignments; None for softmax.
      score_mask_value: The score of positions that do not count; None for minus infinity.
      dtype: The type of the trained variables; None for float32.
      custom_key_value_fn: A function of keys and values that gives those to use; None uses them as they are.
      name: The name scope of the ops that prepare the memory.

    >>> attention = tf.contrib.seq2seq.LuongAttention(4, tf.zeros([2, 5, 3]), memory_sequence_length=[5, 2])
    >>> alignments, _ = attention(tf.zeros([2, 4]), attention.initial_state(2, tf.float32))
    >>> alignments.shape.as_list()
    [2, 5]
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False,
        probability_fn: Callable[..., Any] | None = None, score_mask_value: Any = None, dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None, name: str = "LuongAttention",
    ) -> None:  # fmt: skip
        normalizer, element_type = probability_fn or softmax, dtypes.float32 if dtype is None else dtype
        super().__init__(
            query_layer=None, memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=element_type),
            memory=memory, probability_fn=lambda score, _: normalizer(score),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn, name=name,
        )  # fmt: skip
        self._num_units = num_units
        self._scale = scale
        self._name = name

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with variable_scope(None, "luong_attention", [query]):
            alignments = self._probability_fn(luong_score(query, self._keys, self._scale), state)
        return alignments, alignments


def bahdanau_score(query: Any, layer: Any, keys: Any, units: int, normalize: bool) -> Any:
    """``sum(v * tanh(keys + layer(query)))`` with a trained ``v``; weight-normalised if asked (Salimans and Kingma, 2016)."""
    processed = layer(query) if layer else query
    v = get_variable("attention_v", [units], dtype=query.dtype)
    if normalize:
        start = initializers.Constant(python_math.sqrt(1.0 / units))
        g = get_variable("attention_g", dtype=query.dtype, initializer=start, shape=[])
        b = get_variable("attention_b", [units], dtype=query.dtype, initializer=initializers.Zeros())
    hidden = keys + array.expand_dims(processed, 1)
    if normalize:
        v = g * v * math.rsqrt(reduction.reduce_sum(math.square(v)))
        hidden = hidden + b
    return reduction.reduce_sum(v * math.tanh(hidden), [2])


class BahdanauAttention(BaseAttentionMechanism):
    """Additive attention (Bahdanau et al., 2014), ``normalize``d if asked.

    Args:
      num_units: The width of the hidden layer, to which queries and memory are mapped.
      memory: The tensor to attend to, [batch, time, size]: the outputs of an encoder as a rule.
      memory_sequence_length: How many positions count in each row of the batch, [batch]; None for all.
      normalize: True normalises the weights of the hidden layer.
      probability_fn: A function from scores to alignments; None for softmax.
      score_mask_value: The score of positions that do not count; None for minus infinity.
      dtype: The type of the trained variables; None for float32.
      custom_key_value_fn: A function of keys and values that gives those to use; None uses them as they are.
      name: The name scope of the ops that prepare the memory.

    >>> attention = tf.contrib.seq2seq.BahdanauAttention(4, tf.zeros([2, 5, 3]))
    >>> alignments, _ = attention(tf.zeros([2, 6]), attention.initial_state(2, tf.float32))
    >>> alignments.shape.as_list()
    [2, 5]
    """

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, normalize: bool = False,
        probability_fn: Callable[..., Any] | None = None, score_mask_value: Any = None, dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None, name: str = "BahdanauAttention",
    ) -> None:  # fmt: skip
        normalizer, element_type = probability_fn or softmax, dtypes.float32 if dtype is None else dtype
        super().__init__(
            query_layer=Dense(num_units, name="query_layer", use_bias=False, dtype=element_type),
            memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=element_type),
            memory=memory, probability_fn=lambda score, _: normalizer(score),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn, name=name,
        )  # fmt: skip
        self._num_units = num_units
        self._normalize = normalize
        self._name = name

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with variable_scope(None, "bahdanau_attention", [query]):
            score = bahdanau_score(query, self._query_layer, self._keys, self._num_units, self._normalize)
            alignments = self._probability_fn(score, state)
        return alignments, alignments


def hardmax(logits: Any, name: str | None = None) -> Any:
    """One-hot vectors: 1 at the largest element of the last axis.

    Args:
      logits: A tensor of numbers, [..., classes].
      name: A name for the ops.

    Returns:
      A tensor of the type and shape of `logits`, of zeros and ones.

    >>> tf.Session().run(tf.contrib.seq2seq.hardmax([[1.0, 3.0, 2.0]]))
    array([[0., 1., 0.]], dtype=float32)
    """
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        depth = logits.shape.as_list()[-1]
        depth = array.shape(logits)[-1] if depth is None else depth
        return creation.one_hot(reduction.argmax(logits, -1), depth, dtype=logits.dtype)
