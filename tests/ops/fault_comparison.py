"""How Headrace and TensorFlow take one invalid call: alike, or different in one of a few ways.

An outcome is a letter of `golden/fault_results.py`.  Every call has a twin in the other form (``static``, ``late``), which says
whether what is not refused while building is refused when it runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from golden.fault_results import NO_SUCH_DTYPE, RUNS, UNKNOWN
from ops.invalid import Spoilt

LISTED = Path(__file__).with_name("fault_differences.txt")
SOONER = "sooner"
"""Headrace refuses while building what TensorFlow refuses when it runs: no difference to list (docs/differences.md)."""


WAYS = ("later", "laxer", "stricter", "class", SOONER)


def difference(theirs: str, ours: str, their_twin: str, our_twin: str) -> str | None:
    """The way in which the outcomes differ: later, laxer, stricter, class or sooner; None if they do not."""
    if theirs in (UNKNOWN, ours):
        return None
    if theirs == NO_SUCH_DTYPE:
        return None if ours in (RUNS, "t") else "class"
    if ours == RUNS:
        return "later" if theirs.islower() and our_twin not in (RUNS, "") else "laxer"
    if theirs == RUNS:
        return SOONER if ours.islower() and their_twin not in (RUNS, "") else "stricter"
    if ours.islower() and theirs.isupper():
        return SOONER
    return "later" if ours.isupper() and theirs.islower() else "class"


def differences(calls: Iterable[tuple[Spoilt, str, str]]) -> Iterable[tuple[str, Spoilt, str, str]]:
    """(way, call, TensorFlow's outcome, ours) of every call that is taken differently."""
    listed = list(calls)
    twins = {(call.form, call.fault): (theirs, ours) for call, theirs, ours in listed}
    for call, theirs, ours in listed:
        other = "static" if call.form == "late" else "late"
        way = difference(theirs, ours, *twins.get((other, call.fault), ("", "")))
        if way is not None:
            yield way, call, theirs, ours


@dataclass(frozen=True)
class Rule:
    """One op's calls that may be taken otherwise, in one way: those whose fault matches a pattern."""

    way: str
    op: str
    fault: str

    def __str__(self) -> str:
        return f"{self.way} {self.op}: {self.fault}"

    def covers(self, way: str, call: Spoilt) -> bool:
        return (way, call.op) == (self.way, self.op) and fnmatchcase(call.fault, self.fault)


def read() -> list[Rule]:
    """The differences that are to stay."""
    rules = []
    for line in LISTED.read_text().splitlines():
        if line and not line.startswith("#"):
            words, _, faults = line.partition(": ")
            way, *ops = words.split()
            rules += [Rule(way, op, fault) for op in ops for fault in faults.split("; ")]
    return rules
