"""The ready-made models: linear, deep, and both together, for classes and for numbers."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.estimator.canned_model_fn import combined_model_fn, dnn_model_fn, linear_model_fn
from headrace.library.estimator.class_head import BinaryClassHead, MultiClassHead
from headrace.library.estimator.estimator import Estimator
from headrace.library.estimator.head import Head
from headrace.library.estimator.regression_head import RegressionHead
from headrace.library.losses.loss import Reduction
from headrace.library.network.activation import relu

_SUM = Reduction.SUM


def _class_head(n_classes: Any, weight_column: Any, label_vocabulary: Any, loss_reduction: str) -> Head:
    if not isinstance(n_classes, int) or isinstance(n_classes, bool) or n_classes < 2:
        raise ValueError(f"n_classes must be a whole number of 2 or more, got {n_classes!r} {at()}")
    if n_classes == 2:
        return BinaryClassHead(weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)


def _checked_head(head: Any) -> Head:
    if not isinstance(head, Head):
        raise ValueError(f"head must be a tf.estimator.Head, such as BinaryClassHead(), got {head!r} {at()}")
    return head


# ---- fully connected layers


class DNNClassifier(Estimator):
    """Classes by fully connected layers over dense feature columns.

    >>> x = {"x": np.random.RandomState(0).randn(64, 2).astype(np.float32)}
    >>> y = (x["x"][:, 0] > 0).astype(np.int64)
    >>> columns = [tf.feature_column.numeric_column("x", shape=[2])]
    >>> classifier = tf.estimator.DNNClassifier(hidden_units=[8], feature_columns=columns)
    >>> _ = classifier.train(tf.estimator.inputs.numpy_input_fn(x, y, num_epochs=None, shuffle=True), steps=50)
    >>> classifier.evaluate(tf.estimator.inputs.numpy_input_fn(x, y, shuffle=False))["accuracy"] > 0.9
    np.True_
    >>> tf.summary.FileWriterCache.clear()
    """

    def __init__(
        self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None,
        label_vocabulary: Any = None, optimizer: Any = "Adagrad", activation_fn: Any = relu,
        dropout: float | None = None, input_layer_partitioner: Any = None, config: Any = None,
        warm_start_from: Any = None, loss_reduction: str = _SUM, batch_norm: bool = False,
    ) -> None:  # fmt: skip
        head = _class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = dnn_model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout, input_layer_partitioner, batch_norm
        )
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


class DNNRegressor(Estimator):
    """Numbers by fully connected layers over dense feature columns."""

    def __init__(
        self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, label_dimension: int = 1,
        weight_column: Any = None, optimizer: Any = "Adagrad", activation_fn: Any = relu, dropout: float | None = None,
        input_layer_partitioner: Any = None, config: Any = None, warm_start_from: Any = None,
        loss_reduction: str = _SUM, batch_norm: bool = False,
    ) -> None:  # fmt: skip
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = dnn_model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout, input_layer_partitioner, batch_norm
        )
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


class DNNEstimator(Estimator):
    """Fully connected layers over dense feature columns, under a head of your choice."""

    def __init__(
        self, head: Any, hidden_units: Any, feature_columns: Any, model_dir: Any = None, optimizer: Any = "Adagrad",
        activation_fn: Any = relu, dropout: float | None = None, input_layer_partitioner: Any = None,
        config: Any = None, warm_start_from: Any = None, batch_norm: bool = False,
    ) -> None:  # fmt: skip
        model_fn = dnn_model_fn(
            _checked_head(head), hidden_units, feature_columns, optimizer, activation_fn, dropout,
            input_layer_partitioner, batch_norm,
        )  # fmt: skip
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


# ---- weighted sums


class LinearClassifier(Estimator):
    """Classes by a weighted sum of feature columns of any kind."""

    def __init__(
        self, feature_columns: Any, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None,
        label_vocabulary: Any = None, optimizer: Any = "Ftrl", config: Any = None, partitioner: Any = None,
        warm_start_from: Any = None, loss_reduction: str = _SUM, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        head = _class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = linear_model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


class LinearRegressor(Estimator):
    """Numbers by a weighted sum of feature columns of any kind."""

    def __init__(
        self, feature_columns: Any, model_dir: Any = None, label_dimension: int = 1, weight_column: Any = None,
        optimizer: Any = "Ftrl", config: Any = None, partitioner: Any = None, warm_start_from: Any = None,
        loss_reduction: str = _SUM, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = linear_model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


class LinearEstimator(Estimator):
    """A weighted sum of feature columns, under a head of your choice."""

    def __init__(
        self, head: Any, feature_columns: Any, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None,
        partitioner: Any = None, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        model_fn = linear_model_fn(_checked_head(head), feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir=model_dir, config=config)


# ---- wide and deep


class DNNLinearCombinedClassifier(Estimator):
    """Classes by the sum of a linear model and fully connected layers, each with an optimizer of its own."""

    def __init__(
        self, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None, dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu, dnn_dropout: float | None = None, n_classes: int = 2, weight_column: Any = None,
        label_vocabulary: Any = None, input_layer_partitioner: Any = None, config: Any = None,
        warm_start_from: Any = None, loss_reduction: str = _SUM, batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        model_fn = combined_model_fn(
            _class_head(n_classes, weight_column, label_vocabulary, loss_reduction), linear_feature_columns,
            linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
            input_layer_partitioner, batch_norm, linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


class DNNLinearCombinedRegressor(Estimator):
    """Numbers by the sum of a linear model and fully connected layers, each with an optimizer of its own."""

    def __init__(
        self, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None, dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu, dnn_dropout: float | None = None, label_dimension: int = 1,
        weight_column: Any = None, input_layer_partitioner: Any = None, config: Any = None,
        warm_start_from: Any = None, loss_reduction: str = _SUM, batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        model_fn = combined_model_fn(
            RegressionHead(label_dimension, weight_column, loss_reduction), linear_feature_columns,
            linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
            input_layer_partitioner, batch_norm, linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


class DNNLinearCombinedEstimator(Estimator):
    """The sum of a linear model and fully connected layers, under a head of your choice."""

    def __init__(
        self, head: Any, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None, dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu, dnn_dropout: float | None = None, input_layer_partitioner: Any = None,
        config: Any = None, linear_sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        model_fn = combined_model_fn(
            _checked_head(head), linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner, False, linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn, model_dir=model_dir, config=config)
