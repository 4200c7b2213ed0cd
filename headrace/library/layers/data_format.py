"""Arguments that say how axes and windows lie: data formats, paddings, a number for each axis; lengths that follow from them."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.backend.config import image_data_format


def normalize_data_format(value: str | None) -> str:
    """ "channels_last" or "channels_first"; what ``image_data_format`` says for None."""
    value = image_data_format() if value is None else value
    if not isinstance(value, str) or value.lower() not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}'
        )
    return value.lower()


def numbers(value: Any, count: int, name: str) -> tuple[int, ...]:
    """An integer for each of ``count`` axes: one for all, or as many as there are axes."""
    if isinstance(value, int):
        return (value,) * count
    try:
        values = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        values = ()
    if len(values) != count:
        raise ValueError(f"The `{name}` argument must be a tuple of {count} integers. Received: {value} {at()}")
    return values


def pairs(value: Any, count: int, name: str) -> tuple[tuple[int, int], ...]:
    """Two integers, before and after, for each of ``count`` axes: one for all, one for each axis, or a pair for each."""
    if isinstance(value, int):
        return ((value, value),) * count
    try:
        if len(value) == count:
            return tuple((v, v) if isinstance(v, int) else (int(v[0]), int(v[1])) for v in value)
    except (TypeError, ValueError, IndexError):
        pass
    raise ValueError(
        f"`{name}` should be an int, a tuple of {count} ints, or a tuple of {count} pairs of ints. Received: {value} {at()}"
    )


def normalize_padding(value: Any, causal: bool = False) -> str:
    """ "valid" or "same" ("causal" where allowed)."""
    allowed = ("valid", "same", "causal") if causal else ("valid", "same")
    if not isinstance(value, str) or value.lower() not in allowed:
        accepted = ", ".join(f'"{k}"' for k in allowed)
        raise ValueError(f"The `padding` argument must be one of {accepted}. Received: {value} {at()}")
    return value.lower()


def output_length(length: int | None, size: int, padding: str, stride: int, dilation: int = 1) -> int | None:
    """How many windows fit along an axis."""
    if length is None:
        return None
    reach = size + (size - 1) * (dilation - 1)
    room = length if padding in ("same", "causal") else length - reach + 1
    return (room + stride - 1) // stride


def spatial_axes(data_format: str, rank: int) -> range:
    """The axes between the batch and the channels, or after both."""
    return range(2, rank + 2) if data_format == "channels_first" else range(1, rank + 1)
