"""Programs with sparse tensors; see program.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add

INDICES = [[0, 0], [0, 2], [2, 1], [2, 3]]
VALUES = np.array([1.5, -2.0, 0.5, 3.0], np.float32)
DENSE = np.arange(12, dtype=np.float32).reshape(3, 4) / 5 + 0.5


def sparse(tf: Any, values: Any = VALUES, indices: Any = INDICES, shape: Any = (3, 4)) -> Any:
    return tf.SparseTensor(indices, values, list(shape))


def other(tf: Any) -> Any:
    return tf.SparseTensor([[0, 2], [1, 1], [2, 3]], np.array([2.5, 1.0, -3.5], np.float32), [3, 4])


def with_gradients(tf: Any, outputs: Any, inputs: Any) -> list[Any]:
    outputs = outputs if isinstance(outputs, list) else [outputs]
    return [*outputs, *tf.gradients([tf.reduce_sum(o * o) for o in outputs], inputs)]


for _a in (False, True):
    for _b in (False, True):

        @add(f"sparse_tensor_dense_matmul_{_a:d}{_b:d}", names=False)
        def _(tf: Any, a: bool = _a, b: bool = _b) -> Any:
            x, y = tf.constant(VALUES), tf.constant(DENSE if a != b else DENSE.T)
            product = tf.sparse_tensor_dense_matmul(sparse(tf, x), y, adjoint_a=a, adjoint_b=b)
            return with_gradients(tf, product, [x, y])


@add("sparse_tensor_dense_matmul")
def _(tf: Any) -> Any:
    return tf.sparse_tensor_dense_matmul(sparse(tf), DENSE.T)


@add("sparse_to_dense")
def _(tf: Any) -> Any:
    return [
        tf.sparse_to_dense(INDICES, [3, 4], VALUES),
        tf.sparse_to_dense([1, 3], [5], 1.0, 0.0, name="named"),
        tf.sparse_to_dense([[3], [1]], [5], [1, 2], -1, validate_indices=False),
        tf.sparse_to_dense([[0, 1]], [2, 2], ["a"], "b"),
    ]


@add("sparse_tensor_to_dense")
def _(tf: Any) -> Any:
    words = tf.SparseTensor(INDICES, ["a", "b", "c", "d"], [3, 4])
    return [
        tf.sparse_tensor_to_dense(sparse(tf)),
        tf.sparse_tensor_to_dense(words, "-"),
        tf.sparse.to_dense(words),
    ]


@add("sparse_to_dense_gradient", names=False)
def _(tf: Any) -> Any:
    x, default = tf.constant(VALUES), tf.constant(0.5)
    return with_gradients(tf, tf.sparse_to_dense(INDICES, [3, 4], x, default), [x, default])


@add("sparse_add")
def _(tf: Any) -> Any:
    return [
        tf.sparse_add(sparse(tf), other(tf)),
        tf.sparse_add(sparse(tf), other(tf), thresh=0.6),
        tf.sparse_add(sparse(tf), DENSE),
        tf.sparse_add(DENSE, sparse(tf)),
    ]


@add("sparse_add_gradient", names=False)
def _(tf: Any) -> Any:
    x, y, z = tf.constant(VALUES), tf.constant(np.float32([2.5, 1, -3.5])), tf.constant(DENSE)
    total = tf.sparse_add(sparse(tf, x), tf.SparseTensor([[0, 2], [1, 1], [2, 3]], y, [3, 4]))
    return with_gradients(tf, [total.values, tf.sparse_add(sparse(tf, x), z)], [x, y, z])


@add("sparse_reorder")
def _(tf: Any) -> Any:
    x = tf.constant(VALUES)
    mixed = tf.SparseTensor([[2, 1], [0, 0], [2, 3], [0, 2]], x, [3, 4])
    return tf.sparse_reorder(mixed)


@add("sparse_reorder_gradient", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(VALUES)
    ordered = tf.sparse_reorder(tf.SparseTensor([[2, 1], [0, 0], [2, 3], [0, 2]], x, [3, 4])).values
    return [ordered, *tf.gradients(ordered * [1.0, 2.0, 3.0, 4.0], x)]


@add("sparse_reshape")
def _(tf: Any) -> Any:
    return [tf.sparse_reshape(sparse(tf), [2, 6]), tf.sparse_reshape(sparse(tf), [-1, 2])]


@add("sparse_concat")
def _(tf: Any) -> Any:
    wide = tf.SparseTensor([[0, 1]], np.float32([9]), [2, 6])
    return [
        tf.sparse_concat(0, [sparse(tf), other(tf)]),
        tf.sparse_concat(-1, [sparse(tf), other(tf)], name="named"),
        tf.sparse_concat(1, [sparse(tf), wide], expand_nonconcat_dim=True),
    ]


@add("sparse_split")
def _(tf: Any) -> Any:
    return tf.sparse_split(sp_input=sparse(tf), num_split=2, axis=1) + tf.sparse.split(
        sp_input=sparse(tf), num_split=2, axis=0
    )


@add("sparse_slice")
def _(tf: Any) -> Any:
    return [tf.sparse_slice(sparse(tf), [0, 1], [2, 3]), tf.sparse.slice(sparse(tf), [2, 0], [5, 2])]


@add("sparse_slice_gradient", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(VALUES)
    return with_gradients(tf, tf.sparse_slice(sparse(tf, x), [0, 1], [3, 3]).values, [x])


@add("sparse_reduce")
def _(tf: Any) -> Any:
    found = []
    for name in ("sum", "max"):
        dense, kept = getattr(tf.sparse, f"reduce_{name}"), getattr(tf, f"sparse_reduce_{name}_sparse")
        found += [dense(sparse(tf)), dense(sparse(tf), 0), dense(sparse(tf), [1], keep_dims=True)]
        found += [kept(sparse(tf), 1), kept(sparse(tf), reduction_axes=-2, keepdims=True)]
    return found


@add("sparse_reduce_gradient", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(VALUES)
    sums = [tf.sparse_reduce_sum(sparse(tf, x), a, keepdims=k) for a, k in ((0, True), ([1], False), (None, False))]
    return with_gradients(tf, sums, [x])


@add("sparse_retain")
def _(tf: Any) -> Any:
    return tf.sparse_retain(sparse(tf), [True, False, False, True])


@add("sparse_reset_shape", names=False)
def _(tf: Any) -> Any:
    return [tf.sparse_reset_shape(sparse(tf, shape=(5, 9))), tf.sparse_reset_shape(sparse(tf), [4, 5])]


@add("sparse_mask")
def _(tf: Any) -> Any:
    slices = tf.IndexedSlices(tf.constant(DENSE), tf.constant([4, 2, 7]))
    return tf.sparse_mask(slices, [2, 9])


@add("sparse_to_indicator", names=False)
def _(tf: Any) -> Any:
    return tf.sparse_to_indicator(tf.SparseTensor(INDICES, [0, 3, 2, 2], [3, 4]), 5)


@add("sparse_merge", names=False)
def _(tf: Any) -> Any:
    ids = tf.SparseTensor(INDICES, [4, 0, 2, 1], [3, 4])
    more = tf.SparseTensor(INDICES, np.int64([1, 1, 0, 0]), [3, 4])
    return [
        tf.sparse_merge(ids, sparse(tf), 6),
        tf.sparse_merge(ids, sparse(tf), 6, already_sorted=True),
        tf.sparse_merge([ids, more], sparse(tf), [6, 2]),
    ]


@add("sparse_transpose", names=False)
def _(tf: Any) -> Any:
    cube = tf.SparseTensor([[0, 0, 1], [0, 2, 0], [1, 2, 2]], VALUES[:3], [2, 3, 4])
    return [tf.sparse_transpose(sparse(tf)), tf.sparse_transpose(cube, [1, 0, 2]), tf.sparse.transpose(cube)]


@add("sparse_softmax")
def _(tf: Any) -> Any:
    return tf.sparse_softmax(sparse(tf))


@add("sparse_softmax_gradient", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(VALUES)
    return with_gradients(tf, tf.sparse_softmax(sparse(tf, x)).values, [x])


@add("sparse_extremes")
def _(tf: Any) -> Any:
    return [tf.sparse_maximum(sparse(tf), other(tf)), tf.sparse_minimum(sparse(tf), other(tf))]


@add("sparse_fill_empty_rows")
def _(tf: Any) -> Any:
    return tf.sparse_fill_empty_rows(sparse(tf), 7.0)


@add("sparse_fill_empty_rows_gradient", names=False)
def _(tf: Any) -> Any:
    x, default = tf.constant(VALUES), tf.constant(2.0)
    return with_gradients(tf, tf.sparse_fill_empty_rows(sparse(tf, x), default)[0].values, [x, default])


@add("operators")
def _(tf: Any) -> Any:
    return [sparse(tf) * DENSE, sparse(tf) * 2.0, tf.constant(DENSE[0]) * sparse(tf), sparse(tf) / DENSE[:, :1]]


@add("operators_gradient", names=False)
def _(tf: Any) -> Any:
    x, y, row = tf.constant(VALUES), tf.constant(DENSE), tf.constant(DENSE[:1])
    results = [(sparse(tf, x) * y).values, (sparse(tf, x) / y).values, (sparse(tf, x) * row).values]
    return with_gradients(tf, results, [x, y, row])


@add("constructors", names=False)
def _(tf: Any) -> Any:
    return [
        tf.sparse.eye(3), tf.sparse.eye(2, 4, tf.int32), tf.sparse.from_dense([[0, 1], [2, 0]]),
        tf.sparse.expand_dims(sparse(tf), 0), tf.sparse.expand_dims(sparse(tf)), tf.sparse.expand_dims(sparse(tf), -2),
    ]  # fmt: skip


for _op in ("sum", "mean", "sqrt_n"):

    @add(f"sparse_segment_{_op}", names=False)
    def _(tf: Any, op: str = _op) -> Any:
        x = tf.constant(DENSE)
        function = getattr(tf, f"sparse_segment_{op}")
        rows = [function(x, [0, 2, 2], [0, 0, 1]), function(x, [1, 2], [0, 3], num_segments=5)]
        return with_gradients(tf, rows, [x])


for _combiner in ("sum", "mean", "sqrtn"):
    for _weighted in (False, True):

        @add(f"embedding_lookup_sparse_{_combiner}_{_weighted:d}", names=False)
        def _(tf: Any, combiner: str = _combiner, weighted: bool = _weighted) -> Any:
            table = tf.constant(np.arange(15, dtype=np.float32).reshape(5, 3) / 7)
            ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 3]], [1, 3, 0, 1], [3, 4])
            weights = tf.SparseTensor(ids.indices, np.float32([1, 2, 0.5, 3]), [3, 4]) if weighted else None
            combined = tf.nn.embedding_lookup_sparse(table, ids, weights, combiner=combiner)
            grad = tf.convert_to_tensor(tf.gradients(combined * combined, table)[0])
            return [combined, grad]

        @add(f"safe_embedding_lookup_sparse_{_combiner}_{_weighted:d}", names=False)
        def _(tf: Any, combiner: str = _combiner, weighted: bool = _weighted) -> Any:
            table = [tf.constant(np.arange(9, dtype=np.float32).reshape(3, 3) / 7), tf.ones([2, 3])]
            places = [[0, 0, 0], [0, 0, 1], [0, 2, 0], [1, 1, 3], [1, 2, 0]]
            ids = tf.SparseTensor(places, np.int64([1, 3, -1, 4, 2]), [2, 3, 4])
            weights = tf.SparseTensor(places, np.float32([1, 2, 1, -3, 2]), [2, 3, 4]) if weighted else None
            return [
                tf.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner=combiner),
                tf.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner=combiner, default_id=2, max_norm=1.0),
            ]
