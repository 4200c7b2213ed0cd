"""Arguments of convolutions and pools as users write them: ``2``, ``[2, 2]`` and ``[1, 2, 2, 1]`` mean the same."""

from __future__ import annotations

from typing import Any


def _channels_first(data_format: str | bytes | None) -> bool:
    text = data_format.decode() if isinstance(data_format, bytes) else data_format
    return text is not None and text.startswith("NC")


def window_argument(value: Any, spatial: int, data_format: str | bytes | None, name: str) -> list[int]:
    """One number per dimension, with ones for the batch and the channels."""
    first = _channels_first(data_format)
    if value is None:
        value = [1]
    elif not hasattr(value, "__iter__"):
        value = [value]
    values = [int(v) for v in value]
    if len(values) == spatial + 2:
        return values
    if len(values) not in (1, spatial):
        raise ValueError(f"{name} should be of length 1, {spatial} or {spatial + 2}. Received: {name}={value}")
    values = values * spatial if len(values) == 1 else values
    return [1, 1, *values] if first else [1, *values, 1]


def padding_argument(padding: Any, data_format: str | bytes | None) -> tuple[str, list[int]]:
    """``padding`` as the attribute's word, and the explicit numbers when it is a list of pairs per dimension."""
    if padding is None:
        raise ValueError("padding must be provided: 'SAME', 'VALID' or a list of pairs, one for each dimension")
    if isinstance(padding, (list, tuple)):
        pairs = [list(p) if isinstance(p, (list, tuple)) else [] for p in padding]
        if len(pairs) != 4 or any(len(p) != 2 for p in pairs):
            raise ValueError(
                f"When padding is a list, it must contain 4 pairs of numbers, one for each dimension: {padding}"
            )
        first = _channels_first(data_format)
        if pairs[0] != [0, 0] or pairs[1 if first else 3] != [0, 0]:
            raise ValueError(f"Explicit padding of the batch and channel dimensions must be zero: {padding}")
        numbers = [int(n) for pair in pairs for n in pair]
        return ("EXPLICIT", numbers) if any(numbers) else ("VALID", [])
    if isinstance(padding, bytes):
        padding = padding.decode()
    if padding == "EXPLICIT":
        raise ValueError('"EXPLICIT" is not a valid value for `padding`; give the pairs themselves as a list')
    return padding, []
