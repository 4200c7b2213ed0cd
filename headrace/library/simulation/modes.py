"""The optimizer of a program, built again for another way of training together, in the graph of the program.

While a program builds its graph, what it hands to optimizers is noted.  Then the same gradients go to `tf.train.replicas`, for
variables that are on the servers of a described cluster.  The modes "async" without an aggregator and those that the program
itself has need nothing new.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.core.source import at
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation
from headrace.library.scope import control_dependencies, device
from headrace.library.simulation.job import Rules
from headrace.library.simulation.planning import Asked
from headrace.library.state.global_step import get_global_step, get_or_create_global_step
from headrace.library.train.optimizer.optimizer import Optimizer
from headrace.library.train.replica.local_steps import LocalStepsOptimizer
from headrace.library.train.replica.replicas import replicas
from headrace.library.train.replica.replicas_optimizer import ReplicasOptimizer, _Updater
from headrace.library.train.replica.sync_replicas_optimizer import SyncReplicasOptimizer

MODES: Final = ("async", "stale", "sync", "backup", "quorum", "local")
EVERY: Final = 8  # steps between two averages in the mode "local", where nobody says how many


@dataclass(slots=True)
class Applied:
    """What a program has asked of an optimizer: ``result`` is what it was given, which trains."""

    optimizer: Optimizer
    pairs: list[Any]
    global_step: Any
    result: Any = None
    loss: Any = None
    variables: Any = None


@dataclass(slots=True)
class Noted:
    """All that a program has asked of optimizers, in the order of the calls."""

    applied: list[Applied] = field(default_factory=list)
    _inside: int = 0
    _minimized: list[tuple[Any, Any]] = field(default_factory=list)


@contextmanager
def noting() -> Iterator[Noted]:
    """Inside, what goes to optimizers is noted."""
    noted = Noted()
    classes = (Optimizer, ReplicasOptimizer, LocalStepsOptimizer, SyncReplicasOptimizer)
    before = [
        (one, name, one.__dict__[name])
        for one in classes
        for name in ("apply_gradients", "minimize")
        if name in one.__dict__
    ]
    for one, name, method in before:
        setattr(one, name, (_noting_apply if name == "apply_gradients" else _noting_minimize)(noted, method))
    try:
        yield noted
    finally:
        for one, name, method in before:
            setattr(one, name, method)


def _noting_apply(noted: Noted, method: Callable[..., Any]) -> Callable[..., Any]:
    def apply_gradients(self: Any, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        if noted._inside:
            return method(self, grads_and_vars, global_step, name)
        one = Applied(self, list(grads_and_vars), global_step)
        if noted._minimized:
            one.loss, one.variables = noted._minimized[-1]
        noted._inside += 1
        try:
            one.result = method(self, one.pairs, global_step, name)
        finally:
            noted._inside -= 1
        noted.applied.append(one)
        return one.result

    return apply_gradients


def _noting_minimize(noted: Noted, method: Callable[..., Any]) -> Callable[..., Any]:
    def minimize(self: Any, loss: Any, global_step: Any = None, var_list: Any = None, *more: Any, **named: Any) -> Any:
        noted._minimized.append((loss, var_list))
        try:
            return method(self, loss, global_step, var_list, *more, **named)
        finally:
            noted._minimized.pop()

    return minimize


def own_rules(applied: Applied) -> Rules:
    """How the program itself trains together; "async" if it does nothing for it."""
    one = applied.optimizer
    if isinstance(one, SyncReplicasOptimizer):
        spare = one._total_num_replicas - one._replicas_to_aggregate
        return Rules("backup", backups=spare) if spare > 0 else Rules("sync")
    if not isinstance(one, ReplicasOptimizer):
        return Rules("async")
    return rules_of(one._rule)


def rules_of(rule: Mapping[str, Any]) -> Rules:
    """What a rule of the aggregator says, whatever the number of workers."""
    if not rule["gathers"]:
        return Rules("async") if rule["staleness"] < 0 else Rules("stale", staleness=rule["staleness"])
    if rule["copies"]:
        return Rules("local")
    if "mode='quorum'" in rule["said"]:
        return Rules("quorum", quorum=rule["needed"] / rule["workers"], grace=rule["grace"])
    if rule["needed"]:
        return Rules("backup", backups=-1 if rule["needed"] < 0 else rule["workers"] - rule["needed"])
    return Rules("sync")


class _Exchanging(LocalStepsOptimizer):
    """Has a step that exchanges copies, in place of one that decides."""

    def _when(self, is_due: Any, exchange: Callable[[], Operation], name: str) -> Operation:
        with control_dependencies([is_due.op]):
            return exchange()


@dataclass(frozen=True, slots=True)
class Variant:
    """``train``: what trains in place of the program's.  ``every``: of so many steps one exchanges copies."""

    train: Operation
    update: Asked | None
    every: int = 1


