"""What callbacks that watch a figure share: which figure, and which of two values is the better one."""

from __future__ import annotations

import math
from typing import Any

from headrace.core.source import at
from headrace.library import log

_RISING = ("acc", "accuracy", "auc", "precision", "recall", "fmeasure")


class Watch:
    """A figure of the logs that is to fall or to rise; "auto" tells by its name."""

    def __init__(self, owner: str, monitor: str, mode: str, min_delta: float = 0.0) -> None:
        if mode not in ("auto", "min", "max"):
            log.warning(f"{owner} mode {mode!r} is unknown, fallback to auto mode.")
            mode = "auto"
        self.owner, self.monitor = owner, monitor
        self.rises = mode == "max" or (mode == "auto" and any(part in _RISING for part in monitor.split("_")))
        self.worst = -math.inf if self.rises else math.inf
        self._delta = abs(min_delta)

    def value(self, logs: dict[str, Any] | None, purpose: str) -> Any:
        """The figure, or None with a warning if the logs do not have it."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            known = ",".join(logs or ())
            log.warning(f"{purpose} metric `{self.monitor}` which is not available. Available metrics are: {known}")
        return value

    def is_better(self, value: Any, than: Any) -> bool:
        """Whether the value is better by more than the least difference."""
        return bool(value - self._delta > than if self.rises else value + self._delta < than)


def checked_number(name: str, value: Any) -> Any:
    """A number that a user's function returned."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise ValueError(f"The output of {name!r} should be float, got {value!r} {at()}")
    return float(value)
