"""The op families: each op whole (signature, shape, gradient, kernel) in one file.  Importing this registers them all."""

from headrace.ops import (
    _meta,
    _vjp,
    activation,
    constant,
    convolution,
    creation,
    indexing,
    joining,
    pooling,
    random,
    shaping,
    slicing,
    softmax,
    state,
    training,
)

__all__ = [
    "_meta",
    "_vjp",
    "activation",
    "constant",
    "convolution",
    "creation",
    "indexing",
    "joining",
    "pooling",
    "random",
    "shaping",
    "slicing",
    "softmax",
    "state",
    "training",
]
