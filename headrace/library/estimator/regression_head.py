"""The head of regression: the mean of squared errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.estimator.estimator_spec import DEFAULT_SIGNATURE
from headrace.library.estimator.export_output import ExportOutput, PredictOutput, RegressionOutput
from headrace.library.estimator.head import Head, Metrics, checked_labels
from headrace.library.metrics import mean
from headrace.library.numeric.math import cast


class RegressionHead(Head):
    """Numbers, ``label_dimension`` for each example; ``inverse_link_fn`` makes them of the logits.

    Args:
      label_dimension: How many numbers are predicted for each example.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      loss_fn: A function of labels and logits to use as loss; None for the squared difference.
      inverse_link_fn: A function from logits to predictions; None for logits as they are.
      name: What the names of metrics end with; None for nothing.

    >>> tf.estimator.RegressionHead(label_dimension=2).logits_dimension
    2
    """

    def __init__(
        self, label_dimension: int = 1, weight_column: Any = None, loss_reduction: str = "sum_over_batch_size",
        loss_fn: Any = None, inverse_link_fn: Callable[[Any], Any] | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(label_dimension, int) or isinstance(label_dimension, bool) or label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension!r}: a whole number above 0 is accepted {at()}")
        super().__init__(label_dimension, weight_column, loss_reduction, name)
        self._loss_fn = loss_fn
        self._inverse_link_fn = inverse_link_fn

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Tensor]:
        logits = convert_to_tensor(logits)
        if self._inverse_link_fn is None:
            predictions = {"predictions": logits}
        else:
            predictions = {"predictions": self._inverse_link_fn(logits), "logits": logits}
        return predictions if keys is None else {key: predictions[key] for key in keys}

    def _losses(self, labels: Any, logits: Tensor) -> tuple[Tensor, Tensor]:
        labels = cast(checked_labels(labels, self._logits_dimension), dtypes.float32)
        if self._loss_fn is not None:
            return convert_to_tensor(self._loss_fn(labels=labels, logits=logits)), labels
        predicted = self.predictions(logits)["predictions"]
        return raw_ops.SquaredDifference(labels, predicted), labels

    def _metrics(self, predictions: Mapping[str, Tensor], labels: Tensor, weights: Any) -> Metrics:
        return {
            "prediction/mean": mean.mean(predictions["predictions"], weights),
            "label/mean": mean.mean(labels, weights),
        }

    def _export_outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        regression = RegressionOutput(predictions["predictions"])
        return {DEFAULT_SIGNATURE: regression, "regression": regression, "predict": PredictOutput(predictions)}
