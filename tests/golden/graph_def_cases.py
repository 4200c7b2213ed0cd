"""Programs whose GraphDef TensorFlow wrote and ran; each builds nodes and names what to fetch, feed and run first."""

from __future__ import annotations

from typing import Any

import numpy as np

CASES: dict[str, Any] = {}
FEED = np.array([[0.5, -1.0], [2.0, 0.25], [1.0, 3.0]], np.float32)
OTHER = -FEED


def case(f: Any) -> Any:
    CASES[f.__name__] = f
    return f


def named(tf: Any, **tensors: Any) -> list[str]:
    return [tf.identity(t, name=f"result_{k}").op.name for k, t in tensors.items()]


@case
def perceptron(tf, x):
    w = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="w", use_resource=False)
    b = tf.get_variable("b", [3], initializer=tf.zeros_initializer(), use_resource=False)
    y = tf.nn.softmax(tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b)))
    loss = tf.reduce_mean(tf.square(y - 0.5))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    before = named(tf, y=y)
    with tf.control_dependencies([train]):
        return before + named(tf, w=w.read_value())


@case
def resource_variables(tf, x):
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w", use_resource=True)
    n = tf.Variable(3, name="n", use_resource=True, dtype=tf.int32)
    y = tf.matmul(x, w)
    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(y * y))
    before = named(tf, y=y)
    with tf.control_dependencies([n.assign_add(2)]):
        counted = named(tf, n=n.read_value())
    with tf.control_dependencies([train]):
        return before + counted + named(tf, w=w.read_value(), rows=tf.gather(w, [1, 0]))


@case
def control_flow_primitives(tf, x):
    s = tf.reduce_sum(x)
    picked = tf.cond(s > 0, lambda: tf.sqrt(s), lambda: s * s)
    i, total = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t + s), (0, 0.0))
    return named(tf, picked=picked, i=i, total=total)


@case
def control_flow_functions(tf, x):
    switch = hasattr(tf, "enable_control_flow_v2")  # of TensorFlow: Headrace has one kind only
    if switch:
        tf.enable_control_flow_v2()
    try:
        v = tf.Variable(1.0, name="v", use_resource=True)
        s = tf.reduce_sum(x)

        def nested(t):
            return tf.cond(t > 1.5, lambda: t * 0.5, lambda: t + s)

        picked = tf.cond(s > 0, lambda: v.assign_add(s), lambda: v.assign_sub(1.0))
        with tf.control_dependencies([picked]):
            i, total, _ = tf.while_loop(lambda i, t, u: i < 6, lambda i, t, u: (i + 1, nested(t) * v, u), (0, 0.5, s))
        case = tf.switch_case(tf.cast(i, tf.int32) - 5, [lambda: s, lambda: s + 1, lambda: s + 2])
        return named(tf, picked=picked, i=i, total=total, case=case)
    finally:
        if switch:
            tf.disable_control_flow_v2()


@case
def arrays_in_primitives(tf, x):
    scanned = tf.scan(lambda a, row: a * 0.5 + row, x)
    return named(tf, scanned=scanned, mapped=tf.map_fn(tf.reduce_sum, x))


@case
def functions(tf, x):
    v = tf.Variable([2.0, 3.0], name="v", use_resource=True)

    @tf.function(autograph=False)
    def inner(a):
        return a * v, tf.reduce_sum(a)

    @tf.function(autograph=False)
    def outer(a, k):
        b, c = inner(a)
        v.assign_add([1.0, 1.0])
        return inner(b)[0] * k + c

    y = outer(x, tf.constant(2.0))
    return named(tf, y=y, first=tf.gradients(tf.reduce_sum(tf.sin(inner(x)[0])), x)[0])


@case
def convolution(tf, x):
    image = tf.reshape(tf.tile(x, [4, 3]), [1, 12, 6, 1])
    kernel = tf.constant(np.linspace(-1, 1, 3 * 3 * 1 * 4).reshape(3, 3, 1, 4), tf.float32)
    y = tf.nn.conv2d(image, kernel, strides=[1, 2, 2, 1], padding="SAME")
    y = tf.nn.max_pool(tf.nn.elu(y), [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    moments = tf.nn.moments(y, [0, 1, 2])
    return named(tf, y=y, mean=moments[0], variance=moments[1])


@case
def arrays(tf, x):
    parts = tf.split(x, [1, 2])
    joined = tf.concat([parts[1], parts[0]], 0)[:, ::-1]
    text = tf.string_join([tf.as_string(tf.cast(x * 4, tf.int32)), "é"], separator="/")
    top = tf.nn.top_k(x, 1)
    one_hot = tf.one_hot(tf.argmax(x, 1), 3, dtype=tf.int64)
    where = tf.where(x > 0, x, tf.zeros_like(x))
    return named(
        tf, joined=joined, text=text, values=top.values, one_hot=one_hot, where=where,
        product=tf.einsum("ij,kj->ik", x, x), cumulative=tf.cumsum(x, axis=1, reverse=True),
    )  # fmt: skip


def build(tf: Any, name: str) -> tuple[Any, list[str], list[str]]:
    """The graph, what to fetch, what initialises its variables."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        fetches = CASES[name](tf, x)
        return graph, fetches, [v.initializer.name for v in tf.global_variables()]
