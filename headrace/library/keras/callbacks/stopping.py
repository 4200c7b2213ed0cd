"""Callbacks that end training early."""

from __future__ import annotations

import math
from typing import Any

from headrace.library import log
from headrace.library.keras.callbacks.callback import Callback, Logs
from headrace.library.keras.callbacks.monitor import Watch


class EarlyStopping(Callback):
    """Ends training when a figure has not improved for some epochs.

    Args:
      monitor: The name of the figure.
      min_delta: By how much it must improve.
      patience: How many epochs without improvement are waited for.
      verbose: 1 to say so.
      mode: "min" if it is to fall, "max" if it is to rise, "auto" to tell by its name.
      baseline: What it must be better than to count as improved at first.
      restore_best_weights: Whether the model gets the weights of the best epoch back.

    >>> stop = tf.keras.callbacks.EarlyStopping(monitor='val_loss', patience=3, restore_best_weights=True)
    """

    def __init__(
        self, monitor: str = "val_loss", min_delta: float = 0, patience: int = 0, verbose: int = 0, mode: str = "auto",
        baseline: float | None = None, restore_best_weights: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.min_delta = min_delta
        self.restore_best_weights = restore_best_weights
        self.best_weights: Any = None
        self.wait = self.stopped_epoch = 0
        self._watch = Watch("EarlyStopping", monitor, mode, min_delta)

    def on_train_begin(self, logs: Logs = None) -> None:
        self.wait = self.stopped_epoch = 0
        self.best = self._watch.worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        current = self._watch.value(logs, "Early stopping conditioned on")
        if current is None:
            return
        if self._watch.is_better(current, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.restore_best_weights and self.best_weights is not None:
                if self.verbose > 0:
                    print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Logs = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")

    def get_monitor_value(self, logs: Logs) -> Any:
        """The figure in the logs, or None."""
        return self._watch.value(logs, "Early stopping conditioned on")


class TerminateOnNaN(Callback):
    """Ends training when the loss of a batch is not a finite number.

    >>> stop = tf.keras.callbacks.TerminateOnNaN()
    """

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            log.warning(f"Batch {batch}: Invalid loss {loss}, terminating training")
            self.model.stop_training = True
