"""Waiting is an event: asynchronous nodes hold no thread, blocking ones run beside each other, and all can be ended."""

import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.extend import op
from headrace.graph import raw_ops
from headrace.resources.state.queue.machine import QueueMachine
from headrace.resources.state.queue.queue import Queue
from headrace.resources.stepping import step as steps
from headrace.resources.stepping.attempt import Attempt, Ended
from headrace.resources.stepping.waiting import Done, Wait
from tests.resources.calls import poll

OFF = tf.ConfigProto(compile="off")
SHORT = tf.RunOptions(timeout_in_ms=200)
LONG = tf.RunOptions(timeout_in_ms=20_000)  # so that a test fails where a step would wait for ever


class Door:
    """What the test's op waits for: ``open`` lets all through with a value, each wait can be cancelled."""

    def __init__(self) -> None:
        self.waiting: list[Door.Wait] = []
        self.came = threading.Semaphore(0)
        self.cancelled: list[Exception] = []

    class Wait:
        def __init__(self, door: "Door", x, done) -> None:  # type: ignore[no-untyped-def]
            self.door, self.x, self.done = door, x, done

        def cancel(self, error: Exception) -> None:
            if self in self.door.waiting:
                self.door.waiting.remove(self)
                self.door.cancelled.append(error)
                self.done(None, error)

        def describe(self) -> str:
            return "the door is closed"

    def open(self, add: float = 0.0) -> None:
        waiting, self.waiting = self.waiting, []
        for wait in waiting:
            wait.done(wait.x + add, None)

    def fail(self, error: Exception) -> None:
        waiting, self.waiting = self.waiting, []
        for wait in waiting:
            wait.done(None, error)

    def come(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.came.acquire(timeout=10)


@pytest.fixture
def door() -> Iterator[Door]:
    door = Door()
    knock = op("TestKnock(x: T) -> (y: T)", asynchronous=True, stateful=True)
    knock.shape(lambda x: x)

    @knock.begin
    def _(x, *, done):  # type: ignore[no-untyped-def]
        wait = Door.Wait(door, x, done)
        door.waiting.append(wait)
        door.came.release()
        return wait

    at_once = op("TestPass(x: T) -> (y: T)", asynchronous=True, stateful=True)
    at_once.shape(lambda x: x)
    at_once.begin(lambda x, *, done: done(x, None))
    yield door
    REGISTRY.remove("TestKnock")
    REGISTRY.remove("TestPass")


def knock(x, name=None):  # type: ignore[no-untyped-def]
    return raw_ops.TestKnock(x, name=name)


class Background:
    """A run on another thread."""

    def __init__(self, run, *args, **kwargs) -> None:  # type: ignore[no-untyped-def]
        self.result = self.error = None

        def work() -> None:
            try:
                self.result = run(*args, **kwargs)
            except BaseException as e:  # noqa: BLE001
                self.error = e

        self.thread = threading.Thread(target=work)
        self.thread.start()

    def join(self):  # type: ignore[no-untyped-def]
        self.thread.join(10)
        assert not self.thread.is_alive(), "the run hangs"
        return self.result


def test_python_functions_of_one_step_run_beside_each_other(interpreted: tf.Session) -> None:
    barrier = threading.Barrier(2, timeout=10)
    first, second = (tf.py_func(lambda: np.int64(barrier.wait()), [], tf.int64) for _ in range(2))
    assert sorted(interpreted.run([first, second])) == [0, 1]  # one after the other, the first would wait for ever


def test_what_is_ready_runs_while_others_wait(interpreted: tf.Session, door: Door) -> None:
    x = tf.constant([1.0, 2.0])
    seen = []
    beside = tf.py_func(lambda v: seen.append(v.sum()) or door.open(10.0) or v, [x], tf.float32)
    waited, also = interpreted.run([knock(x) * 2.0, beside])
    assert waited.tolist() == [22.0, 24.0] and seen == [3.0] and also.tolist() == [1.0, 2.0]


def test_an_op_may_be_over_before_it_has_begun(interpreted: tf.Session, door: Door) -> None:
    assert interpreted.run(raw_ops.TestPass(tf.constant(3.0)) + 1.0) == 4.0


def test_a_thousand_waits_hold_no_thread(door: Door) -> None:
    x = tf.placeholder(tf.float32, [])
    total = tf.add_n([knock(x + float(i)) for i in range(1000)])
    with tf.Session(config=OFF) as sess:
        before = threading.active_count()
        run = Background(sess.run, total, {x: 1.0})
        door.come(1000)
        assert threading.active_count() - before == 1  # the one that called run
        assert sess.waiting().count("the door is closed") == 1000
        door.open()
        assert run.join() == 1000 + sum(range(1000))
        assert sess.waiting() == ""


class TestEnds:
    def test_a_deadline(self, door: Door) -> None:
        with tf.Session(config=OFF) as sess:
            y = knock(tf.constant(1.0), name="knock")
            with pytest.raises(tf.errors.DeadlineExceededError, match="ran out of time") as caught:
                sess.run(y, options=SHORT)
            assert "knock (TestKnock made at" in str(caught.value) and "test_waits.py" in str(caught.value)
            assert "the door is closed" in str(caught.value)
        assert len(door.cancelled) == 1 and not door.waiting

    def test_a_deadline_of_a_callable(self, interpreted: tf.Session, door: Door) -> None:
        call = interpreted.make_callable(knock(tf.constant(1.0)), accept_options=True)
        with pytest.raises(tf.errors.DeadlineExceededError, match="ran out of time"):
            call(options=SHORT)
        with pytest.raises(TypeError, match=r"RunOptions, but got int .*test_waits"):
            call(options=3)
        with pytest.raises(TypeError, match=r"only options and run_metadata by keyword, got \['timeout'\]"):
            call(timeout=3)
        with pytest.raises(TypeError, match="no keyword arguments"):
            interpreted.make_callable(tf.constant(1.0))(options=SHORT)

    def test_the_sessions_own_timeout(self, door: Door) -> None:
        config = tf.ConfigProto(compile="off", operation_timeout_in_ms=100)
        raises = pytest.raises(tf.errors.DeadlineExceededError, match="operation_timeout_in_ms")
        with tf.Session(config=config) as sess, raises:
            sess.run(knock(tf.constant(1.0)))

    def test_a_deadline_does_not_wait_for_a_python_function(self, interpreted: tf.Session) -> None:
        release = threading.Event()
        y = tf.py_func(lambda: release.wait(20) and np.float32(1), [], tf.float32)
        with pytest.raises(tf.errors.DeadlineExceededError, match="waits: its Python function runs"):
            interpreted.run(y, options=SHORT)
        release.set()

    def test_closing_the_session(self, door: Door) -> None:
        sess = tf.Session(config=OFF)
        runs = [Background(sess.run, knock(tf.constant(float(i)))) for i in range(3)]
        door.come(3)
        start = time.monotonic()
        sess.close()
        for run in runs:
            run.join()
            assert isinstance(run.error, tf.errors.CancelledError) and "session was closed" in str(run.error)
        assert time.monotonic() - start < 1.0 and len(door.cancelled) == 3

    def test_closing_ends_a_loop_that_computes(self) -> None:
        begun = threading.Event()
        tell = tf.py_func(lambda: begun.set() or np.float32(0), [], tf.float32)
        sess = tf.Session(config=OFF)
        run = Background(sess.run, tf.while_loop(lambda i: i < 2.0, lambda i: i * 1.0, [tell]))
        assert begun.wait(10)
        sess.close()
        run.join()
        assert isinstance(run.error, tf.errors.CancelledError)

    def test_an_error_elsewhere_in_the_step(self, door: Door) -> None:
        bad = tf.py_func(lambda: 1 / 0, [], tf.float32, name="bad")
        with tf.Session(config=OFF) as sess, pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError"):
            sess.run([knock(tf.constant(1.0)), bad])
        assert len(door.cancelled) == 1 and "ended by another error" in str(door.cancelled[0])

    def test_an_error_of_what_waits_names_the_node(self, interpreted: tf.Session, door: Door) -> None:
        y = knock(tf.constant([1.0, 2.0]), name="knock")
        run = Background(interpreted.run, y)
        door.come()
        door.fail(tf.errors.OutOfRangeError(None, None, "nobody home"))
        run.join()
        assert isinstance(run.error, tf.errors.OutOfRangeError) and run.error.op is y.op
        assert "nobody home" in run.error.message and "[[node knock (TestKnock) made at" in run.error.message

    def test_ctrl_c(self, door: Door) -> None:
        with tf.Session(config=OFF) as sess:
            y = knock(tf.constant(1.0))
            timer = threading.Timer(0.2, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                sess.run(y)
            timer.join()
            assert len(door.cancelled) == 1
            run = Background(sess.run, y)  # the session goes on
            door.come(2)
            door.open()
            assert run.join() == 1.0

    def test_ctrl_c_in_the_code_of_a_queue_harms_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        queue = tf.FIFOQueue(10, [tf.float32], [[]])
        put, take = queue.enqueue(1.0), queue.dequeue()
        original = QueueMachine._advance
        with tf.Session(config=OFF) as sess:
            run = Background(sess.run, take)
            while not sess.waiting():
                time.sleep(0.001)

            def interrupted(machine: QueueMachine) -> Ended:
                signal.raise_signal(signal.SIGINT)
                return original(machine)

            monkeypatch.setattr(QueueMachine, "_advance", interrupted)
            with pytest.raises(KeyboardInterrupt):
                sess.run(put)
            monkeypatch.undo()
            assert run.join() == 1.0
            sess.run(put)
            assert sess.run(take) == 1.0

    @pytest.mark.parametrize("control_flow", ["auto", "lowered"])
    def test_ctrl_c_ends_a_loop_beside_a_wait(self, door: Door, control_flow: str) -> None:
        """What computes for ever can be interrupted though the step also waits."""
        start = knock(tf.constant(0.0))
        loop = tf.while_loop(lambda i: True, lambda i: i + 1.0, [start])
        config = tf.ConfigProto(compile="off", control_flow=control_flow)
        with tf.Session(config=config) as sess:

            def later() -> None:
                door.come()
                door.open()
                time.sleep(0.2)
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

            helper = threading.Thread(target=later)
            helper.start()
            with pytest.raises(KeyboardInterrupt):
                sess.run(loop)
            helper.join()


def test_an_element_taken_before_the_step_was_cancelled_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is over before its thread has heard that it got an element."""
    queue = tf.FIFOQueue(10, [tf.float32], [[]])
    put, take = queue.enqueue(1.0), queue.dequeue()
    with tf.Session(config=OFF) as sess:
        sess.run(put)
        dequeue = Queue.dequeue

        def then_over(self: Queue, done: Done) -> Wait | None:
            wait = dequeue(self, done)
            for step in sess._master.registered.steps._running.copy():
                step.cancel(tf.errors.CancelledError(None, None, "too late"))
            return wait

        monkeypatch.setattr(Queue, "dequeue", then_over)
        assert sess.run(take) == 1.0


def test_an_element_taken_at_the_deadline_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The element comes after the step ran out of time, and before its wait is cancelled."""
    queue = tf.FIFOQueue(10, [tf.float32], [[]])
    put, take = queue.enqueue(1.0), queue.dequeue()
    with tf.Session(config=OFF) as sess:
        cancel = Queue.cancel

        def after_an_element(self: Queue, attempt: Attempt, error: Exception) -> None:
            Background(sess.run, put).join()
            cancel(self, attempt, error)

        monkeypatch.setattr(Queue, "cancel", after_an_element)
        assert sess.run(take, options=tf.RunOptions(timeout_in_ms=20)) == 1.0
        sess.run(put)
        assert sess.run(take) == 1.0


def test_a_step_that_waits_for_long_says_so_once(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(steps, "REPORT_AFTER", 0.05)
    with tf.Session(config=OFF) as sess, caplog.at_level("WARNING", "headrace.step"):
        run = Background(sess.run, knock(tf.constant(1.0), name="knock"))
        door.come()
        while not caplog.records:
            time.sleep(0.005)
        time.sleep(0.2)  # for a second one
        door.open()
        run.join()
    (record,) = caplog.records
    assert "knock (TestKnock made at" in record.message and "waits: the door is closed" in record.message


class TestInBodies:
    def test_a_branch(self, door: Door) -> None:
        p = tf.placeholder(tf.bool, [])
        y = tf.cond(p, lambda: knock(tf.constant(1.0)) + 1.0, lambda: tf.constant(5.0))
        with tf.Session(config=OFF) as sess:
            assert sess.run(y, {p: False}) == 5.0
            run = Background(sess.run, y, {p: True})
            door.come()
            door.open(1.0)
            assert run.join() == 3.0
            with pytest.raises(tf.errors.DeadlineExceededError, match=r"TestKnock made at .*: the door is closed"):
                sess.run(y, {p: True}, options=SHORT)

    def test_a_branch_leaves_the_rest_of_its_step_running(self, interpreted: tf.Session) -> None:
        queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]])
        p = tf.placeholder(tf.bool, [])
        taken = tf.cond(p, lambda: queue.dequeue() * 2.0, lambda: tf.constant(-1.0))
        _, summed = tf.while_loop(
            lambda i, s: i < 2, lambda i, s: (i + 1, s + queue.dequeue()), [0, 0.0], parallel_iterations=1
        )
        put = queue.enqueue(7.0)
        many = queue.enqueue_many([[1.0, 2.0]])
        assert interpreted.run([taken, put], {p: True}, options=LONG)[0] == 14.0
        assert interpreted.run([summed, many], options=LONG)[0] == 3.0

    def test_a_branch_waits_outside_the_gate(self) -> None:
        queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]])
        p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
        taken = tf.cond(p, lambda: queue.dequeue(), lambda: tf.constant(-1.0))
        put = queue.enqueue(x * 2.0)
        with tf.Session(config=tf.ConfigProto(compile="off", inter_op_parallelism_threads=1)) as sess:
            run = Background(sess.run, taken, {p: True})
            poll(lambda: "has 0 of 2 elements" in sess.waiting())
            sess.run(put, {x: 4.0}, options=LONG)
            assert run.join() == 8.0

    def test_an_error_beside_a_branch_ends_it(self, interpreted: tf.Session, door: Door) -> None:
        p = tf.placeholder(tf.bool, [])
        y = tf.cond(p, lambda: knock(tf.constant(1.0)), lambda: tf.constant(5.0), name="choice")

        def fail() -> None:
            door.come()
            raise ValueError("the disk is full")

        with pytest.raises(tf.errors.InvalidArgumentError, match="the disk is full"):
            interpreted.run([y, tf.py_func(fail, [], [])], {p: True})
        assert len(door.cancelled) == 1 and not door.waiting
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"choice.* \(If made at .*test_waits"):
            interpreted.run(y, {p: True}, options=SHORT)

    @pytest.mark.parametrize("parallel", [1, 10])
    @pytest.mark.parametrize("control_flow", ["auto", "lowered"])
    def test_a_loop(self, door: Door, parallel: int, control_flow: str) -> None:
        _, y = tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, knock(y) + 1.0), [0, 0.0], parallel_iterations=parallel
        )
        with tf.Session(config=tf.ConfigProto(compile="off", control_flow=control_flow)) as sess:
            run = Background(sess.run, y)
            for _ in range(3):
                door.come()
                door.open()
            assert run.join() == 3.0
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(y, options=SHORT)
        assert not door.waiting

    def test_a_function(self, interpreted: tf.Session, door: Door) -> None:
        @tf.function
        def f(x):  # type: ignore[no-untyped-def]
            return knock(x) * 2.0

        run = Background(interpreted.run, f(tf.constant(2.0)))
        door.come()
        door.open()
        assert run.join() == 4.0

    def test_eager(self, door: Door) -> None:
        with tf.eager_mode():
            assert raw_ops.TestPass(tf.constant(2.0)).numpy() == 2.0


