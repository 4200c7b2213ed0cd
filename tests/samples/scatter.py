"""Samples of the updates of parts of a variable."""

import numpy as np

from headrace.core import errors
from headrace.library.testing.opcheck import Sample

MATRIX = np.array([[1.5, -2.0], [0.25, 4.0], [3.0, -5.0]], np.float32)
ROWS = np.array([[2.0, 0.5], [-1.0, 3.0]], np.float32)
VECTOR = np.array([10, -20, 30], np.int64)
STRINGS = np.array([b"a", b"b", b"c"], dtype=object)
INDEX = np.array([2, 0], np.int32)
LONG = INDEX.astype(np.int64)


def _rows(*more: Sample) -> list[Sample]:
    return [
        Sample([MATRIX, INDEX, ROWS]),
        Sample([MATRIX, LONG, ROWS], {"use_locking": True}),
        Sample([MATRIX.astype(np.float64), INDEX, ROWS.astype(np.float64)]),
        Sample([MATRIX.astype(np.float16), INDEX, ROWS.astype(np.float16)]),
        Sample([VECTOR, INDEX, np.array([2, 3], np.int64)]),
        Sample([MATRIX, np.int32(1), ROWS[0]], note="a scalar index"),
        Sample([MATRIX, np.array([[2], [0]], np.int32), ROWS[:, None]], note="indices of rank 2"),
        Sample([MATRIX, INDEX, np.float32(2.0)], note="one update for all rows"),
        Sample([MATRIX, np.zeros(0, np.int32), np.zeros((0, 2), np.float32)], note="no rows"),
        Sample([MATRIX, np.array([3], np.int32), ROWS[:1]], error=errors.InvalidArgumentError),
        Sample([MATRIX, np.array([-1], np.int32), ROWS[:1]], error=errors.InvalidArgumentError),
        Sample([MATRIX, INDEX, ROWS[:1]], error=ValueError),
        Sample([None, INDEX, ROWS], error=errors.FailedPreconditionError),
        *more,
    ]


def _coordinates(*more: Sample) -> list[Sample]:
    return [
        Sample([MATRIX, np.array([[2, 0], [0, 1]], np.int32), np.array([5.0, 6.0], np.float32)]),
        Sample([MATRIX, np.array([[1]], np.int64), ROWS[:1]], {"use_locking": True}),
        Sample([VECTOR, np.array([[[2], [0]]], np.int32), np.array([[7, 8]], np.int64)]),
        Sample([MATRIX, np.array([1, 1], np.int32), np.float32(3.0)], note="one coordinate"),
        Sample([MATRIX, np.zeros((0, 1), np.int32), np.zeros((0, 2), np.float32)], note="nothing"),
        Sample([MATRIX, np.zeros((1, 0), np.int32), MATRIX[None]], note="the whole variable"),
        Sample([MATRIX, np.array([[0, 2]], np.int32), np.ones(1, np.float32)], error=errors.InvalidArgumentError),
        Sample([MATRIX, np.array([[-1, 0]], np.int32), np.ones(1, np.float32)], error=errors.InvalidArgumentError),
        Sample([MATRIX, np.array([[0, 0, 0]], np.int32), np.ones(1, np.float32)], error=ValueError),
        Sample([MATRIX, np.array([[0, 0]], np.int32), np.ones(2, np.float32)], error=ValueError),
        *more,
    ]


TWICE = Sample([MATRIX, np.array([1, 1], np.int32), ROWS], note="a row given twice")
TWICE_ND = Sample([MATRIX, np.array([[1], [1]], np.int32), ROWS], note="a row given twice")

SAMPLES: dict[str, list[Sample]] = {
    "CountUpTo": [
        Sample([np.array(3, np.int32)], {"limit": 5}),
        Sample([np.array(3, np.int64)], {"limit": 4}),
        Sample([np.array(5, np.int32)], {"limit": 5}, error=errors.OutOfRangeError),
        Sample([np.array([5], np.int32)], {"limit": 9}, error=ValueError),
    ],
    "ScatterAdd": _rows(TWICE),
    "ScatterDiv": _rows(TWICE, Sample([VECTOR, np.array([0, 1], np.int32), np.array([3, 3], np.int64)])),
    "ScatterMax": _rows(TWICE),
    "ScatterMin": _rows(TWICE),
    "ScatterMul": _rows(TWICE),
    "ScatterNdAdd": _coordinates(TWICE_ND),
    "ScatterNdSub": _coordinates(TWICE_ND),
    "ScatterNdUpdate": _coordinates(
        Sample([STRINGS, np.array([[1]], np.int32), np.array([b"x"], dtype=object)]),
        Sample([np.array([True, False]), np.array([[1]], np.int32), np.array([True])]),
    ),
    "ScatterSub": _rows(TWICE),
    "ScatterUpdate": _rows(
        Sample([STRINGS, INDEX, np.array([b"x", b"y"], dtype=object)]),
        Sample([np.array([True, False, True]), INDEX, np.array([False, False])]),
    ),
}
