"""Waiting for the checkpoints that another process writes: how an evaluation follows a training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from headrace.library import log
from headrace.library.train.saver.state_file import latest_checkpoint


def wait_for_new_checkpoint(
    checkpoint_dir: Any, last_checkpoint: str | None = None, seconds_to_sleep: float = 1, timeout: float | None = None
) -> str | None:
    """The newest checkpoint of the folder, once that is not ``last_checkpoint``; None after ``timeout`` seconds.

    Args:
      checkpoint_dir: The folder to watch.
      last_checkpoint: The prefix that is known already; None to take any.
      seconds_to_sleep: Seconds between two looks.
      timeout: The longest wait in seconds; None for no limit.

    Returns:
      The prefix of the checkpoint, or None.

    Example: ``path = tf.contrib.training.wait_for_new_checkpoint("/tmp/model", last_checkpoint=path, timeout=600)``
    """
    log.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            log.info("Found new checkpoint at %s", path)
            return path
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: Any, min_interval_secs: float = 0, timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:  # fmt: skip
    """Gives each new checkpoint of a folder, while another process trains.

    It leaves out those that came while the loop's body ran, except the newest, and waits ``min_interval_secs`` between two.  It
    ends when none came for ``timeout`` seconds, unless ``timeout_fn()`` is false then.

    Args:
      checkpoint_dir: The folder to watch.
      min_interval_secs: The least number of seconds from one checkpoint to the next.
      timeout: How long to wait for a checkpoint, in seconds; None for no limit.
      timeout_fn: A function without arguments, called after `timeout`, that says whether to end; None to end.

    Returns:
      An iterator over prefixes.

    >>> import tempfile
    >>> v = tf.Variable(1)
    >>> with tempfile.TemporaryDirectory() as folder, tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     path = tf.train.Saver().save(sess, f'{folder}/model', global_step=7)
    ...     for path in tf.train.checkpoints_iterator(folder, timeout=0):
    ...         print(path.removeprefix(folder))
    /model-7
    """
    path = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None:
            if not timeout_fn:
                log.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        started = time.monotonic()
        path = new
        yield path
        rest = started + min_interval_secs - time.monotonic()
        if rest > 0:
            time.sleep(rest)
