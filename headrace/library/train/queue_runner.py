"""tf.train.QueueRunner: threads that keep a queue filled, one for each enqueue op, and the collection that lists runners.

A queue is anything with a ``name`` and, unless both closing ops are passed, ``close(cancel_pending_enqueues=...)``, which makes
an op.  The coordinator decides when the threads stop (`coordinator`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from headrace.client.session import BaseSession
from headrace.core import errors
from headrace.core.queue_runner_def import queue_runner_def_class
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Operation, Tensor
from headrace.library import log
from headrace.library.train.coordinator import Coordinator
from headrace.resources.stepping.step import Switch


class QueueRunner:
    """Fills ``queue`` by running ``enqueue_ops`` again and again, each in a thread of its own.

    An error of ``queue_closed_exception_types`` (OutOfRangeError) says that the input has ended: the thread ends, and the last
    one runs ``close_op``.  Any other error stops the coordinator, whose `join` raises it; without a coordinator the error is in
    `exceptions_raised`.  When the coordinator stops, one more thread runs ``cancel_op``, which ends enqueues that wait for
    room, and ends the steps of the others, whatever they wait for.

    Thread-safe.  One runner may serve several sessions; it keeps none of them alive.

    Args:
      queue: The queue to fill.
      enqueue_ops: The operations to run, a thread for each; an operation may be in the list several times.
      close_op: What the last thread runs when the input has ended; None to close the queue.
      cancel_op: What is run when the coordinator stops; None to close the queue and cancel enqueues that wait.
      queue_closed_exception_types: A tuple of classes of errors that say that the input has ended; None for OutOfRangeError.
      queue_runner_def: A QueueRunnerDef to make the runner from, in place of all other arguments.
      import_scope: The scope under which the graph of `queue_runner_def` was imported.

    >>> queue = tf.FIFOQueue(10, tf.int32)
    >>> runner = tf.train.QueueRunner(queue, [queue.enqueue(1)] * 2)
    >>> tf.train.add_queue_runner(runner)
    """

    def __init__(
        self, queue: Any = None, enqueue_ops: Sequence[Any] | None = None, close_op: Any = None, cancel_op: Any = None,
        queue_closed_exception_types: Any = None, queue_runner_def: Any = None, import_scope: str | None = None,
    ) -> None:  # fmt: skip
        _check_not_eager("QueueRunners are")
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError(
                    "queue_runner_def and queue are mutually exclusive: the message names the queue and its ops. Pass one "
                    f"of them {at()}"
                )
            self._init_from_proto(queue_runner_def, import_scope)
        else:
            self._init_from_args(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        self._lock = threading.Lock()
        self._live_threads: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # of each session
        self._exceptions_raised: list[BaseException] = []

    def _init_from_args(self, queue: Any, enqueue_ops: Any, close_op: Any, cancel_op: Any, types: Any) -> None:
        _check_queue(queue, enqueue_ops, needs_close=close_op is None or cancel_op is None)
        _check_closed_types(types)
        for op in (*enqueue_ops, *(op for op in (close_op, cancel_op) if op is not None)):
            if not isinstance(op, (Operation, Tensor)):
                raise TypeError(f"enqueue_ops, close_op and cancel_op must be operations or tensors, got {op!r} {at()}")
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._queue_closed_exception_types = types or (errors.OutOfRangeError,)

    def _init_from_proto(self, definition: Any, import_scope: str | None) -> None:
        _check_definition(definition)
        graph = context.get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(f"{_prefix(import_scope)}{name}")

        self._queue = element(definition.queue_name)
        self._enqueue_ops = [element(name) for name in definition.enqueue_op_name]
        self._close_op = element(definition.close_op_name)
        self._cancel_op = element(definition.cancel_op_name)
        codes = definition.queue_closed_exception_types or [errors.OUT_OF_RANGE]  # older messages have none
        self._queue_closed_exception_types = tuple(errors.exception_type_from_error_code(code) for code in codes)

    # ---- properties

    @property
    def queue(self) -> Any:
        """The queue; of a runner that `from_proto` made, the operation that holds it."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that are run, a thread for each."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """What is run when the input has ended."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """What is run when the coordinator stops."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        """The classes of errors that say that the input has ended."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """Errors of threads without a coordinator, since `create_threads` was last called."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    # ---- threads

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Makes the threads that run the ops in ``sess``, and starts them if ``start``.

        With ``coord`` they are registered there, and one more waits for its stop.  While threads of an earlier call for the
        session run, or were not started yet, there are none to make: the list is empty.
        """
        if not isinstance(sess, BaseSession):
            raise TypeError(f"sess must be a tf.Session, got {sess!r} {at()}")
        _check_coordinator(coord)
        with self._lock:
            if self._live_threads.get(sess, 0) > 0:
                return []
            self._live_threads[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        switch = Switch()
        threads = [self._thread(op.name, self._run, sess, op, coord, switch) for op in self._enqueue_ops]
        if coord is not None:
            threads.append(self._thread("close_on_stop", self._close_on_stop, sess, coord, switch))
        for thread in threads:
            thread.daemon = daemon
            if coord is not None:
                coord.register_thread(thread)
        if start:
            for thread in threads:
                thread.start()
        return threads

    def _thread(self, name: str, target: Any, *args: Any) -> threading.Thread:
        return threading.Thread(target=target, args=args, name=f"QueueRunnerThread-{self.name}-{name}")

    def _run(self, sess: BaseSession, enqueue_op: Any, coord: Coordinator | None, switch: Switch) -> None:
        """The life of one thread: enqueues until the coordinator stops or the input ends."""
        input_ended = failed = False
        try:
            enqueue = self._enqueue(sess, enqueue_op)
            with switch.inside():
                while coord is None or not coord.should_stop():
                    enqueue()
        except self._queue_closed_exception_types:
            input_ended = True
        except Exception as error:
            if isinstance(error, errors.CancelledError) and coord is not None and coord.should_stop():
                log.debug("The runner of queue %r has stopped: %s", self.name, error)
                return
            failed = True
            closed = isinstance(error, RuntimeError) and sess._closed
            self._report(self._session_closed(enqueue_op) if closed else error, coord)
        finally:
            with self._lock:
                self._live_threads[sess] -= 1
                is_last = self._live_threads[sess] == 0
            if is_last and failed and coord is None:  # nobody else would end the steps that wait for what does not come
                _run_anyway(sess, self._cancel_op)
        if input_ended and is_last:
            _run_anyway(sess, self._close_op)

    def _enqueue(self, sess: BaseSession, enqueue_op: Any) -> Callable[[], Any]:
        """What a thread calls again and again."""
        return sess.make_callable(enqueue_op)

    def _session_closed(self, enqueue_op: Any) -> errors.CancelledError:
        message = (
            f"Session has been closed while the runner of queue {self.name!r} filled it with {enqueue_op.name!r}. Stop the "
            "runner first: coord.request_stop(), then coord.join()"
        )
        return errors.CancelledError(None, getattr(enqueue_op, "op", enqueue_op), message)

    def _report(self, error: Exception, coord: Coordinator | None) -> None:
        if coord is not None:
            coord.request_stop(error)
            return
        log.error("Exception in QueueRunner: %s", error)
        with self._lock:
            self._exceptions_raised.append(error)
        raise error

    def _close_on_stop(self, sess: Any, coord: Coordinator, switch: Switch) -> None:
        """Closes the queue when the coordinator stops, then ends the steps that wait for something else.

        After the loss of a task the queue stays open: other sessions may use it, and this one's successor will.  Steps that
        wait at it end with the loss.
        """
        coord.wait_for_stop()
        if not coord.session_lost:
            _run_anyway(sess, self._cancel_op)
        elif coord.loss is not None:
            sess._lose(coord.loss)
        switch.off(errors.CancelledError(None, None, f"The coordinator stopped the runner of queue {self.name!r}"))

    # ---- as a message

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The runner as a QueueRunnerDef, with names as they are inside ``export_scope``; None if the queue is not in it."""
        prefix = _prefix(export_scope)
        if not self.name.startswith(prefix):
            return None
        return queue_runner_def_class()(
            queue_name=self.name.removeprefix(prefix),
            enqueue_op_name=[op.name.removeprefix(prefix) for op in self._enqueue_ops],
            close_op_name=self._close_op.name.removeprefix(prefix),
            cancel_op_name=self._cancel_op.name.removeprefix(prefix),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(t) for t in self._queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The runner of the nodes in the default graph, inside ``import_scope``, that a QueueRunnerDef names."""
        if queue_runner_def is None:
            _check_definition(queue_runner_def)
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to those that `start_queue_runners` starts.

    Args:
      qr: A `tf.train.QueueRunner`.
      collection: The collection of the default graph to add it to.

    >>> queue = tf.FIFOQueue(10, tf.int32)
    >>> tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1)]))
    >>> len(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS))
    1
    """
    if not isinstance(qr, QueueRunner):
        raise TypeError(f"qr must be a tf.train.QueueRunner, got {qr!r} {at()}")
    context.get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None, coord: Coordinator | None = None, daemon: bool = True, start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:  # fmt: skip
    """Makes, and with ``start`` starts, the threads of every runner that the graph of ``sess`` lists; returns the threads.

    ``sess`` is the default session if it is None.  Pass ``coord`` to be able to stop them.  A monitored session has started its
    runners itself: there are no threads to make.

    Args:
      sess: The session in which the enqueue ops run; None for the default session.
      coord: The `tf.train.Coordinator` that stops the threads, and that their errors stop.
      daemon: Whether the process may end while they run.
      start: Whether to start the threads; if False the caller does.
      collection: The collection of the graph that lists the runners.

    Returns:
      The threads, a list.

    Example: ``threads = tf.train.start_queue_runners(sess=sess, coord=coord)``, and at the end ``coord.join(threads)``
    """
    _check_not_eager("Queues are")
    if sess is None:
        sess = context.get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an "
                f"explicit session to tf.start_queue_runners(sess=sess) {at()}"
            )
    if not isinstance(sess, BaseSession):
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []  # it has started them itself
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)} {at()}")
    _check_coordinator(coord)
    runners = sess.graph.get_collection(collection)
    if not runners:
        log.warning(
            "tf.train.start_queue_runners() has nothing to start: the collection %r is empty %s", collection, at()
        )
    return [t for runner in runners for t in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)]


