"""contrib.metrics: ``tf.metrics`` under its older names, predictions before labels; and maps of several metrics."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.dependency import identity
from headrace.library.metrics import confusion, mean, threshold, top_k
from headrace.library.metrics.metric import collected, metric_variable
from headrace.library.numeric import division, math, reduction
from headrace.library.scope import name_scope
from headrace.library.state import assign
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array

Metric = Callable[..., tuple[Any, Any]]


def _swapped(metric: Metric, prefix: str = "streaming_") -> Metric:
    """The metric taking predictions first."""

    @functools.wraps(metric)
    def streaming(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return metric(labels, predictions, *args, **kwargs)

    signature = inspect.signature(metric)
    first, second, *rest = signature.parameters.values()
    streaming.__name__ = f"{prefix}{metric.__name__}"
    streaming.__signature__ = signature.replace(parameters=[second, first, *rest])  # type: ignore[attr-defined]
    needed = ", ".join(f"{p.name}={p.name}" for p in rest if p.default is p.empty)
    call = f"tf.contrib.metrics.{streaming.__name__}(predictions, labels{needed and f', {needed}'})"
    streaming.__doc__ = _swapped_help(metric, f"Example: ``value, update = {call}``")
    return streaming


def _swapped_help(metric: Metric, example: str) -> str:
    """The metric's own help with its first two arguments exchanged and another example."""
    summary = f"``tf.metrics.{metric.__name__}`` with predictions before labels."
    lines = inspect.cleandoc(metric.__doc__ or "Args:\n\n").partition("\n>>> ")[0].split("\n")
    first = lines.index("Args:") + 1
    lines[first : first + 2] = reversed(lines[first : first + 2])
    return "\n".join((summary, "", *lines, example))


streaming_accuracy = _swapped(mean.accuracy)
streaming_auc = _swapped(threshold.auc)
streaming_false_negatives = _swapped(confusion.false_negatives)
streaming_false_positives = _swapped(confusion.false_positives)
streaming_false_negatives_at_thresholds = _swapped(threshold.false_negatives_at_thresholds)
streaming_false_positives_at_thresholds = _swapped(threshold.false_positives_at_thresholds)
streaming_mean = mean.mean
streaming_mean_absolute_error = _swapped(mean.mean_absolute_error)
streaming_mean_cosine_distance = _swapped(mean.mean_cosine_distance)
streaming_mean_iou = _swapped(confusion.mean_iou)
streaming_mean_relative_error = _swapped(mean.mean_relative_error)
streaming_mean_squared_error = _swapped(mean.mean_squared_error)
streaming_mean_tensor = mean.mean_tensor
streaming_percentage_less = mean.percentage_below
streaming_precision = _swapped(confusion.precision)
streaming_precision_at_thresholds = _swapped(threshold.precision_at_thresholds)
streaming_recall = _swapped(confusion.recall)
streaming_recall_at_thresholds = _swapped(threshold.recall_at_thresholds)
streaming_root_mean_squared_error = _swapped(mean.root_mean_squared_error)
streaming_sensitivity_at_specificity = _swapped(threshold.sensitivity_at_specificity)
streaming_sparse_average_precision_at_k = _swapped(top_k.average_precision_at_k, "streaming_sparse_")
streaming_sparse_precision_at_k = _swapped(top_k.precision_at_k, "streaming_sparse_")
streaming_sparse_recall_at_k = _swapped(top_k.recall_at_k, "streaming_sparse_")
streaming_specificity_at_sensitivity = _swapped(threshold.specificity_at_sensitivity)
streaming_sparse_average_precision_at_top_k = top_k.average_precision_at_top_k
streaming_curve_points = threshold.curve_points
streaming_true_negatives = _swapped(confusion.true_negatives)
streaming_true_negatives_at_thresholds = _swapped(threshold.true_negatives_at_thresholds)
streaming_true_positives = _swapped(confusion.true_positives)
streaming_true_positives_at_thresholds = _swapped(threshold.true_positives_at_thresholds)


