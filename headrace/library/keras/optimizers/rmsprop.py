"""RMSProp, plain and centered (tf.keras.optimizers.RMSprop)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.backend.config import epsilon as default_epsilon
from headrace.library.control.dependency import group
from headrace.library.keras.optimizers.gradient_descent import has_momentum
from headrace.library.keras.optimizers.optimizer_v2 import OptimizerV2
from headrace.library.numeric import math
from headrace.library.state.update import update
from headrace.library.tensor.indexing import gather
from headrace.library.train.optimizer.adam import decay_and_scatter


class RMSprop(OptimizerV2):
    """Divides the gradient by the root of a decaying mean of its square, less its squared mean if ``centered``.

    Args:
      learning_rate: A number, a tensor, a function that returns one of them, or a `LearningRateSchedule`.
      rho: The weight of the old mean of squared gradients.
      momentum: The part of the last step that is added to the next, from 0 to 1.
      epsilon: What is added so that no division is by zero: to the root, with momentum to the mean square.
      centered: Whether to divide by an estimate of the variance, for which the mean of the gradients is kept too.
      name: The prefix of the names of the optimizer's variables.
      **kwargs: `clipnorm`, `clipvalue`, `lr` and `decay`.

    >>> tf.keras.optimizers.RMSprop(momentum=0.5).get_config()['momentum']
    0.5
    """

    def __init__(
        self, learning_rate: Any = 0.001, rho: Any = 0.9, momentum: Any = 0.0, epsilon: Any = 1e-7,
        centered: bool = False, name: str = "RMSprop", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self._momentum = has_momentum(momentum)
        self._set_hyper("momentum", momentum)
        self.epsilon = epsilon or default_epsilon()
        self.centered = centered

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for slot, used in (("rms", True), ("momentum", self._momentum), ("mg", self.centered)):
            for var in var_list if used else ():
                self.add_slot(var, slot)

    def _coefficients(self, dtype: DType) -> dict[str, Any]:
        found = {**super()._coefficients(dtype), "rho": self._get_hyper("rho", dtype)}
        if self._momentum:
            found["momentum"] = self._get_hyper("momentum", dtype)
        return {**found, "epsilon": convert_to_tensor(self.epsilon, dtype)}

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        if self._momentum:
            return self._by_one_op("", var, apply_state, grad)
        rms = self._mean(var, "rms", raw_ops.Square(grad), apply_state)
        if self.centered:
            rms = rms - raw_ops.Square(self._mean(var, "mg", grad, apply_state))
        step = apply_state["lr_t"] * grad / (math.sqrt(rms) + apply_state["epsilon"])
        return update("AssignSub", var, step, use_locking=self._use_locking).op

    def _by_one_op(self, prefix: str, var: Any, apply_state: dict[str, Any], *grad: Any) -> Any:
        slots = [self.get_slot(var, name) for name in (["mg"] if self.centered else []) + ["rms", "momentum"]]
        scalars = [apply_state[name] for name in ("lr_t", "rho", "momentum", "epsilon")]
        op_type = f"{prefix}Apply{'Centered' if self.centered else ''}RMSProp"
        return update(op_type, var, *slots, *scalars, *grad, use_locking=self._use_locking).op

    def _mean(self, var: Any, slot: str, value: Any, apply_state: dict[str, Any]) -> Any:
        mean, rho = self.get_slot(var, slot), apply_state["rho"]
        fresh = rho * mean + (1.0 - rho) * value
        return raw_ops.Identity(update("Assign", mean, fresh, use_locking=self._use_locking))

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        if self._momentum:
            return self._by_one_op("Sparse", var, apply_state, grad, indices)
        changed = [decay_and_scatter(self.get_slot(var, "rms"), indices, grad * grad, apply_state["rho"])]
        rms = gather(changed[0], indices)
        if self.centered:
            changed.append(decay_and_scatter(self.get_slot(var, "mg"), indices, grad, apply_state["rho"]))
            rms = rms - raw_ops.Square(gather(changed[1], indices))
        step = -apply_state["lr_t"] * grad / (math.sqrt(rms) + apply_state["epsilon"])
        return group(update("ScatterAdd", var, indices, step, use_locking=self._use_locking), *changed)

    def get_config(self) -> dict[str, Any]:
        return self._config_with("rho", "momentum", epsilon=self.epsilon, centered=self.centered)
