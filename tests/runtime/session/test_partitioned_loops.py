"""Loops whose bodies are spread over two devices of a process: values, gradients, overlapping iterations, and errors."""

import threading

import numpy as np
import pytest

import headrace as tf
from headrace.resources.stepping.rendezvous import Rendezvous

TWO = tf.ConfigProto(device_count={"CPU": 2})
ONE = tf.ConfigProto(compile="off", allow_soft_placement=True)
FEED = [0.1, -0.5, 0.8]
COUNT = 12


def pinned(device, function, *arguments):
    with tf.device(device):
        return function(*arguments)


def plain(x):
    def body(i, a):
        b = pinned("/cpu:0", tf.sin, a)
        c = pinned("/cpu:1", lambda: tf.cos(a) * 0.5)
        return i + 1, b * c + a * 0.3

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])[1]


def condition_elsewhere(x):
    """What decides is on the second device, the body on the first."""

    def go_on(i, a):
        return pinned("/cpu:1", lambda: tf.logical_and(tf.reduce_sum(tf.square(a)) < 5.0, i < 20))

    return tf.while_loop(go_on, lambda i, a: (i + 1, pinned("/cpu:0", lambda: tf.exp(a * 0.3) + a)), [0, x])[1]


def nested(x):
    def inner(j, b):
        return j + 1, pinned("/cpu:1", tf.tanh, b) + 0.2 * x

    def body(i, a):
        _, b = tf.while_loop(lambda j, b: j < 2, inner, [0, a])
        c = tf.cond(
            tf.reduce_sum(b) > 1.0,
            lambda: pinned("/cpu:1", tf.sin, b),
            lambda: pinned("/cpu:0", tf.cos, b) + b,
        )
        return i + 1, c

    return tf.while_loop(lambda i, a: i < 3, body, [0, x])[1]


def arrays(x):
    """The first device writes what the second reads."""
    filled = tf.TensorArray(tf.float64, 4, clear_after_read=False)

    def fill(i, a, array):
        a = pinned("/cpu:0", tf.sin, a + x)
        return i + 1, a, array.write(i, a)

    _, _, filled = tf.while_loop(lambda i, *_: i < 4, fill, [0, x, filled])

    def take(i, a):
        b = pinned("/cpu:1", lambda: tf.cos(filled.read(i)) * a)
        return i + 1, pinned("/cpu:0", lambda: b + a * 0.1)

    return tf.while_loop(lambda i, _: i < 4, take, [0, x])[1]


def variables(x):
    weight = pinned("/cpu:1", lambda: tf.Variable([0.5, 0.2, -0.1], dtype=tf.float64))

    def body(i, a):
        b = pinned("/cpu:1", lambda: a * weight)
        return i + 1, pinned("/cpu:0", lambda: tf.tanh(b + a))

    return tf.while_loop(lambda i, a: i < 3, body, [0, x])[1]


@pytest.mark.parametrize("mode", ["off", "always"])
@pytest.mark.parametrize("program", [plain, condition_elsewhere, nested, arrays, variables])
def test_values_and_gradients_are_those_of_one_device(program, mode):
    x = tf.placeholder(tf.float64, [3])
    y = program(x)
    (slope,) = tf.gradients(y, x)
    (curvature,) = tf.gradients(tf.reduce_sum(slope * slope), x)
    fetches = [y, slope, curvature]
    found = []
    for used in (ONE, tf.ConfigProto(device_count={"CPU": 2}, compile=mode)):
        with tf.Session(config=used) as session:
            session.run(tf.global_variables_initializer())
            found.append(session.run(fetches, {x: FEED}))
            plan = session._master.plan([x], fetches, [])
    members = plan.partitions.members
    assert {m.name.rpartition("/")[2] for m in members} == {"device:CPU:0", "device:CPU:1"}
    assert all(m.worker.plan(m.handle).framed is None for m in members)  # bodies are functions, not primitives
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    assert np.abs(found[0]).min() > 0