def streaming_recall_at_k(
    predictions: Any, labels: Any, k: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """How often the label is among the ``k`` best predictions.

    Args:
      predictions: The score of each class, float32 [batch, classes].
      labels: The correct classes, int32 or int64 [batch].
      k: How many of the best count.
      weights: The weight of each example; None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for ``recall_at_<k>``.

    Returns:
      Two float32 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.streaming_recall_at_k([[0.1, 0.6, 0.3], [0.8, 0.2, 0.0]], [2, 2], 2)
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float32(0.5)
    """
    among = math.cast(reduction.in_top_k(predictions, labels, k), dtypes.float32)
    return mean.mean(among, weights, metrics_collections, updates_collections, name or f"recall_at_{k}")


def sparse_recall_at_top_k(
    labels: Any, top_k_predictions: Any, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The part of the true classes that are among those chosen.

    Args:
      labels: The true classes, integers [..., labels], or [...] for one each, or a `tf.SparseTensor` with any number.
      top_k_predictions: The chosen classes of each example, integers [..., chosen].
      class_id: The only class to count; None for all.
      weights: The weight of each example, which broadcasts to the shape of the examples; None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the ops; None for ``recall_at_k``.

    Returns:
      Two float64 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.sparse_recall_at_top_k([[1, 2]], [[0, 1, 3]])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float64(0.5)
    """
    return top_k.recall_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, name
    )


def streaming_sparse_precision_at_top_k(
    top_k_predictions: Any, labels: Any, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The part of the chosen classes that are true.

    Args:
      top_k_predictions: The chosen classes of each example, integers [..., chosen].
      labels: The true classes, integers [..., labels], or [...] for one each, or a `tf.SparseTensor` with any number.
      class_id: The only class to count; None for all.
      weights: The weight of each example, which broadcasts to the shape of the examples; None counts all as 1.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the ops; None for ``precision_at_k``.

    Returns:
      Two float64 scalars: the value so far, and the update, which takes one more batch into account. Initialize the
      local variables first.

    >>> value, update = tf.contrib.metrics.streaming_sparse_precision_at_top_k([[0, 1]], [[1, 2]])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     session.run(update)
    np.float64(0.5)
    """
    return top_k.precision_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, name
    )


def _rate(title: str, mistakes: Metric, others: Metric, thresholds: bool = False) -> Metric:
    """The share of mistakes among all that are negative, or positive."""
    more = (inspect.Parameter("thresholds", inspect.Parameter.POSITIONAL_OR_KEYWORD),) if thresholds else ()

    def metric(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        given = signature.bind(predictions, labels, *args, **kwargs)
        given.apply_defaults()
        values = dict(given.arguments)
        name, where = values.pop("name"), {key: values.pop(key) for key in _COLLECTIONS}
        with name_scope(name, title, [predictions, labels]):
            wrong, one_more = mistakes(**values)
            right, another = others(**values)
            value, update = _share(wrong, right, "value"), _share(one_more, another, "update")
        return collected(value, update, where["metrics_collections"], where["updates_collections"])

    plain = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("predictions", "labels")]
    optional = [
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
        for n in ("weights", *_COLLECTIONS, "name")
    ]
    signature = inspect.Signature([*plain, *more, *optional])
    metric.__name__ = metric.__qualname__ = f"streaming_{title}"
    metric.__signature__ = signature  # type: ignore[attr-defined]
    metric.__doc__ = _RATE.format(
        what=title.replace("_", " ").removesuffix(" at thresholds").removesuffix(" rate") + "s",
        kind="negative" if "positive" in title else "positive", each=", for each threshold" if thresholds else "",
        thresholds="\n  thresholds: A list of numbers from 0 to 1." if thresholds else "", name=f"streaming_{title}",
        argument=", [0.5]" if thresholds else "",
    )  # fmt: skip
    return metric


_COLLECTIONS = ("metrics_collections", "updates_collections")
_RATE = """The share of {what} among what is {kind}{each}.

Args:
  predictions: What was predicted, a tensor.
  labels: The truth, a tensor of the shape of `predictions`; what is not 0 is true.{thresholds}
  weights: The weight of each element, which broadcasts to `predictions`; None counts all as 1.
  metrics_collections: The collections to add the value to; None for none.
  updates_collections: The collections to add the update to; None for none.
  name: A name for the ops; None for one made of the metric's.

Returns:
  The value so far, and the update, which takes one more batch into account. Initialize the local variables first.

Example: ``value, update = tf.contrib.metrics.{name}(predictions, labels{argument})``"""


def _share(wrong: Any, right: Any, name: str) -> Tensor:
    total = math.add(wrong, right)
    return division.div_no_nan(wrong, total, name=name)


streaming_false_positive_rate = _rate("false_positive_rate", streaming_false_positives, streaming_true_negatives)
streaming_false_negative_rate = _rate("false_negative_rate", streaming_false_negatives, streaming_true_positives)
streaming_false_positive_rate_at_thresholds = _rate(
    "false_positive_rate_at_thresholds", streaming_false_positives_at_thresholds,
    streaming_true_negatives_at_thresholds, thresholds=True,
)  # fmt: skip
streaming_false_negative_rate_at_thresholds = _rate(
    "false_negative_rate_at_thresholds", streaming_false_negatives_at_thresholds,
    streaming_true_positives_at_thresholds, thresholds=True,
)  # fmt: skip


def streaming_concat(
    values: Any, axis: int = 0, max_size: int | None = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """All values so far, one after the other.

    Args:
      values: A tensor whose other axes have known sizes.
      axis: The axis along which they are put together.
      max_size: How many are kept, the first; None for all.
      metrics_collections: The collections to add the value to; None for none.
      updates_collections: The collections to add the update to; None for none.
      name: A name for the variables' scope; None for "streaming_concat".

    Returns:
      The values so far, and the update, which takes one more batch into account. Initialize the local variables first.

    >>> value, update = tf.contrib.metrics.streaming_concat([1.0, 2.0])
    >>> with tf.Session() as session:
    ...     session.run(tf.local_variables_initializer())
    ...     _ = session.run(update)
    ...     print(session.run(update))
    [1. 2. 1. 2.]
    """
    with variable_scope(name, "streaming_concat", (values,)):
        values = convert_to_tensor(values)
        sizes = values.shape.as_list()
        if axis < 0:
            axis += len(sizes)
        if not 0 <= axis < len(sizes):
            raise ValueError(f"axis = {axis} not in [0, {len(sizes)}) {at()}")
        if any(size is None for i, size in enumerate(sizes) if i != axis):
            raise ValueError(
                f"all dimensions of values other than {axis} must be known, got shape {values.shape} {at()}"
            )
        start = [0 if i == axis else size for i, size in enumerate(sizes)]
        stored = metric_variable(start, values.dtype, validate_shape=False, name="array")
        joined = array.concat([stored, values], axis)
        if max_size is not None:
            joined = joined[(slice(None),) * axis + (slice(0, max_size),)]
        value = identity(stored)
        value.set_shape([None if i == axis else size for i, size in enumerate(sizes)])
        update = assign.assign(stored, joined, validate_shape=False)
        return collected(value, update, metrics_collections, updates_collections)


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """How often predictions equal labels, in this batch.

    Args:
      predictions: The predicted values, of any type.
      labels: The correct values, of the type and shape of `predictions`.
      weights: Weights that broadcast to `predictions`; None for equal weights.
      name: The name scope of the ops.

    Returns:
      A float32 scalar.

    >>> tf.Session().run(tf.contrib.metrics.accuracy([1, 2, 3, 4], [1, 2, 3, 5]))
    np.float32(0.75)
    """
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if predictions.dtype != labels.dtype:
        raise ValueError(
            f"Types of predictions and labels should match. Got {predictions.dtype.name} and {labels.dtype.name}"
        )
    predictions.shape.assert_is_compatible_with(labels.shape)
    with name_scope(name, "accuracy", [predictions, labels]):
        correct = math.cast(raw_ops.Equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduction.reduce_mean(correct)
        weights = math.cast(weights, dtypes.float32)
        weighted = reduction.reduce_sum(raw_ops.Mul(correct, weights))
        return raw_ops.RealDiv(weighted, reduction.reduce_sum(raw_ops.Mul(raw_ops.OnesLike(correct), weights)))


def aggregate_metrics(*value_update_tuples: tuple[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Pairs of (value, update) as a list of values and a list of updates.

    Args:
      *value_update_tuples: Pairs (value, update), as metrics give them; at least one.

    Returns:
      A list of values and a list of updates.

    >>> pairs = [tf.metrics.mean([1.0, 2.0]), tf.metrics.accuracy([1], [1])]
    >>> values, updates = tf.contrib.metrics.aggregate_metrics(*pairs)
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Mapping[str, tuple[Any, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Named pairs of (value, update) as a dictionary of values and one of updates.

    Args:
      names_to_tuples: A dictionary from names to pairs (value, update).

    Returns:
      A dictionary from names to values, and one from names to updates.

    >>> values, updates = tf.contrib.metrics.aggregate_metric_map({"mean": tf.metrics.mean([1.0, 2.0])})
    >>> list(values)
    ['mean']
    """
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
