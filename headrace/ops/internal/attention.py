"""Attention as one op, and its gradients as another (passes/attention.py).  Accelerators have a kernel for each."""

from __future__ import annotations

import torch

from headrace.core.dtypes import FLOATING
from headrace.core.registry import op

_attention = op(
    "_Attention(query: T, key: T, value: T, mask: N*T; scale: float, causal: bool = False) -> (output: T)",
    T=FLOATING, N=0,
)  # fmt: skip
_attention_grad = op(
    "_AttentionGrad(query: T, key: T, value: T, grad: T, mask: N*T; scale: float, causal: bool = False)"
    " -> (query_grad: T, key_grad: T, value_grad: T)",
    T=FLOATING, N=0,
)  # fmt: skip


def _attend(query, key, value, mask, scale, causal):
    rank = query.dim()
    if rank == 3:
        query, key, value = query[None], key[None], value[None]
    added = mask[0] if mask else None
    if added is not None and added.dim() < 4:
        added = added.reshape((1,) * (4 - added.dim()) + tuple(added.shape))
    result = torch.nn.functional.scaled_dot_product_attention(query, key, value, added, 0.0, causal, scale=scale)
    return result[0] if rank == 3 else result


@_attention.shape
def _(query, key, value, mask, scale, causal):
    return query.tuple[:-1] + value.tuple[-1:] if query.tuple is not None and value.tuple is not None else query


@_attention.kernel
def _(query, key, value, mask, scale, causal):
    return _attend(query, key, value, mask, scale, causal)


@_attention_grad.shape
def _(query, key, value, grad, mask, scale, causal):
    return [query, key, value]


@_attention_grad.kernel
def _(query, key, value, grad, mask, scale, causal):
    """Computes forward once more: the kernel needs what it found there, and keeping that costs more."""
    _, slopes = torch.func.vjp(lambda q, k, v: _attend(q, k, v, mask, scale, causal), query, key, value)
    return slopes(grad)
