"""Visitors: the newest process of a task is the task, other clients stand for themselves, all were last heard at some time."""

from types import SimpleNamespace
from typing import Any

import pytest

import headrace as tf
from headrace.cluster import visitors as visitors_module
from headrace.cluster.opened import introduction_of_process
from headrace.cluster.request import Introduction
from headrace.cluster.visitors import Visitors

WORKER = "/job:worker/replica:0/task:0"


def peer(silent: float) -> Any:
    return SimpleNamespace(silent_for=lambda: silent)


def shown(visitors: Visitors) -> list[tuple[str, int, int, int]]:
    """Task, incarnation, connections, seconds of silence."""
    return [
        (one["task"], one["incarnation"], one["connections"], round(one["silent_seconds"]))
        for one in visitors.status(lambda name: 0)
    ]


def test_the_newest_process_of_a_task_is_the_task() -> None:
    visitors = Visitors()
    first, second = Introduction(WORKER, 1, "there:1"), Introduction(WORKER, 2, "elsewhere:1")
    assert visitors.meet(first, "a", peer(3)) is None
    assert visitors.meet(first, "b", peer(2)) is None  # another session
    assert shown(visitors) == [(WORKER, 1, 2, 2)]
    before = visitors.meet(second, "c", peer(0))
    assert before is not None and before.who is first and list(before.peers) == ["a", "b"]
    with pytest.raises(tf.errors.AlreadyExistsError, match="at elsewhere:1 now, which came after the one at there:1"):
        visitors.meet(first, "d", peer(0))
    assert shown(visitors) == [(WORKER, 2, 1, 0)]
    for name in "abcd":
        visitors.leave(name)
    assert visitors.client("c") is None and visitors.of_task(WORKER) is not None


def test_it_was_heard_when_its_last_connection_was(monkeypatch: pytest.MonkeyPatch) -> None:
    time = 100.0
    monkeypatch.setattr(visitors_module, "monotonic", lambda: time)
    visitors, client = Visitors(), Introduction("", 1, "laptop:7")
    visitors.meet(client, "a", peer(4))
    assert visitors.client("a") is client
    time = 110.0
    visitors.leave("a")
    time = 120.0
    assert shown(visitors) == [("", 1, 0, 14)]
    visitors.meet(client, "b", peer(1))
    assert shown(visitors) == [("", 1, 1, 1)]


def test_clients_that_are_no_tasks_follow_nobody_and_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors_module, "GONE", 3)
    visitors = Visitors()
    for i in range(10):
        assert visitors.meet(Introduction("", i, "laptop:7"), f"client#{i}", peer(0)) is None
    assert len(shown(visitors)) == 10
    for i in range(9):
        visitors.leave(f"client#{i}")
    assert [one[1] for one in shown(visitors)] == [6, 7, 8, 9]


def test_a_process_has_one_name() -> None:
    assert introduction_of_process() == introduction_of_process()
    assert introduction_of_process().task == ""
