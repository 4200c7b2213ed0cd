"""Adam and its relatives (tf.keras.optimizers.Adam, Adamax and Nadam)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.backend.config import epsilon as default_epsilon
from headrace.library.control.dependency import group
from headrace.library.keras.optimizers.optimizer_v2 import OptimizerV2
from headrace.library.keras.optimizers.schedules import LearningRateSchedule
from headrace.library.numeric import math
from headrace.library.state.update import update
from headrace.library.tensor.indexing import gather
from headrace.library.train.optimizer.adam import decay_and_scatter


class _Moments(OptimizerV2):
    """What Adam, Adamax and Nadam share: their hyper-parameters, and a decaying mean ``m`` of gradients beside another, ``v``."""

    def __init__(self, learning_rate: Any, beta_1: Any, beta_2: Any, epsilon: Any, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for slot in ("m", "v"):  # all of one kind, then all of the other: the order of `get_weights`
            for var in var_list:
                self.add_slot(var, slot)

    def _coefficients(self, dtype: DType) -> dict[str, Any]:
        step = math.cast(self.iterations + 1, dtype)
        beta_1, beta_2 = self._get_hyper("beta_1", dtype), self._get_hyper("beta_2", dtype)
        return {
            **super()._coefficients(dtype),
            "beta_1_t": beta_1, "beta_1_power": math.pow(beta_1, step),
            "beta_2_t": beta_2, "beta_2_power": math.pow(beta_2, step),
            "epsilon": convert_to_tensor(self.epsilon, dtype),
        }  # fmt: skip

    def get_config(self) -> dict[str, Any]:
        return self._config_with("beta_1", "beta_2", epsilon=self.epsilon)


class Adam(_Moments):
    """Steps of ``learning_rate * m / (sqrt(v) + epsilon)``, m and v decaying means of the gradient and its square.

    Sparse gradients decay all of m and v and move every row.

    Args:
      learning_rate: A number, a tensor, a function that returns one of them, or a `LearningRateSchedule`.
      beta_1: The weight of the old mean of gradients.
      beta_2: The weight of the old mean of squared gradients.
      epsilon: What is added to the root of the mean square.
      amsgrad: Whether to divide by the root of the largest mean square so far.
      name: The prefix of the names of the optimizer's variables.
      **kwargs: `clipnorm`, `clipvalue`, `lr` and `decay`.

    >>> round(tf.keras.optimizers.Adam(0.5).get_config()['learning_rate'], 1)
    0.5
    """

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.999, epsilon: Any = 1e-7,
        amsgrad: bool = False, name: str = "Adam", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self.amsgrad = amsgrad

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        super()._create_slots(var_list)
        if self.amsgrad:
            for var in var_list:
                self.add_slot(var, "vhat")

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets the state; weights of an optimizer without ``amsgrad`` leave its largest mean squares as they are."""
        own = self.weights
        variables = (len(own) - 1) // 2
        if len(weights) == 3 * variables + 1:  # written by Keras with a place for them
            weights = weights[: len(own)]
        super().set_weights(weights)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        slots = [self.get_slot(var, name) for name in (("m", "v", "vhat") if self.amsgrad else ("m", "v"))]
        names = ("beta_1_power", "beta_2_power", "lr_t", "beta_1_t", "beta_2_t", "epsilon")
        scalars = [apply_state[name] for name in names]
        op_type = "_ApplyAdamWithAmsgrad" if self.amsgrad else "ApplyAdam"
        return update(op_type, var, *slots, *scalars, grad, use_locking=self._use_locking).op

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        m = decay_and_scatter(self.get_slot(var, "m"), indices, grad, apply_state["beta_1_t"])
        v = decay_and_scatter(self.get_slot(var, "v"), indices, grad * grad, apply_state["beta_2_t"])
        largest, largest_updates = v, []
        if self.amsgrad:
            vhat = self.get_slot(var, "vhat")
            largest = update("Assign", vhat, math.maximum(vhat, v), use_locking=self._use_locking)
            largest_updates = [largest]
        one = convert_to_tensor(1, grad.dtype)
        scale = math.sqrt(one - apply_state["beta_2_power"]) / (one - apply_state["beta_1_power"])
        step = apply_state["lr_t"] * scale * raw_ops.Identity(m) / (math.sqrt(largest) + apply_state["epsilon"])
        return group(update("AssignSub", var, step, use_locking=self._use_locking), m, v, *largest_updates)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "amsgrad": self.amsgrad}


