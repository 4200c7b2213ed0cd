"""Samples for filling, ranges and one-hot."""

import numpy as np
from sample_forms import plain

from headrace.library.testing.opcheck import Sample

SAMPLES = {
    "Fill": [
        Sample(([2, 3], np.float32(1.5))),
        Sample((np.array([4], np.int64), np.float64(-1))),
        plain(np.zeros([0], np.int32), np.int32(7)),
        plain([0, 3], np.float32(1)),
        plain([2], np.array(b"x", dtype=object)),
        plain([2, 1], np.True_),
        Sample(([2], np.ones([2], np.float32)), error=ValueError),
    ],
    "Range": [
        plain(0, 5, 1),
        plain(5, -3, -2),
        plain(3, 3, 1),
        plain(np.int64(2), np.int64(9), np.int64(3)),
        plain(np.float32(0), np.float32(1), np.float32(0.25)),
        plain(np.float64(1), np.float64(0), np.float64(-0.3)),
        Sample((0, 5, 0), error=ValueError),
        Sample((0, 5, -1), error=ValueError),
    ],
    "LinSpace": [
        plain(np.float32(0), np.float32(1), 5),
        plain(np.float64(3), np.float64(-3), np.int64(4)),
        plain(np.float32(2), np.float32(9), 1),
        Sample((np.float32(0), np.float32(1), 0), error=ValueError),
    ],
    "OneHot": [
        plain([0, 2, -1, 7], 3, np.float32(1), np.float32(0)),
        plain([[0, 1], [1, 0]], 2, np.float64(5), np.float64(-5), axis=0),
        plain(np.array([[0, 1]], np.int64), 3, np.int32(1), np.int32(0), axis=1),
        plain(np.array([1, 200], np.uint8), 250, np.True_, np.False_),
        plain(np.int32(1), 3, np.complex64(1j), np.complex64(0)),
        plain([0], 0, np.float32(1), np.float32(0)),
        plain([0, 1], 2, np.array(b"on", dtype=object), np.array(b"off", dtype=object)),
    ],
}
