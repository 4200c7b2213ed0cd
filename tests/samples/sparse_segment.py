"""Samples of sums and means of chosen rows over segments."""

import numpy as np

from headrace.library.testing.opcheck import Sample

ROWS = np.array([[0.3, -0.7], [1.6, 2.4], [-1.2, 0.9], [0.5, -2.5]], np.float32)
CHOSEN = np.array([3, 0, 3, 1], np.int32)
IDS = np.array([0, 0, 1, 3], np.int32)

_PLAIN = [
    Sample([ROWS, CHOSEN, IDS]),
    Sample([ROWS.astype(np.float64), CHOSEN.astype(np.int64), IDS.astype(np.int64)]),
    Sample([ROWS[:, 0], CHOSEN, IDS]),
    Sample([ROWS, CHOSEN[:0], IDS[:0]], gradient=False),
]
_SIZED = [
    Sample([ROWS, CHOSEN, IDS, np.int32(5)]),
    Sample([ROWS[:, 0].astype(np.float64), CHOSEN, IDS.astype(np.int64), np.int64(4)]),
]

SAMPLES: dict[str, list[Sample]] = {}
for _name in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
    SAMPLES[_name] = list(_PLAIN)
    SAMPLES[f"{_name}WithNumSegments"] = list(_SIZED)
SAMPLES["SparseSegmentSum"].append(
    Sample([np.int32([[1, 2], [3, 4]]), np.int32([1, 1]), np.int32([0, 1])], gradient=False)
)
