"""An estimator's model under a distribution strategy: called for each replica, and what the replicas give as one spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.structures import SparseTensor
from headrace.library import nest
from headrace.library.control.replica import loss_reduction
from headrace.library.distribute.input import input_fn_iterator
from headrace.library.distribute.strategy import Strategy
from headrace.library.distribute.values import PerReplica, local_results
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.mode_keys import ModeKeys
from headrace.library.estimator.run_config import RunConfig
from headrace.library.estimator.user_function import BeginIterator, called_input_fn, features_and_labels
from headrace.library.metrics import mean
from headrace.library.train.session.run_hook import SessionRunHook

ModelFn = Callable[..., EstimatorSpec]  # of features, labels, the mode and the configuration


class _Made:
    """What one replica has made.  It is no structure, so that the replicas' specs stay apart."""

    def __init__(self, spec: EstimatorSpec, loss_metric: Any) -> None:
        self.spec = spec
        self.loss_metric = loss_metric


def call_replicas(
    strategy: Strategy, input_fn: Any, model_fn: ModelFn, mode: str, params: Any, config: RunConfig
) -> tuple[EstimatorSpec, Any, list[SessionRunHook]]:
    """(spec, metric of the loss, hooks) of a model with its input, in the scope of the strategy.

    Each replica takes an element of the input function's dataset in a step.  The metric is None while training.
    """

    def input_of(context: Any) -> Any:
        return called_input_fn(input_fn, mode, params, config, context)

    iterator = input_fn_iterator(strategy, input_of)
    features, labels = features_and_labels(input_fn, iterator.get_next())

    def replica(features: Any, labels: Any) -> _Made:
        spec = model_fn(features, labels, mode, config)
        return _Made(spec, None if mode == ModeKeys.TRAIN else _mean_loss(spec.loss, features))

    with strategy._loss_scaled():
        made = strategy.extended.call_for_each_replica(replica, args=(features, labels))
        every = local_results(made)
        specs = [one.spec for one in every]
        loss = strategy.reduce(loss_reduction(), PerReplica([spec.loss for spec in specs]))
    spec = specs[0]._replace(loss=loss)
    if mode == ModeKeys.TRAIN:
        spec = spec._replace(train_op=strategy.group(PerReplica([one.train_op for one in specs])))
        return spec, None, [BeginIterator(iterator)]
    metrics = {name: _metric(strategy, [one.eval_metric_ops[name] for one in specs]) for name in spec.eval_metric_ops}
    loss_metric = _metric(strategy, [one.loss_metric for one in every])
    return spec._replace(eval_metric_ops=metrics), loss_metric, [BeginIterator(iterator)]


def _metric(strategy: Strategy, pairs: list[Any]) -> tuple[Any, Any]:
    """A metric of all replicas: the value is that of all already, and the update is that of each."""
    return pairs[0][0], strategy.group(PerReplica([update for _, update in pairs]))


def _mean_loss(loss: Any, features: Any) -> tuple[Any, Any]:
    """The mean of the losses of the batches that have rows: where the input ends, some replicas get none."""
    loss = convert_to_tensor(loss)
    rows = _rows(features)
    if rows is None:
        return mean.mean(loss)
    is_there = raw_ops.Greater(rows, 0)
    zero = raw_ops.ZerosLike(loss)
    return mean.mean(raw_ops.SelectV2(is_there, loss, zero), raw_ops.Cast(is_there, loss.dtype.base_dtype))


def _rows(features: Any) -> Any:
    for leaf in nest.flatten(features):
        if isinstance(leaf, SparseTensor):
            return raw_ops.Cast(leaf.dense_shape[0], "int32")
        if getattr(leaf, "shape", None) is not None and leaf.shape.ndims:
            return raw_ops.Shape(leaf)[0]
    return None
