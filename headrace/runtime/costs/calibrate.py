"""Calibration: how fast this machine's devices are, and the links between them, measured in a few seconds and kept on disk.

What is timed are programs as steps run them (`programs`), so that a launch has in it what Headrace itself takes for a node.
The shortest of some samples counts: what else runs on the machine only makes them longer.
"""

from __future__ import annotations

import importlib
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Final

import torch

from headrace.core.dtypes import DType, bfloat16, float16, float32, float64
from headrace.core.errors import OpError
from headrace.passes.arrays import MOST
from headrace.passes.cost import use
from headrace.passes.cost.model import CostModel
from headrace.passes.cost.rates import BUS, HOST, NEAR, NETWORK, USUAL, Link, Machine, Rates
from headrace.resources.state.memory import memory_limit
from headrace.runtime.costs import keep, programs
from headrace.runtime.costs.probe import Bench, Clock, Made, Probe, shortest
from headrace.runtime.host.device import waiting
from headrace.runtime.host.threads import default_threads, having_threads

log = logging.getLogger("headrace.costs")
SHARE: Final = 0.15  # seconds for one figure
LARGE: Final = {"cpu": 1 << 22, "": 1 << 26}  # elements of large values, by torch's type; "": of any accelerator
ROWS: Final = {"cpu": 1024, "": 8192}  # of matrices
PICTURES: Final = {"cpu": 4, "": 128}
SMALL: Final = 16  # elements of a value without work
CHAIN: Final = 64  # nodes
REPEATS: Final = 8

_known: dict[int, Machine] = {}
_lock = threading.Lock()


def machine(threads: int = 0, again: bool = False) -> Machine:
    """What this machine's devices and links can do: measured when it is first asked for, then kept on disk.

    Args:
      threads: Of a step's kernels; 0: as many as a session takes by itself.
      again: Whether to measure even if it was measured before.
    """
    threads = threads or default_threads()
    with _lock:
        if again or threads not in _known:
            name = keep.name_of(threads)
            found = None if again else keep.find(name)
            if found is None:
                with keep.alone(name) as waited:
                    found = keep.find(name) if waited else None
                    if found is None:
                        found = measure(threads)
                        keep.keep(name, found, {**keep.describe(threads), "load": os.getloadavg()[0]})
            _known[threads] = found
        return _known[threads]


def measure(threads: int = 0, clock: Clock = perf_counter) -> Machine:
    """Measures, and keeps nothing.  ``clock``: ``time.thread_time`` leaves out what other processes take, on one thread."""
    began = perf_counter()
    bench = Bench(threads)
    try:
        types = dict.fromkeys(d.device_type for d in bench.worker.devices if d.torch_device.type != "meta")
        rates = {name: _Measurement(bench, name, clock).rates() for name in types}
        links = _links(bench, list(types), clock)
        step = max((seconds(clock) for seconds in _steps), default=0.0)
    finally:
        bench.close()
    log.info("measured this machine in %.1f s, under a load of %.1f", perf_counter() - began, os.getloadavg()[0])
    return Machine(rates, links, step=step)


_steps: list[Callable[[Clock], float]] = []


def step_measured_by(seconds: Callable[[Clock], float]) -> None:
    """Names the function that says what a step takes beside its nodes: how a step is asked for is not this room's business."""
    _steps[:] = [seconds]


