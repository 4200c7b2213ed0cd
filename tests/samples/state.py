"""Samples of variables: reads and assignments."""

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import FailedPreconditionError
from headrace.library.testing.opcheck import Sample

MATRIX = np.array([[1.5, -2.0, 3.0], [0.25, 4.0, -5.0]], np.float32)
STRINGS = np.array([b"one", b"two"], dtype=object)
INTEGERS = np.array([1, -2, 3], np.int64)
EMPTY = np.zeros((0, 2), np.float32)
UNSET = Sample([None], {"T": dtypes.float32}, error=FailedPreconditionError)


def _updates() -> list[Sample]:
    return [
        Sample([MATRIX, MATRIX + 1]),
        Sample([MATRIX, MATRIX * 2], {"use_locking": True}),
        Sample([MATRIX.astype(np.float64), MATRIX.astype(np.float64)]),
        Sample([INTEGERS, INTEGERS * 3]),
        Sample([np.array(2.0, np.float32), np.array(3.0, np.float32)]),
        Sample([EMPTY, EMPTY]),
        Sample([MATRIX, MATRIX[0]], error=ValueError),
        Sample([None, MATRIX], error=FailedPreconditionError),
    ]


SAMPLES: dict[str, list[Sample]] = {
    "_TakeTouched": [
        Sample([MATRIX, b"", b"1"], {"asker": "a"}),
        Sample([MATRIX, b"", b"1"], {"asker": "a", "small": 100}),
        Sample([STRINGS, b"", b"1"], {"asker": "a"}),
        Sample([None, b"", b"1"], {"asker": "a", "T": dtypes.float32}, error=FailedPreconditionError),
    ],
    "Assign": [
        Sample([MATRIX, MATRIX + 1]),
        Sample([None, MATRIX]),
        Sample([MATRIX, MATRIX + 1], {"use_locking": False}),
        Sample([MATRIX, MATRIX[:1]], {"validate_shape": False}),
        Sample([STRINGS, STRINGS[::-1].copy()]),
        Sample([INTEGERS, INTEGERS * 3]),
        Sample([np.array(True), np.array(False)]),
        Sample([EMPTY, EMPTY]),
        Sample([MATRIX, MATRIX[0]], error=ValueError),
    ],
    "_AssignOwn": [
        Sample([MATRIX, MATRIX + 1]),
        Sample([None, MATRIX]),
        Sample([MATRIX, MATRIX + 1], {"use_locking": False}),
        Sample([MATRIX, MATRIX[:1]], {"validate_shape": False}),
        Sample([STRINGS, STRINGS[::-1].copy()]),
        Sample([MATRIX, MATRIX[0]], error=ValueError),
    ],
    "AssignAdd": _updates(),
    "AssignSub": _updates(),
    "_Overwrite": _updates(),
    "IsVariableInitialized": [Sample([MATRIX]), Sample([None], {"dtype": dtypes.float32}), Sample([STRINGS])],
    "_InitializedValue": [
        Sample([MATRIX, MATRIX + 1], gradient=False),
        Sample([None, MATRIX], gradient=False),
        Sample([STRINGS, STRINGS[::-1].copy()]),
        Sample([INTEGERS, INTEGERS * 2]),
    ],
    "_Read": [Sample([MATRIX]), Sample([STRINGS]), Sample([INTEGERS]), UNSET],
    "_ReadCopy": [Sample([MATRIX]), Sample([STRINGS]), Sample([INTEGERS]), UNSET],
}
