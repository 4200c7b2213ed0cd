"""The progress bar of training: a line that moves on a terminal, a line an epoch elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from headrace.library.keras.callbacks.callback import Callback, Logs
from headrace.library.keras.utils.progress_bar import Progbar


class ProgbarLogger(Callback):
    """Writes a progress bar with the figures of each epoch.

    Args:
      count_mode: What the bar counts: "samples" or "steps".
      stateful_metrics: Names of figures that are means already; of the others the mean is shown.

    >>> tf.keras.callbacks.ProgbarLogger(count_mode='steps').use_steps
    True
    """

    def __init__(self, count_mode: str = "samples", stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f'Unknown `count_mode`: {count_mode!r}; expected "samples" or "steps"')
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())
        self.progbar: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        self.verbose = self.params.get("verbose", 1)
        self.epochs = self.params.get("epochs", 1)
        # Elsewhere than on a terminal a line that moves would be a line for each batch.
        self._moves = bool(self.verbose) and getattr(sys.stdout, "isatty", lambda: False)()

    def _unit(self) -> str:
        return "steps" if self.use_steps else "samples"

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.seen = 0
        self.names = [name for name in self.params.get("metrics", ()) if not name.startswith("val_")]
        if self.verbose and self.epochs > 1:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self.progbar = Progbar(
            self.params.get(self._unit()), verbose=self.verbose, stateful_metrics=self.stateful_metrics,
            unit_name="step" if self.use_steps else "sample",
        )  # fmt: skip

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        logs = logs or {}
        self.seen += logs.get("num_steps", 1) if self.use_steps else logs.get("size", 0)
        if self._moves and (self.progbar.target is None or self.seen < self.progbar.target):
            self.progbar.update(self.seen, [(name, logs[name]) for name in self.names if name in logs])

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if not self.verbose:
            return
        # The figures of the epoch are what counts: shown as they are.
        self.progbar.stateful_metrics.update(logs or ())
        named = [(name, logs[name]) for name in self.params.get("metrics", ()) if logs and name in logs]
        self.progbar.target = self.seen
        self.progbar.update(self.seen, named)
