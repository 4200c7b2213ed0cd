"""Samples that the families of ops have in common."""

from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.library.testing.opcheck import Sample


def plain(*inputs: Any, **attrs: Any) -> Sample:
    """One without a gradient."""
    return Sample(inputs, attrs, gradient=False)


def wrong(*inputs: Any, error: Any = InvalidArgumentError, **attrs: Any) -> Sample:
    """One that is refused."""
    return Sample(inputs, attrs, error=error)


def words(*values: Any, shape: Any = None) -> np.ndarray:
    """An array of strings."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made if shape is None else made.reshape(shape)


def word(value: Any) -> np.ndarray:
    return words(value, shape=())
