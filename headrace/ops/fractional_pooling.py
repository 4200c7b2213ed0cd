"""Pools whose windows have random sizes, by Graham's "Fractional Max-Pooling": FractionalMaxPool, FractionalAvgPool.

The edges of the windows along rows and columns are drawn again in every step; they are outputs too, which the gradients use.
"""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np
import torch

from headrace.core.dtypes import float32, float64, int32, int64
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.shared.refuse import expect_shape, expect_sizes
from headrace.resources.state.node_state import Resumable, numpy_state, resume_numpy

_TYPES = (float32, float64, int32, int64)
_ATTRS = (
    "pooling_ratio: list(float), pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False, "
    "seed: int = 0, seed2: int = 0"
)
_OUT = "(output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)"


def _edges(size, count, pseudo_random, random):
    """Where each window begins, and the end of the last."""
    if not 0 < count <= size:
        raise ValueError(f"pooling_ratio must leave 1 to {size} windows of {size} elements, it leaves {count}")
    if size % count == 0:
        return list(range(0, size + 1, size // count))
    if pseudo_random:
        alpha, small = size / count, size // count
        most = min((small + 2) / alpha - 1, (size + 1 - small) / alpha - (count - 1))
        start = random.uniform(0.0, most)
        inner = [math.ceil(alpha * (i + start)) - 1 for i in range(1, count)]
        return [0, *inner, size]
    widths = np.full(count, size // count)
    widths[: size % count] += 1
    random.shuffle(widths)
    return [0, *np.cumsum(widths).tolist()]


def _check_edges(label, edges, windows, size):
    """One edge more than windows, rising, within the input."""
    if len(edges) != windows + 1 or list(edges) != sorted(edges) or edges[0] < 0 or edges[-1] > size:
        raise ValueError(
            f"{label} must hold {windows + 1} rising numbers from 0 to {size}, one more than out_backprop has there, got "
            f"{list(edges)}"
        )


def _check_gradient(shape, grad, row_edges, column_edges):
    if len(shape) != 4:
        raise ValueError(f"the original input must be 4-dimensional, got shape {list(shape)}")
    expect_sizes("orig_input_tensor_shape", shape)
    if grad.shape[0] != shape[0] or grad.shape[3] != shape[3]:
        raise ValueError(f"out_backprop of shape {list(grad.shape)} does not fit an input of shape {list(shape)}")
    _check_edges("row_pooling_sequence", row_edges, grad.shape[1], shape[1])
    _check_edges("col_pooling_sequence", column_edges, grad.shape[2], shape[2])


def _windows(edges, overlapping, device):
    """[windows, longest]: the elements of each window, and which of them count.  Shorter windows repeat their last element."""
    last = edges[-1] - 1
    ends = [min(e, last) if overlapping else e - 1 for e in edges[1:]]
    starts = edges[:-1]
    longest = max(e - s + 1 for s, e in zip(starts, ends, strict=True))
    places = [[min(s + i, e) for i in range(longest)] for s, e in zip(starts, ends, strict=True)]
    counted = [[s + i <= e for i in range(longest)] for s, e in zip(starts, ends, strict=True)]
    return torch.tensor(places, device=device), torch.tensor(counted, device=device)


def _gathered(value, rows, columns):
    """[batch, rows, columns, depth, window height * window width]"""
    batch, _, _, depth = value.shape
    tall, wide = rows.shape[1], columns.shape[1]
    elements = value.index_select(1, rows.reshape(-1)).index_select(2, columns.reshape(-1))
    elements = elements.reshape(batch, len(rows), tall, len(columns), wide, depth).permute(0, 1, 3, 5, 2, 4)
    return elements.reshape(batch, len(rows), len(columns), depth, tall * wide)


def _weights(rows_counted, columns_counted):
    """[rows, columns, window height * window width]: which elements count."""
    both = rows_counted[:, None, :, None] & columns_counted[None, :, None, :]
    return both.reshape(len(rows_counted), len(columns_counted), -1)


def _avg(value, rows, columns):
    weights = _weights(rows[1], columns[1])[None, :, :, None]
    total = (_gathered(value, rows[0], columns[0]) * weights).sum(-1)
    count = weights.sum(-1)
    return total / count if value.is_floating_point() else torch.div(total, count, rounding_mode="trunc")


class _Drawn(Resumable):
    """The generator of one node, and the regions that a ``deterministic`` one has drawn, by the size of the input."""

    def __init__(self, random):
        self.random, self.edges = random, {}

    def saved(self) -> bytes:
        edges = [[*size, [[int(n) for n in axis] for axis in drawn]] for size, drawn in list(self.edges.items())]
        return json.dumps([numpy_state(self.random).decode(), edges]).encode()

    def resume(self, data: bytes) -> None:
        random, edges = json.loads(data)
        resume_numpy(self.random, random.encode())
        self.edges = {(rows, columns): drawn for rows, columns, drawn in edges}


def _pool(name, reduce):
    definition = op(
        f"{name}(value: T[4]; {_ATTRS}) -> {_OUT}", T=_TYPES, random=True, stateful=True, opaque=True, lenient=True
    )

    @definition.shape
    def _(value, pooling_ratio, *rest):
        if len(pooling_ratio) != 4 or pooling_ratio[0] != 1 or pooling_ratio[3] != 1:
            raise ValueError(f"pooling_ratio must be [1, rows, columns, 1], got {list(pooling_ratio)}")
        if min(pooling_ratio) < 1:
            raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {min(pooling_ratio)}")
        dims = value.with_rank(4).tuple
        sizes = [None if d is None else math.floor(d / r) for d, r in zip(dims, pooling_ratio, strict=True)]
        return [tuple(sizes), *((None if s is None else s + 1,) for s in sizes[1:3])]

    @definition.state
    def _(context):
        seeds = context.attrs["seed"], context.attrs["seed2"]
        digest = hashlib.blake2b(f"{seeds[0]},{seeds[1]}".encode(), digest_size=8).digest()
        return _Drawn(np.random.default_rng(int.from_bytes(digest, "little") if any(seeds) else None))

    @definition.kernel
    def _(value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, *, state):
        key = tuple(value.shape[1:3])
        axis_edges = state.edges.get(key) if deterministic else None
        if axis_edges is None:
            axis_edges = [
                _edges(size, math.floor(size / ratio), pseudo_random, state.random)
                for size, ratio in zip(key, pooling_ratio[1:3], strict=True)
            ]
            if deterministic:
                axis_edges = state.edges.setdefault(key, axis_edges)
        windows = [_windows(edges, overlapping, value.device) for edges in axis_edges]
        return reduce(value, *windows), *(torch.tensor(edges, device=value.device) for edges in axis_edges)

    return definition


max_pool = _pool("FractionalMaxPool", lambda value, rows, columns: _gathered(value, rows[0], columns[0]).amax(-1))
avg_pool = _pool("FractionalAvgPool", _avg)
_SEQUENCES = "row_pooling_sequence: host int64[1], col_pooling_sequence: host int64[1]; overlapping: bool = False"


@max_pool.gradient
def _(node, grad, *rest):
    return [
        raw_ops.FractionalMaxPoolGrad(
            node.inputs[0], node.outputs[0], grad, node.outputs[1], node.outputs[2],
            overlapping=node.attrs["overlapping"],
        )
    ]  # fmt: skip


@avg_pool.gradient
def _(node, grad, *rest):
    shape = raw_ops.Shape(node.inputs[0], out_type=int64)
    return [
        raw_ops.FractionalAvgPoolGrad(
            shape, grad, node.outputs[1], node.outputs[2], overlapping=node.attrs["overlapping"]
        )
    ]


def _spread(parts, shape, rows, columns):
    """Adds up, at each input, the parts [batch, rows, columns, depth, window] of the windows it is in."""
    batch, height, width, depth = shape
    flat = (rows[:, None, :, None] * width + columns[None, :, None, :]).reshape(-1)
    parts = parts.permute(0, 1, 2, 4, 3).reshape(batch, -1, depth)
    return parts.new_zeros((batch, height * width, depth)).index_add(1, flat, parts).reshape(shape)


max_grad = op(
    f"FractionalMaxPoolGrad(orig_input: T[4], orig_output: T[4], out_backprop: T[4], {_SEQUENCES}) -> (output: T)",
    T=_TYPES,
    opaque=True,
    lenient=True,
)
max_grad.shape(lambda orig_input, *rest: orig_input.with_rank(4))


@max_grad.refuse
def _(orig_input, orig_output, grad, row_edges, column_edges, overlapping):
    expect_shape("out_backprop", grad, orig_output.shape)
    _check_gradient(orig_input.shape, grad, row_edges, column_edges)


@max_grad.kernel
def _(orig_input, orig_output, grad, row_edges, column_edges, overlapping):
    rows, _ = _windows(row_edges, overlapping, grad.device)
    columns, _ = _windows(column_edges, overlapping, grad.device)
    elements = _gathered(orig_input, rows, columns)
    equal = elements == orig_output[..., None]
    first = equal & (equal.cumsum(-1) == 1)
    return _spread(first * grad[..., None], orig_input.shape, rows, columns)


avg_grad = op(
    f"FractionalAvgPoolGrad(orig_input_tensor_shape: host int64[1], out_backprop: T[4], {_SEQUENCES}) -> (output: T)",
    T=_TYPES, opaque=True,
)  # fmt: skip
avg_grad.shape(lambda orig_input_tensor_shape, *rest: orig_input_tensor_shape)


avg_grad.refuse(lambda shape, grad, rows, columns, overlapping: _check_gradient(shape, grad, rows, columns))


@avg_grad.kernel
def _(shape, grad, row_edges, column_edges, overlapping):
    rows, rows_counted = _windows(row_edges, overlapping, grad.device)
    columns, columns_counted = _windows(column_edges, overlapping, grad.device)
    weights = _weights(rows_counted, columns_counted)[None, :, :, None]
    count = weights.sum(-1, keepdim=True)
    share = (
        grad[..., None] / count
        if grad.is_floating_point()
        else torch.div(grad[..., None], count, rounding_mode="trunc")
    )
    return _spread(share * weights, tuple(shape), rows, columns)
