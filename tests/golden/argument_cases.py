"""Public functions with each argument in every form that programs use: list, tuple, array, tensor, placeholder, variable.

`outcomes` calls each function of `CALLS` with one argument at a time in each form, the others as arrays.  An outcome is a text:
dtype, static shape, the shape and a rounded sum of the result, or the phase and class of the error.  Runs with Headrace and with
TensorFlow (`make_cases.py`), and imports neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

M = np.array([[1.5, -2.0, 0.5], [0.25, 3.0, -1.0]], np.float32)
POSITIVE = np.array([[1.5, 2.0, 0.5], [0.25, 3.0, 1.0]], np.float32)
UNIT = np.array([[0.5, -0.25, 0.75], [0.1, 0.9, -0.6]], np.float32)
SQUARE = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)
V = np.array([3.0, 1.0, 2.0], np.float32)
I = np.array([2, 0, 1], np.int32)  # noqa: E741
N = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
B = np.array([[True, False, True], [False, False, True]])
IMAGE = np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3) / 7
FILTER = np.arange(24, dtype=np.float32).reshape(2, 2, 3, 2) / 11
TEXT = np.array([b"one two", b"three"], object)

Call = tuple[Any, ...]  # arrays take every form, what is in a list of one element is passed as it is


def plain(value: Any) -> list[Any]:
    """An argument that keeps its form."""
    return [value]


CALLS: dict[str, Call] = {
    **dict.fromkeys((
        "abs", "sigmoid", "tanh", "exp", "square", "negative", "sign", "floor", "ceil", "round", "sin", "cos", "erf",
        "zeros_like", "ones_like", "identity", "shape", "size", "rank", "stop_gradient", "transpose", "nn.relu", "nn.relu6",
        "nn.elu", "nn.selu", "nn.softplus", "nn.softsign", "nn.softmax", "nn.log_softmax", "nn.l2_loss", "nn.leaky_relu",
        "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_logsumexp", "is_nan", "is_finite",
        "unstack", "squeeze", "where", "convert_to_tensor", "norm", "global_norm", "add_n", "stack", "nn.top_k", "rint",
    ), (M,)),
    **dict.fromkeys(("log", "sqrt", "rsqrt", "log1p", "lgamma", "reciprocal", "expm1", "digamma"), (POSITIVE,)),
    **dict.fromkeys(("acos", "asin", "atan", "atanh"), (UNIT,)),
    **dict.fromkeys((
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "floordiv", "mod", "squared_difference",
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "atan2", "realdiv", "truediv", "div_no_nan",
        "losses.mean_squared_error", "losses.absolute_difference", "losses.huber_loss",
    ), (M, POSITIVE)),
    **dict.fromkeys(("logical_not", "reduce_any", "reduce_all", "count_nonzero", "to_float", "to_int32"), (B,)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), (B, ~B)),
    **{name: (M, np.int32(1)) for name in (
        "reduce_sum", "reduce_mean", "reduce_max", "argmax", "argmin", "cumsum", "cumprod", "expand_dims", "reduce_any",
        "reverse", "nn.l2_normalize", "sort", "argsort",
    ) if name not in ("reduce_any", "reverse")},
    "reduce_sum of axes": (M, np.array([0, 1], np.int32)),
    "reverse": (M, np.array([1], np.int32)),
    "matmul": (M, POSITIVE.T), "tensordot": (M, POSITIVE.T, 1), "linalg.matvec": (M, V), "einsum": (plain("ij,jk->ik"), M, M.T),
    "diag": (V,), "diag_part": (SQUARE,), "matrix_diag": (M,), "trace": (SQUARE,), "matrix_inverse": (SQUARE,),
    "cholesky": (SQUARE,), "matrix_determinant": (SQUARE,), "matrix_solve": (SQUARE, SQUARE), "eye": (np.int32(3),),
    "reshape": (M, np.array([3, 2], np.int32)), "tile": (M, np.array([2, 1], np.int32)),
    "fill": (np.array([2, 3], np.int32), np.float32(7)), "pad": (M, np.array([[1, 0], [0, 2]], np.int32)),
    "slice": (M, np.array([0, 1], np.int32), np.array([2, 2], np.int32)), "zeros": (np.array([2, 3], np.int32),),
    "ones": (np.array([2, 3], np.int32),), "broadcast_to": (V, np.array([2, 3], np.int32)),
    "strided_slice": (M, np.array([0, 1], np.int32), np.array([2, 3], np.int32), np.array([1, 1], np.int32)),
    "gather": (M, np.array([1, 0], np.int32)), "gather_nd": (M, np.array([[1, 0], [0, 2]], np.int32)),
    "scatter_nd": (np.array([[1], [0]], np.int32), M, np.array([4, 3], np.int32)), "one_hot": (I, np.int32(4)),
    "boolean_mask": (M, np.array([True, False])), "where of three": (B, M, POSITIVE), "concat": ([M, POSITIVE], np.int32(1)),
    "split": (M, plain(3), np.int32(1)), "range": (np.int32(1), np.int32(7), np.int32(2)),
    "linspace": (np.float32(0), np.float32(1), plain(5)), "cast": (M, plain("int32")),
    "clip_by_value": (M, np.float32(-1), np.float32(1)), "clip_by_norm": (M, np.float32(2)), "sequence_mask": (I, np.int32(4)),
    "segment_sum": (M, np.array([0, 1], np.int32)), "unsorted_segment_sum": (M, np.array([1, 0], np.int32), np.int32(3)),
    "dynamic_partition": (M, np.array([1, 0], np.int32), plain(2)), "invert_permutation": (I,), "unique": (I,),
    "nn.embedding_lookup": (M, np.array([1, 0], np.int32)), "nn.bias_add": (M, V), "nn.in_top_k": (M, np.array([0, 1]), plain(1)),
    "nn.moments": (M, plain([0])), "nn.dropout": (M, np.float32(1)), "nn.xw_plus_b": (M, SQUARE[[0, 1, 1]], V[:2]),
    "nn.sigmoid_cross_entropy_with_logits": (plain(None), POSITIVE, M),
    "nn.softmax_cross_entropy_with_logits": (plain(None), POSITIVE, M),
    "nn.sparse_softmax_cross_entropy_with_logits": (plain(None), np.array([2, 0], np.int32), M),
    "nn.conv2d": (IMAGE, FILTER, plain([1, 1, 1, 1]), plain("SAME")),
    "nn.max_pool": (IMAGE, plain([1, 2, 2, 1]), plain([1, 2, 2, 1]), plain("VALID")),
    "nn.avg_pool": (IMAGE, plain([1, 2, 2, 1]), plain([1, 2, 2, 1]), plain("VALID")), "nn.lrn": (IMAGE,),
    "nn.batch_normalization": (M, V, POSITIVE[0], V, V, plain(0.1)), "space_to_depth": (IMAGE, plain(2)),
    "image.resize_images": (IMAGE, np.array([2, 2], np.int32)), "image.flip_left_right": (IMAGE[0],),
    "image.rgb_to_grayscale": (IMAGE,),
    "image.crop_to_bounding_box": (IMAGE, 1, 1, 2, 2), "image.per_image_standardization": (IMAGE[0],),
    "losses.softmax_cross_entropy": (POSITIVE, M), "losses.log_loss": (np.abs(UNIT), np.abs(UNIT)),
    "losses.sparse_softmax_cross_entropy": (np.array([2, 0], np.int32), M), "losses.hinge_loss": (B.astype(np.float32), M),
    "string_split": (TEXT,), "string_join": ([TEXT, TEXT],), "as_string": (N,), "strings.length": (TEXT,),
    "string_to_number": (np.array([b"1", b"2.5"], object),), "substr": (TEXT, np.int32(0), np.int32(3)),
    "decode_raw": (TEXT[:1], plain("uint8")),
    "random_uniform": (np.array([2, 3], np.int32),), "random_normal": (np.array([2, 3], np.int32),),
    "truncated_normal": (np.array([2, 3], np.int32),), "random_shuffle": (M,), "multinomial": (M, np.int32(5)),
    "placeholder_with_default": (M, plain([None, 3])), "check_numerics": (M, plain("bad")), "bitcast": (M, plain("int32")),
    "sparse_to_dense": (I, np.array([4], np.int32), V), "confusion_matrix": (I, I),
    "histogram_fixed_width": (M, np.array([-2, 3], np.float32)),
    "meshgrid": (V, V), "accumulate_n": ([M, POSITIVE],), "reverse_sequence": (M, np.array([2, 3], np.int32), plain(1)),
    "nn.zero_fraction": (M,), "nn.weighted_moments": (M, plain([0]), POSITIVE), "nn.l2_normalize of axes": (M, plain([0, 1])),
}  # fmt: skip

FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "list": lambda tf, a: a.tolist(),
    "tuple": lambda tf, a: _tuples(a.tolist()),
    "array": lambda tf, a: a,
    "tensor": lambda tf, a: tf.constant(a),
    "placeholder": lambda tf, a: tf.placeholder_with_default(tf.constant(a), None),
    "variable": lambda tf, a: tf.Variable(a, use_resource=False),
}
RANDOM = ("random_uniform", "random_normal", "truncated_normal", "random_shuffle", "multinomial")


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def outcomes(tf: Any, name: str, config: Any = None) -> dict[str, str]:
    """Every argument in every form: ``{"0 list": "float32 [2,3] [2,3] 1.25"}``."""
    call = CALLS[name]
    return {
        f"{i} {form}": outcome(tf, name, i, form, config)
        for i, argument in enumerate(call)
        if isinstance(argument, (np.ndarray, np.generic)) or _is_list_of_arrays(argument)
        for form in FORMS
        if form != "array" or i == 0  # all arguments are arrays then
    }


def _is_list_of_arrays(argument: Any) -> bool:
    return isinstance(argument, list) and isinstance(argument[0], np.ndarray)


def outcome(tf: Any, name: str, place: int, form: str, config: Any) -> str:
    """What one call gives."""
    function = tf
    for part in name.partition(" ")[0].split("."):
        function = getattr(function, part)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        tf.set_random_seed(1)
        try:
            result = function(*[_argument(tf, a, form if i == place else "array") for i, a in enumerate(CALLS[name])])
        except Exception as e:  # noqa: BLE001 - its class is the outcome
            return f"building: {_public(e)}"
        try:
            if tf.global_variables():
                session.run(tf.global_variables_initializer())
            tensors = _tensors(tf, result)
            return "; ".join(
                _describe(t, v, name in RANDOM) for t, v in zip(tensors, session.run(tensors), strict=True)
            )
        except Exception as e:  # noqa: BLE001 - its class is the outcome
            return f"running: {_public(e)}"


def _argument(tf: Any, argument: Any, form: str) -> Any:
    if _is_list_of_arrays(argument):
        return [FORMS[form](tf, a) for a in argument]
    if isinstance(argument, list):
        return getattr(tf, argument[0]) if argument[0] in ("int32", "uint8") else argument[0]
    return FORMS[form](tf, np.asarray(argument)) if isinstance(argument, (np.ndarray, np.generic)) else argument


def _public(error: Exception) -> str:
    """The class, or what a program would catch: TensorFlow's own subclasses of ValueError count as that."""
    return next(c.__name__ for c in type(error).__mro__ if not c.__name__.startswith("_"))


def _tensors(tf: Any, result: Any) -> list[Any]:
    if isinstance(result, tf.SparseTensor):
        return [result.indices, result.values, result.dense_shape]
    return [t for t in (result if isinstance(result, (list, tuple)) else [result]) if t is not None]


def _describe(tensor: Any, value: Any, random: bool) -> str:
    static = "?" if tensor.shape.ndims is None else str(tensor.shape.as_list()).replace("None", "?").replace(" ", "")
    array = np.asarray(value)
    shape = str(list(array.shape)).replace(" ", "")
    if random or array.dtype.kind in "OS":
        return f"{tensor.dtype.base_dtype.name} {static} {shape}"
    weights = np.arange(1, array.size + 1).reshape(array.shape)
    return f"{tensor.dtype.base_dtype.name} {static} {shape} {float(np.sum(array * weights)):.4g}"
