"""The cross entropy with class numbers as a compiler for accelerators sees it."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import headrace as tf
from headrace.core.registry import REGISTRY

KERNEL = REGISTRY.get("SparseSoftmaxCrossEntropyWithLogits").find_kernel("cuda", {"T": tf.float32, "Tlabels": tf.int32})


def traced(dtype):
    with FakeTensorMode():
        return make_fx(KERNEL.call)(torch.empty(6, 11, dtype=dtype), torch.empty(6, dtype=torch.int32))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_traced_as_called(dtype):
    logits = torch.randn(6, 11, generator=torch.Generator().manual_seed(2), dtype=dtype) * 5
    logits[1] += 300.0
    logits[2, 3], logits[3, 4] = -torch.inf, -torch.inf
    labels = torch.tensor(
        [0, 10, 3, 5, -1, 11], dtype=torch.int32
    )  # the third has no probability, the last two are none
    found, expected = traced(dtype)(logits, labels), KERNEL.call(logits, labels)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)
    assert found[0][2] == torch.inf and found[0][4:].isnan().all() and found[1][4:].isnan().all()
    assert found[0][:4].isfinite().tolist() == [True, True, False, True]


def test_nothing_is_gathered():
    """A second kernel that reads the logits would keep the gradient from being written over them."""
    names = [str(n.target) for n in traced(torch.float32).graph.nodes if n.op == "call_function"]
    assert not any("gather" in name or "scatter" in name or "index" in name for name in names)
    assert any("gather" in str(n.target) for n in traced(torch.bfloat16).graph.nodes)


def test_the_gradient_comes_after_all_that_reads_the_logits():
    """So the compiler may write it over them, also in a step that fetches the loss."""
    graph = traced(torch.float32).graph
    logits = next(iter(graph.nodes))
    before, left = set(), [graph.output_node().args[0][1]]
    while left:
        node = left.pop()
        if node not in before:
            before.add(node)
            left += node.all_input_nodes
    assert logits in before and [n for n in logits.users if n not in before] == []
