"""Assertions: what stops a step, what fails while building, and the words."""

import numpy as np
import pytest
from running import run

import headrace as tf


def fails(operation, match: str, feed=None) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        run(operation, feed)


def test_assert_shows_its_data() -> None:
    wrong = tf.placeholder_with_default(False, [])
    data = ["msg", tf.constant([1, 2, 3, 4, 5]), tf.constant([[1.5, 2.0], [3, 4e10]]), tf.constant(True)]
    fails(tf.Assert(wrong, data), r"assertion failed: \[msg\] \[1 2 3\.\.\.\] \[\[1\.5 2\]\[3\.\.\.\]\.\.\.\] \[1\]")
    fails(tf.Assert(wrong, [[1 / 3, 1e20, np.nan]], summarize=-1), r"\[0\.333333343 1e\+20 nan\]")
    assert run(tf.Assert(tf.placeholder_with_default(True, []), ["never seen"])) is None
    assert tf.Assert(wrong, ["a"], name="check").name == "check/Assert"


COMPARISONS = [
    (tf.assert_equal, "==", [1, 2], [1, 3]),
    (tf.assert_none_equal, "!=", [1, 2], [3, 2]),
    (tf.assert_less, "<", [1, 2], [2, 2]),
    (tf.assert_less_equal, "<=", [1, 3], [2, 2]),
    (tf.assert_greater, ">", [3, 2], [2, 2]),
    (tf.assert_greater_equal, ">=", [3, 1], [2, 2]),
]
HOLD = {
    "==": ([1, 2], [1, 2]),
    "!=": ([1, 2], [3, 3]),
    "<": ([1], 2),
    "<=": ([2], 2),
    ">": ([3], [[2]]),
    ">=": ([2], 2),
}


@pytest.mark.parametrize(("check", "sign", "x", "y"), COMPARISONS)
def test_comparisons(check, sign, x, y) -> None:
    a, b = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    operation = check(a, b, message="why")
    assert operation.type == "Assert"
    fails(operation, rf"why\\n?.*Condition x {sign} y did not hold element-wise", {a: x, b: y})
    good = HOLD[sign]
    assert run(operation, {a: good[0], b: good[1]}) is None
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        check(tf.constant(x), tf.constant(y))  # the graph alone shows it


def test_comparison_names() -> None:
    x = tf.placeholder(tf.int32, name="x")
    assert tf.assert_less(x, 3).name == "assert_less/Assert/Assert"
    assert tf.assert_positive(x).name == "assert_positive/assert_less/Assert/Assert"
    graph = tf.get_default_graph()
    assert graph.get_operation_by_name("assert_less/All").type == "All"
    assert graph.get_tensor_by_name("assert_less/y:0").op.type == "Const"


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (tf.assert_positive, [1.0, 2.0], [0.0]),
        (tf.assert_negative, [-1.0], [0.0]),
        (tf.assert_non_negative, [0.0, 1.0], [-1.0]),
        (tf.assert_non_positive, [0.0, -1.0], [1.0]),
    ],
)
def test_signs(check, good, bad) -> None:
    x = tf.placeholder(tf.float32)
    operation = check(x)
    assert run(operation, {x: good}) is None
    fails(operation, "0 did not hold element-wise", {x: bad})


def test_assert_near() -> None:
    x = tf.placeholder(tf.float32)
    operation = tf.assert_near(x, 1.0)
    assert run(operation, {x: [1.0, 1 + 1e-6]}) is None
    fails(operation, "not equal to tolerance", {x: [1.1]})
    assert run(tf.assert_near(x, 1.0, atol=0.2), {x: 1.1}) is None
    assert run(tf.assert_near(tf.constant(1 + 1j), 1 + 1j)) is None


