"""QueueRunner with a queue that Python functions play: threads, ends, errors, sessions, messages.

All as in TensorFlow, except the messages of bad uses.  Real queues are in test_queue_runner_queue.py.
"""

from __future__ import annotations

import gc
import importlib
import pickle
import threading
import weakref
from collections.abc import Callable

import pytest

import headrace as tf
from headrace import tensorflow as alias

QueueRunner = tf.train.QueueRunner
LIMIT_S = 20.0
"""No wait of a test takes longer."""


class PlayedQueue:
    """Ops of a queue that do no more than say that they ran.

    ``enqueues`` is called by the enqueue ops with the number of the call; what it raises is the op's error.
    """

    def __init__(self, enqueues: Callable[[int], None] = lambda number: None, name: str = "played") -> None:
        self.queue_ref = tf.constant(0, name=name)
        self.name = self.queue_ref.op.name
        self.count = 0
        self.closed: list[bool] = []  # cancel_pending_enqueues of every close
        self._enqueues = enqueues
        self._lock = threading.Lock()

    def enqueue(self, name: str = "enqueue") -> tf.Operation:
        def run() -> None:
            with self._lock:
                self.count += 1
                number = self.count
            self._enqueues(number)

        return tf.py_func(run, [], [], name=name)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> tf.Operation:
        return tf.py_func(
            lambda: self.closed.append(cancel_pending_enqueues), [], [], name=name or f"{self.name}_Close"
        )


def ends_after(limit: int) -> Callable[[int], None]:
    """The input has that many elements."""

    def enqueues(number: int) -> None:
        if number > limit:
            raise StopIteration(f"no more than {limit}")

    return enqueues


def fails(number: int) -> None:
    raise ValueError("a broken file")


def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(LIMIT_S)
        assert not thread.is_alive()


class TestMade:
    def test_from_a_queue(self) -> None:
        queue = PlayedQueue()
        op = queue.enqueue()
        runner = QueueRunner(queue, [op, op])
        assert runner.queue is queue and runner.name == "played"
        assert runner.enqueue_ops == [op, op]
        assert (runner.close_op.name, runner.cancel_op.name) == ("played_Close", "played_Close_1")
        assert runner.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
        assert runner.exceptions_raised == []

    def test_closing_ops_that_are_passed_are_not_made(self) -> None:
        queue, op = PlayedQueue(), tf.no_op("close_it")
        assert QueueRunner(queue, [queue.enqueue()], close_op=op).close_op is op
        assert QueueRunner(queue, [queue.enqueue()], cancel_op=op).cancel_op is op
        count = len(tf.get_default_graph().get_operations())
        QueueRunner(queue, [op], op, op)
        assert len(tf.get_default_graph().get_operations()) == count

    def test_names(self) -> None:
        assert tf.train.queue_runner.QueueRunner is QueueRunner
        assert tf.train.queue_runner.add_queue_runner is tf.train.add_queue_runner
        assert tf.train.queue_runner.start_queue_runners is tf.train.start_queue_runners


