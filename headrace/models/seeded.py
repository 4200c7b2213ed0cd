"""Initial values and example batches as NumPy arrays that depend on a seed and a name only.

A framework that asks for the value of "conv1/kernel" gets the same numbers as any other, in whatever order variables are
made: that is what makes the losses of two implementations comparable. This module knows NumPy only.
"""

import math
import zlib

import numpy as np


def initial_value(name, shape, seed=0):
    """The initial value of a variable, by the last part of its name.

    `kernel`: normal with variance 2 / fan-in, a tenth as wide before a softmax (`logits`), so that losses start near
    that of a guess; `table`: uniform in +-0.05; `gamma` and `moving_variance`: ones; others zeros.
    """
    scope, _, role = name.rpartition("/")
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if role == "kernel":
        scale = math.sqrt(2.0 / math.prod(shape[:-1])) * (0.1 if scope.endswith("logits") else 1.0)
        return random.standard_normal(shape, np.float32) * np.float32(scale)
    if role == "table":
        return (random.random(shape, np.float32) - np.float32(0.5)) * np.float32(0.1)
    if role in ("gamma", "moving_variance"):
        return np.ones(shape, np.float32)
    return np.zeros(shape, np.float32)


def images(batch, height, width, channels, classes, seed=0):
    """Random pictures `[batch, height, width, channels]` and their labels `[batch]`."""
    random = np.random.default_rng(seed)
    pictures = random.standard_normal((batch, height, width, channels), np.float32)
    return pictures, random.integers(0, classes, batch, np.int32)


def vectors(batch, width, classes, seed=0):
    """Random rows `[batch, width]` and their labels `[batch]`."""
    random = np.random.default_rng(seed)
    return random.standard_normal((batch, width), np.float32), random.integers(0, classes, batch, np.int32)


def tokens(batch, steps, vocabulary, seed=0):
    """Random sequences of words `[batch, steps]` and, for every word, the one after it."""
    words = np.random.default_rng(seed).integers(0, vocabulary, (batch, steps + 1), np.int32)
    return np.ascontiguousarray(words[:, :-1]), np.ascontiguousarray(words[:, 1:])
