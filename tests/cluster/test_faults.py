"""What happens when a task is killed, stopped, cut off, slow, or has no room on its disk: the rows of docs/what_happens_when.md.

One job serves all tests: a parameter server, a chief, a worker and a client, each a process that is started again when a test
has ended it.  Chief and worker reach the parameter server through proxies, the client through that of the worker.
"""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.ports import free_addresses

import headrace as tf
from benchmarks._proxy import Proxy
from tests.cluster import _roles
from tests.cluster.role import WAIT_S, Role, preload

LOST_S = float(_roles.SETTINGS["HEADRACE_LOST_SECONDS"])
DOCS = Path(__file__).parents[2] / "docs" / "what_happens_when.md"
PS = "/job:ps/replica:0/task:0"


pytestmark = pytest.mark.allow_leaks(reason="the processes of the job outlive a test; the fixture of the job ends them")


class Job:
    """All of them."""

    def __init__(self, folder: str) -> None:
        ps, *workers = free_addresses(5)
        self.folder = folder
        self.proxies = {name: Proxy(ps) for name in ("chief", "worker")}
        self.ps = Role(_roles.serve, {"ps": [ps], "worker": workers}, 0, folder)
        seen = {name: {"ps": [proxy.address], "worker": workers} for name, proxy in self.proxies.items()}
        self.chief = Role(_roles.train, seen["chief"], 0, folder)
        self.worker = Role(_roles.train, seen["worker"], 1, folder)
        self.client = Role(
            _roles.ask, seen["worker"], 1, folder
        )  # by the worker it finds the others: as the worker sees them
        direct = {"ps": [ps], "worker": workers}
        self.together = [Role(_roles.train_together, direct, index, folder) for index in (2, 3)]
        self.together_in_line = [Role(_roles.train_together_in_line, direct, index, folder) for index in (2, 3)]
        self.line = [Role(_roles.train_in_line, direct, index, folder) for index in (2, 3)]
        self.roles = [self.ps, self.chief, self.worker, self.client, *self.together, *self.together_in_line, *self.line]

    def start(self) -> None:
        for role in (self.ps, self.chief, self.worker):
            role.start()
            assert role.answer() == "ready"

    def stop(self) -> None:
        for role in self.roles:
            role.kill()
        for proxy in self.proxies.values():
            proxy.close()

    def start_line(self) -> list[Role]:
        """A chief, and a worker that can take over; their last checkpoint is of the test before, if there was one."""
        for role in self.line:
            role.start()
            assert role.answer() == "ready"
        return self.line

    def start_client(self) -> Role:
        self.client.start()
        assert self.client.answer() == "ready"
        return self.client


@pytest.fixture(scope="module")
def running_job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    preload()
    job = Job(str(tmp_path_factory.mktemp("checkpoints")))
    try:
        job.start()
        yield job
    finally:
        job.stop()


@pytest.fixture
def job(running_job: Job) -> Iterator[Job]:
    """The job, in which chief and worker can run steps; made whole after a test that fails."""
    yield running_job
    for proxy in running_job.proxies.values():
        proxy.mend()
    running_job.client.kill()
    try:
        for role in (running_job.chief, running_job.worker):
            while role.unanswered:  # of a test that has failed
                role.answer()
            role.step()
    except (AssertionError, OSError):
        running_job.start()
        raise


def saved_step(job: Job, below: str = "") -> int:
    """The step of the newest checkpoint."""
    path = tf.train.latest_checkpoint(os.path.join(job.folder, below))
    assert path is not None
    return int(path.rpartition("-")[2])


def error_of(answer: Any, *classes: str) -> str:
    """The message of an error that a role has answered with."""
    assert isinstance(answer, tuple) and answer[:1] == ("error",), answer
    assert answer[1] in classes, answer
    return str(answer[2])


LOST = ("UnavailableError", "AbortedError")


