"""Expressions of the math library whose values, gradients and node names were recorded with TensorFlow.

Each is evaluated with ``tf`` and the inputs below in scope.  ``make_math.py`` writes math.json, which
test_math_golden.py compares with.
"""

import numpy as np

INPUTS = {
    "x": np.array([[0.3, -0.7, 1.6], [2.4, -1.2, 0.9]], np.float32),
    "y": np.array([[1.3, 0.6, -1.1], [0.5, 2.2, -0.8]], np.float32),
    "p": np.array([[0.3, 0.7, 1.6], [2.4, 1.2, 0.9]], np.float32),
    "u": np.array([[0.25, -0.5, 0.75], [0.1, 0.9, -0.3]], np.float32),
    "v": np.array([1.5, -0.5, 2.25], np.float32),
    "t": (np.arange(24, dtype=np.float32) % 7 - 2.5).reshape(2, 3, 4),
    "m": np.array([[2.0, 0.5, -0.3], [0.1, 1.5, 0.4], [-0.2, 0.3, 1.8]], np.float32),
    "i": np.array([[-7, 5, 2], [7, -1, 4]], np.int32),
    "j": np.array([[2, -3, 1], [-4, 5, 3]], np.int32),
    "b": np.array([[True, False, True], [False, False, True]]),
    "c": np.array([0.5 + 0.25j, -0.75 + 0.5j], np.complex64),
}

UNARY = {
    "x": "abs negative sign square exp expm1 sin cos tan atan sinh cosh tanh asinh sigmoid reciprocal floor ceil round "
    "rint erf erfc is_nan is_finite log_sigmoid math.softplus",
    "p": "log log1p sqrt rsqrt lgamma digamma math.bessel_i0e math.bessel_i1e lbeta",
    "u": "asin acos atanh",
}
BINARY = (
    "add subtract multiply divide realdiv floordiv floormod truncatemod maximum minimum squared_difference atan2 less "
    "less_equal greater greater_equal equal not_equal div div_no_nan"
)
INTEGER = "add floordiv floormod truncatediv truncatemod mod div truediv divide maximum minimum multiply subtract"

