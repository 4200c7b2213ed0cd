"""Causality: no message of a merged trace arrives before it was sent.

Clocks of tasks are compared by questions and answers, which leaves some microseconds of doubt.  Messages say more: one that
arrives, by the clocks, before it was sent shows by how much at least they are wrong.  Tasks are moved by as little as that takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any, NamedTuple

from headrace.core.device import task_of


class Crossing(NamedTuple):
    """A message: the tasks, when sending began by one's clock, and when it had arrived by the other's, in nanoseconds."""

    source: str
    sent: int
    destination: str
    arrived: int


def settle(stats: Any, fixed: str) -> dict[str, int]:
    """Moves the tasks of a trace (StepStats), except ``fixed``, so that each message arrives after it was sent.

    Returns by how many nanoseconds each was moved.
    """
    moved = moves(crossings(stats), fixed)
    for device in stats.dev_stats:
        shift_device(device, moved.get(task_of(device.device), 0))
    return moved


def shift(stats: Any, nanos: int) -> None:
    """Adds nanoseconds to the times of all nodes."""
    for device in stats.dev_stats:
        shift_device(device, nanos)


def shift_device(device: Any, nanos: int) -> None:
    """Adds nanoseconds to the times of a device's nodes."""
    for node in device.node_stats if nanos else ():
        node.scheduled_nanos += nanos
        node.all_start_nanos += nanos
        node.scheduled_micros = node.all_start_micros = node.all_start_nanos // 1000


def crossings(stats: Any) -> Iterator[Crossing]:
    """The messages from task to task, by their keys: the first that is sent under a key is the first that arrives."""
    sent: dict[str, list[tuple[str, int]]] = defaultdict(list)
    arrived: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for device in stats.dev_stats:
        task = task_of(device.device)
        for node in device.node_stats:
            if " = _SendMany(" in node.timeline_label:
                sent[node.node_name.removeprefix("_send/")].append((task, node.all_start_nanos))
            elif " = _RecvMany(" in node.timeline_label:
                ended = node.all_start_nanos + node.all_end_rel_nanos
                keys = node.timeline_label.rpartition(" = _RecvMany(")[2].removesuffix(")")
                for key in keys.split(", "):
                    arrived[key].append((task, ended))
    for key, sends in sent.items():
        for (source, began), (destination, ended) in zip(_in_order(sends), _in_order(arrived[key]), strict=False):
            if source != destination:
                yield Crossing(source, began, destination, ended)


def _in_order(times: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(times, key=lambda one: one[1])


def moves(messages: Iterable[Crossing], fixed: str) -> dict[str, int]:
    """By how much each task moves at least; those that need not move are left out.

    First all tasks get the latest time at which what they send ``fixed``, over whatever tasks, still arrives in time; 0 if that
    is later.  Then each moves forward to where what it is sent arrives in time, which is never later than that.

    Where messages contradict each other, as no two clocks can make them, some stay as they are.
    """
    least: dict[tuple[str, str], int] = {}  # by which a destination must be later than a source
    for one in messages:
        pair = one.source, one.destination
        least[pair] = max(least.get(pair, one.sent - one.arrived), one.sent - one.arrived)
    tasks = dict.fromkeys(task for pair in least for task in pair)
    latest: dict[str, float] = {**dict.fromkeys(tasks, inf), fixed: 0}
    for _ in tasks:
        for (source, destination), nanos in least.items():
            if source != fixed:
                latest[source] = min(latest[source], latest[destination] - nanos)
    at = {task: int(min(0, latest[task])) for task in tasks}
    for _ in tasks:
        for (source, destination), nanos in least.items():
            if destination != fixed:
                at[destination] = max(at[destination], at[source] + nanos)
    return {task: nanos for task, nanos in at.items() if nanos}
