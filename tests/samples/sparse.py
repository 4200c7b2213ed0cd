"""Samples of the ops on sparse tensors."""

import numpy as np
from sample_forms import plain, wrong

from headrace.library.testing.opcheck import Sample

# [[1.5, 0, -2, 0], [0, 0, 0, 0], [0, 0.5, 0, 3]]
INDICES = np.array([[0, 0], [0, 2], [2, 1], [2, 3]], np.int64)
VALUES = np.array([1.5, -2.0, 0.5, 3.0], np.float32)
SHAPE = np.array([3, 4], np.int64)
WORDS = np.array([b"a", b"bc", b"", b"d"], dtype=object)
NONE = (np.zeros((0, 2), np.int64), np.zeros(0, np.float32), SHAPE)
CUBE = (np.array([[0, 0, 1], [0, 2, 0], [1, 0, 1], [1, 2, 2]], np.int64), VALUES, np.array([2, 3, 3], np.int64))
SPARSE = (INDICES, VALUES, SHAPE)
OTHER = (np.array([[0, 2], [1, 1], [2, 3]], np.int64), np.array([2.5, 1.0, -3.5], np.float32), SHAPE)
DENSE = np.arange(12, dtype=np.float32).reshape(3, 4) / 5 + 0.5
MIXED = INDICES[[2, 0, 3, 1]]


def typed(sparse, dtype):
    return sparse[0], sparse[1].astype(dtype), sparse[2]


_CWISE = [
    Sample((*SPARSE, DENSE)),
    Sample((*typed(SPARSE, np.float64), np.float64(2.0))),
    Sample((*SPARSE, DENSE[0])),
    Sample((*SPARSE, DENSE[:, :1])),
    Sample((*CUBE, DENSE[:, :1])),
    plain(*typed(SPARSE, np.int32), np.array([[7, 2, 3, 4]], np.int32)),
    plain(*NONE, DENSE),
    wrong(*SPARSE, DENSE[:2]),
    wrong(*SPARSE, DENSE[None]),
]
_REDUCE = [
    Sample((*SPARSE, [1])),
    Sample((*SPARSE, [0]), {"keep_dims": True}),
    Sample((*CUBE, [-1, 0])),
    Sample((*CUBE, np.int32(1)), {"keep_dims": True}),
    Sample((*CUBE, np.zeros(0, np.int32)), note="no axes"),
    plain(*typed(SPARSE, np.int64), [1]),
    plain(*NONE, [0]),
    wrong(*SPARSE, [2], error=ValueError),
]
_SPARSE_REDUCE = [Sample(s.inputs, s.attrs, gradient=False, error=s.error, note=s.note) for s in _REDUCE]
_PAIRS = [
    Sample((*SPARSE, *OTHER)),
    Sample((*NONE, *SPARSE)),
    plain(*typed(SPARSE, np.int32), *typed(OTHER, np.int32)),
    wrong(*SPARSE, *OTHER[:2], np.array([3, 5], np.int64)),
]

