"""Samples of element-wise functions of one input."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

F = np.array([[0.3, -0.7, 1.6], [2.4, -1.2, 0.9]], np.float32)
POSITIVE = np.array([[0.3, 0.7, 1.6], [2.4, 1.2, 0.9]], np.float32)
UNIT = np.array([0.25, -0.5, 0.75], np.float32)
ABOVE_ONE = np.array([1.25, 2.5, 4.0], np.float32)
Z = np.array([0.5 + 0.25j, -0.75 + 0.5j], np.complex64)
I32 = np.array([[-3, 0, 2], [7, -1, 4]], np.int32)
EMPTY = np.zeros((0, 3), np.float32)


def _floats(x, complex_too=True):
    """The usual types, a scalar, nothing, and half precision."""
    samples = [
        Sample([x]),
        Sample([x.astype(np.float64)], rtol=1e-5, atol=1e-5),
        Sample([x.reshape(-1)[0]]),
        Sample([x[:0]]),
        Sample([x.astype(np.float16)], gradient=False, rtol=1e-2, atol=1e-2),
        Sample([x], {"T": dtypes.bfloat16}, gradient=False, rtol=5e-2, atol=5e-2),
    ]
    if complex_too:
        samples.append(Sample([Z], rtol=1e-3, atol=1e-3))
    return samples


_INTEGERS = [Sample([I32.astype(t)], gradient=False) for t in (np.int8, np.int16, np.int32, np.int64)]
_UNSIGNED = [Sample([np.array([1, 7, 0], t)], gradient=False) for t in (np.uint8, np.uint16, np.uint32, np.uint64)]

SAMPLES: dict[str, list[Sample]] = {
    "Neg": _floats(F) + _INTEGERS + _UNSIGNED,
    "Abs": _floats(F, False) + _INTEGERS,
    "Sign": _floats(F, False) + _INTEGERS + [Sample([Z], gradient=False)],
    "Square": _floats(F) + _INTEGERS + _UNSIGNED,
    "Round": [
        Sample([np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4], np.float32)], gradient=False),
        Sample([I32], gradient=False),
    ],
    "Invert": _INTEGERS + _UNSIGNED,
    "PopulationCount": _INTEGERS + _UNSIGNED,
}
for _name in (
    "Exp", "Expm1", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Sigmoid", "Reciprocal", "Inv",
):  # fmt: skip
    SAMPLES[_name] = _floats(F)
for _name in ("Log", "Log1p", "Sqrt", "Rsqrt"):
    SAMPLES[_name] = _floats(POSITIVE)
for _name in ("Asin", "Acos", "Atanh"):
    SAMPLES[_name] = _floats(UNIT)
SAMPLES["Acosh"] = _floats(ABOVE_ONE)
for _name in ("Erf", "Erfc"):
    SAMPLES[_name] = _floats(F, False)
for _name in ("Lgamma", "Digamma"):
    SAMPLES[_name] = _floats(POSITIVE, False)
for _name in ("Floor", "Ceil", "Rint"):
    SAMPLES[_name] = [Sample([x], gradient=False) for x in (F, F.astype(np.float64), F.astype(np.float16), EMPTY)]
for _name in ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"):
    SAMPLES[_name] = [
        Sample([POSITIVE, F]),
        Sample([POSITIVE.astype(np.float64), F.astype(np.float64)]),
        Sample([Z, Z + 1], rtol=1e-3, atol=1e-3),
        Sample([np.float32(0.5), np.float32(2.0)]),
    ]
