"""Critical sections: exclusion within a step and between steps, failures."""

import threading

import pytest
from resources.calls import run_threads

import headrace as tf


def _add_one(variable: tf.Variable) -> tf.Tensor:
    """Reads, and writes what it read plus one."""
    seen = tf.identity(variable.read_value())
    return tf.assign(variable, seen + 1)


def test_executions_of_one_step_do_not_mix(session: tf.Session) -> None:
    count = tf.Variable(0)
    section = tf.CriticalSection()
    runs = [section.execute(lambda: _add_one(count)) for _ in range(5)]
    session.run(count.initializer)
    found = session.run(runs)
    assert sorted(found) == [1, 2, 3, 4, 5]
    assert session.run(count) == 5


def test_concurrent_steps_do_not_mix(session: tf.Session) -> None:
    count = tf.Variable(0)
    section = tf.CriticalSection(shared_name="counter")
    run = section.execute(lambda: _add_one(count))
    session.run(count.initializer)
    run_threads(*[lambda: [session.run(run.op) for _ in range(20)]] * 3)
    assert session.run(count) == 60


def test_structures_and_operations(session: tf.Session) -> None:
    section = tf.CriticalSection()
    result = section.execute(lambda: {"a": tf.constant(1), "b": [tf.constant(2), tf.no_op()]})
    nothing = section.execute(lambda: None)
    assert session.run([result["a"], result["b"][0]]) == [1, 2]
    session.run([result["b"][1], nothing])


def test_a_failure_gives_the_lock_back(session: tf.Session) -> None:
    section = tf.CriticalSection()
    x = tf.placeholder(tf.float32, [])
    checked = section.execute(lambda: tf.check_numerics(x, "x"))
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(checked, {x: float("nan")})
    done = []
    thread = threading.Thread(target=lambda: done.append(session.run(checked, {x: 1.0})))
    thread.start()
    thread.join(10)
    assert done == [1]


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="critical_section_def"):
        tf.CriticalSection(critical_section_def="x")


def test_a_lock_can_be_given_up_waiting_for_and_is_dropped_by_a_step_that_fails(interpreted: tf.Session) -> None:
    section = tf.CriticalSection(name="section")
    wait, begun = threading.Event(), threading.Event()
    slow = section.execute(lambda: tf.py_func(lambda: begun.set() or wait.wait(20), [], tf.bool))
    bad = section.execute(lambda: tf.py_func(lambda: 1 / 0, [], tf.bool))
    quick = section.execute(lambda: tf.constant(1.0) + 1.0)
    thread = threading.Thread(target=interpreted.run, args=(slow,))
    thread.start()
    assert begun.wait(10)
    with pytest.raises(tf.errors.DeadlineExceededError, match="Mutex 'section/' is held by step"):
        interpreted.run(quick, options=tf.RunOptions(timeout_in_ms=200))
    wait.set()
    thread.join()
    with pytest.raises(tf.errors.UnknownError) as caught:
        interpreted.run(bad)
    assert interpreted.run(quick, options=tf.RunOptions(timeout_in_ms=5000)) == 2.0
    del caught
