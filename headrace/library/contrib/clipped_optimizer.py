"""contrib.estimator.clip_gradients_by_norm: an optimizer whose gradients are scaled down together."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.numeric.clip import clip_by_global_norm
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer


class _ClippedOptimizer(Optimizer):
    """Another optimizer, which gets gradients of at most a global norm."""

    def __init__(self, optimizer: Optimizer, clip_norm: Any) -> None:
        super().__init__(False, f"ClipByNorm{optimizer.get_name()}")
        self._optimizer, self._clip_norm = optimizer, clip_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        gradients, variables = zip(*grads_and_vars, strict=True)
        clipped, _ = clip_by_global_norm(gradients, self._clip_norm)
        return self._optimizer.apply_gradients(list(zip(clipped, variables, strict=True)), global_step, name)

    def get_slot(self, var: Any, name: str) -> Any:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        return self._optimizer.variables()


def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: Any) -> Optimizer:
    """An optimizer that scales all gradients together so that their global norm is at most ``clip_norm``.

    Args:
      optimizer: The optimizer that changes the variables.
      clip_norm: The largest global norm, a number or a scalar tensor.

    Returns:
      An optimizer.

    >>> x = tf.Variable([3.0, 4.0])
    >>> sgd = tf.contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), 1.0)
    >>> train_op = sgd.minimize(10.0 * tf.reduce_sum(x))
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"optimizer must be a tf.train.Optimizer, got {optimizer!r} {at()}")
    return _ClippedOptimizer(optimizer, clip_norm)
