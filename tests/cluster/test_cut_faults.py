"""Who is killed or stopped in the middle of a consistent save: training goes on without it, and no save is torn."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.ports import free_addresses

import headrace as tf
from tests.cluster import _roles
from tests.cluster.role import WAIT_S, Role, preload

LOST_S = float(_roles.SETTINGS["HEADRACE_LOST_SECONDS"])

pytestmark = pytest.mark.allow_leaks(reason="the process that others are forked from outlives the test")


class Job:
    """Two servers, a worker that saves, and one that trains."""

    def __init__(self, folder: str) -> None:
        addresses = free_addresses(4)
        jobs = {"ps": addresses[:2], "worker": addresses[2:]}
        self.servers = [Role(_roles.serve, jobs, index, folder) for index in range(2)]
        self.saver, self.worker = (Role(_roles.pair, jobs, index, folder) for index in range(2))
        self.client = Role(_roles.pair_of_client, jobs, 0, folder)
        self.roles = [*self.servers, self.saver, self.worker, self.client]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    preload()
    job = Job(str(tmp_path))
    try:
        for role in job.roles:
            role.start()
        for role in job.roles:
            assert role.answer() == "ready"
        assert told(job.saver, "begin") is None
        assert told(job.worker, "step") == "done"
        yield job
    finally:
        for role in job.roles:
            role.kill()


def told(role: Role, what: str) -> object:
    role.ask(what)
    return role.answer()


def is_error(answer: object) -> bool:
    return isinstance(answer, tuple) and answer[0] == "error"


@pytest.mark.usefixtures("full_length")
@pytest.mark.parametrize("way", ["killed", "stopped"])
def test_a_saver_in_the_middle_of_a_hold(job: Job, way: str) -> None:
    assert told(job.saver, "hold") == "held"
    job.worker.ask("step")
    assert not job.worker.pipe.poll(0.3)  # it is held up
    job.saver.signal(signal.SIGKILL if way == "killed" else signal.SIGSTOP)
    assert job.worker.answer() == "done"
    assert told(job.worker, "read") == [2, 2]
    if way == "stopped":
        job.saver.signal(signal.SIGCONT)
        assert is_error(told(job.saver, "release"))  # whatever it read is not from one moment
        told(job.saver, "again")
        assert told(job.saver, "save") == [2, 2]


@pytest.mark.usefixtures("full_length")
@pytest.mark.parametrize("way", ["killed", "stopped"])
def test_a_server_in_the_middle_of_a_save(job: Job, way: str) -> None:
    """The save fails, and the other server holds nobody up."""
    assert told(job.saver, "hold") == "held"
    job.worker.ask("step")
    assert not job.worker.pipe.poll(0.3)
    job.servers[1].signal(signal.SIGKILL if way == "killed" else signal.SIGSTOP)
    assert is_error(told(job.saver, "release"))
    assert is_error(job.worker.answer())
    told(job.worker, "again")
    assert is_error(told(job.saver, "save"))
    if way == "killed":
        job.servers[1].start()
        assert job.servers[1].answer() == "ready"
    else:
        job.servers[1].signal(signal.SIGCONT)
    told(job.saver, "again")
    assert told(job.saver, "begin") is None
    assert told(job.worker, "step") == "done"
    assert told(job.saver, "save") == [1, 1]


def test_a_client_that_is_no_task_saves_too(job: Job, tmp_path: Path) -> None:
    """It also leaves without closing its session: the tasks write what they have copied before."""
    assert told(job.client, "hold") == "held"
    job.worker.ask("step")
    assert not job.worker.pipe.poll(0.3)
    assert not is_error(told(job.client, "release"))
    assert job.worker.answer() == "done"
    assert told(job.client, "save") == [2, 2]
    assert told(job.client, "leave") == "leaves"
    job.client.pipe.send("end")
    job.client.process.join(WAIT_S)
    assert job.client.process.exitcode == 0
    assert [int(tf.train.load_variable(f"{tmp_path}/left", name)) for name in "ab"] == [2, 2]
