"""Reductions through the public functions: shapes, arguments, ties, empties, segments."""

import numpy as np
import pytest
from running import run

import headrace as tf


def test_static_shapes():
    x = tf.placeholder(tf.float32, [None, 3, 4])
    assert tf.reduce_sum(x).shape.as_list() == []
    assert tf.reduce_sum(x, 1).shape.as_list() == [None, 4]
    assert tf.reduce_sum(x, [0, 2], keepdims=True).shape.as_list() == [1, 3, 1]
    assert tf.reduce_sum(x, []).shape.as_list() == [None, 3, 4]
    assert tf.reduce_sum(x, tf.placeholder(tf.int32, [1]), keepdims=True).shape.ndims == 3
    assert tf.reduce_sum(x, tf.placeholder(tf.int32, [1])).shape.ndims is None
    unknown = tf.placeholder(tf.float32)
    assert tf.reduce_mean(unknown).shape.as_list() == []
    assert tf.reduce_mean(unknown, 0).shape.ndims is None
    assert tf.argmax(x, 2).shape.as_list() == [None, 3]
    assert tf.cumsum(x, 1).shape.as_list() == [None, 3, 4]


def test_unknown_rank_runs():
    x = tf.placeholder(tf.float32)
    total, gradient = tf.reduce_sum(x * x), tf.gradients(tf.reduce_mean(x * x), x)[0]
    got = run([total, gradient], {x: np.ones((2, 2))})
    assert got[0] == 4.0
    np.testing.assert_array_equal(got[1], np.full((2, 2), 0.5))


def test_deprecated_names():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert run(tf.reduce_sum(x, reduction_indices=1)).tolist() == [3.0, 7.0]
    assert tf.reduce_sum(x, 0, keep_dims=True).shape.as_list() == [1, 2]
    assert run(tf.argmax(x, dimension=1)).tolist() == [1, 1]
    with pytest.raises(ValueError, match="Cannot specify both 'reduction_indices' and 'axis'"):
        tf.reduce_sum(x, axis=0, reduction_indices=0)
    with pytest.raises(ValueError, match="Cannot specify both 'keep_dims' and 'keepdims'"):
        tf.reduce_sum(x, keepdims=True, keep_dims=True)


def test_bad_axes_and_types():
    x = tf.zeros([2, 3])
    with pytest.raises(ValueError, match="Invalid reduction dimension 2 for input with 2 dimensions"):
        tf.reduce_sum(x, 2)
    with pytest.raises(TypeError, match="DataType bool not in list of allowed values"):
        tf.reduce_sum(tf.constant([True]))
    with pytest.raises(TypeError):
        tf.reduce_all(x)


def test_no_elements():
    x = tf.zeros([0, 3])
    assert run(tf.reduce_sum(x)) == 0.0
    assert run(tf.reduce_prod(x, 0)).tolist() == [1.0, 1.0, 1.0]
    assert run(tf.reduce_max(x, 0)).tolist() == [-np.inf] * 3
    assert run(tf.reduce_min(tf.zeros([0], tf.int32))) == np.iinfo(np.int32).max
    assert run(tf.reduce_all(tf.zeros([0], tf.bool)))
    assert not run(tf.reduce_any(tf.zeros([0], tf.bool)))


def test_integers_keep_their_type():
    for dtype in (tf.int8, tf.int32, tf.int64, tf.uint16):
        x = tf.constant([7, 2, 6], dtype)
        assert run(tf.reduce_mean(x)) == 5
        assert run(tf.reduce_sum(x)).dtype == dtype.as_numpy_dtype
        assert run(tf.reduce_prod(x)).dtype == dtype.as_numpy_dtype
    assert run(tf.reduce_mean(tf.constant([-1, -2]))) == -1


