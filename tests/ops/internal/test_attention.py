"""Attention that hands on what its gradient needs: what torch's kernels are given, and what is made of their results.

The kernels themselves are CUDA's (tests/gpu_check.py).  Here others stand in for them, which hold torch to its conventions.
"""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.ops.internal import attention
from headrace.resources.calling import torch_names

FORWARD, BACKWARD = (REGISTRY.get(name) for name in ("_AttentionForward", "_AttentionBackward"))
CALLS = [one.find_kernel("cuda", {"T": tf.float32}).call for one in (FORWARD, BACKWARD)]
BATCH, HEADS, QUERIES, KEYS, WIDTH, DEPTH = 2, 3, 5, 13, 8, 16
SCALE = 0.25


def tensors(dtype=torch.float64):
    """Queries, keys and values as programs have them: heads side by side in memory; and a gradient in another order."""
    generator = torch.Generator().manual_seed(1)
    sizes = (QUERIES, WIDTH), (KEYS, WIDTH), (KEYS, DEPTH)
    made = [torch.randn(BATCH, n, HEADS, w, generator=generator, dtype=dtype).transpose(1, 2) for n, w in sizes]
    return [*made, torch.randn(BATCH, HEADS, QUERIES, DEPTH, generator=generator, dtype=dtype)]


def plain(query, key, value, mask):
    scores = query @ key.mT * SCALE
    return (scores if mask is None else scores + mask).softmax(-1) @ value


def lies_by_rows(x):
    return x.transpose(1, 2).is_contiguous()


def efficient_forward(query, key, value, mask, with_sums, rate, causal, *, scale):
    assert with_sums and scale == SCALE and all(x.stride(-1) == 1 for x in (query, key, value))
    if mask is not None:
        assert mask.shape == (BATCH, HEADS, QUERIES, KEYS) and mask.stride(-1) == 1
        assert all(n % 8 == 0 for n in mask.stride()[:-1])  # as torch wants it
    sums = torch.full((BATCH, HEADS, 32), 7.0)
    return plain(query, key, value, mask), sums, torch.tensor(3), torch.tensor(4)


def efficient_backward(
    grad, query, key, value, mask, output, sums, seed, offset, rate, wanted, causal, *, scale
):  # fmt: skip
    assert wanted == [True, True, True, False] and sums.shape == (BATCH, HEADS, 32) and (seed, offset) == (3, 4)
    assert lies_by_rows(grad) and lies_by_rows(output)  # else torch's kernel reads beyond them
    _, slopes = torch.func.vjp(lambda q, k, v: plain(q, k, v, mask), query, key, value)
    return *slopes(grad), None


def cudnn_forward(query, key, value, mask, with_sums, rate, causal, *, scale):
    assert mask is None or (mask.dim() == 4 and mask.shape[-1] == KEYS)
    sums = torch.full((BATCH, HEADS, QUERIES, 1), 7.0)
    return plain(query, key, value, mask), sums, None, None, QUERIES, KEYS, torch.tensor(3), torch.tensor(4), None


def cudnn_backward(
    grad, query, key, value, output, sums, seed, offset, mask, first, second, queries, keys, rate, causal, *, scale
):  # fmt: skip
    assert sums.shape == (BATCH, HEADS, QUERIES, 1) and bool((sums == 7.0).all()) and sums.is_contiguous()
    assert (queries, keys, first, second) == (QUERIES, KEYS, None, None)
    _, slopes = torch.func.vjp(lambda q, k, v: plain(q, k, v, mask), query, key, value)
    return slopes(grad)


@pytest.fixture(params=["efficient", "cudnn"])
def library(request, monkeypatch):
    monkeypatch.setattr(torch_names, "attention", (efficient_forward, efficient_backward))
    monkeypatch.setattr(torch_names, "cudnn_attention", (cudnn_forward, cudnn_backward))
    monkeypatch.setattr(attention, "_takes_cudnn", lambda *arguments: request.param == "cudnn")


@pytest.mark.parametrize(
    "mask", [None, (), (KEYS,), (1, 1), (QUERIES, KEYS), (BATCH, 1, 1, KEYS), (BATCH, HEADS, QUERIES, 1)]
)
def test_results_and_gradients(library, mask):
    query, key, value, grad = tensors()
    masks = [] if mask is None else [torch.randn(mask, dtype=torch.float64)]
    results = CALLS[0](query, key, value, masks, SCALE, False, 0.0)
    expected, slopes = torch.func.vjp(lambda q, k, v: plain(q, k, v, masks[0] if masks else None), query, key, value)
    torch.testing.assert_close(results[0], expected)
    assert results[1].shape == (BATCH, HEADS, 32)
    found = CALLS[1](query, key, value, grad, *results, masks, SCALE, False, 0.0)
    for one, other in zip(found, slopes(grad), strict=True):
        torch.testing.assert_close(one, other)
        assert lies_by_rows(one)


