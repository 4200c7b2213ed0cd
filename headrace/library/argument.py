"""Arguments with two names: the modern spelling and the deprecated one TF1 still accepts."""

from __future__ import annotations

from typing import Any


def either(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value given under either name; ValueError when both are given."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value
