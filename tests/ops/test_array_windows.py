"""Windows on small arrays: convolutions and pools give what the kernels on tensors give, in every corner."""

import itertools

import numpy as np
import pytest
import torch

from headrace.core import dtypes
from headrace.core.registry import REGISTRY

RANDOM = np.random.RandomState(5)


def both(name, *arguments):
    """The result of the kernel on arrays, and of that on tensors."""
    definition = REGISTRY.get(name)
    attrs = {"T": dtypes.float32, "data_format": "NDHWC" if "Conv3D" in name else "NHWC"}
    found = definition.find_array_kernel(attrs).function(*arguments)
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return found, definition.find_kernel("cpu", attrs).function(*tensors).numpy()


def agree(name, *arguments):
    found, wanted = both(name, *arguments)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    return wanted


def drawn(*shape):
    return RANDOM.randn(*shape).astype(np.float32)


CORNERS = [
    (window, stride, padding, dilation)
    for window, stride, padding, dilation in itertools.product(
        [(1, 1), (2, 3), (3, 3), (5, 4)], [(1, 1), (2, 2), (3, 2)], ["SAME", "VALID", "EXPLICIT"], [(1, 1), (2, 1)]
    )
    if dilation == (1, 1) or stride == (1, 1)
]


@pytest.mark.parametrize(("window", "stride", "padding", "dilation"), CORNERS)
def test_planes(window, stride, padding, dilation):
    explicit = (0, 0, 1, 0, 0, 2, 0, 0) if padding == "EXPLICIT" else ()
    strides, dilations = (1, *stride, 1), (1, *dilation, 1)
    x, w = drawn(2, 10, 9, 3), drawn(*window, 3, 4)
    attrs = strides, True, padding, explicit, "NHWC", dilations
    y = agree("Conv2D", x, w, *attrs)
    grad = drawn(*y.shape)
    agree("Conv2DBackpropInput", list(x.shape), w, grad, *attrs)
    agree("Conv2DBackpropFilter", x, list(w.shape), grad, *attrs)
    for multiplier in (1, 2):
        w = drawn(*window, 3, multiplier)
        attrs = strides, padding, explicit, "NHWC", dilations
        y = agree("DepthwiseConv2dNative", x, w, *attrs)
        grad = drawn(*y.shape)
        agree("DepthwiseConv2dNativeBackpropInput", list(x.shape), w, grad, *attrs)
        agree("DepthwiseConv2dNativeBackpropFilter", x, list(w.shape), grad, *attrs)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_volumes(stride, padding, dilation):
    x, w = drawn(2, 5, 6, 7, 2), drawn(2, 3, 3, 2, 3)
    attrs = (1, *[stride] * 3, 1), padding, "NDHWC", (1, *[dilation] * 3, 1)
    grad = drawn(*agree("Conv3D", x, w, *attrs).shape)
    agree("Conv3DBackpropInputV2", list(x.shape), w, grad, *attrs)
    agree("Conv3DBackpropFilterV2", x, list(w.shape), grad, *attrs)


@pytest.mark.parametrize("groups", [2, 4])
def test_groups_are_left_to_the_kernel_on_tensors(groups):
    attrs = (1, 1, 1, 1), True, "SAME", (), "NHWC", (1, 1, 1, 1)
    x, w = drawn(1, 5, 5, 4), drawn(3, 3, 4 // groups, 8)
    grad = drawn(*agree("Conv2D", x, w, *attrs).shape)
    agree("Conv2DBackpropInput", list(x.shape), w, grad, *attrs)
    agree("Conv2DBackpropFilter", x, list(w.shape), grad, *attrs)


@pytest.mark.parametrize("window", [(1, 1), (2, 2), (3, 3), (2, 3), (4, 1)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 2), (3, 1), (2, 3)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pools(window, stride, padding):
    x = drawn(2, 8, 9, 3)
    ksize, strides = (1, *window, 1), (1, *stride, 1)
    agree("MaxPool", x, ksize, strides, padding, (), "NHWC")
    y = agree("AvgPool", x, ksize, strides, padding, "NHWC")
    agree("AvgPoolGrad", list(x.shape), drawn(*y.shape), ksize, strides, padding, "NHWC")


def test_the_gradient_of_many_averages():
    """More images than are done at a time."""
    y = drawn(5, 64, 64, 16)
    agree("AvgPoolGrad", [5, 64, 64, 16], y, (1, 3, 3, 1), (1, 1, 1, 1), "SAME", "NHWC")


def test_not_a_number_stays_where_it_is_seen():
    x = drawn(1, 4, 4, 1)
    x[0, 1, 1, 0] = np.nan
    found, wanted = both("MaxPool", x, (1, 2, 2, 1), (1, 2, 2, 1), "SAME", (), "NHWC")
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    w = drawn(3, 3, 1, 1)
    found, wanted = both("DepthwiseConv2dNative", x, w, (1, 1, 1, 1), "SAME", (), "NHWC", (1, 1, 1, 1))
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
