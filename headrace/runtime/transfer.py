"""Copies from the host to a CUDA device, on a stream of their own.

A copy on the stream that computes waits for all that was begun there before, and a copy from ordinary memory makes the host wait
as well: the feeds of a step would arrive only when the step before is over.  So large values go through pinned memory, which the
device reads while it computes; the stream that computes waits for the copy alone.  Torch keeps pinned buffers for later copies.

Copies to the host need no stream: whoever asks for a value waits for it, and for what computes it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import torch

SMALL: Final = 1 << 16  # bytes: up to this size CUDA takes the value along with the command


def to_cuda(value: Any, device: Any) -> Any:
    """The value on the device.  What was begun there goes on meanwhile, and the host's memory may change afterwards."""
    if type(value) is not torch.Tensor or value.nbytes <= SMALL:
        return value.to(device, non_blocking=True)
    copying = _copy_stream(device)
    with torch.cuda.stream(copying):
        copy = value.pin_memory().to(device, non_blocking=True)
    computing = torch.cuda.current_stream(device)
    computing.wait_stream(copying)
    copy.record_stream(computing)  # its memory is the copying stream's, which must not reuse it before
    return copy


@cache
def _copy_stream(device: Any) -> Any:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
