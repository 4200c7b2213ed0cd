"""The layer of dot products between two tensors, sample by sample, and its function."""

from __future__ import annotations

from typing import Any

from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.library.backend.product import batch_dot
from headrace.library.layers.merge import Merge, checked_list, checked_shapes
from headrace.library.network.normalization import l2_normalize


class Dot(Merge):
    """The dot products of two tensors along an axis of each, for each sample of the batch.

    Args:
      axes: The axis of both tensors, or a pair of axes: one of each.
      normalize: Whether the vectors are first scaled to length one, so that the result is their cosine.
      **kwargs: What every layer takes, such as ``name``.

    >>> a, b = tf.constant([[1.0, 2.0]]), tf.constant([[10.0, 20.0]])
    >>> tf.Session().run(tf.keras.layers.Dot(axes=1)([a, b])).tolist()
    [[50.0]]
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(axes, (int, list, tuple)):
            raise TypeError(f"Invalid type for `axes` - should be a list or an int. Received: {axes!r}")
        if not isinstance(axes, int) and (len(axes) != 2 or not all(isinstance(a, int) for a in axes)):
            raise ValueError(f"Invalid format for `axes` - should contain two integers. Received: {axes!r}")
        self.axes = axes
        self.normalize = normalize

    def _pair(self, ranks: tuple[int, int]) -> tuple[int, int]:
        """The axis of each input, counted from the front."""
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        first, second = (a + rank if a < 0 else a for a, rank in zip(axes, ranks, strict=True))
        if not 0 < first < ranks[0] or not 0 < second < ranks[1]:
            raise ValueError(
                f"A `Dot` layer takes axes other than the batch's. Received axes={self.axes} for inputs of ranks {ranks} {at()}"
            )
        return first, second

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        first, second = checked_shapes(self, input_shape, exactly=2)
        if first is None or second is None:
            return TensorShape(None)
        a, b = self._pair((len(first), len(second)))
        if None not in (first[a], second[b]) and first[a] != second[b]:
            raise ValueError(
                f"Dimension incompatibility {first[a]} != {second[b]}. Layer shapes: {first}, {second}. Chosen axes: {a}, {b} "
                f"{at()}"
            )
        dims = first[:a] + first[a + 1 :] + second[1:b] + second[b + 1 :]
        return TensorShape(dims if len(dims) > 1 else [*dims, 1])

    def call(self, inputs: Any) -> Any:
        first, second = checked_list(self, inputs, exactly=2)
        if first.shape.ndims is None or second.shape.ndims is None:
            raise ValueError(
                f"A `Dot` layer takes inputs of known rank. Received shapes {first.shape}, {second.shape} {at()}"
            )
        a, b = self._pair((first.shape.ndims, second.shape.ndims))
        if self.normalize:
            first, second = l2_normalize(first, axis=a), l2_normalize(second, axis=b)
        return batch_dot(first, second, (a, b))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Any:
    """The dot products of two tensors along an axis of each, for each sample of the batch.

    Args:
      inputs: A list of two tensors.
      axes: The axis of both tensors, or a pair of axes: one of each.
      normalize: Whether the vectors are first scaled to length one, so that the result is their cosine.
      **kwargs: What every layer takes, such as ``name``.

    Returns:
      A tensor.

    >>> a, b = tf.zeros([8, 5, 3]), tf.zeros([8, 5, 4])
    >>> tf.keras.layers.dot([a, b], axes=1).shape.as_list()
    [8, 3, 4]
    """
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
