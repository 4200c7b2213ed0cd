"""Evaluations of checkpoints: `evaluate_once` of one, `evaluate_repeatedly` of all that a training writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import islice
from typing import Any

from headrace.library import log
from headrace.library.state.assign import assign_add
from headrace.library.train.hook.evaluation import get_or_create_eval_step
from headrace.library.train.hook.tensor import FinalOpsHook
from headrace.library.train.session.checkpoint_wait import checkpoints_iterator
from headrace.library.train.session.monitored_session import MonitoredSession
from headrace.library.train.session.run_hook import checked_hooks
from headrace.library.train.session.session_creator import ChiefSessionCreator


def evaluate_once(
    checkpoint_path: Any, master: str = "", scaffold: Any = None, eval_ops: Any = None, feed_dict: Any = None,
    final_ops: Any = None, final_ops_feed_dict: Any = None, hooks: Any = None, config: Any = None,
) -> Any:  # fmt: skip
    """Restores a checkpoint, runs ``eval_ops`` until a hook or the input ends it, and returns the values of ``final_ops``.

    Args:
      checkpoint_path: The prefix of the checkpoint.
      master: The session's target; "" for this process.
      scaffold: A `tf.train.Scaffold`; None for one that is made from the graph.
      eval_ops: A tensor or operation, or a list or dict of them, to run again and again; None to run nothing.
      feed_dict: What to feed with `eval_ops`.
      final_ops: A tensor, or a list or dict of tensors, to compute at the end.
      final_ops_feed_dict: What to feed with `final_ops`.
      hooks: Hooks of the session, such as `tf.contrib.training.StopAfterNEvalsHook`.
      config: A `tf.ConfigProto` for the session.

    Returns:
      The values of `final_ops`, in its structure.

    Example: ``tf.contrib.training.evaluate_once("/tmp/model/model.ckpt-1000", eval_ops=update, final_ops=accuracy)``
    """
    return _evaluate(
        checkpoint_path, _counted(eval_ops), master, scaffold, feed_dict, final_ops, final_ops_feed_dict, hooks,
        config,
    )  # fmt: skip


def _counted(eval_ops: Any) -> Any:
    """The ops to run, and with them the counter of `get_or_create_eval_step`."""
    update = assign_add(get_or_create_eval_step(), 1, use_locking=True)
    if isinstance(eval_ops, dict):
        return {**eval_ops, "update_eval_step": update}
    if isinstance(eval_ops, (list, tuple)):
        return [*eval_ops, update]
    return None if eval_ops is None else [eval_ops, update]


def _evaluate(
    path: Any, eval_ops: Any, master: str, scaffold: Any, feed_dict: Any, final_ops: Any, final_feeds: Any, hooks: Any,
    config: Any,
) -> Any:  # fmt: skip
    log.info("Starting evaluation at %s", datetime.now().isoformat(timespec="seconds"))
    creator = ChiefSessionCreator(scaffold=scaffold, checkpoint_filename_with_path=path, master=master, config=config)
    final = FinalOpsHook(final_ops, final_feeds)
    with MonitoredSession(creator, hooks=[*checked_hooks(hooks), final]) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    log.info("Finished evaluation at %s", datetime.now().isoformat(timespec="seconds"))
    return final.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: Any, master: str = "", scaffold: Any = None, eval_ops: Any = None, feed_dict: Any = None,
    final_ops: Any = None, final_ops_feed_dict: Any = None, eval_interval_secs: float = 60, hooks: Any = None,
    config: Any = None, max_number_of_evaluations: int | None = None, timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:  # fmt: skip
    """Evaluates each new checkpoint of a folder as `evaluate_once` does; returns the values of the last ``final_ops``.

    It ends after ``max_number_of_evaluations``, or when no checkpoint came for ``timeout`` seconds and ``timeout_fn()`` is true.

    Args:
      checkpoint_dir: The folder to watch.
      master: The session's target; "" for this process.
      scaffold: A `tf.train.Scaffold`; None for one that is made from the graph.
      eval_ops: A tensor or operation, or a list or dict of them, to run again and again; None to run nothing.
      feed_dict: What to feed with `eval_ops`.
      final_ops: A tensor, or a list or dict of tensors, to compute at the end of each evaluation.
      final_ops_feed_dict: What to feed with `final_ops`.
      eval_interval_secs: The least number of seconds from the start of one evaluation to that of the next.
      hooks: Hooks of each session, such as `tf.contrib.training.StopAfterNEvalsHook`.
      config: A `tf.ConfigProto` for the sessions.
      max_number_of_evaluations: How many checkpoints to evaluate; None for no limit.
      timeout: How long to wait for a checkpoint, in seconds; None for no limit.
      timeout_fn: A function without arguments, called after `timeout`, that says whether to end; None to end.

    Returns:
      The values of `final_ops` in the last evaluation, in its structure; None if there was none.

    Example: ``tf.contrib.training.evaluate_repeatedly("/tmp/model", eval_ops=update, final_ops=accuracy, timeout=600)``
    """
    counted = _counted(eval_ops)
    values = None
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for path in islice(paths, max_number_of_evaluations):
        values = _evaluate(path, counted, master, scaffold, feed_dict, final_ops, final_ops_feed_dict, hooks, config)
    return values
