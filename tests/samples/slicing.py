"""Samples for slices."""

import numpy as np
from sample_forms import plain

from headrace.core.errors import InvalidArgumentError
from headrace.library.testing.opcheck import Sample

F = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
V = np.arange(7, dtype=np.float64)
I = np.arange(6, dtype=np.int64).reshape(3, 2)  # noqa: E741
S = np.array([[b"a", b"bc"], [b"", b"d"]], dtype=object)


SPECS = [
    (F, [0, 1, 0], [2, 3, 4], [1, 1, 2], {}),
    (F, [0], [1], [1], {"shrink_axis_mask": 1}),
    (F, [1, 0], [2, 0], [1, 1], {"shrink_axis_mask": 1, "begin_mask": 2, "end_mask": 2}),
    (F, [0, -1], [0, 0], [1, 1], {"ellipsis_mask": 1, "shrink_axis_mask": 2}),
    (F, [0, 0, 1], [0, 0, 3], [1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 2}),
    (F, [0, 0, 0], [0, 0, 0], [-1, 1, -2], {"begin_mask": 7, "end_mask": 7}),
    (V, [-2], [0], [-2], {}),
    (V, [5], [2], [1], {}),
    (V, [-100], [100], [3], {}),
    (V, [0, 1], [0, 5], [1, 2], {"new_axis_mask": 1}),
]
BAD = [
    (F, [5], [6], [1], {"shrink_axis_mask": 1}),
    (V, [0, 0], [1, 1], [1, 1], {}),
    (V, [0], [1], [0], {}),
    (V, [0], [1], [-1], {"shrink_axis_mask": 1}),
    (F, [0, 0], [0, 0], [1, 1], {"ellipsis_mask": 3}),
]


def _index(begin, end, strides, masks):
    """The same slice in numpy's words, to make gradients of the right shape."""
    found = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        on = {k: v >> i & 1 for k, v in masks.items()}
        if on.get("ellipsis_mask"):
            found.append(...)
        elif on.get("new_axis_mask"):
            found.append(None)
        elif on.get("shrink_axis_mask"):
            found.append(b)
        else:
            found.append(slice(None if on.get("begin_mask") else b, None if on.get("end_mask") else e, s))
    return tuple(found)


SAMPLES = {
    "Slice": [
        Sample((F, [0, 1, 1], [2, 2, -1])),
        Sample((V, [2], [3])),
        plain(V, np.array([7], np.int64), np.array([-1], np.int64)),
        plain(I, [0, 1], [3, 1]),
        plain(S, [1, 0], [1, -1]),
        Sample((V, [6], [3]), error=ValueError),
        Sample((V, [-1], [1]), error=ValueError),
        Sample((F, [0], [1]), error=ValueError),
    ],
    "StridedSlice": [
        *[Sample((x, b, e, s), masks) for x, b, e, s, masks in SPECS],
        plain(I, *(np.array(v, np.int64) for v in ([1], [3], [1]))),
        plain(S, [0, 0], [1, 2], [1, 1], shrink_axis_mask=1),
        plain(S, [0, 1], [1, 2], [1, 1], shrink_axis_mask=3),
        plain(S, [0], [0], [-1], begin_mask=1, end_mask=1),
        *[Sample((x, b, e, s), masks, error=ValueError) for x, b, e, s, masks in BAD],
    ],
    "StridedSliceGrad": [
        Sample((np.array(x.shape, np.int32), b, e, s, np.ascontiguousarray(x[_index(b, e, s, masks)])), masks)
        for x, b, e, s, masks in SPECS
    ],
    "StridedSliceAssign": [
        plain(V, [1], [4], [1], np.array([9.0, 8.0, 7.0])),
        plain(V, [3], [0], [-1], np.array([9.0, 8.0, 7.0])),
        plain(F, [0, 1], [1, 2], [1, 1], np.ones([4], np.float32), shrink_axis_mask=3),
        Sample((V, [1], [4], [1], np.array([9.0, 8.0])), error=InvalidArgumentError),
    ],
}
