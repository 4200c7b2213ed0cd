"""How long another process may be silent until it is lost."""

from __future__ import annotations

import os
from typing import Final

LOST_SECONDS: Final = 5.0  # of silence, until a task is lost; HEADRACE_LOST_SECONDS wins


def lost_seconds() -> float:
    """How long another process may be silent until it is lost."""
    setting = os.environ.get("HEADRACE_LOST_SECONDS", "")
    try:
        seconds = float(setting) if setting else LOST_SECONDS
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"HEADRACE_LOST_SECONDS must be a number of seconds above 0, got {setting!r}")
    return seconds