class TestParameterServer:
    def test_ps_killed(self, job: Job) -> None:
        """Monitored sessions wait for it, and go on from the last checkpoint; a plain session ends."""
        client = job.start_client()
        job.client.step()
        job.worker.step()
        seen, saved = job.chief.step(), saved_step(job)
        job.ps.start()
        assert job.ps.answer() == "ready"
        client.ask("step")
        message = error_of(client.answer(), *LOST)
        assert PS in message and re.search(r"_roles\.py:\d+", message)
        job.worker.ask("step")
        assert saved < job.chief.step() <= seen
        assert saved < job.worker.answer() <= seen + 2

    def test_ps_stopped(self, job: Job) -> None:
        """Silence ends the step; when the process goes on, so do the sessions, and nothing is lost."""
        client, seen = job.start_client(), job.chief.step()
        job.ps.signal(signal.SIGSTOP)
        begin = time.monotonic()
        client.ask("step")
        try:
            message = error_of(client.answer(), *LOST)
            assert PS in message
            assert time.monotonic() - begin > LOST_S / 4  # found by silence
        finally:
            job.ps.signal(signal.SIGCONT)
        assert seen < job.chief.step()
        assert seen < job.worker.step()

    def test_ps_partitioned(self, job: Job) -> None:
        client, seen = job.start_client(), job.chief.step()
        for proxy in job.proxies.values():
            proxy.cut()
        client.ask("step")
        job.chief.ask("step")
        assert PS in error_of(client.answer(), *LOST)
        for proxy in job.proxies.values():
            proxy.mend()
        assert seen < job.chief.answer()

    def test_ps_slow(self, job: Job) -> None:
        """The steps take longer; nothing else happens."""
        client = job.start_client()
        seen = client.step()
        job.ps.signal(signal.SIGSTOP)
        client.ask("step")
        assert not client.pipe.poll(LOST_S / 8)
        job.ps.signal(signal.SIGCONT)
        assert client.answer() == seen + 1

    def test_ps_disk_full(self, job: Job) -> None:
        """The save fails and names task and file; the checkpoint before stays the newest one."""
        saved = saved_step(job)
        job.ps.has_room(False)
        message = _train_until_error(job.chief)
        assert "too large" in message.lower() and job.folder in message and "job:ps" in message
        assert saved_step(job) == saved
        job.ps.has_room(True)
        _train_until_saved(job.chief, job.folder)
        assert not list(Path(job.folder).glob("*_temp"))  # the failed save leaves no shards


class TestWorker:
    def test_worker_killed(self, job: Job) -> None:
        """The others go on; what it had on the parameter server ends with it."""
        seen = job.worker.step()
        job.worker.kill()
        assert job.chief.step() == seen + 1
        job.worker.start()
        assert job.worker.answer() == "ready"
        assert job.worker.step() == seen + 2

    @pytest.mark.parametrize("role", ["worker", "chief"])
    def test_worker_stopped(self, job: Job, role: str) -> None:
        """The others go on; when it goes on, its session is made anew, and nothing is restored."""
        stopped, other = (job.worker, job.chief) if role == "worker" else (job.chief, job.worker)
        stopped.step()
        stopped.signal(signal.SIGSTOP)
        _pass(other, LOST_S)
        seen = other.step()
        stopped.signal(signal.SIGCONT)
        assert seen < stopped.step() <= seen + 2

    @pytest.mark.parametrize("role", ["worker", "chief"])
    def test_worker_partitioned(self, job: Job, role: str) -> None:
        """The others go on; its step ends, and its next session begins when the network is there again."""
        apart, other = (job.worker, job.chief) if role == "worker" else (job.chief, job.worker)
        apart.step()
        job.proxies[role].cut()
        apart.ask("step")
        _pass(other, LOST_S)
        assert not apart.pipe.poll(0)
        seen = other.step()
        job.proxies[role].mend()
        assert seen < apart.answer() <= seen + 2

    def test_worker_disconnected(self, job: Job) -> None:
        seen = job.worker.step()
        job.proxies["worker"].disconnect()
        assert seen < job.worker.step() <= seen + 2

    @pytest.mark.parametrize("role", ["worker", "chief"])
    def test_worker_slow(self, job: Job, role: str) -> None:
        slow, other = (job.worker, job.chief) if role == "worker" else (job.chief, job.worker)
        seen = slow.step()
        slow.signal(signal.SIGSTOP)
        assert other.step() == seen + 1
        slow.signal(signal.SIGCONT)
        assert slow.step() == seen + 2

    def test_worker_disk_full(self, job: Job) -> None:
        """It writes nothing."""
        job.worker.has_room(False)
        seen = job.worker.step()
        assert job.worker.step() == seen + 1
        job.worker.has_room(True)


