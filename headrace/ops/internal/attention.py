"""Attention as one op, and its gradients as another (passes/attention.py).  Accelerators have a kernel for each."""

from __future__ import annotations

import torch

from headrace.core.dtypes import FLOATING
from headrace.core.registry import op
from headrace.ops.internal.opaque import is_traced
from headrace.resources.calling import torch_names
from headrace.resources.calling.torch_op import defines, torch_op

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


# ---- with what the gradient needs, so that it does not compute forward once more, and with dropout on the softmax.
# The node has no seed: torch's generator for the device draws.

_forward_op = op(
    "_AttentionForward(query: T, key: T, value: T, mask: N*T; scale: float, causal: bool = False, rate: float = 0.0)"
    " -> (output: T, log_sum: float32, seed: int64, offset: int64)",
    T=FLOATING, N=0, random=True, stateful=True,
)  # fmt: skip
_backward_op = op(
    "_AttentionBackward(query: T, key: T, value: T, grad: T, output: T, log_sum: float32, seed: int64, offset: int64,"
    " mask: N*T; scale: float, causal: bool = False, rate: float = 0.0) -> (query_grad: T, key_grad: T, value_grad: T)",
    T=FLOATING, N=0,
)  # fmt: skip
_ROWS, _ALIGNED = 32, 8  # torch rounds the number of sums up to the one, and takes masks of multiples of the other


def _sums(rows):
    """How many sums there are for so many queries."""
    return None if rows is None else -(-rows // _ROWS) * _ROWS


@_forward_op.shape
def _(query, key, value, mask, scale, causal, rate):
    if query.tuple is None or value.tuple is None:
        return [query, None, [], []]
    *outer, rows, _ = query.tuple
    return [query.tuple[:-1] + value.tuple[-1:], [1, *outer][-2:] + [_sums(rows)], [], []]


@_backward_op.shape
def _(query, key, value, grad, output, log_sum, seed, offset, mask, scale, causal, rate):
    return [query, key, value]


def _takes_cudnn(query, key, value, mask, causal, rate):
    """Whether torch's attention by cuDNN, the fastest, takes these."""
    cuda = torch.backends.cuda
    return cuda.can_use_cudnn_attention(cuda.SDPAParams(query, key, value, mask, rate, causal, False))


def _forward(query, key, value, mask, scale, causal, rate):
    query, key, value, mask = _dense(query), _dense(key), _dense(value), _spread(mask, key)
    if _takes_cudnn(query, key, value, mask, causal, rate):
        found = torch_names.cudnn_attention[0](query, key, value, mask, True, rate, causal, scale=scale)
        output, log_sum, seed, offset = found[0], found[1][..., 0], found[6], found[7]
        log_sum = torch.nn.functional.pad(log_sum, (0, _sums(query.shape[2]) - query.shape[2]))
    else:
        mask = _repeated(mask, query, key)
        forward = torch_names.attention[0]
        output, log_sum, seed, offset = forward(query, key, value, mask, True, rate, causal, scale=scale)
    return _by_rows(output), log_sum, seed, offset


def _backward(query, key, value, grad, output, log_sum, seed, offset, mask, scale, causal, rate):
    query, key, value, mask = _dense(query), _dense(key), _dense(value), _spread(mask, key)
    grad, output = _by_rows(grad), _by_rows(output)
    if _takes_cudnn(query, key, value, mask, causal, rate):
        sizes = query.shape[2], key.shape[2]
        sums = log_sum[..., : sizes[0], None].contiguous()
        grads = torch_names.cudnn_attention[1](
            grad, query, key, value, output, sums, seed, offset, mask, None, None, *sizes, rate, causal, scale=scale
        )  # fmt: skip
    else:
        if rate and not torch.cuda.is_current_stream_capturing():
            seed, offset = seed.cpu(), offset.cpu()  # torch reads them there, unless a graph is captured
        mask = _repeated(mask, query, key)
        asked = [True, True, True, False]
        grads = torch_names.attention[1](
            grad, query, key, value, mask, output, log_sum, seed, offset, rate, asked, causal, scale=scale
        )[:3]  # fmt: skip
    return tuple(_by_rows(one) for one in grads)


def _fake_forward(query, key, value, mask, scale, causal, rate):
    batch, heads, rows, _ = query.shape
    output = _like_rows(query, value.shape[-1])
    sums = query.new_empty((batch, heads, _sums(rows)), dtype=torch.float32)
    return output, sums, *(query.new_empty((), dtype=torch.int64) for _ in range(2))


def _fake_backward(query, key, value, *others):
    return tuple(_like_rows(one, one.shape[-1]) for one in (query, key, value))


def _by_rows(x):
    """In memory row by row, the heads of a row side by side, as the product after it reads them."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def _like_rows(x, width):
    batch, heads, rows, _ = x.shape
    return x.new_empty((batch, rows, heads, width)).transpose(1, 2)


def _dense(x):
    """With rows that lie in one piece."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _spread(mask, key):
    """The mask with four axes, and a number for every key."""
    if mask is None:
        return None
    mask = mask.reshape((1,) * (4 - mask.dim()) + tuple(mask.shape))
    return _dense(mask.expand(*mask.shape[:3], key.shape[2]))


def _repeated(mask, query, key):
    """The mask repeated for every score, without a copy if its rows begin where torch takes them."""
    if mask is None:
        return None
    count = key.shape[2]
    if any(n % _ALIGNED for n in (count, mask.storage_offset(), *mask.stride()[:3])):
        mask = torch.nn.functional.pad(mask, (0, -count % _ALIGNED)).contiguous()[..., :count]
    return mask.expand(*query.shape[:3], count)


@defines("attention_forward", "attention_backward")
def _custom():
    """The calls that a compiler sees, made on first use."""
    tensors, options = "Tensor query, Tensor key, Tensor value", "Tensor? mask, float scale, bool causal, float rate"
    known = "Tensor grad, Tensor output, Tensor log_sum, Tensor seed, Tensor offset"
    forward = f"attention_forward({tensors}, {options}) -> (Tensor, Tensor, Tensor, Tensor)"
    backward = f"attention_backward({tensors}, {known}, {options}) -> (Tensor, Tensor, Tensor)"
    return torch_op(forward, _forward, _fake_forward, draws=True), torch_op(backward, _backward, _fake_backward)


def _four(x):
    """With an axis more, if it has but three."""
    return x if x.dim() == 4 else x[None]


if torch_names.attention is not None and torch_names.cudnn_attention is not None:

    @_forward_op.kernel(device="cuda")
    def _(query, key, value, mask, scale, causal, rate):
        call = _custom()[0] if is_traced(query) else _forward
        tensors = [_four(one) for one in (query, key, value)]
        output, *rest = call(*tensors, mask[0] if mask else None, scale, causal, rate)
        return (output if query.dim() == 4 else output[0]), *rest

    @_backward_op.kernel(device="cuda")
    def _(query, key, value, grad, output, log_sum, seed, offset, mask, scale, causal, rate):
        call = _custom()[1] if is_traced(query) else _backward
        tensors = [_four(one) for one in (query, key, value, grad, output)]
        grads = call(*tensors, log_sum, seed, offset, mask[0] if mask else None, scale, causal, rate)
        return tuple(grads) if query.dim() == 4 else tuple(one[0] for one in grads)
