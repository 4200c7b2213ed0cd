"""Variables as Keras makes them: with a value, initialised by the session that Keras computes in."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.library.backend.config import floatx
from headrace.library.backend.session import track_variable
from headrace.library.state.variable import Variable


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """A new variable with a value.

    Args:
      value: An array, a number or a tensor.
      dtype: The type of its elements; None for `floatx`.
      name: A name; None for "Variable".
      constraint: A function of the new value that gives what is stored after an update.

    Returns:
      A resource variable.

    >>> x = tf.keras.backend.variable(np.array([[1, 2], [3, 4]]), dtype="float64")
    >>> tf.keras.backend.get_value(x).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    element_type = dtypes.as_dtype(dtype or floatx())
    made: Any = Variable(value, dtype=element_type, name=name, constraint=constraint, use_resource=True)
    made._keras_shape = np.shape(value) if isinstance(value, np.ndarray) else tuple(made.shape.as_list())
    track_variable(made)
    return made
