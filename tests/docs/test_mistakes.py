"""Plausible mistakes: each fails immediately, with TF1's class, says what was wrong, and names the user's line.

``P(shape)`` is a placeholder, ``run(fetch, feeds)`` a run in a session of its own after initialisation.
"""

import numpy as np
import pytest

import headrace as tf

RUNS = tf.errors.InvalidArgumentError
BUILDING = [
    ("tf.zeros([2, 3]) + tf.zeros([2])", ValueError, "are 3 and 2"),
    ("tf.matmul(tf.zeros([3]), tf.zeros([3, 2]))", ValueError, "rank 2 but is rank 1"),
    ("tf.concat(1, [tf.zeros([2]), tf.zeros([2])])", TypeError, "values first"),
    ("tf.concat([tf.zeros([2, 3]), tf.zeros([3, 3])], 1)", ValueError, "are 2 and 3"),
    ("tf.stack([tf.zeros([2]), tf.zeros([3])])", ValueError, "must be equal"),
    ("tf.split(tf.zeros([5, 3]), 2)", ValueError, "evenly divisible by 2 but is 5"),
    ("tf.transpose(tf.zeros([2, 3]), [0, 1, 2])", ValueError, "perm"),
    ("tf.reduce_mean(tf.zeros([2, 3]), axis=2)", ValueError, "dimension 2"),
    ("tf.zeros([5])[7]", ValueError, "slice index 7 of dimension 0 out of bounds"),
    ("tf.zeros([5])[1.0]", TypeError, "Only integers"),
    ("tf.zeros([5])[..., ...]", ValueError, "Multiple ellipses"),
    ("tf.nn.conv2d(tf.zeros([1, 8, 8, 3]), tf.zeros([3, 3, 1, 4]), [1, 1, 1, 1], 'SAME')", ValueError, "groups (3)"),
    ("tf.nn.conv2d(tf.zeros([1, 8, 8, 3]), tf.zeros([3, 3, 3, 4]), [1, 1, 1, 1], 'same')", ValueError, "SAME"),
    ("tf.nn.softmax_cross_entropy_with_logits(tf.zeros([5, 3]), tf.zeros([5, 3]))", ValueError, "named arguments"),
    ("tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.zeros([5, 3], tf.int32), logits=tf.zeros([5, 3]))",
     ValueError, "one-hot"),
    ("tf.nn.dropout(tf.zeros([3]), rate=1.5)", ValueError, "got 1.5"),
    ("tf.nn.embedding_lookup(tf.zeros([3, 2]), [1.0])", TypeError, "float32 not in list"),
    ("tf.one_hot([1.0], 3)", TypeError, "float32 not in list"),
    ("tf.layers.dense(P([None, None]), 10)", ValueError, "last dimension"),
    ("tf.layers.conv2d(tf.zeros([8, 8, 3]), 4, 3)", ValueError, "expected ndim=4, found ndim=3"),
    ("tf.constant([1, 2, 3]) + tf.constant(1.5)", TypeError, "float32 that does not match type int32"),
    ("1.5 + tf.constant([1, 2, 3])", TypeError, "Expected int32, got 1.5"),
    ("tf.constant(1.0) + None", ValueError, "None values"),
    ("tf.constant([1, 2, 3], shape=[2])", ValueError, "at most 2, but received 3"),
    ("tf.placeholder([None, 3])", TypeError, "[None, 3]"),
    ("tf.cast(['1'], tf.float32)", TypeError, "string not in list"),
    ("tf.equal(tf.argmax([1, 2]), tf.constant(1))", TypeError, "int32 that does not match type int64"),
    ("P([None, 3]).set_shape([2, 4])", ValueError, "cannot be refined"),
    ("len(tf.zeros([2]))", TypeError, "x.shape"),
    ("np.mean(tf.zeros([2]))", NotImplementedError, "Session.run"),
    ("tf.zeros([2])[0] = 1.0", TypeError, "tf.Variable"),
    ("tf.Variable(P(None))", ValueError, "shape specified"),
    ("tf.Variable([1.0, 2.0]).assign([1.0])", ValueError, "Shapes are [2] and [1]"),
    ("tf.assign(tf.zeros([3]), tf.ones([3]))", TypeError, "mutable tensor"),
    ("tf.get_variable('w')", ValueError, "must be fully defined"),
    ("tf.get_variable('w', [2], initializer=tf.zeros([2]))", ValueError, "do not specify shape"),
    ("with tf.control_dependencies([1.0]): pass", TypeError, "got 1.0"),
    ("with tf.device('/gpu;0'): pass", ValueError, "gpu;0"),
    ("tf.constant(1.0, name='a b')", ValueError, "'a b'"),
    ("tf.cond(1.0, lambda: 1, lambda: 2)", TypeError, "bool tensor"),
    ("tf.cond(tf.constant(True), tf.constant(1), tf.constant(2))", TypeError, "must be callable"),
    ("tf.while_loop(lambda i: i, lambda i: i + 1, [tf.constant(0)])", TypeError, "scalar bool"),
    ("tf.gradients(None, tf.constant(1.0))", TypeError, "ys=None"),
    ("GD.minimize(tf.constant(1.0))", ValueError, "No variables to optimize"),
    ("v = tf.Variable(1.0); GD.minimize(3.0)", TypeError, "got 3.0"),
    ("v = tf.Variable(1); GD.minimize(v * 2)", ValueError, "tf.int32"),
    ("GD.apply_gradients([])", ValueError, "No variables provided"),
    ("GD.apply_gradients([(tf.constant(1.0), tf.constant(1.0))])", NotImplementedError, "only variables"),
    ("GD.apply_gradients([tf.constant(1.0)])", TypeError, "pairs"),
    ("tf.constant(1.0).eval()", ValueError, "No default session"),
    ("tf.Session(config={'allow_soft_placement': True})", TypeError, "got dict"),
    ("tf.Session('localhost:2222')", tf.errors.NotFoundError, "'grpc://host:port'"),
]  # fmt: skip
RUNNING = [
    ("x = P([None]); run(x, {'x': 1.0})", TypeError, "Cannot interpret feed_dict key"),
    ("x = P([None]); run(x, [1.0])", TypeError, "must be a dictionary"),
    ("x = P([None, None]); run(x, {x: [[1, 2], [3]]})", ValueError, "different lengths"),
    ("x = P([None]); run(x, {x: 'abc'})", ValueError, "abc"),
    ("x = P([None]); run(x, {x: tf.constant([1.0])})", TypeError, "cannot be a tf.Tensor"),
    ("x = P([None]); run(x, {(x, x): (1.0,)})", ValueError, "a tuple of 2"),
    ("x = P([2]); run(None)", TypeError, "NoneType"),
    ("x = P([2]); run([3.0])", TypeError, "invalid type float"),
    ("x = P([2]); run('y:0')", ValueError, "'y:0'"),
    ("x = P([2]); tf.Session().make_callable(x, [x])()", RUNS, "takes 1 values to feed, got 0"),
    ("x = P(None); run(x + tf.ones([2, 3]), {x: [1, 2]})", RUNS, "x:0 float32[2]"),
    ("x = P(None); run(tf.reshape(x, [4, 2]), {x: [1, 2]})", RUNS, "x:0 float32[2]"),
    ("x = P(None); run(tf.concat([x, [[1.0]]], 1), {x: [[1], [2]]})", RUNS, "x:0 float32[2, 1]"),
    ("x = P([None]); run(tf.nn.top_k(x, 5), {x: [1, 2]})", RUNS, "Had 2, needed 5"),
    ("x = P([]); run(tf.fill([tf.cast(x, tf.int32)], 1.0), {x: -2})", RUNS, "[-2]"),
    ("x = P([None]); run(tf.cast(x, tf.int32) // 0, {x: [1]})", RUNS, "Integer division by zero"),
    ("x = P(None); run(tf.Variable([1.0, 2.0]).assign(x), {x: [1.0]})", RUNS, "lhs shape= [2] rhs shape= [1]"),
    ("x = P(None); bare(tf.Variable([1.0, 2.0]).assign(x), {x: [1.0]})", RUNS, "lhs shape= [2] rhs shape= [1]"),
    ("run(tf.scatter_update(tf.Variable([1.0]), [5], [1.0]))", RUNS, "indices[0] = 5 is not in [0, 1)"),
    ("run(tf.py_func(lambda: 1 / 0, [], tf.float32))", tf.errors.UnknownError, "ZeroDivisionError"),
    ("run(tf.Assert(False, ['bad', 3]))", RUNS, "[bad] [3]"),
    ("bare(tf.Variable(1.0, name='w') * 2.0)", tf.errors.FailedPreconditionError, "tf.global_variables_initializer()"),
    ("bare(tf.metrics.mean([1.0])[1])", tf.errors.FailedPreconditionError, "tf.local_variables_initializer()"),
]


RUN = """
def bare(fetch, feeds=None):
    with tf.Session() as sess:
        sess.run(fetch, feeds)

def run(fetch, feeds=None):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        sess.run(fetch, feeds)

"""


@pytest.mark.parametrize(
    ("program", "error", "part"), BUILDING + RUNNING, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_mistake(program: str, error: type[Exception], part: str) -> None:
    names = {
        "tf": tf,
        "np": np,
        "P": lambda shape: tf.placeholder(tf.float32, shape, name="x"),
        "GD": tf.train.GradientDescentOptimizer(0.1),
    }
    with tf.device("/cpu:0"), pytest.raises(error) as caught:
        exec(compile(RUN + program, "mistake.py", "exec"), names)
    message = str(caught.value)
    assert part in message
    assert "mistake.py:" in message
    assert "headrace/" not in message.partition("Traceback")[0]
