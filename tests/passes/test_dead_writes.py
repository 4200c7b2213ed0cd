"""Assignments that are overwritten before anyone can look: dropped, and only those."""

import numpy as np
import pytest
from passes.steps import lines, piped

import headrace as tf


def _chain(*values, between=None):  # type: ignore[no-untyped-def]
    """A variable, and assignments of the values, each waiting for the one before."""
    v = tf.Variable([0.0, 0.0], name="v", use_resource=False)
    writes = []
    for i, value in enumerate(values):
        with tf.control_dependencies(writes[-1:] if between is None or i == 0 else [between(v, writes[-1])]):
            writes.append(tf.assign(v, value, name=f"write{i}"))
    return v, writes


def _assigns(graph):  # type: ignore[no-untyped-def]
    return [n.name for n in graph.nodes if n.type == "Assign"]


def _run(v, fetches):  # type: ignore[no-untyped-def]
    with tf.Session() as session:
        session.run(v.initializer)
        got = session.run(fetches)
        return got, session.run(v).tolist()


class TestDropped:
    def test_before_and_after(self) -> None:
        v, writes = _chain([1.0, 1.0], [2.0, 2.0])
        before = lines(piped([], [], [writes[1].op], off=frozenset({"dead_writes"})))
        assert any(line.startswith("%write0 = Assign(%v, ") for line in before)
        after = lines(piped([], [], [writes[1].op]))
        assert "%write0 = NoOp()" in after
        assert any(line.startswith("%write1 = Assign(%v, ") for line in after)
        assert _run(v, writes[1].op)[1] == [2.0, 2.0]

    def test_all_but_the_last(self) -> None:
        v, writes = _chain(*[[float(i), 0.0] for i in range(5)])
        assert _assigns(piped([], [], [writes[-1].op])) == ["write4"]
        assert _run(v, writes[-1].op)[1] == [4.0, 0.0]

    def test_also_if_it_is_asked_to_run(self) -> None:
        v, writes = _chain([1.0, 1.0], [2.0, 2.0])
        assert _assigns(piped([], [], [w.op for w in writes])) == ["write1"]
        assert _run(v, [w.op for w in writes])[1] == [2.0, 2.0]

    def test_an_assignment_of_an_assignment(self) -> None:
        v = tf.Variable([0.0, 0.0], use_resource=False)
        second = tf.raw_ops.Assign(tf.raw_ops.Assign(v._ref(), [1.0, 1.0], name="one"), [2.0, 2.0], name="two")
        assert _assigns(piped([], [], [second.op])) == ["two"]
        assert _run(v, second.op)[1] == [2.0, 2.0]

    def test_what_the_value_needed_still_happens(self) -> None:
        other = tf.Variable(1.0, use_resource=False)
        v = tf.Variable([0.0, 0.0], use_resource=False)
        first = tf.assign(v, [1.0, 1.0] * tf.assign_add(other, 1.0))
        with tf.control_dependencies([first]):
            second = tf.assign(v, [3.0, 3.0])
        with tf.Session() as session:
            session.run([v.initializer, other.initializer])
            session.run(second)
            assert session.run(other) == 2.0


class TestKept:
    def test_a_read_between(self) -> None:
        reads = []

        def between(v, write):  # type: ignore[no-untyped-def]
            with tf.control_dependencies([write]):
                reads.append(v.read_value())
            return reads[-1]

        v, writes = _chain([1.0, 1.0], [2.0, 2.0], between=between)
        assert _assigns(piped([reads[0]], [], [writes[1].op])) == ["write0", "write1"]
        got, final = _run(v, [reads[0], writes[1].op])
        np.testing.assert_array_equal(got[0], [1.0, 1.0])
        assert final == [2.0, 2.0]

    def test_a_read_of_no_certain_place(self) -> None:
        v, writes = _chain([1.0, 1.0], [2.0, 2.0])
        with tf.control_dependencies([writes[0]]):
            read = tf.identity(v._ref())
        assert _assigns(piped([read], [], [writes[1].op])) == ["write0", "write1"]

    def test_the_first_is_fetched(self) -> None:
        v, writes = _chain([1.0, 1.0], [2.0, 2.0])
        assert _assigns(piped([writes[0]], [], [writes[1].op])) == ["write0", "write1"]

    def test_no_order(self) -> None:
        v = tf.Variable([0.0, 0.0], use_resource=False)
        writes = [tf.assign(v, [float(i), 0.0]).op for i in range(2)]
        assert len(_assigns(piped([], [], writes))) == 2

    def test_a_sum_is_no_overwriting(self) -> None:
        v, writes = _chain([1.0, 1.0])
        with tf.control_dependencies(writes):
            added = tf.assign_add(v, [1.0, 1.0])
        assert _assigns(piped([], [], [added.op])) == ["write0"]
        assert _run(v, added.op)[1] == [2.0, 2.0]

    def test_an_effect_between_may_be_a_signal(self) -> None:
        v, writes = _chain(
            [1.0, 1.0],
            [2.0, 2.0],
            between=lambda v, w: _after(w, lambda: tf.py_func(lambda: np.int64(1), [], tf.int64)),
        )
        assert _assigns(piped([], [], [writes[1].op])) == ["write0", "write1"]

    def test_another_shape(self) -> None:
        v = tf.Variable([0.0, 0.0], validate_shape=False, use_resource=False)
        first = tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False, name="first")
        with tf.control_dependencies([first]):
            second = tf.assign(v, [1.0, 2.0, 4.0], validate_shape=False, name="second")
        assert _assigns(piped([], [], [second.op])) == ["first", "second"]


def _after(write, make):  # type: ignore[no-untyped-def]
    with tf.control_dependencies([write]):
        return make()


@pytest.mark.parametrize("off", ["", "dead_writes"])
def test_the_same_state_either_way(off: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
    v, writes = _chain([1.0, 1.0], [2.0, 2.0], [3.0, 3.0])
    with tf.control_dependencies([writes[-1]]):
        result = v.read_value() * 2.0
    got, final = _run(v, result)
    assert got.tolist() == [6.0, 6.0] and final == [3.0, 3.0]
