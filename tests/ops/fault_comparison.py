"""How Headrace and TensorFlow take one invalid call: alike, or different in one of a few ways.

An outcome is a letter of `golden/fault_results.py`.  Every call has a twin in the other form (``static``, ``late``), which says
whether what is not refused while building is refused when it runs.
"""

from __future__ import annotations

from collections.abc import Iterable
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


def line(way: str, call: Spoilt) -> str:
    """How a difference is written in the list."""
    return f"{way}\t{call.op}\t{call.form}\t{call.fault}"


def read() -> set[str]:
    """The lines of the list of differences that are to stay."""
    return {text for text in LISTED.read_text().splitlines() if text and not text.startswith("#")}
