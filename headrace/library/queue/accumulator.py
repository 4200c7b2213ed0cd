"""Conditional accumulators: gradients of several steps, taken together when there are enough of them."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import DType, as_dtype, int64
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.numeric.math import cast


class ConditionalAccumulatorBase:
    """Sums gradients until somebody takes enough of them.  Gradients computed before the accumulator's step are dropped.

    Made by its subclasses.

    Args:
      dtype: The type of the gradients.
      shape: Their shape; None if it is not known.
      accumulator_ref: The tensor that stands for the accumulator.

    >>> isinstance(tf.ConditionalAccumulator(tf.float32), tf.ConditionalAccumulatorBase)
    True
    """

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.rsplit("/", 1)[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle that accumulator ops take."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the operation that makes the accumulator, without its scope."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients there are."""
        return raw_ops.ResourceAccumulatorNumAccumulated(
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Makes this the accumulator's step; a warning is logged if it is an earlier one."""
        return raw_ops.ResourceAccumulatorSetGlobalStep(self._accumulator_ref, _as_step(new_global_step), name=name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums dense gradients; ``take_grad`` gives their mean, or their sum with ``reduction_type="SUM"``.

    Args:
      dtype: The type of the gradients.
      shape: Their shape; None to take that of the first one.
      shared_name: A name under which several nodes or sessions share one accumulator; None for none.
      name: A name for the op.
      reduction_type: What `take_grad` gives: "MEAN" or "SUM".

    >>> gradients = tf.ConditionalAccumulator(tf.float32, shape=[2])
    >>> with tf.Session() as sess:
    ...     for gradient in ([1.0, 2.0], [3.0, 6.0]):
    ...         sess.run(gradients.apply_grad(gradient))
    ...     print(sess.run(gradients.take_grad(num_required=2)))
    [2. 4.]
    """

    def __init__(
        self, dtype: Any, shape: Any = None, shared_name: str | None = None, name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:  # fmt: skip
        handle = raw_ops.ResourceConditionalAccumulator(
            dtype=dtype, shape=shape, shared_name=shared_name, reduction_type=reduction_type, name=name
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Adds a gradient; drops it if ``local_step``, in which it was computed, is before the accumulator's step."""
        gradient = convert_to_tensor(grad, self._dtype)
        gradient.shape.assert_is_compatible_with(self._shape)
        return raw_ops.ResourceAccumulatorApplyGradient(
            self._accumulator_ref, _as_step(local_step), gradient, name=name
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean or sum of all gradients there are; waits until there are ``num_required``.

        The accumulator is empty then, and its step one later.  InvalidArgumentError if ``num_required`` is less than 1.
        """
        gradient: Tensor = raw_ops.ResourceAccumulatorTakeGradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        gradient.set_shape(self._shape)
        return gradient


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums rows of gradients; the mean of a row is over the gradients that have it.  Rows are taken sorted, each once.

    Args:
      dtype: The type of the gradients.
      shape: The shape of the dense gradients; None to check nothing.
      shared_name: A name under which several nodes or sessions share one accumulator; None for none.
      name: A name for the op.
      reduction_type: What taking gives: "MEAN" or "SUM".

    >>> gradients = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 1])
    >>> with tf.Session() as sess:
    ...     sess.run(gradients.apply_grad([0, 2], [[1.0], [2.0]]))
    ...     sess.run(gradients.apply_grad([2], [[4.0]]))
    ...     print(*sess.run(gradients.take_grad(2)))
    [0 2] [[1.]
     [3.]] [3 1]
    """

    def __init__(
        self, dtype: Any, shape: Any = None, shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator", reduction_type: str = "MEAN",
    ) -> None:  # fmt: skip
        handle = raw_ops.SparseConditionalAccumulator(
            dtype=dtype, shape=shape, shared_name=shared_name, reduction_type=reduction_type, name=name
        )
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None) -> Operation:
        """Adds a gradient; drops it if ``local_step``, in which it was computed, is before the accumulator's step."""
        if not isinstance(grad, IndexedSlices):
            raise TypeError(f"IndexedSlices expected, got {grad!r} {at()}")
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self, grad_indices: Any, grad_values: Any, grad_shape: Any = None, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """Adds rows: ``grad_values[i]`` to row ``grad_indices[i]`` of a tensor of ``grad_shape``, if that is known.

        They are dropped if ``local_step``, in which they were computed, is before the accumulator's step.
        """
        return raw_ops.SparseAccumulatorApplyGradient(
            self._accumulator_ref,
            _as_step(local_step),
            cast(grad_indices, int64),
            convert_to_tensor(grad_values, self._dtype),
            cast([] if grad_shape is None else grad_shape, int64),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Indices, values and shape of the mean or sum of all gradients there are; waits for ``num_required`` of them.

        The accumulator is empty then, and its step one later.  InvalidArgumentError if ``num_required`` is less than 1.
        """
        return raw_ops.SparseAccumulatorTakeGradient(self._accumulator_ref, num_required, dtype=self._dtype, name=name)

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """What ``take_grad`` gives, as IndexedSlices."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(values=taken.values, indices=taken.indices, dense_shape=taken.shape)

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients there are."""
        return raw_ops.AccumulatorNumAccumulated(self._accumulator_ref, name=name or f"{self._name}_NumAccumulated")

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Makes this the accumulator's step; a warning is logged if it is an earlier one."""
        return raw_ops.AccumulatorSetGlobalStep(self._accumulator_ref, _as_step(new_global_step), name=name)


def _as_step(step: Any) -> Tensor:
    return cast(convert_to_tensor(step), int64)
