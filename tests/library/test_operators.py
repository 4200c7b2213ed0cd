"""Python operators on Tensor: operands, types, errors."""

import numpy as np
import pytest
from running import run

import headrace as tf


def test_a_python_operand_takes_the_tensors_type():
    for dtype in (tf.float16, tf.float64, tf.int8, tf.int64, tf.complex64):
        x = tf.constant([1, 2], dtype)
        for result in (x + 1, 1 + x, x - 1, 1 - x, x * 2, 2 * x):
            assert result.dtype == dtype


def test_numpy_operands():
    x = tf.constant([[1.0, 2.0]])
    for left in (np.float32(2), np.float64(2), np.int64(2), np.array([[2.0, 2.0]]), np.array(2)):
        assert isinstance(left * x, tf.Tensor)
        np.testing.assert_array_equal(run(left * x), [[2.0, 4.0]])
        np.testing.assert_array_equal(run(x * left), [[2.0, 4.0]])
        np.testing.assert_array_equal(run(left - x), [[1.0, 0.0]])
    np.testing.assert_array_equal(run(x * [1, 3]), [[1.0, 6.0]])
    np.testing.assert_array_equal(run((1, 3) * x), [[1.0, 6.0]])


def test_types_do_not_mix():
    i, f = tf.constant([1, 2]), tf.constant([1.0, 2.0])
    with pytest.raises(TypeError, match="Input 'y' of 'AddV2' Op has type float32 that does not match type int32"):
        i + 1.5
    with pytest.raises(TypeError, match="int32"):
        1.5 + i
    with pytest.raises(TypeError, match="that does not match type float32 of argument 'x'"):
        f * i
    with pytest.raises(TypeError, match="same dtype"):
        f / i
    with pytest.raises((TypeError, ValueError)):
        f + None
    with pytest.raises(TypeError):
        f + "a"


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2"):
        tf.constant([1.0, 2.0, 3.0]) + tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2"):
        tf.zeros([2, 3]) @ tf.zeros([2, 3])


def test_division():
    i, small, f = tf.constant([7, -7]), tf.constant([7, -7], tf.int8), tf.constant([7.0, -7.0])
    assert (i / 2).dtype == tf.float64
    assert (small / 2).dtype == tf.float32
    np.testing.assert_array_equal(run(i / 2), [3.5, -3.5])
    np.testing.assert_array_equal(run(2 / i), [2 / 7, -2 / 7])
    np.testing.assert_array_equal(run(i // 2), [3, -4])
    np.testing.assert_array_equal(run(f // 2), [3.0, -4.0])
    np.testing.assert_array_equal(run(i % 4), [3, 1])
    np.testing.assert_array_equal(run(f % 4), [3.0, 1.0])
    np.testing.assert_array_equal(run(-7 // tf.constant(2)), -4)
    np.testing.assert_array_equal(run(tf.div(i, 2)), [3, -4])
    np.testing.assert_array_equal(run(tf.truncatediv(i, 2)), [3, -3])


def test_integer_division_by_zero_is_an_error():
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.constant([1, 2]) // tf.placeholder_with_default([0, 1], [2]))


def test_comparison_logic_and_bits():
    x, b = tf.constant([1.0, 2.0, 3.0]), tf.constant([True, False, True])
    np.testing.assert_array_equal(run(x < 2), [True, False, False])
    np.testing.assert_array_equal(run(2 < x), [False, False, True])  # noqa: SIM300 - the reflected form
    np.testing.assert_array_equal(run((x >= 2) & b), [False, False, True])
    np.testing.assert_array_equal(run(b | (x > 1)), [True, True, True])
    np.testing.assert_array_equal(run(b ^ True), [False, True, False])
    np.testing.assert_array_equal(run(~b), [False, True, False])
    i = tf.constant([6, 5])
    np.testing.assert_array_equal(run(i & 3), [2, 1])
    np.testing.assert_array_equal(run(i | 1), [7, 5])
    np.testing.assert_array_equal(run(i ^ 1), [7, 4])
    np.testing.assert_array_equal(run(~i), [-7, -6])


def test_equality_is_identity():
    x, y = tf.constant(1.0), tf.constant(1.0)
    assert (x == x) is True
    assert (x == y) is False
    assert (x != y) is True
    assert len({x, y, x}) == 2


def test_strings_add():
    assert run(tf.constant(["a", "b"]) + "c").tolist() == [b"ac", b"bc"]


def test_nodes_go_to_the_graph_of_the_tensor():
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(1.0)
    assert (x + 1).graph is other
    assert (1 - x).graph is other
    assert (-x).graph is other
    assert (x < 2).graph is other


def test_names_in_scopes():
    x = tf.constant(1.0, name="x")
    with tf.name_scope("layer"):
        assert (x + x).op.name == "layer/add"
        assert (x + x).op.name == "layer/add_1"
        assert (-x).op.name == "layer/Neg"
        assert (x / 2).op.inputs[1].op.name == "layer/truediv/y"


def test_strings_add_up():
    x = tf.placeholder(tf.string, [])
    joined = x + "b"
    assert run(joined, {x: "a"}) == b"ab"
    assert run(tf.concat([[joined + joined], ["c"]], 0), {x: "a"}).tolist() == [b"abab", b"c"]
    assert run(["x", "y"] + x, {x: "a"}).tolist() == [b"xa", b"ya"]
