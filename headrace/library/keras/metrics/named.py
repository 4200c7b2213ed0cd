"""How a metric is found by its name or configuration."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.keras import losses
from headrace.library.keras.metrics import accuracy, counts, curves, of_losses
from headrace.library.keras.metrics.metric import Mean, MeanRelativeError, MeanTensor, Metric, Sum
from headrace.library.layers.named_object import deserialize_keras_object, serialize_keras_object

_FUNCTIONS = (
    accuracy.accuracy, accuracy.binary_accuracy, accuracy.categorical_accuracy, accuracy.sparse_categorical_accuracy,
    accuracy.top_k_categorical_accuracy, accuracy.sparse_top_k_categorical_accuracy,
)  # fmt: skip
_CLASSES = (Mean, Sum, MeanTensor, MeanRelativeError)
NAMED: dict[str, Any] = {
    **{name: loss for name, loss in losses.NAMED.items() if not isinstance(loss, type)},
    **{function.__name__: function for function in _FUNCTIONS},
    **{metric.__name__: metric for metric in _CLASSES},
    **{
        name: found
        for module in (accuracy, counts, curves, of_losses)
        for name, found in vars(module).items()
        if isinstance(found, type) and issubclass(found, Metric) and found.__module__ == module.__name__
    },
}


def serialize(metric: Any) -> Any:
    """What `deserialize` makes the metric from: the name of a function, the configuration of an object.

    Args:
      metric: A `Metric` or a function of labels and predictions.

    Returns:
      A string, or a dict of plain data.

    >>> tf.keras.metrics.serialize(tf.keras.metrics.Mean())['class_name']
    'Mean'
    """
    return serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The metric of a name or a configuration.

    Args:
      config: What `serialize` gave.
      custom_objects: Metrics of one's own by their names.

    Returns:
      A `Metric` or a function of labels and predictions.

    >>> tf.keras.metrics.deserialize('mse') is tf.keras.metrics.mean_squared_error
    True
    """
    return deserialize_keras_object(
        config, module_objects=NAMED, custom_objects=custom_objects, printable_module_name="metric function"
    )


def get(identifier: Any) -> Any:
    """The metric that a name, a configuration or a function stands for.

    Args:
      identifier: A name such as 'mae', what `serialize` gave, or a function of labels and predictions.

    Returns:
      A `Metric` or a function of labels and predictions.

    >>> tf.keras.metrics.get('categorical_accuracy') is tf.keras.metrics.categorical_accuracy
    True
    """
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"a metric is a name, a function or a tf.keras.metrics.Metric, got {identifier!r} {at()}")
