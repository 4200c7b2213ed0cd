"""The embedding layer: a vector for each integer."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.backend.config import floatx
from headrace.library.layers import regularizers
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.base_layer import Layer
from headrace.library.network.embedding import embedding_lookup
from headrace.library.numeric import math


class Embedding(Layer):
    """Replaces integers by vectors that are learned.

    Args:
      input_dim: The number of vectors; inputs are below it.
      output_dim: The length of a vector.
      embeddings_initializer: What makes the first values: an initializer, or its name.
      embeddings_regularizer: A function of the vectors that gives a loss, or None.
      activity_regularizer: A function of the output that gives a loss, or None.
      embeddings_constraint: A function that an optimizer applies to the vectors after each update, or None.
      mask_zero: Whether the integer 0 marks a place that later layers leave out.
      input_length: The length of the sequences where it is always the same, which makes the output's shape known.
      **kwargs: What every layer takes, such as ``name``.

    >>> vectors = tf.keras.layers.Embedding(1000, 64)(tf.constant([[3, 5, 7]]))
    >>> vectors.shape.as_list()
    [1, 3, 64]
    """

    def __init__(
        self, input_dim: int, output_dim: int, embeddings_initializer: Any = "uniform", embeddings_regularizer: Any = None,
        activity_regularizer: Any = None, embeddings_constraint: Any = None, mask_zero: bool = False,
        input_length: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        if "batch_input_shape" not in kwargs:
            kwargs.setdefault(
                "input_shape", (input_length or None,) if not isinstance(input_length, (list, tuple)) else input_length
            )
        kwargs.setdefault("dtype", floatx())
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **{**kwargs, "autocast": False})
        self.input_dim = input_dim
        self.output_dim = output_dim
        weight.keep_arguments(self, "embeddings", embeddings_initializer, embeddings_regularizer, embeddings_constraint)
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero
        self.input_length = input_length
        self.embeddings: Any = None

    def build(self, input_shape: Any) -> None:
        self.embeddings = weight.make(self, "embeddings", (self.input_dim, self.output_dim))
        self.built = True

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        inputs = convert_to_tensor(inputs)
        if inputs.dtype.base_dtype.name not in ("int32", "int64"):
            inputs = math.cast(inputs, "int32")
        return embedding_lookup(self.embeddings, inputs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return math.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = as_shape(input_shape)
        if shape.ndims is None:
            return shape
        if self.input_length is None:
            return shape.concatenate(self.output_dim)
        lengths = self.input_length if isinstance(self.input_length, (list, tuple)) else [self.input_length]
        expected = TensorShape([None, *lengths])
        if not shape.is_compatible_with(expected):
            raise ValueError(f'"input_length" is {self.input_length}, but received input has shape {shape} {at()}')
        return shape.merge_with(expected).concatenate(self.output_dim)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(), "input_dim": self.input_dim, "output_dim": self.output_dim,
            **weight.config(self, "embeddings"),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer), "mask_zero": self.mask_zero,
            "input_length": self.input_length,
        }  # fmt: skip