class TestThreads:
    def test_names_and_daemons(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        queue = PlayedQueue()
        runner = QueueRunner(queue, [queue.enqueue("a"), queue.enqueue("b")])
        threads = runner.create_threads(session, coord, daemon=True)
        names = ["QueueRunnerThread-played-a", "QueueRunnerThread-played-b", "QueueRunnerThread-played-close_on_stop"]
        assert [thread.name for thread in threads] == names
        assert all(thread.daemon and not thread.is_alive() for thread in threads)
        with tf.Session() as other:
            alone = runner.create_threads(other)
        assert [thread.name for thread in alone] == names[:2]
        assert not any(thread.daemon for thread in alone)

    @pytest.mark.parametrize("count", [1, 3])
    def test_the_last_thread_closes_the_queue(
        self, session: tf.Session, coord: tf.train.Coordinator, count: int
    ) -> None:
        queue = PlayedQueue(ends_after(5))
        runner = QueueRunner(queue, [queue.enqueue() for _ in range(count)])
        threads = runner.create_threads(session, coord, start=True)
        join(threads[:-1])
        assert queue.closed == [False] and queue.count == 5 + count
        assert not coord.should_stop()  # the one who empties the queue will see that it is closed
        coord.request_stop()
        coord.join()
        assert queue.closed == [False, True]
        assert runner.exceptions_raised == []

    def test_without_a_coordinator(self, session: tf.Session) -> None:
        queue = PlayedQueue(ends_after(5))
        threads = QueueRunner(queue, [queue.enqueue(), queue.enqueue()]).create_threads(session, start=True)
        join(threads)
        assert queue.closed == [False] and queue.count == 7

    def test_a_stop_cancels(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        ran = threading.Event()
        queue = PlayedQueue(lambda number: ran.set())
        runner = QueueRunner(queue, [queue.enqueue(), queue.enqueue()])
        runner.create_threads(session, coord, start=True)
        assert ran.wait(LIMIT_S)
        coord.request_stop()
        coord.join(stop_grace_period_secs=LIMIT_S)
        assert queue.closed == [True]

    def test_a_stop_before_the_start(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        queue = PlayedQueue()
        coord.request_stop()
        QueueRunner(queue, [queue.enqueue()]).create_threads(session, coord, start=True)
        coord.join()
        assert queue.count == 0 and queue.closed == [True]

    def test_other_errors_can_mean_the_end(self, session: tf.Session) -> None:
        queue = PlayedQueue(fails)
        types = (tf.errors.InvalidArgumentError, tf.errors.CancelledError)
        runner = QueueRunner(queue, [queue.enqueue()], queue_closed_exception_types=types)
        assert runner.queue_closed_exception_types == types
        join(runner.create_threads(session, start=True))
        assert queue.closed == [False] and runner.exceptions_raised == []

    @pytest.mark.parametrize("op", ["close_op", "cancel_op"])
    def test_errors_of_the_closing_ops_are_ignored(
        self, session: tf.Session, coord: tf.train.Coordinator, op: str
    ) -> None:
        queue = PlayedQueue(ends_after(0))
        runner = QueueRunner(queue, [queue.enqueue()], **{op: tf.py_func(lambda: fails(0), [], [])})
        threads = runner.create_threads(session, coord, start=True)
        join(threads[:-1])
        coord.request_stop()
        coord.join()
        assert queue.closed == [op == "close_op"]


class TestErrors:
    def test_an_error_reaches_join(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        queue = PlayedQueue(fails)
        runner = QueueRunner(queue, [queue.enqueue("reads"), queue.enqueue()])
        threads = runner.create_threads(session, coord, start=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="a broken file") as error:
            coord.join(threads)
        assert error.value.op.name in ("reads", "enqueue")
        assert "run at thread QueueRunnerThread-" in str(error.value)  # there is no line of the user's
        assert runner.exceptions_raised == []  # the coordinator has it
        assert queue.closed == [True]

    def test_the_end_of_the_input_under_another_rule_stops_cleanly(
        self, session: tf.Session, coord: tf.train.Coordinator
    ) -> None:
        queue = PlayedQueue(ends_after(3))
        runner = QueueRunner(queue, [queue.enqueue()], queue_closed_exception_types=(tf.errors.CancelledError,))
        runner.create_threads(session, coord, start=True)
        coord.join()
        assert coord.should_stop() and queue.closed == [True]

    def test_without_a_coordinator_it_is_kept_logged_and_raised_in_the_thread(
        self, session: tf.Session, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        uncaught = []
        monkeypatch.setattr(threading, "excepthook", lambda args: uncaught.append(args.exc_value))
        queue = PlayedQueue(lambda number: fails(number) if number <= 2 else ends_after(0)(number))
        runner = QueueRunner(queue, [queue.enqueue(), queue.enqueue()])
        join(runner.create_threads(session, start=True))
        assert [type(error) for error in runner.exceptions_raised] == [tf.errors.InvalidArgumentError] * 2
        assert uncaught == runner.exceptions_raised
        assert caplog.text.count("Exception in QueueRunner") == 2
        assert queue.closed == [True]  # by the last one: nobody else would
        threads = runner.create_threads(session, start=True)
        assert runner.exceptions_raised == []  # those of the threads that there are now
        join(threads)
        assert queue.closed == [True, False]


class TestSessions:
    def test_no_second_set_of_threads_while_one_runs(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        queue = PlayedQueue()
        runner = QueueRunner(queue, [queue.enqueue()])
        with tf.Session() as other:
            assert len(runner.create_threads(session, coord, start=True)) == 2
            assert runner.create_threads(session, coord, start=True) == []
            assert len(runner.create_threads(other, coord, start=True)) == 2
            coord.request_stop()
            coord.join()
        coord.clear_stop()
        assert len(runner.create_threads(session, coord, start=True)) == 2
        coord.request_stop()
        coord.join()

    def test_threads_that_were_not_started_count(self, session: tf.Session) -> None:
        queue = PlayedQueue()
        runner = QueueRunner(queue, [queue.enqueue()])
        assert len(runner.create_threads(session)) == 1
        assert runner.create_threads(session) == []

    def test_a_runner_keeps_no_session(self, coord: tf.train.Coordinator) -> None:
        queue = PlayedQueue()
        runner = QueueRunner(queue, [queue.enqueue()])
        session = tf.Session()
        threads = runner.create_threads(session, coord, start=True)
        coord.request_stop()
        coord.join(threads)
        session.close()
        gone = weakref.ref(session)
        del session, threads
        gc.collect()
        assert gone() is None

    def test_a_session_closed_before(self, coord: tf.train.Coordinator) -> None:
        queue = PlayedQueue()
        runner = QueueRunner(queue, [queue.enqueue()])
        session = tf.Session()
        session.close()
        runner.create_threads(session, coord, start=True)
        with pytest.raises(
            tf.errors.CancelledError, match="closed while the runner of queue 'played' .*'enqueue'"
        ) as error:
            coord.join(stop_grace_period_secs=LIMIT_S)
        assert error.value.op is runner.enqueue_ops[0]
        assert "test_queue_runner.py" in str(error.value)
        assert queue.closed == []

    def test_a_session_closed_while_threads_run(self, coord: tf.train.Coordinator) -> None:
        ran = threading.Event()
        queue = PlayedQueue(lambda number: ran.set())
        session = tf.Session()
        QueueRunner(queue, [queue.enqueue(), queue.enqueue()]).create_threads(session, coord, start=True)
        assert ran.wait(LIMIT_S)
        session.close()
        with pytest.raises(tf.errors.CancelledError):
            coord.join(stop_grace_period_secs=LIMIT_S)
        assert queue.closed == []

    def test_a_session_of_another_graph(self, coord: tf.train.Coordinator) -> None:
        queue = PlayedQueue()
        runner = QueueRunner(queue, [queue.enqueue()])
        with tf.Graph().as_default():
            tf.no_op()
            with tf.Session() as session:
                runner.create_threads(session, coord, start=True)
                with pytest.raises(ValueError, match="not an element of this graph"):
                    coord.join(stop_grace_period_secs=LIMIT_S)


class TestCollection:
    def test_add_and_start(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        queue, other = PlayedQueue(), PlayedQueue(name="other")
        runner = QueueRunner(queue, [queue.enqueue()])
        tf.train.add_queue_runner(runner)
        tf.train.add_queue_runner(QueueRunner(other, [other.enqueue()]), "mine")
        assert tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS) == [runner]
        threads = tf.train.start_queue_runners(coord=coord)  # in the default session
        assert [thread.name for thread in threads] == [
            "QueueRunnerThread-played-enqueue", "QueueRunnerThread-played-close_on_stop",
        ]  # fmt: skip
        assert all(thread.daemon for thread in threads)
        assert tf.train.start_queue_runners(coord=coord) == []
        mine = tf.train.start_queue_runners(session, coord, daemon=False, start=False, collection="mine")
        assert [(thread.daemon, thread.is_alive()) for thread in mine] == [(False, False)] * 2
        coord.request_stop()
        coord.join(threads)
        assert queue.closed == [True] and other.count == 0

    def test_the_graph_is_the_session_s(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        queue = PlayedQueue()
        tf.train.add_queue_runner(QueueRunner(queue, [queue.enqueue()]))
        with tf.Graph().as_default():
            assert len(tf.train.start_queue_runners(session, coord)) == 2
        coord.request_stop()
        coord.join()

    def test_nothing_to_start(self, session: tf.Session, caplog: pytest.LogCaptureFixture) -> None:
        assert tf.train.start_queue_runners() == []
        assert "the collection 'queue_runners' is empty (at " in caplog.text
        assert "test_queue_runner.py" in caplog.text


class TestMessage:
    def scoped(self) -> QueueRunner:
        with tf.name_scope("input"):
            queue = PlayedQueue()
            types = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
            with tf.name_scope(None):
                close = queue.close(name="closes")
            return QueueRunner(queue, [queue.enqueue("a"), queue.enqueue("b")], close, queue.close(True, "c"), types)

    def test_there_and_back(self) -> None:
        runner = self.scoped()
        message = runner.to_proto()
        again = QueueRunner.from_proto(message)
        assert again.queue is runner.queue.queue_ref.op and again.name == runner.name
        assert again.enqueue_ops == runner.enqueue_ops
        assert (again.close_op, again.cancel_op) == (runner.close_op, runner.cancel_op)
        assert again.queue_closed_exception_types == runner.queue_closed_exception_types
        assert again.exceptions_raised == []
        assert again.to_proto() == message

    def test_the_message_is_tensorflow_s(self) -> None:
        """These bytes are what TensorFlow writes for such a runner."""
        queue = PlayedQueue(name="fq")
        ops = queue.enqueue("fq_enqueue"), queue.close(name="fq_Close"), queue.close(True, "fq_Close_1")
        message = QueueRunner(queue, [ops[0]], *ops[1:]).to_proto()
        data = b'\n\x02fq\x12\nfq_enqueue\x1a\x08fq_Close"\nfq_Close_1*\x01\x0b'
        assert message.SerializeToString() == data
        assert type(message).FromString(data) == message == pickle.loads(pickle.dumps(message))
        assert message.DESCRIPTOR.full_name == "tensorflow.QueueRunnerDef"
        assert str(message).splitlines()[-1] == "queue_closed_exception_types: OUT_OF_RANGE"

    @pytest.mark.parametrize("scope", ["input", "input/"])
    def test_export_scope(self, scope: str) -> None:
        runner = self.scoped()
        message = runner.to_proto(export_scope=scope)
        assert (message.queue_name, list(message.enqueue_op_name)) == ("played", ["a", "b"])
        assert (message.close_op_name, message.cancel_op_name) == ("closes", "c")  # the first is outside
        assert runner.to_proto(export_scope="inp") is None
        assert runner.to_proto(export_scope="other") is None
        assert runner.to_proto(export_scope="") == runner.to_proto()

    @pytest.mark.parametrize("scope", ["input", "input/"])
    def test_import_scope(self, scope: str) -> None:
        with tf.name_scope("input"):
            queue = PlayedQueue()
            runner = QueueRunner(queue, [queue.enqueue("a")])
        again = QueueRunner.from_proto(runner.to_proto("input"), import_scope=scope)
        assert again.to_proto() == runner.to_proto()
        assert QueueRunner(queue_runner_def=runner.to_proto("input"), import_scope=scope).name == "input/played"

    def test_a_runner_of_a_message_runs(self, session: tf.Session) -> None:
        queue = PlayedQueue(ends_after(4))
        runner = QueueRunner.from_proto(QueueRunner(queue, [queue.enqueue()]).to_proto())
        join(runner.create_threads(session, start=True))
        assert queue.count == 5 and queue.closed == [False]

    def test_a_message_without_error_codes(self) -> None:
        queue = PlayedQueue()
        message = QueueRunner(queue, [queue.enqueue()]).to_proto()
        message.ClearField("queue_closed_exception_types")
        assert QueueRunner.from_proto(message).queue_closed_exception_types == (tf.errors.OutOfRangeError,)

    def test_names_that_are_not_there(self) -> None:
        queue = PlayedQueue()
        message = QueueRunner(queue, [queue.enqueue()]).to_proto()
        with pytest.raises(KeyError, match="'elsewhere/played' refers to an Operation"):
            QueueRunner.from_proto(message, import_scope="elsewhere")
        message.cancel_op_name = "nope"
        with pytest.raises(KeyError, match="'nope' refers to an Operation"):
            QueueRunner.from_proto(message)

    def test_a_code_that_is_no_error(self) -> None:
        queue = PlayedQueue()
        message = QueueRunner(queue, [queue.enqueue()]).to_proto()
        message.queue_closed_exception_types.append(0)
        with pytest.raises(KeyError, match="0 is not an error code"):
            QueueRunner.from_proto(message)

    @pytest.mark.parametrize("message", [3, "played", tf.train.Example(), None])
    def test_what_is_no_message(self, message: object) -> None:
        with pytest.raises(TypeError, match="must be a QueueRunnerDef, .* got .*test_queue_runner.py:"):
            QueueRunner.from_proto(message)

    def test_tensorflow_s_module_of_the_message(self) -> None:
        alias.install()
        try:
            module = importlib.import_module("tensorflow.core.protobuf.queue_runner_pb2")
            message = module.QueueRunnerDef(queue_name="q")
        finally:
            alias.uninstall()
        queue = PlayedQueue()
        assert type(message) is type(QueueRunner(queue, [queue.enqueue()]).to_proto())


class TestBadUses:
    def test_nothing_to_run(self) -> None:
        queue = PlayedQueue()
        for args in [(), (queue,), (queue, []), (None, [tf.no_op()])]:
            with pytest.raises(ValueError, match="Must provide queue and enqueue_ops: got .*test_queue_runner.py:"):
                QueueRunner(*args)

    def test_what_is_no_list(self) -> None:
        for ops in (tf.no_op(), iter([tf.no_op()]), 3):
            with pytest.raises(TypeError, match="must be a list of operations, got .*test_queue_runner.py:"):
                QueueRunner(PlayedQueue(), ops)

    @pytest.mark.parametrize("options", [{"enqueue_ops": ["x"]}, {"close_op": 3}, {"cancel_op": "close"}])
    def test_what_is_no_op(self, options: dict[str, object]) -> None:
        with pytest.raises(TypeError, match="must be operations or tensors, got .*test_queue_runner.py:"):
            QueueRunner(PlayedQueue(), **{"enqueue_ops": [tf.no_op()], **options})

    def test_what_is_no_queue(self) -> None:
        with pytest.raises(TypeError, match="queue must be a queue, .* got 3 .*test_queue_runner.py:"):
            QueueRunner(3, [tf.no_op()])

    @pytest.mark.parametrize("types", [(), [], (KeyError,), KeyError, (3,), (tf.errors.OutOfRangeError, 3)])
    def test_types_that_are_not_tensorflow_s(self, types: object) -> None:
        with pytest.raises(TypeError, match="must be a tuple of tf.errors types, .* but saw: .*test_queue_runner.py:"):
            QueueRunner(PlayedQueue(), [tf.no_op()], queue_closed_exception_types=types)

    def test_a_message_and_a_queue(self) -> None:
        queue = PlayedQueue()
        message = QueueRunner(queue, [tf.no_op()]).to_proto()
        for options in ({"queue": queue}, {"enqueue_ops": [tf.no_op()]}):
            with pytest.raises(ValueError, match="queue_runner_def and queue are mutually exclusive"):
                QueueRunner(queue_runner_def=message, **options)

    def test_threads(self, session: tf.Session) -> None:
        queue = PlayedQueue()
        runner = QueueRunner(queue, [queue.enqueue()])
        with pytest.raises(TypeError, match="sess must be a tf.Session, got 3 .*test_queue_runner.py:"):
            runner.create_threads(3)
        with pytest.raises(TypeError, match="must be a tf.train.Coordinator or None, got 3 .*test_queue_runner.py:"):
            runner.create_threads(session, coord=3)
        assert len(runner.create_threads(session)) == 1  # the bad calls left no mark

    def test_start_queue_runners(self) -> None:
        with pytest.raises(ValueError, match="No default session is registered.*test_queue_runner.py:"):
            tf.train.start_queue_runners()
        with pytest.raises(TypeError, match="must be a `tf.Session` object. Given class: .*test_queue_runner.py:"):
            tf.train.start_queue_runners(sess="session")

    def test_add_queue_runner(self) -> None:
        with pytest.raises(TypeError, match="must be a tf.train.QueueRunner, got 3 .*test_queue_runner.py:"):
            tf.train.add_queue_runner(3)

    def test_eagerly(self) -> None:
        queue = PlayedQueue()
        ops = [queue.enqueue()]
        with tf.eager_mode():
            with pytest.raises(
                RuntimeError, match="not supported when eager execution is enabled.*test_queue_runner.py:"
            ):
                QueueRunner(queue, ops)
            with pytest.raises(
                RuntimeError, match="not supported when eager execution is enabled.*test_queue_runner.py:"
            ):
                tf.train.start_queue_runners()


def test_many_runners_of_many_threads_end_together(session: tf.Session, coord: tf.train.Coordinator) -> None:
    """No thread is left, and no close is lost or doubled."""
    queues = [PlayedQueue(ends_after(20)) for _ in range(4)]
    runners = [QueueRunner(queue, [queue.enqueue() for _ in range(4)]) for queue in queues]
    threads = [t for runner in runners for t in runner.create_threads(session, coord, start=True)]
    join([thread for thread in threads if not thread.name.endswith("close_on_stop")])
    coord.request_stop()
    coord.join()
    assert [queue.closed for queue in queues] == [[False, True]] * 4
    assert [queue.count for queue in queues] == [24] * 4
