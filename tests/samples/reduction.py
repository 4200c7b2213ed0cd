"""Samples of reductions along axes, of where extremes are, and of running sums."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

F = np.array([[0.3, -0.7, 1.6], [2.4, -1.2, 0.9]], np.float32)
CUBE = (np.arange(24, dtype=np.float32) % 7 - 2.5).reshape(2, 3, 4) + np.arange(24).reshape(2, 3, 4) * 0.01
CUBE = CUBE.astype(np.float32)
Z = np.array([[0.5 + 0.25j, -0.75 + 0.5j], [1.5 - 2.0j, -0.5 - 0.25j]], np.complex64)
INTS = np.array([[-7, 5, 2], [7, -1, 4]], np.int32)
B = np.array([[True, False, True], [True, True, True]])
NO_AXES = np.zeros(0, np.int32)


def _reductions(x=F, cube=CUBE):
    return [
        Sample([x, np.int32([0, 1])]),
        Sample([x, np.int32(1)]),
        Sample([x, np.int32([0])], {"keep_dims": True}),
        Sample([cube, np.int64([0, 2])]),
        Sample([cube, np.int32([-1, 0])], {"keep_dims": True}),
        Sample([cube, NO_AXES]),
        Sample([np.float32(2.5), NO_AXES]),
        Sample([x.astype(np.float64), np.int32([-1])]),
        Sample([x.astype(np.float16), np.int32([0])], gradient=False, rtol=1e-2, atol=1e-2),
        Sample([x, np.int32([1])], {"T": dtypes.bfloat16}, gradient=False, rtol=5e-2, atol=5e-2),
        Sample([x, np.int32([2])], error=Exception),
    ]


_INTEGERS = [
    *[Sample([INTS.astype(t), np.int32([1])], gradient=False) for t in (np.int8, np.int32, np.int64)],
    *[Sample([np.array([[3, 4], [5, 9]], t), np.int32([0])], gradient=False) for t in (np.uint8, np.uint16, np.uint32)],
]
_COMPLEX = [Sample([Z, np.int32([1])], rtol=1e-3, atol=1e-3)]
_NOTHING = [Sample([np.zeros((0, 3), np.float32), np.int32([0])], gradient=False)]
_TIES = [Sample([np.float32([[1, 2, 2], [3, 3, 0]]), np.int32([1])], gradient=False)]
_TRUTH = [
    Sample([B, np.int32([0, 1])]),
    Sample([B, np.int32([1])], {"keep_dims": True}),
    Sample([B, NO_AXES]),
    Sample([B[:0], np.int32([0])]),
]
_PLACES = [
    Sample([F, np.int32(0)], gradient=False),
    Sample([CUBE, np.int64(-1)], {"output_type": dtypes.int32}, gradient=False),
    Sample([INTS, np.int32(1)], gradient=False),
    Sample([np.uint16([3, 9, 1]), np.int32(0)], gradient=False),
    Sample([B, np.int32(1)], gradient=False),
    Sample([F, np.int32(2)], error=Exception),
]
_RUNNING = [
    Sample([F, np.int32(1)]),
    Sample([CUBE, np.int32(-2)], {"exclusive": True}),
    Sample([F, np.int64(0)], {"reverse": True}),
    Sample([F, np.int32(1)], {"exclusive": True, "reverse": True}),
    Sample([F[:0], np.int32(0)], {"exclusive": True}),
]

_UNSIGNED = [
    Sample([x, np.int32(1)], gradient=False)
    for dtype in (np.uint16, np.uint32, np.uint64)
    for x in (
        np.zeros((2, 0), dtype),
        np.array([[1, np.iinfo(dtype).max, 5], [7, 2, np.iinfo(dtype).max // 2 + 1]], dtype),
    )
]

SAMPLES: dict[str, list[Sample]] = {
    "Sum": _reductions() + _INTEGERS + _COMPLEX + _NOTHING,
    "Mean": _reductions() + _INTEGERS + _COMPLEX,
    "Prod": _reductions() + _INTEGERS + _COMPLEX + _NOTHING,
    "Max": _reductions() + _INTEGERS + _NOTHING + _TIES + _UNSIGNED,
    "Min": _reductions() + _INTEGERS + _NOTHING + _TIES + _UNSIGNED,
    "EuclideanNorm": [s for s in _reductions() if s.error is not None or s.inputs[1].size],
    "All": _TRUTH,
    "Any": _TRUTH,
    "ArgMax": _PLACES,
    "ArgMin": _PLACES,
    "Cumsum": [*_RUNNING, Sample([INTS, np.int32(1)], gradient=False), Sample([Z, np.int32(0)], rtol=1e-3, atol=1e-3)],
    "Cumprod": [
        *_RUNNING,
        Sample([INTS.astype(np.int64), np.int32(1)], gradient=False),
        Sample([np.float32([2, 0, 3, 4]), np.int32(0)], note="zero"),
    ],
    "CumulativeLogsumexp": [Sample([F, np.int32(1)]), Sample([F, np.int32(0)], {"reverse": True})],
    "_Unreduce": [
        Sample([F, np.int32([2, 3, 4]), np.int32([2])]),
        Sample([F, np.int32([2, 4, 3]), np.int32(1)], {"mean": True}),
        Sample([np.float32(1.5), np.int32([2, 2]), np.int32([0, 1])]),
        Sample([F[:, :1], np.int64([2, 5]), np.int32([1])], {"keep_dims": True}),
    ],
}