class Watched:
    """Functions of a loop's two devices that follow one another's iterations, and may hold one back until another has begun."""

    def __init__(self, hold=None):
        self.events, self.begun, self.counts = [], {}, {}
        self.lock = threading.Lock()
        self.hold = hold

    def watch(self, kind, function, x):
        def call(value):
            i = self.counts[kind] = self.counts.get(kind, -1) + 1
            self.note("begin", kind, i)
            if self.hold is not None and self.hold(kind, i) is not None:
                assert self.event(*self.hold(kind, i)).wait(30), "the later iteration did not begin"
            self.note("end", kind, i)
            return function(value)

        y = tf.py_func(call, [x], tf.float32)
        y.set_shape([])
        return y

    def event(self, kind, i):
        with self.lock:
            return self.begun.setdefault((kind, i), threading.Event())

    def note(self, what, kind, i):
        if what == "begin":
            self.event(kind, i).set()
        with self.lock:
            self.events.append((what, kind, i))

    def when(self, *event):
        return self.events.index(event)

    def two_chains(self, parallel):
        """The first device goes on from iteration to iteration by itself; the second adds up what it is given."""

        def body(i, a, total):
            b = pinned("/cpu:0", lambda: self.watch("sin", np.sin, a))
            return i + 1, b, pinned("/cpu:1", lambda: total + self.watch("cos", np.cos, b))

        start = [0, tf.constant(1.0), tf.constant(0.0)]
        return tf.while_loop(lambda i, *_: i < 6, body, start, parallel_iterations=parallel)[2]


def expected_total():
    a, total = 1.0, 0.0
    for _ in range(6):
        a = np.sin(a)
        total += np.cos(a)
    return total


def test_a_device_runs_ahead_of_the_other():
    """The second device waits in every iteration until the first one is two iterations further."""
    watched = Watched(lambda kind, i: ("sin", i + 2) if kind == "cos" and i < 4 else None)
    y = watched.two_chains(10)
    with tf.Session(config=TWO) as session:
        assert session.run(y) == pytest.approx(expected_total())
    assert all(watched.when("begin", "sin", i + 2) < watched.when("end", "cos", i) for i in range(4))


@pytest.mark.parametrize("parallel", [1, 2, 3])
def test_a_device_runs_ahead_no_further_than_allowed(parallel):
    watched = Watched(lambda kind, i: ("sin", i + parallel - 1) if kind == "cos" and i + parallel <= 6 else None)
    y = watched.two_chains(parallel)
    with tf.Session(config=TWO) as session:
        assert session.run(y) == pytest.approx(expected_total())
    for i in range(6 - parallel):
        assert watched.when("end", "cos", i) < watched.when("begin", "sin", i + parallel)


@pytest.mark.parametrize("device", ["/cpu:0", "/cpu:1"])
@pytest.mark.parametrize("where", ["body", "branch", "inner", "condition"])
def test_an_error_on_one_device_ends_the_loop_at_the_users_line(device, where):
    x, made = tf.placeholder(tf.int32, []), []

    def look(i):
        made.append(pinned(device, lambda: tf.gather([1.0, 2.0], x + i)))
        return made[-1]

    def body(i, a):
        other = pinned("/cpu:1" if device == "/cpu:0" else "/cpu:0", tf.sin, a)
        if where == "body":
            return i + 1, other + look(i)
        if where == "branch":
            return i + 1, tf.cond(i > 0, lambda: look(i) + other, lambda: other)
        if where == "inner":
            return i + 1, tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b + look(i + j)), [0, other])[1]
        return i + 1, other

    def go_on(i, a):
        return tf.logical_and(i < 5, look(i) > 0.0) if where == "condition" else i < 5

    y = tf.while_loop(go_on, body, [0, 0.0])[1]
    with tf.Session(config=TWO) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            session.run(y, {x: 0})
        assert e.value.op.type == made[-1].op.type
        assert f"{__file__}:{made[-1].op.traceback[-1][1]}" in e.value.message
        assert "device:CPU:" + device[-1] in e.value.message
        assert not [t for t in threading.enumerate() if t.name.startswith("headrace-framed")]


def test_an_error_in_the_gradient_ends_the_loop():
    x = tf.placeholder(tf.float32, [])

    @tf.custom_gradient
    def fails(a):
        def backward(dy):
            with tf.control_dependencies([tf.Assert(dy < 0.5, ["too steep", dy], name="steep")]):
                return dy * 1.0

        return tf.identity(a), backward

    def body(i, a):
        b = pinned("/cpu:1", fails, a)
        return i + 1, pinned("/cpu:0", tf.identity, b) * 0.9

    y = tf.while_loop(lambda i, a: i < 3, body, [0, x])[1]
    (slope,) = tf.gradients(y, x)
    with tf.Session(config=TWO) as session:
        assert session.run(y, {x: 1.0}) == pytest.approx(0.729)
        with pytest.raises(tf.errors.InvalidArgumentError, match="too steep") as e:
            session.run(slope, {x: 1.0})
        assert "test_partitioned_loops.py:" in e.value.message
        assert not [t for t in threading.enumerate() if t.name.startswith("headrace-framed")]


