"""Local steps: each worker trains its own copy of the variables, and the copies are averaged from time to time.

The forward graph reads the copies: `compute_gradients` rewires it.  A program is the same as in other modes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.dtypes import int64
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group, no_op
from headrace.library.scope import colocate_with, control_dependencies, name_scope
from headrace.library.state.assign import assign, assign_add
from headrace.library.state.variable import Variable
from headrace.library.state.variables import trainable_variables
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer
from headrace.library.train.replica.copies import copy, read, rewire
from headrace.library.train.replica.replicas_optimizer import Place, ReplicasOptimizer


class LocalStepsOptimizer(ReplicasOptimizer):
    """What `replicas` returns for mode "local"."""

    def __init__(
        self, optimizer: Optimizer, rule: dict[str, Any], name: str, steps: int, outer: Optimizer | None
    ) -> None:
        super().__init__(optimizer, rule, name)
        self._steps = steps
        self._outer = outer
        self._copies: dict[Any, Variable] = {}

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> GradsAndVars:
        """The gradients of this worker alone, at its copies, each with the variable that the copy is of."""
        variables = trainable_variables() if var_list is None else list(var_list)
        if callable(loss):
            loss = loss()
        if not hasattr(loss, "op"):
            raise TypeError(f"loss must be a Tensor that depends on the variables, got {loss!r} {at()}")
        with name_scope(None, f"{self._name}_copies"), colocate_with(no_op(name="worker")):
            for variable in variables:
                if not isinstance(variable, Variable):
                    raise TypeError(f"mode 'local' copies variables, got {variable!r} {at()}")
                self._copies[variable] = copy(variable)
        rewire([loss.op], self._copies)
        copies = [self._copies[variable] for variable in variables]
        pairs = self._opt.compute_gradients(loss, copies, *args, **kwargs)
        return [(gradient, variable) for (gradient, _), variable in zip(pairs, variables, strict=True)]

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """What a worker runs for a step; every so many steps it waits for the others.  See `replicas`."""
        pairs = list(grads_and_vars)
        strange = [variable for _, variable in pairs if variable not in self._copies]
        if strange:
            raise ValueError(
                f"mode 'local' needs gradients at its own copies: use its compute_gradients or minimize; got one of "
                f"{strange[0]!r} {at()}"
            )
        return super().apply_gradients(pairs, global_step, name)

    def _step(self, pairs: GradsAndVars, step: Any, name: str | None) -> Operation:
        variables = [variable for _, variable in pairs]
        places = {v: Place(self._name, read(self._copies[v]), v) for v in variables}
        update = self._next_update(step)
        means = [(places[v].mean(update.counted, update.present), v) for v in variables]
        self._make_updates(update, self._average(means, step), step)

        trained = self._opt.apply_gradients([(gradient, self._copies[variable]) for gradient, variable in pairs])
        _make_local(self._opt.variables())
        with colocate_with(self._state.op):
            count = Variable(0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name="count", dtype=int64)
        with control_dependencies([trained]):
            number = convert_to_tensor(assign_add(count, 1))

        def exchange() -> Operation:
            member = read(self._state)
            put = [places[v].put(member, read(self._copies[v])) for v in variables]
            with control_dependencies([self._arrive(put, step)]):
                return group(*(assign(self._copies[v], read(v)) for v in variables))

        every = convert_to_tensor(self._steps, dtype=int64)
        is_due = raw_ops.Equal(raw_ops.FloorMod(number, every), convert_to_tensor(0, dtype=int64))
        return self._when(is_due, exchange, name or "train")

    def _when(self, is_due: Any, exchange: Callable[[], Operation], name: str) -> Operation:
        """Exchanges copies where that is due."""
        train: Operation = cond(is_due, exchange, no_op, name=name).op
        return train

    def _average(self, means: GradsAndVars, step: Any) -> Operation:
        """Makes an update of the means of the copies."""
        if self._outer is None:
            made = group(*(assign(variable, mean) for mean, variable in means))
        else:
            made = self._outer.apply_gradients([(read(variable) - mean, variable) for mean, variable in means])
        with control_dependencies([made]):
            counted: Operation = assign_add(step, convert_to_tensor(self._steps, dtype=step.dtype.base_dtype)).op
        return counted


def _make_local(variables: list[Any]) -> None:
    """Slots of copies are this worker's alone."""
    graph = context.get_default_graph()
    everybodys = graph.get_collection_ref(GraphKeys.GLOBAL_VARIABLES)
    for variable in variables:
        if variable in everybodys:
            everybodys.remove(variable)
            graph.add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)
