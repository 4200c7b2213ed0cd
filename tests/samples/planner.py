"""Samples of the ops that only the planner makes."""

import numpy as np

from headrace.library.testing.opcheck import Sample

_W = np.arange(6, dtype=np.float32).reshape(2, 3)
_A = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0], [2.0, 2.0]], np.float32)
_B = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
_LR, _M = np.float32(0.1), np.float32(0.9)

SAMPLES = {
    "_ApplyProduct": [
        Sample([_W, _LR, _A, _B], {"transpose_a": True}, gradient=False),
        Sample([_W, _LR, _A.T.copy(), _B], {"use_locking": True}, gradient=False),
        Sample([_W, _LR, _A.T.copy(), _B.T.copy()], {"transpose_b": True}, gradient=False),
    ],
    "_ApplyMomentumProduct": [
        Sample([_W, _W / 3, _LR, _A, _B, _M], {"transpose_a": True}, gradient=False),
        Sample([_W, _W / 3, _LR, _A.T.copy(), _B, _M], {"use_locking": True}, gradient=False),
    ],
}

_IMAGES = np.random.RandomState(1).permutation(48).astype(np.float32).reshape(1, 4, 4, 3)
_WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
_PLACES = np.array([[[[0, 2], [8, 10]], [[1, 3], [9, 11]], [[5, 7], [13, 15]]]], np.int64)

SAMPLES["_MaxPoolIndices"] = [
    Sample([_IMAGES], _WINDOW, gradient=False),
    Sample([_IMAGES.astype(np.float64)], {**_WINDOW, "padding": "VALID", "strides": [1, 1, 1, 1]}, gradient=False),
]
SAMPLES["_MaxPoolIndexGrad"] = [
    Sample([_IMAGES, np.ones([1, 2, 2, 3], np.float32), _PLACES], _WINDOW, gradient=False),
]

SAMPLES["_AddProduct"] = [
    Sample([_B, np.ones([4, 2], np.float32), _W], gradient=False),
    Sample([np.zeros([0, 3]), np.zeros([0, 2]), _W.astype(np.float64)], gradient=False),
]

for _name in ("_LogisticLoss", "_TimesSigmoid"):
    SAMPLES[_name] = [
        Sample([_W - 1, _W / 5], gradient=False),
        Sample([np.zeros([0, 3]), np.zeros([0, 3])], gradient=False),
        Sample([np.linspace(-30, 30, 700, dtype=np.float32), np.linspace(0, 1, 700, dtype=np.float32)], gradient=False),
    ]

SAMPLES["_TransposeCopy"] = [Sample([_B], gradient=False), Sample([np.zeros([0, 3])], gradient=False)]

_PAIR, _GRADS = [_W, _B[0]], [_W / 5 - 0.3, _B[1]]
_SLOTS = [_W / 3 + 0.1, _B[2] + 0.1]
_RATES = [np.float32(n) for n in (0.9, 0.99, 0.1, 0.9, 0.99, 1e-3)]

SAMPLES["_ApplyGradientDescentTogether"] = [
    Sample([_PAIR, _LR, _GRADS], gradient=False),
    Sample([[np.zeros([0, 2])], np.float64(0.1), [np.zeros([0, 2])]], {"use_locking": True}, gradient=False),
]
SAMPLES["_ApplyMomentumTogether"] = [
    Sample([_PAIR, _SLOTS, _LR, _GRADS, _M], {"use_nesterov": flag}, gradient=False) for flag in (False, True)
]
SAMPLES["_ApplyAdamTogether"] = [Sample([_PAIR, _SLOTS, _SLOTS, *_RATES, _GRADS], gradient=False)]
SAMPLES["_ApplyAdagradTogether"] = [Sample([_PAIR, _SLOTS, _LR, _GRADS], gradient=False)]

SAMPLES["_Hold"] = [Sample([[_W, _A], [_B]], gradient=False), Sample([[np.zeros([0, 3])], [_W, _A]], gradient=False)]

SAMPLES["_Own"] = [Sample([_W]), Sample([np.array([[b"a", b""]], object)], gradient=False)]
