"""Overview: the status of all tasks of a cluster, seen from a process that is no task.

It asks one task for the cluster, and then all tasks at the same time.  A task that does not answer is told as such; the others do
not wait for it longer than the limit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from functools import partial
from time import monotonic, time_ns
from typing import Any, Final

from headrace.cluster.addresses import Addresses
from headrace.cluster.request import Greeting, Hello, Report, Request, Status, ask, call
from headrace.cluster.transport import open_endpoint
from headrace.cluster.transport.interface import Peer, Transport
from headrace.cluster.transport.keys import split_address
from headrace.core.errors import DeadlineExceededError, InvalidArgumentError, OpError

SCHEME: Final = "grpc://"
PATIENCE: Final = 2.0  # seconds that a task has to answer

Answers = tuple[dict[str, tuple[Any, int, int]], dict[str, OpError]]


class Overview:
    """Used by one thread, in a ``with`` statement.  Needs the cluster's key, as every client does."""

    def __init__(self, target: str, patience: float = PATIENCE) -> None:
        """``target``: "grpc://host:port" or "host:port" of any task."""
        address = _address(target)
        self.patience = patience
        self._peers: dict[str, Peer] = {}
        self._changed = threading.Condition()
        self._asked: set[str] = set()
        self._answers: dict[str, dict[str, Any]] = {}
        self._silent: dict[str, dict[str, Any]] = {}
        self._endpoint: Transport = open_endpoint()
        try:
            peer = self._endpoint.connect(address, patience)
            greeting: Greeting = ask(peer, Hello(), seconds=patience)
            peer.close()
        except BaseException:
            self._endpoint.close()
            raise
        here = {} if greeting.task in greeting.moves else {greeting.task: address}
        self.addresses = Addresses({**greeting.cluster, **here}, greeting.moves)

    def __enter__(self) -> Overview:
        return self

    def __exit__(self, *error: object) -> None:
        self._endpoint.close()

    def sample(self) -> dict[str, dict[str, Any]]:
        """The status of each task by its name; ``{"error": ...}`` of one that does not answer.

        A task that did not answer before is asked again, but nobody waits for it.
        """
        with self._changed:
            self._answers = {}
            awaited = set(self.addresses) - set(self._silent)
            tasks = [task for task in self.addresses if task not in self._asked]
            self._asked.update(tasks)
        for task in tasks:
            call(self._peer(task), Status(), [], partial(self._note, task), self.patience)
        with self._changed:
            self._changed.wait_for(lambda: not self._asked & awaited, self.patience + 1)
            nothing = {"error": f"no answer within {self.patience:g} s"}
            return {task: self._answers.get(task) or self._silent.get(task, nothing) for task in self.addresses}

    def ask_all(self, make: Callable[[], Request], tasks: Collection[str] | None = None) -> Answers:
        """Asks all tasks, or some of them, and waits for their answers: an answer by task, and an error by task.

        With each answer is the time of day, in nanoseconds, when it was asked for and when it was there.
        """
        answers: dict[str, tuple[Any, int, int]] = {}
        failed: dict[str, OpError] = {}
        done = threading.Condition()

        def note(task: str, began: int, answer: Any, values: list[Any], error: OpError | None) -> None:
            with done:
                if error is None:
                    answers[task] = answer, began, time_ns()
                else:
                    failed[task] = error
                done.notify_all()

        asked = list(self.addresses if tasks is None else tasks)
        for task in asked:
            try:
                call(self._peer(task), make(), [], partial(note, task, time_ns()), self.patience)
            except OpError as e:
                note(task, 0, None, [], e)
        with done:
            done.wait_for(lambda: len(answers) + len(failed) == len(asked), self.patience + 1)
            silent = [task for task in asked if task not in answers and task not in failed]
            nothing = f"no answer within {self.patience:g} s"
            return dict(answers), {**failed, **{task: DeadlineExceededError(None, None, nothing) for task in silent}}

    def _note(self, task: str, report: Report, values: list[Any], error: OpError | None) -> None:
        """Takes an answer, on the endpoint's thread."""
        with self._changed:
            self._asked.discard(task)
            if error is None:
                if self.addresses.learn({name: (n, where) for name, (n, where) in report.status["moves"].items()}):
                    self._silent.clear()  # those that moved are asked at their new addresses
                self._answers[task] = {**report.status, "incarnation": report.incarnation, "time": monotonic()}
                self._silent.pop(task, None)
            else:
                self._silent[task] = {"error": error.message}
            self._changed.notify_all()

    def _peer(self, task: str) -> Peer:
        peer = self._peers.get(task)
        if peer is None or peer.lost is not None or peer.address != self.addresses[task]:
            peer = self._peers[task] = self._endpoint.connect(self.addresses[task], self.patience)
        return peer


def _address(target: str) -> str:
    address = target.removeprefix(SCHEME)
    try:
        _, port = split_address(address)
        valid = "://" not in address and int(port) > 0
    except (OpError, ValueError):
        valid = False
    if not valid:
        raise InvalidArgumentError(
            None, None, f"a target is {SCHEME}host:port, the address of any task: received {target!r}"
        )
    return address
