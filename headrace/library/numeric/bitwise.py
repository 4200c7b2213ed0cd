"""Operations on the bits of integers."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops


def bitwise_and(x: Any, y: Any, name: str | None = None) -> Any:
    """The bits set in both."""
    return raw_ops.BitwiseAnd(x, y, name=name)


def bitwise_or(x: Any, y: Any, name: str | None = None) -> Any:
    """The bits set in either."""
    return raw_ops.BitwiseOr(x, y, name=name)


def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Any:
    """The bits set in exactly one."""
    return raw_ops.BitwiseXor(x, y, name=name)


def invert(x: Any, name: str | None = None) -> Any:
    """Every bit the other way."""
    return raw_ops.Invert(x, name=name)


def left_shift(x: Any, y: Any, name: str | None = None) -> Any:
    """The bits of x moved up by y places."""
    return raw_ops.LeftShift(x, y, name=name)


def right_shift(x: Any, y: Any, name: str | None = None) -> Any:
    """The bits of x moved down by y places; the sign bit is repeated for signed types."""
    return raw_ops.RightShift(x, y, name=name)
