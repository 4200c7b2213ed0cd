"""How fast devices and the links between them are, as plain numbers.  Who measures them is the runtime's business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from headrace.core.device import task_of, type_of
from headrace.passes.cost.work import Work


@dataclass(frozen=True, slots=True)
class Rates:
    """Of one type of device.

    ``flops``: float operations a second, by the type of the product (float32, bfloat16 ...), and by that and the use that a node
    makes of the device (float32 convolution), where that has a rate of its own.
    ``bandwidth``: bytes of its memory a second.  ``launch``: seconds that a kernel takes which has nothing to do.
    ``memory``: bytes; 0 if nobody has said how many.
    ``bandwidths``: bytes a second for certain uses (`use_of`); others take ``bandwidth``.
    ``launches``: for certain uses; others take ``launch``.
    ``array``: the launch of a kernel on arrays; 0 where there are none.  ``arrays``: of certain uses.  ``array_bandwidths``:
    bytes a second on arrays, for certain uses.
    ``single``: the part of the speed in products that one thread has; 0 if nobody has measured it.
    ``queued``: of a device that works beside the thread that calls it, the seconds that it takes for a kernel itself; then
    launches are the thread's.  0 for a device that works on that thread.
    """

    flops: Mapping[str, float]
    bandwidth: float
    launch: float
    memory: int = 0
    bandwidths: Mapping[str, float] = field(default_factory=dict)
    launches: Mapping[str, float] = field(default_factory=dict)
    array: float = 0.0
    arrays: Mapping[str, float] = field(default_factory=dict)
    queued: float = 0.0
    array_bandwidths: Mapping[str, float] = field(default_factory=dict)
    single: float = 0.0

    def share(self, threads: int, of: int) -> float:
        """The part of the rates that so many threads have of all.  Cores that two threads share are one and a bit.

        >>> Rates({}, 1.0, 1.0, single=0.8).share(1, 2), Rates({}, 1.0, 1.0).share(1, 4)
        (0.8, 0.25)
        """
        if of <= 1 or threads >= of:
            return 1.0
        single = min(max(self.single, 1.0 / of), 1.0)
        return single + (1.0 - single) * (threads - 1) / (of - 1)

    def seconds(self, work: Work, dtype: str = "float32", use: str = "", on_array: bool = False) -> float:
        """What the work takes by itself, begun where the device has nothing else to do."""
        return max(self.calling(work, use, on_array), self.working(work, dtype, use, on_array))

    def calling(self, work: Work, use: str = "", on_array: bool = False) -> float:
        """The launches, which are the calling thread's on a device that works beside it."""
        if on_array and self.array:
            return work.calls * (self.arrays.get(use) or self.array)
        return work.calls * (self.launches.get(use) or self.launch)

    def working(self, work: Work, dtype: str = "float32", use: str = "", on_array: bool = False) -> float:
        """What the device takes: the kernels' own, and the longer one of computing and of moving bytes."""
        peak = self.flops.get(f"{dtype} {use}") or self.flops.get(dtype) or self.flops["float32"]
        bandwidth = (on_array and self.array_bandwidths.get(use)) or self.bandwidths.get(use) or self.bandwidth
        each = work.calls * self.queued if self.queued else self.calling(work, use, on_array)
        return each + max(work.flops / peak, (work.read + work.written) / bandwidth)


@dataclass(frozen=True, slots=True)
class Link:
    """Between two devices: seconds until the first byte is there, and bytes a second after that."""

    latency: float
    bandwidth: float

    def seconds(self, size: float) -> float:
        return self.latency + size / self.bandwidth


NEAR: Final = "near"  # two devices of one process that share memory
BUS: Final = "bus"  # a CPU and an accelerator of one process, or two accelerators
HOST: Final = "host"  # two tasks on one host
NETWORK: Final = "network"  # two tasks on two hosts


@dataclass(frozen=True, slots=True)
class Machine:
    """The rates of each type of device, and the links by their kind."""

    rates: Mapping[str, Rates]
    links: Mapping[str, Link]
    hosts: Mapping[str, str] = field(default_factory=dict)  # of tasks; those that are not named share one
    step: float = 0.0  # seconds of a step beside its nodes: feeds in, fetches out

    def rates_of(self, device_type: str) -> Rates:
        """A type that nobody has measured counts as a CPU."""
        return self.rates.get(device_type) or self.rates["CPU"]

    def link(self, source: str, destination: str) -> Link:
        """Between two devices, by their full names."""
        return self.links[self.kind(source, destination)]

    def kind(self, source: str, destination: str) -> str:
        """Which kind of link is between two devices."""
        one, other = task_of(source), task_of(destination)
        if one != other:
            return HOST if self.hosts.get(one) == self.hosts.get(other) else NETWORK
        return NEAR if type_of(source) == type_of(destination) == "CPU" else BUS


# What is taken where nobody has measured: round numbers of a desktop of 2020, a GPU of that time and a network of 10 Gbit/s.
# Between two CPUs of a process no byte is moved far, but a value is handed from thread to thread.
USUAL: Final = Machine(
    {
        "CPU": Rates({"float32": 1e11}, 1e10, 2e-6),
        "GPU": Rates({"float32": 1e13, "bfloat16": 1e14, "float16": 1e14}, 1e12, 5e-6, 16 << 30),
    },
    {NEAR: Link(1e-4, 1e10), BUS: Link(2e-5, 1e10), HOST: Link(1e-4, 2e9), NETWORK: Link(2e-4, 1e9)},
)
