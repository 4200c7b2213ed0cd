"""Compiled code that left its compiler: tried beside it, and used only when it does the same."""

import pytest
import torch

from headrace.runtime.compiler.torch_door.launching import NeedsCompiler
from headrace.runtime.compiler.tried import NotTried, see_same


def _step(x, w):
    y = torch.relu(x) * 2.0 + 1.0
    w.addcmul_(y, y)
    return y, y.sum()


FAKES = [torch.empty(3, 4), torch.empty(3, 4)]


def test_what_does_the_same_passes():
    see_same(lambda inputs: _step(*inputs), lambda inputs: list(_step(*inputs)), FAKES)


@pytest.mark.parametrize(
    "other",
    [
        lambda inputs: [inputs[0] * 2.0, inputs[0].sum()],  # other values
        lambda inputs: [torch.relu(inputs[0]) * 2.0 + 1.0],  # too few
        lambda inputs: _step(*inputs)[::-1],  # in another order
        lambda inputs: _step(inputs[0], inputs[1].clone()),  # an input is not written
    ],
)
def test_what_does_something_else_is_refused(other):
    with pytest.raises(NeedsCompiler, match="by itself it does something else"):
        see_same(lambda inputs: _step(*inputs), other, FAKES)


def test_inputs_too_large_to_be_invented_are_refused():
    with pytest.raises(NeedsCompiler, match="its inputs take 96 bytes, more than 95"):
        see_same(lambda inputs: pytest.fail("was run"), lambda inputs: [], FAKES, 95)


def test_integers_that_are_no_lengths_and_integers_that_are_no_indices():
    """A step that looks at the last element of each sequence refuses lengths of 0."""

    def last(inputs):
        return [torch.arange(3.0).index_select(0, inputs[0] - 1)]

    def second(inputs):
        return [torch.arange(1.0).index_select(0, inputs[0])]

    def neither(inputs):
        return [torch.arange(3.0).index_select(0, inputs[0] + 5)]

    fakes = [torch.zeros(2, dtype=torch.int64)]
    see_same(last, last, fakes)
    see_same(second, second, fakes)
    with pytest.raises(NotTried, match="refuses invented inputs: IndexError: index out of range"):
        see_same(neither, neither, fakes)


@pytest.mark.parametrize("error", [NeedsCompiler("it has a hook"), torch.OutOfMemoryError("no memory")])
def test_a_failure_that_other_inputs_would_not_avert_is_passed_on_at_once(error):
    runs = []

    def fails(inputs):
        runs.append(inputs)
        raise error

    with pytest.raises(type(error), match=str(error)):
        see_same(fails, fails, [torch.zeros(2)])
    assert len(runs) == 1
