"""tf.train.CheckpointManager: the checkpoints of a folder, of which it keeps the newest."""

from __future__ import annotations

import os
import time
from typing import Any

from headrace.core.source import at
from headrace.library.train.saver.checkpoint import Checkpoint
from headrace.library.train.saver.objects import session_of
from headrace.library.train.saver.state_file import (
    checkpoint_exists,
    get_checkpoint_state,
    remove_checkpoint,
    update_checkpoint_state,
)  # fmt: skip


class CheckpointManager:
    """Saves a `tf.train.Checkpoint` with numbers in a folder, and deletes old ones.

    Args:
      checkpoint: The `tf.train.Checkpoint` to save.
      directory: The folder; it is made.  Checkpoints that another manager left in it are kept on as its own.
      max_to_keep: How many checkpoints to keep; None for all.
      keep_checkpoint_every_n_hours: One checkpoint in so many hours is kept for good; None for none.
      checkpoint_name: What the names of the files begin with.

    >>> import tempfile
    >>> v = tf.keras.backend.variable(1.0)
    >>> manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tempfile.mkdtemp(), max_to_keep=2)
    >>> with tf.keras.backend.get_session().as_default():
    ...     _ = [manager.save() for _ in range(3)]
    >>> [path.rpartition("-")[2] for path in manager.checkpoints]
    ['2', '3']
    """

    def __init__(
        self, checkpoint: Any, directory: Any, max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None, checkpoint_name: str = "ckpt",
    ) -> None:  # fmt: skip
        if not isinstance(checkpoint, Checkpoint):
            raise TypeError(f"CheckpointManager needs a tf.train.Checkpoint, got {checkpoint!r} {at()}")
        if max_to_keep is not None and (not isinstance(max_to_keep, int) or max_to_keep <= 0):
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep!r}. {at()}")
        self._checkpoint = checkpoint
        self._directory = os.fspath(directory)
        self._max_to_keep = max_to_keep
        self._seconds = None if keep_checkpoint_every_n_hours is None else keep_checkpoint_every_n_hours * 3600.0
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._latest: str | None = None
        self._kept: dict[str, float] = {}  # path -> when it was written; the newest last
        now = time.time()
        state = get_checkpoint_state(self._directory)
        self._last_preserved = now
        if state is not None:
            self._last_preserved = state.last_preserved_timestamp or now
            paths = list(state.all_model_checkpoint_paths)
            times = list(state.all_model_checkpoint_timestamps) or [now] * len(paths)
            self._kept = {p: t for p, t in zip(paths, times, strict=True) if checkpoint_exists(p)}
            self._latest = next(reversed(self._kept), None)

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the newest checkpoint, which `tf.train.Checkpoint.restore` takes; None if there is none."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that are kept, oldest first; not those that are kept for good."""
        return list(self._kept)

    def save(self, checkpoint_number: Any = None, session: Any = None) -> str:
        """Saves the objects, and deletes what is too old.

        Args:
          checkpoint_number: The number in the name, an integer, a variable or a tensor; None for how often it was saved.
          session: The session whose variables are saved; None for the default one.  Nothing where ops run eagerly.

        Returns:
          The prefix of the checkpoint.

        Example: ``manager.save(checkpoint_number=step)``
        """
        number = self._checkpoint._next_number(session) if checkpoint_number is None else None
        if number is None:
            number = _number(checkpoint_number, session)
            self._checkpoint._next_number(session)
        path = f"{self._prefix}-{number}"
        self._checkpoint.write(path, session)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        self._write_state()  # before old ones go, so that what is listed is always there
        self._sweep()
        return path

    def _write_state(self) -> None:
        update_checkpoint_state(
            self._directory, self._latest, list(self._kept), all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._last_preserved,
        )  # fmt: skip

    def _sweep(self) -> None:
        removed = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            written = self._kept.pop(path)
            if self._seconds is not None and written - self._seconds >= self._last_preserved:
                self._last_preserved = written
            else:
                removed.append(path)
        if removed:
            self._write_state()
        for path in removed:
            remove_checkpoint(path)


def _number(value: Any, session: Any) -> int:
    if not hasattr(value, "graph"):
        return int(value)
    if value.graph.executing_eagerly:
        return int(value.numpy())
    return int(session_of(session).run(value))
