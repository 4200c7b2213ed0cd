"""How an optimizer is found by its name or configuration."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.keras.optimizers.adagrad import Adadelta, Adagrad
from headrace.library.keras.optimizers.adam import Adam, Adamax, Nadam
from headrace.library.keras.optimizers.ftrl import Ftrl
from headrace.library.keras.optimizers.gradient_descent import SGD
from headrace.library.keras.optimizers.optimizer_v2 import OptimizerV2
from headrace.library.keras.optimizers.rmsprop import RMSprop
from headrace.library.keras.optimizers.tf_optimizer import TFOptimizer
from headrace.library.layers.named_object import deserialize_keras_object, serialize_keras_object
from headrace.library.train.optimizer.optimizer import Optimizer

_CLASSES = (Adadelta, Adagrad, Adam, Adamax, Nadam, RMSprop, SGD, Ftrl)
_NAMED: dict[str, Any] = {optimizer.__name__.lower(): optimizer for optimizer in _CLASSES}


def serialize(optimizer: Any) -> Any:
    """What `deserialize` makes the optimizer from.

    Args:
      optimizer: An optimizer of `tf.keras.optimizers`.

    Returns:
      A dict of plain data.

    >>> tf.keras.optimizers.serialize(tf.keras.optimizers.SGD())['class_name']
    'SGD'
    """
    return serialize_keras_object(optimizer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The optimizer of a configuration.

    Args:
      config: What `serialize` gave.
      custom_objects: Optimizers of one's own by their names.

    Returns:
      An optimizer, with no state yet.

    >>> kept = tf.keras.optimizers.serialize(tf.keras.optimizers.SGD(nesterov=True))
    >>> tf.keras.optimizers.deserialize(kept).nesterov
    True
    """
    name = config.get("class_name", "")
    if name.lower() in _NAMED:  # the case of the letters does not matter
        config = {**config, "class_name": name.lower()}
    return deserialize_keras_object(
        config, module_objects=_NAMED, custom_objects=custom_objects, printable_module_name="optimizer"
    )


def get(identifier: Any) -> Any:
    """The optimizer that a name, a configuration or an optimizer stands for.

    Args:
      identifier: A name such as 'adam', what `serialize` gave, or an optimizer of Keras or of `tf.train`.

    Returns:
      An optimizer of Keras.

    >>> type(tf.keras.optimizers.get('rmsprop')).__name__
    'RMSprop'
    """
    if isinstance(identifier, (OptimizerV2, TFOptimizer)):
        return identifier
    if isinstance(identifier, Optimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise ValueError(
        f"an optimizer is a name, a configuration, or an optimizer of tf.keras.optimizers or tf.train; got {identifier!r} {at()}"
    )
