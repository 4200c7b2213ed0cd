"""Indexing, scattering, shaping, joining, padding, creation."""

import numpy as np

from benchmarks._families.case import add, integers, normal, read

ROWS = (256, 4096, 2**16)
DEPTH = 64
PICTURES = ((1, 16, 16, 32), (4, 32, 32, 32), (16, 64, 64, 32))


def _rows(n, r):
    return (normal(r, n, DEPTH),)


def _picture(shape, r):
    return (normal(r, *shape),)


# ---- indexing

I = "indexing"  # noqa: E741 - as every family, one letter
add(I, "GatherV2", lambda tf, x, i: tf.gather(x, i), lambda n, r: (*_rows(n, r), integers(r, n, n)), ROWS)
add(
    I, "GatherV2 axis 1", lambda tf, x, i: tf.gather(x, i, axis=1),
    lambda n, r: (*_rows(n, r), integers(r, DEPTH, DEPTH // 2)), ROWS,
)  # fmt: skip
add(
    I, "GatherNd", lambda tf, x, i: tf.gather_nd(x, i),
    lambda n, r: (*_rows(n, r), np.stack([integers(r, n, n), integers(r, DEPTH, n)], 1)), ROWS, gradient=True,
)  # fmt: skip
add(
    I, "ScatterNd", lambda tf, x, i: tf.scatter_nd(i, x, [x.shape[0].value, DEPTH]),
    lambda n, r: (*_rows(n, r), integers(r, n, n, 1)), ROWS,
)  # fmt: skip
add(
    I, "ScatterAdd", lambda tf, v, x, i: tf.scatter_add(v, i, x),
    lambda n, r: (*_rows(n, r), normal(r, n // 4, DEPTH), integers(r, n, n // 4)), ROWS,
)  # fmt: skip
add(
    I, "ScatterUpdate", lambda tf, v, x, i: tf.scatter_update(v, i, x),
    lambda n, r: (*_rows(n, r), normal(r, n // 4, DEPTH), r.permutation(n)[: n // 4].astype(np.int32)), ROWS,
)  # fmt: skip
add(
    I, "embedding_lookup", lambda tf, x, i: tf.nn.embedding_lookup(x, i),
    lambda n, r: (*_rows(n, r), integers(r, n, n // 4, dtype=np.int64)), ROWS, gradient=True,
)  # fmt: skip
add(I, "boolean_mask", lambda tf, x, m: tf.boolean_mask(x, m), lambda n, r: (*_rows(n, r), r.rand(n) > 0.5), ROWS)
add(I, "Where", lambda tf, m: tf.where(m), lambda n, r: (r.rand(n, DEPTH) > 0.9,), ROWS)
add(I, "OneHot", lambda tf, i: tf.one_hot(i, DEPTH), lambda n, r: (integers(r, DEPTH, n),), ROWS)
add(I, "StridedSlice, Neg", read(lambda tf, x: x[1:-1, ::2]), _rows, ROWS, gradient=True)
add(I, "Slice, Neg", read(lambda tf, x: tf.slice(x, [1, 1], [-1, DEPTH // 2])), _rows, ROWS, gradient=True)
add(
    I, "DynamicPartition", lambda tf, x, i: tf.dynamic_partition(x, i, 4),
    lambda n, r: (*_rows(n, r), integers(r, 4, n)), ROWS,
)  # fmt: skip
add(
    I, "DynamicStitch", lambda tf, x, y, i, j: tf.dynamic_stitch([i, j], [x, y]),
    lambda n, r: (*_rows(n // 2, r), *_rows(n // 2, r), *np.split(r.permutation(n).astype(np.int32), 2)), ROWS,
)  # fmt: skip

# ---- shaping

S = "shaping"
add(S, "Transpose, Neg", read(lambda tf, x: tf.transpose(x)), _rows, ROWS)
add(S, "Transpose heads, Neg", read(lambda tf, x: tf.transpose(x, [0, 2, 1, 3])), _picture, PICTURES)
add(S, "Reshape", lambda tf, x: tf.reshape(x, [-1]), _rows, ROWS)
add(S, "Tile", lambda tf, x: tf.tile(x, [2, 2]), _rows, ROWS, gradient=True)
add(S, "BroadcastTo, Neg", read(lambda tf, x: tf.broadcast_to(x, [4, *x.shape.as_list()])), _rows, ROWS)
add(S, "ReverseV2", lambda tf, x: tf.reverse(x, [0]), _rows, ROWS)
add(S, "SpaceToBatchND", lambda tf, x: tf.space_to_batch_nd(x, [2, 2], [[0, 0], [2, 2]]), _picture, PICTURES)

# ---- joining and splitting


def _three(n, r):
    return tuple(normal(r, n, DEPTH) for _ in range(3))


J = "concat and split"
add(J, "ConcatV2 rows", lambda tf, x, y, z: tf.concat([x, y, z], 0), _three, ROWS)
add(J, "ConcatV2 columns", lambda tf, x, y, z: tf.concat([x, y, z], 1), _three, ROWS, gradient="read")
add(J, "Pack", lambda tf, x, y, z: tf.stack([x, y, z]), _three, ROWS)
add(J, "Pack last", lambda tf, x, y, z: tf.stack([x, y, z], -1), _three, ROWS)
add(J, "Split rows, Neg", read(lambda tf, x: tf.split(x, 4, 0)), _rows, ROWS)
add(J, "Split columns, Neg", read(lambda tf, x: tf.split(x, 4, 1)), _rows, ROWS)
add(J, "Split columns", lambda tf, x: tf.split(x, 4, 1), _rows, ROWS, gradient="only")

# ---- padding

P = "padding"
EDGES = [[0, 0], [1, 1], [1, 1], [0, 0]]
add(P, "Pad", lambda tf, x: tf.pad(x, EDGES), _picture, PICTURES, gradient="read")
add(P, "MirrorPad", lambda tf, x: tf.pad(x, EDGES, "REFLECT"), _picture, PICTURES, gradient=True)

# ---- creation


N = "creation"
add(N, "Fill", lambda tf, x, n: tf.fill([n, DEPTH], x), lambda n, r: (normal(r), np.int32(n)), ROWS)
add(N, "sequence_mask", lambda tf, n: tf.sequence_mask(n, DEPTH), lambda n, r: (integers(r, DEPTH, n),), ROWS)
