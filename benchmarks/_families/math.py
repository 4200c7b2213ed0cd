"""Element-wise functions, special functions, complex numbers, reductions, segments, ranking."""

import numpy as np

from benchmarks._families.case import ELEMENTS, add, floats, integers, normal, positive

WIDTH = 256


def _positive(count):
    return lambda n, r: tuple(positive(r, n) for _ in range(count))


def _matrix(n, r):
    return (normal(r, n // WIDTH, WIDTH),)


# ---- element-wise

E = "element-wise"
add(E, "Add", lambda tf, x, y: x + y, floats(2))
add(E, "Mul", lambda tf, x, y: x * y, floats(2), gradient=True)
add(E, "Add row", lambda tf, x, y: tf.add(x, y), lambda n, r: (*_matrix(n, r), normal(r, WIDTH)), gradient=True)
add(E, "RealDiv", lambda tf, x, y: x / y, _positive(2))
add(E, "Maximum", lambda tf, x, y: tf.maximum(x, y), floats(2), gradient=True)
add(E, "Exp", lambda tf, x: tf.exp(x), floats())
add(E, "Log", lambda tf, x: tf.log(x), _positive(1), gradient=True)
add(E, "Tanh", lambda tf, x: tf.tanh(x), floats(), gradient=True)
add(E, "Sigmoid", lambda tf, x: tf.sigmoid(x), floats(), gradient=True)
add(E, "Sqrt", lambda tf, x: tf.sqrt(x), _positive(1))
add(E, "Pow", lambda tf, x, y: tf.pow(x, y), _positive(2))
add(E, "Sin", lambda tf, x: tf.sin(x), floats())
add(E, "Cast to float", lambda tf, x: tf.cast(x, tf.float32), lambda n, r: (integers(r, 1000, n),))
add(E, "Greater", lambda tf, x, y: tf.greater(x, y), floats(2))
add(E, "Select", lambda tf, c, x, y: tf.where(c, x, y), lambda n, r: (r.rand(n) > 0.5, normal(r, n), normal(r, n)))
add(E, "FloorMod int32", lambda tf, x: x % 7, lambda n, r: (integers(r, 1000, n),))
add(E, "clip_by_value", lambda tf, x: tf.clip_by_value(x, -1.0, 1.0), floats(), gradient=True)

A = "activations"
add(A, "Relu", lambda tf, x: tf.nn.relu(x), floats(), gradient=True)
add(A, "LeakyRelu", lambda tf, x: tf.nn.leaky_relu(x), floats())
add(A, "Elu", lambda tf, x: tf.nn.elu(x), floats(), gradient=True)
add(A, "Softplus", lambda tf, x: tf.nn.softplus(x), floats(), gradient=True)
add(A, "BiasAdd", lambda tf, x, b: tf.nn.bias_add(x, b), lambda n, r: (*_matrix(n, r), normal(r, WIDTH)), gradient=True)

# ---- special functions and complex numbers

S = "special functions"
SPECIAL = (1024, 2**14, 2**18)
add(S, "Lgamma", lambda tf, x: tf.lgamma(x), _positive(1), SPECIAL)
add(S, "Digamma", lambda tf, x: tf.digamma(x), _positive(1), SPECIAL)
add(S, "Igamma", lambda tf, a, x: tf.igamma(a, x), _positive(2), SPECIAL)
add(S, "Zeta", lambda tf, x, q: tf.zeta(x + 1.5, q), _positive(2), SPECIAL)


def _complex(count):
    return lambda n, r: tuple((r.randn(n) + 1j * r.randn(n)).astype(np.complex64) for _ in range(count))


C = "complex numbers"
COMPLEX = (4096, 2**16, 2**20)
add(C, "Mul", lambda tf, x, y: x * y, _complex(2), COMPLEX, gradient=True)
add(C, "ComplexAbs", lambda tf, x: tf.abs(x), _complex(1), COMPLEX)
add(C, "Complex", lambda tf, x, y: tf.complex(x, y), floats(2), COMPLEX)
add(C, "Exp", lambda tf, x: tf.exp(x), _complex(1), COMPLEX)

# ---- reductions

R = "reductions"
add(R, "Sum", lambda tf, x: tf.reduce_sum(x), floats(), gradient="read", tolerance=1e-2)
add(R, "Sum rows", lambda tf, x: tf.reduce_sum(x, 1), _matrix)
add(R, "Sum columns", lambda tf, x: tf.reduce_sum(x, 0), _matrix, tolerance=1e-3)
add(R, "Mean rows", lambda tf, x: tf.reduce_mean(x, 1, keepdims=True), _matrix, gradient="read")
add(R, "Max rows", lambda tf, x: tf.reduce_max(x, 1), _matrix, gradient=True)
add(R, "Mean of pictures", lambda tf, x: tf.reduce_mean(x, [1, 2]), lambda n, r: (normal(r, n // 4096, 8, 8, 64),))
add(R, "ArgMax rows", lambda tf, x: tf.argmax(x, 1), _matrix)
add(R, "All rows", lambda tf, x: tf.reduce_all(x, 1), lambda n, r: (r.rand(n // WIDTH, WIDTH) > 0.01,))
add(R, "Cumsum rows", lambda tf, x: tf.cumsum(x, 1), _matrix, gradient=True)
add(R, "Cumsum columns", lambda tf, x: tf.cumsum(x, 0), _matrix, tolerance=1e-3)

# ---- segments

G = "segments"
ROWS = (256, 4096, 2**16)
DEPTH = 32


def _sorted(n, r):
    return normal(r, n, DEPTH), np.sort(np.r_[integers(r, n // 8, n - 1), n // 8 - 1]).astype(np.int32)


def _unsorted(n, r):
    return normal(r, n, DEPTH), integers(r, n // 8, n)


add(G, "SegmentSum", lambda tf, x, i: tf.segment_sum(x, i), _sorted, ROWS)
add(G, "SegmentMean", lambda tf, x, i: tf.segment_mean(x, i), _sorted, ROWS)
add(G, "SegmentMax", lambda tf, x, i: tf.segment_max(x, i), _sorted, ROWS)
add(
    G, "UnsortedSegmentSum", lambda tf, x, i: tf.unsorted_segment_sum(x, i, x.shape[0].value // 8), _unsorted, ROWS,
    gradient=True,
)  # fmt: skip
add(G, "UnsortedSegmentMax", lambda tf, x, i: tf.unsorted_segment_max(x, i, x.shape[0].value // 8), _unsorted, ROWS)
add(
    G, "SparseSegmentSum", lambda tf, x, p, i: tf.sparse_segment_sum(x, p, i),
    lambda n, r: (normal(r, n, DEPTH), integers(r, n, n), _sorted(n, r)[1]), ROWS,
)  # fmt: skip
add(
    G, "SparseSegmentMean", lambda tf, x, p, i: tf.sparse_segment_mean(x, p, i),
    lambda n, r: (normal(r, n, DEPTH), integers(r, n, n), _sorted(n, r)[1]), ROWS,
)  # fmt: skip
add(G, "bincount", lambda tf, x: tf.bincount(x, minlength=64, maxlength=64), lambda n, r: (integers(r, 64, n),))

# ---- ranking

K = "ranking"
ORDERED = (2048, 2**16, 2**20)
add(K, "TopKV2 5", lambda tf, x: tf.nn.top_k(x, 5), _matrix, ORDERED)
add(K, "TopKV2 half", lambda tf, x: tf.nn.top_k(x, WIDTH // 2), _matrix, ORDERED)
add(K, "sort rows", lambda tf, x: tf.sort(x, axis=1), _matrix, ORDERED)
add(K, "argsort rows", lambda tf, x: tf.argsort(x, axis=1), _matrix, ORDERED)
add(K, "NthElement", lambda tf, x: tf.raw_ops.NthElement(input=x, n=10), _matrix, ORDERED)
add(
    K, "InTopKV2", lambda tf, x, t: tf.nn.in_top_k(x, t, 5),
    lambda n, r: (*_matrix(n, r), integers(r, WIDTH, n // WIDTH)), ORDERED,
)  # fmt: skip
add(K, "UniqueV2", lambda tf, x: list(tf.unique(x)), lambda n, r: (integers(r, n // 4, n),), ORDERED)
assert ELEMENTS[0] % WIDTH == 0
