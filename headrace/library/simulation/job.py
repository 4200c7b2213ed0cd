"""A job as plain data: what each partition of a step computes, which messages it sends, and what it waits for.

Made of a planned step by `planning`, and run by `machine`.  It has no nodes: what a strand does is some seconds of the
interpreter, some of kernels, and messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

RELEASE: Final = "release"  # a strand that waits until its worker may go on
UPDATE: Final = "update"  # one that waits for an update to make
WORKER: Final = -1  # the task of a partition that the worker itself has


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a strand, and the messages that leave after it.

    ``interpreter``: seconds with the interpreter's lock.  ``kernels``: seconds without.  ``moves``: seconds of kernels that the
    memory takes, not the processor.  ``gathered``: more of these for each gradient that counts.  ``tells``: an update is made.
    """

    interpreter: float = 0.0
    kernels: float = 0.0
    moves: float = 0.0
    gathered: float = 0.0
    sends: tuple[int, ...] = ()
    tells: bool = False


@dataclass(frozen=True, slots=True)
class Strand:
    """``after``: strands of the partition that must be over.  ``takes``: messages.  ``waits``: RELEASE, UPDATE or nothing."""

    pieces: tuple[Piece, ...] = ()
    after: tuple[int, ...] = ()
    takes: tuple[int, ...] = ()
    waits: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """``task``: WORKER, or the number of a server.  ``live``: the most bytes of values that are there at a time."""

    task: int
    strands: tuple[Strand, ...]
    live: float = 0.0


@dataclass(frozen=True, slots=True)
class Message:
    """``source`` and ``destination``: partitions of the step.  ``values``: how many it carries."""

    source: int
    destination: int
    size: float
    values: int = 0


@dataclass(frozen=True, slots=True)
class Steps:
    """A step that was cut: its partitions and messages."""

    partitions: tuple[Partition, ...]
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """Who waits for whom: what `tf.train.replicas` says, without the number of workers.

    ``needed``: less than the workers by ``backups`` where that is not None; else this share of them, where it is not 0.
    """

    mode: str = "async"
    backups: int | None = None  # -1: chosen by the times of steps
    quorum: float = 0.0
    grace: float = 0.0
    staleness: int = -1

    @property
    def gathers(self) -> bool:
        """Whether gradients are gathered."""
        return self.mode in ("sync", "backup", "quorum", "local")


@dataclass(frozen=True, slots=True)
class Job:
    """``step``: what each worker runs again and again.  ``between``: in its place, all but each ``every``-th time: see `untaken`.

    ``update``: what the one that leads runs for each update, where gradients are gathered.  ``state``: bytes of variables on each
    server.  ``gradients``: bytes that one worker's gradients for a server take.  ``outside``: seconds of a worker's
    program between two steps.
    """

    step: Steps
    servers: int
    rules: Rules = field(default_factory=Rules)
    update: Steps | None = None
    between: Steps | None = None
    every: int = 1
    state: tuple[float, ...] = ()
    gradients: tuple[float, ...] = ()
    outside: float = 0.0

    def with_rules(self, rules: Rules) -> Job:
        """The job with other rules of who waits for whom."""
        return replace(self, rules=rules)


def job_of(plain: Mapping[str, Any]) -> Job:
    """The inverse of `dataclasses.asdict`, also of what went through JSON."""
    cut = {name: None if plain[name] is None else _steps_of(plain[name]) for name in ("step", "update", "between")}
    lists = {name: tuple(plain[name]) for name in ("state", "gradients")}
    return Job(**{**plain, **cut, **lists, "rules": Rules(**plain["rules"])})


def _steps_of(plain: Mapping[str, Any]) -> Steps:
    def strand(one: Mapping[str, Any]) -> Strand:
        pieces = tuple(Piece(**{**piece, "sends": tuple(piece["sends"])}) for piece in one["pieces"])
        return Strand(pieces, tuple(one["after"]), tuple(one["takes"]), one["waits"])

    partitions = tuple(
        Partition(one["task"], tuple(map(strand, one["strands"])), one["live"]) for one in plain["partitions"]
    )
    return Steps(partitions, tuple(Message(**one) for one in plain["messages"]))


def untaken(steps: Steps) -> Steps:
    """The step when its exchange is not due: servers do not hear of it (passes/partition/spare.py)."""

    def strand(one: Strand) -> Strand:
        return replace(one, pieces=tuple(replace(piece, sends=()) for piece in one.pieces), takes=(), waits="")

    own = (part for part in steps.partitions if part.task == WORKER)
    return Steps(tuple(replace(part, strands=tuple(map(strand, part.strands))) for part in own))


def computing(steps: Steps, task: int = WORKER) -> float:
    """Seconds that a task computes in a step, messages not counted."""
    return sum(
        piece.interpreter + piece.kernels + piece.moves
        for part in steps.partitions if part.task == task
        for strand in part.strands
        for piece in strand.pieces
    )  # fmt: skip


def scaled(steps: Steps, factor: float, task: int | None = None) -> Steps:
    """The steps where all that this task computes, or all of them, takes ``factor`` times as long."""
    return replace(
        steps,
        partitions=tuple(
            part if task not in (None, part.task) else replace(
                part,
                strands=tuple(
                    replace(strand, pieces=tuple(
                        replace(
                            p, interpreter=p.interpreter * factor, kernels=p.kernels * factor, moves=p.moves * factor,
                            gathered=p.gathered * factor,
                        )
                        for p in strand.pieces
                    ))
                    for strand in part.strands
                ),
            )
            for part in steps.partitions
        ),
    )  # fmt: skip
