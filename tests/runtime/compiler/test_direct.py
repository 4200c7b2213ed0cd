"""Compiled code called without its layers: found, tried, and used only when it does the same."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from headrace.runtime.compiler.cubin import NeedsCompiler
from headrace.runtime.compiler.direct import NotTried, _inside, _tried, direct


def _artifact(function, *shapes):
    from torch._inductor import standalone_compile

    with FakeTensorMode():
        fakes = [torch.empty(s) for s in shapes]
        graph = make_fx(function)(*fakes)
    return standalone_compile(graph, fakes, dynamic_shapes="from_graph", options={}), fakes


def _step(x, w):
    y = torch.relu(x) * 2.0 + 1.0
    w.addcmul_(y, y)
    return y, y.sum()


@pytest.fixture(scope="module")
def artifact():
    return _artifact(_step, (3, 4), (3, 4))


def test_the_code_is_found_and_does_the_same(artifact):
    made, fakes = artifact
    code = direct(made, fakes)
    assert code == _inside(made) is not None
    x, w, v = torch.randn(3, 4), torch.ones(3, 4), torch.ones(3, 4)
    y, total = code([x, w])
    _step(x, v)
    torch.testing.assert_close(w, v)
    torch.testing.assert_close(total, (torch.relu(x) * 2 + 1).sum())
    torch.testing.assert_close(y, torch.relu(x) * 2 + 1)


def test_large_steps_keep_their_layers(artifact, monkeypatch):
    made, fakes = artifact
    monkeypatch.setattr("headrace.runtime.compiler.direct.LARGEST", 1)
    assert direct(made, fakes) != _inside(made)
    assert len(direct(made, fakes)([torch.ones(3, 4), torch.ones(3, 4)])) == 2


@pytest.mark.parametrize(
    "other",
    [
        lambda inputs: [inputs[0] * 2.0, inputs[0].sum()],  # other values
        lambda inputs: [torch.relu(inputs[0]) * 2.0 + 1.0],  # too few
        lambda inputs: _step(*inputs)[::-1],  # in another order
        lambda inputs: (inputs[1], _step(*inputs)[1]),  # an input's own memory
        lambda inputs: 1 / 0,  # refuses what it is tried on
    ],
)
def test_what_does_something_else_is_not_used(artifact, monkeypatch, other):
    made, fakes = artifact
    monkeypatch.setattr("headrace.runtime.compiler.direct._inside", lambda artifact: other)
    code = direct(made, fakes)
    assert code is not other
    y, _ = code([torch.ones(3, 4), torch.ones(3, 4)])
    torch.testing.assert_close(y, torch.full((3, 4), 3.0))


def test_something_without_layers_is_called_as_it_is():
    code = direct(lambda x: (x + 1,), [torch.empty(2)])
    torch.testing.assert_close(code([torch.ones(2)])[0], torch.full((2,), 2.0))


def test_fetched_results_never_lie_in_an_inputs_memory():
    made, fakes = _artifact(lambda x, w: (x + 0.0, w * 2.0, w.view(12)), (3, 4), (3, 4))
    x, w = torch.randn(3, 4), torch.ones(3, 4)
    first, second, third = direct(made, fakes, [0, 1, 2])([x, w])
    before = first.clone(), third.clone()
    x.zero_()
    w.zero_()
    torch.testing.assert_close((first, third), before)
    torch.testing.assert_close(second, torch.full((3, 4), 2.0))


def test_integers_that_are_no_lengths_and_integers_that_are_no_indices():
    """A step that looks at the last element of each sequence refuses lengths of 0."""

    def last(inputs):
        return [torch.arange(3.0).index_select(0, inputs[0] - 1)]

    def second(inputs):
        return [torch.arange(1.0).index_select(0, inputs[0])]

    def neither(inputs):
        return [torch.arange(3.0).index_select(0, inputs[0] + 5)]

    fakes = [torch.zeros(2, dtype=torch.int64)]
    assert _tried(last, last, fakes) is True
    assert _tried(second, second, fakes) is True
    with pytest.raises(NotTried, match="refuses invented inputs: IndexError: index out of range"):
        _tried(neither, neither, fakes)


@pytest.mark.parametrize("error", [NeedsCompiler("it has a hook"), torch.OutOfMemoryError("no memory")])
def test_a_failure_that_other_inputs_would_not_avert_is_passed_on_at_once(error):
    runs = []

    def fails(inputs):
        runs.append(inputs)
        raise error

    with pytest.raises(type(error), match=str(error)):
        _tried(fails, fails, [torch.zeros(2)])
    assert len(runs) == 1
