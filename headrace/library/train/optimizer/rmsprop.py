"""RMSProp (Tieleman and Hinton, 2012), plain and centered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.library.state.initializers import Ones
from headrace.library.state.update import update
from headrace.library.train.optimizer.optimizer import Optimizer, cast


class RMSPropOptimizer(Optimizer):
    """Divides the gradient by the root of a decaying mean of its square, less its squared mean if ``centered``.

    Args:
      learning_rate: A number, a tensor, or a function that returns one of them; so are the next three.
      decay: The weight of the old mean of squared gradients.
      momentum: The part of the last step that is added to the next; 0 for none.
      epsilon: What is added to the mean square, so that no division is by zero.
      use_locking: Whether updates of one variable exclude each other.
      centered: Whether to divide by an estimate of the variance, for which the mean of the gradients is kept too.
      name: The prefix of the names of the ops and slots.

    >>> w = tf.Variable(1.0)
    >>> train = tf.train.RMSPropOptimizer(0.01, decay=0.9).minimize(tf.square(w))
    """

    def __init__(
        self, learning_rate: Any, decay: Any = 0.9, momentum: Any = 0.0, epsilon: Any = 1e-10,
        use_locking: bool = False, centered: bool = False, name: str = "RMSProp",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            ones = Ones(dtype=dtype)
            self._get_or_make_slot_with_initializer(v, ones, v.get_shape(), dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(self._learning_rate), name="learning_rate"),
            convert_to_tensor(self._call_if_callable(self._decay), name="decay"),
            convert_to_tensor(self._call_if_callable(self._momentum), name="momentum"),
            convert_to_tensor(self._call_if_callable(self._epsilon), name="epsilon"),
        ]

    def _inputs(self, var: Any) -> list[Any]:
        names = ["mg", "rms", "momentum"] if self._centered else ["rms", "momentum"]
        slots = [self.get_slot(var, name) for name in names]
        return slots + [cast(t, var.dtype.base_dtype) for t in self._tensors]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        op_type = "ApplyCenteredRMSProp" if self._centered else "ApplyRMSProp"
        return update(op_type, var, *self._inputs(var), grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        op_type = "SparseApplyCenteredRMSProp" if self._centered else "SparseApplyRMSProp"
        return update(op_type, var, *self._inputs(var), grad.values, grad.indices, use_locking=self._use_locking).op