def build(applied: Applied, mode: str, every: int, place: Callable[[Any], str]) -> Variant:
    """Builds the program's training in another mode, in its graph.  ``place``: chooses the devices of new nodes.

    The mode "local" changes what the loss reads, so it can be built once for a graph.
    """
    graph = applied.pairs[0][1].graph
    inner = getattr(applied.optimizer, "_opt", applied.optimizer)
    graph._unsafe_unfinalize()
    with graph.as_default(), device(place):
        step = applied.global_step
        if step is None:
            step = get_global_step() or get_or_create_global_step()
        if mode == "local":
            if applied.loss is None:
                raise ValueError(
                    f"mode 'local' needs a program that calls minimize; this one calls apply_gradients {at()}"
                )
            name = "simulated_local"
            fresh = copy.copy(inner)  # of its slots too
            fresh._slots, fresh._non_slot_dict = {}, {}
            usual: Any = replicas(fresh, "local", 1, steps=every, name=name)
            exchanging = _Exchanging(fresh, usual._rule, name, every, None)
            train = exchanging.minimize(applied.loss, step, applied.variables)
            return Variant(train, _last_update(graph), every)
        plain = mode if mode in ("async", "stale") else "sync"  # the others differ in what the aggregator is told
        options: dict[str, Any] = {"staleness": 0} if mode == "stale" else {}
        other = replicas(inner, plain, 1, **options, name=f"simulated_{mode}")
        before = len(graph.get_collection(GraphKeys.QUEUE_RUNNERS))
        train = other.apply_gradients(applied.pairs, step)
        gathers = len(graph.get_collection(GraphKeys.QUEUE_RUNNERS)) > before
        return Variant(train, _last_update(graph) if gathers else None)


def _last_update(graph: Graph) -> Asked:
    """What the one that leads runs for an update of the replicas that were made last."""
    runners = [one for one in graph.get_collection(GraphKeys.QUEUE_RUNNERS) if isinstance(one, _Updater)]
    (made,) = runners[-1].enqueue_ops
    return Asked((), (), (made,))


def instead(asked: Asked, trained: set[Operation], new: Operation) -> Asked:
    """The request where what has ``trained`` is replaced, also where it only has to have run."""
    for one in new.graph.get_operations():
        if one is not new and not trained.isdisjoint(one._control_inputs):
            one._control_inputs = list(dict.fromkeys(new if op in trained else op for op in one._control_inputs))
            new.graph._mutated()
    fetches = tuple(tensor for tensor in asked.fetches if tensor.op not in trained)
    targets = [target for target in asked.targets if target not in trained]
    if len(fetches) + len(targets) < len(asked.fetches) + len(asked.targets):
        targets.append(new)
    return Asked(asked.feeds, fetches, tuple(targets))


def trained_by(noted: Sequence[Applied], asked: Asked) -> list[Applied]:
    """Which of the optimizers a request trains with."""
    waiting: list[Operation] = [tensor.op for tensor in asked.fetches] + list(asked.targets)
    seen: set[Operation] = set()
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            waiting += [*(tensor.op for tensor in op.inputs), *op.control_inputs]
    found = []
    for one in noted:
        if getattr(one.result, "op", one.result) in seen:
            found.append(one)
    return found
