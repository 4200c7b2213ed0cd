"""MonitoredSession: the order of hooks, what they see and add, how a session ends, recovers and starts threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import headrace as tf
from headrace import extend
from headrace.core.registry import REGISTRY


class Spy(tf.train.SessionRunHook):
    """Writes down every call."""

    def __init__(self, calls: list[Any], name: str = "", **request: Any) -> None:
        self.calls, self.name, self.request = calls, name, request

    def begin(self) -> None:
        self.calls.append(f"{self.name}begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        assert isinstance(session, tf.Session)
        assert isinstance(coord, tf.train.Coordinator)
        self.calls.append(f"{self.name}after_create_session")

    def before_run(self, run_context: Any) -> Any:
        self.calls.append(f"{self.name}before_run")
        return tf.train.SessionRunArgs(**self.request) if self.request else None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls.append((f"{self.name}after_run", run_values.results))

    def end(self, session: Any) -> None:
        assert isinstance(session, tf.Session)
        self.calls.append(f"{self.name}end")


@pytest.fixture
def calls() -> list[Any]:
    return []


# ---- hooks


def test_hooks_are_called_in_order_with_the_values_of_their_fetches(calls: list[Any]) -> None:
    v = tf.Variable(3)
    hooks = [Spy(calls, "a ", fetches=v), Spy(calls, "b ")]
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        assert sess.graph is tf.get_default_graph()
        assert sess.graph.finalized
        assert sess.run({"v": v}) == {"v": 3}
        assert not sess.should_stop()
    assert calls == [
        "a begin", "b begin", "a after_create_session", "b after_create_session", "a before_run", "b before_run",
        ("a after_run", 3), ("b after_run", None), "a end", "b end",
    ]  # fmt: skip
    assert sess.should_stop()
    assert sess.graph is None
    assert not tf.get_default_graph().finalized


def test_a_graph_that_was_final_stays_final() -> None:
    one = tf.constant(1)
    scaffold = tf.train.Scaffold().finalize()
    with tf.train.MonitoredTrainingSession(scaffold=scaffold) as sess:
        sess.run(one)
    assert tf.get_default_graph().finalized


def test_feeds_and_options_of_hooks_are_merged(calls: list[Any]) -> None:
    p, q = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    total = p * 10 + q

    class Look(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            calls.append(run_context.original_args)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            calls.append((run_values.options.timeout_in_ms, run_values.options.trace_level))
            assert run_values.run_metadata.step_stats is not None

    options = tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE, timeout_in_ms=30_000)
    feed = Spy([], fetches=p, feed_dict={p: 4}, options=options)
    mine = tf.RunOptions(timeout_in_ms=20_000)
    with tf.train.MonitoredSession(hooks=[feed, Look()]) as sess:
        assert sess.run(total, {q: 2}, options=mine) == 42
    assert calls == [tf.train.SessionRunArgs(total, {q: 2}), (30_000, tf.RunOptions.SOFTWARE_TRACE)]
    assert mine == tf.RunOptions(timeout_in_ms=20_000)
    assert feed.calls[-2:] == [("after_run", 4), "end"]


def test_a_tensor_is_fed_once() -> None:
    p = tf.placeholder(tf.int32, [])
    hooks = [Spy([], fetches=p, feed_dict={p: 1}), Spy([], fetches=p, feed_dict={p: 2})]
    with (
        tf.train.MonitoredSession(hooks=hooks) as sess,
        pytest.raises(RuntimeError, match="fed by two hooks.*test_mon"),
    ):
        sess.run(p)
    with (
        tf.train.MonitoredSession(hooks=hooks[:1]) as sess,
        pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"),
    ):
        sess.run(p, {p: 3})


def test_a_hook_runs_the_session_below_without_hooks(calls: list[Any]) -> None:
    v = tf.Variable(1)
    add = v.assign_add(1)

    class Twice(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            calls.append(int(run_context.session.run(add)))

    with tf.train.MonitoredSession(hooks=[Twice()]) as sess:
        assert sess.run(add) == 2
        assert sess.run(add) == 4
    assert calls == [3, 5]


def test_a_stop_that_a_hook_requests_ends_the_loop() -> None:
    one = tf.constant(1)

    class Stop(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            assert not run_context.stop_requested
            run_context.request_stop()
            assert run_context.stop_requested

    with tf.train.MonitoredSession(hooks=[Stop()]) as sess:
        assert sess.run(one) == 1
        assert sess.should_stop()
        with pytest.raises(RuntimeError, match=r"Run called even after should_stop requested.*test_monitored"):
            sess.run(one)


# ---- the end


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "no more"), StopIteration()])
def test_the_end_of_the_input_ends_the_block(error: Exception, calls: list[Any]) -> None:
    tf.constant(1)
    with tf.train.MonitoredSession(hooks=[Spy(calls)]) as sess:
        raise error
    assert calls == ["begin", "after_create_session", "end"]
    assert sess.should_stop()


def test_another_error_leaves_the_block_without_the_end_of_hooks(calls: list[Any]) -> None:
    tf.constant(1)
    with pytest.raises(ZeroDivisionError), tf.train.MonitoredSession(hooks=[Spy(calls)]):
        raise ZeroDivisionError
    assert calls == ["begin", "after_create_session"]


def test_a_closed_session_says_so(calls: list[Any]) -> None:
    one = tf.constant(1)
    sess = tf.train.MonitoredSession(hooks=[Spy(calls)])
    sess.close()
    assert calls[-1] == "end"
    for use in (lambda: sess.run(one), lambda: sess.run_step_fn(lambda step_context: 1), sess.close):
        with pytest.raises(RuntimeError, match="Session is already closed"):
            use()
    assert calls.count("end") == 1


def test_an_error_of_an_end_still_closes_the_session() -> None:
    tf.constant(1)

    class Bad(tf.train.SessionRunHook):
        def end(self, session: Any) -> None:
            raise ValueError("disk full")

    sess = tf.train.SingularMonitoredSession(hooks=[Bad()])
    raw = sess.raw_session()
    with pytest.raises(ValueError, match="disk full"):
        sess.close()
    assert sess.should_stop()
    with pytest.raises(RuntimeError, match="closed Session"):
        raw.run(tf.constant(1))


def test_an_error_of_a_hook_at_the_start_closes_the_session() -> None:
    tf.constant(1)
    sessions = []

    class Bad(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            sessions.append(session)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        tf.train.MonitoredSession(hooks=[Bad()])
    with pytest.raises(RuntimeError, match="closed Session"):
        sessions[0].run(tf.constant(1))


# ---- step functions


def test_a_step_function_runs_with_and_without_hooks(calls: list[Any]) -> None:
    v = tf.Variable(1)
    add = v.assign_add(1)

    def step_fn(step_context: Any) -> int:
        step_context.session.run(add)
        return int(step_context.run_with_hooks(add))

    with tf.train.MonitoredSession(hooks=[Spy(calls)]) as sess:
        assert sess.run_step_fn(step_fn) == 3
    assert calls.count("before_run") == 1


def test_a_step_function_ends_the_loop() -> None:
    tf.constant(1)
    rounds = []

    class Trainer:
        def step(self, step_context: Any) -> None:
            rounds.append(1)
            if len(rounds) == 3:
                step_context.request_stop()

    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            sess.run_step_fn(Trainer().step)
    assert len(rounds) == 3


@pytest.mark.parametrize("step_fn", [lambda: 1, lambda context: 1, lambda step_context, other: 1, 3])
def test_step_functions_take_a_step_context(step_fn: Any) -> None:
    tf.constant(1)
    with (
        tf.train.MonitoredSession() as sess,
        pytest.raises((ValueError, TypeError), match="step_context.*test_monitored"),
    ):
        sess.run_step_fn(step_fn)


# ---- recovery


@pytest.fixture
def fails_once() -> Iterator[Callable[[Exception], Any]]:
    """Makes a node that counts its calls; the third one fails.  (The error of a py_func would be an UnknownError.)"""
    counted_call = extend.op(
        "TestCountedCall(; func: any = None) -> (number: int64)", stateful=True, host=True, blocking=True
    )
    counted_call.shape(lambda func: [])
    counted_call.kernel(lambda func: torch.tensor(func()))

    def node(error: Exception) -> Any:
        calls = []

        def count() -> int:
            calls.append(1)
            if len(calls) == 3:
                raise error
            return len(calls)

        return extend.raw_ops.TestCountedCall(func=count)

    yield node
    REGISTRY.remove("TestCountedCall")


@pytest.mark.parametrize("error_type", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_session_is_made_again_and_the_step_repeated(
    error_type: Any, calls: list[Any], tmp_path: Any, fails_once: Any
) -> None:
    step = tf.train.get_or_create_global_step()
    count = fails_once(error_type(None, None, "ps went away"))
    with tf.control_dependencies([count]):
        train = step.assign_add(1)
    saver = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    creator = tf.train.ChiefSessionCreator(checkpoint_dir=str(tmp_path))
    with tf.train.MonitoredSession(creator, hooks=[Spy(calls), saver]) as sess:
        values = [int(sess.run(train)) for _ in range(4)]
    tf.summary.FileWriterCache.clear()
    assert values == [1, 2, 3, 4]  # the third one failed first, and came back from the checkpoint of step 2
    assert calls.count("after_create_session") == 2
    assert calls.count("before_run") == 5
    assert calls.count("end") == 1


def test_a_session_is_made_until_it_can_be(calls: list[Any]) -> None:
    v = tf.Variable(1)

    class Flaky(tf.train.SessionCreator):
        def create_session(self) -> Any:
            calls.append(1)
            if len(calls) < 3:
                raise tf.errors.UnavailableError(None, None, "not yet")
            return tf.train.ChiefSessionCreator().create_session()

    with tf.train.MonitoredSession(Flaky()) as sess:
        assert sess.run(v) == 1
    assert len(calls) == 3


def test_step_functions_recover_too(fails_once: Any) -> None:
    count = fails_once(tf.errors.AbortedError(None, None, "gone"))
    with tf.train.MonitoredSession() as sess:
        values = [int(sess.run_step_fn(lambda step_context: step_context.session.run(count))) for _ in range(3)]
    assert values == [1, 2, 4]


def test_a_singular_session_does_not_recover(fails_once: Any) -> None:
    count = fails_once(tf.errors.AbortedError(None, None, "gone"))
    with pytest.raises(tf.errors.AbortedError, match="gone"), tf.train.SingularMonitoredSession() as sess:
        for _ in range(3):
            sess.run(count)


# ---- threads


@pytest.fixture
def numbers() -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """A queue, and what fills it from a runner."""
    queue = tf.FIFOQueue(4, tf.int64)

    def fill(element: Any) -> None:
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(element)]))

    yield queue, fill


def test_queue_runners_are_started_and_joined(numbers: Any) -> None:
    queue, fill = numbers
    fill(tf.train.limit_epochs(tf.constant(7, tf.int64), 3))
    element = queue.dequeue()
    values = []
    with tf.train.MonitoredSession() as sess:
        assert tf.train.start_queue_runners(sess) == []
        while not sess.should_stop():
            values.append(int(sess.run(element)))
    assert values == [7, 7, 7]


def test_the_error_of_a_thread_reaches_the_caller(numbers: Any) -> None:
    queue, fill = numbers

    def broken() -> int:
        raise ValueError("a broken file")

    fill(tf.py_func(broken, [], tf.int64))
    element = queue.dequeue()
    with pytest.raises(tf.errors.InvalidArgumentError, match="a broken file"), tf.train.MonitoredSession() as sess:
        sess.run(element)


def test_the_error_of_a_thread_ends_a_loop_that_does_not_wait_for_it(numbers: Any) -> None:
    queue, fill = numbers

    def broken() -> int:
        raise ValueError("a broken file")

    fill(tf.py_func(broken, [], tf.int64))
    one = tf.constant(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a broken file"), tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            sess.run(one)


def test_a_thread_that_lost_its_task_is_started_again(numbers: Any, fails_once: Any) -> None:
    queue, fill = numbers
    fill(fails_once(tf.errors.AbortedError(None, None, "gone")))
    element = queue.dequeue()
    values = []
    with tf.train.MonitoredSession() as sess:
        while len(values) < 4:
            values.append(int(sess.run(element)))
    assert 4 in values  # the runner of the second session has made it


# ---- bad uses


@pytest.mark.parametrize("hooks", [3, [3], tf.train.SessionRunHook()])
def test_hooks_must_be_a_list_of_hooks(hooks: Any) -> None:
    for make in (tf.train.MonitoredSession, tf.train.MonitoredTrainingSession):
        with pytest.raises(TypeError, match=r"hooks must be a list of tf.train.SessionRunHook.*test_monitored"):
            make(hooks=hooks)


def test_other_bad_arguments() -> None:
    one = tf.constant(1)
    with pytest.raises(TypeError, match="session_creator must have a method create_session"):
        tf.train.MonitoredSession(session_creator=3)
    with pytest.raises(TypeError, match=r"scaffold must be a tf.train.Scaffold"):
        tf.train.ChiefSessionCreator(scaffold=3)

    class Bad(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            return [3]

    with (
        tf.train.MonitoredSession(hooks=[Bad()]) as sess,
        pytest.raises(TypeError, match=r"before_run of Bad must return a tf.train.SessionRunArgs or None, got \[3\]"),
    ):
        sess.run(one)