SAMPLES: dict[str, list[Sample]] = {
    "SparseTensorDenseMatMul": [
        Sample((*SPARSE, DENSE.T)),
        Sample((*SPARSE, DENSE), {"adjoint_a": True}),
        Sample((*SPARSE, DENSE), {"adjoint_b": True}),
        Sample((*typed(SPARSE, np.float64), DENSE.T.astype(np.float64)), {"adjoint_a": True, "adjoint_b": True}),
        Sample((INDICES.astype(np.int32), VALUES, SHAPE, DENSE.T)),
        Sample(
            (INDICES, (VALUES + 1j).astype(np.complex64), SHAPE, (DENSE - 2j).astype(np.complex64)), {"adjoint_a": True}
        ),
        plain(*typed(SPARSE, np.int32), np.ones((4, 2), np.int32)),
        plain(*typed(SPARSE, np.float16), np.ones((4, 2), np.float16)),
        plain(*NONE, DENSE.T),
        wrong(*SPARSE, DENSE, error=ValueError),
        wrong(INDICES + 1, VALUES, SHAPE, DENSE.T),
    ],
    "SparseToDense": [
        Sample((INDICES, SHAPE, VALUES, np.float32(0.5))),
        Sample((INDICES, SHAPE, np.float32(2.0), np.float32(0))),
        Sample((MIXED, SHAPE, VALUES, np.float32(0)), {"validate_indices": False}),
        Sample((np.array([1, 3], np.int32), np.array([5], np.int32), VALUES[:2], np.float32(0))),
        plain(np.int32(2), np.array([4], np.int32), np.int32(7), np.int32(-1)),
        plain(INDICES, SHAPE, WORDS, np.array(b"-", object)),
        plain(INDICES, SHAPE, np.array(b"+", object), np.array(b"-", object)),
        plain(INDICES, SHAPE, np.array([True] * 4), np.array(False)),
        plain(NONE[0], SHAPE, NONE[1], np.float32(1)),
        wrong(MIXED, SHAPE, VALUES, np.float32(0)),
        wrong(INDICES[[0, 0]], SHAPE, VALUES[:2], np.float32(0)),
        wrong(INDICES + 1, SHAPE, VALUES, np.float32(0)),
        wrong(INDICES, SHAPE, VALUES[:3], np.float32(0)),
    ],
    "SparseAdd": [
        Sample((*SPARSE, *OTHER, np.float32(0))),
        Sample((*SPARSE, *OTHER, np.float32(0.6)), wrt=["a_values", "b_values"]),
        Sample((*NONE, *SPARSE, np.float32(0))),
        plain(*typed(SPARSE, np.int32), *typed(OTHER, np.int32), np.int32(0)),
        plain(*typed(SPARSE, np.complex64), *typed(OTHER, np.complex64), np.float32(1)),
        wrong(*SPARSE, *OTHER[:2], np.array([3, 5], np.int64), np.float32(0)),
        wrong(*SPARSE, *CUBE, np.float32(0), error=ValueError),
    ],
    "SparseAddGrad": [
        Sample((np.float32([1, 2, 3, 4, 5]), INDICES, OTHER[0], np.int64([[0, 0], [0, 2], [1, 1], [2, 1], [2, 3]]))),
        Sample((np.float32([1, 2]), INDICES, OTHER[0], np.int64([[0, 0], [2, 3]])), note="some were dropped"),
        plain(np.zeros(0, np.float32), INDICES, NONE[0], NONE[0]),
    ],
    "SparseTensorDenseAdd": [
        Sample((*SPARSE, DENSE)),
        Sample((INDICES.astype(np.int32), VALUES, SHAPE.astype(np.int32), DENSE)),
        plain(*typed(SPARSE, np.int64), np.ones((3, 4), np.int64)),
        wrong(*SPARSE, DENSE.T, error=ValueError),
    ],
    "SparseReorder": [
        Sample((MIXED, VALUES, SHAPE)),
        plain(MIXED, WORDS, SHAPE),
        plain(MIXED, np.array([1, 2, 3, 4], np.int32), SHAPE),
        Sample((MIXED, VALUES, np.int64([2**40, 2**40])), gradient=False, note="more places than integers"),
        plain(*NONE),
        wrong(MIXED, VALUES[:2], SHAPE, error=ValueError),
    ],
    "SparseReshape": [
        plain(INDICES, SHAPE, np.int64([2, 6])),
        plain(INDICES, SHAPE, np.int64([2, -1, 3])),
        plain(INDICES, SHAPE, np.int64([-1])),
        plain(INDICES, SHAPE, SHAPE),
        plain(NONE[0], SHAPE, np.int64([12])),
        wrong(INDICES, SHAPE, np.int64([5, -1])),
        wrong(INDICES, SHAPE, np.int64([-1, -1])),
        wrong(INDICES, SHAPE, np.int64([11])),
    ],
    "SparseConcat": [
        plain([INDICES, OTHER[0]], [VALUES, OTHER[1]], [SHAPE, SHAPE], concat_dim=0),
        plain([INDICES, OTHER[0]], [VALUES, OTHER[1]], [SHAPE, SHAPE], concat_dim=-1),
        plain([INDICES, INDICES], [WORDS, WORDS], [SHAPE, SHAPE], concat_dim=1),
        wrong([INDICES, OTHER[0]], [VALUES, OTHER[1]], [SHAPE, np.int64([3, 5])], concat_dim=0),
        wrong([INDICES] * 2, [VALUES] * 2, [SHAPE] * 2, concat_dim=2, error=ValueError),
    ],
    "SparseSplit": [
        plain(np.int64(1), *SPARSE, num_split=2),
        plain(np.int64(0), *SPARSE, num_split=2),
        plain(np.int64(1), *SPARSE, num_split=3),
        plain(np.int64(0), INDICES, WORDS, SHAPE, num_split=3),
        wrong(np.int64(0), *SPARSE, num_split=4),
        wrong(np.int64(2), *SPARSE, num_split=1),
    ],
    "SparseSlice": [
        Sample((*SPARSE, np.int64([0, 1]), np.int64([2, 3]))),
        Sample((*CUBE, np.int64([0, 0, 1]), np.int64([2, 3, 9]))),
        plain(INDICES, WORDS, SHAPE, np.int64([1, 0]), np.int64([2, 4])),
        plain(*SPARSE, np.int64([5, 0]), np.int64([1, 1])),
    ],
    "SparseSliceGrad": [
        Sample((np.float32([5, 7]), INDICES, np.int64([0, 1]), np.int64([[0, 1], [2, 0]]))),
        plain(np.zeros(0, np.float32), INDICES, np.int64([0, 1]), NONE[0]),
    ],
    "SparseFillEmptyRows": [
        Sample((*SPARSE, np.float32(0.5))),
        Sample((MIXED, VALUES, np.int64([5, 4]), np.float32(0.5))),
        plain(INDICES, WORDS, SHAPE, np.array(b"none", object)),
        plain(*NONE, np.float32(1)),
        plain(NONE[0], NONE[1], np.int64([0, 4]), np.float32(1)),
        wrong(INDICES, VALUES, np.int64([2, 4]), np.float32(0)),
    ],
    "SparseFillEmptyRowsGrad": [
        Sample((np.int64([0, 1, 3, 4]), np.float32([1, 2, 3, 4, 5]))),
        plain(np.int64([2, 0]), np.array([1, 2, 3], np.int32)),
    ],
    "SparseDenseCwiseAdd": _CWISE,
    "SparseDenseCwiseMul": _CWISE,
    "SparseDenseCwiseDiv": _CWISE,
    "SparseReduceSum": _REDUCE,
    "SparseReduceMax": _REDUCE,
    "SparseReduceSumSparse": _SPARSE_REDUCE,
    "SparseReduceMaxSparse": _SPARSE_REDUCE,
    "_SparseReducedShape": [plain(np.int64([2, 3, 4]), [1]), plain(np.int64([2, 3]), np.zeros(0, np.int32))],
    "SparseSparseMaximum": _PAIRS,
    "SparseSparseMinimum": _PAIRS,
    "SparseSoftmax": [
        Sample(SPARSE),
        Sample(typed(CUBE, np.float64)),
        plain(*typed(SPARSE, np.float16)),
        plain(*NONE),
        wrong(np.int64([[1]]), VALUES[:1], np.int64([3]), error=ValueError),
    ],
}
