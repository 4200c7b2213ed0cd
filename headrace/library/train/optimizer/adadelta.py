"""Adadelta (Zeiler, 2012)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.library.state.update import update
from headrace.library.train.optimizer.optimizer import Optimizer, cast


class AdadeltaOptimizer(Optimizer):
    """Scales each step by the ratio of the decaying means of past steps and past gradients.

    Args:
      learning_rate: The factor of each step: a number, a tensor, or a function that returns one of them.  The paper's is 1.0.
      rho: The weight of the old mean, of gradients and of steps.
      epsilon: What is added to both means before the root is taken.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops.

    >>> w = tf.Variable(1.0)
    >>> train = tf.train.AdadeltaOptimizer(1.0).minimize(tf.square(w))
    """

    def __init__(
        self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-8, use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(self._lr), name="lr"),
            convert_to_tensor(self._call_if_callable(self._rho), name="rho"),
            convert_to_tensor(self._call_if_callable(self._epsilon), name="epsilon"),
        ]

    def _inputs(self, var: Any) -> list[Any]:
        slots = [self.get_slot(var, "accum"), self.get_slot(var, "accum_update")]
        return slots + [cast(t, var.dtype.base_dtype) for t in self._tensors]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return update("ApplyAdadelta", var, *self._inputs(var), grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return update(
            "SparseApplyAdadelta", var, *self._inputs(var), grad.values, grad.indices, use_locking=self._use_locking
        ).op
