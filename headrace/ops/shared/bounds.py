"""The bounds of random integers: what the ops that draw them refuse."""

from __future__ import annotations

from typing import Any


def check_bounds(minval: Any, maxval: Any) -> None:
    """Refuses bounds that are no scalars."""
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if isinstance(bound, list):
            raise ValueError(f"{name} must be a scalar, got a list of {len(bound)} values")


def check_order(count: int, minval: int, maxval: int) -> None:
    """Refuses an empty range, unless nothing is drawn from it."""
    if count and minval >= maxval:
        raise ValueError(f"Need minval < maxval, got {minval} >= {maxval}")
