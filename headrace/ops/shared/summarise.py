"""Values as text, the way TF1 shows them: C's shortest exact number format, and two ways to leave elements out.

``summarise`` is for Print and Assert (``[1 2 3...]``), ``summarise_ends`` for print and format (``[1 2 ... 8 9]``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def to_array(value: Any) -> np.ndarray[Any, Any]:
    """A run-time value as an array on the host."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return (value.float() if value.dtype is torch.bfloat16 else value).cpu().numpy()
    if isinstance(value, (np.ndarray, np.number, np.bool)):
        return np.asarray(value)
    return np.asarray(value, dtype=object)


def number(value: Any) -> str:
    """A number with 6 significant digits (15 for doubles) if they are exact, otherwise with 9 (17)."""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (np.float16, np.float32, np.float64, float)):
        wide = not isinstance(value, (np.float16, np.float32))
        short = f"{value:.{15 if wide else 6}g}"
        exact = type(value)(short) == value or value != value
        return short if exact else f"{value:.{17 if wide else 9}g}"
    if isinstance(value, (np.complexfloating, complex)):
        return f"({number(value.real)},{number(value.imag)})"
    return str(int(value))


_RUNS = re.compile(rb"[\x80-\xff]+|[\x00-\x7f]+")
_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def _escaped(value: bytes) -> str:
    return "".join(_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in value)


def _quoted(value: bytes) -> str:
    """The text in quotes, its ASCII escaped; bytes that are not UTF-8 survive encoding with "surrogateescape"."""
    pieces = (b.decode("utf-8", "surrogateescape") if b[0] > 127 else _escaped(b) for b in _RUNS.findall(value))
    return f'"{"".join(pieces)}"'


def _element(array: np.ndarray[Any, Any], of_bytes: Callable[[bytes], str]) -> Callable[[Any], str]:
    return of_bytes if array.dtype == object else number


def summarise(value: Any, limit: int) -> str:
    """The first ``limit`` elements (all if negative), without the outermost brackets."""
    array = to_array(value)
    limit = array.size if limit < 0 else min(limit, array.size)
    show = _element(array, _escaped)
    rest = "..." if array.size > limit else ""
    if array.ndim <= 1:
        return " ".join(show(v) for v in array.reshape(-1)[:limit]) + rest
    return "".join(_rows(array, limit, show)) + rest


def _rows(array: np.ndarray[Any, Any], limit: int, show: Callable[[Any], str]) -> list[str]:
    """Rows in brackets until ``limit`` elements are shown."""
    parts: list[str] = []
    for row in array:
        if limit <= 0:
            break
        if row.ndim == 1:
            cut = "..." if row.size > limit else ""
            parts.append(f"[{' '.join(show(v) for v in row[:limit])}{cut}]")
        else:
            parts.append(f"[{''.join(_rows(row, limit, show))}]")
        limit -= row.size
    return parts


def summarise_ends(value: Any, ends: int) -> str:
    """The first and last ``ends`` elements of every dimension (all if negative), over several lines."""
    array = to_array(value)
    show = _element(array, _quoted)
    return _nested(array, array.size if ends < 0 else ends, 0, show)


def _nested(array: np.ndarray[Any, Any], ends: int, depth: int, show: Callable[[Any], str]) -> str:
    if array.ndim == 0:
        return show(array[()])
    separator = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * (depth + 1)
    first, last = array[:ends], array[max(ends, len(array) - ends) :]
    parts = [_nested(np.asarray(v, array.dtype), ends, depth + 1, show) for v in first]
    if len(array) > 2 * ends:
        parts.append("...")
    parts += [_nested(np.asarray(v, array.dtype), ends, depth + 1, show) for v in last]
    return f"[{separator.join(parts)}]"
