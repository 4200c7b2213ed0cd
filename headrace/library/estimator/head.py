"""Heads: from the last layer of a ready-made model to its loss, its metrics, its predictions and what it exports."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.control.dependency import group
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.export_output import ExportOutput
from headrace.library.estimator.mode_keys import ModeKeys
from headrace.library.feature_column.column import DenseColumn, Features
from headrace.library.losses.loss import Reduction, compute_weighted_loss
from headrace.library.metrics import mean
from headrace.library.numeric.math import add_n, cast
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.global_step import get_global_step
from headrace.library.summary import summary
from headrace.library.tensor import array

_SHORT_REDUCTIONS = {"sum": Reduction.SUM, "sum_over_batch_size": Reduction.SUM_OVER_BATCH_SIZE}
Metrics = dict[str, tuple[Any, Any]]


class Head(abc.ABC):
    """What a model of one task shares with all others of the task, whatever its layers are.

    It is a base class: make a `RegressionHead`, a `BinaryClassHead` or a `MultiClassHead`.

    Args:
      logits_dimension: How many logits each example has.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      name: What the names of metrics end with; None for nothing.

    >>> head = tf.estimator.RegressionHead()
    >>> print(tf.Session().run(head.loss(labels=[[3.0]], logits=[[1.0]])))
    4.0
    """

    def __init__(self, logits_dimension: int, weight_column: Any, loss_reduction: str, name: str | None) -> None:
        self._logits_dimension = logits_dimension
        self._weight_column = weight_column
        self._loss_reduction = _SHORT_REDUCTIONS.get(loss_reduction, loss_reduction)
        if self._loss_reduction not in Reduction.all() or self._loss_reduction == Reduction.NONE:
            raise ValueError(
                f"Invalid loss_reduction: {loss_reduction!r}. Accepted: {sorted(set(Reduction.all()))} {at()}"
            )
        self._name = name

    @property
    def name(self) -> str | None:
        """What the names of metrics end with, or None."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """How many numbers the last layer must give for each example."""
        return self._logits_dimension

    @property
    def loss_reduction(self) -> str:
        """How the losses of a batch become one, a constant of ``tf.losses.Reduction``."""
        return self._loss_reduction

    # ---- what a task says

    @abc.abstractmethod
    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Tensor]:
        """What the model says of each example, by name; only some of it if ``keys`` are given."""

    @abc.abstractmethod
    def _losses(self, labels: Any, logits: Tensor) -> tuple[Tensor, Tensor]:
        """(losses of single examples, labels as the metrics want them)."""

    @abc.abstractmethod
    def _metrics(self, predictions: Mapping[str, Tensor], labels: Tensor, weights: Any) -> Metrics:
        """The metrics of the task; all heads have the average loss."""

    @abc.abstractmethod
    def _export_outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        """What is exported, by the name of its signature."""

    # ---- what all tasks share

    def loss(
        self, labels: Any, logits: Any, features: Any = None, mode: Any = None, regularization_losses: Any = None
    ) -> Tensor:
        """The loss that training makes small: weighted, reduced, with the regularization losses."""
        del mode
        losses, _ = self._losses(labels, self._checked_logits(logits))
        return self._reduced(losses, self._weights(features, losses), regularization_losses)

    def create_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
        trainable_variables: Any = None, train_op_fn: Callable[[Tensor], Any] | None = None,
        update_ops: Sequence[Any] | None = None, regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:  # fmt: skip
        """What a model function returns.  Training takes either an ``optimizer`` or a ``train_op_fn`` of the loss."""
        with name_scope(self._name, "head"):
            logits = self._checked_logits(logits)
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                exported = self._export_outputs(predictions)
                return EstimatorSpec(mode, predictions=predictions, export_outputs=exported)
            losses, labels = self._losses(labels, logits)
            weights = self._weights(features, losses)
            loss = self._reduced(losses, weights, regularization_losses)
            if mode == ModeKeys.EVAL:
                metrics = self._named_metrics(predictions, labels, losses, weights, regularization_losses)
                return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=metrics)
            train_op = _train_op(loss, optimizer, trainable_variables, train_op_fn, update_ops)
        with name_scope(""):
            summary.scalar(self._key("loss"), loss)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    def _key(self, name: str) -> str:
        return name if self._name is None else f"{name}/{self._name}"

    def _reduced(self, losses: Tensor, weights: Any, regularization_losses: Any) -> Tensor:
        loss = compute_weighted_loss(losses, weights, reduction=self._loss_reduction)
        if regularization_losses:
            loss = add_n([loss, *regularization_losses])
        return loss

    def _named_metrics(
        self, predictions: Mapping[str, Tensor], labels: Tensor, losses: Tensor, weights: Any, regularization: Any
    ) -> Metrics:
        weights = None if isinstance(weights, float) else weights
        with name_scope("metrics"):
            metrics = {"average_loss": mean.mean(losses, weights), **self._metrics(predictions, labels, weights)}
            if regularization:
                metrics["regularization_loss"] = mean.mean(add_n(list(regularization)))
        return {self._key(name): metric for name, metric in metrics.items()}

    def _checked_logits(self, logits: Any) -> Tensor:
        logits = cast(convert_to_tensor(logits, name="logits"), dtypes.float32)
        if not logits.shape.is_compatible_with([None, self._logits_dimension]):
            raise ValueError(
                f"logits must have shape [batch, {self._logits_dimension}] for this head, got shape {logits.shape} {at()}"
            )
        return logits

    def _weights(self, features: Any, losses: Tensor) -> Any:
        """The weights of the examples, in a shape that fits the losses."""
        column = self._weight_column
        if column is None:
            return 1.0
        if not isinstance(features, Mapping):
            raise ValueError(f"weight_column={column!r} needs a dictionary of features, got {features!r} {at()}")
        if isinstance(column, DenseColumn):
            weights = column.get_dense_tensor(Features(features), None, False)
        elif isinstance(column, str):
            if column not in features:
                raise ValueError(
                    f"weight_column {column!r} is not among the features {sorted(map(str, features))} {at()}"
                )
            weights = cast(convert_to_tensor(features[column]), dtypes.float32)
        else:
            raise TypeError(f"weight_column must be a name or a numeric column, got {column!r} {at()}")
        if weights.shape.ndims == 1:
            weights = array.expand_dims(weights, -1)
        if not weights.shape.is_compatible_with([None, 1]) and not weights.shape.is_compatible_with(losses.shape):
            raise ValueError(f"weights must have shape [batch, 1], got shape {weights.shape} of {column!r} {at()}")
        return weights


def checked_labels(labels: Any, dimension: int) -> Tensor:
    """Dense labels as ``[batch, dimension]``."""
    if labels is None:
        raise ValueError(
            "You must provide a labels Tensor. Given: None. Check that your data contains your label feature, and that your "
            f"input_fn properly parses and returns labels {at()}"
        )
    if isinstance(labels, SparseTensor):
        raise ValueError(f"labels must be dense, got {labels!r}: use tf.sparse_tensor_to_dense {at()}")
    labels = convert_to_tensor(labels, name="labels")
    if labels.shape.ndims == 1:
        labels = array.expand_dims(labels, -1)
    if not labels.shape.is_compatible_with([None, dimension]):
        raise ValueError(
            f"Mismatched label shape. Expected labels of shape [batch, {dimension}], got {labels.shape} {at()}"
        )
    if labels.shape.ndims is None:
        labels = array.reshape(labels, [-1, dimension])
    return labels


def _train_op(loss: Tensor, optimizer: Any, variables: Any, train_op_fn: Any, update_ops: Any) -> Any:
    if optimizer is not None and train_op_fn is not None:
        raise ValueError(f"train_op_fn and optimizer must not both be set {at()}")
    if train_op_fn is None and optimizer is None:
        raise ValueError(f"train_op_fn and optimizer cannot both be None {at()}")
    if train_op_fn is not None:
        train_op = train_op_fn(loss)
    else:
        train_op = optimizer.minimize(loss, global_step=get_global_step(), var_list=variables)
    if not update_ops:
        return train_op
    with control_dependencies(list(update_ops)):
        return group(train_op)
