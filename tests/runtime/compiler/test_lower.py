"""Traced graphs compiled without the part of torch's compiler that makes gradients: results, and what is left in the inputs."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from headrace.runtime.compiler.lower import can_trace, lower, trace


def added(x, y, buffer):
    """Writes a whole input."""
    buffer.add_(x * 2)
    return x + y, buffer * 3


def seen_through_a_view(x, y, buffer):
    """Writes a part of an input, and reads it through a view that was made before."""
    turned = buffer.t()
    buffer[1].copy_(x[0])
    return (turned + y.t()).exp(), turned


def twice(x, y, buffer):
    """Writes an input that was read before, and again after it was read."""
    before = buffer + 1
    buffer.mul_(y)
    middle = buffer.sum()
    buffer.sub_(before)
    return middle, before, buffer


def by_index(x, y, buffer):
    """Writes rows, and ops for which the compiler has simpler ones."""
    rows = torch.tensor([2, 0], device=x.device)
    buffer.index_add_(0, rows, x[:2])
    return torch.log_softmax(buffer, 1), torch.nn.functional.gelu(y)


def handed_on(x, y, buffer):
    """Computes nothing."""
    return x, buffer


@pytest.mark.parametrize("step", [handed_on, added, seen_through_a_view, twice, by_index])
def test_results_and_inputs_are_those_of_the_graph(step) -> None:
    with FakeTensorMode():
        fakes = [torch.empty(3, 4) for _ in range(3)]
    graph = trace(step, fakes, {})
    first, second = ([torch.arange(12.0).reshape(3, 4) / 10 + i for i in range(3)] for _ in range(2))
    results, expected = lower(graph, fakes, {})(*first), step(*second)
    torch.testing.assert_close(tuple(results), tuple(expected))
    torch.testing.assert_close(first, second)
    assert [r.stride() for r in results] == [e.stride() for e in expected]


def test_only_inputs_of_fixed_sizes_on_known_devices_are_taken() -> None:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv())
    assert can_trace([mode.from_tensor(torch.ones(3), static_shapes=True)])
    assert not can_trace([mode.from_tensor(torch.ones(3))])
    assert not can_trace([torch.empty(3, device="meta")])
    assert not can_trace([])
