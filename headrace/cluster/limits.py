"""How long another process may be silent, and what this process's endpoints accept.

Apart from `health`, so that a program that only names `tf.train.Server` does not load the machine that watches tasks.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

from headrace.cluster.transport.interface import DEFAULT_LIMITS, Limits

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


def data_port() -> int | None:
    """The port for large tensors to this process's server; None: it follows from the declared one."""
    setting = os.environ.get("HEADRACE_DATA_PORT", "")
    if not setting:
        return None
    if not (setting.isascii() and setting.isdigit() and 0 < int(setting) < 1 << 16):
        raise ValueError(f"HEADRACE_DATA_PORT must be the number of a port, from 1 to 65535, got {setting!r}")
    return int(setting)


def limits() -> Limits:
    """The limits of this process's endpoints."""
    return replace(DEFAULT_LIMITS, silence=lost_seconds())
