"""Gradients of several steps taken together: dense and sparse accumulators, late gradients, what is refused."""

import numpy as np
import tensorflow as tf

SHORT = tf.RunOptions(timeout_in_ms=200)


def attempt(label, session, fetches, feed=None):
    """Prints what a run gives, or the class of what it raises."""
    try:
        print(label, session.run(fetches, feed, options=SHORT))
    except (tf.errors.OpError, ValueError, TypeError) as error:
        print(label, type(error).__name__)


def build(label, make):
    try:
        print(label, make())
    except (tf.errors.OpError, ValueError, TypeError) as error:
        print(label, type(error).__name__)


def dense(session):
    gradients = tf.ConditionalAccumulator(tf.float32, shape=[2], name="gradients")
    with tf.name_scope("outer"):
        inner = tf.ConditionalAccumulator(tf.float64, name="inner")
    print(gradients.name, inner.name, inner.accumulator_ref.name, gradients.dtype, inner.dtype)
    x = tf.placeholder(tf.float32, [2])
    step = tf.placeholder(tf.int64, [])
    apply, take, count = gradients.apply_grad(x, step), gradients.take_grad(2), gradients.num_accumulated()
    print(apply.name, take.name, take.shape, count.name, count.dtype, inner.take_grad(1).shape)
    for value in ([1.0, 2.0], [3.0, 5.0], [5.0, 5.0]):
        session.run(apply, {x: value, step: 0})
    print(session.run(count), session.run(take), session.run(count))
    attempt("late", session, apply, {x: [1.0, 1.0], step: 0})
    print(session.run(count))
    session.run(apply, {x: [1.0, 1.0], step: 1})
    session.run(apply, {x: [2.0, 2.0], step: 5})
    print(session.run(take))
    session.run(gradients.set_global_step(tf.constant(9, tf.int32)))
    for number in (8, 9, 10):
        session.run(apply, {x: [1.0, 1.0], step: number})
    print(session.run(count))
    attempt("too few", session, gradients.take_grad(3))
    print(session.run([gradients.take_grad(3), gradients.apply_grad([4.0, 4.0], 99)])[0])


def refused(session):
    x = tf.placeholder(tf.float32)
    fixed, free = tf.ConditionalAccumulator(tf.float32, shape=[3]), tf.ConditionalAccumulator(tf.float32)
    attempt("shape", session, fixed.apply_grad(x), {x: [1.0]})
    session.run(free.apply_grad(x, 9), {x: [1.0]})
    attempt("other shape", session, free.apply_grad(x, 9), {x: [[1.0]]})
    session.run(free.take_grad(1))
    attempt("other shape after", session, free.apply_grad(x, 9), {x: [[1.0]]})
    for number in (0, -1):
        attempt("required %d" % number, session, free.take_grad(number))
    build("known shape", lambda: fixed.apply_grad([1.0, 2.0]))
    build("dtype", lambda: fixed.apply_grad(tf.constant([1, 2, 3])))
    build("required float", lambda: fixed.take_grad(1.5))
    build("required vector", lambda: fixed.take_grad([1]))
    build("step vector", lambda: fixed.apply_grad([1.0, 1.0, 1.0], local_step=[0]))
    build("new step vector", lambda: fixed.set_global_step([0]))
    build("reduction", lambda: tf.ConditionalAccumulator(tf.float32, reduction_type="MAX"))
    build("string", lambda: tf.ConditionalAccumulator(tf.string))
    attempt("int32", session, tf.ConditionalAccumulator(tf.int32).apply_grad(1))


def sparse(session):
    rows = tf.SparseConditionalAccumulator(tf.float32, shape=[4, 2], name="rows")
    take, count = rows.take_grad(2), rows.num_accumulated()
    print(rows.name, rows.dtype, take.indices.name, take.values.name, take.shape.dtype, count.name)
    session.run(rows.apply_grad([0, 2], [[1.0, 2.0], [3.0, 4.0]]))
    session.run(rows.apply_grad([2], [[1.0, 1.0]], [4, 2]))
    slices = tf.IndexedSlices(tf.constant([[8.0, 8.0]]), tf.constant([3]), tf.constant([4, 2]))
    session.run(rows.apply_indexed_slices_grad(slices))
    print(session.run(count), session.run(take))
    session.run(rows.apply_indexed_slices_grad(slices, local_step=0))
    print(session.run(count))
    session.run(rows.apply_indexed_slices_grad(slices, local_step=1))
    print(session.run(rows.take_indexed_slices_grad(1)))
    session.run(rows.set_global_step(0))
    for arguments in (
        ([5], [[1.0, 2.0]]), ([1], [[1.0, 2.0, 3.0]]), ([1], [[1.0, 2.0]], [3, 2]), ([1], [[1.0, 2.0]], [4]),
        ([1, 2], [[1.0, 2.0]]), ([[1]], [[1.0, 2.0]]), (1, [[1.0, 2.0]]), ([1], 1.0),
    ):  # fmt: skip
        attempt(str(arguments), session, rows.apply_grad(*arguments))
    session.run(rows.apply_grad(np.zeros([0], np.int64), np.zeros([0, 2], np.float32)))
    print(session.run(rows.take_grad(1)))
    free = tf.SparseConditionalAccumulator(tf.float64, reduction_type="SUM")
    for indices in ([1, 7], [7, 9]):
        session.run(free.apply_grad(indices, tf.constant([1.5, 2.5], tf.float64)))
    print(session.run(free.take_grad(2)))
    attempt("too few", session, free.take_grad(1))
    attempt("required 0", session, free.take_grad(0))


def train(session):
    """Four small batches train as one large batch does."""
    inputs = np.linspace(-1.0, 1.0, 24).reshape(12, 2).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, 2])
    w = tf.get_variable("w", initializer=np.array([[0.5], [-0.25]], np.float32))
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 0.5))
    (gradient,) = tf.gradients(loss, [w])
    gradients = tf.ConditionalAccumulator(tf.float32, [2, 1])
    apply = gradients.apply_grad(gradient, local_step=step)
    update = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(gradients.take_grad(4), w)], step)
    session.run(tf.global_variables_initializer())
    for _ in range(5):
        for batch in np.split(inputs, 4):
            session.run(apply, {x: batch})
        session.run(update)
        print("%.5f" % session.run(loss, {x: inputs}), session.run(step))


def main(_):
    for part in (dense, refused, sparse, train):
        with tf.Graph().as_default(), tf.Session() as session:
            part(session)


if __name__ == "__main__":
    tf.app.run()
