"""Heads of classification: one class of two, one class of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import assert_less, assert_non_negative
from headrace.library.control.dependency import identity
from headrace.library.estimator.estimator_spec import DEFAULT_SIGNATURE
from headrace.library.estimator.export_output import ClassificationOutput, ExportOutput, PredictOutput, RegressionOutput
from headrace.library.estimator.head import Head, Metrics, checked_labels
from headrace.library.metrics import confusion, mean, threshold
from headrace.library.network.loss_function import sigmoid_cross_entropy_with_logits
from headrace.library.network.softmax import softmax, sparse_softmax_cross_entropy_with_logits
from headrace.library.numeric.math import cast
from headrace.library.numeric.reduction import argmax
from headrace.library.scope import control_dependencies
from headrace.library.tensor import array, creation
from headrace.library.text.vocabulary import index_table_from_tensor, index_to_string_table_from_tensor

_OVER_BATCH = "sum_over_batch_size"


class _ClassHead(Head):
    """What both have in common: the names of classes."""

    def __init__(
        self, n_classes: int, logits_dimension: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str,
        loss_fn: Any, name: str | None,
    ) -> None:  # fmt: skip
        super().__init__(logits_dimension, weight_column, loss_reduction, name)
        if label_vocabulary is not None:
            if not isinstance(label_vocabulary, (list, tuple)):
                raise ValueError(
                    f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)} {at()}"
                )
            if len(label_vocabulary) != n_classes:
                raise ValueError(
                    f'"label_vocabulary" does not have "n_classes" items. n_classes={n_classes}, vocabulary='
                    f"{label_vocabulary} {at()}"
                )
        self._n_classes = n_classes
        self._vocabulary = None if label_vocabulary is None else list(label_vocabulary)
        self._loss_fn = loss_fn

    def _class_ids(self, labels: Any) -> Tensor:
        """The labels as class numbers ``[batch, 1]``, checked when the graph runs."""
        labels = checked_labels(labels, 1)
        if self._vocabulary is None:
            if self._n_classes == 2 and labels.dtype == dtypes.bool:
                labels = cast(labels, dtypes.float32)
            if not labels.dtype.is_integer and not labels.dtype.is_floating:
                raise ValueError(
                    f"labels dtype should be a number without a label_vocabulary. Instead got {labels.dtype.name} {at()}"
                )
            ids = labels
        else:
            if labels.dtype != dtypes.string:
                raise ValueError(
                    f"labels dtype should be string if there is a vocabulary. Instead got {labels.dtype.name} {at()}"
                )
            ids = index_table_from_tensor(self._vocabulary, name="class_id_lookup").lookup(labels)
        limit = cast(constant(self._n_classes), ids.dtype)
        in_range = [
            assert_less(ids, limit, message=f"Labels must be < n_classes = {self._n_classes}"),
            assert_non_negative(ids, message="Labels must be >= 0"),
        ]
        with control_dependencies(in_range):
            return identity(ids)

    def _named_classes(self, class_ids: Tensor) -> Tensor:
        if self._vocabulary is None:
            return raw_ops.AsString(class_ids, name="str_classes")
        return index_to_string_table_from_tensor(self._vocabulary, name="class_string_lookup").lookup(class_ids)

    def _all_classes(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """For every example the numbers and the names of all classes."""
        rows = array.shape(logits)[0]
        numbers = constant(list(range(self._n_classes)), dtypes.int32)
        names = constant(self._vocabulary or [str(i) for i in range(self._n_classes)], dtypes.string)
        return tuple(array.tile(array.expand_dims(one, 0), [rows, 1]) for one in (numbers, names))  # type: ignore[return-value]

    def _export_outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        classification = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {
            DEFAULT_SIGNATURE: classification,
            "classification": classification,
            "predict": PredictOutput(predictions),
        }


def _some(predictions: dict[str, Tensor], keys: Sequence[str] | None) -> dict[str, Tensor]:
    if keys is None:
        return predictions
    unknown = sorted(set(keys) - set(predictions))
    if unknown:
        raise ValueError(f"this head has no predictions {unknown}; it has {sorted(predictions)} {at()}")
    return {key: predictions[key] for key in keys}


class BinaryClassHead(_ClassHead):
    """Two classes; one logit, the log odds of the second.

    Args:
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      thresholds: Numbers between 0 and 1 for which evaluations have accuracy, precision and recall too; None for none.
      label_vocabulary: The names of the two classes, a list, where labels are strings; None for labels 0 and 1.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      loss_fn: A function of labels and logits to use as loss; None for the sigmoid cross entropy.
      name: What the names of metrics end with; None for nothing.

    >>> tf.estimator.BinaryClassHead(thresholds=[0.5, 0.9]).logits_dimension
    1
    """

    def __init__(
        self, weight_column: Any = None, thresholds: Sequence[float] | None = None, label_vocabulary: Any = None,
        loss_reduction: str = _OVER_BATCH, loss_fn: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(2, 1, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self._thresholds = tuple(thresholds or ())
        for bound in self._thresholds:
            if not 0 < bound < 1:
                raise ValueError(f"thresholds not in (0, 1): {self._thresholds} {at()}")

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Tensor]:
        logits = convert_to_tensor(logits)
        both = array.concat([creation.zeros_like(logits), logits], -1)
        class_ids = array.expand_dims(argmax(both, -1), -1)
        all_ids, all_classes = self._all_classes(logits)
        return _some({
            "logits": logits, "logistic": raw_ops.Sigmoid(logits), "probabilities": softmax(both),
            "class_ids": class_ids, "classes": self._named_classes(class_ids), "all_class_ids": all_ids,
            "all_classes": all_classes,
        }, keys)  # fmt: skip

    def _losses(self, labels: Any, logits: Tensor) -> tuple[Tensor, Tensor]:
        labels = cast(self._class_ids(labels), dtypes.float32)
        if self._loss_fn is not None:
            return _checked_losses(self._loss_fn(labels=labels, logits=logits)), labels
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), labels

    def _metrics(self, predictions: Mapping[str, Tensor], labels: Tensor, weights: Any) -> Metrics:
        class_ids, logistic = predictions["class_ids"], predictions["logistic"]
        label_mean = mean.mean(labels, weights)
        metrics: Metrics = {
            "accuracy": mean.accuracy(labels, class_ids, weights),
            "precision": confusion.precision(labels, class_ids, weights),
            "recall": confusion.recall(labels, class_ids, weights),
            "prediction/mean": mean.mean(logistic, weights),
            "label/mean": label_mean,
            # what always guessing the commoner class would get right
            "accuracy_baseline": tuple(raw_ops.Maximum(p, raw_ops.Sub(1.0, p)) for p in label_mean),  # type: ignore[dict-item]
            "auc": threshold.auc(labels, logistic, weights),
            "auc_precision_recall": threshold.auc(labels, logistic, weights, curve="PR"),
        }
        for bound in self._thresholds:
            above = cast(raw_ops.GreaterEqual(logistic, bound), dtypes.float32)
            metrics[f"accuracy/positive_threshold_{bound:g}"] = mean.accuracy(labels, above, weights)
            metrics[f"precision/positive_threshold_{bound:g}"] = confusion.precision(labels, above, weights)
            metrics[f"recall/positive_threshold_{bound:g}"] = confusion.recall(labels, above, weights)
        return metrics

    def _export_outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        return {**super()._export_outputs(predictions), "regression": RegressionOutput(predictions["logistic"])}


def _checked_losses(losses: Any) -> Tensor:
    losses = convert_to_tensor(losses)
    if losses.shape.ndims == 1:
        losses = array.expand_dims(losses, -1)
    if losses.shape.ndims == 0:
        raise ValueError(f"loss_fn must return one loss for each example, shape [batch, 1], got {losses!r} {at()}")
    return losses


class MultiClassHead(_ClassHead):
    """One class of several; one logit for each.

    Args:
      n_classes: The number of classes, above 2.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      label_vocabulary: The names of the classes, a list, where labels are strings; None for labels from 0.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      loss_fn: A function of labels and logits to use as loss; None for the softmax cross entropy.
      name: What the names of metrics end with; None for nothing.

    >>> tf.estimator.MultiClassHead(n_classes=3).logits_dimension
    3
    """

    def __init__(
        self, n_classes: int, weight_column: Any = None, label_vocabulary: Any = None, loss_reduction: str = _OVER_BATCH,
        loss_fn: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(n_classes, int) or isinstance(n_classes, bool) or n_classes <= 2:
            raise ValueError(
                f"n_classes must be > 2 for a MultiClassHead: {n_classes!r} (use BinaryClassHead for 2) {at()}"
            )
        super().__init__(n_classes, n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Tensor]:
        logits = convert_to_tensor(logits)
        class_ids = array.expand_dims(argmax(logits, -1), -1)
        all_ids, all_classes = self._all_classes(logits)
        return _some({
            "logits": logits, "probabilities": softmax(logits), "class_ids": class_ids,
            "classes": self._named_classes(class_ids), "all_class_ids": all_ids, "all_classes": all_classes,
        }, keys)  # fmt: skip

    def _losses(self, labels: Any, logits: Tensor) -> tuple[Tensor, Tensor]:
        labels = self._class_ids(labels)
        if not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype.name} {at()}")
        if self._loss_fn is not None:
            return _checked_losses(self._loss_fn(labels=labels, logits=logits)), labels
        losses = sparse_softmax_cross_entropy_with_logits(labels=array.squeeze(labels, [-1]), logits=logits)
        return array.expand_dims(losses, -1), labels

    def _metrics(self, predictions: Mapping[str, Tensor], labels: Tensor, weights: Any) -> Metrics:
        return {"accuracy": mean.accuracy(labels, predictions["class_ids"], weights)}
