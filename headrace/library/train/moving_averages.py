"""Moving averages: shadows of variables (or of any tensors) that follow them slowly, used for evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation
from headrace.library.control import replica
from headrace.library.control.dependency import group
from headrace.library.control.replica import Distributed, ReduceOp
from headrace.library.numeric import division, math
from headrace.library.scope import colocate_with, init_scope, name_scope
from headrace.library.state.assign import assign_add, assign_sub
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableSynchronization
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.state.variables import global_variables, moving_average_variables, trainable_variables
from headrace.library.train.optimizer import slot_creator


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """``variable -= (1 - decay) * (variable - value)``; an op whose value is the new average.

    With ``zero_debias`` the variable is expected to have started at zero and the bias that brings is divided out
    (Kingma and Ba, 2015, section 3), for which two more variables, "biased" and "local_step", are kept.
    """
    mode = replica.current()
    if mode is not None and mode.replica is not None and isinstance(variable, Distributed):
        if variable.synchronization is not VariableSynchronization.ON_READ:  # type: ignore[attr-defined]
            return _averaged_together(mode.replica, variable, value, decay, zero_debias, name)
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope, colocate_with(variable):
        rest = convert_to_tensor(1.0 - decay, name="decay")
        rest = math.cast(rest, variable.dtype.base_dtype)
        delta = _unbiased_delta(variable, value, rest) if zero_debias else (variable - value) * rest
        return assign_sub(variable, delta, name=scope)


def _averaged_together(
    replica_context: Any, variable: Any, value: Any, decay: Any, zero_debias: bool, name: str | None
) -> Any:
    """Moves the average of a variable that replicas share toward the mean of what the replicas have."""
    if zero_debias:
        raise NotImplementedError(
            f"assign_moving_average(zero_debias=True) of {variable.name!r} in a replica of a distribution strategy: call it "
            f"outside of the replicas, or pass zero_debias=False {at()}"
        )

    def merged(strategy: Any, values: Any) -> Any:
        def one(copy: Any, mean: Any) -> Any:
            return assign_moving_average(copy, mean, decay, False, name)

        mean = strategy.extended.reduce_to(ReduceOp.MEAN, values, variable)
        return strategy.extended.update(variable, one, args=(mean,))

    return replica_context.merge_call(merged, args=(convert_to_tensor(value),))


def weighted_moving_average(
    value: Any, decay: Any, weight: Any, truediv: bool = True, collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The average of ``value`` over steps, each counted by its ``weight`` and by its age."""
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        totals = []
        for label, term in (("value_x_weight", value * weight), ("weight", convert_to_tensor(weight))):
            total = get_variable(
                label, term.shape, term.dtype, initializer=Zeros(), trainable=False,
                collections=[GraphKeys.GLOBAL_VARIABLES] if collections is None else collections,
            )  # fmt: skip
            totals.append(assign_moving_average(total, term, decay, zero_debias=False))
        divide = division.truediv if truediv else division.div
        return divide(totals[0], totals[1], name=scope.name)


def _unbiased_delta(variable: Any, value: Any, rest: Any) -> Any:
    """What to subtract from the variable for it to become the average of all values so far, weighted by age alone."""
    dtype = variable.dtype.base_dtype
    with variable_scope(variable.op.name, values=[variable, value, rest]) as scope:
        biased = get_variable("biased", shape=variable.get_shape(), dtype=dtype, initializer=Zeros(), trainable=False)
        step = get_variable("local_step", shape=[], dtype=dtype, initializer=Zeros(), trainable=False)
        new_biased = assign_sub(biased, (biased - value) * rest, name=scope.name)
        new_step = assign_add(step, 1)
        return variable - new_biased / (1 - math.pow(1.0 - rest, new_step))


class ExponentialMovingAverage:
    """Keeps an average of each variable: ``average = decay * average + (1 - decay) * variable``.

        ema = tf.train.ExponentialMovingAverage(decay=0.999)
        with tf.control_dependencies([train_op]):
            train_and_average = ema.apply(tf.trainable_variables())

    ``num_updates`` (the global step, say) lowers the decay to ``(1 + num_updates) / (10 + num_updates)`` at first.

    Args:
      decay: The weight of the old average, a number below 1 or a tensor, such as 0.999.
      num_updates: The number of updates so far, to lower `decay` by at first; None to use `decay` as it is.
      zero_debias: Whether averages of tensors that are not variables, which start at zero, are freed of that bias.
      name: The last part of the names of the variables that hold averages.

    >>> w = tf.Variable(10.0)
    >>> ema = tf.train.ExponentialMovingAverage(decay=0.9)
    >>> update = ema.apply([w])
    >>> ema.average_name(w)
    'Variable/ExponentialMovingAverage'
    """

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The last part of the names of the averages."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """An op that updates the averages, which it makes for what has none yet; trainable variables by default.

        The average of a variable starts at its initial value, that of another tensor at zero.
        """
        items = list(trainable_variables() if var_list is None else var_list)
        debias = set()
        for var in items:
            if var.dtype.base_dtype not in (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64):
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if var not in self._averages:
                self._averages[var] = self._make(var)
                if self._zero_debias and not isinstance(var, Variable):
                    debias.add(var)
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                count = math.cast(_now(self._num_updates), dtypes.float32, name="num_updates")
                decay = math.minimum(decay, (1.0 + count) / (10.0 + count))
            updates = [self._update(var, decay, var in debias) for var in items]
            return group(*updates, name=scope)

    def _make(self, var: Any) -> Any:
        with init_scope():
            if isinstance(var, Variable):
                average = slot_creator.create_slot(var, var.initialized_value(), self._name)
                context.get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                return average
            return slot_creator.create_zeros_slot(var, self._name, colocate_with_primary=False)

    def _update(self, var: Any, decay: Any, zero_debias: bool) -> Any:
        return assign_moving_average(self._averages[var], _now(var), decay, zero_debias=zero_debias)

    def average(self, var: Any) -> Any:
        """The variable that holds the average, or None if ``apply`` has not seen ``var``."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name of the average's variable, whether or not it has been made."""
        if var in self._averages:
            return self._averages[var].op.name
        return context.get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Sequence[Any] | None = None) -> dict[str, Any]:
        """A map for ``tf.train.Saver`` that restores variables from their averages, and all others from themselves."""
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        averaged = list(dict.fromkeys(moving_avg_variables))
        variables = {self.average_name(v): v for v in averaged}
        names = {v.name for v in averaged}
        for v in global_variables():
            if v.name not in names and v.op.name not in variables:
                variables[v.op.name] = v
        return variables


def _now(value: Any) -> Any:
    """A variable read here: after whatever the op being made depends on, such as the optimizer's step."""
    return value.read_value() if isinstance(value, Variable) else value
