"""Explanation: what ``Session.explain`` gives: plain records of how a step would run, as an object, as JSON, as text.

Owns the records and nothing else: ``runtime/explain/explain.py`` fills them, ``runtime/explain/explanation_text.py`` prints them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.runtime.explain.explanation_text import outline, render


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """A node of the step after it was placed: where it is, and why."""

    name: str
    op: str
    device: str
    partitions: tuple[str, ...]  # several for a loop or conditional over several, and for what each has its own copy of
    cause: str  # see headrace/passes/reason.py
    why: str
    source: str  # the line of the program that made it
    body: str  # the holder of the body that it is in, and which of its bodies; "" outside
    strand: int | None  # the strand of its partition that runs it; None if rewrites took its place


@dataclass(frozen=True, slots=True)
class ExplainedPartition:
    """What one device or task does."""

    name: str
    devices: tuple[str, ...]
    nodes: int  # that run, without those in bodies
    strands: int
    threads: int | None  # the most that its kernels use; None where another process decides
    sends: int  # messages
    takes: int


@dataclass(frozen=True, slots=True)
class TransferredValue:
    """A tensor that goes from one partition, or device, to another.  ``bytes`` is None where the shape is open."""

    name: str
    type: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class ExplainedTransfer:
    """A message from one partition to another, or a copy between the devices of one partition."""

    source: str
    destination: str
    message: str  # its key; "" for a copy
    round: int | None  # border crossings on the longest path to it; None for a copy, and for what keeps loops in step
    values: tuple[TransferredValue, ...]  # none: only the order matters
    bytes: int | None
    body: str  # sent once in each run of this body; "" outside


@dataclass(frozen=True, slots=True)
class ExplainedSpan:
    """A loop or conditional that runs in several partitions."""

    name: str
    op: str
    partitions: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class ExplainedStrand:
    """Nodes that run as one program, or one node that waits."""

    partition: str
    index: int
    nodes: tuple[str, ...]
    after: tuple[int, ...]  # strands of the partition that must be over first
    waits_for: str  # what the node waits for, in words; "" for a strand that computes
    tier: str  # "compiled", "being compiled", "to be compiled", "interpreted"; "" for a strand that waits
    regions: int  # compiled ones
    arrays: int  # nodes that run on numpy arrays, those in bodies too
    threads: int


@dataclass(frozen=True, slots=True)
class ExplainedPass:
    """What one pass did to the step, to one of its bodies, or to a partition."""

    name: str
    stage: str
    graph: str  # which
    before: int  # nodes
    after: int
    diff: str  # lines of the text form that went (-) and came (+); a changed node has both
    reordered: bool  # whether nodes that stayed changed their order


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a step would run.  ``str()`` is a readable report, ``to_dict()`` is fit for JSON."""

    nodes: list[ExplainedNode] = field(default_factory=list)
    partitions: list[ExplainedPartition] = field(default_factory=list)
    transfers: list[ExplainedTransfer] = field(default_factory=list)
    spans: list[ExplainedSpan] = field(default_factory=list)
    strands: list[ExplainedStrand] = field(default_factory=list)
    passes: list[ExplainedPass] = field(default_factory=list)  # empty unless asked for

    def to_dict(self) -> dict[str, Any]:
        """The records as dictionaries and lists."""
        return {name: [_plain(one) for one in getattr(self, name)] for name in self.__slots__}

    def outline(self, compile_mode: str) -> str:
        """Five lines of it.  ``compile_mode``: that of the session."""
        return outline(self, compile_mode)

    def __str__(self) -> str:
        return render(self)


def _plain(node: Any) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(node).items()}
