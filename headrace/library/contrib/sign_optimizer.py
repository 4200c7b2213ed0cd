"""contrib.opt: AddSign and PowerSign (Bello et al., 2017), and how their trust in signs fades; LARS; clipped variables."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group, no_op
from headrace.library.linalg import matrix as linalg
from headrace.library.numeric import clip, math
from headrace.library.numeric.reduction import count_nonzero
from headrace.library.scope import control_dependencies
from headrace.library.state.update import update
from headrace.library.tensor import indexing
from headrace.library.train.optimizer.momentum import MomentumOptimizer
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer, cast

Decay = Callable[[Any], Any]


# ---- how much signs count, by step


def _decay(name: str, decay_steps: int, rule: Decay) -> Decay:
    """A decay by the step, which is ``decay_steps`` at most."""
    if decay_steps <= 0:
        raise ValueError(f"decay_steps must be positive, got {decay_steps}")

    def decay(global_step: Any) -> Any:
        if global_step is None:
            raise ValueError(f"global_step is required for {name}.")
        return rule(math.minimum(math.cast(global_step, dtypes.int32), decay_steps))

    return decay


def _zero_after(decayed: Any, done: Any, zero_after: float | None) -> Any:
    if zero_after is None:
        return decayed
    return cond(math.greater_equal(done, zero_after), lambda: convert_to_tensor(0.0), lambda: decayed)


def get_linear_decay_fn(decay_steps: int) -> Decay:
    """From 1 at the start to 0 after ``decay_steps``.

    Args:
      decay_steps: The number of steps, at least 1.

    Returns:
      A function from a global step to a float32 scalar.

    >>> tf.Session().run(tf.contrib.opt.get_linear_decay_fn(100)(25))
    np.float32(0.75)
    """

    def rule(step: Any) -> Any:
        return math.cast(decay_steps - step, dtypes.float32) / float(decay_steps)

    return _decay("linear_decay", decay_steps, rule)


def get_cosine_decay_fn(decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None) -> Decay:
    """Along a cosine; zero for good after ``zero_after`` periods.

    Args:
      decay_steps: The number of steps, at least 1.
      num_periods: How many periods of the cosine these steps are; 0.5 for one way down.
      zero_after: The number of half periods after which it is 0; None for never.

    Returns:
      A function from a global step to a float32 scalar.

    >>> tf.Session().run(tf.contrib.opt.get_cosine_decay_fn(100)(50)).round(3)
    np.float32(0.5)
    """

    def rule(step: Any) -> Any:
        done = math.cast(step, dtypes.float32) / float(decay_steps)
        decayed = 0.5 * (1.0 + math.cos(2.0 * num_periods * python_math.pi * done))
        return _zero_after(decayed, 2.0 * num_periods * done, zero_after)

    return _decay("cosine_decay", decay_steps, rule)


def get_restart_decay_fn(decay_steps: int, num_periods: int = 1, zero_after: float | None = None) -> Decay:
    """Half a cosine, ``num_periods`` times over; zero for good after ``zero_after`` of them.

    Args:
      decay_steps: The number of steps, at least 1.
      num_periods: How often it goes from 1 to 0 in these steps.
      zero_after: The number of periods after which it is 0; None for never.

    Returns:
      A function from a global step to a float32 scalar.

    >>> tf.Session().run(tf.contrib.opt.get_restart_decay_fn(100, num_periods=2)(50)).round(3)
    np.float32(1.0)
    """

    def rule(step: Any) -> Any:
        done = math.cast(step, dtypes.float32) / float(decay_steps)
        place = math.floormod(done * num_periods, 1.0)
        return _zero_after(0.5 * (1.0 + math.cos(python_math.pi * place)), done * num_periods, zero_after)

    return _decay("restart_decay", decay_steps, rule)


class _SignOptimizer(Optimizer):
    """Keeps a moving average of the gradient and trusts it where its sign agrees with the gradient's."""

    def __init__(
        self, learning_rate: Any, beta: Any, sign_decay_fn: Decay | None, use_locking: bool, name: str
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._beta, self._sign_decay_fn = learning_rate, beta, sign_decay_fn
        self._sign_decay: Any = 1.0

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        if self._sign_decay_fn is not None:
            self._sign_decay = convert_to_tensor(self._sign_decay_fn(global_step), name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _numbers(self, var: Any, first: Any) -> list[Any]:
        numbers = (self._rate, first, self._sign_decay, self._beta)
        return [
            cast(convert_to_tensor(self._call_if_callable(v), dtypes.float32), var.dtype.base_dtype) for v in numbers
        ]

    def _sparse(self, grad: Any, var: Any, factor: Callable[[Any, Any], Any], first: Any) -> Any:
        """Only the rows of the gradient move; the average, everywhere."""
        rate, first, decay, beta = self._numbers(var, first)
        m, rows, values = self.get_slot(var, "m"), grad.indices, grad.values
        decayed = update("Assign", m, m * beta, use_locking=self._use_locking)
        with control_dependencies([decayed]):
            moved = update("ScatterAdd", m, rows, values * (1 - beta), use_locking=self._use_locking)
        agree = decay * raw_ops.Sign(raw_ops.GatherV2(moved, rows, 0)) * raw_ops.Sign(values)
        step = rate * factor(first, agree) * values
        return group(update("ScatterSub", var, rows, step, use_locking=self._use_locking), moved)


class AddSignOptimizer(_SignOptimizer):
    """Steps of ``(alpha + sign(g) * sign(m)) * g``.

    Args:
      learning_rate: The learning rate, a number, a scalar tensor or a function that gives one.
      alpha: What is added to the product of the signs.
      beta: How much of the mean of the gradients stays in each step.
      sign_decay_fn: A function from the global step to a factor of the product of the signs; None for 1.
      use_locking: True lets no two updates of a variable run at the same time.
      name: The name of the ops.

    >>> train_op = tf.contrib.opt.AddSignOptimizer(0.1).minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

    def __init__(
        self, learning_rate: Any = 0.1, alpha: Any = 1.0, beta: Any = 0.9, sign_decay_fn: Decay | None = None,
        use_locking: bool = False, name: str = "AddSignOptimizer",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        numbers = self._numbers(var, self._alpha)
        return update("ApplyAddSign", var, self.get_slot(var, "m"), *numbers, grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._sparse(grad, var, lambda alpha, agree: alpha + agree, self._alpha)


class PowerSignOptimizer(_SignOptimizer):
    """Steps of ``base ** (sign(g) * sign(m)) * g``.

    Args:
      learning_rate: The learning rate, a number, a scalar tensor or a function that gives one.
      base: The base of the power.
      beta: How much of the mean of the gradients stays in each step.
      sign_decay_fn: A function from the global step to a factor of the product of the signs; None for 1.
      use_locking: True lets no two updates of a variable run at the same time.
      name: The name of the ops.

    >>> train_op = tf.contrib.opt.PowerSignOptimizer(0.1).minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

    def __init__(
        self, learning_rate: Any = 0.1, base: Any = python_math.e, beta: Any = 0.9, sign_decay_fn: Decay | None = None,
        use_locking: bool = False, name: str = "PowerSignOptimizer",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._logbase = python_math.log(base)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        numbers = self._numbers(var, self._logbase)
        return update("ApplyPowerSign", var, self.get_slot(var, "m"), *numbers, grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._sparse(grad, var, lambda log, agree: raw_ops.Exp(log * agree), self._logbase)


# ---- large batches


class LARSOptimizer(MomentumOptimizer):
    """Momentum with a rate for each variable, by the norms of weights and gradients (You et al., 2017).

    Args:
      learning_rate: The learning rate, a number, a scalar tensor or a function that gives one.
      momentum: How much of the last step is added to the next.
      weight_decay: The factor of the weights that is added to the gradient.
      eeta: The factor of the ratio of the norms.
      epsilon: A small number that is added to the divisor of the ratio.
      name: The name of the ops.
      skip_list: Words: variables with one of them in their names have the plain rate and no decay; None for none.
      use_nesterov: True for Nesterov's momentum.

    >>> optimizer = tf.contrib.opt.LARSOptimizer(learning_rate=1.0, skip_list=["bias"])
    >>> train_op = optimizer.minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

    def __init__(
        self, learning_rate: Any, momentum: Any = 0.9, weight_decay: float = 0.0001, eeta: float = 0.001,
        epsilon: float = 0.0, name: str = "LARSOptimizer", skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(momentum, (int, float)) and momentum < 0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(learning_rate, momentum, name=name, use_nesterov=use_nesterov)
        self._weight_decay, self._eeta, self._epsilon, self._skip = weight_decay, eeta, epsilon, list(skip_list or ())

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """The variable's own rate, and its gradient with weight decay."""
        rate = cast(self._learning_rate_tensor, var.dtype.base_dtype)
        if any(word in var.name for word in self._skip):
            return rate, grad
        w, g = linalg.norm(var), linalg.norm(grad)
        one = convert_to_tensor(1.0, var.dtype.base_dtype)
        ratio = self._eeta * w / (g + self._weight_decay * w + self._epsilon)
        trust = indexing.where(math.greater(w, 0), indexing.where(math.greater(g, 0), ratio, one), one)
        return rate * trust, grad + self._weight_decay * var

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        rate, decayed = self.compute_lr(grad, var)
        momentum = cast(self._momentum_tensor, var.dtype.base_dtype)
        return update(
            "ApplyMomentum",
            var, self.get_slot(var, "momentum"), rate, decayed, momentum, use_locking=False,
            use_nesterov=self._use_nesterov,
        ).op  # fmt: skip


# ---- around another optimizer


class VariableClippingOptimizer(Optimizer):
    """After each step, slices of some variables are scaled down to a norm: ``vars_to_clip_dims`` says along which axes.

    Args:
      opt: The optimizer that changes the variables.
      vars_to_clip_dims: A dictionary from variables to the axes over which a norm is taken.
      max_norm: The largest norm.
      use_locking: Accepted and not used.
      colocate_clip_ops_with_vars: Accepted and not used.
      name: The name of the ops.

    >>> x = tf.Variable([[3.0, 4.0], [0.1, 0.2]])
    >>> sgd = tf.train.GradientDescentOptimizer(0.1)
    >>> train_op = tf.contrib.opt.VariableClippingOptimizer(sgd, {x: [1]}, max_norm=1.0).minimize(tf.nn.l2_loss(x))
    """

    def __init__(
        self, opt: Optimizer, vars_to_clip_dims: Mapping[Any, Sequence[int]], max_norm: float,
        use_locking: bool = False, colocate_clip_ops_with_vars: bool = False, name: str = "VariableClipping",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._opt = opt
        self._clip_dims = {id(v): (v, list(dims)) for v, dims in vars_to_clip_dims.items()}
        self._max_norm = max_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, var: Any, name: str) -> Any:
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._opt.get_slot_names()

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        pairs = list(grads_and_vars)
        applied = self._opt.apply_gradients(pairs, global_step=global_step)
        with control_dependencies([applied]):
            clipped = [self._clipped(g, v) for g, v in pairs if id(v) in self._clip_dims]
        return group(applied, *clipped, name=name or self._name)

    def _clipped(self, grad: Any, var: Any) -> Any:
        """The variable clipped; where the gradient has rows only, these rows: the others have not changed."""
        dims = self._clip_dims[id(var)][1]
        if isinstance(grad, IndexedSlices) and 0 not in dims:
            rows = clip.clip_by_norm(var.sparse_read(grad.indices), self._max_norm, dims)
            return update("ScatterUpdate", var, grad.indices, rows, use_locking=self._use_locking)
        return var.assign(clip.clip_by_norm(var.read_value(), self._max_norm, dims))


class MultitaskOptimizerWrapper:
    """An optimizer that leaves a variable and its slots alone where the gradient is all zeros: another task's step.

    Args:
      opt: The optimizer, whose methods are changed.

    >>> optimizer = tf.contrib.opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9))
    >>> train_op = optimizer.minimize(tf.nn.l2_loss(tf.Variable([3.0, 4.0])))
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError(f"Supplied optimizer must be an instance of Optimizer, got {opt!r}")
        self._opt = opt
        for name in ("_apply_dense", "_apply_sparse", "_resource_apply_dense", "_resource_apply_sparse"):
            setattr(opt, name, self._unless_zero(getattr(opt, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)

    @staticmethod
    def _unless_zero(apply: Callable[..., Any]) -> Callable[..., Any]:
        def applied(grad: Any, *rest: Any) -> Any:
            values = grad.values if isinstance(grad, IndexedSlices) else grad
            return cond(math.equal(count_nonzero(values), 0), no_op, lambda: group(apply(grad, *rest)))

        return applied
