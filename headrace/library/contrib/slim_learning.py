"""`slim.learning.train`: a training loop over a `tf.train.Supervisor`, with a function for each step."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from headrace.core import errors, file
from headrace.core.config import ConfigProto, RunMetadata, RunOptions
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant
from headrace.library import log
from headrace.library.control.dependency import group
from headrace.library.state.global_step import get_or_create_global_step
from headrace.library.state.variables import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from headrace.library.summary.summary import merge_all
from headrace.library.testing.profiler.timeline import Timeline
from headrace.library.text.lookup import tables_initializer
from headrace.library.train.queue_runner import QueueRunner
from headrace.library.train.replica.sync_replicas_optimizer import SyncReplicasOptimizer
from headrace.library.train.saver.saver import Saver
from headrace.library.train.session.supervisor import Supervisor

_USE_DEFAULT: Any = 0


def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Any) -> tuple[Any, Any]:
    """Runs one step, logs and traces it if asked; returns the loss and whether to stop.

    Args:
      sess: The session.
      train_op: The tensor whose computation trains one step and gives the loss.
      global_step: The variable that counts steps.
      train_step_kwargs: A dictionary that may have `should_stop`, `should_log` and `should_trace`, bool tensors;
        `logdir`, the folder for traces; `summary_writer`, which gets them too.

    Returns:
      The loss, and whether to stop.

    >>> step = tf.train.get_or_create_global_step()
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     tf.contrib.slim.learning.train_step(sess, tf.constant(0.5), step, {"should_stop": tf.equal(step, 0)})
    (np.float32(0.5), np.True_)
    """
    started = time.time()
    options = metadata = None
    if "should_trace" in train_step_kwargs and sess.run(train_step_kwargs["should_trace"]):
        if "logdir" not in train_step_kwargs:
            raise ValueError(f"logdir must be present in train_step_kwargs when should_trace is present {at()}")
        options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    elapsed = time.time() - started
    if metadata is not None:
        trace = Timeline(metadata.step_stats).generate_chrome_trace_format()
        path = os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json")
        log.info("Writing trace to %s", path)
        with file.open_file(path, "wb") as out:
            out.write(trace.encode())
        if "summary_writer" in train_step_kwargs:
            train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        log.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, elapsed)
    stop = sess.run(train_step_kwargs["should_stop"]) if "should_stop" in train_step_kwargs else False
    return loss, stop


def train(
    train_op: Any, logdir: Any, train_step_fn: Callable[..., Any] = train_step, train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1, graph: Any = None, master: str = "", is_chief: bool = True, global_step: Any = None,
    number_of_steps: int | None = None, init_op: Any = _USE_DEFAULT, init_feed_dict: Any = None,
    local_init_op: Any = _USE_DEFAULT, init_fn: Any = None, ready_op: Any = _USE_DEFAULT, summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600, summary_writer: Any = _USE_DEFAULT, startup_delay_steps: int = 0, saver: Any = None,
    save_interval_secs: float = 600, sync_optimizer: Any = None, session_config: ConfigProto | None = None,
    session_wrapper: Callable[[Any], Any] | None = None, trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:  # fmt: skip
    """Trains until ``number_of_steps`` or the end of the input, saves to ``logdir``, and returns the last loss.

    ``train_step_fn(session, train_op, global_step, train_step_kwargs)`` returns the loss and whether to stop.  After AbortedError
    the loop begins again with the last checkpoint.  ``sync_optimizer``: the ``SyncReplicasOptimizer`` that made the training op,
    or a list of them.

    Args:
      train_op: The tensor whose computation trains one step and gives the loss.
      logdir: The folder for checkpoints and summaries; None for neither.
      train_step_fn: The function that runs one step.
      train_step_kwargs: What `train_step_fn` gets last; by default a dictionary that says when to stop, log and trace.
      log_every_n_steps: How often the loss is logged; 0 or None for never.
      graph: The graph; None for the default graph.
      master: The target of the session; empty for a session of this process.
      is_chief: Whether this process makes and saves the variables.
      global_step: The variable that counts steps; None for the graph's.
      number_of_steps: The global step at which to stop; None for the end of the input.
      init_op: The operation that makes the variables; by default `tf.global_variables_initializer()`.
      init_feed_dict: What to feed when `init_op` runs; None for nothing.
      local_init_op: The operation that makes local variables and tables; by default all of them.
      init_fn: A function of the session, called after `init_op`; None for none.
      ready_op: A tensor of the names of what is not ready; by default the variables without a value.
      summary_op: The summaries to write; by default all that were collected, None for none.
      save_summaries_secs: The seconds between two summaries.
      summary_writer: The writer of summaries; by default one for `logdir`, None for none.
      startup_delay_steps: The global step that a worker that is not the chief waits for.
      saver: The saver; None for one of all variables.
      save_interval_secs: The seconds between two checkpoints.
      sync_optimizer: The `tf.train.SyncReplicasOptimizer`, or a list of them; None for none.
      session_config: The `tf.ConfigProto` of the session; None for the default.
      session_wrapper: A function from the session to the one to use, such as a debugger's; None for none.
      trace_every_n_steps: How often a step is traced; None for never.
      ignore_live_threads: True does not raise an error if threads do not stop.

    Returns:
      The loss of the last step.

    Example: ``tf.contrib.slim.learning.train(train_op, "logs", number_of_steps=1000, save_summaries_secs=60)``
    """
    _check(train_op, logdir, summary_op, saver, trace_every_n_steps, number_of_steps)
    synchronous = _checked_optimizers(sync_optimizer, startup_delay_steps)
    graph = graph or context.get_default_graph()
    with graph.as_default():
        step = get_or_create_global_step() if global_step is None else global_step
        with graph.name_scope("init_ops"):
            init_op = global_variables_initializer() if init_op is _USE_DEFAULT else init_op
            ready_op = report_uninitialized_variables() if ready_op is _USE_DEFAULT else ready_op
            if local_init_op is _USE_DEFAULT:
                local_init_op = group(local_variables_initializer(), tables_initializer())
            ready_for_local_init_op = None
            if synchronous:
                local_init_op = _local_init(synchronous, local_init_op, is_chief)
                ready_for_local_init_op = raw_ops.ConcatV2([o.ready_for_local_init_op for o in synchronous], 0)
        chief = is_chief and synchronous
        tokens = [optimizer.get_init_tokens_op() for optimizer in synchronous] if chief else []
        runners = [optimizer.get_chief_queue_runner() for optimizer in synchronous] if chief else []
        summary_op = merge_all() if summary_op is _USE_DEFAULT else summary_op
        if train_step_kwargs is _USE_DEFAULT:
            train_step_kwargs = _step_arguments(step, number_of_steps, log_every_n_steps, trace_every_n_steps, logdir)
        saver = saver or Saver()
    supervisor = Supervisor(
        graph=graph, is_chief=is_chief, logdir=logdir, init_op=init_op, init_feed_dict=init_feed_dict,
        local_init_op=local_init_op, ready_for_local_init_op=ready_for_local_init_op, ready_op=ready_op,
        summary_op=summary_op,
        summary_writer=Supervisor.USE_DEFAULT if summary_writer is _USE_DEFAULT else summary_writer, global_step=step,
        saver=saver, save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs, init_fn=init_fn,
    )  # fmt: skip
    if supervisor.summary_writer is not None and isinstance(train_step_kwargs, dict):
        train_step_kwargs = {**train_step_kwargs, "summary_writer": supervisor.summary_writer}
    while True:
        try:
            return _run(
                supervisor, train_op, step, train_step_fn, train_step_kwargs, master, session_config, session_wrapper,
                number_of_steps, startup_delay_steps, logdir, ignore_live_threads, tokens, runners,
            )  # fmt: skip
        except errors.AbortedError:  # a task was lost; the next session restores the last checkpoint
            log.info("Retrying training!")


def _run(
    supervisor: Supervisor, train_op: Any, step: Any, train_step_fn: Any, step_arguments: Any, master: str, config: Any,
    session_wrapper: Any, number_of_steps: int | None, delay_steps: int, logdir: Any, ignore_live_threads: bool,
    tokens: list[Any], runners: list[QueueRunner],
) -> Any:  # fmt: skip
    loss = None
    with supervisor.managed_session(master, start_standard_services=False, config=config) as sess:
        log.info("Starting Session.")
        if session_wrapper is not None:
            sess = session_wrapper(sess)
        if supervisor.is_chief:
            if logdir:
                supervisor.start_standard_services(sess)
        elif delay_steps > 0:
            _wait_for_step(sess, step, min(delay_steps, number_of_steps or delay_steps))
        threads = supervisor.start_queue_runners(sess)
        log.info("Starting Queues.")
        if runners:
            threads += supervisor.start_queue_runners(sess, runners)
            sess.run(tokens)
        try:
            while not supervisor.should_stop():
                loss, should_stop = train_step_fn(sess, train_op, step, step_arguments)
                if should_stop:
                    log.info("Stopping Training.")
                    supervisor.request_stop()
        except errors.OutOfRangeError as error:
            log.info("Caught OutOfRangeError. Stopping Training. %s", error)
        if logdir and supervisor.is_chief:
            log.info("Finished training! Saving model to disk.")
            supervisor.saver.save(sess, supervisor.save_path, global_step=supervisor.global_step)
        supervisor.stop(threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads)
    return loss


def _wait_for_step(sess: Any, global_step: Any, step: int) -> None:
    while sess.run(global_step) < step:
        time.sleep(1)


def _checked_optimizers(sync_optimizer: Any, delay_steps: int) -> list[SyncReplicasOptimizer]:
    """The synchronous optimizers as a list."""
    if sync_optimizer is None:
        return []
    optimizers = list(sync_optimizer) if isinstance(sync_optimizer, (list, tuple)) else [sync_optimizer]
    if not all(isinstance(optimizer, SyncReplicasOptimizer) for optimizer in optimizers):
        raise ValueError(
            f"`sync_optimizer` must be a tf.train.SyncReplicasOptimizer or a list of them, got {sync_optimizer!r} {at()}"
        )
    if delay_steps > 0:
        raise ValueError(f"startup_delay_steps must be zero when sync_optimizer is supplied, got {delay_steps} {at()}")
    return optimizers


def _local_init(optimizers: list[SyncReplicasOptimizer], local_init_op: Any, is_chief: bool) -> Any:
    """The local initialisation, then that of the optimizers, whose local steps are among the local variables."""
    ops = [optimizer.chief_init_op if is_chief else optimizer.local_step_init_op for optimizer in optimizers]
    if local_init_op is not None:
        for optimizer in optimizers:
            node: Any = optimizer.local_step_init_op
            getattr(node, "op", node)._add_control_input(local_init_op)
    return group(*ops)


def _step_arguments(step: Any, last_step: Any, log_every: int, trace_every: int | None, logdir: Any) -> dict[str, Any]:
    """What `train_step` gets by default: nodes that say whether to stop, log and trace."""
    graph = context.get_default_graph()
    arguments: dict[str, Any] = {}
    with graph.name_scope("train_step"):
        arguments["should_stop"] = constant(False) if last_step is None else step >= last_step
        for name, every in (("should_log", log_every), ("should_trace", trace_every)):
            if every and every > 0:
                arguments[name] = raw_ops.Equal(step % every, constant(0, step.dtype.base_dtype))
        if "should_trace" in arguments:
            arguments["logdir"] = logdir
    return arguments


def _check(train_op: Any, logdir: Any, summary_op: Any, saver: Any, trace_every: Any, steps: Any) -> None:
    if train_op is None:
        raise ValueError(f"train_op cannot be None. {at()}")
    if logdir is None:
        passed = {
            "summary_op": summary_op is not _USE_DEFAULT and summary_op is not None,
            "saver": saver is not None,
            "trace_every_n_steps": trace_every is not None,
        }
        for name, is_passed in passed.items():
            if is_passed:
                raise ValueError(f"Cannot provide {name} because logdir=None {at()}")
    if steps is not None and steps <= 0:
        raise ValueError(f"`number_of_steps` must be either None or a positive number, got {steps} {at()}")
