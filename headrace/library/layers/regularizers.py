"""Regularizers of Keras (tf.keras.regularizers): callables of a weight or an output that give a scalar loss.

tf.contrib.layers' are functions and live with the variables (``library/state/regularizers.py``).
"""

from __future__ import annotations

from typing import Any

from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers.by_name import NameTable
from headrace.library.layers.named_object import serialize_keras_object
from headrace.library.numeric import math, reduction


class Regularizer:
    """Base class of regularizers.  A subclass overrides ``__call__`` and, to be stored with a layer, ``get_config``.

    >>> class Positive(tf.keras.regularizers.Regularizer):
    ...     def __call__(self, x):
    ...         return tf.reduce_sum(tf.nn.relu(x))
    >>> layer = tf.keras.layers.Dense(4, kernel_regularizer=Positive())
    """

    def __call__(self, x: Any) -> Any:
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as plain data."""
        raise NotImplementedError(f"{type(self).__name__} has no get_config, so that it cannot be stored with a layer")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A regularizer from ``get_config``'s data."""
        return cls(**config)


class L1L2(Regularizer):
    """``l1`` times the sum of absolute values, plus ``l2`` times the sum of squares.

    Args:
      l1: The factor of the absolute values.
      l2: The factor of the squares.

    >>> loss = tf.keras.regularizers.L1L2(l1=1.0, l2=0.5)(tf.constant([3.0, -4.0]))
    >>> tf.Session().run(loss)
    np.float32(19.5)
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1 = _number(l1, "l1")
        self.l2 = _number(l2, "l2")

    def __call__(self, x: Any) -> Tensor:
        x = convert_to_tensor(x)
        terms = []
        if self.l1:
            terms.append(reduction.reduce_sum(abs(x) * self.l1))
        if self.l2:
            terms.append(reduction.reduce_sum(math.square(x) * self.l2))
        if not terms:
            return constant(0.0, x.dtype.base_dtype)
        return terms[0] + terms[1] if len(terms) == 2 else terms[0]

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1, "l2": self.l2}


def _number(value: Any, name: str) -> float:
    try:
        return float(0.0 if value is None else value)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` of a regularizer must be a number. Received: {value!r}") from None


def l1(l: float = 0.01) -> L1L2:  # noqa: E741 - Keras's name
    """The regularizer of absolute values.

    Args:
      l: The factor of the sum of absolute values.

    Returns:
      An L1L2 regularizer.

    >>> tf.Session().run(tf.keras.regularizers.l1(1.0)(tf.constant([3.0, -4.0])))
    np.float32(7.0)
    """
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741 - Keras's name
    """The regularizer of squares.  It is the whole sum of squares, twice ``tf.contrib.layers.l2_regularizer``'s.

    Args:
      l: The factor of the sum of squares.

    Returns:
      An L1L2 regularizer.

    >>> tf.Session().run(tf.keras.regularizers.l2(1.0)(tf.constant([3.0, -4.0])))
    np.float32(25.0)
    """
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """The regularizer of absolute values and squares.

    Args:
      l1: The factor of the sum of absolute values.
      l2: The factor of the sum of squares.

    Returns:
      An L1L2 regularizer.

    >>> tf.Session().run(tf.keras.regularizers.l1_l2(1.0, 1.0)(tf.constant([3.0, -4.0])))
    np.float32(32.0)
    """
    return L1L2(l1=l1, l2=l2)


_TABLE = NameTable("regularizer", {"Regularizer": Regularizer, "L1L2": L1L2, "l1": l1, "l2": l2, "l1_l2": l1_l2})


def serialize(regularizer: Any) -> Any:
    """A regularizer as plain data, which ``deserialize`` takes.

    Args:
      regularizer: The regularizer, or None.

    Returns:
      A dict with the class's name and its configuration; None for None.

    >>> tf.keras.regularizers.serialize(tf.keras.regularizers.l2(0.5))
    {'class_name': 'L1L2', 'config': {'l1': 0.0, 'l2': 0.5}}
    """
    return serialize_keras_object(regularizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The regularizer that a name or ``serialize``'s data describe.

    Args:
      config: A name such as "l2", or a dict with the class's name and its configuration.
      custom_objects: A dict of further names and what they stand for.

    Returns:
      A regularizer.

    >>> tf.keras.regularizers.deserialize({"class_name": "L1L2", "config": {"l1": 0.5}}).l1
    0.5
    """
    return _TABLE.deserialize(config, custom_objects)


def get(identifier: Any) -> Any:
    """What a layer's argument stands for: a regularizer given by its name, its data or itself.

    Args:
      identifier: A name such as "l2" (with the default factor), a dict of ``serialize``, a callable, or None.

    Returns:
      A callable of a tensor; None for None, and for what else is false, since programs pass an empty dict for none.

    >>> tf.keras.regularizers.get("l1").get_config()
    {'l1': 0.01, 'l2': 0.0}
    """
    return _TABLE.get(identifier) if identifier else None
