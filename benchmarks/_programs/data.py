"""Made-up data of the shapes that such programs read; the same in every framework."""

import numpy as np


def images(count, size=28, classes=10, seed=0):
    """Pictures of `classes` kinds, each a pattern of its own under noise, and their labels."""
    random = np.random.RandomState(seed)
    patterns = random.rand(classes, size * size).astype(np.float32)
    labels = random.randint(0, classes, count)
    noise = random.rand(count, size * size).astype(np.float32)
    return 0.5 * patterns[labels] + 0.5 * noise, labels


def batches(arrays, size, steps, seed=0):
    """Batches drawn by lot from arrays of equal length."""
    random = np.random.RandomState(seed)
    for _ in range(steps):
        rows = random.randint(0, len(arrays[0]), size)
        yield [array[rows] for array in arrays]


def one_hot(labels, classes=10):
    """A row for each label."""
    return np.eye(classes, dtype=np.float32)[labels]
