"""Callbacks that change the learning rate between epochs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.core.source import at
from headrace.library import log
from headrace.library.backend.session import get_value
from headrace.library.keras.callbacks.callback import Callback, Logs
from headrace.library.keras.callbacks.monitor import Watch, checked_number


def _rate(model: Any) -> Any:
    if not hasattr(model.optimizer, "lr"):
        raise ValueError(f'Optimizer must have a "lr" attribute; {type(model.optimizer).__name__} has none {at()}')
    return float(get_value(model.optimizer.lr))


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch.

    Args:
      schedule: A function of the number of the epoch, or of it and the present rate, that gives the rate.
      verbose: 1 to say so.

    >>> halve = tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    """

    def __init__(self, schedule: Callable[..., Any], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        present = _rate(self.model)
        rate = checked_number("schedule", self.schedule(*(epoch, present)[: _arity(self.schedule)]))
        self.model.optimizer.lr = rate
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if logs is not None:
            logs["lr"] = _rate(self.model)


def _arity(function: Callable[..., Any]) -> int:
    """How many of two arguments the function takes."""
    try:
        inspect.signature(function).bind(0, 0.0)
    except TypeError:
        return 1
    return 2


class ReduceLROnPlateau(Callback):
    """Lowers the learning rate when a figure has not improved for some epochs.

    Args:
      monitor: The name of the figure.
      factor: What the rate is multiplied by, below 1.
      patience: How many epochs without improvement are waited for.
      verbose: 1 to say so.
      mode: "min" if it is to fall, "max" if it is to rise, "auto" to tell by its name.
      min_delta: By how much it must improve.
      cooldown: How many epochs after a change are not counted.
      min_lr: The least rate.
      **kwargs: `epsilon`, an older name of `min_delta`.

    >>> lower = tf.keras.callbacks.ReduceLROnPlateau(monitor='val_loss', factor=0.2, patience=5, min_lr=0.001)
    """

    def __init__(
        self, monitor: str = "val_loss", factor: float = 0.1, patience: int = 10, verbose: int = 0, mode: str = "auto",
        min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0, got {factor} {at()}")
        if "epsilon" in kwargs:
            min_delta = kwargs.pop("epsilon")
        if kwargs:
            raise TypeError(f"ReduceLROnPlateau got unexpected arguments {sorted(kwargs)} {at()}")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.min_delta, self.cooldown, self.min_lr = min_delta, cooldown, min_lr
        self._watch = Watch("ReduceLROnPlateau", monitor, mode, min_delta)
        self._reset()

    def _reset(self) -> None:
        self.best = self._watch.worst
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        self._reset()

    def in_cooldown(self) -> bool:
        """Whether epochs are not counted now."""
        return self.cooldown_counter > 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        logs = {} if logs is None else logs
        logs["lr"] = _rate(self.model)
        current = logs.get(self.monitor)
        if current is None:
            log.warning(
                f"Reduce LR on plateau conditioned on metric `{self.monitor}` which is not available. Available metrics are: "
                f"{','.join(logs)}"
            )
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._watch.is_better(current, self.best):
            self.best, self.wait = current, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(epoch)

    def _reduce(self, epoch: int) -> None:
        present = _rate(self.model)
        if present > self.min_lr:
            rate = max(present * self.factor, self.min_lr)
            self.model.optimizer.lr = rate
            if self.verbose > 0:
                print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {rate}.")
            self.cooldown_counter, self.wait = self.cooldown, 0
