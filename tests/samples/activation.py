"""Samples of activations, bias addition and the L2 loss."""

import numpy as np

from headrace.library.testing.opcheck import Sample

# Away from the kinks at 0 and 6.
X = np.array([[-3.5, -0.7, 0.4, 2.5], [7.5, 5.2, -9.0, 0.9]], np.float32)
G = np.array([[0.3, -1.2, 2.0, 0.7], [1.5, -0.4, 0.8, -2.2]], np.float32)
EMPTY = np.zeros((0, 3), np.float32)


def _unary(**attrs: float) -> list[Sample]:
    return [
        Sample([X], attrs),
        Sample([X.astype(np.float64)], attrs),
        Sample([X.astype(np.float16)], attrs, gradient=False),
        Sample([np.float32(-0.25)], attrs, note="scalar"),
        Sample([EMPTY], attrs, note="empty"),
    ]


def _gradient(features: np.ndarray, **attrs: float) -> list[Sample]:
    return [
        Sample([G, features], attrs),
        Sample([G.astype(np.float64), features.astype(np.float64)], attrs),
        Sample([G.astype(np.float16), features.astype(np.float16)], attrs, gradient=False),
        Sample([np.float32(2.0), np.float32(0.5)], attrs, note="scalar"),
        Sample([EMPTY, EMPTY], attrs, note="empty"),
        Sample([G, features[:1]], attrs, error=ValueError),
    ]


def _integers(*inputs: np.ndarray) -> list[Sample]:
    return [Sample([i.astype(t) for i in inputs], gradient=False) for t in (np.int32, np.int64, np.uint8, np.uint16)]


WHOLE = np.array([0, 3, 6, 9])
OUT = np.array([[-0.9, -0.2, 0.4, 2.5], [7.5, 5.2, -0.99, 0.9]], np.float32)  # values Elu can give
SELU_OUT = np.array([[-1.6, -0.2, 0.4, 2.5], [7.5, 5.2, -1.7, 0.9]], np.float32)

VALUE = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2) / 7
FORMATS = ("NHWC", "NCHW")

SAMPLES = {
    "Relu": _unary() + _integers(WHOLE - 4),
    "Relu6": _unary() + [Sample([(WHOLE - 4).astype(np.int32)], gradient=False)],
    "Elu": _unary(),
    "Selu": _unary(),
    "Softplus": [*_unary(), Sample([np.array([-60.0, 60.0, 30.0])])],
    "Softsign": _unary(),
    "LeakyRelu": _unary() + _unary(alpha=0.5),
    "ReluGrad": _gradient(X) + _integers(WHOLE, WHOLE),
    "Relu6Grad": _gradient(X) + [Sample([WHOLE.astype(np.int32), WHOLE.astype(np.int32)], gradient=False)],
    "EluGrad": _gradient(OUT),
    "SeluGrad": _gradient(SELU_OUT),
    "SoftplusGrad": _gradient(X),
    "SoftsignGrad": _gradient(X),
    "LeakyReluGrad": _gradient(X) + _gradient(X, alpha=0.5),
    "BiasAdd": [
        Sample([X, np.array([1.0, -2.0, 0.5, 3.0], np.float32)]),
        Sample([VALUE, np.array([1.0, -2.0], np.float32)], {"data_format": "NHWC"}),
        Sample([VALUE, np.array([1.0, -2.0, 0.5], np.float32)], {"data_format": "NCHW"}),
        Sample([VALUE[0], np.array([1.0, -2.0], np.float32)], {"data_format": "NCHW"}),
        Sample([VALUE[None].astype(np.float64), np.array([1.0, -2.0])], note="rank 5"),
        Sample([WHOLE[None].astype(np.int32), WHOLE.astype(np.int32)], gradient=False),
        Sample([EMPTY, np.zeros(3, np.float32)]),
        Sample([X, np.zeros(3, np.float32)], error=ValueError),
        Sample([X, np.zeros(1, np.float32)], error=ValueError, note="a bias is not broadcast"),
        Sample([X[0], np.zeros(4, np.float32)], error=ValueError),
        Sample([X, np.zeros(4, np.float32)], {"data_format": "CHWN"}, error=ValueError),
    ],
    "BiasAddV1": [Sample([X, np.array([1.0, -2.0, 0.5, 3.0], np.float32)]), Sample([EMPTY, np.zeros(3, np.float32)])],
    "BiasAddGrad": [
        *[Sample([VALUE], {"data_format": f}) for f in FORMATS],
        Sample([X.astype(np.float64)]),
        Sample([VALUE[0].astype(np.float16)], {"data_format": "NCHW"}, gradient=False),
        Sample([WHOLE[None].astype(np.int32)], gradient=False),
        Sample([EMPTY]),
        Sample([X[0]], error=ValueError),
    ],
    "L2Loss": [
        Sample([X], rtol=1e-3),
        Sample([X.astype(np.float64)]),
        Sample([np.float32(3.0)]),
        Sample([EMPTY]),
        Sample([X.astype(np.int32)], error=TypeError),
    ],
}
