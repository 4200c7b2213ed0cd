"""zeros, ones, range, placeholders and their relatives beyond what the golden file holds."""

import numpy as np
import pytest
from running import run

import headrace as tf


@pytest.mark.parametrize("dtype", [tf.float16, tf.float64, tf.int8, tf.uint8, tf.int64, tf.bool, tf.complex64])
def test_zeros_and_ones_of_every_kind(dtype):
    for make, value in ((tf.zeros, 0), (tf.ones, 1)):
        result = run(make([2, 2], dtype))
        assert result.dtype == dtype.as_numpy_dtype
        np.testing.assert_array_equal(result, np.full([2, 2], value, dtype.as_numpy_dtype))


def test_large_fills_are_not_kept_as_constants(graph):
    tf.zeros([100, 100], name="big")
    assert graph.get_operation_by_name("big").type == "Fill"
    assert graph.get_operation_by_name("big/shape_as_tensor").type == "Const"


def test_placeholder_takes_any_spelling():
    assert tf.placeholder("float").shape.ndims is None
    assert tf.placeholder(np.int64, 3).shape.as_list() == [3]
    assert tf.placeholder(tf.string, tf.TensorShape([None, 2])).shape.as_list() == [None, 2]


def test_placeholder_with_default_can_be_fed():
    x = tf.placeholder_with_default([1.0, 2.0], [None])
    np.testing.assert_array_equal(run(x * 2), [2, 4])
    np.testing.assert_array_equal(run(x * 2, {x: [5.0]}), [10])


def test_sparse_placeholder():
    sparse = tf.sparse_placeholder(tf.float32, [None, 3], name="sp")
    assert sparse.indices.shape.as_list() == [None, 2]
    assert (sparse.values.op.name, sparse.dense_shape.op.name) == ("sp/values", "sp/shape")
    assert tf.sparse_placeholder(tf.float32).indices.shape.as_list() == [None, None]


@pytest.mark.parametrize(
    ("shape", "static"),
    [
        ([None, 3], [None, 3]), ((-1, 3), [None, 3]), (tf.TensorShape([None, 2]), [None, 2]),
        (np.array([2, 3]), [2, 3]), (lambda: tf.constant([2, 3], tf.int64), [2, 3]),
        (lambda: tf.placeholder(tf.int64, [2]), [None, None]),
        (lambda: tf.cast(tf.stack([2, tf.placeholder(tf.int32, [])]), tf.int64), [2, None]),
    ],
)  # fmt: skip
def test_a_sparse_placeholder_knows_the_shape_it_was_given(shape, static):
    """-1 is an unknown size here, unlike in tf.placeholder; another shape may be fed."""
    sparse = tf.sparse_placeholder(tf.float32, shape() if callable(shape) else shape)
    assert sparse.shape.as_list() == sparse.get_shape().as_list() == static
    value = tf.SparseTensorValue([[0, 1]], [1.0], [4, 5])
    assert run(tf.sparse_tensor_to_dense(sparse), {sparse: value}).shape == (4, 5)


def test_a_sparse_placeholder_refuses_other_shapes():
    with pytest.raises(
        TypeError, match="shape must be a list of sizes, a TensorShape or a tensor, got 3.*test_creation"
    ):
        tf.sparse_placeholder(tf.float32, 3)
    with pytest.raises(ValueError, match="Dimension -2 must be >= 0"):
        tf.sparse_placeholder(tf.float32, [-2, 3])


def test_range_picks_the_widest_dtype():
    assert tf.range(5).dtype == tf.int32
    assert tf.range(tf.constant(5, tf.int64)).dtype == tf.int64
    assert tf.range(1, 2.5).dtype == tf.float32
    np.testing.assert_array_equal(run(tf.range(1, 2.5)), [1, 2])


@pytest.mark.parametrize(("start", "limit", "delta"), [(0, 5, 0), (5, 0, 1), (0, 5, -1)])
def test_impossible_ranges(start, limit, delta):
    with pytest.raises(ValueError, match="Requires"):
        tf.range(start, limit, delta)
    step = tf.placeholder(tf.int32, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Requires"):
        run(tf.range(start, limit, step), {step: delta})


def test_lin_space():
    np.testing.assert_allclose(run(tf.linspace(10.0, 12.0, 3)), [10, 11, 12])
    np.testing.assert_allclose(run(tf.lin_space(np.float64(0), np.float64(1), 4)), np.linspace(0, 1, 4))
    assert run(tf.linspace(3.0, 7.0, 1)).tolist() == [3]
    assert tf.linspace(0.0, 1.0, 5).op.name.startswith("LinSpace")


def test_one_hot_dtypes_must_agree():
    with pytest.raises(TypeError, match="off_value"):
        tf.one_hot([0], 2, on_value=1.0, off_value=tf.constant(0))
    with pytest.raises(TypeError):
        tf.one_hot([0], 2, on_value=tf.constant(1.0), dtype=tf.int32)


@pytest.mark.parametrize("dims", [2, [[2]], [[2], [3]]])
def test_fill_wants_a_vector(dims):
    with pytest.raises(ValueError, match="Shape must be rank 1 but is rank"):
        tf.fill(dims, 1)


def test_fill_copies_its_value():
    x = tf.placeholder(tf.float32, [])
    assert run(tf.fill([2, 0], x), {x: 1}).shape == (2, 0)
    np.testing.assert_array_equal(run(tf.fill([2, 2], x), {x: 3}), [[3, 3], [3, 3]])


def test_shapes_follow_shape_arithmetic():
    x = tf.placeholder(tf.float32, [None, 4, 6])
    batch = tf.shape(x)[0]
    assert tf.zeros([batch, 7]).shape.as_list() == [None, 7]
    assert tf.reshape(x, [batch, -1]).shape.as_list() == [None, None]
    assert tf.reshape(x, tf.concat([tf.shape(x)[:1], [24]], 0)).shape.as_list() == [None, 24]
    assert tf.ones(tf.stack([batch * 2, tf.shape(x)[1] * 2])).shape.as_list() == [None, 8]
    assert tf.fill(tf.shape(x)[1:], 0).shape.as_list() == [4, 6]
    assert tf.zeros(tf.tile(tf.shape(x)[1:2], [3])).shape.as_list() == [4, 4, 4]
    assert tf.zeros(tf.reverse(tf.shape(x), [0])).shape.as_list() == [6, 4, None]
    assert tf.zeros(tf.split(tf.shape(x), [1, 2])[1]).shape.as_list() == [4, 6]
    assert tf.zeros([tf.rank(x), tf.size(x[0])]).shape.as_list() == [3, 24]


def test_partial_static_values():
    x = tf.placeholder(tf.float32, [None, 4])
    assert tf.get_static_value(tf.shape(x)) is None
    assert tf.get_static_value(tf.shape(x), partial=True).tolist() == [None, 4]
    assert tf.get_static_value(tf.range(3) + 1).tolist() == [1, 2, 3]


def test_deprecated_spellings_exclude_the_new_ones():
    with pytest.raises(ValueError, match="both"):
        tf.expand_dims([1], axis=0, dim=0)
    with pytest.raises(ValueError, match="axis"):
        tf.expand_dims([1])
    with pytest.raises(ValueError, match="both"):
        tf.squeeze([[1]], axis=0, squeeze_dims=[0])


def test_a_default_must_fit_its_placeholder():
    assert tf.placeholder_with_default([1.0, 2.0], [None]).shape.as_list() == [None]
    with pytest.raises(ValueError, match=r"Shapes are \[2\] and \[3\].*test_creation.py:\d+"):
        tf.placeholder_with_default([1.0, 2.0], [3])
