"""contrib.opt.DropStaleGradientOptimizer: gradients of too many steps ago are not applied."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph.structures import IndexedSlices
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import identity
from headrace.library.numeric import math
from headrace.library.scope import colocate_with, control_dependencies
from headrace.library.state.global_step import get_global_step
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable_scope import get_variable
from headrace.library.summary.summary import scalar
from headrace.library.tensor import array, creation
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer


class DropStaleGradientOptimizer(Optimizer):
    """Applies another optimizer's gradients unless too many steps of others have passed since they were computed.

    Args:
      opt: The optimizer.
      staleness: The most steps that may have passed.
      use_locking: Whether updates of one variable exclude each other.
      name: A name for the ops.

    >>> x, step = tf.Variable([3.0, 4.0]), tf.train.get_or_create_global_step()
    >>> inner = tf.train.GradientDescentOptimizer(0.1)
    >>> optimizer = tf.contrib.opt.DropStaleGradientOptimizer(inner, staleness=10)
    >>> train = optimizer.minimize(tf.nn.l2_loss(x), global_step=step)
    """

    def __init__(
        self, opt: Optimizer, staleness: int, use_locking: bool = False, name: str = "DropStaleGradient"
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._staleness = staleness
        self._local_step: Any = None

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> GradsAndVars:
        """The gradients of the other optimizer; remembers the global step before they are computed."""
        step = get_global_step()
        if step is None:
            raise ValueError(
                f"DropStaleGradientOptimizer needs a global step: tf.train.get_or_create_global_step() {at()}"
            )
        with colocate_with(loss):
            self._local_step = math.add(step, 0)
        with control_dependencies([self._local_step]):
            loss = identity(loss)
            return self._opt.compute_gradients(loss, *args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Applies the gradients, or counts one more that was dropped."""
        if global_step is None or self._local_step is None:
            raise ValueError(
                "DropStaleGradientOptimizer needs apply_gradients(..., global_step=...), after compute_gradients or minimize "
                f"{at()}"
            )
        pairs = list(grads_and_vars)
        grads = [g.values.op if isinstance(g, IndexedSlices) else g.op for g, _ in pairs if g is not None]
        with colocate_with(global_step):
            dropped = get_variable("stale_counter", [], initializer=Zeros(), trainable=False)
        slots = [v for g, v in pairs if g is not None]
        self._opt._create_slots(slots)

        def accept() -> Any:
            done = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
            with control_dependencies([done]):
                return identity(creation.zeros([]))

        with control_dependencies(grads), colocate_with(global_step):
            staleness = array.reshape(math.subtract(global_step, self._local_step), [])
        fresh = math.less_equal(staleness, self._staleness)
        update = dropped.assign_add(cond(fresh, accept, lambda: identity(creation.ones([]))))
        scalar("Gradient staleness percentage", dropped / math.cast(math.add(global_step, 1), "float32"))
        return update