class Watch:
    """How many messages of a step wait for their taker, at most, by their key."""

    def __init__(self, patch):
        self.most = {}
        send = Rendezvous.send

        def counted(table, step, key, message):
            send(table, step, key, message)
            waiting = table._steps[step].messages.get(key, ())
            self.most[key] = max(self.most.get(key, 0), len(waiting))

        patch.setattr(Rendezvous, "send", counted)

    def of_values(self):
        """The most under a key that brings values from the second device to the first."""
        return max(count for key, count in self.most.items() if "CPU:1>" in key and "_body" not in key)


@pytest.mark.parametrize("parallel", [1, 2, 5])
def test_a_gradient_runs_ahead_no_further_than_allowed(parallel, monkeypatch):
    """A loop's gradient has no condition.  The second device makes gradients quickly, the first one uses them slowly."""
    watched = Watched(lambda kind, i: ("quick", i + parallel - 1) if kind == "slow" and i + parallel <= COUNT else None)
    watch = Watch(monkeypatch)

    def gradient_of(kind, factor):
        @tf.custom_gradient
        def identity(x):
            return tf.identity(x), lambda dy: watched.watch(kind, lambda value: value * np.float32(factor), dy)

        return identity

    def body(i, a, total):
        b = pinned("/cpu:0", lambda: gradient_of("slow", 1.0)(a) * 0.5)
        return i + 1, b, total + pinned("/cpu:1", lambda: gradient_of("quick", 2.0)(b))

    x = tf.placeholder(tf.float32, [])
    total = tf.while_loop(lambda i, *_: i < COUNT, body, [0, x, 0.0], parallel_iterations=parallel)[2]
    (slope,) = tf.gradients(total, x, colocate_gradients_with_ops=True)
    with tf.Session(config=TWO) as session:
        assert session.run(slope, {x: 1.0}) == pytest.approx(2.0 * sum(0.5 ** (i + 1) for i in range(COUNT)))
        assert session.waiting() == ""
    for i in range(COUNT - parallel):
        assert watched.when("end", "slow", i) < watched.when("begin", "quick", i + parallel)
    assert watch.of_values() <= parallel  # that it runs ahead at all is what the slow one waits for


def test_a_sum_of_products_in_a_gradient_that_another_device_runs_ahead_of():
    """The second device makes gradients for the first, which adds up those of the weights: one product after the loop."""
    results = []
    for used in (ONE, TWO):
        with tf.Graph().as_default():
            w = tf.placeholder(tf.float64, [3, 3])

            def body(i, h, total, w=w):
                h = pinned("/cpu:0", lambda: tf.tanh(tf.matmul(h, w)))
                return i + 1, h, pinned("/cpu:1", lambda: total * 0.5 + h)

            start = tf.ones([2, 3], tf.float64)
            total = tf.while_loop(lambda i, *_: i < 4, body, [0, start, start])[2]
            (slope,) = tf.gradients(total, w, colocate_gradients_with_ops=True)
            with tf.Session(config=used) as session:
                results.append(session.run(slope, {w: np.eye(3) * 0.5}))
    np.testing.assert_allclose(*results, rtol=1e-12)


def chain(x, depth, parallel):
    """Loops inside loops and a conditional; each device only sends to the next, so that in the gradient each only sends back."""

    def body(i, a, total):
        b = pinned("/cpu:0", lambda: tf.sin(a) + 0.1)
        c = tf.cond(tf.equal(i % 2, 0), lambda: pinned("/cpu:1", lambda: b * 0.5), lambda: pinned("/cpu:2", tf.tanh, b))
        if depth:
            c += pinned("/cpu:2", lambda: chain(c, depth - 1, parallel)) * 0.1
        return i + 1, b, pinned("/cpu:2", lambda: total + tf.square(c))

    count = pinned("/cpu:0", lambda: tf.cast(tf.reduce_sum(x) > -100.0, tf.int32) * 3)
    return tf.while_loop(lambda i, *_: i < count, body, [0, x, x * 0.0], parallel_iterations=parallel)[2]


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("times", [3, 0])
def test_credits_of_nested_loops(parallel, times):
    x = tf.placeholder(tf.float64, [3])
    y = chain(x, 1, parallel)
    z = pinned("/cpu:0", lambda: chain(y, 0, parallel) + y)  # begins when the loops before it have ended
    (slope,) = tf.gradients(z, x, colocate_gradients_with_ops=True)
    fed = FEED if times else [-200.0, 0.0, 0.0]
    results = []
    for used in (ONE, tf.ConfigProto(device_count={"CPU": 3}, compile="off")):
        with tf.Session(config=used) as session:
            results += [session.run([z, slope], {x: fed}) for _ in range(2)]
            left = session.waiting()
            rendezvous = len(session._master.worker.rendezvous)
    assert (left, rendezvous) == ("", 0)
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-12)
