"""Samples for GatherTree."""

import numpy as np

from headrace.library.testing.opcheck import Sample

IDS = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]], np.int32)
PARENTS = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], np.int32)


def plain(*inputs):
    return Sample(inputs, {}, gradient=False)


SAMPLES = {
    "GatherTree": [
        plain(IDS, PARENTS, np.array([3], np.int32), np.int32(10)),
        plain(IDS, PARENTS, np.array([2], np.int32), np.int32(6)),
        plain(IDS, PARENTS, np.array([0], np.int32), np.int32(10)),
        plain(np.tile(IDS, [1, 2, 1]), np.tile(PARENTS, [1, 2, 1]), np.array([3, 5], np.int32), np.int32(5)),
        plain(IDS[:0], PARENTS[:0], np.array([1], np.int32), np.int32(1)),
    ],
}
