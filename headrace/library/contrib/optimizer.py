"""contrib.opt: variants of Adam, decoupled weight decay, and averages kept with any optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph import raw_ops
from headrace.library.control.dependency import group
from headrace.library.numeric.clip import clip_by_global_norm
from headrace.library.scope import control_dependencies
from headrace.library.state.update import update
from headrace.library.train.moving_averages import ExponentialMovingAverage
from headrace.library.train.optimizer.adam import AdamOptimizer
from headrace.library.train.optimizer.momentum import MomentumOptimizer
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer


class LazyAdamOptimizer(AdamOptimizer):
    """Adam that, for sparse gradients, touches only the rows they have; faster, and not quite the same."""

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._scalars(var)
        rate = rate * raw_ops.Sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        rows = grad.indices
        new_m = beta1 * raw_ops.GatherV2(m, rows, 0) + (1 - beta1) * grad.values
        new_v = beta2 * raw_ops.GatherV2(v, rows, 0) + (1 - beta2) * raw_ops.Square(grad.values)
        set_m = update("ScatterUpdate", m, rows, new_m, use_locking=self._use_locking)
        set_v = update("ScatterUpdate", v, rows, new_v, use_locking=self._use_locking)
        step = rate * new_m / (raw_ops.Sqrt(new_v) + epsilon)
        return group(update("ScatterSub", var, rows, step, use_locking=self._use_locking), set_m, set_v)


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2016); sparse gradients move every row."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        scalars = self._scalars(var)
        return update(
            "ApplyAdam",
            var, m, v, *scalars, grad, use_locking=self._use_locking, use_nesterov=True
        ).op  # fmt: skip

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._scalars(var)
        rate = rate * raw_ops.Sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        fresh = grad * (1 - beta1)
        with control_dependencies([update("Assign", m, m * beta1, use_locking=self._use_locking)]):
            m_t = scatter_add(m, indices, fresh)
        with control_dependencies([update("Assign", v, v * beta2, use_locking=self._use_locking)]):
            v_t = scatter_add(v, indices, grad * grad * (1 - beta2))
        # Nesterov looks one step ahead: beta1 * m once more, and the fresh gradient in its rows.
        ahead = m_t * beta1
        step = rate * ahead / (raw_ops.Sqrt(v_t) + epsilon)
        rows = rate * fresh / (raw_ops.Sqrt(raw_ops.GatherV2(v_t, indices, 0)) + epsilon)
        moved = update("AssignSub", var, step, use_locking=self._use_locking)
        with control_dependencies([moved]):
            return group(scatter_add(var, indices, -rows), m_t, v_t)


class AdaMaxOptimizer(AdamOptimizer):
    """Adam with the largest decayed gradient in place of the mean square (Kingma and Ba, 2015, section 7)."""

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "AdaMax",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        beta1_power, _, rate, beta1, beta2, epsilon = self._scalars(var)
        return update(
            "ApplyAdaMax", var, m, v, beta1_power, rate, beta1, beta2, epsilon, grad, use_locking=self._use_locking
        ).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        beta1_power, _, rate, beta1, beta2, epsilon = self._scalars(var)
        m, v, rows = self.get_slot(var, "m"), self.get_slot(var, "v"), grad.indices
        new_m = beta1 * raw_ops.GatherV2(m, rows, 0) + (1 - beta1) * grad.values
        new_v = raw_ops.Maximum(beta2 * raw_ops.GatherV2(v, rows, 0), raw_ops.Abs(grad.values))
        set_m = update("ScatterUpdate", m, rows, new_m, use_locking=self._use_locking)
        set_v = update("ScatterUpdate", v, rows, new_v, use_locking=self._use_locking)
        step = rate / (1 - beta1_power) * (new_m / (new_v + epsilon))
        return group(update("ScatterSub", var, rows, step, use_locking=self._use_locking), set_m, set_v)


# ---- decoupled weight decay (Loshchilov and Hutter, 2019)


class DecoupledWeightDecayExtension:
    """Mix-in before an optimizer: each step first multiplies the variables by ``1 - weight_decay``.

    Unlike an L2 loss it does not pass through the optimizer's own scaling.  ``decay_var_list`` of ``minimize`` and
    ``apply_gradients`` restricts it to some variables.
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._weight_decay = weight_decay
        self._decay_var_list: set[Any] | None = None
        super().__init__(**kwargs)

    def minimize(self, loss: Any, *args: Any, decay_var_list: Sequence[Any] | None = None, **kwargs: Any) -> Any:
        self._decay_var_list = set(decay_var_list) if decay_var_list else None
        return super().minimize(loss, *args, **kwargs)  # type: ignore[misc]

    def apply_gradients(
        self, grads_and_vars: Any, *args: Any, decay_var_list: Sequence[Any] | None = None, **kwargs: Any
    ) -> Any:
        self._decay_var_list = set(decay_var_list) if decay_var_list else self._decay_var_list
        return super().apply_gradients(grads_and_vars, *args, **kwargs)  # type: ignore[misc]

    def _decayed(self, var: Any) -> list[Any]:
        if self._decay_var_list is not None and var not in self._decay_var_list:
            return []
        decay = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        return [update("AssignSub", var, raw_ops.Mul(var, decay))]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        with control_dependencies(self._decayed(var)):
            return super()._apply_dense(grad, var)  # type: ignore[misc]

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        with control_dependencies(self._decayed(var)):
            return super()._apply_sparse(grad, var)  # type: ignore[misc]


