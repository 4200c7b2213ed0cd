"""The convolutions for Arm give what torch's give, whatever the machine and however few numbers there are."""

import pytest
import torch

from headrace.ops import _arm_convolution as arm
from headrace.ops.convolution import conv2d_input_anywhere, conv3d_anywhere, paddings


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


@pytest.mark.parametrize("channels", [(2, 3), (3, 40)], ids=["narrow", "wide"])
@pytest.mark.parametrize(
    ("window", "stride", "padding", "size"),
    [
        ((3, 3), (2, 2), "SAME", (8, 9)), ((5, 5), (2, 2), "VALID", (13, 14)), ((2, 2), (2, 2), "VALID", (7, 6)),
        ((1, 1), (2, 2), "SAME", (5, 6)), ((3, 2), (4, 3), "SAME", (9, 10)), ((4, 3), (2, 1), "SAME", (8, 7)),
        ((3, 3), (2, 2), "EXPLICIT", (7, 8)), ((5, 4), (3, 2), "SAME", (4, 3)),
    ],
)  # fmt: skip
def test_input_gradient_of_larger_steps(window, stride, padding, size, channels):
    inside, outside = channels
    sizes, strides, ones = (2, *size, inside), (1, *stride, 1), (1, 1, 1, 1)
    explicit = (0, 0, 2, 0, 1, 2, 0, 0) if padding == "EXPLICIT" else ()
    pairs = paddings(sizes, window, strides, padding, explicit, "NHWC", ones)
    out = [(n + sum(pair) - k) // s + 1 for n, pair, k, s in zip(size, pairs, window, stride, strict=True)]
    filter, grad = drawn(*window, inside, outside), drawn(2, *out, outside)
    found = arm.strided_input_gradient(filter, grad, sizes, stride, pairs)
    wanted = conv2d_input_anywhere(list(sizes), filter, grad, strides, True, padding, explicit, "NHWC", ones)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("largest", [1 << 20, 1000], ids=["at once", "in parts"])
def test_volume(monkeypatch, stride, dilation, padding, largest):
    monkeypatch.setattr(arm, "LARGEST", largest)
    input, filter = drawn(2, 6, 7, 8, 3), drawn(2, 3, 3, 3, 4)
    strides, dilations = (1, *[stride] * 3, 1), (1, *[dilation] * 3, 1)
    pairs = paddings(input.shape, (2, 3, 3), strides, padding, (), "NDHWC", dilations)
    wanted = conv3d_anywhere(input, filter, strides, padding, "NDHWC", dilations)
    found = arm.volume(input, filter, tuple(wanted.shape[1:4]), strides[1:4], dilations[1:4], pairs)
    torch.testing.assert_close(found, wanted)
