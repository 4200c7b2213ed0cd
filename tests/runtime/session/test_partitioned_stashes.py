"""What the gradient of a loop or conditional over several devices keeps of the forward run stays on the device that made it."""

import numpy as np
import pytest

import headrace as tf
from headrace.resources.stepping.rendezvous import Rendezvous

SIZE, COUNT = 1000, 5
ONE = tf.ConfigProto(compile="off", allow_soft_placement=True)
TWO = tf.ConfigProto(device_count={"CPU": 2}, compile="off")


def on(device, function, *arguments):
    with tf.device(device):
        return function(*arguments)


@pytest.fixture
def large(monkeypatch):
    """How many vectors of SIZE elements were sent in each direction: {"CPU:0>CPU:1": 5}."""
    counts = {}
    send = Rendezvous.send

    def counted(table, step, key, message):
        many = sum(np.prod(np.shape(value)) == SIZE for value in message)
        if many:
            route = ">".join(name[-5:] for name in key.split(" ")[0].split(">"))
            counts[route] = counts.get(route, 0) + many
        send(table, step, key, message)

    monkeypatch.setattr(Rendezvous, "send", counted)
    return counts


def heavy(x):
    """Three values that the gradient needs again."""
    return tf.tanh(tf.exp(tf.sin(x) * 0.3))


def loop(x):
    """The first device goes on by itself; the second computes with what it gets."""

    def body(i, a, total):
        b = on("/cpu:0", heavy, a)
        return i + 1, b, on("/cpu:1", lambda: total + tf.reduce_sum(heavy(b)))

    return tf.while_loop(lambda i, *_: i < COUNT, body, [0, x, tf.zeros([], tf.float64)])[2]


def nested(x):
    """The second device runs a loop inside the loop."""

    def body(i, a, total):
        b = on("/cpu:0", heavy, a)
        start = on("/cpu:1", tf.identity, b)
        c = on("/cpu:1", lambda: tf.while_loop(lambda j, _: j < 3, lambda j, c: (j + 1, heavy(c)), [0, start])[1])
        return i + 1, b, on("/cpu:1", lambda: total + tf.reduce_sum(c))

    return tf.while_loop(lambda i, *_: i < COUNT, body, [0, x, tf.zeros([], tf.float64)])[2]


def spanning(x):
    """Both devices have their part in an inner loop too."""

    def inner(j, a, total):
        b = on("/cpu:0", heavy, a)
        return j + 1, b, on("/cpu:1", lambda: total + tf.reduce_sum(heavy(b)))

    def body(i, a, total):
        _, b, more = tf.while_loop(lambda j, *_: j < 1, inner, [0, a, tf.zeros([], tf.float64)])
        return i + 1, b, on("/cpu:1", lambda: total + more)

    return tf.while_loop(lambda i, *_: i < COUNT, body, [0, x, tf.zeros([], tf.float64)])[2]


def branches(x):
    """In a conditional inside the loop."""

    def body(i, a, total):
        b = on("/cpu:0", heavy, a)
        even = tf.equal(i % 2, 0)
        c = tf.cond(
            even,
            lambda: on("/cpu:1", lambda: tf.reduce_sum(heavy(b))),
            lambda: on("/cpu:1", lambda: tf.reduce_sum(heavy(tf.sin(b)))),
        )
        return i + 1, b, on("/cpu:1", lambda: total + c)

    return tf.while_loop(lambda i, *_: i < COUNT, body, [0, x, tf.zeros([], tf.float64)])[2]


@pytest.mark.parametrize(("program", "again"), [(loop, COUNT), (nested, 0), (spanning, COUNT), (branches, COUNT)])
def test_only_borders_are_crossed(program, again, large):
    """Forward one value in each iteration.  Back its gradient; the second device asks for what the first made once more."""
    x = tf.placeholder(tf.float64, [SIZE])
    y = program(x)
    (slope,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
    fed = np.linspace(-1, 1, SIZE)
    with tf.Session(config=TWO) as session:
        session.run(y, {x: fed})
        assert large == {"CPU:0>CPU:1": COUNT}
        large.clear()
        found = session.run([y, slope], {x: fed})
    assert large == {"CPU:0>CPU:1": COUNT + again, "CPU:1>CPU:0": COUNT}
    with tf.Session(config=ONE) as session:
        expected = session.run([y, slope], {x: fed})
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_conditional_outside_a_loop(large):
    x, p = tf.placeholder(tf.float64, [SIZE]), tf.placeholder(tf.bool, [])
    b = on("/cpu:0", heavy, x)

    def branch(factor):
        return tf.reduce_sum(on("/cpu:1", heavy, b * factor)) + tf.reduce_sum(on("/cpu:0", heavy, b * factor))

    y = tf.cond(p, lambda: on("/cpu:1", branch, 2.0), lambda: on("/cpu:1", branch, 3.0))
    (slope,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
    fed = np.linspace(-1, 1, SIZE)
    results = []
    for config in (ONE, TWO):
        with tf.Session(config=config) as session:
            results.append([session.run([y, slope], {x: fed, p: choice})[1] for choice in (True, False)])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-12)
    assert large


def test_arrays_of_two_devices_in_one_loop():
    """Each device reads its own TensorArray; both arrays are needed by the gradient."""
    x = tf.placeholder(tf.float64, [COUNT, 3])
    arrays = [
        on(f"/cpu:{i}", lambda: tf.TensorArray(tf.float64, COUNT, clear_after_read=False).unstack(x)) for i in (0, 1)
    ]

    def body(i, total, out):
        a = on("/cpu:0", lambda: tf.sin(arrays[0].read(i)) * total)
        b = on("/cpu:1", lambda: tf.cos(arrays[1].read(i)) * a)
        return i + 1, on("/cpu:0", lambda: a + b), on("/cpu:1", lambda: out.write(i, b * b))

    out = on("/cpu:1", lambda: tf.TensorArray(tf.float64, COUNT))
    start = tf.constant([1.0, 2.0, 3.0], tf.float64)
    _, total, out = tf.while_loop(lambda i, *_: i < COUNT, body, [0, start, out])
    y = tf.reduce_sum(total) + tf.reduce_sum(on("/cpu:1", out.stack))
    (slope,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
    fed = np.linspace(-1, 1, 3 * COUNT).reshape(COUNT, 3)
    results = []
    for config in (ONE, TWO):
        with tf.Session(config=config) as session:
            results.append(session.run([y, slope], {x: fed}))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_body_on_one_device_has_one_stash():
    x = tf.placeholder(tf.float64, [3])
    with tf.device("/cpu:0"):
        y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, heavy(a)), [0, x])[1]
    node = y.op.inputs[0].op
    before = len(node.outputs)
    tf.gradients(y, x)
    assert len(node.outputs) == before + 1


def test_explain_tells_the_bytes():
    x = tf.placeholder(tf.float64, [SIZE])
    (slope,) = tf.gradients(loop(x), x, colocate_gradients_with_ops=True)
    with tf.Session(config=TWO) as session:
        explanation = session.explain(slope, feeds=[x])
    sent = [t for t in explanation.transfers if t.bytes and t.bytes >= 8 * SIZE]
    assert sorted((t.source[-5:], t.destination[-5:], t.bytes // (8 * SIZE)) for t in sent) == [
        ("CPU:0", "CPU:1", 1), ("CPU:0", "CPU:1", 1), ("CPU:1", "CPU:0", 1)
    ]  # fmt: skip
