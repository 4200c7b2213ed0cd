"""Samples of the ops that only the planner makes."""

import numpy as np

from headrace.library.opcheck import Sample

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
