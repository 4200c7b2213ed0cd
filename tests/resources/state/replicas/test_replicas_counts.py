"""What is new between two reports of replicas."""

from __future__ import annotations

from typing import Any

from headrace.resources.state.replicas.counts import since


def report(updates: int, waiting: float) -> dict[str, Any]:
    return {"updates": updates, "staleness": {"0": 3 * updates}, "by_worker": {"w": {"waiting": waiting}}}


def test_what_is_new() -> None:
    new = since(report(2, 1.0), report(9, 3.0))
    assert new == {"updates": 7, "staleness": {"0": 21}, "by_worker": {"w": {"waiting": 2.0}}}


def test_counts_of_a_server_that_was_started_again_begin_anew() -> None:
    assert since(report(9, 3.0), report(2, 1.0)) == report(2, 1.0)
