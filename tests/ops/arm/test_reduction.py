"""Sums over rows for Arm give what the general kernels give, whatever machine the tests run on."""

import pytest
import torch

from headrace.core import dtypes
from headrace.core.registry import REGISTRY


def kernels(name):
    definition, attrs = REGISTRY.get(name), {"T": dtypes.float32}
    return [definition.find_kernel("cpu", attrs, machine=m).call for m in ("aarch64", None)]


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(
    "shape", [(3, 100), (256, 64), (512, 65), (1000, 70), (2, 300, 70), (0, 100), (100, 3), (100,), (4, 5, 6, 7)]
)
@pytest.mark.parametrize("axis", [0, [0], [0, 1], [1, 0], [0, 1, 2], [], [-1]])
@pytest.mark.parametrize("keep", [False, True])
def test_sum(shape, axis, keep):
    if type(axis) is list and len(axis) > len(shape):
        pytest.skip("the value has no such axis")
    plugged, general = kernels("Sum")
    x = drawn(*shape)
    torch.testing.assert_close(plugged(x, axis, keep), general(x, axis, keep), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 100), (2, 300, 70), (5, 6, 7, 64), (100, 3)])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_gradients_of_biases(shape, data_format):
    plugged, general = kernels("BiasAddGrad")
    x = drawn(*shape)
    torch.testing.assert_close(plugged(x, data_format), general(x, data_format), rtol=1e-4, atol=1e-4)


def test_many_rows_are_as_exact_as_torch():
    plugged, _ = kernels("Sum")
    x = drawn(100_000, 64) + 3.0
    torch.testing.assert_close(plugged(x, [0], False), x.double().sum(0).float(), rtol=1e-6, atol=0)


def test_what_is_not_contiguous():
    plugged, general = kernels("Sum")
    x = drawn(200, 100)
    for one in (x.t(), x[:, 10:], x[::2]):
        torch.testing.assert_close(plugged(one, [0], False), general(one, [0], False), rtol=1e-4, atol=1e-4)
