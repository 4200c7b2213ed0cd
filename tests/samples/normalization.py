"""Samples of batch and local response normalisation."""

from typing import Any

import numpy as np

from headrace.library.testing.opcheck import Sample


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return rounded(np.random.RandomState(seed).randn(*shape))


def rounded(array: np.ndarray) -> np.ndarray:
    """To few bits: roots, sums and logarithms differ in the last one from processor to processor."""
    return (np.round(array * 256) / 256).astype(np.float32)


X, G = values(2, 3, 2, 3), values(2, 3, 2, 3, seed=1)
SCALE, OFFSET = np.array([1.5, -0.5, 2.0], np.float32), np.array([0.1, 0.2, -3.0], np.float32)
MEAN, VARIANCE = np.array([0.3, -0.2, 0.1], np.float32), np.array([0.5, 1.5, 2.5], np.float32)
NONE = np.zeros(0, np.float32)


def _forward(version: int) -> list[Sample]:
    """Gradients flow through y only, as in TF1, so they are checked in the family's own tests."""

    def make(x: np.ndarray, statistics: tuple[np.ndarray, np.ndarray] = (NONE, NONE), **attrs: Any) -> Sample:
        return Sample([x, SCALE, OFFSET, *statistics], attrs, gradient=False, rtol=1e-3)

    found = [
        make(X),
        make(X, epsilon=0.1),
        make(np.moveaxis(X, -1, 1).copy(), data_format="NCHW"),
        make(X, (MEAN, VARIANCE), is_training=False),
        make(np.moveaxis(X, -1, 1).copy(), (MEAN, VARIANCE), is_training=False, data_format="NCHW"),
        make(X, (MEAN, VARIANCE), exponential_avg_factor=0.25),
        make(X[:1, :1, :1]),
        Sample([X, SCALE[:2], OFFSET, NONE, NONE], error=ValueError),
        Sample([X[0], SCALE, OFFSET, NONE, NONE], error=ValueError),
        Sample([X.astype(np.float64), SCALE, OFFSET, NONE, NONE], error=TypeError),
    ]
    if version > 1:
        found.append(make(X.astype(np.float16)))
    if version > 2:
        found += [make(X[None], data_format="NDHWC"), make(np.moveaxis(X[None], -1, 1).copy(), data_format="NCDHW")]
    return found


def _backward(version: int) -> list[Sample]:
    inverse = rounded(1 / np.sqrt(X.var((0, 1, 2)) + 1e-4))
    third = [np.zeros((), np.float32)] if version == 3 else []

    def make(g: np.ndarray, x: np.ndarray, first: np.ndarray, second: np.ndarray, **attrs: Any) -> Sample:
        return Sample([g, x, SCALE, first, second, *third], attrs, gradient=False, rtol=1e-3)

    mean = rounded(X.mean((0, 1, 2)))
    return [
        make(G, X, mean, inverse),
        make(np.moveaxis(G, -1, 1).copy(), np.moveaxis(X, -1, 1).copy(), mean, inverse, data_format="NCHW"),
        make(G, X, MEAN, VARIANCE, is_training=False, epsilon=0.1),
    ]


IMAGE = values(1, 2, 2, 5, seed=3)
RESPONSE = [
    {},
    {"depth_radius": 1},
    {"depth_radius": 2, "bias": 2.0, "alpha": 0.3, "beta": 0.75},
    {"depth_radius": 0},
    {"depth_radius": 7, "alpha": 1e-4},
]


def _response(image: np.ndarray, **attrs: Any) -> np.ndarray:
    radius, bias = attrs.get("depth_radius", 5), attrs.get("bias", 1.0)
    alpha, beta = attrs.get("alpha", 1.0), attrs.get("beta", 0.5)
    depth = image.shape[-1]
    near = [np.square(image[..., max(0, i - radius) : i + radius + 1]).sum(-1) for i in range(depth)]
    return rounded(image / (bias + alpha * np.stack(near, -1)) ** beta)


SAMPLES = {
    "FusedBatchNorm": _forward(1),
    "FusedBatchNormV2": _forward(2),
    "FusedBatchNormV3": _forward(3),
    "FusedBatchNormGrad": _backward(1),
    "FusedBatchNormGradV2": _backward(2),
    "FusedBatchNormGradV3": _backward(3),
    "LRN": [*[Sample([IMAGE], a) for a in RESPONSE], Sample([IMAGE[0]], error=ValueError)],
    "LRNGrad": [
        Sample([values(1, 2, 2, 5, seed=4), IMAGE, _response(IMAGE, **a)], a, wrt=["input_grads"]) for a in RESPONSE
    ],
}
