"""Samples of convolutions and their gradients."""

import itertools
from typing import Any

import numpy as np

from headrace.library.testing.opcheck import Sample


def values(*shape: int) -> np.ndarray:
    """Distinct numbers without a pattern a convolution could hide."""
    return (np.random.RandomState(sum(shape)).randint(-20, 20, shape) / 10).astype(np.float32)


def full(spatial: Any, layout: str) -> list[int]:
    return [1, *spatial, 1] if layout[-1] == "C" else [1, 1, *spatial]


def arrange(batch: int, spatial: Any, channels: int, layout: str) -> list[int]:
    return [batch, *spatial, channels] if layout[-1] == "C" else [batch, channels, *spatial]


def out_size(n: int, k: int, s: int, d: int, padding: str, pair: tuple[int, int]) -> int:
    window = (k - 1) * d + 1
    return -(-n // s) if padding == "SAME" else (n + sum(pair) - window) // s + 1


class Case:
    """One convolution: its three arrays and the attributes they share."""

    def __init__(
        self, size: Any, window: Any, stride: Any, padding: str, layout: str = "NHWC", dilation: Any = None,
        channels: tuple[int, int, int] = (2, 2, 2), pairs: Any = None, batch: int = 1, depthwise: bool = False,
    ) -> None:  # fmt: skip
        inner, group, outer = channels
        dilation = dilation or [1] * len(size)
        given = pairs or [(0, 0)] * len(size)
        sizes = [
            out_size(n, k, s, d, padding, p)
            for n, k, s, d, p in zip(size, window, stride, dilation, given, strict=True)
        ]
        self.x = values(*arrange(batch, size, inner, layout))
        self.w = values(*window, group, outer)
        self.y = values(*arrange(batch, sizes, group * outer if depthwise else outer, layout))
        self.attrs = {
            "strides": full(stride, layout), "padding": padding, "data_format": layout,
            "dilations": full(dilation, layout),
        }  # fmt: skip
        if pairs:
            numbers = [list(p) for p in pairs]
            nested = [[0, 0], *numbers, [0, 0]] if layout[-1] == "C" else [[0, 0], [0, 0], *numbers]
            self.attrs["explicit_paddings"] = [n for p in nested for n in p]

    def samples(self, **changes: Any) -> tuple[Sample, Sample, Sample]:
        sizes, filter_sizes = np.array(self.x.shape, np.int32), np.array(self.w.shape, np.int32)
        kind = changes.pop("kind", np.float32)
        x, w, y = self.x.astype(kind), self.w.astype(kind), self.y.astype(kind)
        return (
            Sample([x, w], self.attrs, **changes),
            Sample([sizes, w, y], self.attrs, **changes),
            Sample([x, filter_sizes, y], self.attrs, **changes),
        )


def _lists(cases: list[tuple[Sample, Sample, Sample]]) -> list[list[Sample]]:
    return [list(column) for column in zip(*cases, strict=True)]


PLANE = [
    *[
        Case((4, 5), (3, 2), (s, s), padding, layout).samples()
        for padding, s, layout in itertools.product(("SAME", "VALID"), (1, 2), ("NHWC", "NCHW"))
    ],
    Case((5, 4), (2, 3), (2, 1), "SAME").samples(kind=np.float64),
    Case((5, 5), (2, 2), (1, 1), "SAME", dilation=(2, 1)).samples(),
    Case((5, 5), (2, 2), (1, 1), "VALID", dilation=(3, 2)).samples(),
    Case((3, 4), (2, 3), (2, 2), "EXPLICIT", pairs=[(1, 0), (2, 1)]).samples(),
    Case((3, 4), (2, 3), (1, 2), "EXPLICIT", "NCHW", pairs=[(1, 1), (0, 2)]).samples(),
    Case((3, 3), (1, 1), (2, 2), "SAME", channels=(3, 3, 1)).samples(),
    Case((3, 3), (2, 2), (1, 1), "VALID", channels=(4, 2, 2)).samples(),  # two groups
    Case((3, 3), (2, 2), (1, 1), "SAME", batch=0).samples(gradient=False),
    Case((2, 2), (2, 2), (1, 1), "VALID", batch=3, channels=(1, 1, 3)).samples(),
]
VOLUME = [
    Case((3, 2, 3), (2, 2, 1), (1, 1, 2), "SAME", "NDHWC", channels=(1, 1, 2)).samples(),
    Case((3, 2, 3), (2, 1, 2), (2, 1, 1), "VALID", "NCDHW").samples(),
    Case((3, 3, 3), (2, 2, 2), (1, 1, 1), "VALID", "NDHWC", dilation=(2, 1, 2), channels=(1, 1, 1)).samples(),
    Case((2, 2, 2), (2, 2, 2), (1, 1, 1), "SAME", "NDHWC", channels=(1, 1, 1)).samples(kind=np.float64),
]
DEPTHWISE = [
    *[
        Case((4, 3), (2, 3), (s, s), padding, layout, depthwise=True).samples()
        for padding, s, layout in (("SAME", 1, "NHWC"), ("VALID", 2, "NHWC"), ("SAME", 2, "NCHW"))
    ],
    Case((4, 4), (2, 2), (1, 1), "VALID", dilation=(2, 2), channels=(3, 3, 1), depthwise=True).samples(kind=np.float64),
]

conv2d, conv2d_input, conv2d_filter = _lists(PLANE)
conv3d, conv3d_input, conv3d_filter = _lists(VOLUME)
depthwise, depthwise_input, depthwise_filter = _lists(DEPTHWISE)

PLAIN = {"strides": [1, 1, 1, 1], "padding": "VALID"}
X, W = values(1, 3, 3, 2), values(2, 2, 2, 1)


def _wrong(**attrs: Any) -> Sample:
    return Sample([X, W], {**PLAIN, **attrs}, error=ValueError)


SAMPLES = {
    "Conv2D": [
        *conv2d,
        _wrong(padding="FULL"),
        _wrong(data_format="CHWN"),
        _wrong(strides=[1, 1, 1]),
        _wrong(strides=[1, 0, 1, 1]),
        _wrong(strides=[2, 1, 1, 1]),
        _wrong(dilations=[1, 1, 1, 2]),
        _wrong(explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0]),
        _wrong(padding="EXPLICIT", explicit_paddings=[0, 0, 1, 1]),
        _wrong(padding="EXPLICIT", explicit_paddings=[1, 0, 1, 1, 0, 0, 0, 0]),
        Sample([X, values(4, 4, 2, 1)], PLAIN, error=ValueError, note="filter larger than input"),
        Sample([X, values(2, 2, 3, 1)], PLAIN, error=ValueError, note="channels differ"),
        Sample([X[0], W], PLAIN, error=ValueError, note="rank 3"),
    ],
    "Conv2DBackpropInput": [
        *conv2d_input,
        Sample([np.array([1, 3, 3], np.int32), W, values(1, 2, 2, 1)], PLAIN, error=ValueError),
    ],
    "Conv2DBackpropFilter": conv2d_filter,
    "Conv3D": conv3d,
    "Conv3DBackpropInputV2": conv3d_input,
    "Conv3DBackpropFilterV2": conv3d_filter,
    "DepthwiseConv2dNative": [*depthwise, Sample([X, values(2, 2, 3, 1)], PLAIN, error=ValueError)],
    "DepthwiseConv2dNativeBackpropInput": depthwise_input,
    "DepthwiseConv2dNativeBackpropFilter": depthwise_filter,
}
