"""Traced graphs compiled without the part of torch's compiler that makes gradients: results, and what is left in the inputs."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from headrace.runtime.compiler.rows import settle_writes, write_rows_of_copies
from headrace.runtime.compiler.torch_door.lowering import lower
from headrace.runtime.compiler.torch_door.tracing import Calls, can_trace


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


def _rows(x):
    return torch.tensor([2, 0], device=x.device)


def read_between(x, y, buffer):
    """Writes rows, reads, and writes all: what was read is what was there then."""
    buffer.index_copy_(0, _rows(x), x[:2])
    before = buffer.clone()
    buffer.sub_(y)
    return before, before[1:]


def rows_twice(x, y, buffer):
    """Writes rows, keeps them in another input, and writes rows again."""
    buffer.index_copy_(0, _rows(x), x[:2])
    y.copy_(buffer)
    buffer.index_add_(0, _rows(x), x[1:])
    return (buffer.sum(),)


def rows_of_neighbours(x, y, buffer):
    """Writes rows, then others by what is in their neighbours."""
    buffer.index_copy_(0, _rows(x), x[:2])
    buffer[1:].copy_(y[1:] * buffer[:2])
    return (buffer.sum(),)


def rows_for_rows(x, y, buffer):
    """Writes rows, writes them to rows of another input, and replaces all."""
    buffer.index_copy_(0, _rows(x), x[:2])
    y.index_copy_(0, _rows(x), buffer[1:])
    buffer.copy_(x * 3)
    return (buffer.sum(),)


def turned_over(x, y, buffer):
    """Writes rows, then all in another order."""
    buffer.index_copy_(0, _rows(x), x[:2])
    buffer.copy_(buffer.flip(0))
    return (buffer * 2,)


def only_rows(x, y, buffer):
    """Writes rows twice and reads at the end: no copy is needed."""
    buffer.index_copy_(0, _rows(x), x[:2])
    buffer.index_add_(0, _rows(x), x[1:])
    return (buffer * 2,)


def carried_over(x, y, buffer):
    """Writes an input with what is in another, which it then writes."""
    buffer.copy_(y.double().float())
    y.add_(x)
    return (buffer * 2,)


def exchanged(x, y, buffer):
    """Writes two inputs, each with what was in the other."""
    old = buffer.clone()
    buffer.copy_(y)
    y.copy_(old)
    return (x + y,)


def handed_on(x, y, buffer):
    """Computes nothing."""
    return x, buffer


ROWS = [read_between, rows_twice, rows_of_neighbours, rows_for_rows, turned_over, only_rows]


@pytest.mark.parametrize(
    "step", [*ROWS, carried_over, exchanged, handed_on, added, seen_through_a_view, twice, by_index]
)
def test_results_and_inputs_are_those_of_the_graph(step) -> None:
    with FakeTensorMode():
        fakes = [torch.empty(3, 4) for _ in range(3)]
    graph = Calls().trace(step, fakes)
    settle_writes(graph)
    first, second = ([torch.arange(12.0).reshape(3, 4) / 10 + i for i in range(3)] for _ in range(2))
    results, expected = lower(graph, fakes, {})(*first), step(*second)
    torch.testing.assert_close(tuple(results), tuple(expected))
    torch.testing.assert_close(first, second)
    assert [r.stride() for r in results] == [e.stride() for e in expected]


def test_a_copy_is_made_only_where_it_is_needed() -> None:
    with FakeTensorMode():
        fakes = [torch.empty(3, 4) for _ in range(3)]
    copies = {}
    for step in ROWS:
        graph = Calls().trace(step, fakes)
        write_rows_of_copies(graph)
        copies[step] = sum("owned" in str(n.target) for n in graph.graph.nodes)
    assert copies.pop(only_rows) == 0 and set(copies.values()) == {1}


def test_blocks_are_not_run_and_torch_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._higher_order_ops.utils import registered_hop_fake_fns
    from torch._inductor import compile_fx
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    invoke = torch.ops.higher_order.invoke_subgraph
    before = registered_hop_fake_fns[invoke], FakeTensorProp.run_node

    def refuse(*arguments, **keywords):
        assert (registered_hop_fake_fns[invoke], FakeTensorProp.run_node) != before
        raise KeyError("on purpose")

    monkeypatch.setattr(compile_fx, "compile_fx_inner", refuse)
    with FakeTensorMode():
        fakes = [torch.empty(3, 4) for _ in range(3)]
    with pytest.raises(KeyError, match="on purpose"):
        lower(Calls().trace(added, fakes), fakes, {})
    assert (registered_hop_fake_fns[invoke], FakeTensorProp.run_node) == before


def test_only_inputs_of_fixed_sizes_on_known_devices_are_taken() -> None:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv())
    assert can_trace([mode.from_tensor(torch.ones(3), static_shapes=True)])
    assert not can_trace([mode.from_tensor(torch.ones(3))])
    assert not can_trace([torch.empty(3, device="meta")])
    assert not can_trace([])
