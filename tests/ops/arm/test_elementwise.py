"""Tanh and choices for Arm give what the general kernels give, whatever machine the tests run on."""

import pytest
import torch

from headrace.core import dtypes
from headrace.core.registry import REGISTRY


def kernels(name):
    definition, attrs = REGISTRY.get(name), {"T": dtypes.float32}
    return [definition.find_kernel("cpu", attrs, machine=m).call for m in ("aarch64", None)]


def drawn(*shape):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))
    made.view(-1)[:4] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
    return made


@pytest.mark.parametrize("shape", [(2, 3), (100, 64)])
def test_tanh(shape):
    plugged, general = kernels("Tanh")
    x = drawn(*shape)
    for one in (x, x.t(), x[:, 1:], 1e-4 * x, 100 * x):
        torch.testing.assert_close(plugged(one), general(one), rtol=1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ["Select", "SelectV2"])
@pytest.mark.parametrize("shape", [(2, 3), (100, 64)])
def test_choice(name, shape):
    plugged, general = kernels(name)
    t, e = drawn(*shape), drawn(*shape).flip(0)
    for condition in (t > 0, torch.tensor(True), (e > 0)[:, 0] if name == "Select" else (e > 0)[:, :1]):
        chosen, wanted = plugged(condition, t, e), general(condition, t, e)
        assert chosen.shape == wanted.shape
        assert torch.equal(chosen.view(torch.int32), wanted.contiguous().view(torch.int32))


def test_a_choice_between_shapes_that_differ():
    plugged, _ = kernels("Select")
    with pytest.raises(ValueError, match="must have the same shape"):
        plugged(torch.ones(100, 64) > 0, torch.ones(100, 64), torch.ones(100, 65))
    plugged, general = kernels("SelectV2")
    t, e = drawn(100, 64), drawn(64)
    torch.testing.assert_close(plugged(t > 0, t, e), general(t > 0, t, e), equal_nan=True, rtol=0, atol=0)
