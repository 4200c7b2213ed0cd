"""tf.train.Supervisor: a session with services in threads (checkpoints, summaries, step rate) and an end for all of them.

`MonitoredTrainingSession` does the same with hooks.  The threads are in `supervisor_service`.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.library import log
from headrace.library.control.dependency import group
from headrace.library.state.global_step import global_step as step_of
from headrace.library.state.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from headrace.library.summary.file_writer import FileWriter
from headrace.library.summary.summary import merge_all
from headrace.library.system.graph_util import write_graph
from headrace.library.text.lookup import tables_initializer
from headrace.library.train.coordinator import Coordinator
from headrace.library.train.hook.checkpoint_saver import wait_for_saver
from headrace.library.train.hook.event_writer import add_session_log
from headrace.library.train.looper_thread import LooperThread
from headrace.library.train.saver.meta_graph import export_meta_graph
from headrace.library.train.saver.saver import Saver
from headrace.library.train.session.session_manager import SessionManager
from headrace.library.train.session.supervisor_service import (
    SVStepCounterThread,
    SVSummaryThread,
    SVTimerCheckpointThread,
)


class Supervisor:
    """Prepares a session, runs services beside it, and ends them together.

    Parts that are not passed are taken from the graph's collections or made; None turns a part off.  The chief restores the
    newest checkpoint of ``logdir`` or runs ``init_op``, and saves there every ``save_model_secs``; others wait for it.  The
    graph is final afterwards.

    Args:
      graph: The graph; None for the default graph.
      ready_op: A tensor with the names of variables without a value; the model is ready when it is empty.
      ready_for_local_init_op: The same for what `local_init_op` needs.
      is_chief: Whether this process initialises, restores and saves the model.
      init_op: What gives the global variables their values.
      init_feed_dict: What to feed with `init_op`.
      local_init_op: What each new session runs: it initialises local variables and tables.
      logdir: The folder for checkpoints and event files; None to write none.
      summary_op: The summary to write.
      saver: The `tf.train.Saver` that saves and restores.
      global_step: The tensor that counts the steps.
      save_summaries_secs: Seconds between two summaries; 0 or None for none.
      save_model_secs: Seconds between two checkpoints; 0 or None for none.
      recovery_wait_secs: Seconds between two looks at a model that is not ready.
      stop_grace_secs: How long threads have to end after they were told to stop.
      checkpoint_basename: The names of checkpoints begin with it.
      session_manager: A `tf.train.SessionManager`; None for one made of these arguments.
      summary_writer: A `tf.summary.FileWriter`; by default one for `logdir`.
      init_fn: A function of the session to call after `init_op`.
      local_init_run_options: A `tf.RunOptions` for `local_init_op`.

    >>> import tempfile
    >>> step = tf.train.get_or_create_global_step()
    >>> train = step.assign_add(1)
    >>> with tempfile.TemporaryDirectory() as logdir:
    ...     sv = tf.train.Supervisor(logdir=logdir)
    ...     with sv.managed_session() as sess:
    ...         while not sv.should_stop():
    ...             if sess.run(train) == 5:
    ...                 sv.request_stop()
    ...     print(sv.should_stop())
    True
    """

    USE_DEFAULT: ClassVar[Any] = 0

    def __init__(
        self, graph: Graph | None = None, ready_op: Any = USE_DEFAULT, ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True, init_op: Any = USE_DEFAULT, init_feed_dict: Any = None, local_init_op: Any = USE_DEFAULT,
        logdir: Any = None, summary_op: Any = USE_DEFAULT, saver: Any = USE_DEFAULT, global_step: Any = USE_DEFAULT,
        save_summaries_secs: float | None = 120, save_model_secs: float | None = 600, recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120, checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None, summary_writer: Any = USE_DEFAULT, init_fn: Any = None,
        local_init_run_options: Any = None,
    ) -> None:  # fmt: skip
        if context.executing_eagerly():
            raise RuntimeError(f"Supervisors are incompatible with eager execution: build a graph {at()}")
        self._graph = context.get_default_graph() if graph is None else graph
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._recovery_wait_secs = recovery_wait_secs
        self._stop_grace_secs = stop_grace_secs
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        with self._graph.as_default():
            self._ready_op = _part(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = _part(ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP)
            self._init_op = _part(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._local_init_op = _part(local_init_op, GraphKeys.LOCAL_INIT_OP, _local_init)
            self._saver = _part(saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
            self._summary_op = _part(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = _part(global_step, GraphKeys.GLOBAL_STEP, self._step_by_name)
        self._init_logdir(logdir, checkpoint_basename, summary_writer, save_summaries_secs, save_model_secs)
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op, ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op, graph=self._graph,
            recovery_wait_secs=recovery_wait_secs, local_init_run_options=local_init_run_options,
        )  # fmt: skip
        self._check_devices()
        self._graph.finalize()

    def _init_logdir(self, logdir: Any, basename: str, writer: Any, summary_secs: Any, model_secs: Any) -> None:
        self._logdir = self._save_path = None
        self._summary_writer: Any = None
        self._save_summaries_secs = self._save_model_secs = None
        self._writer_is_open = self._graph_added_to_summary = False
        if not self._is_chief:
            return
        self._logdir = logdir
        self._save_summaries_secs, self._save_model_secs = summary_secs, model_secs
        if logdir:
            self._save_path = os.path.join(logdir, basename)
        if writer is not Supervisor.USE_DEFAULT:
            self._summary_writer = writer
        elif logdir:
            self._summary_writer = FileWriter(logdir)

    def _step_by_name(self) -> Any:
        try:
            step = self._graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        if step.dtype.base_dtype.is_integer:
            return step
        log.warning("Found 'global_step' is not an int type: %s", step.dtype)
        return None

    def _check_devices(self) -> None:
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op.name} has none. Make it inside "
                    f"tf.device(...) {at()}"
                )

    # ---- the parts

    @property
    def is_chief(self) -> bool:
        """Whether this process initialises, restores and saves the model."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """The `tf.train.SessionManager` that prepares sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """The coordinator of the services' threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """What gives the global variables their values."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """What is fed with `init_op`."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """A tensor with the names of variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """A tensor with the names of variables that `local_init_op` waits for."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> Any:
        """Writes to the event file of ``logdir``; None if this is not the chief."""
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        """The summary that is written."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> Any:
        """Seconds between two summaries; None without a folder."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The tensor that counts the steps."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """The saver that saves and restores."""
        return self._saver

    @property
    def save_model_secs(self) -> Any:
        """Seconds between two checkpoints; None without a folder."""
        return self._save_model_secs

    @property
    def save_path(self) -> Any:
        """What the names of checkpoints begin with."""
        return self._save_path

    # ---- sessions

    @contextlib.contextmanager
    def managed_session(
        self, master: str = "", config: Any = None, start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:  # fmt: skip
        """In a ``with`` statement: a session that is ready, with services; both end with the block.

        An error of the block or of a service stops all and is raised, except OutOfRangeError: the input has ended.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master=master, config=config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    def prepare_or_wait_for_session(
        self, master: str = "", config: Any = None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:  # fmt: skip
        """A session that is ready: the chief prepares it and starts services, others wait for the chief."""
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
            self._writer_is_open = True
        if self._is_chief:
            session = self._session_manager.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
                init_feed_dict=self._init_feed_dict, init_fn=self._init_fn,
            )  # fmt: skip
            self._write_graph()
            if start_standard_services:
                log.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            log.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        try:
            if self._logdir:
                write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
            if self._summary_writer is not None and not self._graph_added_to_summary:
                self._summary_writer.add_graph(self._graph)
                saver_def = self._saver.saver_def if self._saver else None
                self._summary_writer.add_meta_graph(export_meta_graph(graph=self._graph, saver_def=saver_def))
                self._graph_added_to_summary = True
        except ImportError as error:  # training goes on without
            log.warning("The graph is not written to %s: %s", self._logdir, error)

    # ---- services

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Starts the threads that save checkpoints and write summaries and step rates; returns them."""
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events. "
                + at()
            )
        if not self._logdir:
            log.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer is not None:
            self._log_session(step_of(sess, self._global_step), "START")
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer is not None:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self._saver and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: Any, queue_runners: Sequence[Any] | None = None) -> list[threading.Thread]:
        """Starts the threads of these runners, by default all of the graph; returns the threads."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        return [t for r in runners for t in r.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    def loop(
        self, timer_interval_secs: float | None, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Starts a thread that calls ``target`` every N seconds until the supervisor stops; returns it."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args=args, kwargs=kwargs)

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Writes a summary that the program computed, at the current global step unless one is passed."""
        if not self._summary_writer:
            raise RuntimeError(f"Writing a summary requires a summary writer. Pass logdir to the Supervisor {at()}")
        if global_step is None and self._global_step is not None:
            global_step = step_of(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    def _log_session(self, step: Any, status: str) -> None:
        try:
            add_session_log(self._summary_writer, step, status)
        except ImportError as error:
            log.warning("%s is not written to %s: %s", status, self._logdir, error)

    # ---- the end

    def stop(self, threads: Any = None, close_summary_writer: bool = True, ignore_live_threads: bool = False) -> None:
        """Stops the services, waits for their threads and ``threads``, and raises the first error that was reported."""
        self._coord.request_stop()
        try:
            self._coord.join(
                threads, stop_grace_period_secs=self._stop_grace_secs, ignore_live_threads=ignore_live_threads
            )
            wait_for_saver(self._saver)
        finally:
            if close_summary_writer and self._writer_is_open:  # programs stop inside the block of `managed_session` too
                self._log_session(None, "STOP")
                self._summary_writer.close()
                self._writer_is_open = self._graph_added_to_summary = False

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop; `stop` raises the error ``ex``."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> Any:
        """In a ``with`` statement: an error of the block requests a stop, and `stop` raises it."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until a stop is requested."""
        self._coord.wait_for_stop()

    Loop = loop
    PrepareSession = prepare_or_wait_for_session
    RequestStop = request_stop
    ShouldStop = should_stop
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    StopOnException = stop_on_exception
    SummaryComputed = summary_computed
    WaitForStop = wait_for_stop


def _part(value: Any, collection: str, make: Callable[[], Any] | None = None) -> Any:
    """What was passed; else the first of the graph's collection; else what the function makes, added to the collection."""
    if value is not Supervisor.USE_DEFAULT:
        return value
    graph = context.get_default_graph()
    elements = graph.get_collection(collection)
    if elements:
        if len(elements) > 1:
            log.info("Found %d %s operations. Returning the first one.", len(elements), collection)
        return elements[0]
    made = None if make is None else make()
    if made is not None:
        graph.add_to_collection(collection, made)
    return made


def _local_init() -> Any:
    return group(local_variables_initializer(), tables_initializer())
