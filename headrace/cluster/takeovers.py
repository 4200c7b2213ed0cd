"""Takeovers: the tasks that a process has taken over since it was started as another one, each with a server of its own.

With ``HEADRACE_TASKS_FILE`` they are noted in that file, and so is where the process's own task has gone.  A process that is
started again with the same file has the same tasks, though not their state.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Final

import msgspec

from headrace.cluster.addresses import Addresses, Moves
from headrace.cluster.arrival import Arrival
from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.request import TakeOver
from headrace.cluster.server import Server
from headrace.cluster.transport.keys import numeric
from headrace.core.device import DeviceSpec
from headrace.core.errors import DataLossError, InvalidArgumentError, NotFoundError

TASKS_FILE: Final = "HEADRACE_TASKS_FILE"


class Note(msgspec.Struct):
    """What the file holds.  ``own``: the task as which the process was started; others' notes are left alone."""

    own: str
    cluster: dict[str, str]
    moves: Moves
    tasks: dict[str, str]  # that were taken over, with their addresses


class Takeovers:
    """Of one server, which must listen.  Thread-safe as far as one task is taken over at a time."""

    def __init__(self, server: Server) -> None:
        """``server``: the one that the process was started with."""
        self.server = server
        self._task, self._home, self._addresses = server._worker.task, server._home, server._addresses
        self._servers: list[Server] = []
        self._cluster: dict[str, str] = dict(server._addresses)

    def take_over(self, request: TakeOver) -> str:
        """Takes over a task, and gives its address."""
        task, cluster = request.task, request.cluster
        if task not in cluster:
            raise NotFoundError(None, None, f"there is no task {task}; the tasks are {', '.join(sorted(cluster))}")
        if self._task in cluster and _named(self._task)[0] != _named(task)[0]:
            why = f"its process is {self._task}, and ends with that; give one of the same job, or one that has no task"
            raise InvalidArgumentError(None, None, f"{self._home} cannot take over {task}: {why}")
        if task in self._here():
            raise InvalidArgumentError(None, None, f"{task} is in the process at {self._home} already")
        host = self._home.rpartition(":")[0]
        server = self._start(task, f"{host}:{request.port or _free_port(host)}", cluster, {}, awaited=True)
        addresses = Addresses(cluster, request.moves)
        try:
            Arrival(self.server._service.endpoint, addresses, server._worker, server._home).run(request.seconds)
        except BaseException:
            server._stop()
            raise
        self._cluster = cluster
        self._servers.append(server)
        server._addresses.learn(addresses.moves)
        self._addresses.learn(addresses.moves)
        self.note()
        server._service.residence.go_on()
        return server._home

    def _start(self, task: str, home: str, cluster: Mapping[str, str], moves: Moves, awaited: bool = False) -> Server:
        job, index = _named(task)
        config = self.server.server_def.default_session_config
        server = Server(_spec({**cluster, task: home}), job, index, config=config, start=False)
        server._addresses.learn(moves)
        server._start(self, awaited)
        return server

    @property
    def servers(self) -> list[Server]:
        """All of the process."""
        return [self.server, *self._servers]

    def _here(self) -> list[str]:
        """The tasks that are in this process."""
        return [server._worker.task for server in self.servers if not server._service.residence.gone_to]

    # ---- the file

    def recall(self) -> Note | None:
        """What an earlier process has noted; the server's addresses are as that knew them."""
        note = _read()
        if note is None or note.own != self._task:
            return None
        self._addresses.learn(note.moves)
        self._cluster = note.cluster
        return note

    def start_again(self, note: Note) -> None:
        """Starts the servers of an earlier process."""
        for task, home in note.tasks.items():
            self._servers.append(self._start(task, home, note.cluster, note.moves))

    def note(self) -> None:
        """Writes the file, if there is to be one."""
        path = os.environ.get(TASKS_FILE)
        if not path:
            return
        moves: Moves = {}
        for server in self.servers:
            moves.update(server._addresses.moves)
        tasks = {s._worker.task: s._home for s in self._servers if not s._service.residence.gone_to}
        data = msgspec.json.encode(Note(self._task, self._cluster, moves, tasks))
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:  # in one call, so that a process that is killed leaves the old text or the new one
            os.pwrite(file, data + b" " * max(0, os.fstat(file).st_size - len(data)), 0)
        finally:
            os.close(file)


def _read() -> Note | None:
    path = os.environ.get(TASKS_FILE)
    if not path or not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        data = file.read()
    try:
        return msgspec.json.decode(data, type=Note) if data.strip() else None
    except msgspec.MsgspecError as e:
        raise DataLossError(None, None, f"{TASKS_FILE}={path} is not a note of tasks: {e}") from None


def _free_port(host: str) -> int:
    """A port of this machine that nobody listens on now."""
    address = numeric(host)
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as one:
        one.bind((address, 0))
        return int(one.getsockname()[1])


def _named(task: str) -> tuple[str, int]:
    """The job and the number of a task."""
    spec = DeviceSpec.from_string(task)
    assert spec.job is not None and spec.task is not None
    return spec.job, spec.task


def _spec(addresses: Mapping[str, str]) -> ClusterSpec:
    """The cluster of these tasks."""
    jobs: dict[str, dict[int, str]] = {}
    for task, address in addresses.items():
        job, index = _named(task)
        jobs.setdefault(job, {})[index] = address
    return ClusterSpec(jobs)