def _run_anyway(sess: Any, op: Any) -> None:
    """Runs an op that closes a queue, if it still can be: the session may be closed, the queue as well."""
    try:
        sess.run(op)
    except Exception as error:
        log.debug("Ignored exception of %s: %s", op.name, error)


def _prefix(scope: str | None) -> str:
    """What the names inside a scope begin with."""
    return f"{scope.rstrip('/')}/" if scope else ""


# ---- checks


def _check_not_eager(what: str) -> None:
    if context.executing_eagerly():
        raise RuntimeError(f"{what} not supported when eager execution is enabled: build a graph and a session {at()}")


def _check_queue(queue: Any, enqueue_ops: Any, needs_close: bool) -> None:
    if enqueue_ops is not None and not isinstance(enqueue_ops, (list, tuple)):
        raise TypeError(f"enqueue_ops must be a list of operations, got {enqueue_ops!r} {at()}")
    if queue is None or not enqueue_ops:
        raise ValueError(f"Must provide queue and enqueue_ops: got queue={queue!r}, enqueue_ops={enqueue_ops!r} {at()}")
    if not hasattr(queue, "name") or (needs_close and not hasattr(queue, "close")):
        raise TypeError(f"queue must be a queue, such as a tf.FIFOQueue, got {queue!r} {at()}")


def _check_closed_types(types: Any) -> None:
    if types is None:
        return
    if isinstance(types, tuple) and types and all(isinstance(t, type) and issubclass(t, errors.OpError) for t in types):
        return
    raise TypeError(
        "queue_closed_exception_types, when provided, must be a tuple of tf.errors types, such as "
        f"(tf.errors.OutOfRangeError,), but saw: {types!r} {at()}"
    )


def _check_coordinator(coord: Any) -> None:
    if coord is not None and not isinstance(coord, Coordinator):
        raise TypeError(f"coord must be a tf.train.Coordinator or None, got {coord!r} {at()}")


def _check_definition(definition: Any) -> None:
    descriptor = getattr(definition, "DESCRIPTOR", None)
    if getattr(descriptor, "full_name", None) != "tensorflow.QueueRunnerDef":
        raise TypeError(f"queue_runner_def must be a QueueRunnerDef, as to_proto() returns, got {definition!r} {at()}")
