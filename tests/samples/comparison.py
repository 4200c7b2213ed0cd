"""Samples of comparisons, logic, choice and casts."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

F = np.array([[0.3, -0.7, 1.6], [2.4, -1.2, 0.9]], np.float32)
G = np.array([[0.3, 0.6, -1.1], [0.5, -1.2, -0.8]], np.float32)
INTS = np.array([[-7, 5, 2], [7, -1, 4]], np.int32)
OTHERS = np.array([[2, 5, 1], [-4, -1, 3]], np.int32)
Z = np.array([0.5 + 0.25j, -0.75 + 0.5j], np.complex64)
B = np.array([[True, False, True], [False, False, True]])
C = np.array([True, False, False])
S = np.array([[b"a", b"b"], [b"", b"d"]], dtype=object)
ODD = np.array([0.0, np.inf, -np.inf, np.nan, 1.5], np.float32)

_PAIRS = [
    Sample([F, G], gradient=False),
    Sample([F, G[0]], gradient=False),
    Sample([F, np.float32(0.3)], gradient=False),
    Sample([F.astype(np.float16), G.astype(np.float16)], gradient=False),
    Sample([F[:0], G[:0]], gradient=False),
    *[Sample([INTS.astype(t), OTHERS.astype(t)], gradient=False) for t in (np.int8, np.int32, np.int64)],
    *[
        Sample([np.array([1, 7, 0], t), np.array([2, 7, 3], t)], gradient=False)
        for t in (np.uint8, np.uint16, np.uint32, np.uint64)
    ],
]
_EQUALITY = [
    *_PAIRS,
    Sample([Z, Z[::-1].copy()], gradient=False),
    Sample([B, C], gradient=False),
    Sample([S, S]),
    Sample([S, np.array([b"a", b"d"], dtype=object)]),
    Sample([F, np.ones(2, np.float32)], {"incompatible_shape_error": False}, gradient=False),
]

SAMPLES: dict[str, list[Sample]] = dict.fromkeys(("Less", "LessEqual", "Greater", "GreaterEqual"), _PAIRS)
SAMPLES |= dict.fromkeys(("Equal", "NotEqual"), _EQUALITY)
SAMPLES |= {name: [Sample([B, C]), Sample([B, B]), Sample([C, np.array(True)])] for name in ("LogicalAnd", "LogicalOr")}
SAMPLES |= {
    name: [Sample([ODD], gradient=False), Sample([ODD.astype(np.float64)], gradient=False)]
    for name in ("IsNan", "IsInf", "IsFinite")
}
SAMPLES |= {
    "LogicalNot": [Sample([B]), Sample([np.array(False)])],
    "ApproximateEqual": [
        Sample([F, G], gradient=False),
        Sample([F, F + 0.05], {"tolerance": 0.1}, gradient=False),
        Sample([INTS, OTHERS], gradient=False),
    ],
    "Select": [
        Sample([B, F, G]),
        Sample([np.array([True, False]), F, G], note="rows"),
        Sample([np.array(True), F, G], note="scalar"),
        Sample([B, INTS, OTHERS], gradient=False),
        Sample([C, F[0], G[0]]),
        Sample([np.array([[True, False], [False, True]]), S, S[::-1].copy()]),
    ],
    "SelectV2": [
        Sample([B, F, G]),
        Sample([C, F, G[0]]),
        Sample([np.array(False), F, G]),
        Sample([B, np.float32(1.0), np.float32(2.0)]),
        Sample([B, INTS, OTHERS], gradient=False),
        Sample([np.array([True, False]), S, np.array(b"e", dtype=object)]),
    ],
    "Cast": [
        Sample([F], {"DstT": dtypes.float64}),
        Sample([F], {"DstT": dtypes.float32}),
        Sample([F], {"DstT": dtypes.float16}, gradient=False),
        Sample([F], {"DstT": dtypes.bfloat16}, gradient=False),
        Sample([F], {"DstT": dtypes.int32}, gradient=False),
        Sample([F], {"DstT": dtypes.bool}, gradient=False),
        Sample([INTS], {"DstT": dtypes.float32}, gradient=False),
        Sample([INTS], {"DstT": dtypes.uint8}, gradient=False),
        Sample([INTS], {"DstT": dtypes.uint16}, gradient=False),
        Sample([B], {"DstT": dtypes.float32}, gradient=False),
        Sample([F], {"DstT": dtypes.complex64}, rtol=1e-3),
        Sample([Z], {"DstT": dtypes.float32}, gradient=False),
        Sample([Z], {"DstT": dtypes.complex128}, gradient=False),
    ],
}
