"""The convolutions for Arm give what the general kernels give, whatever machine the tests run on."""

import itertools

import pytest
import torch

from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.ops.arm import convolution as arm


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def agree(name, *arguments):
    """The result of both kernels."""
    attrs = {"T": dtypes.float64}
    definition = REGISTRY.get(name)
    plugged, general = (definition.find_kernel("cpu", attrs, machine=m) for m in ("aarch64", None))
    assert plugged is not general
    wanted = general.call(*arguments)
    torch.testing.assert_close(plugged.call(*arguments), wanted)
    return wanted


CORNERS = [
    (window, stride, padding, dilation)
    for window, stride, padding, dilation in itertools.product(
        [(1, 1), (2, 3), (3, 3), (5, 4)], [(1, 1), (2, 2), (3, 2)], ["SAME", "VALID", "EXPLICIT"], [(1, 1), (2, 1)]
    )
    if dilation == (1, 1) or stride == (1, 1)
]


@pytest.fixture(params=[1 << 23, 0], ids=["few", "many"])
def much(request, monkeypatch):
    """Gradients of larger steps by the general kernel, and by classes of rows, as for many multiplications."""
    monkeypatch.setattr(arm, "_MUCH", request.param)


@pytest.mark.usefixtures("much")
@pytest.mark.parametrize(("window", "stride", "padding", "dilation"), CORNERS)
def test_planes(window, stride, padding, dilation):
    explicit = (0, 0, 1, 0, 0, 2, 0, 0) if padding == "EXPLICIT" else ()
    strides, dilations = (1, *stride, 1), (1, *dilation, 1)
    x, w = drawn(2, 10, 9, 8), drawn(*window, 8, 4)
    attrs = strides, True, padding, explicit, "NHWC", dilations
    grad = drawn(*agree("Conv2D", x, w, *attrs).shape)
    agree("Conv2DBackpropInput", list(x.shape), w, grad, *attrs)
    agree("Conv2DBackpropFilter", x, list(w.shape), grad, *attrs)


@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize(("window", "stride", "padding", "dilation"), CORNERS)
def test_depthwise(window, stride, padding, dilation, multiplier):
    explicit = (0, 0, 1, 0, 0, 2, 0, 0) if padding == "EXPLICIT" else ()
    attrs = (1, *stride, 1), padding, explicit, "NHWC", (1, *dilation, 1)
    x, w = drawn(2, 10, 9, 3), drawn(*window, 3, multiplier)
    forward = REGISTRY.get("DepthwiseConv2dNative").find_kernel("cpu", {"T": dtypes.float64}).call
    grad = drawn(*forward(x, w, *attrs).shape)
    agree("DepthwiseConv2dNativeBackpropInput", list(x.shape), w, grad, *attrs)
    agree("DepthwiseConv2dNativeBackpropFilter", x, list(w.shape), grad, *attrs)


@pytest.mark.parametrize(
    ("shape", "filter", "data_format"),
    [
        ((1, 5, 5, 16), (3, 3, 8, 4), "NHWC"), ((1, 16, 5, 5), (3, 3, 16, 4), "NCHW"), ((0, 5, 5, 8), (3, 3, 8, 4), "NHWC"),
        ((2, 5, 5, 3), (3, 3, 3, 4), "NHWC"),
    ],
    ids=["groups", "channels first", "nothing", "few channels"],
)  # fmt: skip
def test_what_is_left_to_the_general_kernels(shape, filter, data_format):
    attrs = (1, 1, 1, 1), True, "SAME", (), data_format, (1, 1, 1, 1)
    x, w = drawn(*shape), drawn(*filter)
    grad = drawn(*agree("Conv2D", x, w, *attrs).shape)
    agree("Conv2DBackpropInput", list(shape), w, grad, *attrs)
    agree("Conv2DBackpropFilter", x, list(filter), grad, *attrs)


def test_gradients_of_filters_in_parts(monkeypatch):
    monkeypatch.setattr(arm, "LARGEST", 1000)
    attrs = (1, 1, 1, 1), True, "SAME", (), "NHWC", (1, 1, 1, 1)
    agree("Conv2DBackpropFilter", drawn(5, 6, 6, 3), [3, 3, 3, 4], drawn(5, 6, 6, 4), *attrs)


@pytest.mark.parametrize("name", ["Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput"])
def test_gradients_of_another_size_are_refused(name):
    kernel = REGISTRY.get(name).find_kernel("cpu", {"T": dtypes.float64}, machine="aarch64").call
    attrs = (1, 1, 1, 1), *([True] if name.startswith("Conv") else []), "VALID", (), "NHWC", (1, 1, 1, 1)
    with pytest.raises(ValueError, match="doesn't match computed"):
        kernel([1, 6, 6, 8], drawn(3, 3, 8, 1), drawn(1, 5, 5, 8 if "Depth" in name else 1), *attrs)
