"""Whether two bodies are the same function: node for node, whatever the nodes are called."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.body import FuncGraph
from headrace.graph.operation import Tensor

Pairs = dict[Tensor, Tensor]  # a tensor of the one -> the tensor of the other that is computed alike


def equal_bodies(one: FuncGraph, other: FuncGraph, outer: Pairs | None = None) -> bool:
    """Whether both take the same arguments and the same outer tensors and compute the same of them.

    ``outer`` are the pairs of the bodies around these two; without, what both capture must be the very same tensors.
    """
    if len(one._nodes) != len(other._nodes) or len(one.args) != len(other.args):
        return False
    pairs = dict(outer or {})
    if [pairs.get(t, t) for t in one.captures] != list(other.captures):
        return False
    for a, b in zip(one._nodes, other._nodes, strict=True):
        same = a.op_def is b.op_def and len(a.outputs) == len(b.outputs) and a.device == b.device
        if not same or not _paired(a.inputs, b.inputs, pairs) or not _equal(a._attrs, b._attrs, pairs):
            return False
        pairs.update(zip(a.outputs, b.outputs, strict=True))
    return _paired(one.outputs, other.outputs, pairs)


def _paired(one: Any, other: Any, pairs: Pairs) -> bool:
    return [pairs.get(t) for t in one] == list(other)


def _equal(one: Any, other: Any, pairs: Pairs) -> bool:
    """Whether two attributes are equal, bodies and arrays included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, FuncGraph):
        return equal_bodies(one, other, pairs)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key], pairs) for key, value in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(_equal(a, b, pairs) for a, b in zip(one, other, strict=True))
    return bool(one == other)