CASES = [f"tf.{name}({arg})" for arg, names in UNARY.items() for name in names.split()]
CASES += [f"tf.{name}(x, y)" for name in BINARY.split()]
CASES += [f"tf.{name}(i, j)" for name in INTEGER.split()]
CASES += (
    """
x + v|v - x|x * 2|2 / x|i / j|i // 2|7 % j|p ** 2|2. ** x|-x|abs(x)|x < y|x >= v|b & b|b ^ (x < y)|~b|1 - x
x @ m|tf.pow(p, y)|tf.acosh(1 + p)|tf.add(x, v)|tf.math.xlogy(x, p)|tf.math.xdivy(x, p)
tf.math.multiply_no_nan(x, tf.round(y))|tf.igamma(p, p + 1)|tf.igammac(p, p + 1)|tf.zeta(p + 1, p)
tf.polygamma(tf.ones_like(p), p)|tf.betainc(p, p + 1, tf.abs(u))|tf.cast(x, tf.int32)|tf.cast(i, tf.float32)
tf.cast(x, tf.float64)|tf.cast(x, tf.bool)|tf.to_float(i)|tf.to_int64(x)|tf.saturate_cast(x * 1000., tf.int8)
tf.real(c)|tf.imag(c)|tf.conj(c)|tf.angle(c)|tf.abs(c)|tf.complex(x, y)|tf.angle(x)|tf.reduce_sum(x)
tf.reduce_sum(t, 1)|tf.reduce_sum(t, [0, -1], keepdims=True)|tf.reduce_mean(x)|tf.reduce_mean(t, [1, 2])
tf.reduce_mean(i)|tf.reduce_prod(x, 1)|tf.reduce_prod(x)|tf.reduce_max(x)|tf.reduce_max(t, 2)
tf.reduce_min(t, [0, 1])|tf.reduce_max(tf.round(x), 1)|tf.reduce_all(b)|tf.reduce_any(b, 1)
tf.reduce_logsumexp(x)|tf.reduce_logsumexp(t, 1)|tf.reduce_logsumexp(t, [0, 1], keepdims=True)
tf.math.reduce_std(x)|tf.math.reduce_variance(t, 1)|tf.count_nonzero(tf.round(x))
tf.math.reduce_euclidean_norm(x, 1)|tf.argmax(x)|tf.argmax(x, 1)|tf.argmin(t, -1)
tf.argmax(x, 1, output_type=tf.int32)|tf.cumsum(x, 1)|tf.cumsum(x, 0, exclusive=True)
tf.cumsum(x, 1, reverse=True)|tf.cumprod(x, 1)|tf.cumprod(x, 1, exclusive=True)
tf.cumprod(x, 1, exclusive=True, reverse=True)|tf.cumsum(i, 1)|tf.matmul(x, m)|tf.matmul(x, y, transpose_b=True)
tf.matmul(x, y, transpose_a=True)|tf.matmul(m, x, transpose_b=True)|tf.matmul(t, t, transpose_b=True)
tf.matmul(t, t, adjoint_a=True)|tf.matmul(m, t)|tf.linalg.matvec(m, v)|tf.tensordot(x, y, axes=[[0], [0]])
tf.tensordot(x, m, 1)|tf.tensordot(t, x, [[0, 1], [0, 1]])|tf.tensordot(v, v, 1)|tf.tensordot(x, y, 0)
tf.einsum("ij,jk->ik", x, m)|tf.einsum("ij,ij->i", x, y)|tf.einsum("bij,kj->bik", tf.transpose(t, [0, 2, 1]), m)
tf.norm(x)|tf.norm(x, axis=1)|tf.norm(x, ord=1, axis=1)|tf.norm(x, ord=np.inf)
tf.norm(x, ord=3, axis=0, keepdims=True)|tf.norm(m, axis=[0, 1])|tf.norm(m, ord=1, axis=[0, 1])
tf.norm(m, ord=2, axis=[0, 1])|tf.trace(m)|tf.cross(v, tf.reverse(v, [0]))|tf.matrix_inverse(m)
tf.matrix_determinant(m)|tf.matrix_solve(m, tf.transpose(x))|tf.matrix_solve(m, tf.transpose(x), adjoint=True)
tf.cholesky(tf.matmul(m, m, transpose_b=True))|tf.matrix_triangular_solve(m, tf.transpose(x))
tf.svd(m, compute_uv=False)|tf.matrix_triangular_solve(m, tf.transpose(x), lower=False, adjoint=True)
tf.linalg.logdet(tf.matmul(m, m, transpose_b=True))|tf.self_adjoint_eigvals(m + tf.transpose(m))
tf.matrix_solve_ls(tf.transpose(x), m)|tf.linalg.expm(m)|tf.linalg.pinv(x)|tf.linalg.adjoint(x)
tf.logical_and(b, x < y)|tf.logical_or(b, x < y)|tf.logical_xor(b, x < y)|tf.logical_not(b)|tf.where(b, x, y)
tf.where(tf.constant([True, False]), x, y)|tf.clip_by_value(x, -0.5, 1.)|tf.clip_by_norm(x, 1.)
tf.clip_by_norm(x, 1., axes=[1])|tf.clip_by_average_norm(x, 0.1)|tf.clip_by_global_norm([x, y], 1.)[0][1]
tf.global_norm([x, y])|tf.clip_by_global_norm([x, y], 100.)[0][0]|tf.add_n([x, y, x])|tf.scalar_mul(2., x)
tf.math.polyval([x, y, p], u)|tf.segment_sum(x, [0, 0])|tf.segment_mean(tf.transpose(x), [0, 0, 2])
tf.segment_max(tf.transpose(x), [0, 0, 1])|tf.segment_min(tf.transpose(x), [0, 1, 1])
tf.segment_prod(tf.transpose(x), [0, 0, 1])|tf.unsorted_segment_sum(tf.transpose(x), [1, 0, 1], 3)
tf.unsorted_segment_sum(x, [[0, 1, 0], [2, -1, 0]], 3)|tf.unsorted_segment_max(tf.transpose(x), [1, 0, 1], 2)
tf.unsorted_segment_min(tf.transpose(x), [1, 0, 1], 3)|tf.unsorted_segment_prod(tf.transpose(x), [1, 0, 1], 3)
tf.unsorted_segment_mean(tf.transpose(x), [1, 0, 1], 3)
tf.unsorted_segment_sqrt_n(tf.transpose(x), [1, 0, 1], 3)|tf.bincount(tf.abs(i))
tf.bincount([1, 1, 3], weights=[1., 2., .5])|tf.bincount([1, 1, 3], minlength=6)
tf.bincount([1, 1, 3], maxlength=2)|tf.confusion_matrix([0, 2, 1], [2, 2, 1])
tf.confusion_matrix([0, 1], [1, 1], num_classes=3, weights=[2, 5])|tf.nn.top_k(x, 2)[0]|tf.nn.top_k(x, 2)[1]
tf.nn.top_k([1., 3., 3., 2., 3.], 4)[1]|tf.nn.in_top_k(x, [2, 1], 1)|tf.nn.in_top_k(x, [0, 2], 2)
tf.math.zero_fraction(tf.round(x))|tf.math.is_non_decreasing(v)|tf.math.is_strictly_increasing([1, 2, 5])
tf.math.cumulative_logsumexp(x, 1)|tf.accumulate_n([x, y])|tf.math.reciprocal_no_nan(tf.round(x))
tf.bitwise.bitwise_and(i, j)|tf.bitwise.bitwise_xor(i, j)|tf.bitwise.invert(i)
tf.bitwise.left_shift(i, tf.abs(j))|tf.bitwise.right_shift(i, tf.abs(j))|tf.equal(["a", "b"], ["a", "c"])
tf.linalg.normalize(x, axis=1)[0]|tf.gradients(tf.sigmoid(x), x)[0]|tf.gradients(tf.tanh(x) * x, x)[0]
tf.gradients(tf.sqrt(p), p)[0]|tf.gradients(tf.rsqrt(p), p)[0]|tf.gradients(tf.reduce_mean(x * x), x)[0]
tf.gradients(tf.reciprocal(x), x)[0]|tf.gradients(tf.maximum(x, y) ** 2, x)[0]
tf.gradients(tf.matmul(x, m) ** 2, x)[0]|tf.gradients(tf.reduce_max(x * x, 1), x)[0]
tf.gradients(tf.log(p) * x, p)[0]
""".strip()
    .replace("\n", "|")
    .split("|")
)