class _Measurement:
    """Of one type of device."""

    def __init__(self, bench: Bench, device_type: str, clock: Clock) -> None:
        self._bench = bench
        self._type = device_type
        self._clock = clock
        self._torch_device = bench.worker.torch_device(bench.device(device_type))
        self._on_host = self._torch_device.type == "cpu"

    def rates(self) -> Rates:
        """All of them.  Launches are those on one thread; of speeds the better of one thread and all, as steps choose."""
        with having_threads(1):
            launches = self._launches(False)
            arrays = self._launches(True) if self._on_host else {}
            launch, array = launches.pop(use.PLAIN), arrays.pop(use.PLAIN, 0.0)
            queued = 0.0 if self._on_host else self._queued()
            bare = Rates(
                {"float32": float("inf")},
                float("inf"),
                launch,
                launches=launches,
                array=array,
                arrays=arrays,
                queued=queued,
            )
            on_arrays = self._array_bandwidths(bare) if self._on_host else {}
            bare = replace(bare, array_bandwidths=on_arrays)
            flops, bandwidths = self._flops(bare), self._bandwidths(bare)
        threads, single = self._bench.worker.threads, 1.0
        if self._on_host and threads > 1:
            with having_threads(threads):
                more, faster = self._flops(bare), self._bandwidths(bare)
            single = min(flops["float32"] / more["float32"], 1.0)
            flops = {name: max(speed, more[name]) for name, speed in flops.items()}
            bandwidths = {name: max(speed, faster[name]) for name, speed in bandwidths.items()}
        bandwidth = bandwidths.pop(use.PLAIN)
        return replace(
            bare, flops=flops, bandwidths=bandwidths, bandwidth=bandwidth, memory=memory_limit(self._torch_device),
            single=single,
        )  # fmt: skip

    def _size(self, sizes: Mapping[str, int]) -> int:
        return sizes.get(self._torch_device.type, sizes[""])

    def _probe(self, make: Callable[[], Made], arrays: bool = False, numbers: int = 8) -> Probe:
        return self._bench.probe(self._type, make, arrays, numbers)

    def _launches(self, arrays: bool) -> dict[str, float]:
        """What the calling thread takes for a node of each use that has next to no work."""
        makes = {
            use.PLAIN: partial(programs.chain, CHAIN, [SMALL]) if arrays else programs.mixture,
            use.SUM: partial(programs.sums, 4, 8),
            use.PRODUCT: partial(programs.product, 4, 8, float32),
            use.CONVOLUTION: partial(programs.convolution, 1, float32, 4, 2),
            use.POOLING: partial(programs.pooling, 1, 4, 2),
            use.FUNCTION: partial(programs.functions, 4, 8),
            use.LOSS: partial(programs.loss, 4, 8),
            use.MOVEMENT: partial(programs.movement, 4, 8),
            use.ROWS: partial(programs.rows, 8, 4, 2),
            use.RANDOM: partial(programs.drawing, 8),
        }
        found = {}
        for name, make in makes.items():
            probe = self._probe(partial(programs.repeated, make, REPEATS), arrays)
            if not arrays or probe.program.on_arrays:
                found[name] = probe.seconds(SHARE / 4, self._clock, waits=False) / probe.nodes
        return found

    def _queued(self) -> float:
        """What the device takes for a kernel without work, as a part of a graph of kernels that is launched as one."""
        probe = self._probe(partial(programs.chain, CHAIN, [SMALL]))
        if self._torch_device.type != "cuda":  # no graphs of kernels: as much as a kernel takes with its launch
            return probe.seconds(SHARE, self._clock) / probe.nodes
        finish = waiting([self._torch_device])
        assert finish is not None
        probe.program.call(*probe.inputs)
        finish()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # other threads may go on meanwhile
            results = probe.program.call(*probe.inputs)
        seconds = shortest(graph.replay, finish, SHARE, self._clock) / probe.nodes
        del results  # the graph writes into their memory
        return seconds

    def _array_bandwidths(self, bare: Rates) -> dict[str, float]:
        """Of the largest values that are arrays."""
        rows = MOST // 64
        makes = {
            use.PLAIN: partial(programs.chain, 8, [MOST]),
            use.SUM: partial(programs.sums, rows, 64),
            use.FUNCTION: partial(programs.functions, rows, 64),
            use.MOVEMENT: partial(programs.movement, rows // 2, 64),
        }
        return {name: self._bandwidth(make, bare, arrays=True) for name, make in makes.items()}

    def _bandwidth(self, make: Callable[[], Made], bare: Rates, numbers: int = 8, arrays: bool = False) -> float:
        """Bytes a second, launches not counted."""
        probe = self._probe(make, arrays, numbers)
        seconds = probe.seconds(SHARE, self._clock) - self._begun(probe, bare)
        return (probe.work.read + probe.work.written) / max(seconds, 1e-9)

    def _flops(self, bare: Rates) -> dict[str, float]:
        found: dict[str, float] = {}
        for dtype in self._types():
            many = partial(programs.layer, self._size(ROWS) // 8, self._size(ROWS) // 2, dtype)
            pictures = partial(programs.convolutions, self._size(PICTURES), dtype)
            found[dtype.name] = self._rate(many, bare)
            found[f"{dtype.name} {use.CONVOLUTION}"] = self._rate(pictures, bare)
        return found

    def _types(self) -> Sequence[DType]:
        """The types in which products are worth measuring: on a CPU those of 16 bits may take seconds."""
        return [float32, float64] if self._on_host else [float32, bfloat16, float16]

    def _rate(self, make: Callable[[], Made], bare: Rates) -> float:
        probe = self._probe(make)
        return probe.work.flops / max(probe.seconds(SHARE, self._clock) - self._begun(probe, bare), 1e-9)

    def _begun(self, probe: Probe, bare: Rates) -> float:
        """What the nodes of a probe take beside their work."""
        costs = CostModel(Machine({"CPU": bare}, {}))
        return sum(costs.working(node, "CPU") for node in probe.program.lines.values())

    def _bandwidths(self, bare: Rates) -> dict[str, float]:
        rows, large = self._size(ROWS), self._size(LARGE)
        table = large // 64
        makes = {
            use.PLAIN: partial(programs.sweep, 4, large),
            use.SUM: partial(programs.sums, rows, 1024),
            use.PRODUCT: partial(programs.product, 8, rows * 2, float32),
            use.POOLING: partial(programs.poolings, self._size(PICTURES) * 2),
            use.FUNCTION: partial(programs.functions, rows),
            use.LOSS: partial(programs.loss, rows),
            use.MOVEMENT: partial(programs.movement, rows),
            use.ROWS: partial(programs.rows, table, table // 4),
            use.RANDOM: partial(programs.drawing, large // 4),
        }
        below = {use.ROWS: table}
        return {name: self._bandwidth(make, bare, below.get(name, 8)) for name, make in makes.items()}


# ---- links


def _links(bench: Bench, types: Sequence[str], clock: Clock) -> dict[str, Link]:
    links = dict(USUAL.links)
    host = torch.device("cpu")
    links[NEAR] = _copying(host, host, clock)
    others = [bench.worker.torch_device(bench.device(name)) for name in types if name != "CPU"]
    if others:
        links[BUS] = _copying(host, others[0], clock)
    between = _between_tasks()
    if between is not None:
        links[HOST] = between
        links[NETWORK] = Link(max(between.latency, USUAL.links[NETWORK].latency), USUAL.links[NETWORK].bandwidth)
    return links


def _copying(source: Any, destination: Any, clock: Clock) -> Link:
    """Copies of two sizes: the line through both times."""
    finish = waiting([source, destination]) or (lambda: None)
    small, large = torch.empty(64, device=source), torch.empty(1 << 22, device=source)

    def seconds(value: Any) -> float:
        return shortest(lambda: value.to(destination, copy=True), finish, SHARE, clock)

    latency = seconds(small)
    return Link(latency, large.nbytes / max(seconds(large) - latency, 1e-9))


def _between_tasks() -> Link | None:
    """What the transport between tasks takes on this host; None where it cannot be tried."""
    try:
        importlib.import_module("headrace.cluster.transport").need_libraries()
        latency, bandwidth = importlib.import_module("headrace.cluster.loopback").measure()
    except (ImportError, OSError, OpError) as e:
        log.info("the link between tasks of this host is not measured, and the usual one is taken: %s", e)
        return None
    return Link(latency, bandwidth)
