"""inter_op_parallelism_threads: how many threads compute for a session at a time."""

import threading

import pytest

import headrace as tf


class Counter:
    """Counts the threads inside; each waits until a second one comes in, for ``patience`` seconds."""

    def __init__(self, patience):
        self.patience = patience
        self.lock = threading.Lock()
        self.inside = self.most = 0
        self.second = threading.Event()

    def __call__(self, x):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            if self.inside > 1:
                self.second.set()
        self.second.wait(self.patience)
        with self.lock:
            self.inside -= 1
        return x


def most_inside(threads, stateful, patience=20.0, **config):
    counter = Counter(patience)
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile="off", **config)) as session:
        x = tf.placeholder(tf.float32, [])
        y = tf.py_func(counter, [x + 1.0], tf.float32, stateful=stateful) * 2.0
        callers = [threading.Thread(target=session.run, args=(y, {x: i})) for i in range(threads)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    return counter.most


def test_one_at_a_time():
    assert most_inside(3, False, patience=0.2, inter_op_parallelism_threads=1) == 1


def test_two_at_a_time():
    assert most_inside(4, False, inter_op_parallelism_threads=2) == 2


@pytest.mark.parametrize("config", [{}, {"inter_op_parallelism_threads": 0}, {"inter_op_parallelism_threads": -1}])
def test_no_limit(config):
    assert most_inside(2, False, **config) == 2


def test_what_blocks_waits_outside():
    assert most_inside(2, True, inter_op_parallelism_threads=1) == 2


def test_a_step_inside_a_step():
    """A Python function that runs a step of the same session does not wait for itself."""
    with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=1)) as session:
        inner = tf.constant(2.0) * 3.0
        outer = tf.py_func(lambda: session.run(inner), [], tf.float32, stateful=False) + 1.0
        assert session.run(outer) == 7.0


def test_loops_of_primitives():
    config = tf.ConfigProto(inter_op_parallelism_threads=1, control_flow="lowered")
    with tf.Session(config=config) as session:
        found = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)])
        assert session.run(found) == 5


def test_waiting_ends_with_the_time_of_the_step():
    inside, leave = threading.Event(), threading.Event()

    def hold(x):
        inside.set()
        leave.wait(10)
        return x

    with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=1)) as session:
        x = tf.placeholder(tf.float32, [])
        held = tf.py_func(hold, [x], tf.float32, stateful=False)
        other = x * 2.0
        caller = threading.Thread(target=session.run, args=(held, {x: 1.0}))
        caller.start()
        assert inside.wait(10)
        with pytest.raises(
            tf.errors.DeadlineExceededError,
            match=r"on 1 at a time, as ConfigProto.inter_op_parallelism_threads says \(at .*test_gate.py:",
        ):
            session.run(other, {x: 1.0}, options=tf.RunOptions(timeout_in_ms=50))
        leave.set()
        caller.join()
        assert session.run(other, {x: 1.0}) == 2.0


def test_an_error_leaves_the_place():
    with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=1, compile="off")) as session:
        x = tf.placeholder(tf.float32, [None])
        y = tf.reshape(x, [3])
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(y, {x: [1.0]})
        assert session.run(y, {x: [1.0, 2.0, 3.0]}).shape == (3,)
