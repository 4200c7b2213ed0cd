"""tf.train.SecondOrStepTimer: when something that happens every N seconds or steps is due."""

from __future__ import annotations

import time
from typing import Any

from headrace.core.source import at


class SecondOrStepTimer:
    """Is due every ``every_secs`` seconds or every ``every_steps`` steps; the first time immediately.

    Args:
      every_secs: Seconds between two times at which it is due.  Exactly one of the two must be given.
      every_steps: Steps between two times at which it is due.

    >>> timer = tf.train.SecondOrStepTimer(every_steps=10)
    >>> [step for step in range(25) if timer.should_trigger_for_step(step) and timer.update_last_triggered_step(step)]
    [0, 10, 20]
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError(f"Either every_secs or every_steps should be provided. {at()}")
        if every_secs is not None and every_steps is not None:
            raise ValueError(f"Can not provide both every_secs and every_steps. {at()}")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets when it was last due."""
        self._last_triggered_step: Any = None
        self._last_triggered_time: float | None = None

    def should_trigger_for_step(self, step: Any) -> bool:
        """Whether it is due at the step; never twice at the same one."""
        if self._last_triggered_step is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            assert self._last_triggered_time is not None
            return time.time() >= self._last_triggered_time + self._every_secs
        assert self._every_steps is not None
        return bool(step >= self._last_triggered_step + self._every_steps)

    def update_last_triggered_step(self, step: Any) -> tuple[float | None, Any]:
        """Says that it was due at the step; returns seconds and steps since the last time, (None, None) the first time."""
        now = time.time()
        elapsed: tuple[float | None, Any] = None, None
        if self._last_triggered_time is not None:
            elapsed = now - self._last_triggered_time, step - self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        return elapsed

    def last_triggered_step(self) -> Any:
        """The step at which it was last due, or None."""
        return self._last_triggered_step


class NeverTriggerTimer:
    """A timer that is never due, for what happens at the end only."""

    def reset(self) -> None:
        pass

    def should_trigger_for_step(self, step: Any) -> bool:
        return False

    def update_last_triggered_step(self, step: Any) -> tuple[None, None]:
        return None, None

    def last_triggered_step(self) -> None:
        return None