def test_partial_runs_wait_too(interpreted: tf.Session, door: Door) -> None:
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    waited = knock(a)
    total = waited + b
    handle = interpreted.partial_run_setup([waited, total], [a, b])
    run = Background(interpreted.partial_run, handle, waited, {a: 1.0})
    door.come()
    door.open(1.0)
    assert run.join() == 2.0
    assert interpreted.partial_run(handle, total, {b: 5.0}) == 7.0


def test_strands_between_waits_compile_for_the_shapes_they_get() -> None:
    rows = [4]
    w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
    x = tf.py_func(lambda: np.ones((rows[0], 3), np.float32), [], tf.float32)
    x.set_shape([None, 3])
    loss = tf.reduce_sum(tf.nn.relu(tf.matmul(x, w)) ** 2.0)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with tf.Session(config=tf.ConfigProto(compile="always")) as sess:
        sess.run(tf.global_variables_initializer())
        results = [sess.run([loss, train])[0] for _ in range(2)]
        (tier,) = [p.plan.variants for plan in sess._master._plans.values() for p in plan.parts if p.plan is not None]
        assert [p.regions for p in tier.compiled.values()] == [1] and next(iter(tier.compiled)) == ((4, 3),)
    assert results[0] == 72.0 and results[1] < results[0]


def test_variables_are_read_before_a_wait_and_written_after(interpreted: tf.Session, door: Door) -> None:
    v = tf.get_variable("v", initializer=1.0)
    before = v.read_value()
    with tf.control_dependencies([before]):
        waited = knock(tf.constant(0.0))
    with tf.control_dependencies([waited]):
        write = tf.assign(v, 5.0)
    interpreted.run(v.initializer)
    run = Background(interpreted.run, [before, before * 2.0 + waited, write])
    door.come()
    door.open()
    assert run.join() == [1.0, 2.0, 5.0]


def test_another_step_may_write_meanwhile(interpreted: tf.Session, door: Door) -> None:
    v = tf.get_variable("v", initializer=1.0)
    before = tf.identity(v)
    with tf.control_dependencies([before]):
        waited = knock(tf.constant(0.0))
    late = tf.identity(v)
    interpreted.run(v.initializer)
    write = tf.assign(v, 5.0)
    run = Background(interpreted.run, [before + waited, late * 1.0 + waited])
    door.come()
    interpreted.run(write)
    door.open()
    first, second = run.join()
    assert first == 1.0 and second in (1.0, 5.0)  # the second read is not ordered
