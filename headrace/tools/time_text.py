"""A time as people read it."""

from __future__ import annotations


def time_text(seconds: float) -> str:
    """``0.0123`` -> ``12.3 ms``."""
    size, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms")) if seconds >= s), (1e-6, "us"))
    return f"{seconds / size:.3g} {unit}"