def test_one_axis_less(monkeypatch):
    """The batch is the heads of one example."""
    seen = []

    def forward(query, key, value, mask, *others, scale):
        seen.append((query.shape, mask.shape))
        return plain(query, key, value, mask), torch.zeros(1, HEADS, 32), torch.tensor(0), torch.tensor(0)

    monkeypatch.setattr(torch_names, "attention", (forward, None))
    monkeypatch.setattr(attention, "_takes_cudnn", lambda *arguments: False)
    query, key, value, _ = (x[0] for x in tensors())
    mask = torch.randn(QUERIES, KEYS, dtype=torch.float64)
    result = CALLS[0](query, key, value, [mask], SCALE, False, 0.0)[0]
    torch.testing.assert_close(result, plain(query, key, value, mask))
    assert seen == [((1, HEADS, QUERIES, WIDTH), (1, HEADS, QUERIES, KEYS))]


def test_a_mask_of_a_size_that_torch_takes_is_not_copied():
    key = torch.empty(BATCH, HEADS, 16, WIDTH)
    mask = torch.randn(BATCH, 1, 1, 16)
    square = attention._repeated(attention._spread(mask, key), torch.empty(BATCH, HEADS, QUERIES, WIDTH), key)
    assert square.data_ptr() == mask.data_ptr() and square.stride() == (16, 0, 0, 1)


@pytest.mark.parametrize("keys", [16, 13])
def test_a_mask_that_is_part_of_another_is_copied(keys):
    """Its rows begin at places that torch's kernel does not take."""
    key = torch.empty(BATCH, HEADS, keys, WIDTH)
    whole = torch.randn(1, 1, QUERIES + 1, 21)
    for part in (whole[..., 1:, 3 : 3 + keys], torch.randn(1, 1, QUERIES, 24)[..., 3 : 3 + keys]):
        made = attention._repeated(attention._spread(part, key), torch.empty(BATCH, HEADS, QUERIES, WIDTH), key)
        torch.testing.assert_close(made, part.expand(BATCH, HEADS, QUERIES, keys))
        assert made.stride(-1) == 1 and all(n % 8 == 0 for n in (made.storage_offset(), *made.stride()[:-1]))


def test_a_compiler_sees_one_call_each_with_the_layout_that_comes():
    with FakeTensorMode():
        query, key, value, grad = (torch.empty_like(x, device="cuda", dtype=torch.bfloat16) for x in tensors())

        def run(query, key, value, grad):
            results = CALLS[0](query, key, value, [], SCALE, True, 0.5)
            return *results, *CALLS[1](query, key, value, grad, *results, [], SCALE, True, 0.5)

        module = make_fx(run)(query, key, value, grad)
        results = run(query, key, value, grad)
    names = [n.target.__name__ for n in module.graph.nodes if n.op == "call_function" and "attention" in str(n.target)]
    assert names == ["attention_forward.default", "attention_backward.default"]
    draws = [
        torch.Tag.nondeterministic_seeded in getattr(torch.ops.headrace, n.split(".")[0]).default.tags for n in names
    ]
    assert draws == [True, False]
    assert [tuple(x.shape) for x in results] == [
        (BATCH, HEADS, QUERIES, DEPTH), (BATCH, HEADS, 32), (), (), *(tuple(x.shape) for x in (query, key, value))
    ]  # fmt: skip
    assert all(lies_by_rows(x) for x in (results[0], *results[4:])) and results[1].dtype == torch.float32


@pytest.mark.parametrize(
    ("query", "value", "sums"),
    [
        ([2, 3, 40, 8], [2, 3, 9, 16], [2, 3, 64]),
        ([3, 32, 8], [3, 9, 8], [1, 3, 32]),
        ([None, 3, None, 8], [None, 3, None, 8], [None, 3, None]),
    ],
)
def test_shapes(query, value, sums):
    shapes = FORWARD.shape_fn(TensorShape(query), TensorShape(value), TensorShape(value), [], 0.5, False, 0.0)
    assert [TensorShape(s).as_list() for s in shapes] == [query[:-1] + value[-1:], sums, [], []]