def test_ranks() -> None:
    known, unknown = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32)
    assert tf.assert_rank(known, 1).name == "assert_rank/static_checks_determined_all_ok"
    with pytest.raises(
        ValueError, match=r"why\.  Tensor Placeholder:0 must have rank 2\.  Received rank 1, shape \(2,\)"
    ):
        tf.assert_rank(known, 2, message="why")
    with pytest.raises(ValueError, match="must have rank at least 2"):
        tf.assert_rank_at_least(known, 2)
    with pytest.raises(ValueError, match="must have rank 2 or 3"):
        tf.assert_rank_in(known, [2, 3])
    for operation in (
        tf.assert_rank(unknown, 1),
        tf.assert_rank_at_least(unknown, 1),
        tf.assert_rank_in(unknown, [1, 3]),
    ):
        assert run(operation, {unknown: [1.0]}) is None
        fails(operation, "must have rank", {unknown: 1.0})
    with pytest.raises(ValueError, match="scalar"):
        tf.assert_rank(known, [1, 2])


def test_types() -> None:
    x = tf.placeholder(tf.float32, name="x")
    assert tf.assert_type(x, tf.float32).type == "NoOp"
    with pytest.raises(TypeError, match="why  x:0 must be of type tf.int32"):
        tf.assert_type(x, tf.int32, message="why")
    with pytest.raises(TypeError, match="integer"):
        tf.assert_integer(x)
    assert tf.assert_integer(tf.constant(1)).type == "NoOp"
    assert tf.assert_scalar(tf.constant(1)).shape.ndims == 0
    with pytest.raises(ValueError, match="Expected scalar shape"):
        tf.assert_scalar(tf.constant([1]))
    assert tf.is_numeric_tensor(x)
    assert not tf.is_numeric_tensor(tf.constant("a"))
    assert not tf.is_numeric_tensor(3)
    assert tf.assert_same_float_dtype([x, None, tf.constant(1.0)]) is tf.float32
    with pytest.raises(ValueError, match="Expected"):
        tf.assert_same_float_dtype([x, tf.constant(1.0, tf.float64)])
    with pytest.raises(TypeError, match="proper"):
        tf.assert_proper_iterable("abc")
    tf.assert_proper_iterable([1])


@pytest.mark.parametrize(
    ("values", "weak", "strict"),
    [
        ([], True, True),
        ([1.0], True, True),
        ([1, 2, 2], True, False),
        ([1, 3, 2], False, False),
        ([[1, 2], [3, 4]], True, True),
    ],
)
def test_monotony(values, weak: bool, strict: bool) -> None:
    x = tf.placeholder(tf.float32)
    got = run([tf.is_non_decreasing(x), tf.is_strictly_increasing(x)], {x: values})
    assert got == [weak, strict]


def test_finite() -> None:
    x = tf.placeholder(tf.float32, name="x")
    for bad, words in (([np.nan], "NaN"), ([np.inf], "Inf"), ([np.nan, -np.inf], "Inf and NaN")):
        fails(tf.check_numerics(x, "here"), f"here : Tensor had {words} values", {x: bad})
    good = tf.verify_tensor_all_finite(x, "here")
    assert good.name == "VerifyFinite/control_dependency:0"
    np.testing.assert_array_equal(run(good, {x: [1, 2]}), [1, 2])
    fails(good, "NaN", {x: [np.nan]})
    fails(tf.debugging.assert_all_finite(x=x, message="later name"), "later name", {x: [np.inf]})
    grad = tf.gradients(tf.sqrt(tf.check_numerics(x, "in")), x)[0]
    fails(grad, "gradient", {x: [0.0]})


def test_add_check_numerics_ops() -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.log(x)
    tf.argmax([1.0, 2.0])
    everything = tf.add_check_numerics_ops()
    assert run(everything, {x: [1.0]}) is None
    fails(everything, "Log:0 : Tensor had Inf", {x: [0.0]})
    assert y.shape.ndims is None


def test_ensure_shape() -> None:
    x = tf.placeholder(tf.float32)
    y = tf.ensure_shape(x, [None, 2])
    assert y.shape.as_list() == [None, 2]
    assert run(y, {x: [[1, 2]]}).shape == (1, 2)
    fails(y, "is not compatible with expected shape", {x: [1, 2]})
    with pytest.raises(ValueError):
        tf.ensure_shape(tf.constant([1.0, 2.0]), [3])
