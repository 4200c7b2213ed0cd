"""Samples for space, batch, depth and patches."""

import numpy as np
from sample_forms import plain

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

A = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2) / 9
B = np.arange(48, dtype=np.float64).reshape(4, 2, 3, 2) / 9
I = np.arange(16, dtype=np.int32).reshape(1, 4, 4, 1)  # noqa: E741


def patches(size, stride, rate, padding):
    return {"ksizes": [1, *size, 1], "strides": [1, *stride, 1], "rates": [1, *rate, 1], "padding": padding}


SAMPLES = {
    "SpaceToBatchND": [
        Sample((A, [2, 2], [[0, 0], [0, 0]])),
        Sample((A, [3], [[1, 1]])),
        Sample((B, np.array([2, 2], np.int64), np.array([[1, 1], [0, 1]], np.int64))),
        plain(I, [4, 1], [[0, 0], [0, 0]]),
        Sample((A, [3, 2], [[0, 0], [0, 0]]), error=ValueError),
    ],
    "BatchToSpaceND": [
        Sample((B, [2, 2], [[0, 0], [0, 0]])),
        Sample((B, [2, 1], [[1, 1], [0, 1]])),
        Sample((B, [1], [[0, 0]])),
        Sample((A, [2, 2], [[0, 0], [0, 0]]), error=ValueError),
    ],
    "SpaceToDepth": [
        Sample((A,), {"block_size": 2}),
        Sample((A.transpose(0, 3, 1, 2),), {"block_size": 2, "data_format": "NCHW"}),
        plain(I, block_size=4),
        Sample((A,), {"block_size": 3}, error=ValueError),
    ],
    "DepthToSpace": [
        Sample((np.concatenate([A, A], 3),), {"block_size": 2}),
        Sample((B.reshape(1, 4, 3, 4),), {"block_size": 2, "data_format": "NCHW"}),
        plain(I.reshape(1, 1, 1, 16), block_size=4),
        Sample((A,), {"block_size": 2}, error=ValueError),
    ],
    "ExtractImagePatches": [
        Sample((A,), patches([2, 2], [1, 1], [1, 1], "VALID")),
        Sample((A,), patches([3, 2], [2, 1], [1, 1], "SAME")),
        Sample((A,), patches([2, 2], [1, 1], [2, 2], "VALID")),
        plain(I, **patches([5, 5], [1, 1], [1, 1], "VALID")),
        plain(I, **patches([2, 2], [3, 3], [1, 1], "SAME")),
    ],
    "Bitcast": [
        plain(A[0, 0], type=dtypes.int32),
        plain(A[0, 0], type=dtypes.uint8),
        plain(np.arange(8, dtype=np.uint8).reshape(2, 4), type=dtypes.float32),
        plain(np.float64(1), type=dtypes.int32),
        plain(np.zeros((0, 4), np.uint16), type=dtypes.float64),
        Sample((np.arange(6, dtype=np.uint8).reshape(2, 3),), {"type": dtypes.float32}, error=ValueError),
    ],
    "DeepCopy": [plain(A), plain(np.array([b"a"], dtype=object))],
    "GuaranteeConst": [Sample((A,)), plain(np.array([b"a"], dtype=object))],
}
