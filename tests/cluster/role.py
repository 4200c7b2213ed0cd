"""A process of a small training job that a test starts, asks, stops and kills.  What it does is in `_roles`."""

import multiprocessing
import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

WAIT_S = 60.0  # how long a test waits for what must come


def preload() -> None:
    """Lets processes be forked from one that has imported Headrace."""
    needed = ["service", "connection", "transport.endpoint"]
    modules = ["headrace", "headrace.train", *(f"headrace.cluster.{name}" for name in needed)]
    multiprocessing.get_context("forkserver").set_forkserver_preload(modules)


class Role:
    """One process of the job."""

    def __init__(self, target: Any, jobs: dict[str, list[str]], index: int, folder: str) -> None:
        self._start = (target, jobs, index, folder)
        self.process: Any = None
        self.pipe: Any = None
        self.unanswered = 0

    def start(self) -> None:
        """Starts the process, in place of the one before."""
        self.kill()
        target, *arguments = self._start
        context = multiprocessing.get_context("forkserver")
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=target, args=(end, *arguments), daemon=True)
        self.process.start()
        end.close()
        self.unanswered = 1  # it says that it is ready

    def signal(self, number: int) -> None:
        """Sends a signal.  After SIGSTOP all threads have stopped: on a busy machine some run on for a while."""
        os.kill(self.process.pid, number)
        if number == signal.SIGSTOP:
            tasks = Path(f"/proc/{self.process.pid}/task")
            for _ in range(int(WAIT_S / 0.01)):
                if all(task.read_text().rpartition(")")[2].split()[0] == "T" for task in tasks.glob("*/stat")):
                    return
                time.sleep(0.01)
            raise AssertionError("it has not stopped")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join(WAIT_S)
            self.process.close()
            self.pipe.close()
            self.process = None

    def ask(self, what: str) -> None:
        self.pipe.send(what)
        self.unanswered += 1

    def answer(self) -> Any:
        assert self.pipe.poll(WAIT_S), "no answer: it hangs"
        self.unanswered -= 1
        return self.pipe.recv()

    def step(self) -> int:
        """The number of a step that it has run."""
        self.ask("step")
        answer = self.answer()
        assert isinstance(answer, int), answer
        return answer

    def has_room(self, room: bool) -> None:
        """Lets the process write to files, or no more than a few bytes, as if the disk was full."""
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (hard if room else 16, hard))
