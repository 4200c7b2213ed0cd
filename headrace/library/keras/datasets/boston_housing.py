"""Prices of houses in the suburbs of Boston in the 1970s, with 13 numbers about each place."""

from __future__ import annotations

import numpy as np

from headrace.library.keras.datasets.files import ORIGIN, data_path, read_npz, shuffled

Arrays = tuple[np.ndarray, np.ndarray]


def load_data(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> tuple[Arrays, Arrays]:
    """The training and test set of the Boston housing prices.

    Args:
      path: The path of ``boston_housing.npz``, or its name in ``~/.keras/datasets``. Nothing is downloaded.
      test_split: Which part is the test set.
      seed: The seed of the order.

    Returns:
      Two pairs of features, [number, 13], and prices in thousands of dollars, [number].

    Example: ``(x_train, y_train), (x_test, y_test) = tf.keras.datasets.boston_housing.load_data()``
    """
    if not 0 <= test_split < 1:
        raise ValueError(f"test_split must be at least 0 and below 1, got {test_split}")
    x, y = shuffled(seed, *read_npz(data_path(path, f"{ORIGIN}boston_housing.npz"), ("x", "y")))
    cut = int(len(x) * (1 - test_split))
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])
