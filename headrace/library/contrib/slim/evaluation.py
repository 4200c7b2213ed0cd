"""slim's evaluations: those of ``tf.contrib.training`` for a number of batches, with summaries at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.library.summary.summary import merge_all
from headrace.library.train.hook.evaluation import StopAfterNEvalsHook, SummaryAtEndHook
from headrace.library.train.saver.saver import Saver
from headrace.library.train.session import evaluation
from headrace.library.train.session.scaffold import Scaffold

_USE_DEFAULT: Any = 0


def evaluate_once(
    master: str, checkpoint_path: Any, logdir: Any, num_evals: int = 1, initial_op: Any = None,
    initial_op_feed_dict: Any = None, eval_op: Any = None, eval_op_feed_dict: Any = None, final_op: Any = None,
    final_op_feed_dict: Any = None, summary_op: Any = _USE_DEFAULT, summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None, session_config: Any = None, hooks: Any = None,
) -> Any:  # fmt: skip
    """Restores a checkpoint, runs ``eval_op`` for a number of batches and returns the values of ``final_op``.

    Args:
      master: The target of the session; empty for a session of this process.
      checkpoint_path: The prefix of the checkpoint.
      logdir: The folder for summaries.
      num_evals: How often `eval_op` runs.
      initial_op: The operation that makes the variables; None for the usual one.
      initial_op_feed_dict: What to feed with `initial_op`.
      eval_op: What runs for each batch, such as the updates of metrics: a tensor or operation, or a list or dict of them.
      eval_op_feed_dict: What to feed with `eval_op`.
      final_op: A tensor, or a list or dict of tensors, to compute at the end.
      final_op_feed_dict: What to feed with `final_op`.
      summary_op: The summaries to write at the end; by default all that were collected, None for none.
      summary_op_feed_dict: What to feed with `summary_op`.
      variables_to_restore: The variables that the checkpoint has; None for all.
      session_config: The `tf.ConfigProto` of the session; None for the default.
      hooks: Further hooks of the session; None for none.

    Returns:
      The values of `final_op`, in its structure.

    Example: ``slim.evaluation.evaluate_once("", "/tmp/model.ckpt-1000", "/tmp/eval", 50, eval_op=updates, final_op=values)``
    """
    return evaluation.evaluate_once(
        checkpoint_path, master, _scaffold(initial_op, initial_op_feed_dict, None, variables_to_restore), eval_op,
        eval_op_feed_dict, final_op, final_op_feed_dict,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks), session_config,
    )  # fmt: skip


def evaluation_loop(
    master: str, checkpoint_dir: Any, logdir: Any, num_evals: int = 1, initial_op: Any = None,
    initial_op_feed_dict: Any = None, init_fn: Any = None, eval_op: Any = None, eval_op_feed_dict: Any = None,
    final_op: Any = None, final_op_feed_dict: Any = None, summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None, variables_to_restore: Any = None, eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None, session_config: Any = None, timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None, hooks: Any = None,
) -> Any:  # fmt: skip
    """Evaluates each new checkpoint of a folder, while another process trains; returns the values of the last ``final_op``.

    Args:
      master: The target of the sessions; empty for sessions of this process.
      checkpoint_dir: The folder to watch.
      logdir: The folder for summaries.
      num_evals: How often `eval_op` runs in each evaluation.
      initial_op: The operation that makes the variables; None for the usual one.
      initial_op_feed_dict: What to feed with `initial_op`.
      init_fn: A function of the scaffold and the session, called when variables are made; None for none.
      eval_op: What runs for each batch, such as the updates of metrics: a tensor or operation, or a list or dict of them.
      eval_op_feed_dict: What to feed with `eval_op`.
      final_op: A tensor, or a list or dict of tensors, to compute at the end of each evaluation.
      final_op_feed_dict: What to feed with `final_op`.
      summary_op: The summaries to write at the end; by default all that were collected, None for none.
      summary_op_feed_dict: What to feed with `summary_op`.
      variables_to_restore: The variables that the checkpoints have; None for all.
      eval_interval_secs: The least number of seconds from the start of one evaluation to that of the next.
      max_number_of_evaluations: How many checkpoints to evaluate; None for no limit.
      session_config: The `tf.ConfigProto` of the sessions; None for the default.
      timeout: How long to wait for a checkpoint, in seconds; None for no limit.
      timeout_fn: A function without arguments, called after `timeout`, that says whether to end; None to end.
      hooks: Further hooks of each session; None for none.

    Returns:
      The values of `final_op` in the last evaluation, in its structure; None if there was none.

    Example: ``slim.evaluation.evaluation_loop("", "/tmp/model", "/tmp/eval", num_evals=50, eval_op=updates, timeout=600)``
    """
    return evaluation.evaluate_repeatedly(
        checkpoint_dir, master, _scaffold(initial_op, initial_op_feed_dict, init_fn, variables_to_restore), eval_op,
        eval_op_feed_dict, final_op, final_op_feed_dict, eval_interval_secs,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks), session_config, max_number_of_evaluations,
        timeout, timeout_fn,
    )  # fmt: skip


def _scaffold(initial_op: Any, feed_dict: Any, init_fn: Any, variables: Any) -> Scaffold:
    saver = None if variables is None else Saver(variables)
    return Scaffold(init_op=initial_op, init_feed_dict=feed_dict, init_fn=init_fn, saver=saver)


def _hooks(num_evals: int, logdir: Any, summary_op: Any, feed_dict: Any, further: Any) -> list[Any]:
    summary = merge_all() if summary_op is _USE_DEFAULT else summary_op
    hooks: list[Any] = [StopAfterNEvalsHook(num_evals)]
    if summary is not None:
        hooks.append(SummaryAtEndHook(log_dir=logdir, summary_op=summary, feed_dict=feed_dict))
    return [*hooks, *(further or ())]
