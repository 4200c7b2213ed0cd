"""tf.train.MonitoredTrainingSession: a monitored session that saves checkpoints and summaries and counts steps."""

from __future__ import annotations

import weakref
from typing import Any, Final

from headrace.core.source import at
from headrace.library import log
from headrace.library.train.hook.checkpoint_saver import CheckpointSaverHook
from headrace.library.train.hook.step_counter import StepCounterHook
from headrace.library.train.hook.summary_saver import SummarySaverHook
from headrace.library.train.session.chief_hook import ChiefHook, LeaseholderHook, TakeOverHook
from headrace.library.train.session.chief_lease import ChiefLease, lease_of_job
from headrace.library.train.session.copies_hook import CopiesHook, checked_intervals
from headrace.library.train.session.monitored_session import MonitoredSession
from headrace.library.train.session.run_hook import checked_hooks
from headrace.library.train.session.scaffold import Scaffold
from headrace.library.train.session.server_copies import ServerCopies
from headrace.library.train.session.session_creator import (
    ChiefSessionCreator,
    LeasedSessionCreator,
    WorkerSessionCreator,
)

USE_DEFAULT: Final = object()


def MonitoredTrainingSession(  # noqa: N802 (TensorFlow's name)
    master: str = "", is_chief: bool = True, checkpoint_dir: Any = None, scaffold: Scaffold | None = None,
    hooks: Any = None, chief_only_hooks: Any = None, save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT, save_summaries_secs: Any = USE_DEFAULT, config: Any = None,
    stop_grace_period_secs: float = 120, log_step_count_steps: int | None = 100, max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT, summary_dir: Any = None, *, restore: str | None = None,
    copies_secs: float | None = None, copies_steps: int | None = None,
) -> MonitoredSession:  # fmt: skip
    """A `MonitoredSession` for training.

    The chief restores the newest checkpoint of ``checkpoint_dir``, or initialises the model, and saves there every
    ``save_checkpoint_secs`` (600) or ``save_checkpoint_steps``, at the beginning and at the end.  It writes the graph's
    summaries every ``save_summaries_steps`` (100) or ``save_summaries_secs``, and steps per second every
    ``log_step_count_steps``, to ``summary_dir`` (``checkpoint_dir``).  0 or None turns each of them off.  Other workers wait
    ``max_wait_secs`` for the chief.  ``restore``, Headrace's own, says what the chief restores after the loss of a parameter
    server: "missing" variables or "all"; by default all in a job with a `SyncReplicasOptimizer`, or `replicas` that gather
    gradients, else the missing ones.

    In a cluster the chief holds a lease on the task of the global step.  When it is lost, the next worker to which
    ``checkpoint_dir`` was given is the chief: it saves, and restores what is missing.  A chief that starts while another process
    is the chief joins as a worker and restores nothing.

    ``copies_secs`` and ``copies_steps``, Headrace's own, say how often the chief lets each parameter server copy its variables
    into the memory of the next one.  After the loss of a server, the chief restores the copies if they are newer than the
    checkpoint.  Give all workers the same.

    SIGTERM in the main thread: the step ends, a session that saves does so, the process exits with 143.

    Args:
      master: The session's target; "" for this process.
      is_chief: Whether this process initialises, restores and saves the model.
      checkpoint_dir: The folder for checkpoints; None for none.
      scaffold: A `tf.train.Scaffold`; None for one that is made from the graph.
      hooks: A list of `tf.train.SessionRunHook` objects.
      chief_only_hooks: Hooks that only the chief has.
      save_checkpoint_secs: Seconds between two checkpoints.
      save_summaries_steps: Global steps between two summaries.
      save_summaries_secs: Seconds between two summaries.
      config: A `tf.ConfigProto` for the session.
      stop_grace_period_secs: How long threads have to end after they were told to stop.
      log_step_count_steps: Global steps between two logs of steps per second; None for none.
      max_wait_secs: How long workers wait for the chief.
      save_checkpoint_steps: Global steps between two checkpoints.
      summary_dir: The folder of the event file; None for `checkpoint_dir`.
      restore: What to restore after a loss: "missing", "all", or None to choose by the job.
      copies_secs: Seconds between two copies of the parameter servers; None for none.
      copies_steps: Global steps between two copies; None for none.

    Returns:
      A `tf.train.MonitoredSession`.

    >>> import tempfile
    >>> step = tf.train.get_or_create_global_step()
    >>> train = step.assign_add(1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for last_step in (3, 5):  # the second one goes on where the first one stopped
    ...         stop = tf.train.StopAtStepHook(last_step=last_step)
    ...         with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=[stop]) as sess:
    ...             while not sess.should_stop():
    ...                 value = sess.run(train)
    ...         print(value, tf.train.latest_checkpoint(folder).removeprefix(folder))
    ...     tf.summary.FileWriterCache.clear()
    3 /model.ckpt-3
    5 /model.ckpt-5
    """
    intervals = checked_intervals(copies_secs, copies_steps)
    summaries = _steps_and_secs(save_summaries_steps, save_summaries_secs, (100, None))
    checkpoints = _steps_and_secs(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    scaffold = scaffold or Scaffold()
    lease = lease_of_job(master, is_chief, can_lead=is_chief or bool(checkpoint_dir))
    worker = WorkerSessionCreator(scaffold=scaffold, master=master, config=config, max_wait_secs=max_wait_secs)
    if not is_chief and (lease is None or not lease.can_lead):
        return _session(worker, None, checked_hooks(hooks), stop_grace_period_secs, lease)
    own_hooks: list[Any] = []
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if _asked(log_step_count_steps):
            own_hooks.append(StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps))
        if any(map(_asked, summaries)):
            steps, secs = summaries
            own_hooks.append(
                SummarySaverHook(scaffold=scaffold, save_steps=steps, save_secs=secs, output_dir=summary_dir)
            )
    if checkpoint_dir and any(map(_asked, checkpoints)):
        steps, secs = checkpoints
        own_hooks.append(CheckpointSaverHook(checkpoint_dir, save_steps=steps, save_secs=secs, scaffold=scaffold))
    copies = copies_hook = None
    if any(intervals):
        if lease is None:
            log.warning("No variables are copied: no other process takes part in the training %s", at())
        else:
            copies = ServerCopies(lease, scaffold, restore)
            copies_hook = CopiesHook(copies, lease, *intervals)
    all_hooks = _all_hooks(own_hooks, checked_hooks(chief_only_hooks, "chief_only_hooks"), checked_hooks(hooks), lease)
    if copies_hook is not None:
        all_hooks.append(copies_hook)
    if lease is not None:
        all_hooks.insert(0, ChiefHook(TakeOverHook(lease, checkpoint_dir, scaffold), lease))
    chief = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_dir=checkpoint_dir, master=master, config=config, restore=restore,
        copies=copies,
    )  # fmt: skip
    return _session(worker, chief, all_hooks, stop_grace_period_secs, lease, copies_hook)


