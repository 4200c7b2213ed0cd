"""A cluster that is described: how many tasks, on how many hosts, between what links, and what a message costs there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headrace.library.simulation.law import Failures, Slow
from headrace.passes.cost.rates import USUAL, Link

SHORT: Final = 500e-6  # seconds: what takes less runs on the thread that takes messages (runtime/host/turn.py)
WARM: Final = 1e-4  # seconds of nodes in a row after which their code is in the caches; a round number
SMALL: Final = 1 << 16  # bytes: what is not larger does not wait behind large messages (how a message travels)


@dataclass(frozen=True, slots=True)
class Tolls:
    """Seconds of the interpreter that steps cost beside their nodes.  `measure` finds them on a machine.

    ``message``: to pack and send one, and again to take one.  ``partition``: to begin, drive and end one that another task asked
    for.  ``step``: to run a step as the one who asks.  ``wake``: more for a message that comes to a task which sleeps.
    ``copy``: bytes a second into the memory that two tasks of a host share.  ``cipher``: bytes a second that are encrypted
    or decrypted for another host.  ``cold``: how many times as long nodes take between two messages as in a loop, where the
    caches have their code; for the first `WARM` seconds of a strand.
    """

    message: float = 40e-6
    partition: float = 150e-6
    step: float = 350e-6
    wake: float = 60e-6
    copy: float = 5e9
    cipher: float = 2.4e9
    cold: float = 4.0


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
