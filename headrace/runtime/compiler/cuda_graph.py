"""A compiled region on CUDA as one CUDA graph: fed values are copied into fixed buffers, then everything is one launch.

Values on the host go through one of two pinned buffers, so that their transfer and the next step's copy into the other
buffer overlap with what the GPU is doing; nothing waits for the GPU unless something is fetched.  Graphs of one device share
a memory pool.  A region falls back to plain launches when capture fails.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from headrace.resources.calling.copies import to_device
from headrace.resources.state.variable import Variable

log = logging.getLogger("headrace.compile")

WARM_UP = 2  # plain runs before capture: libraries initialise themselves then
_pools: dict[Any, tuple[Any, Any]] = {}


def _pool(device: Any) -> Any:
    """The memory pool that all graphs of a device share; an empty graph keeps it alive when the others come and go."""
    if device not in _pools:
        handle, keeper = torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph()
        with torch.cuda.device(device), torch.cuda.graph(keeper, pool=handle, capture_error_mode="thread_local"):
            torch.zeros(1, device=device)
        _pools[device] = handle, keeper
    return _pools[device][0]


class GraphedCall:
    """Called as a compiled region is.  Thread-safe: runs of one graph are serialised, results are copies."""

    def __init__(self, compiled: Callable[..., Any], captured: Sequence[Any], device: Any) -> None:
        self._compiled = compiled
        self._captured = list(captured)
        self._device = device
        self._lock = threading.Lock()
        self._runs = 0
        self._graph: Any = None
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._buffers: list[Any] = []
        self._stages: list[tuple[list[Any], Any]] = []
        self._turn = 0
        self._refused = False

    def __call__(self, inputs: Sequence[Any], refs: Sequence[Variable]) -> Any:
        buffers = [r.value for r in refs]
        if self._refused:
            return self._plain(inputs, buffers)
        with self._lock:
            if self._graph is None or any(a is not b for a, b in zip(buffers, self._buffers, strict=True)):
                self._runs += 1
                if self._runs <= WARM_UP:
                    return self._plain(inputs, buffers)
                if not self._capture(inputs, buffers):
                    return self._plain(inputs, buffers)
            self._load(inputs)
            self._graph.replay()
            return [o.clone() for o in self._outputs]

    def _load(self, inputs: Sequence[Any]) -> None:
        """Starts the transfer of the inputs into the graph's buffers."""
        if not inputs:
            return
        pinned, done = self._stages[self._turn]
        self._turn ^= 1
        done.synchronize()  # the transfer of two runs ago: long over, unless the GPU is far behind
        for fixed, fed, stage in zip(self._inputs, inputs, pinned, strict=True):
            fixed.copy_(fed if stage is None else stage.copy_(fed), non_blocking=True)
        done.record()

    def _plain(self, inputs: Sequence[Any], buffers: Sequence[Any]) -> Any:
        moved = [to_device(t, self._device) for t in inputs]
        return self._compiled(*moved, *self._captured, *buffers)

    def _capture(self, inputs: Sequence[Any], buffers: list[Any]) -> bool:
        """Records one run.  Capturing executes nothing, so the variables keep their values."""
        fixed = [torch.empty_like(t, device=self._device) for t in inputs]
        for target, fed in zip(fixed, inputs, strict=True):
            target.copy_(fed)
        graph = torch.cuda.CUDAGraph()
        try:
            torch.cuda.synchronize(self._device)
            pool = _pool(self._device)
            with torch.cuda.device(self._device), torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
                outputs = self._compiled(*fixed, *self._captured, *buffers)
        except RuntimeError as e:
            self._refused = True
            log.warning("not captured as a CUDA graph, launches stay separate: %s", str(e).splitlines()[0])
            return False
        self._graph, self._inputs, self._outputs, self._buffers = graph, fixed, list(outputs), buffers
        self._stages = [([_pinned(t) for t in inputs], torch.cuda.Event()) for _ in range(2)]  # type: ignore[no-untyped-call]
        return True


def _pinned(tensor: Any) -> Any:
    """A buffer for a value on the host, from which the GPU can fetch it by itself; None for one on the GPU."""
    return torch.empty_like(tensor, pin_memory=True) if tensor.device.type == "cpu" else None
