"""Arguments in the forms programs give them: arrays and lists for tensors, whole numbers for floats, every float type."""

import numpy as np
import pytest
from running import run

import headrace as tf

FLOATS = (tf.float16, tf.bfloat16, tf.float32, tf.float64)
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.mark.parametrize(
    "params", [ROWS, [ROWS], ROWS.tolist()[:1], [ROWS.tolist()]], ids=["array", "arrays", "row", "rows"]
)
def test_embedding_lookup_takes_arrays_and_lists(params):
    want = [4.0, 5.0] if np.ndim(params) > 1 and np.shape(params)[-2:] == (3, 2) else 1.0
    np.testing.assert_array_equal(run(tf.nn.embedding_lookup(params, 2 if np.ndim(want) else 1)), want)


def test_embedding_lookup_takes_shards_as_arrays():
    shards = [ROWS, ROWS + 10]  # row i is row i // 2 of shard i % 2
    np.testing.assert_array_equal(run(tf.nn.embedding_lookup(shards, [3, 4])), [[12, 13], [4, 5]])


def test_embedding_lookup_takes_a_tuple_for_a_tensor():
    found = run(tf.nn.embedding_lookup((tf.constant(ROWS), tf.constant(ROWS + 10)), [1]))
    np.testing.assert_array_equal(found, [ROWS + 10])


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
@pytest.mark.parametrize("how", ["keep_prob", "rate"])
def test_dropout_in_every_float_type(dtype, how):
    x = tf.ones([1000], dtype)
    share = tf.placeholder_with_default(tf.cast(0.5, dtype), [])
    for given in (share, 0.5):
        y = tf.nn.dropout(x, **{how: given}, seed=1)
        assert y.dtype == dtype
        values = run(y)
        assert set(values.tolist()) == {0.0, 2.0}
        assert 400 < np.count_nonzero(values) < 600


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
@pytest.mark.parametrize("weight", [3, 3.0, np.float64(3), "tensor"])
def test_weighted_cross_entropy_in_every_float_type(dtype, weight):
    weight = tf.constant(3.0, dtype) if weight == "tensor" else weight
    labels, logits = tf.constant([0.0, 1.0], dtype), tf.constant([1.0, -2.0], dtype)
    loss = tf.nn.weighted_cross_entropy_with_logits(targets=labels, logits=logits, pos_weight=weight)
    assert loss.dtype == dtype
    np.testing.assert_allclose(run(tf.cast(loss, tf.float64)), [1.3132617, 6.3807842], rtol=1e-2)


def test_in_top_k_of_rows_that_are_not_finite():
    predictions = [[0.1, 0.9], [np.nan, 0.2], [np.inf, 1.0], [0.1, 0.9]]
    assert run(tf.nn.in_top_k(predictions, [1, 1, 0, 5], 2)).tolist() == [True, False, False, False]


@pytest.mark.parametrize("values, message", [([2, 2, 1], "2 is duplicated"), ([2, 5, 1], "5 is not between 0 and 3")])
def test_what_is_no_permutation_is_refused(values, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(tf.invert_permutation(tf.placeholder_with_default(values, [3])))


@pytest.mark.parametrize("weights", [None, [1.0, 2.0]])
def test_negative_numbers_are_not_counted(weights):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be non-negative, got -1"):
        run(tf.bincount(tf.placeholder_with_default([2, -1], [2]), weights))


@pytest.mark.parametrize("values", [[[1.0, 2.0], [3.0, 4.0]], [["a", "b"], ["c", "d"]]], ids=["floats", "strings"])
@pytest.mark.parametrize("condition, other", [([True], [0, 1]), ([True, False], [0]), ([[True, False]], [0, 1])])
def test_where_does_not_broadcast(session, values, condition, other):
    """Sizes that come only when the step runs; a vector chooses among rows."""
    t = tf.constant(values)
    given, e = tf.placeholder(tf.bool, [None] * np.ndim(condition)), tf.placeholder(t.dtype, [None, None])
    with pytest.raises(tf.errors.InvalidArgumentError, match="same shape.*condition .* t .* e "):
        session.run(tf.where(given, t, e), {given: condition, e: [values[i] for i in other]})
    rows = tf.placeholder(tf.bool, [None])
    chosen = session.run(tf.where(rows, t, e), {rows: [True, False], e: values[::-1]})
    assert chosen.tolist() == session.run(tf.gather(t, [0, 0])).tolist()


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("picture", [-1, 1])
def test_boxes_of_images_that_are_not_there(method, picture):
    crops = tf.image.crop_and_resize(tf.ones([1, 4, 4, 1]), [[0.0, 0.0, 1.0, 1.0]], [picture], [2, 2], method=method)
    with pytest.raises(tf.errors.OutOfRangeError, match=rf"outside \[0, batch_size\): \[{picture}\]"):
        run(crops)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: tf.zeros([None, 2]), TypeError, r"partially known TensorShape \(\?, 2\)"),
        (lambda: tf.ones(tf.TensorShape([None, 2])), ValueError, "partially known"),
        (lambda: tf.split(1, 2, [[1, 2, 3, 4]]), ValueError, r"tf.split\(value, number, axis\)"),
        (lambda: tf.image.resize_images(tf.ones([1, 2, 2, 1]), [2.5, 3.0]), ValueError, "'size' must be a 1-D int32"),
        (
            lambda: tf.parse_single_example(b"", {"a": tf.FixedLenFeature([], tf.int32)}),
            TypeError,
            "Unsupported type int32 for feature a; accepted: float32, int64, string",
        ),
    ],
)
def test_mistakes(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