class TestChief:
    def test_chief_killed(self, job: Job) -> None:
        """The others go on, and nobody can save; the next chief goes on with them, takes nothing back, and saves."""
        job.chief.step()
        job.chief.kill()
        seen = job.worker.step()
        job.chief.start()
        assert job.chief.answer() == "ready"
        assert saved_step(job) == seen
        assert job.chief.step() == seen + 1
        assert job.worker.step() == seen + 2

    def test_chief_killed_and_replaced(self, job: Job) -> None:
        """A worker in line saves from then on; the chief that comes back stands in line itself, until it is its turn."""
        chief, worker = job.start_line()
        chief.step()
        worker.step()
        chief.kill()
        seen = _train_until_saved(worker, f"{job.folder}/line")
        chief.start()
        assert chief.answer() == "ready"
        saved = saved_step(job, "line")
        for _ in range(7):
            assert chief.step() == seen + 1
            seen += 1
        assert saved_step(job, "line") == saved  # only the worker saves
        worker.kill()
        assert _train_until_saved(chief, f"{job.folder}/line") > seen
        chief.kill()

    def test_chief_stopped(self, job: Job) -> None:
        """A worker in line takes over.  The chief that goes on is a worker in line: it restores nothing, and saves nothing."""
        chief, worker = job.start_line()
        seen = chief.step()
        chief.signal(signal.SIGSTOP)
        _pass(worker, 2 * LOST_S)
        seen = _train_until_saved(worker, f"{job.folder}/line")
        chief.signal(signal.SIGCONT)
        saved = saved_step(job, "line")
        for _ in range(7):
            assert chief.step() == seen + 1
            seen += 1
        assert saved_step(job, "line") == saved
        assert worker.step() == seen + 1
        for role in (chief, worker):
            role.kill()

    def test_chief_disk_full(self, job: Job) -> None:
        """The save fails; the checkpoint before stays the newest one; the others go on."""
        saved = saved_step(job)
        job.chief.has_room(False)
        message = _train_until_error(job.chief)
        assert "too large" in message.lower() and job.folder in message
        assert saved_step(job) == saved
        job.worker.step()
        job.chief.has_room(True)
        _train_until_saved(job.chief, job.folder)


class TestClient:
    def test_client_killed(self, job: Job) -> None:
        """Its steps end on all tasks; variables stay."""
        client = job.start_client()
        seen = client.step()
        client.ask("wait")
        client.kill()
        assert job.start_client().step() == seen + 1

    def test_client_stopped(self, job: Job) -> None:
        """The tasks take it for lost; when it goes on, its session has ended."""
        client = job.start_client()
        seen = client.step()
        client.signal(signal.SIGSTOP)
        _pass(job.worker, 2 * LOST_S)
        client.signal(signal.SIGCONT)
        client.ask("step")
        assert PS in error_of(client.answer(), *LOST)
        assert job.chief.step() > seen

    def test_client_partitioned(self, job: Job) -> None:
        client = job.start_client()
        client.ask("wait")
        job.proxies["worker"].cut()
        assert PS in error_of(client.answer(), *LOST)
        job.proxies["worker"].mend()
        assert job.start_client().step() > 0

    def test_client_slow(self, job: Job) -> None:
        client = job.start_client()
        seen = client.step()
        client.signal(signal.SIGSTOP)
        assert job.worker.step() == seen + 1
        client.signal(signal.SIGCONT)
        assert client.step() == seen + 2

    def test_client_disk_full(self, job: Job, tmp_path: Path) -> None:
        """The variables are written by their tasks; the client writes what names the checkpoint, and fails to."""
        client, saved = job.start_client(), saved_step(job)
        client.has_room(False)
        client.ask("save")
        assert "too large" in error_of(client.answer(), "ResourceExhaustedError").lower()
        assert saved_step(job) == saved


