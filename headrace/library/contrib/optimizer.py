"""contrib.opt: variants of Adam, decoupled weight decay, and averages kept with any optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.library.control.dependency import group
from headrace.library.numeric.clip import clip_by_global_norm
from headrace.library.scope import control_dependencies
from headrace.library.state.update import update
from headrace.library.state.variables import global_variables
from headrace.library.train.moving_averages import ExponentialMovingAverage
from headrace.library.train.optimizer.adam import AdamOptimizer
from headrace.library.train.optimizer.momentum import MomentumOptimizer
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer
from headrace.library.train.saver.saver import Saver


class LazyAdamOptimizer(AdamOptimizer):
    """Adam that, for sparse gradients, touches only the rows they have; faster, and not quite the same.

    Args:
      learning_rate: The learning rate, a number, a scalar tensor or a function that gives one.
      beta1: How much of the mean of the gradients stays in each step.
      beta2: How much of the mean of their squares stays in each step.
      epsilon: A small number that is added to the divisor.
      use_locking: True lets no two updates of a variable run at the same time.
      name: The name of the ops.

    >>> x = tf.Variable([3.0, 4.0])
    >>> train_op = tf.contrib.opt.LazyAdamOptimizer(0.01).minimize(tf.nn.l2_loss(tf.gather(x, [0])))
    """

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
    """Adam with Nesterov's momentum (Dozat, 2016); sparse gradients move every row.

    Args:
      learning_rate: The learning rate, a number, a scalar tensor or a function that gives one.
      beta1: How much of the mean of the gradients stays in each step.
      beta2: How much of the mean of their squares stays in each step.
      epsilon: A small number that is added to the divisor.
      use_locking: True lets no two updates of a variable run at the same time.
      name: The name of the ops.

    >>> train_op = tf.contrib.opt.NadamOptimizer(0.01).minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

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
    """Adam with the largest decayed gradient in place of the mean square (Kingma and Ba, 2015, section 7).

    Args:
      learning_rate: The learning rate, a number, a scalar tensor or a function that gives one.
      beta1: How much of the mean of the gradients stays in each step.
      beta2: How much of the largest gradient stays in each step.
      epsilon: A small number that is added to the divisor.
      use_locking: True lets no two updates of a variable run at the same time.
      name: The name of the ops.

    >>> train_op = tf.contrib.opt.AdaMaxOptimizer(0.01).minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

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

    Args:
      weight_decay: The share of each variable that a step takes away, a number, a scalar tensor or a function that gives one.
      **kwargs: The arguments of the optimizer.

    >>> class SgdW(tf.contrib.opt.DecoupledWeightDecayExtension, tf.train.GradientDescentOptimizer):
    ...     "Gradient descent with weight decay."
    >>> train_op = SgdW(weight_decay=0.01, learning_rate=0.1).minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._weight_decay = weight_decay
        self._decay_var_list: set[Any] | None = None
        super().__init__(**kwargs)

    def minimize(self, loss: Any, *args: Any, decay_var_list: Sequence[Any] | None = None, **kwargs: Any) -> Any:
        """Minimises a loss with the decay of `decay_var_list`, by default of all variables that are changed."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else None
        return super().minimize(loss, *args, **kwargs)  # type: ignore[misc]

    def apply_gradients(
        self, grads_and_vars: Any, *args: Any, decay_var_list: Sequence[Any] | None = None, **kwargs: Any
    ) -> Any:
        """Applies gradients after the decay of `decay_var_list`, by default of all variables that are changed."""
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
    """The optimizer class with ``weight_decay`` as a further, first argument.

    Args:
      base_optimizer: The class of the optimizer.

    Returns:
      A class.

    >>> SgdW = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
    >>> train_op = SgdW(weight_decay=0.01, learning_rate=0.1).minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[misc, valid-type]
        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            self._weight_decay = weight_decay
            self._decay_var_list = None
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decoupled weight decay.

    Args:
      weight_decay: The share of each variable that a step takes away, a number, a scalar tensor or a function that gives one.
      learning_rate: The learning rate, a number, a scalar tensor or a function that gives one.
      beta1: How much of the mean of the gradients stays in each step.
      beta2: How much of the mean of their squares stays in each step.
      epsilon: A small number that is added to the divisor.
      use_locking: True lets no two updates of a variable run at the same time.
      name: The name of the ops.

    >>> train_op = tf.contrib.opt.AdamWOptimizer(weight_decay=0.01).minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

    def __init__(
        self, weight_decay: Any, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999,
        epsilon: Any = 1e-8, use_locking: bool = False, name: str = "AdamW",
    ) -> None:  # fmt: skip
        super().__init__(
            weight_decay, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon,
            use_locking=use_locking, name=name,
        )  # fmt: skip


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decoupled weight decay.

    Args:
      weight_decay: The share of each variable that a step takes away, a number, a scalar tensor or a function that gives one.
      learning_rate: The learning rate, a number, a scalar tensor or a function that gives one.
      momentum: How much of the last step is added to the next.
      use_locking: True lets no two updates of a variable run at the same time.
      name: The name of the ops.
      use_nesterov: True for Nesterov's momentum.

    >>> optimizer = tf.contrib.opt.MomentumWOptimizer(weight_decay=0.01, learning_rate=0.1, momentum=0.9)
    >>> train_op = optimizer.minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

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

    Args:
      opt: The optimizer that changes the variables.
      average_decay: How much of an average stays in each step.
      num_updates: The number of steps so far, with which the decay starts lower; None for a constant decay.
      sequential_update: True moves the averages after the variables.

    >>> x = tf.Variable([3.0, 4.0])
    >>> optimizer = tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), average_decay=0.9)
    >>> train_op = optimizer.minimize(tf.nn.l2_loss(x))
    >>> optimizer.average(x).op.name
    'Variable/ExponentialMovingAverage'
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

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """A saver that saves averages under the names of their variables, and variables under the names of averages.

        Args:
          var_list: Variables, or a dictionary from names to them; None for all.
          name: A name for the ops.
          **kwargs: Further arguments of `tf.train.Saver`.

        Returns:
          A `tf.train.Saver`, whose checkpoints a program without averages evaluates.
        """
        if not self._averaged:
            raise RuntimeError(f"Must call apply_gradients or minimize before creating the swapping_saver {at()}")
        listed = global_variables() if var_list is None else var_list
        named = dict(listed) if isinstance(listed, dict) else {v.op.name: v for v in listed}
        pairs = [(v, self._ema.average(v)) for v in self._averaged]
        other = {id(one): two for v, average in pairs for one, two in ((v, average), (average, v))}
        given = {id(v) for v in named.values()}
        for v, average in pairs:
            if (id(v) in given) != (id(average) in given):
                missing = average if id(v) in given else v
                raise ValueError(
                    f"var_list has one of a variable and its average, and lacks {missing.op.name!r} {at()}"
                )
        return Saver({key: other.get(id(v), v) for key, v in named.items()}, name=name, **kwargs)

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
    """Gradients scaled together so that their global norm is at most ``clip_norm``.

    Args:
      gradients_variables: A list of pairs (gradient, variable).
      clip_norm: The largest global norm.

    Returns:
      A list of pairs (gradient, variable).

    >>> x = tf.Variable([0.0, 0.0])
    >>> pairs = tf.contrib.opt.clip_gradients_by_global_norm([(tf.constant([3.0, 4.0]), x)], clip_norm=1.0)
    >>> tf.Session().run(pairs[0][0]).round(3)
    array([0.6, 0.8], dtype=float32)
    """
    grads, variables = zip(*gradients_variables, strict=True)
    clipped, _ = clip_by_global_norm(grads, clip_norm)
    return list(zip(clipped, variables, strict=True))