def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type:
    """The optimizer class with ``weight_decay`` as a further, first argument."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[misc, valid-type]
        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            self._weight_decay = weight_decay
            self._decay_var_list = None
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decoupled weight decay."""

    def __init__(
        self, weight_decay: Any, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999,
        epsilon: Any = 1e-8, use_locking: bool = False, name: str = "AdamW",
    ) -> None:  # fmt: skip
        super().__init__(
            weight_decay, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon,
            use_locking=use_locking, name=name,
        )  # fmt: skip


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decoupled weight decay."""

    def __init__(
        self, weight_decay: Any, learning_rate: Any, momentum: Any, use_locking: bool = False,
        name: str = "MomentumW", use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            weight_decay, learning_rate=learning_rate, momentum=momentum, use_locking=use_locking, name=name,
            use_nesterov=use_nesterov,
        )  # fmt: skip


# ---- averages


class MovingAverageOptimizer(Optimizer):
    """Keeps an exponential moving average of every variable that another optimizer changes.

    ``sequential_update`` moves the averages after the variables, otherwise at the same time.
    """

    def __init__(
        self, opt: Optimizer, average_decay: float = 0.9999, num_updates: Any = None, sequential_update: bool = True
    ) -> None:
        self._optimizer = opt
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._averaged: list[Any] = []
        self._sequential_update = sequential_update
        super().__init__(False, "MovingAverageOptimizer")

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        pairs = list(grads_and_vars)
        train = self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        self._averaged = [v for grad, v in pairs if grad is not None]
        with control_dependencies([train] if self._sequential_update else []):
            averages = self._ema.apply(self._averaged)
        return group(train, averages, name="train_with_avg")

    def average(self, var: Any) -> Any:
        """The variable that holds the average of ``var``."""
        return self._ema.average(var)

    def get_slot(self, var: Any, name: str) -> Any:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        return self._optimizer.variables()


def clip_gradients_by_global_norm(gradients_variables: GradsAndVars, clip_norm: float = 20.0) -> GradsAndVars:
    """Gradients scaled together so that their global norm is at most ``clip_norm``."""
    grads, variables = zip(*gradients_variables, strict=True)
    clipped, _ = clip_by_global_norm(grads, clip_norm)
    return list(zip(clipped, variables, strict=True))
