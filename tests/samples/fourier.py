"""Samples of discrete Fourier transforms."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

X = (np.arange(24) % 7 - 2.5).reshape(2, 3, 4)
Z = X + 1j * (np.arange(24) % 5 - 1.0).reshape(2, 3, 4)

SAMPLES: dict[str, list[Sample]] = {
    "_RFFTGrad": [
        Sample([Z[..., :3], np.array([2, 3, size], np.int32), np.array([length], np.int32)], {"Treal": dtypes.float64})
        for size, length in ((4, 4), (6, 4), (3, 4), (5, 5))
    ],
}
for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    _length = np.array(X.shape[-_rank:], np.int32)
    for _name in ("FFT", "IFFT"):
        SAMPLES[_name + _suffix] = [Sample([Z]), Sample([Z.astype(np.complex64)], gradient=False)]
    SAMPLES["RFFT" + _suffix] = [
        Sample([X, _length], {"Tcomplex": dtypes.complex128}, gradient=False),
        Sample([X.astype(np.float32), _length + 1], gradient=False),
    ]
    SAMPLES["IRFFT" + _suffix] = [
        Sample([Z, _length], {"Treal": dtypes.float64}, gradient=False),
        Sample([Z.astype(np.complex64), _length - 1], gradient=False),
    ]
