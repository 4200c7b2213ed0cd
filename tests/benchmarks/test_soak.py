"""The soak of queues: its account finds what is wrong, and twenty seconds of it find nothing."""

import subprocess
import sys

import pytest

from benchmarks import _harness
from benchmarks._soak_account import Account


@pytest.fixture
def account():
    return Account(1)


def test_an_account_that_is_right(account):
    account.added([1], "done")
    account.added([2], "out of time")
    account.added([3, 4, 5], "cancelled")
    account.added([6], "interrupted")
    account.added([7], "done")
    account.may_have_lost(1)
    account.taken([1, 4])
    account.taken([3])
    assert account.problems() == []


@pytest.mark.parametrize(
    "taken, problem",
    [
        ([1, 1, 3, 4], "came out twice: [1]"),
        ([1, 2, 3, 4], "came out although the step that adds it failed: [2]"),
        ([1, 3, 4, 9], "came out but was never put in: [9]"),
        ([3, 4], "1 did not come out, at most 0 may be lost: [1]"),
        ([1, 4], "1 did not come out, at most 0 may be lost: [3]"),
    ],
)
def test_an_account_that_is_wrong(account, taken, problem):
    account.added([1], "done")
    account.added([2], "cancelled")
    account.added([3, 4, 5], "out of time")
    account.taken(taken)
    assert account.problems() == [problem]


def test_twenty_seconds(full_length):
    """In a process of its own: its main thread is interrupted all the time."""
    command = [sys.executable, "-m", "benchmarks.soak", "--seconds", "20"]
    ended = subprocess.run(command, cwd=_harness.ROOT, capture_output=True, text=True, timeout=110)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "rounds from seed" in ended.stdout and "WRONG" not in ended.stdout
    for outcome in ("cancelled", "closed", "done", "interrupted", "out of time"):
        assert outcome in ended.stdout
