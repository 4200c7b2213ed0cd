"""Leases: the newest process of a task is the task, other clients stand for themselves, and all were last heard at some time."""

from types import SimpleNamespace
from typing import Any

import pytest

import headrace as tf
from headrace.cluster import leases as leases_module
from headrace.cluster.leases import Leases
from headrace.cluster.opened import introduction_of_process
from headrace.cluster.request import Introduction

WORKER = "/job:worker/replica:0/task:0"


def peer(silent: float) -> Any:
    return SimpleNamespace(silent_for=lambda: silent)


def shown(leases: Leases) -> list[tuple[str, int, int, int]]:
    """Task, incarnation, connections, seconds of silence."""
    return [
        (one["task"], one["incarnation"], one["connections"], round(one["silent_seconds"]))
        for one in leases.status(lambda name: 0)
    ]


def test_the_newest_process_of_a_task_is_the_task() -> None:
    leases = Leases()
    first, second = Introduction(WORKER, 1, "there:1"), Introduction(WORKER, 2, "elsewhere:1")
    assert leases.meet(first, "a", peer(3)) is None
    assert leases.meet(first, "b", peer(2)) is None  # another session
    assert shown(leases) == [(WORKER, 1, 2, 2)]
    before = leases.meet(second, "c", peer(0))
    assert before is not None and before.who is first and list(before.peers) == ["a", "b"]
    with pytest.raises(tf.errors.AlreadyExistsError, match="at elsewhere:1 now, which came after the one at there:1"):
        leases.meet(first, "d", peer(0))
    assert shown(leases) == [(WORKER, 2, 1, 0)]
    for name in "abcd":
        leases.leave(name)
    assert leases.client("c") is None and leases.of_task(WORKER) is not None


def test_it_was_heard_when_its_last_connection_was(monkeypatch: pytest.MonkeyPatch) -> None:
    time = 100.0
    monkeypatch.setattr(leases_module, "monotonic", lambda: time)
    leases, client = Leases(), Introduction("", 1, "laptop:7")
    leases.meet(client, "a", peer(4))
    assert leases.client("a") is client
    time = 110.0
    leases.leave("a")
    time = 120.0
    assert shown(leases) == [("", 1, 0, 14)]
    leases.meet(client, "b", peer(1))
    assert shown(leases) == [("", 1, 1, 1)]


def test_clients_that_are_no_tasks_follow_nobody_and_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases_module, "GONE", 3)
    leases = Leases()
    for i in range(10):
        assert leases.meet(Introduction("", i, "laptop:7"), f"client#{i}", peer(0)) is None
    assert len(shown(leases)) == 10
    for i in range(9):
        leases.leave(f"client#{i}")
    assert [one[1] for one in shown(leases)] == [6, 7, 8, 9]


def test_a_process_has_one_name() -> None:
    assert introduction_of_process() == introduction_of_process()
    assert introduction_of_process().task == ""
