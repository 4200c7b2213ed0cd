"""Labels as vectors, and vectors of length one."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> np.ndarray:
    """Turns class numbers into rows with a one at the place of the class and zeros elsewhere.

    Args:
      y: Class numbers from 0, in an array of any shape. A last dimension of 1 is dropped.
      num_classes: The length of a row; None for the largest class number plus 1.
      dtype: The type of the result.

    Returns:
      An array with the shape of `y` and `num_classes` behind it.

    >>> tf.keras.utils.to_categorical([0, 2, 1], num_classes=3)
    array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 1., 0.]], dtype=float32)
    """
    classes = np.array(y, dtype="int")
    shape = classes.shape
    if len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    flat = classes.ravel()
    if not num_classes:
        if not flat.size:
            raise ValueError("`num_classes` must be given where `y` is empty: the largest class is not known")
        num_classes = int(flat.max()) + 1
    rows = np.zeros((flat.size, num_classes), dtype=dtype)
    rows[np.arange(flat.size), flat] = 1
    return rows.reshape((*shape, num_classes))


def normalize(x: Any, axis: int = -1, order: int = 2) -> np.ndarray:
    """Divides vectors by their length; vectors of zeros stay zero.

    Args:
      x: An array.
      axis: The axis along which the vectors lie.
      order: The order of the norm that is the length: 2 for Euclid's, 1 for the sum of absolute values.

    Returns:
      An array of the shape of `x`.

    >>> tf.keras.utils.normalize(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    lengths = np.atleast_1d(np.linalg.norm(x, order, axis))
    lengths[lengths == 0] = 1
    return x / np.expand_dims(lengths, axis)