def _all_hooks(own: list[Any], of_chief: list[Any], of_user: list[Any], lease: ChiefLease | None) -> list[Any]:
    """The hooks of a process that is the chief, or may become it.  Where there is a lease, only its holder writes."""
    if lease is None:
        return [*of_chief, *own, *of_user]
    for hook in [*of_chief, *of_user]:
        if isinstance(hook, LeaseholderHook):
            hook.lease = lease

    def leased(hooks: list[Any]) -> list[Any]:
        return [ChiefHook(hook, lease) if isinstance(hook, CheckpointSaverHook) else hook for hook in hooks]

    of_holder = [ChiefHook(hook, lease) for hook in own]
    if lease.is_chief:
        return [*leased(of_chief), *of_holder, *leased(of_user)]
    savers = [hook for hook in of_chief if isinstance(hook, CheckpointSaverHook)]
    return [*leased(savers), *of_holder, *of_user]


def _session(
    worker: WorkerSessionCreator, chief: ChiefSessionCreator | None, hooks: list[Any], grace_secs: float,
    lease: ChiefLease | None, copies: CopiesHook | None = None,
) -> MonitoredSession:  # fmt: skip
    if lease is None:
        return MonitoredSession(chief or worker, hooks=hooks, stop_grace_period_secs=grace_secs)
    return LeasedSession(LeasedSessionCreator(lease, worker, chief), hooks, grace_secs, lease, copies)


class LeasedSession(MonitoredSession):
    """A monitored session of a process that takes part in the lease of its job's chief, and in its copies, until it ends."""

    def __init__(
        self, creator: LeasedSessionCreator, hooks: list[Any], grace_secs: float, lease: ChiefLease, copies: CopiesHook | None
    ) -> None:  # fmt: skip
        self._lease, self._copies = lease, copies
        parts = [lease] if copies is None else [copies, lease]
        self._leave = weakref.finalize(self, _close_all, parts)  # their threads would keep what is dropped
        self._leave.atexit = False
        try:
            super().__init__(creator, hooks=hooks, stop_grace_period_secs=grace_secs)
        except BaseException:
            self._leave()
            raise

    def _close_session(self, error_type: type[BaseException] | None) -> None:
        try:
            super()._close_session(error_type)
        finally:
            self._leave()


def _close_all(parts: list[Any]) -> None:
    for part in parts:
        part.close()


def _steps_and_secs(steps: Any, secs: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """The two intervals: the default if neither is passed, else None for the one that is not."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return (None if steps is USE_DEFAULT else steps or None), (None if secs is USE_DEFAULT else secs or None)


def _asked(interval: Any) -> bool:
    return bool(interval) and interval > 0
