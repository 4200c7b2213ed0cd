"""A program and its threads, when it has come to the step that is planned."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.library.simulation.job import computing
from headrace.tools import simulate_program
from headrace.tools.explain import Choice
from headrace.tools.simulate_program import Refused, Wish, _Planner, _stand_ins, _zeros


def planner_at(session: tf.Session, fetches: Any, feeds: Any, mode: str = "") -> _Planner:
    """One that has found its step."""
    planner = _Planner(Choice(), sys.stderr, wish=Wish((1, 2), mode=mode))
    planner.requests["the step"] = "y"
    planner.found(session, fetches, feeds, "the step", lambda **options: session.run(fetches, feeds))
    return planner


def in_thread(call: Callable[[], Any]) -> Any:
    """What a thread returns, or what it raises."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except tf.errors.OpError as e:
            found.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return found[0]


def test_a_step_without_an_optimizer() -> None:
    """As it is it can be planned; in a mode it cannot, which is said and is no error of the program."""
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(x, 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert planner_at(session, y, {x: np.ones([4, 3])}).plans.jobs.keys() == {1, 2}
        refused = planner_at(session, y, {x: np.ones([4, 3])}, mode="sync")
    assert refused.refused.startswith("the step trains with 0 optimizers, and --mode sync needs one")
    assert not refused.plans.jobs
    assert issubclass(Refused, Exception)


def test_what_a_step_costs_beside_its_nodes_is_not_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is one of the tolls of a cluster, where it would count again."""
    taken = iter([0.010, 0.004, 0.010, 0.0099])  # the step, and one of nothing; then noise
    monkeypatch.setattr(simulate_program, "median_time", lambda call: next(taken))
    y = tf.constant(1.0) + tf.random_uniform([])
    with tf.Session() as session:
        plans = [planner_at(session, y, None).plans for _ in range(2)]
    own = [computing(one.jobs[1].step) for one in plans]
    assert own == pytest.approx([0.006, 0.001])
    assert [one.step for one in plans] == [0.010, 0.010]


def test_threads_of_the_program_end_when_the_graph_is_planned() -> None:
    over = threading.Event()
    with _stand_ins(over), tf.Session() as session:
        y = tf.constant(2.0) * 3.0
        call = session.make_callable(y)
        assert in_thread(lambda: session.run(y)) == in_thread(call) == 6.0
        over.set()
        assert isinstance(in_thread(lambda: session.run(y)), tf.errors.OutOfRangeError)
        assert isinstance(in_thread(call), tf.errors.OutOfRangeError)
        assert session.run(y) == 6.0


def test_threads_of_a_program_for_a_cluster_wait_until_it_ends() -> None:
    """Nothing runs there; a callable is not planned either: the tasks that its nodes name are not there."""
    over = threading.Event()
    with _stand_ins(over):
        with tf.device("/job:ps/task:0"):
            y = tf.constant(2.0) * 3.0
        session = tf.Session("hr://nowhere:1")
        call = session.make_callable(y)
        found: list[Any] = []
        waiting = threading.Thread(target=lambda: found.append(in_thread(call)))
        waiting.start()
        waiting.join(0.05)
        assert not found
        tf.train.Coordinator().join([])  # the program ends before its step
        waiting.join(60)
        assert isinstance(found[0], tf.errors.OutOfRangeError)
        session.close()


def test_replicas_that_have_made_no_update() -> None:
    with tf.device(tf.train.replica_device_setter(1)):
        x = tf.get_variable("x", [2])
        sgd = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "sync", 2)
        sgd.minimize(tf.reduce_sum(x), tf.train.get_or_create_global_step())
    with _stand_ins(threading.Event()):
        session = tf.Session("hr://nowhere:1")
        session.run = lambda fetches: _zeros(session, fetches)  # type: ignore[method-assign,assignment]
        assert sgd.report(session)["updates"] == 0
        del session.run
        session.close()
