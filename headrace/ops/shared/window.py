"""Sliding windows over the spatial axes: output sizes, paddings and layouts, for convolutions and pools.

TF1's rule for SAME: ``ceil(size / stride)`` windows, padding as even as possible, the odd one at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CHANNELS_LAST = ("NHWC", "NDHWC")
CHANNELS_FIRST = ("NCHW", "NCDHW")


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raises ValueError, in TF1's words, unless the attribute is one of those allowed."""
    if value not in allowed:
        listed = ", ".join(f'"{a}"' for a in allowed)
        raise ValueError(f"Value for attr '{name}' of \"{value}\" is not in the list of allowed values: {listed}")


def check_window(name: str, rank: int, data_format: str, padding: str, explicit: bool = True, **lists: Any) -> None:
    """Checks the attributes every windowed op has; ``lists`` are those with one number per dimension."""
    check_choice("data_format", data_format, (CHANNELS_LAST[rank - 4], CHANNELS_FIRST[rank - 4]))
    check_choice("padding", padding, ("SAME", "VALID", "EXPLICIT") if explicit else ("SAME", "VALID"))
    for label, values in lists.items():
        if len(values) != rank:
            raise ValueError(f"{name} requires the {label} attribute to contain {rank} values, but got: {list(values)}")
        if min(values) < 1:
            raise ValueError(f"{name} requires every element of {label} to be at least 1, got {list(values)}")


def spatial(values: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """The entries that belong to the spatial axes."""
    return tuple(values[1:-1]) if data_format in CHANNELS_LAST else tuple(values[2:])


def channel(values: Sequence[Any], data_format: str) -> Any:
    return values[-1] if data_format in CHANNELS_LAST else values[1]


def arrange(batch: Any, sizes: Sequence[Any], channels: Any, data_format: str) -> tuple[Any, ...]:
    """A shape in the layout's order."""
    return (batch, *sizes, channels) if data_format in CHANNELS_LAST else (batch, channels, *sizes)


def explicit_pairs(explicit: Sequence[int], rank: int, data_format: str, padding: str) -> list[tuple[int, int]]:
    """The explicit paddings as (before, after) of each spatial axis; zeros unless ``padding`` is EXPLICIT."""
    if padding != "EXPLICIT":
        if explicit:
            raise ValueError(
                f"explicit_paddings must be empty if the padding attribute is not EXPLICIT: {list(explicit)}"
            )
        return [(0, 0)] * (rank - 2)
    if len(explicit) != 2 * rank:
        raise ValueError(f"explicit_paddings attribute must contain {2 * rank} values, but got: {len(explicit)}")
    pairs = [(explicit[i], explicit[i + 1]) for i in range(0, 2 * rank, 2)]
    if min(explicit) < 0:
        raise ValueError(f"All elements of explicit_paddings must be nonnegative, got {list(explicit)}")
    if pairs[0] != (0, 0) or channel(pairs, data_format) != (0, 0):
        raise ValueError(
            f"Nonzero explicit padding in the batch or depth dimensions is not supported: {list(explicit)}"
        )
    return list(spatial(pairs, data_format))


def output_size(size: Any, window: Any, stride: int, padding: str, before: int = 0, after: int = 0) -> Any:
    """How many windows fit; None where a size is unknown."""
    if padding == "SAME":
        return None if size is None else -(-size // stride)
    if size is None or window is None:
        return None
    room = size + before + after
    if room < window:
        raise ValueError(f"Negative dimension size caused by subtracting {window} from {room}")
    return (room - window) // stride + 1


def padding_of(size: int, window: int, stride: int, padding: str, before: int = 0, after: int = 0) -> tuple[int, int]:
    """(before, after) of one axis at run time."""
    if padding != "SAME":
        return before, after
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    return total // 2, total - total // 2


# From channels last to channels first, by rank, and back.
TO_TORCH = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}
FROM_TORCH = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def to_torch(tensor: Any, data_format: str) -> Any:
    """Channels first, as a view; torch knows its strides as the channels-last memory format."""
    return tensor.permute(TO_TORCH[tensor.dim()]) if data_format in CHANNELS_LAST else tensor


def from_torch(tensor: Any, data_format: str) -> Any:
    """Back to the layout; contiguous, which costs nothing where torch kept the memory format."""
    if data_format in CHANNELS_LAST:
        tensor = tensor.permute(FROM_TORCH[tensor.dim()])
    return tensor.contiguous()
