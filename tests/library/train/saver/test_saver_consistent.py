"""Saves beside other steps: torn checkpoints are told of; consistent ones are a cut between steps, and never hang."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import initialized_session as session

import headrace as tf
from headrace.core import errors


class Pause:
    """A place inside a step where it stops until it is let go."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> np.ndarray[Any, Any]:
        self.reached.set()
        assert self.go_on.wait(30)
        return np.float32(0.0)

    def op(self) -> Any:
        return tf.py_func(self, [], tf.float32)


class Pair:
    """Two variables that every step increments one after the other, with a pause between."""

    def __init__(self, size: int = 1) -> None:
        self.a = tf.Variable(tf.zeros([size]), name="a")
        self.b = tf.Variable(tf.zeros([size]), name="b")
        self.pause = Pause()
        with tf.control_dependencies([self.a.assign_add(tf.ones([size]))]):
            paused = self.pause.op()
        with tf.control_dependencies([paused]):
            self.step = self.b.assign_add(tf.ones([size])).op
        self.both = tf.group(*(tf.assign_add(v, tf.ones([size]), use_locking=True) for v in (self.a, self.b)))


@contextmanager
def beside(call: Callable[[], Any]) -> Iterator[list[BaseException]]:
    """Runs the call on a thread; after the block it must have ended."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield failed
    thread.join(30)
    assert not thread.is_alive()


def values(path: str) -> tuple[float, float]:
    return float(tf.train.load_variable(path, "a")[0]), float(tf.train.load_variable(path, "b")[0])


# ---- the detector


def test_a_save_alone_is_not_torn(tmp_path: Path) -> None:
    pair = Pair()
    saver = tf.train.Saver()
    assert saver.last_save is None
    with session() as sess:
        sess.run(pair.both)
        path = saver.save(sess, f"{tmp_path}/model")
    assert (saver.last_save.path, saver.last_save.torn) == (path, ())


def test_a_step_around_a_save_tears_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("tensorflow").propagate = True
    pair = Pair()
    other = tf.Variable(0.0, name="other")
    saver = tf.train.Saver()
    with session() as sess, beside(lambda: sess.run(pair.step)):
        assert pair.pause.reached.wait(30)
        path = saver.save(sess, f"{tmp_path}/model")
        assert values(path) == (1.0, 0.0)  # it is torn indeed
        assert saver.last_save.torn == ("a", "b")
        assert f"{path} may be torn: other steps wrote a, b while it was saved" in caplog.text
        caplog.clear()
        saver.save(sess, f"{tmp_path}/model")
        assert saver.last_save.torn and not caplog.text  # said once
        alone = tf.train.Saver([other])
        alone.save(sess, f"{tmp_path}/other")
        assert alone.last_save.torn == ()  # what the step writes is not in it
        pair.pause.go_on.set()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_step_within_a_save_tears_it(tmp_path: Path, asynchronous: bool) -> None:
    """The save is held up between two of its reads by an object that takes its time to be saved."""
    pair, pause = Pair(), Pause()
    slow = tf.train.BaseSaverBuilder.SaveableObject(
        None, [tf.train.BaseSaverBuilder.SaveSpec(pause.op(), "", "slow")], "slow"
    )
    slow.restore = lambda tensors, shapes: tf.no_op()
    saver = tf.train.Saver([pair.a, pair.b, slow], asynchronous=asynchronous)
    with session() as sess, beside(lambda: saver.save(sess, f"{tmp_path}/model")):
        assert pause.reached.wait(30)
        sess.run(pair.a.assign_add([1.0]).op)
        pause.go_on.set()
    saver.wait()
    assert saver.last_save.torn == ("a",)


@pytest.mark.parametrize("resource", [False, True])
def test_writes_in_bodies_and_by_optimizers_count(tmp_path: Path, resource: bool) -> None:
    with tf.variable_scope("", use_resource=resource):
        names = ("f", "l", "c", "t", "u")
        first, in_loop, in_branch, trained, untouched = (tf.get_variable(n, initializer=[1.0]) for n in names)
    pause = Pause()
    with tf.control_dependencies([first.assign_add([1.0])]):
        paused = pause.op()
    with tf.control_dependencies([paused]):
        looped = tf.while_loop(lambda i: i < 2, lambda i: _and_add(i + 1, in_loop), [0])
        branched = tf.cond(looped > 0, lambda: _and_add(1, in_branch), lambda: 0)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(trained * untouched), var_list=[trained])
    step = tf.group(looped, branched, train)
    saver = tf.train.Saver()
    with session() as sess, beside(lambda: sess.run(step)):
        assert pause.reached.wait(30)
        saver.save(sess, f"{tmp_path}/model")
        assert saver.last_save.torn == ("c", "f", "l", "t", "t/Momentum")
        pause.go_on.set()


def _and_add(result: Any, variable: Any) -> Any:
    with tf.control_dependencies([tf.assign_add(variable, [1.0])]):
        return tf.identity(result)


def test_other_sessions_of_a_worker_and_partial_runs(tmp_path: Path) -> None:
    server = tf.train.Server.create_local_server()
    pair = Pair()
    saver = tf.train.Saver()
    with tf.Session(server.target) as sess, tf.Session(server.target) as other:
        sess.run(tf.global_variables_initializer())
        with beside(lambda: other.run(pair.step)):
            assert pair.pause.reached.wait(30)
            saver.save(sess, f"{tmp_path}/model")
            assert saver.last_save.torn == ("a", "b")
            pair.pause.go_on.set()
        x = tf.placeholder(tf.float32, [1])
        update = pair.a.assign(x)
        handle = sess.partial_run_setup([update], [x])
        saver.save(sess, f"{tmp_path}/model")
        assert saver.last_save.torn == ()  # it does nothing at the moment
        sess.partial_run(handle, update, {x: [5.0]})
        assert not any(plan.running for plan in sess._master._plans.values())
        y = tf.placeholder(tf.float32, [1])
        handle = sess.partial_run_setup([update, y * 2.0], [x, y])
        sess.partial_run(handle, update, {x: [6.0]})
        saver.save(sess, f"{tmp_path}/model")
        assert saver.last_save.torn == ("a",)  # it is under way, and may write
        unfed = sess.partial_run_setup([pair.b.assign([1.0]), y * 3.0], [y])  # writes before anything is fed
        saver.save(sess, f"{tmp_path}/model")
        assert saver.last_save.torn == ("a", "b") and unfed != handle
    with tf.Session(server.target) as sess:
        saver.save(sess, f"{tmp_path}/model")
        assert saver.last_save.torn == ()  # runs that were not finished end with their session


# ---- a cut


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_consistent_save_waits_for_the_step(tmp_path: Path, asynchronous: bool) -> None:
    pair = Pair()
    saver = tf.train.Saver(consistent=True, asynchronous=asynchronous)
    with session() as sess, beside(lambda: sess.run(pair.step)):
        assert pair.pause.reached.wait(30)
        with beside(lambda: saver.save(sess, f"{tmp_path}/model")) as failed:
            while not sess._master.worker.writers.watched:
                pass
            with beside(lambda: sess.run(pair.both)):  # waits in turn for the save
                pair.pause.go_on.set()
        saver.wait()
        assert not failed
    assert saver.last_save.torn == ()
    first, second = values(f"{tmp_path}/model")
    assert first == second


def test_a_true_cut_under_fire(tmp_path: Path) -> None:
    """Threads increment both variables all the time; in every checkpoint they are equal."""
    pair = Pair(size=20000)
    saver = tf.train.Saver(consistent=True, max_to_keep=0)
    stop = threading.Event()
    with session() as sess:

        def increment() -> None:
            while not stop.is_set():
                sess.run(pair.both)

        with beside(increment), beside(increment):
            paths = [saver.save(sess, f"{tmp_path}/model", i, write_meta_graph=False) for i in range(8)]
            stop.set()
    seen = set()
    for path in paths:
        a, b = (tf.train.load_variable(path, name) for name in "ab")
        np.testing.assert_array_equal(a, b)
        assert (a == a[0]).all()
        seen.add(float(a[0]))
    assert len(seen) > 1


def test_a_step_that_waits_on_a_queue_is_named(tmp_path: Path) -> None:
    """The save gives up after its time, and everything goes on as if it had not been asked for."""
    v = tf.Variable(0.0, name="v")
    queue = tf.FIFOQueue(5, [tf.float32], [[]], name="numbers")
    with tf.control_dependencies([v.assign_add(1.0)]):
        number = queue.dequeue()
    add = v.assign_add(number, name="add_number")
    saver = tf.train.Saver(consistent=True, consistent_wait_secs=0.2)
    with session() as sess, beside(lambda: sess.run(add.op)):
        while "dequeue" not in sess.waiting().lower():
            pass
        with pytest.raises(errors.DeadlineExceededError) as raised:
            saver.save(sess, f"{tmp_path}/model")
        message = str(raised.value)
        assert "a consistent save waited 0.2 s for steps that write what it saves, and nothing was saved" in message
        assert (
            "add_number" in message
            and "test_saver_consistent.py:" in message
            and "FIFOQueue 'numbers' has 0" in message
        )
        assert not list(tmp_path.iterdir())
        sess.run(queue.enqueue(4.0))
    with session() as sess:
        sess.run(v.assign(3.0).op)
        assert tf.train.load_variable(saver.save(sess, f"{tmp_path}/model"), "v") == 3.0


def test_producers_go_on_while_a_step_is_waited_for(tmp_path: Path) -> None:
    """A step that fills a queue writes no variable: it is not held up, so the step that waits for it comes to its end."""
    v = tf.Variable(0.0, name="v")
    queue = tf.FIFOQueue(5, [tf.float32], [[]])
    with tf.control_dependencies([v.assign_add(1.0)]):
        number = queue.dequeue()
    add = v.assign_add(number).op
    enqueue = queue.enqueue(4.0)
    saver = tf.train.Saver(consistent=True)
    with session() as sess, beside(lambda: sess.run(add)):
        while "dequeue" not in sess.waiting().lower():
            pass
        with beside(lambda: saver.save(sess, f"{tmp_path}/model")):
            while not sess._master.worker.writers.watched:
                pass
            sess.run(enqueue)
    assert tf.train.load_variable(f"{tmp_path}/model", "v") == 5.0


def test_a_step_that_waits_before_it_writes_is_not_waited_for(tmp_path: Path) -> None:
    """It comes wholly after the cut, whenever it began."""
    v = tf.Variable(0.0, name="v")
    queue, pause = tf.FIFOQueue(5, [tf.float32], [[]]), Pause()
    add = v.assign_add(queue.dequeue()).op
    slow = tf.train.BaseSaverBuilder.SaveableObject(
        None, [tf.train.BaseSaverBuilder.SaveSpec(pause.op(), "", "slow")], "slow"
    )
    slow.restore = lambda tensors, shapes: tf.no_op()
    saver = tf.train.Saver([v, slow], consistent=True)
    with session() as sess, beside(lambda: sess.run(add)):
        while "dequeue" not in sess.waiting().lower():
            pass
        with beside(lambda: saver.save(sess, f"{tmp_path}/model")) as failed:
            assert pause.reached.wait(30)
            sess.run(queue.enqueue(4.0))
            while "a consistent save" not in sess.waiting():
                pass
            assert sess.run(v) == 0.0
            pause.go_on.set()
        assert not failed
    assert tf.train.load_variable(f"{tmp_path}/model", "v") == 0.0


def test_a_step_with_a_deadline_waits_no_longer(tmp_path: Path) -> None:
    pair, pause = Pair(), Pause()
    slow = tf.train.BaseSaverBuilder.SaveableObject(
        None, [tf.train.BaseSaverBuilder.SaveSpec(pause.op(), "", "slow")], "slow"
    )
    slow.restore = lambda tensors, shapes: tf.no_op()
    saver = tf.train.Saver([pair.a, slow], consistent=True)
    with session() as sess, beside(lambda: saver.save(sess, f"{tmp_path}/model")):
        assert pause.reached.wait(30)
        with pytest.raises(errors.DeadlineExceededError, match="waiting for a consistent save to read the variables"):
            sess.run(pair.both, options=tf.RunOptions(timeout_in_ms=50))
        sess.run(pair.b.assign([1.0]).op)  # not saved, so not held up
        pause.go_on.set()


def test_a_step_that_saves_what_it_writes(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    add = v.assign_add(1.0)
    with tf.control_dependencies([add]):
        save = tf.raw_ops.SaveV2(
            prefix=f"{tmp_path}/model", tensor_names=["v"], shape_and_slices=[""], tensors=[v.read_value()]
        )
    with session() as sess:
        sess.run(save)
    assert tf.train.load_variable(f"{tmp_path}/model", "v") == 2.0


@pytest.mark.parametrize(
    "options", [{"consistent": "yes"}, {"asynchronous": 1}, {"consistent_wait_secs": "60"}], ids=lambda o: next(iter(o))
)
def test_options_of_the_wrong_type(options: dict[str, object]) -> None:
    tf.Variable(1.0)
    with pytest.raises(TypeError, match=rf"{next(iter(options))} must be .*test_saver_consistent\.py"):
        tf.train.Saver(**options)