NAMED = """
x + 1|1 + x|x - x|1 - x|x * 2.|2 * x|x / 2|2 / x|i / 2|i // 2|7 // i|i % 2|7 % i|x ** 2|2 ** x|-x|abs(x)|x < 1
x <= x|x > x|x >= x|b & b|True & b|b \\| b|b ^ b|~b|x @ m|np.ones((2, 3), np.float32) + x|tf.subtract(x, 1)
tf.multiply(x, 1)|tf.divide(x, 2)|tf.div(i, 2)|tf.truediv(i, 2)|tf.floordiv(i, 2)|tf.floor_div(i, 2)
tf.realdiv(x, 2)|tf.mod(i, 2)|tf.div_no_nan(x, 2)|tf.abs(x)|tf.abs(c)|tf.pow(x, 2)|tf.cast(x, tf.int32)
tf.cast(x, tf.float32)|tf.to_float(i)|tf.cast(3, tf.float32)|tf.real(c)|tf.conj(c)|tf.reduce_sum(x)
tf.reduce_sum(x, 1)|tf.reduce_mean(x)|tf.reduce_logsumexp(x, 1)|tf.reduce_all(b)|tf.math.reduce_std(x)
tf.argmax(x)|tf.cumsum(x)|tf.matmul(x, x, transpose_b=True)|tf.matmul(t, t, adjoint_b=True)
tf.tensordot(x, x, axes=[[0], [0]])|tf.norm(x)|tf.norm(x, ord=1, axis=1)|tf.equal(x, 1)|tf.logical_xor(b, b)
tf.clip_by_value(x, 0, 1)|tf.clip_by_global_norm([x, x], 1)[1]|tf.global_norm([x, x])|tf.add_n([x, x])
tf.add_n([x])|tf.segment_sum(x, [0, 1])|tf.unsorted_segment_sum(x, [0, 1], 2)|tf.nn.top_k(x, 2)[0]
tf.nn.in_top_k(x, [0, 1], 2)|tf.scalar_mul(2, x)|tf.sigmoid(x)|tf.lbeta(x)|tf.count_nonzero(x)
tf.math.polyval([x, x, x], x)|tf.math.log_sigmoid(x)|tf.round(x)|tf.linalg.matvec(m, v)
tf.einsum("ij,kj->ik", x, x)|tf.math.multiply_no_nan(x, x)|tf.math.reciprocal_no_nan(x)
tf.equal(tf.constant(["a"]), "b")
"""
NAMED_CASES = [e.replace("\0", "|") for e in NAMED.strip().replace("\\|", "\0").replace("\n", "|").split("|")]


def build(tf, expression):
    """(graph, result, placeholders): the expression built on placeholders of the inputs."""
    graph = tf.Graph()
    with graph.as_default():
        scope = {n: tf.placeholder(a.dtype, a.shape, name=f"input_{n}") for n, a in INPUTS.items()}
        return graph, eval(expression, {"tf": tf, "np": np}, scope), scope


def record(tf, expression):
    """The value, and the gradients of its weighted sum with respect to float inputs."""
    graph, result, scope = build(tf, expression)
    with graph.as_default(), tf.Session(graph=graph) as session:
        feed = {scope[n]: a for n, a in INPUTS.items()}
        value = session.run(result, feed)
        gradients = {}
        if result.dtype in (tf.float32, tf.float64) and "tf.gradients" not in expression:
            weights = (
                (np.arange(np.size(value)) % 3 - 0.75).reshape(np.shape(value)).astype(result.dtype.as_numpy_dtype)
            )
            names = [n for n, a in INPUTS.items() if a.dtype == np.float32]
            try:
                found = tf.gradients(result, [scope[n] for n in names], grad_ys=tf.constant(weights))
            except LookupError:  # TensorFlow has no gradient for a few of these
                found = [None] * len(names)
            known = {n: tf.convert_to_tensor(g) for n, g in zip(names, found, strict=True) if g is not None}
            gradients = session.run(known, feed) if known else {}
        return value, gradients


def names(tf, expression):
    """Names and types of the nodes the expression makes."""
    graph, _, _ = build(tf, expression)
    return [[o.name, o.type] for o in graph.get_operations() if not o.name.startswith("input_")]
