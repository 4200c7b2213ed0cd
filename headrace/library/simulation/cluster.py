"""A cluster that is described: how many tasks, on how many hosts, between what links, and what a message costs there."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Final

from headrace.cluster.transport.interface import DEFAULT_LIMITS
from headrace.library.simulation.law import Failures, Slow, check_number
from headrace.passes.cost.rates import USUAL, Link

SHORT: Final = 500e-6  # seconds: what takes less runs on the thread that takes messages (runtime/host/turn.py)
WARM: Final = 1e-4  # seconds of nodes in a row after which their code is in the caches; a round number
SMALL: Final = (
    DEFAULT_LIMITS.inline
)  # bytes: what is not larger does not wait behind large messages (how a message travels)
LULL: Final = 5e-4  # seconds without work after which it takes longest to begin again; a round number
NAMES: Final = 64  # bytes of a message beside its values: which they are, and of which step; a round number


@dataclass(frozen=True, slots=True)
class Tolls:
    """Seconds of the interpreter that steps cost beside their nodes.  `measure` finds them on a machine.

    ``message``: to pack and send one, and again to take one.  ``value``: more for each value that it carries.  ``block``: more
    for one that is too large to go inline and has memory of its own.  ``partition``: to begin, drive and end one that another
    task asked for.  ``resume``: to go on with one that has waited for a message.  ``step``: to run a step as the one who asks.
    ``wake``: more for a task that has had nothing to do for `LULL`, in part where it was less: it sleeps, and its caches have
    other code.  ``copy``: bytes a second into the memory that two tasks of a host share.  ``cipher``: bytes a second that are
    encrypted or decrypted for another host.  ``cold``: how many times as long nodes take between two messages as in a loop, where
    the caches have their code; for the first `WARM` seconds of a strand.
    ``crowded``: how many times as long work takes that begins while all other cores of its host are busy.
    """

    message: float = 40e-6
    partition: float = 110e-6
    step: float = 310e-6
    wake: float = 120e-6
    copy: float = 5e9
    cipher: float = 2.4e9
    cold: float = 4.0
    resume: float = 40e-6
    value: float = 3e-6
    block: float = 20e-6
    crowded: float = 1.0

    def __post_init__(self) -> None:
        for one in fields(self):
            is_rate, is_factor = one.name in ("copy", "cipher"), one.name in ("cold", "crowded")
            check_number(one.name, getattr(self, one.name), 1.0 if is_factor else 0.0, above=is_rate)


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

    def __post_init__(self) -> None:
        check_number("workers", self.workers, 1, whole=True)
        for name in ("servers", "cores"):
            check_number(name, getattr(self, name), whole=True)
        check_number("movers", self.movers)
        check_number("speed", self.speed, above=True)
        for name, accepted in (("link", Link), ("slow", Slow), ("failures", Failures), ("tolls", Tolls)):
            if not isinstance(value := getattr(self, name), accepted):
                raise TypeError(f"{name} must be a {accepted.__name__}; got {value!r}")
