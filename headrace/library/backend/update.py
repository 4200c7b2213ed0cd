"""Changes of variables, under Keras's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.library.state import assign
from headrace.library.train.moving_averages import assign_moving_average


def update(x: Any, new_x: Any) -> Any:
    """Sets a variable.

    Args:
      x: A variable.
      new_x: A tensor of its shape.

    Returns:
      An operation or tensor that stands for the change.

    >>> x = tf.keras.backend.variable(1.0)
    >>> tf.keras.backend.get_value(tf.keras.backend.update(x, 5.0))
    np.float32(5.0)
    """
    return assign.assign(x, new_x)


def update_add(x: Any, increment: Any) -> Any:
    """Adds to a variable.

    Args:
      x: A variable.
      increment: A tensor of its shape.

    Returns:
      An operation or tensor that stands for the change.

    >>> x = tf.keras.backend.variable(1.0)
    >>> tf.keras.backend.get_value(tf.keras.backend.update_add(x, 5.0))
    np.float32(6.0)
    """
    return assign.assign_add(x, increment)


def update_sub(x: Any, decrement: Any) -> Any:
    """Subtracts from a variable.

    Args:
      x: A variable.
      decrement: A tensor of its shape.

    Returns:
      An operation or tensor that stands for the change.

    >>> x = tf.keras.backend.variable(1.0)
    >>> tf.keras.backend.get_value(tf.keras.backend.update_sub(x, 5.0))
    np.float32(-4.0)
    """
    return assign.assign_sub(x, decrement)


def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    """Moves a variable, which began at 0, towards a value, so that it is the average of the values so far.

    Args:
      x: A variable.
      value: A tensor of its shape.
      momentum: How much of the old average stays.

    Returns:
      An operation or tensor that stands for the change.

    >>> x = tf.keras.backend.variable(0.0)
    >>> moved = tf.keras.backend.moving_average_update(x, 8.0, 0.5)
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     print(sess.run(moved))
    8.0
    """
    return assign_moving_average(x, value, momentum, zero_debias=True)


def count_params(x: Any) -> int:
    """How many elements a variable or tensor has.

    Args:
      x: A variable or tensor.

    Returns:
      An int.

    >>> tf.keras.backend.count_params(tf.zeros([2, 3]))
    6
    """
    return int(np.prod(x.shape.as_list()))
