"""A step that its client has given up: what was not begun is never applied, and what was begun is over before the next session.

A parameter server with a counter, and a worker whose steps add 1 to it and see its value.
"""

import multiprocessing
import random
import signal
from collections.abc import Iterator

import pytest
from cluster.ports import free_addresses

from benchmarks._proxy import Proxy
from tests.cluster import _roles
from tests.cluster.role import Role

LOST_S = float(_roles.SETTINGS["HEADRACE_LOST_SECONDS"])
LONGER_S = 1.3 * LOST_S  # than anybody waits for a silent process
STOPS = 4

pytestmark = pytest.mark.allow_leaks(reason="the processes of the job outlive a test; the fixture of the job ends them")


class Job:
    def __init__(self) -> None:
        ps, worker = free_addresses(2)
        self.proxy = Proxy(ps)
        self.ps = Role(_roles.serve, {"ps": [ps], "worker": [worker]}, 0, "")
        self.worker = Role(_roles.count, {"ps": [self.proxy.address], "worker": [worker]}, 0, "")

    def stop_server(self) -> None:
        self.ps.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.ps.signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def job() -> Iterator[Job]:
    needed = ["service", "connection", "transport.endpoint"]
    preload = ["headrace", "headrace.train", *(f"headrace.cluster.{name}" for name in needed)]
    multiprocessing.get_context("forkserver").set_forkserver_preload(preload)
    job = Job()
    try:
        for role in (job.ps, job.worker):
            role.start()
            assert role.answer() == "ready"
        yield job
    finally:
        job.ps.kill()
        job.worker.kill()
        job.proxy.close()


def read(worker: Role) -> int:
    worker.ask("read")
    value = worker.answer()
    assert isinstance(value, int), value
    return value


@pytest.mark.parametrize("way", ["stopped", "cut off"])
def test_a_step_that_a_silent_server_was_sent_is_applied_once(job: Job, way: str) -> None:
    """The worker gives the step up, and runs it again; the server finds the first one when it goes on, and drops it."""
    begin, end = (job.stop_server, job.go_on) if way == "stopped" else (job.proxy.cut, job.proxy.mend)
    before = job.worker.step()
    begin()
    job.worker.ask("step")
    try:
        assert not job.worker.pipe.poll(LONGER_S)
    finally:
        end()
    assert job.worker.answer() == before + 1
    assert job.worker.step() == before + 2
    assert read(job.worker) == before + 2


@pytest.mark.usefixtures("full_length")
def test_a_server_that_is_stopped_at_random_moments(job: Job) -> None:
    """Of each stop at most the one step that had begun there is applied beside the completed ones, and nothing comes late."""
    draw = random.Random()
    before = job.worker.step()
    job.worker.ask("steps")
    for _ in range(STOPS):
        assert not job.worker.pipe.poll(draw.uniform(0.2, 1.0))
        job.stop_server()
        try:
            assert not job.worker.pipe.poll(LONGER_S)
        finally:
            job.go_on()
    job.worker.ask("enough")
    values = job.worker.answer()
    job.worker.unanswered -= 1
    assert isinstance(values, list), values
    skipped = [after - value - 1 for value, after in zip([before, *values], values, strict=False)]
    assert set(skipped) <= {0, 1} and sum(skipped) <= STOPS, skipped
    assert read(job.worker) == values[-1]