class TestSynchronous:
    def test_chief_killed_while_replicas_wait(self, job: Job) -> None:
        """A replica waits for a token until the next chief hands one out."""
        chief, replica = job.together
        self._start(chief, replica)
        self._train_together(chief, replica)
        chief.kill()
        for _ in range(10):  # as long as there are tokens
            if not replica.unanswered:
                replica.ask("step")
            if not replica.pipe.poll(1.0):
                break
            assert isinstance(replica.answer(), int)
        assert replica.unanswered == 1
        chief.start()
        assert chief.answer() == "ready"
        chief.ask("step")
        assert isinstance(chief.answer(), int)
        assert isinstance(replica.answer(), int)
        replica.kill()
        chief.kill()

    def test_chief_killed_and_replaced_by_a_replica(self, job: Job) -> None:
        """A replica in line makes the updates and saves from then on; the chief that comes back is a replica in line."""
        chief, replica = job.together_in_line
        self._start(chief, replica)
        self._train_together(chief, replica)
        chief.kill()
        if replica.unanswered:
            assert isinstance(replica.answer(), int)
        seen = _train_until_saved(replica, f"{job.folder}/together_in_line")
        chief.start()
        assert chief.answer() == "ready"
        self._train_together(chief, replica)
        replica.kill()
        if chief.unanswered:  # it waits for a token
            assert isinstance(chief.answer(), int)
        assert _train_until_saved(chief, f"{job.folder}/together_in_line") > seen
        chief.kill()

    def _start(self, *roles: Role) -> None:
        for role in roles:
            role.start()
            assert role.answer() == "ready"

    def _train_together(self, *roles: Role) -> None:
        """Two steps of each or more: who is faster computes for the other, whose gradients may be dropped."""
        steps = dict.fromkeys(roles, 0)
        while min(steps.values()) < 2:
            for role in roles:
                if not role.unanswered:
                    role.ask("step")
                elif role.pipe.poll(0.05):
                    assert isinstance(answer := role.answer(), int), answer
                    steps[role] += 1


def _pass(role: Role, seconds: float) -> None:
    """Time in which others see that a process is silent, while this one runs steps."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        role.step()


def _train_until_error(role: Role) -> str:
    for _ in range(10):
        role.ask("step")
        answer = role.answer()
        if not isinstance(answer, int):
            return error_of(answer, "ResourceExhaustedError")
    raise AssertionError("it has saved")


def _train_until_saved(role: Role, folder: str) -> int:
    """Its last step, with which there is a new checkpoint."""
    before, end = tf.train.latest_checkpoint(folder), time.monotonic() + WAIT_S
    while time.monotonic() < end:
        step = role.step()
        if tf.train.latest_checkpoint(folder) != before:
            return step
    raise AssertionError("it does not save")


def test_each_row_of_the_docs_has_its_test() -> None:
    rows = re.findall(r"^\| (\w[\w ]*?) \| (\w[\w ]*?) \|.*`(test_\w+)`", DOCS.read_text(), re.MULTILINE)
    assert {(role, event) for role, event, _ in rows} >= {
        (role, event)
        for role in ("parameter server", "worker", "chief", "client")
        for event in ("killed", "stopped", "partitioned", "slow", "disk full")
    }
    tests = {name for one in (TestParameterServer, TestWorker, TestChief, TestClient) for name in vars(one)}
    assert {name for *_, name in rows} <= tests
