"""The critical path of traced steps: the chain of nodes, messages and gaps that a step could not be shorter than.

It is followed backwards, from the node that ended last.  A node began when the last of its inputs was made or its thread was
free, whichever was later; a wait for a message ended when the message came, which began where it was sent.  What lies between
two nodes of the chain is the time of Python, or of a message under way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.library.testing.profiler.wait_cause import node_text, task_name

Event = Mapping[str, Any]  # of a timeline, as JSON has it

COMPUTES, WAITS, TRAVELS, BETWEEN = "computes", "waits", "travels", "between"
_SLACK: Final = 1  # microseconds: times are whole ones


@dataclass(frozen=True, slots=True)
class Hop:
    """A part of the path, in microseconds per step.  ``cause``: it computes, waits, travels, or is between nodes."""

    task: str
    what: str
    source: str
    cause: str
    micros: float
    share: float  # of the step


@dataclass(slots=True)
class _Slice:
    task: str
    what: str
    source: str
    name: str
    inputs: tuple[str, ...]
    lane: tuple[int, int]
    began: int
    ended: int
    waits: bool
    sender: _Slice | None = None  # of the message that ended it


def critical_path(events: Sequence[Event], steps: Sequence[tuple[int, int]]) -> list[Hop]:
    """The mean path of the steps, given as their first and last microseconds: equal parts joined, the largest first."""
    slices = _slices(events)
    total = sum(ended - began for began, ended in steps) or 1
    micros: dict[tuple[str, str, str, str], int] = defaultdict(int)
    for began, ended in steps:
        inside = [s for s in slices if s.ended <= ended + _SLACK and s.began >= began - _SLACK]
        for task, what, source, cause, took in _follow(inside, began, ended):
            micros[task, what, source, cause] += took
    hops = [Hop(*key, took / len(steps), took / total) for key, took in micros.items() if took > 0]
    return sorted(hops, key=lambda hop: -hop.micros)


def _follow(slices: Sequence[_Slice], began: int, ended: int) -> Iterable[tuple[str, str, str, str, int]]:
    """The path of one step, from its end to its beginning: task, what, source, cause, microseconds."""
    search = _Search(slices)
    at, cursor = search.last(), ended
    while at is not None and cursor > began:
        search.leave_out(at)
        if cursor > at.ended:
            yield at.task, "between nodes", "", BETWEEN, cursor - at.ended
        cursor = min(cursor, at.ended)
        sender = at.sender
        if sender is not None and sender.ended <= cursor + _SLACK and not search.is_left_out(sender):
            left = min(sender.ended, cursor)
            yield at.task, f"a message from {sender.task}", "", TRAVELS, cursor - left
            at, cursor = sender, left
            continue
        first = max(at.began, began)
        yield at.task, at.what, at.source, WAITS if at.waits else COMPUTES, cursor - first
        cursor, at = first, search.before(at)
    if cursor > began:
        yield "", "before the first node", "", BETWEEN, cursor - began


class _Search:
    """The slices of one step, to be asked which one another had to wait for."""

    def __init__(self, slices: Sequence[_Slice]) -> None:
        self._slices = slices
        self._by_name: dict[tuple[str, str], list[_Slice]] = defaultdict(list)
        self._by_lane: dict[tuple[int, int], list[_Slice]] = defaultdict(list)
        self._waits: dict[str, list[_Slice]] = defaultdict(list)  # of a task
        for one in sorted(slices, key=lambda s: s.ended):
            self._by_name[one.task, one.name].append(one)
            if one.waits:
                self._waits[one.task].append(one)
            else:
                self._by_lane[one.lane].append(one)
        self._left_out: set[int] = set()

    def leave_out(self, one: _Slice) -> None:
        """It is on the path.  One that took no whole microsecond had ended when it began, and would come before itself."""
        self._left_out.add(id(one))

    def is_left_out(self, one: _Slice) -> bool:
        return id(one) in self._left_out

    def last(self) -> _Slice | None:
        return max(self._slices, key=lambda s: s.ended, default=None)

    def before(self, one: _Slice) -> _Slice | None:
        """The maker of an input, the slice before it on its thread, or a wait of its task: whichever ended last.

        What another task has made comes by a message, which the task waits for.
        """
        candidates = [self._by_name.get((one.task, name), []) for name in one.inputs]
        if not one.waits:
            candidates += [self._by_lane[one.lane], self._waits[one.task]]
        found = [last for ends in candidates if (last := self._last_before(ends, one)) is not None]
        return max(found, key=lambda s: s.ended, default=None)

    def _last_before(self, slices: Sequence[_Slice], one: _Slice) -> _Slice | None:
        """The last slice that had ended when another began, and is not on the path yet."""
        position = bisect_right(slices, one.began, key=lambda s: s.ended)
        while position and self.is_left_out(slices[position - 1]):
            position -= 1
        return slices[position - 1] if position else None


def _slices(events: Sequence[Event]) -> list[_Slice]:
    """The outermost slices of each thread, and the waits; waits know who sent the message that ended them."""
    tasks = {
        e["pid"]: task_name(e["args"]["name"].removesuffix(" Compute")) for e in events if e["name"] == "process_name"
    }
    found: list[_Slice] = []
    open_until: dict[tuple[int, int], int] = {}
    shown = [e for e in events if e["ph"] == "X" and e.get("cat") in ("Op", "Wait")]
    for event in sorted(shown, key=lambda e: (e["ts"], -e["dur"])):
        lane, ended, waits = (event["pid"], event["tid"]), event["ts"] + event["dur"], event["cat"] == "Wait"
        if not waits and ended <= open_until.get(lane, -1):
            continue  # a node of a loop's body lies on the loop
        open_until[lane] = max(open_until.get(lane, -1), ended)
        args = event["args"]
        what = event["name"] if waits else node_text(args["op"], args["name"])
        inputs = tuple(str(v).removesuffix(":0") for k, v in args.items() if k.startswith("input"))
        found.append(
            _Slice(tasks[lane[0]], what, args.get("source", ""), args["name"], inputs, lane, event["ts"], ended, waits)
        )
    _tell_senders(found, events)
    return found


def _tell_senders(slices: Sequence[_Slice], events: Sequence[Event]) -> None:
    """Arrows of messages lead from the beginning of the node that sends to the last moment of the wait."""
    senders = {(one.lane, one.began): one for one in slices if not one.waits}
    waits = {(one.lane, one.ended - 1): one for one in slices if one.waits}
    begins: dict[Any, Event] = {}
    for event in (e for e in events if e.get("cat") == "Message" and e["ph"] in "sf"):
        if event["ph"] == "s":
            begins[event["id"]] = event
            continue
        begin = begins.get(event["id"])
        wait = waits.get(((event["pid"], event["tid"]), event["ts"]))
        sender = None if begin is None else senders.get(((begin["pid"], begin["tid"]), begin["ts"]))
        if wait is not None and sender is not None and (wait.sender is None or wait.sender.ended < sender.ended):
            wait.sender = sender
