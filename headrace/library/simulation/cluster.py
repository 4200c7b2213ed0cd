"""A cluster that is described: how many tasks, on how many hosts, between what links, and what a message costs there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headrace.library.simulation.law import Failures, Slow
from headrace.passes.cost.rates import USUAL, Link

SHORT: Final = 500e-6  # seconds: what takes less runs on the thread that takes messages (runtime/host/turn.py)
WARM: Final = 1e-4  # seconds of nodes in a row after which their code is in the caches; a round number
INLINE: Final = 1 << 14  # bytes: what is not larger goes within a message between two tasks of a host
SMALL: Final = 1 << 16  # bytes: what is not larger does not wait behind large messages (how a message travels)


@dataclass(frozen=True, slots=True)
class Tolls:
    """Seconds of the interpreter that steps cost beside their nodes.  `measure` finds them on a machine.

    ``message``: to pack and send one, and again to take one.  ``value``: more for each value that it carries.  ``block``: more
    for one of more than `INLINE` bytes, which has memory of its own.  ``partition``: to begin, drive and end one that another
    task asked for.  ``resume``: to go on with one that has waited for a message.  ``step``: to run a step as the one who asks.
    ``wake``: more for a message that comes to a task which sleeps.  ``beside``: of a core, not of the interpreter, for a message
    at each of its ends, by the thread that has the sockets.  ``copy``: bytes a second into the memory that two tasks of a host
    share.  ``cipher``: bytes a second that are encrypted or decrypted for another host.  ``cold``: how many times as long nodes
    take between two messages as in a loop, where the caches have their code; for the first `WARM` seconds of a strand.
    ``crowded``: how many times as long work takes that begins when no other core of its host is free.
    """

    message: float = 40e-6
    partition: float = 110e-6
    step: float = 310e-6
    wake: float = 60e-6
    copy: float = 5e9
    cipher: float = 2.4e9
    cold: float = 4.0
    resume: float = 40e-6
    value: float = 3e-6
    block: float = 20e-6
    beside: float = 15e-6
    crowded: float = 1.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """``cores``: of each host; 0: as many as are asked for.  ``together``: all tasks are on one host.

    ``movers``: how many threads of a host can move bytes at full speed at the same time; 0: any number.
    ``speed``: how many times as fast workers compute as the costs say.
    """

    workers: int
    servers: int
    link: Link = USUAL.links["network"]
    cores: int = 0
    together: bool = False
    movers: float = 0.0
    speed: float = 1.0
    slow: Slow = field(default_factory=Slow)
    failures: Failures = field(default_factory=Failures)
    tolls: Tolls = field(default_factory=Tolls)
