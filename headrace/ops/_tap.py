"""Sums of a few rows and columns of images on the host: what resizing and its gradients come to.

A tap is an index and a weight for every output row: output i is the sum over taps of ``weight[i] * input[index[i]]``.
Taps depend on sizes only and are kept.  Traced tensors and other devices do without: the ops compute their taps in place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch

_NARROW = 8  # channels: fewer are moved one by one rather than in groups
_BLOCK = 1 << 17  # elements made at a time
Taps = list[tuple[torch.Tensor, Any]]  # weights of one are None


def usable(images: Any) -> bool:
    """Whether the images are in the host's memory, real, and not empty."""
    return type(images) is torch.Tensor and images.is_cpu and images.numel() > 0


def resize(images: torch.Tensor, make: Callable[..., Any], rows: int, columns: int, *options: Any) -> torch.Tensor:
    """[N, H, W, C] -> [N, rows, columns, C], by the taps that ``make(inside, outside, *options, device)`` gives."""
    height, width = images.shape[1:3]
    down, across = (1, rows, (height, rows, *options)), (2, columns, (width, columns, *options))
    return _in_blocks(images, make, _ordered(height, down, across), rows, columns, False)


def unresize(grads: torch.Tensor, make: Callable[..., Any], rows: int, columns: int, *options: Any) -> torch.Tensor:
    """The transpose: gradients of resized images -> gradients of images of ``rows`` by ``columns``."""
    height, width = grads.shape[1:3]
    down, across = (1, rows, (rows, height, *options)), (2, columns, (columns, width, *options))
    return _in_blocks(grads, make, _ordered(height, down, across), rows, columns, True)


def _ordered(height: int, down: Any, across: Any) -> Any:
    """Columns take longer, one number at a time: they are summed while there are fewer rows."""
    return (down, across) if down[1] < height else (across, down)


