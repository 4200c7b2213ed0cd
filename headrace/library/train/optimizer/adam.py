"""Adam (Kingma and Ba, 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.control.dependency import group
from headrace.library.scope import colocate_with, control_dependencies
from headrace.library.state.update import update
from headrace.library.train.optimizer.optimizer import Optimizer, cast


class AdamOptimizer(Optimizer):
    """Steps of ``learning_rate * m / (sqrt(v) + epsilon)``, m and v decaying means of the gradient and its square.

    ``epsilon`` is the paper's "epsilon hat".  Sparse gradients decay all of m and v and move every row, as in TF1.

    Args:
      learning_rate: A number, a tensor, or a function that returns one of them; so are the next three.
      beta1: The weight of the old mean of gradients.
      beta2: The weight of the old mean of squared gradients.
      epsilon: What is added to the root of the mean square, so that no division is by zero.
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops and slots.

    >>> w = tf.Variable(5.0)
    >>> train = tf.train.AdamOptimizer(learning_rate=0.1).minimize(tf.square(w - 3.0))
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     for _ in range(200):
    ...         sess.run(train)
    ...     print(round(float(sess.run(w)), 1))
    3.0
    """

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "Adam",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._beta1_t: Any = None
        self._beta2_t: Any = None
        self._epsilon_t: Any = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        graph = context.get_default_graph()
        return (
            self._get_non_slot_variable("beta1_power", graph=graph),
            self._get_non_slot_variable("beta2_power", graph=graph),
        )

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        # The powers live with the variable of the least name, so that it does not matter in which order they are given.
        first = min(var_list, key=lambda v: v.name)
        for power, beta in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            self._create_non_slot_variable(self._call_if_callable(beta), power, first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self) -> None:
        self._lr_t = convert_to_tensor(self._call_if_callable(self._lr), name="learning_rate")
        self._beta1_t = convert_to_tensor(self._call_if_callable(self._beta1), name="beta1")
        self._beta2_t = convert_to_tensor(self._call_if_callable(self._beta2), name="beta2")
        self._epsilon_t = convert_to_tensor(self._call_if_callable(self._epsilon), name="epsilon")

    def _scalars(self, var: Any) -> list[Any]:
        dtype = var.dtype.base_dtype
        values = (*self._get_beta_accumulators(), self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        return [cast(value, dtype) for value in values]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        return update("ApplyAdam", var, m, v, *self._scalars(var), grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        def scatter_add(ref: Any, indices: Any, rows: Any) -> Any:
            return update("ScatterAdd", ref, indices, rows, use_locking=self._use_locking)

        return self._apply_sparse_shared(grad.values, var, grad.indices, scatter_add)

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._scalars(var)
        rate = _div(_mul(rate, raw_ops.Sqrt(_one_minus(beta2_power))), _one_minus(beta1_power))
        m_t = _decay_and_scatter(self.get_slot(var, "m"), indices, grad, beta1, scatter_add, self._use_locking)
        v_t = _decay_and_scatter(
            self.get_slot(var, "v"), indices, _mul(grad, grad), beta2, scatter_add, self._use_locking
        )
        root = raw_ops.Sqrt(v_t)
        step = _div(_mul(rate, m_t), raw_ops.AddV2(root, epsilon, name="add"))
        moved = update("AssignSub", var, step, use_locking=self._use_locking)
        return group(moved, m_t, v_t)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        powers = self._get_beta_accumulators()
        updates = []
        with control_dependencies(update_ops), colocate_with(powers[0]):
            for power, beta in zip(powers, (self._beta1_t, self._beta2_t), strict=True):
                updates.append(update("Assign", power, _mul(power, beta), use_locking=self._use_locking))
        return group(*update_ops, *updates, name=name_scope)


def decay_and_scatter(mean: Any, indices: Any, rows: Any, beta: Any, use_locking: bool = True) -> Any:
    """The variable ``mean`` times ``beta``, and rows of what is new added: the variable after that."""

    def scatter_add(ref: Any, indices: Any, rows: Any) -> Any:
        return update("ScatterAdd", ref, indices, rows, use_locking=use_locking)

    return _decay_and_scatter(mean, indices, rows, beta, scatter_add, use_locking)


def _decay_and_scatter(mean: Any, indices: Any, rows: Any, beta: Any, scatter_add: Any, use_locking: bool) -> Any:
    fresh = _mul(rows, _one_minus(beta))
    decayed = update("Assign", mean, _mul(mean, beta), use_locking=use_locking)
    with control_dependencies([decayed]):
        return scatter_add(mean, indices, fresh)


def _mul(x: Any, y: Any) -> Any:
    return raw_ops.Mul(x, y, name="mul")


def _div(x: Any, y: Any) -> Any:
    return raw_ops.RealDiv(x, y, name="truediv")


def _one_minus(x: Any) -> Any:
    return 1 - x
