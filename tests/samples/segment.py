"""Samples of reductions over groups of rows."""

import numpy as np

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

ROWS = np.array([[0.3, -0.7], [1.6, 2.4], [-1.2, 0.9], [0.5, -2.5]], np.float32)
COUNTS = np.array([[3, 1], [4, -1], [5, 9], [2, 6]], np.int32)
IDS = np.array([0, 0, 1, 3], np.int32)
MIXED = np.array([2, 0, 2, -1], np.int32)

_SORTED = [
    Sample([ROWS, IDS]),
    Sample([ROWS, IDS.astype(np.int64)]),
    Sample([ROWS[:, 0].astype(np.float64), IDS]),
    Sample([COUNTS, IDS], gradient=False),
    Sample([ROWS[:0], IDS[:0]], gradient=False),
]
_UNSORTED = [
    Sample([ROWS, MIXED, np.int32(4)]),
    Sample([ROWS, MIXED.astype(np.int64), np.int64(3)]),
    Sample([ROWS, np.array([[0, 1], [2, 1], [-1, 0], [2, 2]], np.int32), np.int32(3)], note="one id an element"),
    Sample([COUNTS, MIXED, np.int32(3)], gradient=False),
    Sample([ROWS[:0], MIXED[:0], np.int32(2)], gradient=False),
]

SAMPLES: dict[str, list[Sample]] = dict.fromkeys(
    ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"), _SORTED
)
SAMPLES |= {f"UnsortedSegment{name}": _UNSORTED for name in ("Sum", "Prod")}
# Segments without rows hold the lowest number, too low for finite differences.
SAMPLES |= {
    f"UnsortedSegment{name}": [
        Sample([ROWS, np.array([1, 0, 1, -1], np.int32), np.int32(2)]),
        *_UNSORTED[2:],
        Sample([ROWS, MIXED, np.int32(4)], gradient=False),
    ]
    for name in ("Max", "Min")
}
SAMPLES["Bincount"] = [
    Sample([np.int32([1, 0, 1, 3]), np.int32(5), np.zeros(0, np.int32)], gradient=False),
    Sample([np.int32([[1, 0], [1, 3]]), np.int32(2), np.zeros(0, np.int64)], gradient=False),
    Sample([np.int32([1, 0, 1]), np.int32(3), np.float32([0.5, 1.0, 2.0])], gradient=False),
]
SAMPLES["HistogramFixedWidth"] = [
    Sample([np.float32([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]), np.float32([0, 5]), np.int32(5)], gradient=False),
    Sample([np.int32([[1, 7], [3, 2]]), np.int32([0, 8]), np.int32(4)], {"dtype": dtypes.int64}, gradient=False),
]
