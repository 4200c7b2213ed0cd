"""The layers of ready-made models: from features, by columns, to logits.

The names of variables are TensorFlow's, so that its checkpoints fit: ``dnn/hiddenlayer_0/kernel``,
``linear/linear_model/x/weights``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.estimator.mode_keys import ModeKeys
from headrace.library.feature_column.layer import input_layer, linear_model
from headrace.library.layers.scoped.core import Dense
from headrace.library.layers.scoped.core import dropout as drop
from headrace.library.layers.scoped.normalization import batch_normalization
from headrace.library.numeric.reduction import zero_fraction
from headrace.library.state.initializers import GlorotUniform
from headrace.library.state.variable_scope import variable_scope
from headrace.library.summary import summary
from headrace.library.tensor import array

LogitFn = Callable[[Any, str], Tensor]
_BATCH_NORM_MOMENTUM = 0.999


def dnn_logit_fn_builder(
    units: int, hidden_units: Sequence[int], feature_columns: Any, activation_fn: Any, dropout: float | None,
    input_layer_partitioner: Any, batch_norm: bool,
) -> LogitFn:  # fmt: skip
    """A function of features and mode: dense columns, fully connected layers, ``units`` logits.

    Args:
      units: How many logits each example has.
      hidden_units: The number of units of each hidden layer, a list.
      feature_columns: The feature columns of the input.
      activation_fn: The function after each hidden layer.
      dropout: The part of the hidden units that is dropped in training; None for none.
      input_layer_partitioner: How to split the variables of the input; None for whole ones.
      batch_norm: Whether each hidden layer is followed by batch normalization.

    Returns:
      A function of ``features`` and ``mode`` that returns logits.

    >>> columns = [tf.feature_column.numeric_column('x')]
    >>> logit_fn = tf.estimator.experimental.dnn_logit_fn_builder(3, [8], columns, tf.nn.relu, None, None, False)
    >>> logit_fn({'x': [[1.0], [2.0]]}, tf.estimator.ModeKeys.TRAIN).shape.as_list()
    [2, 3]
    """
    _check_units(units)

    def dnn_logit_fn(features: Any, mode: str) -> Tensor:
        training = mode == ModeKeys.TRAIN
        with variable_scope("input_from_feature_columns", partitioner=input_layer_partitioner):
            net = input_layer(features, feature_columns)
        for i, size in enumerate(hidden_units):
            with variable_scope(f"hiddenlayer_{i}") as scope:
                net = Dense(
                    size, activation=activation_fn, kernel_initializer=GlorotUniform(), name="layer", _scope=scope
                ).apply(net)
                if dropout is not None and training:
                    net = drop(net, rate=dropout, training=True)
                if batch_norm:
                    net = batch_normalization(
                        net, momentum=_BATCH_NORM_MOMENTUM, training=training, name=f"batchnorm_{i}"
                    )
            _summarize_layer(net, scope.name)
        with variable_scope("logits") as scope:
            logits = Dense(units, kernel_initializer=GlorotUniform(), name="layer", _scope=scope).apply(net)
        _summarize_layer(logits, scope.name)
        return logits

    return dnn_logit_fn


def linear_logit_fn_builder(units: int, feature_columns: Any, sparse_combiner: str = "sum") -> Callable[[Any], Tensor]:
    """A function of features: a weighted sum of the columns, ``units`` logits.

    Args:
      units: How many logits each example has.
      feature_columns: The feature columns of the input.
      sparse_combiner: How the categories of one row are combined: "sum", "mean" or "sqrtn".

    Returns:
      A function of ``features`` that returns logits.

    >>> logit_fn = tf.estimator.experimental.linear_logit_fn_builder(3, [tf.feature_column.numeric_column('x')])
    >>> logit_fn({'x': [[1.0], [2.0]]}).shape.as_list()
    [2, 3]
    """
    _check_units(units)

    def linear_logit_fn(features: Any) -> Tensor:
        variables: dict[Any, Any] = {}
        logits = linear_model(features, feature_columns, units, sparse_combiner, cols_to_vars=variables)
        (bias,) = variables.pop("bias")
        if units == 1:
            summary.scalar("bias", bias[0])
        else:
            summary.histogram("bias", bias)
        weights = [array.reshape(part, [-1]) for parts in variables.values() for part in parts]
        summary.scalar("fraction_of_zero_weights", zero_fraction(array.concat(weights, 0)))
        return logits

    return linear_logit_fn


def call_logit_fn(logit_fn: Callable[..., Any], features: Any, mode: str, params: Any, config: Any) -> Any:
    """Calls a function of features and whatever else of mode, params and config it names.

    Args:
      logit_fn: The function to call.
      features: The features, a dictionary of tensors or a tensor.
      mode: A constant of `tf.estimator.ModeKeys`.
      params: The parameters of the model.
      config: A `tf.estimator.RunConfig`.

    Returns:
      What the function returns: a tensor, or a dictionary of tensors.

    >>> logits = tf.estimator.experimental.call_logit_fn(lambda features: 2.0 * features, tf.ones([3, 1]), 'eval', {}, None)
    """
    parameters = inspect.signature(logit_fn).parameters
    others = {"mode": mode, "params": params, "config": config}
    logits = logit_fn(features=features, **{name: value for name, value in others.items() if name in parameters})
    if isinstance(logits, Mapping):
        if not all(isinstance(value, Tensor) for value in logits.values()):
            raise ValueError(f"logit_fn should return tensors, got the dictionary {logits!r} {at()}")
    elif not isinstance(logits, Tensor):
        raise ValueError(f"logit_fn should return a Tensor or a dictionary string -> Tensor, got {logits!r} {at()}")
    return logits


def _check_units(units: Any) -> None:
    if not isinstance(units, int) or isinstance(units, bool):
        raise ValueError(f"units must be an int. Given type: {type(units)} {at()}")


def _summarize_layer(value: Tensor, tag: str) -> None:
    summary.scalar(f"{tag}/fraction_of_zero_values", zero_fraction(value))
    summary.histogram(f"{tag}/activation", value)
