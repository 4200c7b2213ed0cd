"""L-BFGS in the graph (Liu and Nocedal, 1989): each run of the training op is one quasi-Newton step on all variables.

The history lives in variables beside the model's, so that steps need nothing from outside; there is no line search, which
would need the loss at other points.  For a line search use ``contrib.opt.ScipyOptimizerInterface``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.dependency import group
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies, init_scope, name_scope
from headrace.library.state.update import update
from headrace.library.state.variable import Variable
from headrace.library.tensor import array, creation
from headrace.library.train.optimizer.optimizer import Optimizer

_CURVATURE = 1e-10  # pairs with less curvature than this, relative to the gradient's change, are not remembered


class LBFGSOptimizer(Optimizer):
    """Minimises deterministic (full-batch) losses with few steps.

    ``history`` is the number of past steps remembered, ``max_step`` limits the length of a step over all variables.
    The first step, and any whose direction would go uphill, follows the gradient, no longer than ``learning_rate``.

    Args:
      learning_rate: The factor of each step: a number, a tensor, or a function that returns one of them.
      history: How many past steps are remembered, at least 1.
      max_step: The longest step over all variables together; None for no limit.
      use_locking: Accepted as other optimizers do; it changes nothing.
      name: The prefix of the names of the ops.

    >>> w = tf.Variable([3.0, -2.0])
    >>> train = tf.contrib.opt.LBFGSOptimizer(history=5).minimize(tf.reduce_sum(tf.square(w)))
    """

    def __init__(
        self, learning_rate: Any = 1.0, history: int = 10, max_step: float | None = None, use_locking: bool = False,
        name: str = "LBFGS",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        if history < 1:
            raise ValueError(f"history must be at least 1, got {history}")
        self._lr = learning_rate
        self._history = history
        self._max_step = max_step

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        variables = [v for _, v in pairs]
        sizes = [v.shape.num_elements() for v in variables]
        if None in sizes:
            raise ValueError("LBFGSOptimizer needs variables of known shape")
        dtype = variables[0].dtype.base_dtype
        if any(v.dtype.base_dtype != dtype for v in variables):
            raise ValueError("LBFGSOptimizer needs variables of one dtype")
        with init_scope():
            state = self._state(variables[0], sum(sizes), dtype)
        with name_scope(name, self._name) as scope:
            rate = math.cast(convert_to_tensor(self._call_if_callable(self._lr), name="learning_rate"), dtype)
            point, grad = _flat(variables), _flat([convert_to_tensor(g) for g, _ in pairs])
            updates = self._step(state, point, grad, rate, variables, sizes)
            if global_step is not None:
                with control_dependencies(updates):
                    updates = [update("AssignAdd", global_step, math.cast(1, global_step.dtype.base_dtype))]
            return group(*updates, name=scope)

    def _state(self, first: Any, size: int, dtype: Any) -> dict[str, Any]:
        """The variables: the last point and gradient, the remembered differences of both, and how many steps were taken."""
        shapes: dict[str, list[int]] = {
            "point": [size], "gradient": [size], "steps": [self._history, size], "changes": [self._history, size],
            "inverse": [self._history], "scale": [], "count": [],
        }  # fmt: skip
        variables = {}
        for key, shape in shapes.items():
            element_type = dtypes.int64 if key == "count" else dtype
            variables[key] = self._create_non_slot_variable(
                creation.zeros(shape, element_type), f"{self._name}/{key}", first
            )
        return variables

    def _step(
        self, state: dict[str, Variable], point: Tensor, grad: Tensor, rate: Tensor, variables: list[Any],
        sizes: list[int],
    ) -> list[Any]:  # fmt: skip
        steps, changes, inverse, scale = self._remember(state, point, grad)
        direction = _two_loops(grad, steps, changes, inverse, scale, self._history)
        slope = _dot(grad, direction)
        # Downhill and with some history: a quasi-Newton step.  Otherwise the gradient, shortened to the learning rate.
        newton = raw_ops.LogicalAnd(slope < 0, inverse[0] > 0)
        length = raw_ops.Sqrt(_dot(grad, grad))
        plain = raw_ops.Mul(-grad, raw_ops.Minimum(raw_ops.Reciprocal(raw_ops.Maximum(length, 1e-30)), 1.0))
        direction = raw_ops.Mul(rate, raw_ops.SelectV2(newton, direction, plain))
        if self._max_step is not None:
            length = raw_ops.Sqrt(_dot(direction, direction))
            most = convert_to_tensor(float(self._max_step), direction.dtype.base_dtype)
            limit = raw_ops.RealDiv(most, raw_ops.Maximum(length, most))
            direction = raw_ops.Mul(direction, limit)
        new = {
            "point": point, "gradient": grad, "steps": steps, "changes": changes, "inverse": inverse, "scale": scale,
        }  # fmt: skip
        with control_dependencies([direction, *new.values()]):  # all is read before anything is written
            updates = [update("Assign", state[key], value) for key, value in new.items()]
            updates.append(update("AssignAdd", state["count"], math.cast(1, dtypes.int64)))
            for var, part in zip(variables, array.split(direction, sizes), strict=True):
                updates.append(update("AssignAdd", var, array.reshape(part, var.shape.as_list())))
        return updates

    def _remember(self, state: dict[str, Any], point: Tensor, grad: Tensor) -> tuple[Any, Any, Any, Any]:
        """The history with the newest pair in front, if it has curvature to tell of."""
        step, change = point - state["point"], grad - state["gradient"]
        curvature, square = _dot(step, change), _dot(change, change)
        useful = raw_ops.LogicalAnd(
            raw_ops.Greater(convert_to_tensor(state["count"]), math.cast(0, dtypes.int64)),
            curvature > _CURVATURE * square,
        )
        last = self._history - 1

        def pushed(new: Any, old: Any) -> Any:
            return raw_ops.SelectV2(useful, array.concat([array.expand_dims(new, 0), old[:last]], 0), old)

        steps, changes = pushed(step, state["steps"]), pushed(change, state["changes"])
        inverse = pushed(raw_ops.DivNoNan(raw_ops.OnesLike(curvature), curvature), state["inverse"])
        scale = raw_ops.SelectV2(useful, raw_ops.DivNoNan(curvature, square), convert_to_tensor(state["scale"]))
        return steps, changes, inverse, scale


def _flat(tensors: list[Any]) -> Tensor:
    parts = [array.reshape(t, [-1]) for t in tensors]
    return parts[0] if len(parts) == 1 else array.concat(parts, 0)


def _dot(a: Any, b: Any) -> Any:
    return reduction.reduce_sum(raw_ops.Mul(a, b))


def _two_loops(grad: Any, steps: Any, changes: Any, inverse: Any, scale: Any, history: int) -> Any:
    """Minus the inverse Hessian's estimate times the gradient; entries not yet filled have an inverse of zero."""
    q = grad
    factors = []
    for i in range(history):
        factors.append(inverse[i] * _dot(steps[i], q))
        q = q - factors[i] * changes[i]
    r = scale * q
    for i in reversed(range(history)):
        r = r + steps[i] * (factors[i] - inverse[i] * _dot(changes[i], r))
    return -r
