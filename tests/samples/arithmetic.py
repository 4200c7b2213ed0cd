"""Samples of element-wise arithmetic of two inputs, and of sums of several."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

F = np.array([[0.3, -0.7, 1.6], [2.4, -1.2, 0.9]], np.float32)
G = np.array([[1.3, 0.6, -1.1], [0.5, 2.2, -0.8]], np.float32)
ROW = np.array([1.5, -0.5, 2.25], np.float32)
COLUMN = np.array([[0.75], [-1.25]], np.float32)
POSITIVE = np.array([[0.3, 0.7, 1.6], [2.4, 1.2, 0.9]], np.float32)
Z = np.array([0.5 + 0.25j, -0.75 + 0.5j], np.complex64)
W = np.array([1.0 - 0.5j, 0.25 + 1.5j], np.complex64)
INTS = np.array([[-7, 5, 2], [7, -1, 4]], np.int32)
OTHERS = np.array([[2, -3, 1], [-4, 5, 3]], np.int32)
STRINGS = np.array([b"a", b"bc"], dtype=object)


def _floats(x=F, y=G, complex_too=True):
    samples = [
        Sample([x, y]),
        Sample([x.astype(np.float64), y.astype(np.float64)], rtol=1e-5, atol=1e-5),
        Sample([x, y[0]], note="row"),
        Sample([x[:, :1], y[0]], note="outer"),
        Sample([x, y[0, 0]], note="scalar"),
        Sample([x[:0], y[0]], note="empty"),
        Sample([x.astype(np.float16), y.astype(np.float16)], gradient=False, rtol=1e-2, atol=1e-2),
        Sample([x, y], {"T": dtypes.bfloat16}, gradient=False, rtol=5e-2, atol=5e-2),
    ]
    if complex_too:
        samples.append(Sample([Z, W], rtol=1e-3, atol=1e-3))
    return samples


def _integers():
    signed = [
        Sample([INTS.astype(t), OTHERS.astype(t)], gradient=False) for t in (np.int8, np.int16, np.int32, np.int64)
    ]
    unsigned = [
        Sample([np.array([9, 7, 3], t), np.array([2, 3, 5], t)], gradient=False)
        for t in (np.uint8, np.uint16, np.uint32, np.uint64)
    ]
    return [*signed, *unsigned, Sample([INTS, OTHERS[0]], gradient=False)]


_MISMATCH = [Sample([F, np.ones(2, np.float32)], error=Exception)]

SAMPLES: dict[str, list[Sample]] = {
    "Add": _floats()
    + _integers()
    + _MISMATCH
    + [Sample([STRINGS, STRINGS]), Sample([STRINGS, np.array(b"-", object)])],
    "AddV2": _floats() + _integers() + _MISMATCH,
    "Sub": _floats() + _integers(),
    "Mul": _floats() + _integers(),
    "MulNoNan": _floats(),
    "Div": _floats() + _integers(),
    "RealDiv": _floats(),
    "DivNoNan": [*_floats(), Sample([np.float32([1, 2]), np.float32([0, 4])], gradient=False)],
    "TruncateDiv": _integers() + [Sample([F, G], gradient=False)],
    "FloorDiv": _integers() + [Sample([F, G], gradient=False)],
    "FloorMod": _integers() + _floats(F, G + 0.07, complex_too=False),
    "Mod": _integers() + _floats(F, G + 0.07, complex_too=False),
    "TruncateMod": _integers() + _floats(F, G + 0.07, complex_too=False),
    "Xdivy": _floats() + [Sample([np.float32([0, 1]), np.float32([0, 2])], gradient=False)],
    "Xlogy": _floats(F, POSITIVE) + [Sample([np.float32([0, 1]), np.float32([0, 2])], gradient=False)],
    "Pow": _floats(POSITIVE, G) + [Sample([INTS, np.abs(OTHERS)], gradient=False)],
    "SquaredDifference": _floats(complex_too=False) + _integers(),
    "Maximum": _floats(complex_too=False) + _integers(),
    "Minimum": _floats(complex_too=False) + _integers(),
    "Atan2": _floats(complex_too=False),
    "NextAfter": [Sample([F, G], gradient=False), Sample([F.astype(np.float64), G.astype(np.float64)], gradient=False)],
    "AddN": [
        Sample([[F, G]]),
        Sample([[F, G, F, G]]),
        Sample([[F]]),
        Sample([[INTS, OTHERS, INTS]], gradient=False),
        Sample([[Z, W]], rtol=1e-3, atol=1e-3),
    ],
    "AccumulateNV2": [Sample([[F, G, F]], {"shape": (2, 3)}), Sample([[F]], {"shape": (2, 3)})],
    "ClipByValue": [
        Sample([F, np.float32(-0.5), np.float32(1.0)]),
        Sample([F, np.full_like(F, -0.5), np.full_like(F, 1.0)]),
        Sample([INTS, np.int32(-2), np.int32(4)], gradient=False),
    ],
    "_SumToShape": [
        Sample([F, np.int32([2, 3])]),
        Sample([F, np.int32([3])]),
        Sample([F, np.int32([2, 1])]),
        Sample([F, np.zeros(0, np.int32)]),
        Sample([INTS, np.int64([1, 3])], gradient=False),
    ],
}
for _name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    SAMPLES[_name] = _integers()
for _name in ("LeftShift", "RightShift"):
    SAMPLES[_name] = [
        Sample([np.array([1, 5, 90], t), np.array([1, 0, 3], t)], gradient=False)
        for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
    ]
