"""headrace move and headrace serve, with processes: servers come and go while workers train."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster.connection import close_client_endpoint
from headrace.cluster.overview import Overview
from headrace.tools.move import move, serve
from tests.cluster import _roles
from tests.cluster.role import WAIT_S, Role, preload

pytestmark = pytest.mark.allow_leaks(reason="the processes of the job outlive a test; the fixture of the job ends them")
COMMAND = [sys.executable, "-c", "from headrace.tools.cli import main; main()"]
PS1 = "/job:ps/replica:0/task:1"


class Job:
    """Two parameter servers and two workers, each a process."""

    def __init__(self) -> None:
        addresses = free_addresses(4)
        self.jobs = {"ps": addresses[:2], "worker": addresses[2:]}
        self.ps = [Role(_roles.serve, self.jobs, i, "") for i in range(2)]
        self.workers = [Role(_roles.count_on_all, self.jobs, i, "") for i in range(2)]
        self.target = f"grpc://{addresses[2]}"
        self.others: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        for role in (*self.ps, *self.workers):
            role.start()
            assert role.answer() == "ready"

    def train(self) -> None:
        """Steps until `stop`."""
        for worker in self.workers:
            worker.ask("steps")

    def stop(self) -> int:
        """How many steps the workers have made."""
        for worker in self.workers:
            worker.pipe.send("enough")
        return sum(worker.answer() for worker in self.workers)

    def read(self) -> list[int]:
        self.workers[0].ask("read")
        values: list[int] = self.workers[0].answer()
        return values

    def where(self) -> str:
        """The address of ps:1."""
        with Overview(self.target) as overview:
            return overview.addresses[PS1]

    def serve(self, *options: str) -> tuple[subprocess.Popen[str], str]:
        """Starts ``headrace serve``, and waits until it is ready."""
        (address,) = free_addresses(1)
        command = [*COMMAND, "serve", address, *options]
        process = subprocess.Popen(
            command, env={**os.environ, **_roles.SETTINGS}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.others.append(process)
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1] and "ready" not in lines[-1]:
            lines.append(process.stdout.readline())
        assert lines[-1] == f"headrace serve: ready at {address}\n", lines
        return process, address

    def close(self) -> None:
        for role in (*self.ps, *self.workers):
            role.kill()
        for process in self.others:
            process.kill()
            process.communicate(timeout=WAIT_S)


@pytest.fixture
def job() -> Iterator[Job]:
    preload()
    job = Job()
    try:
        job.start()
        yield job
    finally:
        job.close()
        close_client_endpoint()


@pytest.mark.usefixtures("full_length")
def test_a_server_comes_and_another_goes(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    """The one that goes is killed when its task has moved: nobody notices, and no step is lost or counted twice."""
    job.train()
    new, address = job.serve()
    assert move(job.target, "ps:1", address) == 0
    assert capsys.readouterr().out == f"ps:1 is at {job.where()} now\n"
    job.ps[1].kill()
    steps = job.stop()
    job.train()
    steps += job.stop()
    assert job.read() == [steps, steps]
    assert job.where().rpartition(":")[0] == address.rpartition(":")[0]
    new.send_signal(signal.SIGTERM)
    assert new.wait(WAIT_S) == 0


@pytest.mark.usefixtures("full_length")
def test_a_server_that_takes_over_a_task_as_it_starts(job: Job) -> None:
    job.train()
    _, address = job.serve("--cluster", job.target, "--task", "ps:1")
    steps = job.stop()
    assert job.read() == [steps, steps]
    late = Role(_roles.count_on_all, job.jobs, 1, "")  # with the cluster spec as it was
    job.workers[1].kill()
    job.ps[1].kill()
    job.workers[1] = late
    late.start()
    assert late.answer() == "ready"
    job.train()
    steps += job.stop()
    assert job.read() == [steps, steps]


@pytest.mark.usefixtures("full_length")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_new_process_is_lost_in_the_middle(job: Job, number: signal.Signals) -> None:
    """The task has a variable of 400 MB, which takes a moment.  It stays where it was; steps go on and count once."""
    with tf.Graph().as_default(), tf.device("/job:ps/task:1"):
        large = tf.get_variable("large", [100 << 20], initializer=tf.zeros_initializer())
        with tf.Session(job.target) as session:
            session.run(large.initializer)
    job.train()
    new, address = job.serve()
    asking = subprocess.Popen(
        [*COMMAND, "move", job.target, "--task", "ps:1", "--to", address],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    job.others.append(asking)
    grown = _memory(new.pid) + (50 << 20)
    while _memory(new.pid) < grown and asking.poll() is None:
        threading.Event().wait(0.002)
    new.send_signal(number)
    asking.wait(WAIT_S)
    if asking.returncode == 0:
        pytest.skip("the move was faster than the signal")
    assert "headrace move: " in asking.communicate()[1]
    steps = job.stop()
    assert job.read() == [steps, steps]
    assert job.where() == job.jobs["ps"][1]


def _memory(process: int) -> int:
    """Resident bytes."""
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


# ---- wrong arguments


def test_what_move_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    (address,) = free_addresses(1)
    assert move(f"grpc://{address}", "ps", address) == 2
    said = """headrace move: a task is named "ps:2" or "/job:ps/task:2": received 'ps'\n"""
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(("address", "cluster", "tasks", "words"), [
    ("localhost", None, (), "needs host:port"), ("localhost:0", None, (), "needs host:port"),
    ("localhost:1", "grpc://localhost:2", (), "--task needs --cluster"), ("localhost:1", None, ["ps:1"], "--task needs"),
    ("localhost:1", "grpc://localhost:2", ["1"], 'a task is named "ps:2"'),
])  # fmt: skip
def test_what_serve_refuses(
    address: str, cluster: str | None, tasks: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(address, cluster, tasks) == 2
    assert words in capsys.readouterr().err
