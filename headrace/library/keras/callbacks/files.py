"""Callbacks that write files: the model after epochs, the figures as a table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.library import log
from headrace.library.keras.callbacks.callback import Callback, Logs
from headrace.library.keras.callbacks.monitor import Watch


class ModelCheckpoint(Callback):
    """Saves the model after epochs.

    Args:
      filepath: The file; ``{epoch:02d}`` and names of figures such as ``{val_loss:.2f}`` in it are replaced.
      monitor: The name of the figure that says which model is the best.
      verbose: 1 to say so.
      save_best_only: Whether to save only when the figure has improved.
      save_weights_only: Whether to save the weights only (``model.save_weights``), not the model (``model.save``).
      mode: "min" if the figure is to fall, "max" if it is to rise, "auto" to tell by its name.
      save_freq: "epoch", or after how many samples to save.
      **kwargs: `period`: after how many epochs to save; `load_weights_on_restart`: whether training begins with the weights
        of the newest file, if there is one.

    >>> keep = tf.keras.callbacks.ModelCheckpoint('/tmp/model-{epoch:02d}.h5', save_best_only=True)
    """

    def __init__(
        self, filepath: Any, monitor: str = "val_loss", verbose: int = 0, save_best_only: bool = False,
        save_weights_only: bool = False, mode: str = "auto", save_freq: Any = "epoch", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.period = kwargs.pop("period", 1)
        self.load_weights_on_restart = kwargs.pop("load_weights_on_restart", False)
        if kwargs:
            raise TypeError(f"ModelCheckpoint got unexpected arguments {sorted(kwargs)} {at()}")
        if save_freq != "epoch" and (not isinstance(save_freq, int) or isinstance(save_freq, bool)):
            raise ValueError(f'Unrecognized save_freq: {save_freq!r}. Expected "epoch" or a number of samples {at()}')
        self.filepath = str(filepath)
        self.monitor, self.verbose, self.save_freq = monitor, verbose, save_freq
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self._watch = Watch("ModelCheckpoint", monitor, mode)
        self.best = self._watch.worst
        self.epochs_since_last_save = 0
        self._samples = 0
        self._epoch = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        if self.load_weights_on_restart:
            newest = self._newest()
            if newest is not None:
                self.model.load_weights(newest)

    def _newest(self) -> str | None:
        """The newest file that the path, with anything for what is replaced, matches."""
        path = Path(self.filepath)
        parts = path.name.replace("}", "{").split("{")
        found = [p for p in path.parent.glob("*".join(parts[::2])) if p.exists()] if path.parent.is_dir() else []
        return str(max(found, key=lambda p: p.stat().st_mtime)) if found else None

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        if self.save_freq != "epoch":
            self._samples += (logs or {}).get("size", 1)
            if self._samples >= self.save_freq:
                self._samples = 0
                self._save(self._epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch" and self.epochs_since_last_save >= self.period:
            self.epochs_since_last_save = 0
            self._save(epoch, logs)

    def _save(self, epoch: int, logs: Logs) -> None:
        path = self._path(epoch, logs or {})
        if not self.save_best_only:
            self._say(f"Epoch {epoch + 1:05d}: saving model to {path}")
            self._write(path)
            return
        current = self._watch.value(logs, "Can save best model only with")
        if current is None:
            return
        if self._watch.is_better(current, self.best):
            self._say(
                f"Epoch {epoch + 1:05d}: {self.monitor} improved from {self.best:0.5f} to {current:0.5f}, saving model to {path}"
            )
            self.best = current
            self._write(path)
        else:
            self._say(f"Epoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")

    def _path(self, epoch: int, logs: dict[str, Any]) -> str:
        try:
            return self.filepath.format(epoch=epoch + 1, **logs)
        except KeyError as error:
            raise KeyError(
                f"Failed to format this callback filepath: {self.filepath!r} has {error}, the figures of the epoch are "
                f"{sorted(logs)}"
            ) from None

    def _write(self, path: str) -> None:
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)

    def _say(self, text: str) -> None:
        if self.verbose > 0:
            print(f"\n{text}")


class CSVLogger(Callback):
    """Writes the figures of each epoch as a line of a table.

    Args:
      filename: The file.
      separator: What stands between two columns.
      append: Whether to go on with a file that is there; False begins anew.

    >>> write = tf.keras.callbacks.CSVLogger('/tmp/training.csv', separator=';')
    """

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.sep, self.append = str(filename), separator, append
        self.keys: list[str] | None = None
        self._file: Any = None
        self._writer: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        path = Path(self.filename)
        self._has_header = self.append and path.exists() and path.stat().st_size > 0
        self._file = path.open("a" if self.append else "w", newline="")
        self._writer = None

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        logs = logs or {}
        if self.keys is None:
            self.keys = sorted(logs)
        if self._writer is None:
            self._writer = csv.DictWriter(self._file, ["epoch", *self.keys], delimiter=self.sep, restval="NA")
            if not self._has_header:
                self._writer.writeheader()
        row = {"epoch": epoch, **{key: _text(logs.get(key, "NA")) for key in self.keys}}
        self._writer.writerow(row)
        self._file.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        if self._file is None:
            log.warning("CSVLogger: training ended that never began.")
            return
        self._file.close()
        self._writer = None


def _text(value: Any) -> Any:
    """A list of numbers in one column."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return value
    return '"[' + ", ".join(map(str, value)) + ']"'
