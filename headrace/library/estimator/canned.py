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

    Args:
      hidden_units: The number of units of each hidden layer, a list.
      feature_columns: The feature columns of the model.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      n_classes: The number of classes; 2 has one logit.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      label_vocabulary: The names of the classes, a list, where labels are strings; None for labels from 0.
      optimizer: A `tf.train.Optimizer`, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
      activation_fn: The function after each hidden layer.
      dropout: The part of the hidden units that is dropped in training; None for none.
      input_layer_partitioner: How to split the variables of the input; None for whole ones.
      config: A `tf.estimator.RunConfig`; None for the default one.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      batch_norm: Whether each hidden layer is followed by batch normalization.

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
    """Numbers by fully connected layers over dense feature columns.

    Args:
      hidden_units: The number of units of each hidden layer, a list.
      feature_columns: The feature columns of the model.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      label_dimension: How many numbers are predicted for each example.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      optimizer: A `tf.train.Optimizer`, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
      activation_fn: The function after each hidden layer.
      dropout: The part of the hidden units that is dropped in training; None for none.
      input_layer_partitioner: How to split the variables of the input; None for whole ones.
      config: A `tf.estimator.RunConfig`; None for the default one.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      batch_norm: Whether each hidden layer is followed by batch normalization.

    >>> price = tf.feature_column.numeric_column('price')
    >>> estimator = tf.estimator.DNNRegressor([8, 4], [price], model_dir='/tmp/model')
    """

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
    """Fully connected layers over dense feature columns, under a head of your choice.

    Args:
      head: A `tf.estimator.Head`, which makes losses, metrics and predictions of logits.
      hidden_units: The number of units of each hidden layer, a list.
      feature_columns: The feature columns of the model.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      optimizer: A `tf.train.Optimizer`, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
      activation_fn: The function after each hidden layer.
      dropout: The part of the hidden units that is dropped in training; None for none.
      input_layer_partitioner: How to split the variables of the input; None for whole ones.
      config: A `tf.estimator.RunConfig`; None for the default one.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.
      batch_norm: Whether each hidden layer is followed by batch normalization.

    >>> price, head = tf.feature_column.numeric_column('price'), tf.estimator.RegressionHead()
    >>> estimator = tf.estimator.DNNEstimator(head, [8, 4], [price], model_dir='/tmp/model')
    """

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
    """Classes by a weighted sum of feature columns of any kind.

    Args:
      feature_columns: The feature columns of the model.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      n_classes: The number of classes; 2 has one logit.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      label_vocabulary: The names of the classes, a list, where labels are strings; None for labels from 0.
      optimizer: A `tf.train.Optimizer`, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
      config: A `tf.estimator.RunConfig`; None for the default one.
      partitioner: How to split the variables of the input; None for whole ones.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      sparse_combiner: How the categories of one row are combined: "sum", "mean" or "sqrtn".

    >>> price = tf.feature_column.numeric_column('price')
    >>> estimator = tf.estimator.LinearClassifier([price], model_dir='/tmp/model', n_classes=3)
    """

    def __init__(
        self, feature_columns: Any, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None,
        label_vocabulary: Any = None, optimizer: Any = "Ftrl", config: Any = None, partitioner: Any = None,
        warm_start_from: Any = None, loss_reduction: str = _SUM, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        head = _class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = linear_model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


class LinearRegressor(Estimator):
    """Numbers by a weighted sum of feature columns of any kind.

    Args:
      feature_columns: The feature columns of the model.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      label_dimension: How many numbers are predicted for each example.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      optimizer: A `tf.train.Optimizer`, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
      config: A `tf.estimator.RunConfig`; None for the default one.
      partitioner: How to split the variables of the input; None for whole ones.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      sparse_combiner: How the categories of one row are combined: "sum", "mean" or "sqrtn".

    >>> price = tf.feature_column.numeric_column('price')
    >>> estimator = tf.estimator.LinearRegressor([price], model_dir='/tmp/model')
    """

    def __init__(
        self, feature_columns: Any, model_dir: Any = None, label_dimension: int = 1, weight_column: Any = None,
        optimizer: Any = "Ftrl", config: Any = None, partitioner: Any = None, warm_start_from: Any = None,
        loss_reduction: str = _SUM, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = linear_model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


class LinearEstimator(Estimator):
    """A weighted sum of feature columns, under a head of your choice.

    Args:
      head: A `tf.estimator.Head`, which makes losses, metrics and predictions of logits.
      feature_columns: The feature columns of the model.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      optimizer: A `tf.train.Optimizer`, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
      config: A `tf.estimator.RunConfig`; None for the default one.
      partitioner: How to split the variables of the input; None for whole ones.
      sparse_combiner: How the categories of one row are combined: "sum", "mean" or "sqrtn".

    >>> price, head = tf.feature_column.numeric_column('price'), tf.estimator.RegressionHead()
    >>> estimator = tf.estimator.LinearEstimator(head, [price], model_dir='/tmp/model')
    """

    def __init__(
        self, head: Any, feature_columns: Any, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None,
        partitioner: Any = None, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        model_fn = linear_model_fn(_checked_head(head), feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir=model_dir, config=config)


# ---- wide and deep


class DNNLinearCombinedClassifier(Estimator):
    """Classes by the sum of a linear model and fully connected layers, each with an optimizer of its own.

    Args:
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      linear_feature_columns: The feature columns of the linear model; None for none.
      linear_optimizer: The optimizer of the linear model: an object, a function that returns one, or a name.
      dnn_feature_columns: The feature columns of the layers; None for none.
      dnn_optimizer: The optimizer of the layers: an object, a function that returns one, or a name.
      dnn_hidden_units: The number of units of each hidden layer, a list.
      dnn_activation_fn: The function after each hidden layer.
      dnn_dropout: The part of the hidden units that is dropped in training; None for none.
      n_classes: The number of classes; 2 has one logit.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      label_vocabulary: The names of the classes, a list, where labels are strings; None for labels from 0.
      input_layer_partitioner: How to split the variables of the input; None for whole ones.
      config: A `tf.estimator.RunConfig`; None for the default one.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      batch_norm: Whether each hidden layer is followed by batch normalization.
      linear_sparse_combiner: How the categories of one row are combined in the linear model: "sum", "mean" or "sqrtn".

    >>> price, age = (tf.feature_column.numeric_column(key) for key in ('price', 'age'))
    >>> estimator = tf.estimator.DNNLinearCombinedClassifier(
    ...     '/tmp/model', linear_feature_columns=[price], dnn_feature_columns=[age], dnn_hidden_units=[8])
    """

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
    """Numbers by the sum of a linear model and fully connected layers, each with an optimizer of its own.

    Args:
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      linear_feature_columns: The feature columns of the linear model; None for none.
      linear_optimizer: The optimizer of the linear model: an object, a function that returns one, or a name.
      dnn_feature_columns: The feature columns of the layers; None for none.
      dnn_optimizer: The optimizer of the layers: an object, a function that returns one, or a name.
      dnn_hidden_units: The number of units of each hidden layer, a list.
      dnn_activation_fn: The function after each hidden layer.
      dnn_dropout: The part of the hidden units that is dropped in training; None for none.
      label_dimension: How many numbers are predicted for each example.
      weight_column: The name of a feature, or a numeric column, that weights examples; None to weight all the same.
      input_layer_partitioner: How to split the variables of the input; None for whole ones.
      config: A `tf.estimator.RunConfig`; None for the default one.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.
      loss_reduction: How the losses of a batch become one, a constant of ``tf.losses.Reduction``.
      batch_norm: Whether each hidden layer is followed by batch normalization.
      linear_sparse_combiner: How the categories of one row are combined in the linear model: "sum", "mean" or "sqrtn".

    >>> price, age = (tf.feature_column.numeric_column(key) for key in ('price', 'age'))
    >>> estimator = tf.estimator.DNNLinearCombinedRegressor(
    ...     '/tmp/model', linear_feature_columns=[price], dnn_feature_columns=[age], dnn_hidden_units=[8])
    """

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
    """The sum of a linear model and fully connected layers, under a head of your choice.

    Args:
      head: A `tf.estimator.Head`, which makes losses, metrics and predictions of logits.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      linear_feature_columns: The feature columns of the linear model; None for none.
      linear_optimizer: The optimizer of the linear model: an object, a function that returns one, or a name.
      dnn_feature_columns: The feature columns of the layers; None for none.
      dnn_optimizer: The optimizer of the layers: an object, a function that returns one, or a name.
      dnn_hidden_units: The number of units of each hidden layer, a list.
      dnn_activation_fn: The function after each hidden layer.
      dnn_dropout: The part of the hidden units that is dropped in training; None for none.
      input_layer_partitioner: How to split the variables of the input; None for whole ones.
      config: A `tf.estimator.RunConfig`; None for the default one.
      linear_sparse_combiner: How the categories of one row are combined in the linear model: "sum", "mean" or "sqrtn".

    >>> price, age = (tf.feature_column.numeric_column(key) for key in ('price', 'age'))
    >>> estimator = tf.estimator.DNNLinearCombinedEstimator(
    ...     tf.estimator.RegressionHead(), '/tmp/model', [price], dnn_feature_columns=[age], dnn_hidden_units=[8])
    """

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