def _in_blocks(x: torch.Tensor, make: Any, passes: Any, rows: int, columns: int, back: bool) -> torch.Tensor:
    """Both passes, over as many images at a time as stay in the cache."""
    batch, _, _, channels = x.shape
    (first, outside, sizes), (second, outside2, sizes2) = passes
    at_once = max(1, _BLOCK // (rows * columns * channels))
    if batch <= at_once:
        return _sum(_sum(x, first, outside, make, sizes, back), second, outside2, make, sizes2, back)
    result = x.new_empty((batch, rows, columns, channels))
    for start in range(0, batch, at_once):
        between = _sum(x[start : start + at_once], first, outside, make, sizes, back)
        _sum(between, second, outside2, make, sizes2, back, result[start : start + at_once])
    return result


def _sum(
    x: torch.Tensor, axis: int, outside: int, make: Any, sizes: tuple[Any, ...], back: bool, out: Any = None
) -> torch.Tensor:
    batch, rows, columns, channels = x.shape
    if axis == 1:
        taps, shape = _taps(make, sizes, back, 1), (batch, rows, columns * channels)
        result = (batch, outside, columns, channels)
    else:
        group = channels if channels < _NARROW else 1
        taps, shape = _taps(make, sizes, back, group), (batch * rows, columns * group, channels // group)
        result = (batch, rows, outside, channels)
    x = x.reshape(shape)
    index, weight = taps[0]
    total = x.index_select(1, index) if out is None else _select_into(x, index, out)
    if len(taps) == 1:
        return (total.mul_(weight) if weight is not None else total).view(result)
    if not back and getattr(make, "between", False):  # two, whose weights sum to one
        return total.lerp_(x.index_select(1, taps[1][0]), taps[1][1]).view(result)
    total.mul_(weight)
    for index, weight in taps[1:]:
        total.addcmul_(x.index_select(1, index), weight)
    return total.view(result)


def _select_into(x: torch.Tensor, index: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.index_select(x, 1, index, out=out.view(x.shape[0], len(index), x.shape[2]))


# ---- the same on arrays


def resize_array(images: Any, make: Callable[..., Any], rows: int, columns: int, *options: Any) -> Any:
    """As ``resize``."""
    height, width = images.shape[1:3]
    down, across = (1, rows, (height, rows, *options)), (2, columns, (width, columns, *options))
    for axis, outside, sizes in _ordered(height, down, across):
        images = _sum_array(images, axis, outside, make, sizes, False)
    return images


def unresize_array(grads: Any, make: Callable[..., Any], rows: int, columns: int, *options: Any) -> Any:
    """As ``unresize``."""
    height, width = grads.shape[1:3]
    down, across = (1, rows, (rows, height, *options)), (2, columns, (columns, width, *options))
    for axis, outside, sizes in _ordered(height, down, across):
        grads = _sum_array(grads, axis, outside, make, sizes, True)
    return grads


def _sum_array(x: Any, axis: int, outside: int, make: Any, sizes: tuple[Any, ...], back: bool) -> Any:
    """All taps are taken at once."""
    batch, rows, columns, channels = x.shape
    shape: tuple[int, ...]
    if axis == 1:
        group, shape, result = 1, (batch, rows, columns * channels), (batch, outside, columns, channels)
    elif channels < _NARROW:
        group, shape, result = channels, (batch * rows, columns * channels), (batch, rows, outside, channels)
    else:
        group, shape, result = 1, (batch * rows, columns, channels), (batch, rows, outside, channels)
    index, weight, second = _array_taps(make, sizes, back, group, len(shape) == 2)
    found = x.reshape(shape).take(index, 1)
    if weight is None:
        return found.reshape(result)
    found = found.reshape(shape[0], -1, outside * group, *shape[2:])
    if second is not None and not back:  # two, whose weights sum to one
        low, high = found[:, 0], found[:, 1]
        high -= low
        high *= second
        return np.add(low, high).reshape(result)
    found *= weight
    return (found[:, 0] + found[:, 1] if found.shape[1] == 2 else np.add.reduce(found, 1)).reshape(result)


@lru_cache(maxsize=256)
def _array_taps(make: Callable[..., Any], sizes: tuple[Any, ...], back: bool, group: int, last: bool) -> Any:
    """The indices of all taps, their weights [taps, outputs] or [taps, outputs, 1], and those of the second."""
    taps = _taps(make, sizes, back, group)
    index = np.concatenate([i.numpy() for i, _ in taps])
    if taps[0][1] is None:
        return index, None, None
    weight = np.stack([w.numpy() for _, w in taps])
    weight = weight[..., 0] if last else weight
    return index, weight, weight[1] if getattr(make, "between", False) and len(taps) == 2 else None


@lru_cache(maxsize=256)
def _taps(make: Callable[..., Any], sizes: tuple[Any, ...], back: bool, group: int) -> Taps:
    """The taps for rows of ``group`` elements that are moved one by one."""
    pairs = make(*sizes, torch.device("cpu"))
    if back:
        pairs = _transposed(pairs, sizes[0])
    if group > 1:
        within = torch.arange(group)
        pairs = [
            ((i[:, None] * group + within).reshape(-1), w if w is None else w.repeat_interleave(group))
            for i, w in pairs
        ]
    return [(i, w if w is None else w[:, None]) for i, w in pairs]


def _transposed(pairs: Any, inside: int) -> Any:
    """Taps of the transpose: for each input row the outputs it goes to; rows that go to fewer have weights of zero."""
    outside = len(pairs[0][0])
    targets = np.concatenate([i.numpy() for i, _ in pairs])
    weights = np.concatenate([np.ones(outside, np.float32) if w is None else w.numpy() for _, w in pairs])
    sources = np.tile(np.arange(outside), len(pairs))
    kept = weights != 0
    targets, weights, sources = targets[kept], weights[kept], sources[kept]
    order = np.argsort(targets, kind="stable")
    targets, weights, sources = targets[order], weights[order], sources[order]
    counts = np.bincount(targets, minlength=inside)
    place = np.arange(len(targets)) - (np.cumsum(counts) - counts)[targets]
    many = max(int(counts.max()), 1)
    index, weight = np.zeros((many, inside), np.int64), np.zeros((many, inside), np.float32)
    index[place, targets], weight[place, targets] = sources, weights
    return [(torch.from_numpy(i.copy()), torch.from_numpy(w.copy())) for i, w in zip(index, weight, strict=True)]
