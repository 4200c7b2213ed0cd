"""The keeper: how a program ends, with all that it has started, and what is told of it."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace.cluster.ray_engine

KEEPER = Path(headrace.cluster.ray_engine.__file__).with_name("keeper.py")
GRACE = "0.5"

STUBBORN = """
    import signal, subprocess, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "300"])
    far_child = subprocess.Popen(["sleep", "300"], start_new_session=True)
    print(child.pid, far_child.pid, flush=True)
    time.sleep(300)
"""


class Kept:
    """A program under a keeper."""

    def __init__(self, *command: str) -> None:
        self.status, writer = os.pipe()
        self.starting = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), str(writer), GRACE, *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=[writer],
        )  # fmt: skip
        os.close(writer)
        assert self.starting.stdin is not None and self.starting.stdout is not None
        self.lifeline, self.output = self.starting.stdin, self.starting.stdout
        assert self.starting.wait(60) == 0, "the process that was started leaves the keeper alone"

    def end(self) -> str:
        """What the keeper tells of the end, which is awaited."""
        return os.read(self.status, 1000).decode().strip()

    def close(self) -> None:
        self.lifeline.close()
        self.output.close()
        os.close(self.status)


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Iterator[Kept]:
    one = Kept(sys.executable, "-c", textwrap.dedent(request.param))
    yield one
    one.close()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("kept", ["print('done'); raise SystemExit(7)"], indirect=True)
def test_an_exit_code(kept: Kept) -> None:
    assert kept.output.read() == b"done\n"
    assert kept.end() == "7"


@pytest.mark.parametrize("kept", ["import os; print('x', flush=True); os.kill(os.getpid(), 9)"], indirect=True)
def test_a_signal(kept: Kept) -> None:
    assert kept.end() == "-9"


def test_a_program_that_is_not_there() -> None:
    kept = Kept("/nowhere/python")
    assert kept.end().startswith("/nowhere/python cannot be run: ")
    kept.close()


@pytest.mark.parametrize("kept", ["import time; print(1, flush=True); time.sleep(300)"], indirect=True)
def test_a_byte_stops_the_program(kept: Kept) -> None:
    kept.output.readline()
    kept.lifeline.write(b"t")
    kept.lifeline.flush()
    assert kept.end() == "-15"


@pytest.mark.parametrize("way", ["stop", "kill", "gone"])
@pytest.mark.parametrize("kept", [STUBBORN], indirect=True)
def test_nothing_is_left(kept: Kept, way: str) -> None:
    """Neither of a program that ignores SIGTERM, nor of what it has started, in its process group or outside."""
    children = [int(pid) for pid in kept.output.readline().split()]
    assert len(children) == 2 and all(map(is_running, children))
    if way == "gone":
        kept.lifeline.close()
    else:
        kept.lifeline.write(b"t" if way == "stop" else b"k")
        kept.lifeline.flush()
    assert kept.end() == "-9"
    assert not any(map(is_running, children))


@pytest.mark.parametrize(
    "kept",
    [
        """
        import os, subprocess, time
        child = subprocess.Popen(["sleep", "300"], start_new_session=True)
        print(child.pid, flush=True)
        os._exit(3)
        """
    ],
    indirect=True,
)
def test_what_a_program_leaves_ends_with_it(kept: Kept) -> None:
    child = int(kept.output.readline())
    assert kept.end() == "3"
    assert not is_running(child)


@pytest.mark.parametrize(
    "kept", ["import os, time; print(os.getpid(), os.getppid(), flush=True); time.sleep(300)"], indirect=True
)
def test_a_program_ends_with_its_keeper(kept: Kept) -> None:
    program, keeper = (int(pid) for pid in kept.output.readline().split())
    os.kill(keeper, 9)
    assert kept.end() == ""
    end = time.monotonic() + 30
    while is_running(program) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(program)
