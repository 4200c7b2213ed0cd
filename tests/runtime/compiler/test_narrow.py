"""Errors in compiled code name the node and the user's line, as interpreted ones do."""

import numpy as np
import pytest
from runtime.compiler.failing_checks import caught

import headrace as tf

ALWAYS = tf.ConfigProto(compile="always", device_count={"GPU": 0})


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tf.device("/cpu:0"):
        yield


@caught
def test_an_index_out_of_range() -> None:
    table = tf.get_variable("table", [10, 4])
    rows = tf.placeholder(tf.int32, [None], name="rows")
    y = tf.reduce_sum(tf.exp(tf.gather(table, rows, name="pick") * 2.0) + 1.0)
    with tf.Session(config=ALWAYS) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(y, {rows: [1, 2]})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 12 is not in \[0, 10\)") as caught:
            sess.run(y, {rows: [1, 12]})
    assert caught.value.op.name == "pick"
    assert "rows:0 int32[2]" in caught.value.message
    assert caught.value.message.count("test_narrow.py:") == 2  # where it was made, where it was run


@caught
def test_a_failed_training_step_changes_nothing() -> None:
    w = tf.Variable(np.ones((4, 3), np.float32), name="w")
    x = tf.placeholder(tf.float32, [2, 4])
    labels = tf.placeholder(tf.int32, [2])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(x, w)))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session(config=ALWAYS) as sess:
        sess.run(w.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Received a label value of 3"):
            sess.run(train, {x: np.ones((2, 4)), labels: [0, 3]})
        np.testing.assert_array_equal(sess.run(w), np.ones((4, 3)))


@caught
def test_a_bad_index_among_many_on_two_threads_does_not_end_the_process() -> None:
    """A C++ exception that leaves a loop of several threads would."""
    table = tf.Variable(np.ones((1000, 64), np.float32))
    rows = tf.placeholder(tf.int32, [None])
    y = tf.reduce_sum(tf.exp(tf.gather(table, rows, name="pick") * 2.0) + 1.0, 1)
    fed = np.zeros(40_000, np.int32)
    config = tf.ConfigProto(compile="always", intra_op_parallelism_threads=2, device_count={"GPU": 0})
    with tf.Session(config=config) as sess:
        sess.run(table.initializer)
        assert sess.run(y, {rows: fed}).shape == (40_000,)
        fed[12_345] = 5000
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[12345\] = 5000 is not in \[0, 1000\)"):
            sess.run(y, {rows: fed})


def test_an_uninitialised_variable() -> None:
    v = tf.Variable(tf.zeros([3, 3]), name="v")
    y = tf.exp(tf.matmul(v, v)) + 1.0
    with (
        tf.Session(config=ALWAYS) as sess,
        pytest.raises(tf.errors.FailedPreconditionError, match="value v: ") as caught,
    ):
        sess.run(y)
    assert "[[node v/read (Identity) made at" in caught.value.message


def test_feeds_that_cannot_be_specialised_are_explained_by_the_interpreted_run() -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.exp(tf.matmul(x, tf.ones([4, 2]), name="product") * 2.0 + 1.0)
    with tf.Session(config=ALWAYS) as sess:
        sess.run(y, {x: np.ones((2, 4))})
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="product") as caught:
                sess.run(y, {x: np.ones((2, 3))})
            assert "x:0 float32[2, 3]" in caught.value.message
        sess.run(y, {x: np.ones((2, 4))})


@caught
@pytest.mark.parametrize("index", [-1, 3])
@pytest.mark.parametrize("change", [tf.scatter_update, tf.scatter_nd_add])
def test_an_update_out_of_range_names_its_node_and_changes_nothing(change, index) -> None:
    v = tf.Variable(np.zeros((3, 2), np.float32))
    rows = tf.placeholder(tf.int32, [1] if change is tf.scatter_update else [1, 1])
    y = tf.reduce_sum(tf.exp(change(v, rows, tf.ones([1, 2]), name="put")) * 2.0 + 1.0)
    with tf.Session(config=ALWAYS) as sess:
        sess.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"indices\[0\] = .*{index}.*not in") as caught:
            sess.run(y, {rows: np.full(rows.shape.as_list(), index)})
        np.testing.assert_array_equal(sess.run(v), np.zeros((3, 2)))
    assert caught.value.op.name == "put"


@caught
@pytest.mark.parametrize("gather", [tf.gather, lambda table, rows, name: tf.gather_nd(table, rows[:, None], name=name)])
def test_a_negative_index_is_no_index_from_the_end(gather) -> None:
    table = tf.Variable(np.ones((3, 2), np.float32))
    rows = tf.placeholder(tf.int32, [None])
    y = tf.exp(gather(table, rows, name="pick") * 2.0) + 1.0
    with tf.Session(config=ALWAYS) as sess:
        sess.run(table.initializer)
        assert sess.run(y, {rows: [0, 2]}).shape == (2, 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="-1") as caught:
            sess.run(y, {rows: [0, -1]})
    assert caught.value.op.name == "pick"


@pytest.mark.parametrize("divide", [tf.floordiv, tf.truncatediv, tf.floormod, tf.truncatemod, tf.div])
def test_integers_divided_by_zero(divide) -> None:
    x = tf.placeholder(tf.int32, [None])
    y = divide(x * 2 + 1, x) * 3 - x
    with tf.Session(config=ALWAYS) as sess, tf.Session(config=tf.ConfigProto(compile="off")) as plain:
        np.testing.assert_array_equal(sess.run(y, {x: [1, -2, 3]}), plain.run(y, {x: [1, -2, 3]}))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
            sess.run(y, {x: [1, 0, 3]})


def test_a_variable_given_another_shape() -> None:
    v = tf.Variable(np.ones((3, 3), np.float32))
    new = tf.placeholder(tf.float32)
    reshape = tf.assign(v, new, validate_shape=False)
    y = tf.reduce_sum(tf.exp(v) * 2.0 + 1.0)
    step = v.assign_sub(tf.exp(v.read_value() * 0.5) * v.read_value())
    results = []
    for mode in ("off", "always"):
        with tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
            sess.run(v.initializer)
            found = [sess.run(y), sess.run(step.op)]
            sess.run(reshape.op, {new: [[0.5, 2.0]]})
            found += [sess.run(y), sess.run(step.op), sess.run(v)]
            sess.run(reshape.op, {new: np.ones((3, 3))})
            results.append([*found, sess.run(y)])
    for plain, compiled in zip(*results, strict=True):
        assert plain is compiled is None or np.shape(plain) == np.shape(compiled)
        if plain is not None:
            np.testing.assert_allclose(plain, compiled, rtol=1e-5)
