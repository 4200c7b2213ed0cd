"""What tasks share and wait in line for: the cores and the memory of a host, and both directions of a task's link.

All are first come, first served, and answer when something that begins then will be over: no event waits in a line.
"""

from __future__ import annotations

from math import inf

from headrace.library.simulation.cluster import SMALL
from headrace.passes.cost.rates import Link


class Host:
    """The cores of one host, and how many threads can move bytes at the same time."""

    __slots__ = ("_crowded", "_free", "_moving", "movers", "used")

    def __init__(self, cores: int = 0, movers: float = 0.0, crowded: float = 1.0) -> None:
        """0: as many as are asked for.  ``crowded``: how many times as long work takes that begins while they are all busy."""
        self._free = [0.0] * cores  # when each core is free
        self._moving: list[float] = []  # when what moves bytes now will be over
        self.movers, self._crowded = movers, crowded
        self.used = 0.0  # seconds of cores

    def begin(self, time: float) -> tuple[int, float]:
        """A core, and from when on; it is taken until `end`.  Of free ones that which was used last."""
        free = self._free
        if not free:
            return -1, time
        best = -1
        for i, since in enumerate(free):
            if since <= time and (best < 0 or since > free[best]):
                best = i
        if best < 0:
            best = min(range(len(free)), key=free.__getitem__)
        begun = max(time, free[best])
        free[best] = inf
        return best, begun

    def end(self, core: int, begun: float, time: float) -> float:
        """Frees the core.  Returns when: at that time, or later where all other cores were busy."""
        self.used += time - begun
        if core >= 0:
            if self._crowded > 1.0 and min(self._free) > begun:
                time += (self._crowded - 1.0) * (time - begun)
            self._free[core] = time
        return time

    def compute(self, time: float, kernels: float, moves: float) -> float:
        """When kernels that begin now or later are over."""
        core, begun = self.begin(time)
        return self.end(core, begun, begun + kernels + self.stretched(begun, moves))

    def stretched(self, time: float, moves: float) -> float:
        """Seconds that moving takes, beside what moves then already."""
        if not moves or not self.movers:
            return moves
        self._moving = [over for over in self._moving if over > time]
        seconds = moves * max(1.0, (len(self._moving) + 1) / self.movers)
        self._moving.append(time + seconds)
        return seconds


class Port:
    """One task's end of the network."""

    __slots__ = ("_in", "_link", "_out", "received", "receiving", "sending", "sent")

    def __init__(self, link: Link) -> None:
        self._link = link
        self._out = self._in = 0.0  # when each direction is free
        self.sent = self.received = 0.0  # bytes
        self.sending = self.receiving = 0.0  # seconds

    def send(self, time: float, size: float) -> tuple[float, float]:
        """When the first byte is at the other end, and when this end has sent the last.

        What is small goes between the parts of what is large.
        """
        self.sent += size
        seconds = size / self._link.bandwidth
        self.sending += seconds
        begun = time if size <= SMALL else max(time, self._out)
        if size > SMALL:
            self._out = begun + seconds
        return begun + self._link.latency, begun + self._link.latency + seconds

    def receive(self, time: float, size: float, last: float) -> float:
        """When all of it is there: the first byte at ``time``, the last not before ``last``."""
        self.received += size
        seconds = size / self._link.bandwidth
        self.receiving += seconds
        if size <= SMALL:
            return max(time + seconds, last)
        over = max(max(time, self._in) + seconds, last)
        self._in = over
        return over
