"""Samples of the ops that only the planner makes."""

import numpy as np

from headrace.core import errors
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

SAMPLES["_RandomCrop"] = [
    Sample([np.arange(24, dtype=np.uint8).reshape(4, 6), [3, 2]], {"text": b"small"}, random=True),
    Sample([np.ones([4, 6], np.float32), [0, 6]], {"text": b"small"}, random=True, gradient=False),
    Sample([np.ones([4, 6], np.float32), [5, 6]], {"text": b"small"}, error=errors.InvalidArgumentError),
]
SAMPLES["_Own"] = [Sample([_W]), Sample([np.array([[b"a", b""]], object)], gradient=False)]

_NUMBERS = np.array([[-2.0, -0.5, 0.0], [0.5, 1.0, 3.0]], np.float32)
SAMPLES["_PowerOf"] = [
    Sample([_NUMBERS], {"exponent": 3.0}, gradient=False),
    Sample([_NUMBERS.astype(np.float64)], {"exponent": -2.0}, gradient=False),
    Sample([np.abs(_NUMBERS)], {"exponent": 0.5}, gradient=False),
    Sample([np.zeros([0, 3], np.float32)], {"exponent": 1.5}, gradient=False),
]

_HEADS = [np.sin(np.arange(24, dtype=np.float32) + n).reshape(1, 2, 3, 4) for n in range(4)]
_FUTURE = np.triu(np.full([3, 3], -1e9, np.float32), 1)
for _name, _inputs in (("_Attention", _HEADS[:3]), ("_AttentionGrad", _HEADS)):
    SAMPLES[_name] = [
        Sample([*_inputs, []], {"scale": 0.5, "causal": True}, gradient=False),
        Sample([*_inputs, [_FUTURE]], {"scale": 0.25}, gradient=False),
        Sample([*[one[0].astype(np.float64) for one in _inputs], []], {"scale": 1.0}, gradient=False),
    ]
