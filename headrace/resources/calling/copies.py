"""Copies between the host and a GPU, each direction on a CUDA stream of its own.

A large copy on the stream of the kernels waits for all that is queued there, and the host waits with it.  On a stream of its
own it runs beside the kernels; only what uses its result waits for it.  Small copies stay on the stream of the kernels: the
driver takes their bytes immediately, and a second stream costs more than it gives.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

import torch

LARGE: Final = 1 << 16  # bytes, from which on the host waits for a copy out of its ordinary memory
_streams: dict[tuple[str, Any], Any] = {}
_lock = threading.Lock()


def to_device(value: torch.Tensor, device: Any) -> torch.Tensor:
    """The tensor on the device.  Kernels queued from now on wait for the copy; the copy does not wait for those before."""
    if device.type != "cuda" or value.device.type != "cpu" or value.nbytes < LARGE:
        return value.to(device, non_blocking=True)
    stream, kernels = _stream("in", device), torch.cuda.current_stream(device)
    with torch.cuda.stream(stream):
        copy = value.to(device, non_blocking=True)
    kernels.wait_stream(stream)
    copy.record_stream(kernels)  # its memory belongs to the other stream
    return copy


def to_device_ahead(value: torch.Tensor, device: Any) -> torch.Tensor:
    """The tensor on the device, once it is there: the calling thread waits for the copy, and no kernel does."""
    if device.type != "cuda" or value.device.type != "cpu":
        return value.to(device)
    stream, copied = _stream("in", device), torch.cuda.Event()
    with torch.cuda.stream(stream):
        copy = value.pin_memory().to(device, non_blocking=True)
        copied.record(stream)
    copied.synchronize()
    return copy


def belongs_here(values: Sequence[Any], device: Any) -> list[Any]:
    """What `to_device_ahead` has copied, for the kernels that this thread queues: its memory is theirs from now on."""
    if device.type == "cpu":
        return to_host(values)
    moved = [value.to(device) if isinstance(value, torch.Tensor) else value for value in values]
    if device.type == "cuda":
        for value in moved:
            if isinstance(value, torch.Tensor):
                value.record_stream(torch.cuda.current_stream(device))
    return moved


def to_host(values: Sequence[Any]) -> list[Any]:
    """The values in the host's memory, once they are there.  Large ones are waited for together."""
    elsewhere = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor) and not v.is_cpu]
    copies = list(values)
    if not elsewhere:
        return copies
    large = [i for i in elsewhere if values[i].is_cuda and values[i].nbytes >= LARGE]
    for i in large:
        copies[i] = _begin_to_host(values[i])
    for device in {values[i].device for i in large}:
        _stream("out", device).synchronize()
    for i in elsewhere:
        copies[i] = copies[i].cpu()
    return copies


def _begin_to_host(value: torch.Tensor) -> torch.Tensor:
    """Begins a copy into memory of the host that the GPU writes by itself.  It waits for the kernels queued before it."""
    stream = _stream("out", value.device)
    stream.wait_stream(torch.cuda.current_stream(value.device))
    copy = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
    with torch.cuda.stream(stream):
        copy.copy_(value, non_blocking=True)
    value.record_stream(stream)
    return copy


def _stream(direction: str, device: Any) -> Any:
    """The stream of all copies of one direction to or from a GPU."""
    stream = _streams.get((direction, device))
    if stream is None:
        with _lock:
            stream = _streams.setdefault((direction, device), torch.cuda.Stream(device))
    return stream
