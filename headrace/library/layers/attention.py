"""Attention between two sequences: which elements of one are looked at for each element of the other."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers.base_layer import Layer
from headrace.library.linalg.matrix import matmul
from headrace.library.network.softmax import softmax
from headrace.library.numeric import math, reduction
from headrace.library.tensor import array, creation

_FAR_BELOW = -1.0e9  # a score that gives no weight


class _DenseAttention(Layer):
    """Attention by a score for each pair of elements: softmax over the values, then their weighted sum."""

    def __init__(self, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal = causal
        self.supports_masking = True

    def _calculate_scores(self, query: Any, key: Any) -> Tensor:
        """[batch, queries, keys]"""
        raise NotImplementedError(f"{type(self).__name__} does not say how it scores")

    def call(self, inputs: Any, mask: Any = None) -> Tensor:  # type: ignore[override]
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        query_mask, value_mask = (None, None) if mask is None else (mask[0], mask[1])
        scores = self._calculate_scores(query, key)
        allowed = None if value_mask is None else array.expand_dims(value_mask, -2)
        if self.causal:
            past = _not_after(scores)
            allowed = past if allowed is None else math.logical_and(allowed, past)
        if allowed is not None:
            scores = scores + math.cast(math.logical_not(allowed), scores.dtype) * _FAR_BELOW
        outputs = matmul(softmax(scores), value)
        if query_mask is not None:
            outputs = outputs * math.cast(array.expand_dims(query_mask, -1), outputs.dtype)
        return outputs

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        self._check(inputs, mask)
        return None if mask is None or mask[0] is None else convert_to_tensor(mask[0])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        query, value = as_shape(input_shape[0]), as_shape(input_shape[1])
        if query.ndims is None or value.ndims is None:
            return TensorShape(None)
        return query[:-1].concatenate(value[-1:])

    def _check(self, inputs: Any, mask: Any) -> None:
        name = type(self).__name__
        if not isinstance(inputs, list) or not 2 <= len(inputs) <= 3:
            raise ValueError(
                f"{name} layer must be called on a list of inputs, namely [query, value] or [query, value, key]. Received: "
                f"{inputs} {at()}"
            )
        if mask is not None and (not isinstance(mask, list) or not 2 <= len(mask) <= len(inputs)):
            raise ValueError(
                f"{name} layer mask must be a list of length 2, namely [query_mask, value_mask]. Received: {mask} {at()}"
            )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "causal": self.causal}


def _not_after(scores: Tensor) -> Tensor:
    """[1, queries, keys]: whether a key is not after the query."""
    sizes: Any = array.shape(scores)
    queries, keys = creation.range(sizes[-2]), creation.range(sizes[-1])
    return array.expand_dims(math.greater_equal(array.expand_dims(queries, 1), array.expand_dims(keys, 0)), 0)


class Attention(_DenseAttention):
    """Attention by the dot products of queries and keys (Luong).

    It is called with ``[query, value]`` or ``[query, value, key]``, each [batch, length, features], and gives
    [batch, query's length, features].

    Args:
      use_scale: Whether the scores are multiplied by a number that is learned.
      **kwargs: What every layer takes, such as ``name``, and ``causal``: whether a query sees nothing that comes after it.

    >>> tf.keras.layers.Attention()([tf.zeros([8, 5, 16]), tf.zeros([8, 7, 16])]).shape.as_list()
    [8, 5, 16]
    """

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.scale: Any = None

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones", dtype=self.dtype, trainable=True)
        super().build(input_shape)

    def _calculate_scores(self, query: Any, key: Any) -> Tensor:
        scores = matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "use_scale": self.use_scale}


class AdditiveAttention(_DenseAttention):
    """Attention by ``sum(scale * tanh(query + key))`` (Bahdanau).

    It is called with ``[query, value]`` or ``[query, value, key]``, each [batch, length, features], and gives
    [batch, query's length, features].

    Args:
      use_scale: Whether each feature is multiplied by a number that is learned.
      **kwargs: What every layer takes, such as ``name``, and ``causal``: whether a query sees nothing that comes after it.

    >>> tf.keras.layers.AdditiveAttention()([tf.zeros([8, 5, 16]), tf.zeros([8, 7, 16])]).shape.as_list()
    [8, 5, 16]
    """

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.scale: Any = None

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            features = as_shape(input_shape[1]).as_list()[-1]
            self.scale = self.add_weight(
                name="scale", shape=[features], initializer="glorot_uniform", dtype=self.dtype, trainable=True
            )
        super().build(input_shape)

    def _calculate_scores(self, query: Any, key: Any) -> Tensor:
        sums = math.tanh(array.expand_dims(query, -2) + array.expand_dims(key, -3))
        return reduction.reduce_sum(sums if self.scale is None else sums * self.scale, axis=-1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "use_scale": self.use_scale}
