"""Samples of the largest elements and of membership among them."""

import numpy as np

from headrace.library.testing.opcheck import Sample

F = np.array([[0.3, -0.7, 1.6, 0.9], [2.4, -1.2, 2.4, 0.1]], np.float32)
APART = np.array([[0.3, -0.7, 1.6, 0.9], [2.4, -1.2, 2.0, 0.1]], np.float32)
INTS = np.array([5, 1, 9, 5], np.int32)

SAMPLES: dict[str, list[Sample]] = {
    "TopKV2": [
        Sample([APART, np.int32(2)]),
        Sample([APART, np.int32(1)]),
        Sample([F, np.int32(4)], {"sorted": False}, gradient=False),
        Sample([INTS, np.int32(3)], gradient=False),
        Sample([INTS.astype(np.uint16), np.int32(2)], gradient=False),
        Sample([F, np.int32(0)], gradient=False),
        Sample([F, np.int32(5)], error=Exception),
    ],
    "TopK": [Sample([APART], {"k": 2}), Sample([INTS], {"k": 1}, gradient=False)],
    "InTopKV2": [
        Sample([F, np.int32([0, 2]), np.int32(1)], gradient=False),
        Sample([F, np.int64([3, 9]), np.int64(2)], gradient=False),
    ],
    "InTopK": [Sample([F, np.int32([0, 2])], {"k": 2}, gradient=False)],
}
