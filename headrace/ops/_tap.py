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
Taps = list[tuple[torch.Tensor, Any]]  # weights of one are None


def usable(images: Any) -> bool:
    """Whether the images are in the host's memory, real, and not empty."""
    return type(images) is torch.Tensor and images.is_cpu and images.numel() > 0


def resize(images: torch.Tensor, make: Callable[..., Any], rows: int, columns: int, *options: Any) -> torch.Tensor:
    """[N, H, W, C] -> [N, rows, columns, C], by the taps that ``make(inside, outside, *options, device)`` gives."""
    for axis, outside in ((1, rows), (2, columns)):
        images = _sum(images, axis, outside, make, (images.shape[axis], outside, *options), False)
    return images


def unresize(grads: torch.Tensor, make: Callable[..., Any], rows: int, columns: int, *options: Any) -> torch.Tensor:
    """The transpose: gradients of resized images -> gradients of images of ``rows`` by ``columns``."""
    for axis, inside in ((2, columns), (1, rows)):
        grads = _sum(grads, axis, inside, make, (inside, grads.shape[axis], *options), True)
    return grads


def _sum(x: torch.Tensor, axis: int, outside: int, make: Any, sizes: tuple[Any, ...], back: bool) -> torch.Tensor:
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
    total = x.index_select(1, index)
    if len(taps) == 1:
        return (total.mul_(weight) if weight is not None else total).view(result)
    if not back and getattr(make, "between", False):  # two, whose weights sum to one
        return total.lerp_(x.index_select(1, taps[1][0]), taps[1][1]).view(result)
    total.mul_(weight)
    for index, weight in taps[1:]:
        total.addcmul_(x.index_select(1, index), weight)
    return total.view(result)


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
