"""The model functions of ready-made models: logits, a head, and optimizers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library.control.dependency import group
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.head import Head
from headrace.library.estimator.logit_fn import dnn_logit_fn_builder, linear_logit_fn_builder
from headrace.library.losses.loss import get_regularization_losses
from headrace.library.scope import control_dependencies
from headrace.library.state.global_step import get_global_step
from headrace.library.state.partitioner import min_max_variable_partitioner
from headrace.library.state.variable_scope import variable_scope
from headrace.library.train.optimizer.adagrad import AdagradOptimizer
from headrace.library.train.optimizer.adam import AdamOptimizer
from headrace.library.train.optimizer.ftrl import FtrlOptimizer
from headrace.library.train.optimizer.gradient_descent import GradientDescentOptimizer
from headrace.library.train.optimizer.optimizer import Optimizer
from headrace.library.train.optimizer.rmsprop import RMSPropOptimizer

_BY_NAME: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
_DNN_RATE = 0.05
_LINEAR_RATE = 0.2
_COMBINED_LINEAR_RATE = 0.005
_SLICE = 64 << 20  # bytes of a variable's part, on parameter servers

ModelFn = Callable[..., EstimatorSpec]


def optimizer_instance(optimizer: Any, learning_rate: float) -> Optimizer:
    """The optimizer itself, what a function returns, or one by name with this learning rate."""
    if isinstance(optimizer, str):
        if optimizer not in _BY_NAME:
            raise ValueError(
                f"Unsupported optimizer name: {optimizer}. Supported names are: {tuple(sorted(_BY_NAME))} {at()}"
            )
        return _BY_NAME[optimizer](learning_rate=learning_rate)
    if callable(optimizer):
        optimizer = optimizer()
    if not isinstance(optimizer, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {optimizer!r} {at()}")
    return optimizer


def dnn_model_fn(
    head: Head, hidden_units: Any, feature_columns: Any, optimizer: Any, activation_fn: Any, dropout: Any,
    input_layer_partitioner: Any, batch_norm: bool,
) -> ModelFn:  # fmt: skip
    """Fully connected layers over dense columns."""
    _check_hidden_units(hidden_units)

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        _check_features(features)
        chosen = optimizer_instance(optimizer, _DNN_RATE)
        with variable_scope("dnn", partitioner=_partitioner(config)):
            logits = dnn_logit_fn_builder(
                head.logits_dimension, hidden_units, feature_columns, activation_fn, dropout,
                input_layer_partitioner or _partitioner(config, _SLICE), batch_norm,
            )(features, mode)  # fmt: skip
        return _spec(head, features, labels, mode, logits, lambda loss: _minimize(chosen, loss))

    return model_fn


def linear_model_fn(
    head: Head, feature_columns: Any, optimizer: Any, partitioner: Any, sparse_combiner: str
) -> ModelFn:
    """A weighted sum of columns of any kind."""
    columns = _listed(feature_columns)

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        _check_features(features)
        chosen = optimizer_instance(optimizer, _linear_rate(_LINEAR_RATE, columns))
        with variable_scope("linear", partitioner=partitioner or _partitioner(config, _SLICE)):
            logits = linear_logit_fn_builder(head.logits_dimension, columns, sparse_combiner)(features)
        return _spec(head, features, labels, mode, logits, lambda loss: _minimize(chosen, loss))

    return model_fn


def combined_model_fn(
    head: Head, linear_feature_columns: Any, linear_optimizer: Any, dnn_feature_columns: Any, dnn_optimizer: Any,
    dnn_hidden_units: Any, dnn_activation_fn: Any, dnn_dropout: Any, input_layer_partitioner: Any, batch_norm: bool,
    linear_sparse_combiner: str,
) -> ModelFn:  # fmt: skip
    """The sum of both, each trained by an optimizer of its own (wide and deep)."""
    wide, deep = _listed(linear_feature_columns or []), _listed(dnn_feature_columns or [])
    if not wide and not deep:
        raise ValueError(f"Either linear_feature_columns or dnn_feature_columns must be defined {at()}")
    if deep:
        if not dnn_hidden_units:
            raise ValueError(f"dnn_hidden_units must be defined when dnn_feature_columns is specified {at()}")
        _check_hidden_units(dnn_hidden_units)

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        _check_features(features)
        parts, optimizers = [], {}
        if deep:
            optimizers["dnn"] = optimizer_instance(dnn_optimizer, _DNN_RATE)
            with variable_scope("dnn", partitioner=_partitioner(config)):
                parts.append(dnn_logit_fn_builder(
                    head.logits_dimension, dnn_hidden_units, deep, dnn_activation_fn, dnn_dropout,
                    input_layer_partitioner or _partitioner(config, _SLICE), batch_norm,
                )(features, mode))  # fmt: skip
        if wide:
            optimizers["linear"] = optimizer_instance(linear_optimizer, _linear_rate(_COMBINED_LINEAR_RATE, wide))
            with variable_scope("linear", partitioner=input_layer_partitioner or _partitioner(config, _SLICE)):
                parts.append(linear_logit_fn_builder(head.logits_dimension, wide, linear_sparse_combiner)(features))
        logits = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return _spec(head, features, labels, mode, logits, lambda loss: _minimize_parts(optimizers, loss))

    return model_fn


def _spec(head: Head, features: Any, labels: Any, mode: str, logits: Any, train_op_fn: Any) -> EstimatorSpec:
    return head.create_estimator_spec(
        features, mode, logits, labels, train_op_fn=train_op_fn, regularization_losses=get_regularization_losses(),
        update_ops=context.get_default_graph().get_collection(GraphKeys.UPDATE_OPS),
    )  # fmt: skip


def _minimize(optimizer: Optimizer, loss: Any) -> Any:
    return optimizer.minimize(loss, global_step=get_global_step())


def _minimize_parts(optimizers: Mapping[str, Optimizer], loss: Any) -> Any:
    """Each optimizer trains the variables of its scope; the global step counts once."""
    graph = context.get_default_graph()
    trains = []
    for scope, optimizer in optimizers.items():
        variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=f"{scope}/")
        trains.append(optimizer.minimize(loss, var_list=variables))
    with control_dependencies([group(*trains)]):
        return get_global_step().assign_add(1).op


def _linear_rate(most: float, columns: list[Any]) -> float:
    return min(most, 1.0 / math.sqrt(len(columns)))


def _partitioner(config: Any, min_slice_size: int = 256 << 10) -> Any:
    """Spreads large variables over the parameter servers; None without any."""
    servers = config.num_ps_replicas if config is not None else 0
    return min_max_variable_partitioner(max_partitions=servers, min_slice_size=min_slice_size) if servers else None


# ---- checks


def _listed(columns: Any) -> list[Any]:
    return (
        list(columns)
        if isinstance(columns, (list, tuple, set, frozenset)) or hasattr(columns, "__next__")
        else [columns]
    )


def _check_features(features: Any) -> None:
    if not isinstance(features, Mapping):
        raise ValueError(
            f"features should be a dictionary of `Tensor`s by name, for the model's feature columns. Given type: "
            f"{type(features)}: {features!r} {at()}"
        )


def _check_hidden_units(hidden_units: Any) -> None:
    sizes = list(hidden_units) if isinstance(hidden_units, (list, tuple)) else None
    if sizes is None or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in sizes):
        raise ValueError(f"hidden_units must be a list of whole numbers above 0, got {hidden_units!r} {at()}")
