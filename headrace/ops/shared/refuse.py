"""What ``refuse`` rules say: the checks of inputs that are made when a kernel has failed, and cost nothing before.

Each raises ValueError in TensorFlow's words if its check fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def expect_shape(label: str, value: Any, shape: Sequence[int]) -> None:
    """The input has the shape that the others ask for."""
    if list(value.shape) != list(shape):
        raise ValueError(f"{label} must have shape {list(shape)}, got shape {list(value.shape)}")


def expect_inside(
    label: str, indices: Any, size: int, form: str = "{label}[{place}] = {value} is not in [0, {size})"
) -> None:
    """Every index is at least 0 and below ``size``; the message names the first that is not."""
    outside = ((indices < 0) | (indices >= size)).nonzero().tolist()
    if outside:
        value = int(indices[tuple(outside[0])])
        raise ValueError(form.format(label=label, place=",".join(map(str, outside[0])), value=value, size=size))


def expect_sizes(label: str, sizes: Sequence[int], least: int = 0) -> None:
    """No size is negative, or below ``least``."""
    for i, size in enumerate(sizes):
        if size < least:
            raise ValueError(f"{label}[{i}] must be at least {least}, got {list(sizes)}")


def expect_elements(label: str, value: Any) -> None:
    """The input is not empty."""
    if 0 in value.shape:
        raise ValueError(f"{label} must not have zero elements, got shape {list(value.shape)}")
