"""Samples of constants, placeholders and the ops that pass a value on unchanged."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

MATRIX = np.array([[1.5, -2.0, 3.0], [0.25, 4.0, -5.0]], np.float32)
STRINGS = np.array([b"one", b"", b"three"], dtype=object)
KINDS = [
    MATRIX,
    MATRIX.astype(np.float64),
    MATRIX.astype(np.float16),
    MATRIX.astype(np.complex64),
    np.array([[1, -2], [3, 4]], np.int32),
    np.array([True, False]),
    np.array(7, np.int64),
    np.zeros((0, 3), np.float32),
]
BRAIN = Sample([MATRIX], {"T": dtypes.bfloat16}, gradient=False, rtol=1e-2)

SAMPLES: dict[str, list[Sample]] = {
    "Const": [
        Sample(attrs={"value": MATRIX, "dtype": dtypes.float32}),
        Sample(attrs={"value": np.array(3, np.int64), "dtype": dtypes.int64}),
        Sample(attrs={"value": STRINGS, "dtype": dtypes.string}),
        Sample(attrs={"value": MATRIX, "dtype": dtypes.bfloat16}),
    ],
    "Identity": [Sample([k]) for k in KINDS] + [Sample([STRINGS]), BRAIN],
    "Snapshot": [Sample([k]) for k in KINDS] + [Sample([STRINGS]), BRAIN],
    "StopGradient": [Sample([k]) for k in KINDS] + [Sample([STRINGS])],
    "PreventGradient": [Sample([k], {"message": "not here"}, gradient=False) for k in KINDS],
    "ZerosLike": [Sample([k]) for k in KINDS] + [Sample([STRINGS]), BRAIN],
    "OnesLike": [Sample([k]) for k in KINDS] + [BRAIN],
    "IdentityN": [
        Sample([[MATRIX, MATRIX.astype(np.int32), np.array(2.0)]]),
        Sample([[STRINGS]]),
        Sample([[MATRIX]]),
    ],
    "PlaceholderWithDefault": [
        Sample([MATRIX], {"shape": [None, 3]}),
        Sample([MATRIX], {"shape": None}),
        Sample([STRINGS], {"shape": [3]}),
        Sample([np.array(5, np.int32)], {"shape": []}),
    ],
    "NoOp": [Sample()],
}
