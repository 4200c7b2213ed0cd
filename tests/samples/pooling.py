"""Samples of pools and their gradients."""

import itertools
from typing import Any

import numpy as np

from headrace.core import errors
from headrace.library.testing.opcheck import Sample


def distinct(*shape: int) -> np.ndarray:
    """No two values closer than 0.1, so that a small change moves no maximum."""
    count = int(np.prod(shape))
    return (np.random.RandomState(count).permutation(count).reshape(shape) / 10 - 1).astype(np.float32)


def full(spatial: Any, layout: str) -> list[int]:
    return [1, *spatial, 1] if layout[-1] == "C" else [1, 1, *spatial]


def out_size(n: int, k: int, s: int, padding: str) -> int:
    return -(-n // s) if padding == "SAME" else (n - k) // s + 1


def maxima(x: np.ndarray, window: Any, stride: Any, sizes: Any, padding: str, first: int) -> np.ndarray:
    """The pool of ``x`` over the axes from ``first`` on."""
    places = []
    for axis, (k, s, n) in enumerate(zip(window, stride, sizes, strict=True), first):
        size = x.shape[axis]
        before = max((n - 1) * s + k - size, 0) // 2 if padding == "SAME" else 0
        places.append([slice(max(i * s - before, 0), min(i * s - before + k, size)) for i in range(n)])
    found = np.zeros([*x.shape[:first], *sizes, *x.shape[first + len(sizes) :]], x.dtype)
    axes = tuple(range(first, first + len(sizes)))
    for index in np.ndindex(*sizes):
        cut = tuple(p[i] for p, i in zip(places, index, strict=True))
        found[(slice(None),) * first + index] = x[(slice(None),) * first + cut].max(axes)
    return found


class Case:
    """One pool: an input, its maxima, a gradient of its output and of its input."""

    def __init__(self, size: Any, window: Any, stride: Any, padding: str, layout: str, channels: int = 2) -> None:
        sizes = [out_size(n, k, s, padding) for n, k, s in zip(size, window, stride, strict=True)]
        last = layout[-1] == "C"
        self.x = distinct(1, *size, channels) if last else distinct(1, channels, *size)
        self.y = distinct(1, *sizes, channels) if last else distinct(1, channels, *sizes)
        self.top = maxima(self.x, window, stride, sizes, padding, 1 if last else 2)
        self.attrs = {
            "ksize": full(window, layout), "strides": full(stride, layout), "padding": padding, "data_format": layout,
        }  # fmt: skip

    def forward(self, kind: Any = np.float32, **changes: Any) -> Sample:
        return Sample([self.x.astype(kind)], self.attrs, **changes)

    def max_grad(self, kind: Any = np.float32, **changes: Any) -> Sample:
        return Sample([self.x.astype(kind), self.top.astype(kind), self.y.astype(kind)], self.attrs, **changes)

    def max_grad_grad(self) -> Sample:
        return Sample([self.x, self.top, self.x[..., ::-1].copy()], self.attrs)

    def avg_grad(self) -> Sample:
        return Sample([np.array(self.x.shape, np.int32), self.y], self.attrs)


PLANE = [
    *[
        Case((5, 4), (k, k), (s, s), padding, layout)
        for k, s, padding, layout in itertools.product((2, 3), (1, 2), ("SAME", "VALID"), ("NHWC", "NCHW"))
    ],
    Case((4, 5), (1, 1), (1, 1), "SAME", "NHWC"),
    Case((4, 4), (1, 2), (3, 1), "SAME", "NHWC"),
    Case((2, 3), (4, 4), (1, 1), "SAME", "NHWC"),
    Case((3, 2), (4, 5), (2, 3), "SAME", "NHWC", channels=1),
]
VOLUME = [
    Case((3, 2, 3), (2, 2, 2), (1, 1, 1), "SAME", "NDHWC"),
    Case((3, 2, 4), (2, 1, 3), (2, 1, 2), "SAME", "NCDHW"),
    Case((3, 3, 2), (2, 2, 2), (1, 1, 1), "VALID", "NDHWC", channels=1),
    Case((2, 3, 2), (3, 2, 3), (1, 2, 2), "SAME", "NDHWC"),  # wider than the volume
]
X = distinct(1, 4, 4, 2)
PLAIN = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
EXPLICIT = {
    "ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "EXPLICIT",
    "explicit_paddings": [0, 0, 1, 0, 2, 1, 0, 0],
}  # fmt: skip
EXPLICIT_TOP = maxima(
    np.pad(X, ((0, 0), (1, 0), (2, 1), (0, 0)), constant_values=-9.0), (3, 3), (2, 2), (2, 3), "VALID", 1
)
PLACES = np.array([[[[0, 2], [8, 10]], [[5, 7], [13, 15]]]])  # in the plane, channels first
ARGMAX = [{k: v for k, v in c.attrs.items() if k != "data_format"} for c in PLANE if c.attrs["data_format"] == "NHWC"]
INPUTS = [c.x for c in PLANE if c.attrs["data_format"] == "NHWC"]


def _wrong(**attrs: Any) -> Sample:
    return Sample([X], {**PLAIN, **attrs}, error=ValueError)


SAMPLES = {
    "MaxPool": [
        *[c.forward() for c in PLANE],
        PLANE[0].forward(np.float64),
        PLANE[1].forward(np.int32, gradient=False),
        PLANE[0].forward(np.float16, gradient=False),
        Sample([X], EXPLICIT),
        Sample([X], {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}, gradient=False, note="depth"),
        Sample([X[:0]], PLAIN, gradient=False, note="empty batch"),
        _wrong(padding="FULL"),
        _wrong(data_format="CHWN"),
        _wrong(ksize=[1, 2, 2]),
        _wrong(ksize=[1, 5, 5, 1]),
        _wrong(ksize=[2, 1, 1, 1]),
        Sample([X[0]], PLAIN, error=ValueError),
        Sample([X], {**PLAIN, "ksize": [1, 2, 2, 2]}, error=errors.UnimplementedError),
    ],
    "MaxPoolGrad": [
        *[c.max_grad() for c in PLANE],
        PLANE[0].max_grad(np.float64),
        Sample([X, EXPLICIT_TOP, distinct(1, 2, 3, 2)], EXPLICIT),
        Sample([X, distinct(1, 2, 2, 2), distinct(1, 3, 2, 2)], PLAIN, error=errors.InvalidArgumentError),
    ],
    "_MaxPoolLocated": [
        *[c.forward(gradient=False) for c in PLANE[:4]],
        Sample([X], EXPLICIT, gradient=False),
        Sample([X[:0]], PLAIN, gradient=False, note="empty batch"),
    ],
    "_MaxPoolLocatedGrad": [
        Sample([X, PLACES, distinct(1, 2, 2, 2)], PLAIN, gradient=False),
        Sample([X.astype(np.float64), PLACES, distinct(1, 2, 2, 2).astype(np.float64)], PLAIN, gradient=False),
        Sample([X, PLACES, distinct(1, 3, 2, 2)], PLAIN, error=errors.InvalidArgumentError),
    ],
    "MaxPoolGradGrad": [
        *[c.max_grad_grad() for c in PLANE],
        Sample([X, EXPLICIT_TOP, X[..., ::-1].copy()], EXPLICIT),
    ],
    "AvgPool": [*[c.forward() for c in PLANE], PLANE[0].forward(np.float64), _wrong(ksize=[1, 5, 5, 1])],
    "AvgPoolGrad": [*[c.avg_grad() for c in PLANE]],
    "MaxPool3D": [c.forward() for c in VOLUME],
    "MaxPool3DGrad": [c.max_grad() for c in VOLUME],
    "MaxPool3DGradGrad": [c.max_grad_grad() for c in VOLUME],
    "AvgPool3D": [c.forward() for c in VOLUME],
    "AvgPool3DGrad": [c.avg_grad() for c in VOLUME],
    "MaxPoolWithArgmax": [
        *[Sample([x], a) for x, a in zip(INPUTS, ARGMAX, strict=True)],
        Sample([np.concatenate([X, -X])], {**PLAIN, "include_batch_in_index": True, "Targmax": np.int32}),
    ],
    "MaxPoolGradWithArgmax": [
        Sample([X, distinct(1, 2, 2, 2), np.array([0, 9, 12, 31, 16, 1, 30, 5]).reshape(1, 2, 2, 2)], PLAIN),
        Sample(
            [X[:, :2], distinct(1, 1, 2, 2), np.array([0, 9, 12, 15], np.int32).reshape(1, 1, 2, 2)],
            {**PLAIN, "include_batch_in_index": True},
        ),
    ],
}
