"""What conditionals and loops do besides values, the same however they run: side effects of the taken branch only, and errors."""

import queue

import numpy as np
import pytest
from running import initialized_session, modes

import headrace as tf


def line_of(tensor):
    return f"test_flow_modes.py:{tensor.op.traceback[-1][1]}"


@modes
class TestPredicate:
    """A predicate whose rank is known only when it comes."""

    @pytest.mark.parametrize("value", [[True, False], [True], [], [[False]]], ids=str)
    def test_of_a_branch(self, config, value):
        pred, x = tf.placeholder(tf.bool), tf.ones([3])
        y = tf.cond(pred, lambda: x + 1, lambda: x * 2)
        self.check(y, {pred: value}, config, "cond")

    @pytest.mark.parametrize("value", [[True, False], [True], []], ids=str)
    def test_of_a_loop(self, config, value):
        pred, x = tf.placeholder(tf.bool), tf.ones([3])
        y = tf.while_loop(lambda a: pred, lambda a: a + 1, [x])
        self.check(y, {pred: value}, config, "while")

    def test_computed_in_a_nested_branch(self, config):
        x = tf.placeholder(tf.float32)

        def body(i, a):
            return i + 1, tf.cond(x > 0, lambda: a + 1, lambda: a - 1)

        y = tf.while_loop(lambda i, a: i < 3, body, [0, 0.0])[1]
        with tf.Session(config=config) as session:
            assert session.run(y, {x: 1.0}) == 3
        self.check(y, {x: [1.0, 2.0]}, config, "while/cond")

    def test_is_taken_when_it_is_a_scalar(self, config):
        pred = tf.placeholder(tf.bool)
        y = tf.cond(pred, lambda: 1.0, lambda: 2.0)
        with tf.Session(config=config) as session:
            assert [session.run(y, {pred: value}) for value in (True, False)] == [1, 2]

    def check(self, y, feeds, config, name):
        shape = list(np.shape(next(iter(feeds.values()))))
        with tf.Session(config=config) as session, pytest.raises(tf.errors.InvalidArgumentError) as e:
            session.run(y, feeds)
        assert e.value.message.startswith(f"The predicate must be a scalar, but it has shape {shape}")
        assert e.value.op.name.startswith(name)
        assert "test_flow_modes.py:" in e.value.message
        if name != "while/cond":
            assert line_of(y) in e.value.message


def branches_in_a_loop(config, when, otherwise, times=5, initial=0.0):
    """Takes ``when(i, a)`` in the even iterations of a loop, else ``otherwise(i, a)`` -> the last value, twice."""

    def body(i, a):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: when(i, a), lambda: otherwise(i, a))

    result = tf.while_loop(lambda i, a: i < times, body, [tf.constant(0), tf.constant(initial)])[1]
    with initialized_session(config=config) as session:
        return [session.run(result) for _ in range(2)]


@modes
class TestSideEffects:
    def test_of_py_func(self, config):
        seen = []

        def note(kind, i, a):
            seen.append((kind, int(i)))
            return a + np.float32(1)

        def call(kind):
            def branch(i, a):
                made = tf.py_func(lambda i, a: note(kind, i, a), [i, a], tf.float32)
                made.set_shape([])
                return made

            return branch

        found = branches_in_a_loop(config, call("even"), call("odd"))
        expected = [("even", 0), ("odd", 1), ("even", 2), ("odd", 3), ("even", 4)]
        assert found == [5, 5] and seen == expected * 2

    def test_of_py_func_in_one_branch_only(self, config):
        seen = []

        def branch(i, a):
            made = tf.py_func(lambda i: seen.append(int(i)) or np.float32(1), [i], tf.float32)
            made.set_shape([])
            return a + made

        assert branches_in_a_loop(config, lambda i, a: a, branch, times=6) == [3, 3]
        assert sorted(seen) == [1, 1, 3, 3, 5, 5]  # iterations that do not depend on each other may overlap

    def test_of_assign(self, config):
        even, odd = tf.Variable(0.0), tf.Variable(100.0)

        def add(variable):
            def branch(i, a):
                return a + variable.assign_add(tf.cast(i, tf.float32) + 1.0)

            return branch

        found = branches_in_a_loop(config, add(even), add(odd))
        # even: 1, 4, 9, then 10, 13, 18; odd: 102, 106, then 108, 112
        assert found == [1 + 102 + 4 + 106 + 9, 10 + 108 + 13 + 112 + 18]

    def test_of_assign_that_nothing_reads(self, config):
        count, loops = tf.Variable(0), tf.Variable(0)

        def bump(variable):
            def branch():
                with tf.control_dependencies([variable.assign_add(1)]):
                    return tf.constant(0)

            return branch

        def body(i, a):
            inner = tf.cond(tf.equal(a, 1), bump(count), lambda: tf.constant(0))
            with tf.control_dependencies([inner, loops.assign_add(1)]):
                return i + 1, 1 - a

        result = tf.while_loop(lambda i, a: i < 5, body, [tf.constant(0), tf.constant(0)])[0]
        with initialized_session(config=config) as session:
            session.run(result)
            assert session.run([count, loops]) == [2, 5]

    def test_of_print(self, config, capfd):
        def say(word):
            def branch(i, a):
                return tf.Print(a, [i], message=f"{word} ") + 1.0

            return branch

        assert branches_in_a_loop(config, say("even"), say("odd"), times=3) == [3, 3]
        assert capfd.readouterr().err.splitlines() == ["even [0]", "odd [1]", "even [2]"] * 2

    def test_of_print_two_deep(self, config, capfd):
        def inner(i, a):
            return tf.cond(i > 2, lambda: tf.Print(a, [a], message="late "), lambda: a) + 1.0

        assert branches_in_a_loop(config, inner, lambda i, a: a) == [3, 3]
        assert capfd.readouterr().err.splitlines() == ["late [2]"] * 2

    def test_of_what_waits(self, config):
        """One branch takes what the other has put: both would stop for good if they ran in the wrong iterations."""
        items = queue.Queue()

        def put(i, a):
            items.put(np.float32(a * 10))
            return a + np.float32(1)

        def take(i, a):
            return a + items.get(timeout=30)

        def call(function):
            def branch(i, a):
                made = tf.py_func(function, [i, a], tf.float32)
                made.set_shape([])
                return made

            return branch

        # 0 goes in as 0 and comes out, 1 goes in as 10 and comes out
        assert branches_in_a_loop(config, call(put), call(take), times=4) == [12, 12]
        assert items.empty()

    def test_of_an_error_in_a_branch_that_is_not_taken(self, config):
        def fail(i, a):
            with tf.control_dependencies([tf.Assert(tf.less(a, -1.0), [a])]):
                return tf.identity(a)

        def body(i, a):
            return i + 1, tf.cond(i > 10, lambda: fail(i, a), lambda: a + 1.0)

        result = tf.while_loop(lambda i, a: i < 4, body, [0, 0.0])[1]
        with tf.Session(config=config) as session:
            assert session.run(result) == 4

    def test_of_a_failing_py_func(self, config):
        def fail(i):
            if i == 2:
                raise ValueError("two is too much")
            return np.float32(0)

        made = []

        def branch(i, a):
            made.append(tf.py_func(fail, [i], tf.float32))
            made[-1].set_shape([])
            return a + made[-1]

        with pytest.raises(tf.errors.InvalidArgumentError, match="two is too much") as e:
            branches_in_a_loop(config, branch, lambda i, a: a)
        assert line_of(made[-1]) in e.value.message
