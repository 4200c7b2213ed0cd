"""`tf.contrib.training.train`: the training loop in one call."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.train.session.training_session import MonitoredTrainingSession


def train(
    train_op: Any, logdir: Any, master: str = "", is_chief: bool = True, scaffold: Any = None, hooks: Any = None,
    chief_only_hooks: Any = None, save_checkpoint_secs: Any = 600, save_summaries_steps: Any = 100, config: Any = None,
    max_wait_secs: float = 7200, run_metadata: Any = None,
) -> Any:  # fmt: skip
    """Runs ``train_op`` in a `tf.train.MonitoredTrainingSession` until a hook or the input ends it; returns its last value.

    Args:
      train_op: The tensor or operation to run.
      logdir: The folder for checkpoints and summaries; None only if nothing is saved.
      master: The target of the session; empty for a session of this process.
      is_chief: Whether this process makes and saves the variables.
      scaffold: A `tf.train.Scaffold` with what the session begins with; None for the default.
      hooks: A list of hooks of the session; None for none.
      chief_only_hooks: A list of hooks that only the chief has; None for none.
      save_checkpoint_secs: The seconds between two checkpoints; None for no checkpoints.
      save_summaries_steps: The steps between two summaries; None for no summaries.
      config: The `tf.ConfigProto` of the session; None for the default.
      max_wait_secs: How many seconds a worker waits for the chief.
      run_metadata: A `tf.RunMetadata` that each step fills; None for none.

    Returns:
      The value of `train_op` in the last step; None if there was no step.

    >>> step = tf.train.get_or_create_global_step()
    >>> hooks = [tf.train.StopAtStepHook(num_steps=5)]
    >>> print(tf.contrib.training.train(step.assign_add(1), None, hooks=hooks, save_checkpoint_secs=None,
    ...                                 save_summaries_steps=None))
    5
    """
    if logdir is None and is_chief:
        for name, interval in (
            ("save_summaries_steps", save_summaries_steps),
            ("save_checkpoint_secs", save_checkpoint_secs),
        ):
            if interval:
                raise ValueError(
                    f"logdir cannot be None when {name} is {interval!r}: pass a folder, or None here {at()}"
                )
    value = None
    with MonitoredTrainingSession(
        master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
        chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps, config=config, max_wait_secs=max_wait_secs,
    ) as session:  # fmt: skip
        while not session.should_stop():
            value = session.run(train_op, run_metadata=run_metadata)
    return value
