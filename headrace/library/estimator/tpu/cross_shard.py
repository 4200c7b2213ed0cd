"""``CrossShardOptimizer``: an optimizer that adds the gradients of all copies of a model on TPUs; here there is one copy."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library import log
from headrace.library.losses.loss import Reduction
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer


class CrossShardOptimizer(Optimizer):
    """Does what another optimizer does: without TPUs a model has one copy, whose gradients are all there are.

    Args:
      opt: The optimizer.
      reduction: How losses of several copies become one: `tf.losses.Reduction.SUM` or `tf.losses.Reduction.MEAN`.
      name: The name of the optimizer.
      group_assignment: Which copies belong together, a list of lists of their numbers; only ``[[0]]`` or None.

    >>> x = tf.Variable(3.0)
    >>> train_op = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.5)).minimize(x * x)
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train_op)
    ...     print(sess.run(x))
    0.0
    """

    def __init__(
        self, opt: Any, reduction: str = Reduction.MEAN, name: str = "CrossShardOptimizer", group_assignment: Any = None
    ) -> None:
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"reduction must be tf.losses.Reduction.SUM or MEAN, got {reduction!r} {at()}")
        if not isinstance(opt, Optimizer):
            raise TypeError(f"CrossShardOptimizer only works with tf.train.Optimizer, got {opt!r} {at()}")
        if group_assignment not in (None, [[0]]):
            raise ValueError(
                f"without TPUs there is one copy, number 0: got group_assignment={group_assignment!r} {at()}"
            )
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> GradsAndVars:  # type: ignore[override]
        """What the other optimizer computes."""
        log.warning(
            "CrossShardOptimizer should be used within a tpu_shard_context, but got unset number_of_shards. Assuming 1."
        )
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Applies the gradients by the other optimizer."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The slot of a variable in the other optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The names of the other optimizer's slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """The variables of the other optimizer."""
        return self._opt.variables()
