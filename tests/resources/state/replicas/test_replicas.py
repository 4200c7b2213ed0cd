"""Who is a member of replicas, and what one that is none any more is told."""

from __future__ import annotations

import re

import pytest

from headrace.core.errors import AbortedError
from headrace.resources.state.replicas.box import Stop, encoded
from headrace.resources.state.replicas.machine import Rule
from headrace.resources.state.replicas.replicas import Replica, Replicas
from headrace.resources.stepping.waiting import Done

USUAL = "its session has ended, or the server was started again"
EXCLUDED = "the others could not add its gradients: the link is down"


def told(replicas: Replicas, member: int) -> str:
    """What its next step fails with."""
    done: Done = lambda result, error: None  # noqa: E731
    with pytest.raises(AbortedError, match=r"this worker is no member of replicas 'r' any more: (.*)") as error:
        replicas.arrive(member, 0, done)
    found = re.search("any more: (.*)", error.value.message)
    assert found is not None
    return found[1]


def test_one_that_did_not_wait_when_it_was_excluded_is_told_why() -> None:
    replicas = Replicas("r", Rule(2, gathers=True), 0)
    one, other = Replica(replicas, "one"), Replica(replicas, "other")
    place = encoded(Stop("one", "/job:worker/task:1", "worker:1", 7))
    other.join()
    one.join(place=place)
    member = one.member
    replicas.exclude(7, "the link is down")
    assert told(replicas, member) == told(replicas, member) == EXCLUDED
    one.join(place=place)  # anew: what was is forgotten
    assert told(replicas, member) == USUAL
    member = one.member
    one.end()
    assert told(replicas, member) == USUAL
    replicas.exclude(7, "nobody has this box")
    assert told(replicas, member) == USUAL
