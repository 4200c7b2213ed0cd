"""What this process's endpoints accept.

Apart from `health`, so that a program that only names `tf.train.Server` does not load the machine that watches tasks.
"""

from __future__ import annotations

import os
from dataclasses import replace

from headrace.cluster.transport.interface import DEFAULT_LIMITS, Limits
from headrace.core.silence import lost_seconds


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
