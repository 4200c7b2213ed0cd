"""Dense gradients are summed among the workers: a server gets their mean once, and hands out each variable once, for an update.

A worker has copies of the variables with dense gradients, and the loss reads these.  The copies become what the servers have with
each update (`headrace.resources.state.replicas.box` has how it travels).  All else is as if servers gathered the gradients: who
leads brings the mean of all, under the ticket of the update.
"""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.body import ancestors
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group
from headrace.library.scope import colocate_with, control_dependencies, device, name_scope
from headrace.library.state.assign import assign
from headrace.library.state.variable import Variable
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer
from headrace.library.train.replica.copies import copy, read, rewire
from headrace.library.train.replica.replicas_optimizer import Place, ReplicasOptimizer


class AllReduceOptimizer(ReplicasOptimizer):
    """What `replicas` returns for ``dense="all_reduce"``."""

    def __init__(self, optimizer: Optimizer, rule: dict[str, Any], name: str) -> None:
        super().__init__(optimizer, rule, name)
        self._losses: list[Operation] = []

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> GradsAndVars:
        """What ``compute_gradients`` of the wrapped optimizer gives.  The loss comes to read copies of variables."""
        pairs = self._opt.compute_gradients(loss, *args, **kwargs)
        if isinstance(loss, Tensor):
            self._losses.append(loss.op)
        return pairs

    def _place(self, pairs: GradsAndVars, worker: str) -> list[Tensor]:
        self._dense = [v for g, v in pairs if isinstance(g, Tensor)]
        if not self._dense:
            raise ValueError(
                f"dense='all_reduce' sums gradients that are tensors, and there is none: use dense='servers' {at()}"
            )
        for variable in self._dense:
            if not isinstance(variable, Variable) or not variable.shape.is_fully_defined():
                raise ValueError(
                    f"dense='all_reduce' copies variables of known shape to workers, got {variable!r} {at()}"
                )
        self._like = {
            "T": [v.dtype.base_dtype for v in self._dense], "shapes": [v.shape for v in self._dense],
        }  # fmt: skip
        names = [v.op.name for v in self._dense]
        self._box = raw_ops._Box(names=names, worker=worker, container="", **self._like)
        return [raw_ops._OpenBox(self._box)]

    def _step(self, pairs: GradsAndVars, step: Any, name: str | None) -> Operation:
        gradients = self._rewired(pairs)
        sparse = {v: Place(self._name, g, v) for g, v in pairs if g is not None and v not in self._copies}
        self._lead(pairs, sparse, step)
        with colocate_with(self._state.op):
            staged = raw_ops._StageGradients(self._box, [gradients[v] for v in self._dense])
            member = self._state.read_value()
        return self._arrive([staged, *(place.put(member, gradients[v]) for v, place in sparse.items())], step, name)

    def _rewired(self, pairs: GradsAndVars) -> dict[Any, Any]:
        """The gradients by variable, computed from copies on this worker."""
        with name_scope(None, f"{self._name}_copies"), colocate_with(self._state.op):
            # After it has joined: no update that it is not told of comes between what it reads and its first step.
            self._copies = {v: copy(v, [self._joined.op]) for v in self._dense}
        ends = {*self._losses, *(part.op for g, _ in pairs for part in _tensors(g))}
        _check_unwritten(ends, self._copies)
        instead = rewire(ends, self._copies)
        return {v: instead.get(g, g) if isinstance(g, Tensor) else g for g, v in pairs}

    def _lead(self, pairs: GradsAndVars, sparse: dict[Any, Place], step: Any) -> None:
        """The update, as one worker makes it."""
        update = self._next_update(step)
        with colocate_with(self._state.op):
            summed = raw_ops._SumGradients(self._box, update.ticket, update.route, **self._like)
        places = {v: Place(self._name, mean, v) for v, mean in zip(self._dense, summed, strict=True)}
        number = raw_ops.Reshape(update.ticket, [1])
        put = [place.put(number, mean) for place, mean in zip(places.values(), summed, strict=True)]
        # Nothing is written before all is at the servers: until then an update can be given up, from then on be finished.
        with control_dependencies(put), device(step.device):
            update = raw_ops._UpdateIsStaged(self._replica, update.ticket)
        number = raw_ops.Reshape(update.ticket, [1])
        with control_dependencies([update.ticket.op]):
            means: dict[Any, Any] = {v: place.mean(number, number) for v, place in places.items()}
            means |= {v: place.mean(update.counted, update.present) for v, place in sparse.items()}
        made = self._apply([(means.get(v), v) for _, v in pairs], step)
        with control_dependencies([made]):
            values = [read(variable) for variable in self._dense]
        with colocate_with(self._state.op):
            with control_dependencies([made]):
                passed_on = raw_ops._PutValues(self._box, update.ticket, values)
            unreached = raw_ops._Unreached(self._box)
        with device(step.device):
            exclude = raw_ops._ExcludeReplica(self._replica, unreached.number, unreached.why)
        self._make_updates(update, passed_on, step, exclude)

    def _go_on(self, released: Any) -> list[Operation]:
        """The copies become what the last update has made; from the servers only if all who had that are lost."""
        with colocate_with(self._state.op):
            taken = raw_ops._TakeValues(self._box, released.ticket, released.route, **self._like)

            def from_workers() -> Operation:
                return group(*(assign(self._copies[v], one) for v, one in zip(self._dense, taken.values, strict=True)))

            def from_servers() -> Operation:
                return group(*(assign(self._copies[v], read(v)) for v in self._dense))

            return [cond(taken.here, from_workers, from_servers, name="values").op]


def _tensors(gradient: Any) -> list[Tensor]:
    if gradient is None or isinstance(gradient, Tensor):
        return [] if gradient is None else [gradient]
    return [gradient.values, gradient.indices]


def _check_unwritten(ends: set[Operation], copies: dict[Any, Variable]) -> None:
    """Refuses a step that changes a variable itself: that would be lost with the copy."""
    handles = {variable._variable: variable for variable in copies}
    for op in ancestors(ends):
        for variable in [handles[tensor] for tensor in op.inputs if tensor in handles]:
            if op.op_def.traits.writes:
                raise ValueError(
                    f"dense='all_reduce' lets the loss read copies of variables, but {op.name!r} changes {variable.op.name!r}, "
                    f"and the loss depends on it: change variables in a step of their own, or use dense='servers' {at()}"
                )
