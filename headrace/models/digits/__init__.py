"""The handwritten digits that ship with Headrace: 1797 grey images of 8 x 8 pixels, ten classes.

Small enough to live in the package, so that demos, examples and tests need no download. The data's origin and licence
are in README.md beside this file. This module knows NumPy only.
"""

from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CLASSES = 10
IMAGE_SHAPE = (8, 8, 1)
_BRIGHTEST = 16


class Examples(NamedTuple):
    """Images as float32 `[n, 8, 8, 1]` between 0 and 1, and their labels as int64 `[n]`."""

    images: NDArray[np.float32]
    labels: NDArray[np.int64]


class Split(NamedTuple):
    """Two disjoint parts that together hold every image once."""

    train: Examples
    test: Examples


def load(test_fraction: float = 0.2, seed: int = 0) -> Split:
    """Returns the digits, shuffled and split; the same arguments always give the same split."""
    if not 0.0 < test_fraction < 1.0:
        raise ValueError(f"test_fraction must lie strictly between 0 and 1, got {test_fraction!r}")
    everything = _read()
    count = len(everything.labels)
    # RandomState, not default_rng: NumPy promises that its stream never changes.
    order = np.random.RandomState(seed).permutation(count)
    held_out = min(max(round(count * test_fraction), 1), count - 1)
    return Split(train=_take(everything, order[held_out:]), test=_take(everything, order[:held_out]))


def _read() -> Examples:
    with (resources.files(__package__) / "digits.npz").open("rb") as file, np.load(file) as arrays:
        pixels, labels = arrays["images"], arrays["labels"]
    images = pixels.reshape(-1, *IMAGE_SHAPE).astype(np.float32) / _BRIGHTEST
    return Examples(images, labels.astype(np.int64))


def _take(examples: Examples, rows: NDArray[np.int64]) -> Examples:
    return Examples(examples.images[rows], examples.labels[rows])