def test_ties_share_the_gradient():
    x = tf.constant([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    for extreme in (tf.reduce_max, tf.reduce_min):
        gradient = run(tf.gradients(extreme(x, 1), x)[0])
        np.testing.assert_allclose(gradient.sum(1), [1.0, 1.0])
    np.testing.assert_allclose(run(tf.gradients(tf.reduce_max(x, 1), x)[0])[0], [0.0, 0.5, 0.5])


def test_product_gradient_with_zeros():
    x = tf.constant([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0]])
    np.testing.assert_allclose(run(tf.gradients(tf.reduce_prod(x, 1), x)[0]), [[0, 6, 0], [0, 0, 0]])


def test_second_derivatives():
    x = tf.constant([[0.5, -1.0], [2.0, 1.5]])
    for y in (tf.reduce_sum(x**3), tf.reduce_mean(x**3, 0), tf.reduce_logsumexp(x, 1), tf.reduce_prod(x, 1)):
        first = tf.gradients(y, x)[0]
        second = tf.gradients(first, x)[0]
        assert second is None or run(second).shape == (2, 2)
    np.testing.assert_allclose(
        run(tf.gradients(tf.gradients(tf.reduce_mean(x**3), x)[0], x)[0]), run(x) * 6 / 4, rtol=1e-6
    )


def test_logsumexp_is_stable():
    assert run(tf.reduce_logsumexp([1000.0, 1000.0])) == np.float32(1000 + np.log(2))
    assert run(tf.reduce_logsumexp(tf.constant([-np.inf, -np.inf]))) == -np.inf


def test_first_of_equal_elements():
    assert run(tf.argmax([1, 3, 3, 2])) == 1
    assert run(tf.argmin([[2.0, 1.0], [2.0, 1.0]], 0)).tolist() == [0, 0]
    values, indices = run(tf.nn.top_k([[1.0, 3.0, 3.0, 2.0, 3.0]], 4))
    assert values.tolist() == [[3.0, 3.0, 3.0, 2.0]]
    assert indices.tolist() == [[1, 2, 4, 3]]
    with pytest.raises(ValueError, match="last dimension >= k"):
        tf.nn.top_k([1.0, 2.0], 3)


def test_top_k_of_an_unknown_shape_has_a_gradient():
    x = tf.placeholder(tf.float32)
    values = tf.nn.top_k(x, 2).values
    gradient = tf.gradients(values, x)[0]
    assert run(gradient, {x: [[1.0, 5.0, 3.0]]}).tolist() == [[0.0, 1.0, 1.0]]


def test_unsorted_segments_drop_negative_ids():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    total = tf.unsorted_segment_sum(x, [1, -1, 1], 3)
    assert total.shape.as_list() == [3, 2]
    np.testing.assert_array_equal(run(total), [[0, 0], [6, 8], [0, 0]])
    np.testing.assert_array_equal(run(tf.gradients(total, x)[0]), [[1, 1], [0, 0], [1, 1]])
    assert tf.unsorted_segment_sum(x, [1, -1, 1], tf.placeholder(tf.int32, [])).shape.as_list() == [None, 2]
    assert tf.segment_sum(x, [0, 0, 1]).shape.as_list() == [None, 2]


def test_shape_arithmetic_is_followed():
    x = tf.placeholder(tf.float32, [None, 3, 4])
    flat = tf.reshape(x, [-1, tf.reduce_prod(tf.shape(x)[1:])])
    assert flat.shape.as_list() == [None, 12]
    doubled = tf.zeros(tf.shape(x) * [2, 2, 1] + [0, 1, 0])
    assert doubled.shape.as_list() == [None, 7, 4]
    halved = tf.zeros([tf.shape(x)[1] // 2, tf.maximum(tf.shape(x)[2], 10), tf.shape(x)[0] - 1])
    assert halved.shape.as_list() == [1, 10, None]
    assert tf.zeros(tf.cast(tf.cast(tf.shape(x), tf.int64), tf.int32)).shape.as_list() == [None, 3, 4]


def test_count_and_confusion():
    assert run(tf.count_nonzero([[0, 1], [2, 0]], axis=1)).tolist() == [1, 1]
    assert run(tf.count_nonzero(["", "a"])) == 1
    assert run(tf.count_nonzero([0.0, 2.0], dtype=tf.int32)).dtype == np.int32
    assert run(tf.confusion_matrix([[0], [1]], [1, 1])).tolist() == [[0, 1], [0, 1]]
    assert run(tf.bincount(tf.zeros([0], tf.int32))).tolist() == []


def test_following_values_is_not_exponential():
    size = tf.placeholder(tf.int32, [])
    for _ in range(40):  # each step uses the one before twice
        size = (size + size % 2) // 2
    assert tf.zeros([size, 3]).shape.as_list() == [None, 3]
    count = tf.constant(0)
    for _ in range(1500):
        count = count + size
    assert tf.zeros([count, 3]).shape.as_list() == [None, 3]


def test_a_mean_of_integers_does_not_overflow(session):
    for dtype, value in ((tf.int8, 100), (tf.uint8, 200), (tf.int16, 30000), (tf.int32, 2**31 - 1)):
        x = tf.placeholder_with_default(tf.constant([[value, value], [value, value]], dtype), [2, 2])
        for mean in session.run([tf.reduce_mean(x, 0), tf.reduce_mean(x, 1)]):
            assert mean.dtype == dtype.as_numpy_dtype
            assert mean.tolist() == [value, value]
    assert session.run(tf.reduce_mean(tf.constant([-1, -2]))) == -1  # towards zero


def test_gradient_of_top_k_goes_where_the_values_came_from(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    values, _ = tf.nn.top_k(x, 2)
    first = tf.gradients(values * values * [1.0, 2.0], x)[0]
    second = tf.gradients(first, x)[0]
    found = session.run([first, second], {x: [[1.0, 5.0, 3.0, 2.0], [4.0, 0.0, -1.0, 6.0]]})
    assert session.run(first, {x: np.zeros((0, 4))}).shape == (0, 4)
    assert found[0].tolist() == [[0, 10, 12, 0], [16, 0, 0, 12]]
    assert found[1].tolist() == [[0, 2, 4, 0], [4, 0, 0, 2]]


@pytest.mark.parametrize("off", ["", "arrays"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.int32])
@pytest.mark.parametrize(
    "function", [tf.segment_sum, tf.segment_mean, tf.segment_max, tf.segment_prod, tf.sparse_segment_sum]
)
def test_sorted_segments_refuse_other_orders(function, dtype, off, monkeypatch):
    monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
    x = tf.placeholder(dtype, [3, 2])
    ids = tf.placeholder(tf.int32, [3])
    result = function(x, [0, 1, 2], ids) if function is tf.sparse_segment_sum else function(x, ids)
    with tf.Session() as session:
        found = session.run(result, {x: np.ones([3, 2]), ids: [0, 2, 2]})
        assert found[1].tolist() == [function is tf.segment_prod] * 2
        for wrong in ([1, 0, 1], [-1, 0, 0]):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="segment ids are not increasing|Segment id -1 out of range"
            ):
                session.run(result, {x: np.ones([3, 2]), ids: wrong})


def test_segments_of_chosen_rows_refuse_wrong_rows(session):
    x = tf.ones([5000, 8])
    rows, ids = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    result = tf.sparse_segment_mean(x, rows, ids, num_segments=3)
    for count in (2, 4000):  # few rows, many rows
        found = session.run(result, {rows: np.arange(count), ids: np.full(count, 1)})
        assert found.tolist() == [[0.0] * 8, [1.0] * 8, [0.0] * 8]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(result, {rows: np.full(count, 5000), ids: np.full(count, 1)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="segment ids must be < num_segments, got 3"):
            session.run(result, {rows: np.arange(count), ids: np.full(count, 3)})


def test_many_rows_are_summed_as_few():
    values, ids = np.random.RandomState(1).rand(4000, 8), np.sort(np.random.RandomState(2).randint(0, 90, 4000))
    expected = np.zeros([ids[-1] + 1, 8])
    np.add.at(expected, ids, values)
    count = np.maximum(np.bincount(ids), 1)[:, None]
    for dtype in (np.float32, np.float64):
        x = values.astype(dtype)
        np.testing.assert_allclose(run(tf.segment_sum(x, ids)), expected, rtol=1e-4)
        np.testing.assert_allclose(run(tf.segment_mean(x, ids)), expected / count, rtol=1e-4)


def test_bincount_leaves_out_large_values_and_refuses_negative_ones():
    assert run(tf.bincount([1, 1, 9], minlength=3, maxlength=3)).tolist() == [0, 2, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be non-negative, got -3"):
        run(tf.bincount([1, -3], minlength=3, maxlength=3))
