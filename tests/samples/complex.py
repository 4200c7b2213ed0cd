"""Samples of complex numbers taken apart and put together."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

Z = np.array([[0.5 + 0.25j, -0.75 + 0.5j], [1.5 - 2.0j, -0.5 - 0.25j]], np.complex64)
X = np.array([[0.5, -1.5], [2.0, 0.75]], np.float32)

_PARTS = [
    Sample([Z], {"Tout": dtypes.float32}, rtol=1e-3, atol=1e-3),
    Sample([Z.astype(np.complex128)], {"Tout": dtypes.float64}),
    Sample([Z[0, 0]], {"Tout": dtypes.float32}, gradient=False),
]
SAMPLES: dict[str, list[Sample]] = dict.fromkeys(("Real", "Imag", "Angle", "ComplexAbs"), _PARTS)
SAMPLES |= {
    "Conj": [Sample([Z], rtol=1e-3, atol=1e-3), Sample([Z[:0]]), Sample([Z.astype(np.complex128)])],
    "Complex": [
        Sample([X, X + 1], {"Tout": dtypes.complex64}, rtol=1e-3, atol=1e-3),
        Sample([X, X[0]], {"Tout": dtypes.complex64}, rtol=1e-3, atol=1e-3),
        Sample([X.astype(np.float64), np.float64(2.0)], {"Tout": dtypes.complex128}),
    ],
}
