"""Steps of a model that was compiled in the scope of a distribution strategy: each replica takes its part of the batch.

The model is called anew in each replica, on the replica's rows.  Losses are weighed by the rows that they are of, so that a step
is what it is on one device with the whole batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.backend.keras_tensor import is_placeholder
from headrace.library.backend.phase import learning_phase_scope
from headrace.library.control import replica
from headrace.library.control.replica import ReduceOp
from headrace.library.distribute.input import rows_of
from headrace.library.distribute.values import PerReplica, local_results
from headrace.library.keras.training.ends import takes_training
from headrace.library.keras.training.step import GraphSteps
from headrace.library.scope import control_dependencies, device


def strategy_for(model: Any) -> Any:
    """The strategy to train the model with, or None: that of the scope, in which its variables must have been made."""
    mode = replica.current()
    strategy = None if mode is None or mode.strategy._is_default else mode.strategy
    owners = {getattr(replica.whole(v), "_distribute_strategy", None) for v in model.weights}
    if any(owner is not strategy for owner in owners):
        where = "outside of it" if strategy is not None else "in the scope of a strategy"
        here = "in the scope of a strategy" if strategy is not None else "outside of it"
        raise ValueError(
            f"The model {model.name!r} has variables that were made {where}, and is compiled {here}: make and compile a model in "
            f"the same `with strategy.scope()` {at()}"
        )
    if strategy is None or len(strategy.extended.worker_devices) == 1 == strategy.num_replicas_in_sync:
        return None  # variables are where the strategy wants them, and the steps are as without it
    if context.executing_eagerly():
        raise NotImplementedError(
            f"fit with several replicas is not supported where ops run eagerly: use a graph {at()}"
        )
    return strategy


class DistributedSteps(GraphSteps):
    """The steps of a model over several replicas, made when they are first asked for."""

    def __init__(self, model: Any, compiled: Any, strategy: Any) -> None:
        super().__init__(model, compiled)
        self._strategy = strategy
        given = [endpoint.name for endpoint in compiled.endpoints if endpoint.given_target] if compiled else []
        if given or not all(is_placeholder(t) for t in model.inputs) or model.state_updates:
            raise NotImplementedError(
                "A model with several replicas takes its data from fit, evaluate and predict alone, and keeps no states between "
                f"batches: it has tensors as inputs or targets, or stateful layers {at()}"
            )

    def _nodes(self, what: str, weighted: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        if (what, weighted) not in self._made:
            with self._strategy.scope():
                make = self._predicting if what == "predict" else self._measuring
                self._made[what, weighted] = make(what, weighted)
        return self._made[what, weighted]

    def _parts(self, what: str, tensors: Sequence[Any]) -> list[Any]:
        """The rows of each replica here.  Each worker of a cluster is given the whole batch, and predicts all of it."""
        extended = self._strategy.extended
        own = len(extended.worker_devices)
        first, count = (0, own) if what == "predict" else (extended._first_replica, self._strategy.num_replicas_in_sync)
        with device(extended._host):
            return [PerReplica([rows_of(t, first + number, count) for number in range(own)]) for t in tensors]

    def _outputs(self, xs: Sequence[Any], training: bool) -> list[Any]:
        model = self._model
        structure = getattr(model, "_training_structure", None)
        if structure is not None:
            inputs = nest.pack_sequence_as(structure, list(xs))
        else:
            inputs = xs[0] if len(xs) == 1 else list(xs)
        given = {"training": training} if takes_training(model) else {}
        with learning_phase_scope(int(training)):
            return nest.flatten(model(inputs, **given))

    def _predicting(self, what: str, weighted: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        inputs = list(self._model.inputs)

        def body(*xs: Any) -> list[Any]:
            return self._outputs(xs, training=False)

        results = self._strategy.extended.call_for_each_replica(body, args=tuple(self._parts(what, inputs)))
        with device(self._strategy.extended._host):
            return [raw_ops.ConcatV2(list(local_results(one)), 0) for one in results], inputs

    def _measuring(self, what: str, weighted: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        """The nodes of "train" and "test"."""
        model, strategy = self._model, self._strategy
        targets, weights = self._compiled.placeholders(weighted)
        inputs = list(model.inputs)
        feeds = [*inputs, *targets, *(w for w in weights if w is not None)]
        total = raw_ops.Shape(inputs[0])[0]

        def body(*tensors: Any) -> tuple[Any, list[Any], list[Any]]:
            given = iter(tensors)
            xs = [next(given) for _ in inputs]
            ys = [next(given) for _ in targets]
            ws = [None if w is None else next(given) for w in weights]
            return self._replica(what, xs, ys, ws, total)

        made = strategy.extended.call_for_each_replica(body, args=tuple(self._parts(what, feeds)))
        every = local_results(made)
        loss = strategy.reduce(ReduceOp.SUM, made[0])
        changes = list(dict.fromkeys(op for _, _, ops in every for op in ops))
        shown_in_all = [shown for _, all_shown, _ in every for shown in all_shown]
        with control_dependencies(shown_in_all), strategy.extended._reading_all_workers():
            results = [raw_ops.Identity(m.result()) for m in (*self._compiled.loss_metrics, *model.metrics)]
        return [loss, *results, *changes], feeds

    def _replica(self, what: str, xs: list[Any], ys: list[Any], ws: list[Any], total: Tensor) -> Any:
        """One replica's part of the loss, its metrics, and the operations that change variables."""
        model = self._model
        before = set(model.updates)
        outputs = self._outputs(xs, what == "train")
        changes: list[Any] = [update for update in model.updates if update not in before]  # of this call alone
        more = [*model.get_losses_for(xs), *model.get_losses_for(None)]
        loss, shown = self._compiled.loss_and_results(outputs, ys, ws, more)
        loss = _part(loss, raw_ops.Shape(xs[0])[0], total)
        if what != "train":
            return loss, shown, []
        return loss, shown, [*changes, *model.optimizer.get_updates(loss, model._collected_trainable_weights)]


def _part(loss: Tensor, rows: Tensor, total: Tensor) -> Tensor:
    """The loss of some rows as a part of that of all; 0 for none."""
    share = raw_ops.RealDiv(raw_ops.Cast(rows, loss.dtype.base_dtype), raw_ops.Cast(total, loss.dtype.base_dtype))
    part = raw_ops.Mul(loss, share)
    result: Tensor = raw_ops.SelectV2(raw_ops.Greater(rows, 0), part, raw_ops.ZerosLike(part))
    return result
