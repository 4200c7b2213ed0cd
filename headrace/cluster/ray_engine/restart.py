"""Restarts: whether a task that ended badly is started again.  Pure: starts nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headrace.core.leaving import STATUS

EARLY_SECONDS: Final = 10.0  # a program that gives up this soon after its first start does not work
FIRST_PAUSE: Final = 1.0  # seconds until a task is started again; twice as long each time


@dataclass(slots=True)
class Restarts:
    """The starts of one task: at most ``most`` again within ``window`` seconds."""

    most: int
    window: float
    began: float  # when the program was started last
    again: list[float] = field(default_factory=list)  # when it was started again

    def next(self, ended: int | str | None, now: float) -> tuple[float, str]:
        """When to start the task again, and a word about it; infinity and the reason if it is not.

        ``ended``: its exit code, negative for a signal, or in words what became of it.
        """
        if isinstance(ended, str):
            return float("inf"), "its address is gone with it, so the job ends"
        if not self.most:
            return float("inf"), "the job ends"
        gave_up = ended is not None and ended > 0 and ended != STATUS  # which is the end by SIGTERM, as -15 is
        if not self.again and gave_up and now - self.began < EARLY_SECONDS:
            return float("inf"), f"that was within {EARLY_SECONDS:g} s of its first start, so the job ends"
        recent = [moment for moment in self.again if now - moment < self.window]
        if len(recent) >= self.most:
            times = "once" if self.most == 1 else f"{self.most} times"
            return float("inf"), f"it was started again {times} in {self.window:g} s (--restarts), so the job ends"
        return now + FIRST_PAUSE * 2 ** len(recent), f"it is started again ({len(recent) + 1} of {self.most})"

    def begin(self, now: float) -> None:
        """Notes that the task was started again."""
        self.again = [moment for moment in self.again if now - moment < self.window] + [now]
        self.began = now
