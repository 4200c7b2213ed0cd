"""Copies of parameter servers' variables, with servers and workers that are killed and stopped."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.ports import free_addresses

from tests.cluster import _roles
from tests.cluster.role import WAIT_S, Role, preload

pytestmark = pytest.mark.allow_leaks(reason="the process that others are forked from outlives the test")

LOST_S = float(_roles.SETTINGS["HEADRACE_LOST_SECONDS"])


class Job:
    """Two parameter servers, a chief, and a worker in line."""

    def __init__(self, folder: Path) -> None:
        addresses = free_addresses(4)
        jobs = {"ps": addresses[:2], "worker": addresses[2:]}
        self.ps = [Role(_roles.serve, jobs, index, str(folder)) for index in range(2)]
        self.workers = [Role(_roles.train_with_copies, jobs, index, str(folder)) for index in range(2)]
        for role in (*self.ps, *self.workers):
            role.start()
            assert role.answer() == "ready"

    def restart(self, role: Role) -> None:
        role.start()
        assert role.answer() == "ready"

    def copied(self, role: Role, at_least: int) -> int:
        """Trains until there is a copy of this step, or a later one; which one that is."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            role.step()
            role.ask("copied")
            copied = role.answer()
            if copied >= at_least:
                return int(copied)
        pytest.fail(f"no copy of step {at_least} was made")

    def stop(self) -> None:
        for role in (*self.workers, *self.ps):
            role.kill()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    preload()
    made = Job(tmp_path)
    try:
        yield made
    finally:
        made.stop()


def values(role: Role) -> list[float]:
    role.ask("values")
    answer: list[float] = role.answer()
    assert isinstance(answer, list), answer
    return answer


def test_servers_and_the_chief_are_killed_in_turn(job: Job) -> None:
    """No file is written after the first, of step 0: whatever was trained comes from copies."""
    chief, worker = job.workers
    copied = job.copied(chief, 5)
    job.restart(job.ps[0])
    kept = values(chief)
    assert (
        kept[0] >= copied - 1
    )  # a step may be under way while the copy is made: it adds to the one first, to the step last
    assert kept[1] >= copied - 1
    copied = job.copied(chief, worker.step() + 5)
    chief.kill()
    job.copied(worker, copied + 5)
    job.restart(job.ps[1])
    assert min(values(worker)) > copied


def test_a_server_that_is_stopped_keeps_its_values_and_is_copied_again(job: Job) -> None:
    chief, _ = job.workers
    job.copied(chief, 5)
    seen = chief.step()
    job.ps[1].signal(signal.SIGSTOP)
    chief.ask("step")
    try:
        assert not chief.pipe.poll(1.5 * LOST_S)
    finally:
        job.ps[1].signal(signal.SIGCONT)
    assert chief.answer() > seen
    assert min(values(chief)) >= seen
    copied = job.copied(chief, seen + 5)
    job.restart(job.ps[1])
    assert min(values(chief)) >= copied - 1