class Adamax(_Moments):
    """Adam that divides by a decaying maximum of the size of the gradient.

    Args:
      learning_rate: A number, a tensor, a function that returns one of them, or a `LearningRateSchedule`.
      beta_1: The weight of the old mean of gradients.
      beta_2: The weight of the old maximum.
      epsilon: What is added to the maximum.
      name: The prefix of the names of the optimizer's variables.
      **kwargs: `clipnorm`, `clipvalue`, `lr` and `decay`.

    >>> tf.keras.optimizers.Adamax().get_config()['name']
    'Adamax'
    """

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.999, epsilon: Any = 1e-7,
        name: str = "Adamax", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        names = ("beta_1_power", "lr_t", "beta_1_t", "beta_2_t", "epsilon")
        scalars = [apply_state[name] for name in names]
        slots = self.get_slot(var, "m"), self.get_slot(var, "v")
        return update("ApplyAdaMax", var, *slots, *scalars, grad, use_locking=self._use_locking).op

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        beta_1, beta_2 = apply_state["beta_1_t"], apply_state["beta_2_t"]
        of_m = gather(m, indices) * beta_1 + grad * (1 - beta_1)
        of_v = math.maximum(gather(v, indices) * beta_2, raw_ops.Abs(grad))
        step = -apply_state["lr_t"] / (1 - apply_state["beta_1_power"]) * (of_m / (of_v + apply_state["epsilon"]))
        changes = (("ScatterUpdate", m, of_m), ("ScatterUpdate", v, of_v), ("ScatterAdd", var, step))
        return group(*(update(op, ref, indices, rows, use_locking=self._use_locking) for op, ref, rows in changes))


class Nadam(_Moments):
    """Adam with Nesterov's momentum, whose weight grows with the steps.

    Args:
      learning_rate: A number, a tensor, or a function that returns one of them.
      beta_1: The weight of the old mean of gradients.
      beta_2: The weight of the old mean of squared gradients.
      epsilon: What is added to the root of the mean square.
      name: The prefix of the names of the optimizer's variables.
      **kwargs: `clipnorm`, `clipvalue`, `lr` and `schedule_decay`.

    >>> tf.keras.optimizers.Nadam().get_config()['decay']
    0.004
    """

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.999, epsilon: Any = 1e-7,
        name: str = "Nadam", **kwargs: Any,
    ) -> None:  # fmt: skip
        schedule_decay = kwargs.pop("schedule_decay", kwargs.pop("decay", 0.004))
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError(f"The Nadam optimizer does not support a LearningRateSchedule as the learning rate {at()}")
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, decay=schedule_decay, **kwargs)
        self._m_cache: Any = None

    def _decayed_lr(self, dtype: DType) -> Any:
        return self._get_hyper("learning_rate", dtype)  # the decay is that of the momentum

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        if self._m_cache is None:
            dtype = var_list[0].dtype.base_dtype
            self._m_cache = self.add_weight("momentum_cache", (), dtype, "ones", trainable=False)
            self._weights.append(self._m_cache)
        super()._create_slots(var_list)

    def _prepare(self, var_list: Sequence[Any]) -> None:
        self._m_cache_read = raw_ops.Identity(self._m_cache)

    def _coefficients(self, dtype: DType) -> dict[str, Any]:
        found = super()._coefficients(dtype)
        step = math.cast(self.iterations + 1, dtype)

        def momentum(step: Any) -> Any:
            return found["beta_1_t"] * (
                1.0 - 0.5 * math.pow(convert_to_tensor(0.96, dtype), self._initial_decay * step)
            )

        of_now, of_next = momentum(step), momentum(step + 1)
        product = math.cast(self._m_cache_read, dtype) * of_now
        if dtype == self._m_cache.dtype.base_dtype:
            product = raw_ops.Identity(update("Assign", self._m_cache, product, use_locking=self._use_locking))
        return {**found, "m_t": of_now, "m_t_1": of_next, "product": product, "next_product": product * of_next}

    def _change(self, grad: Any, m: Any, v: Any, c: dict[str, Any]) -> Any:
        """What is subtracted, from the means that have this gradient in them."""
        fresh = grad / (1.0 - c["product"])
        mean = (1.0 - c["m_t"]) * fresh + c["m_t_1"] * (m / (1.0 - c["next_product"]))
        return c["lr_t"] * mean / (math.sqrt(v / (1.0 - c["beta_2_power"])) + c["epsilon"])

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        c = apply_state
        means = []
        for slot, value, beta in (("m", grad, c["beta_1_t"]), ("v", grad * grad, c["beta_2_t"])):
            mean = self.get_slot(var, slot)
            fresh = beta * mean + (1.0 - beta) * value
            means.append(raw_ops.Identity(update("Assign", mean, fresh, use_locking=self._use_locking)))
        return update("AssignSub", var, self._change(grad, means[0], means[1], c), use_locking=self._use_locking).op

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        c = apply_state
        m = decay_and_scatter(self.get_slot(var, "m"), indices, grad, c["beta_1_t"])
        v = decay_and_scatter(self.get_slot(var, "v"), indices, grad * grad, c["beta_2_t"])
        step = self._change(grad, gather(m, indices), gather(v, indices), c)
        return group(update("ScatterAdd", var, indices, -step, use_locking=self._use_locking), m, v)
