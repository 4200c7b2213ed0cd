"""QueueRunner with real queues: back-pressure, the end of the input, errors, stops, messages."""

from __future__ import annotations

import threading

import pytest

import headrace as tf

pytestmark = pytest.mark.skipif(not hasattr(tf, "FIFOQueue"), reason="there are no queues yet")
GRACE_S = 20.0
"""How long threads may take to end."""


def counted(limit: int, threads: int = 1, capacity: int = 3) -> tuple[tf.FIFOQueue, tf.train.QueueRunner]:
    """A queue of the numbers below ``limit``, each once, and its runner."""
    count = tf.Variable(0, name="count")
    queue = tf.FIFOQueue(capacity, [tf.int32], shapes=[[]], name="numbers")
    enqueue = queue.enqueue([tf.count_up_to(count, limit)])
    return queue, tf.train.QueueRunner(queue, [enqueue] * threads)


def drained(session: tf.Session, queue: tf.FIFOQueue, coord: tf.train.Coordinator) -> list[int]:
    """What is dequeued until the queue says that there is no more; stops the coordinator then."""
    dequeue, numbers = queue.dequeue(), []
    with coord.stop_on_exception():
        while not coord.should_stop():
            numbers.append(int(session.run(dequeue)))
    return numbers


def test_what_it_is_made_of() -> None:
    queue, runner = counted(3)
    assert runner.name == "numbers" and runner.queue is queue
    assert (runner.close_op.type, runner.close_op.get_attr("cancel_pending_enqueues")) == ("QueueCloseV2", False)
    assert (runner.cancel_op.type, runner.cancel_op.get_attr("cancel_pending_enqueues")) == ("QueueCloseV2", True)
    assert (runner.close_op.name, runner.cancel_op.name) == ("numbers_Close", "numbers_Close_1")


@pytest.mark.parametrize("threads", [1, 4])
def test_every_element_arrives_once(session: tf.Session, coord: tf.train.Coordinator, threads: int) -> None:
    queue, runner = counted(50, threads)
    tf.train.add_queue_runner(runner)
    session.run(tf.global_variables_initializer())
    tf.train.start_queue_runners(coord=coord)
    numbers = drained(session, queue, coord)
    coord.join(stop_grace_period_secs=GRACE_S)
    assert sorted(numbers) == list(range(50))
    if threads == 1:
        assert numbers == sorted(numbers)
    assert runner.exceptions_raised == []


def test_a_stop_ends_enqueues_that_wait(session: tf.Session, coord: tf.train.Coordinator) -> None:
    queue, runner = counted(10**9, threads=4, capacity=1)
    session.run(tf.global_variables_initializer())
    runner.create_threads(session, coord, start=True)
    session.run(queue.dequeue())
    coord.request_stop()
    coord.join(stop_grace_period_secs=GRACE_S)
    assert session.run(queue.is_closed())
    assert runner.exceptions_raised == []


def test_an_error_reaches_join(session: tf.Session, coord: tf.train.Coordinator) -> None:
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]])

    def read() -> int:
        raise ValueError("a broken file")

    runner = tf.train.QueueRunner(queue, [queue.enqueue([tf.py_func(read, [], tf.int32)])])
    runner.create_threads(session, coord, start=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a broken file"):
        coord.join(stop_grace_period_secs=GRACE_S)
    assert session.run(queue.is_closed())


def test_the_one_who_empties_it_fails(session: tf.Session, coord: tf.train.Coordinator) -> None:
    _, runner = counted(10**9, threads=2)
    session.run(tf.global_variables_initializer())
    runner.create_threads(session, coord, start=True)
    with coord.stop_on_exception():
        raise KeyError("train")
    with pytest.raises(KeyError, match="train"):
        coord.join(stop_grace_period_secs=GRACE_S)


def test_closing_the_session_ends_the_threads(coord: tf.train.Coordinator) -> None:
    queue, runner = counted(10**9, threads=2, capacity=1)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    runner.create_threads(session, coord, start=True)
    session.run(queue.dequeue())
    session.close()
    with pytest.raises(tf.errors.CancelledError):
        coord.join(stop_grace_period_secs=GRACE_S)


def test_two_sessions_have_a_queue_each(session: tf.Session, coord: tf.train.Coordinator) -> None:
    queue, runner = counted(5)
    with tf.Session() as other:
        for one in (session, other):
            one.run(tf.global_variables_initializer())
            runner.create_threads(one, coord, start=True)
        for one in (session, other):
            assert [int(one.run(queue.dequeue())) for _ in range(5)] == list(range(5))
        coord.request_stop()
        coord.join(stop_grace_period_secs=GRACE_S)


def test_a_message_finds_the_queue(session: tf.Session, coord: tf.train.Coordinator) -> None:
    with tf.name_scope("input"):
        queue, runner = counted(5)
    message = runner.to_proto(export_scope="input")
    assert (message.queue_name, list(message.enqueue_op_name)) == ("numbers", ["numbers_enqueue"])
    again = tf.train.QueueRunner.from_proto(message, import_scope="input")
    assert again.queue.name == queue.name == "input/numbers"
    session.run(tf.global_variables_initializer())
    again.create_threads(session, coord, start=True)
    assert sorted(drained(session, queue, coord)) == list(range(5))
    coord.join(stop_grace_period_secs=GRACE_S)


def test_no_thread_is_left(session: tf.Session, coord: tf.train.Coordinator) -> None:
    before = set(threading.enumerate())
    queue, runner = counted(20, threads=8)
    session.run(tf.global_variables_initializer())
    threads = runner.create_threads(session, coord, start=True)
    drained(session, queue, coord)
    coord.join(stop_grace_period_secs=GRACE_S)
    assert not any(thread.is_alive() for thread in threads)
    assert not {t for t in threading.enumerate() if t.name.startswith("QueueRunner")} - before


def test_when_the_only_runner_dies_the_steps_that_wait_for_it_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    queue = tf.FIFOQueue(5, tf.float32, [[]])
    bad = queue.enqueue(tf.string_to_number(tf.constant("no number")))
    taken = queue.dequeue()
    runner = tf.train.QueueRunner(queue, [bad, bad])
    with tf.Session(config=tf.ConfigProto(compile="off")) as sess:
        for thread in runner.create_threads(sess, start=True):
            thread.join(20)
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            sess.run(taken, options=tf.RunOptions(timeout_in_ms=20_000))
    assert all(isinstance(e, tf.errors.InvalidArgumentError) for e in runner.exceptions_raised)
