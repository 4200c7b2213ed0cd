"""Server: one task of a cluster in this process, whose worker the sessions that name its target share.

A server that others may reach, because its cluster has several tasks or its port is given, answers on the network.
"""

from __future__ import annotations

import atexit
import copy
import importlib
import itertools
import logging
import math
import os
import time
from typing import Any, Final

from headrace.cluster.addresses import Addresses
from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.limits import data_port, limits
from headrace.cluster.log_lines import show_time_and_level
from headrace.cluster.transport import need_libraries, open_endpoint
from headrace.cluster.transport.interface import data_port_of
from headrace.core.config import ConfigProto
from headrace.core.device import short
from headrace.core.errors import (
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnavailableError,
    UnknownError,
    with_user_line,
)
from headrace.core.leaving import Terminated, leave_seconds, raising
from headrace.core.server_def import ServerDef
from headrace.core.source import at
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.session.target import find, offer, withdraw

LOCAL: Final = {"localhost": ["localhost:0"]}  # port 0: any that is free
PROTOCOL: Final = "grpc"
ANSWER_SECONDS: Final = 1.0  # for the answers of a server that leaves
log = logging.getLogger("headrace.cluster")
_free_ports = itertools.count(40000)


class Server:
    """A worker with a name: ``tf.Session(server.target)``.  Sessions on it share variables and other named state.

    The worker and its state live until the process ends, whether or not the ``Server`` is kept.

    Args:
      server_or_cluster_def: A ServerDef, or the cluster: a `tf.train.ClusterSpec`, a dict or a ClusterDef.
      job_name: The job of this process; None where the ServerDef says it, or where the cluster has one job.
      task_index: The number of its task; None where the ServerDef says it, or where the job has one task.
      protocol: "grpc", the only one there is; None for the same.
      config: A `tf.ConfigProto` that holds for sessions on this server unless their own says otherwise.
      start: Whether to start now; if False call `start`.

    >>> server = tf.train.Server.create_local_server()
    >>> count = tf.Variable(5, name="count")
    >>> with tf.Session(server.target) as one:
    ...     one.run(count.initializer)
    >>> with tf.Session(server.target) as two:
    ...     print(two.run(count))
    5
    """

    def __init__(
        self, server_or_cluster_def: Any, job_name: str | None = None, task_index: int | None = None,
        protocol: str | None = None, config: ConfigProto | None = None, start: bool = True,
    ) -> None:  # fmt: skip
        """``config``: what holds for sessions on this server unless their own says otherwise."""
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config).__name__} {at()}")
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        self._target = f"{PROTOCOL}://localhost:{_port(self._server_def)}"
        prefix = f"/job:{self._server_def.job_name}/replica:0/task:{self._server_def.task_index}"
        self._addresses = Addresses(_addresses(ClusterSpec(self._server_def.cluster)))
        address = self._home = self._addresses[prefix]
        hosts = [one.rpartition(":")[0] for one in self._addresses.values()]
        sharing = hosts.count(address.rpartition(":")[0])
        self._worker = LocalWorker(self._server_def.default_session_config, prefix, sharing)
        named = [] if address.endswith(":0") else [f"{PROTOCOL}://{address}"]
        self._targets = list(dict.fromkeys([self._target, *named]))  # sessions may name it as the cluster does
        self._service: Any = None
        self._takeovers: Any = None  # the tasks that this process has taken over since
        self._started = False
        if start:
            self.start()

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """A cluster of one task in this process, with an address of its own."""
        return Server(LOCAL, protocol=PROTOCOL, config=config, start=start)

    @property
    def server_def(self) -> ServerDef:
        """The task: its cluster, job, number and configuration."""
        return self._server_def

    @property
    def target(self) -> str:
        """What ``tf.Session`` takes to run on this server."""
        return self._target

    def start(self) -> None:
        """Lets sessions find the server.  Nothing happens if it has been started before."""
        if not self._started:
            self._start()

    def _start(self, takeovers: Any = None, awaited: bool = False) -> None:
        """``takeovers``: of the process that has taken over this task, or is going to if it is ``awaited``."""
        show_time_and_level()
        alone = len(self._addresses) == 1
        offered: list[str] = []
        try:
            for target in self._targets:
                offer(target, self._worker, None if alone else self._connect)
                offered.append(target)
        except ValueError:
            for other in offered:
                withdraw(other)
            raise UnknownError(
                None, None,
                f"Could not start the server: {target} is the address of another server of this process; use "
                f"port 0 for one that is free {at()}",
            ) from None  # fmt: skip
        self._started = True
        if not alone or not self._home.endswith(":0"):
            self._listen(takeovers, awaited)

    def _listen(self, takeovers: Any, awaited: bool) -> None:
        """Answers on the network."""
        need_libraries()
        service = importlib.import_module("headrace.cluster.service")
        note = None
        if takeovers is None:
            takeovers = importlib.import_module("headrace.cluster.takeovers").Takeovers(self)
            note = takeovers.recall()
        self._takeovers = takeovers
        self._service = service.TaskService(
            self._worker, self._addresses, self._home, takes_over=takeovers.take_over, moved=self._moved
        )
        if awaited:
            self._service.residence.defer()
        if self._service.residence.gone_to:
            self._withdraw()
        try:
            self._service.endpoint = open_endpoint(
                self._service.handle, self._home, lost=self._service.lost, limits=limits(),
                data_port=self._data_port(takeovers.server), failed=self._worker.fail,
                decoders=importlib.import_module("headrace.cluster.requests").DECODERS,
            )  # fmt: skip
        except BaseException as e:
            self._withdraw()
            if isinstance(e, OpError):
                raise with_user_line(e) from None
            raise
        atexit.register(self._service.close)
        if note is not None:
            takeovers.start_again(note)

    def _moved(self) -> None:
        """The task is another process's: sessions of this process that name it find it there."""
        self._withdraw()
        self._takeovers.note()

    def _data_port(self, first: Server) -> int | None:
        """The port for large tensors.  The one that is derived may be the declared one of another task on this host.

        ``first``: the server that this process was started with: of the others nobody has declared a port.
        """
        host, _, port = self._home.rpartition(":")
        derived = f"{host}:{data_port_of(int(port))}"
        if self is not first:
            return 0
        if data_port() is None and derived in self._addresses.values():
            log.warning(
                "%s is another task's: large tensors to %s take any port that is free", derived, self._worker.task
            )
            return 0
        return data_port()

    def _connect(self, config: ConfigProto) -> Any:
        """The way of a session in this process to the other tasks."""
        connection = importlib.import_module("headrace.cluster.connection")
        task = self._worker.task
        service = self._service
        made = connection.ClusterConnection(service.endpoint, self._addresses, config, task, task, service.introduction)
        self._service.connections.add(made)
        return made

    def join(self) -> None:
        """Waits for ever, as TensorFlow's: the process that calls it serves until it is ended.  Not if it is not started.

        SIGTERM in the main thread: it serves on while other tasks have sessions here, HEADRACE_LEAVE_SECONDS at most, so that a
        chief that leaves too can save.  Then it ends the steps of its sessions with UnavailableError, closes the server and
        exits with 143.  Somebody else may handle the signal instead.

        With HEADRACE_JOIN_SECONDS it returns when there was a session on this server and none has been open for so long.
        Raises if the server cannot answer any more.
        """
        if self._started:
            self._serve(_join_seconds())

    def _serve(self, seconds: float | None) -> None:
        """Waits for sessions.  SIGTERM, if nobody else handles it, ends the server and the process."""
        try:
            with raising():
                self._worker.wait_for_sessions(seconds)
                while any(server._worker.sessions() for server in self._servers()):
                    self._worker.wait_for_sessions(seconds)
        except Terminated:
            self._let_workers_leave()
            self._leave()
            raise

    def _servers(self) -> list[Server]:
        """All of this process: tasks that it has taken over have servers of their own."""
        return [self] if self._takeovers is None else self._takeovers.servers

    def _let_workers_leave(self) -> None:
        """Waits until no other task has a session here: a whole job that gets SIGTERM saves before its servers go."""
        until = time.monotonic() + leave_seconds()
        for server in self._servers():
            server._wait_for_others(max(until - time.monotonic(), 0.0))

    def _wait_for_others(self, seconds: float) -> None:
        service = self._service
        if service is None or not (tasks := service.tasks_with_sessions()) or not seconds:
            return
        names = ", ".join(map(short, tasks[:4])) + (f" and {len(tasks) - 4} more" if len(tasks) > 4 else "")
        log.warning(
            "SIGTERM: %s serves on until these have left, %.3g s at most: %s", self._worker.task, seconds, names
        )
        self._worker.wait_until(lambda: not service.tasks_with_sessions(), seconds)

    def _leave(self) -> None:
        """Ends the steps of all sessions with an error that says why, then the server."""
        sessions = []
        for server in self._servers():
            task, there = server._worker.task, server._worker.sessions()
            level = logging.WARNING if there else logging.INFO  # with none it is how a job ends
            log.log(level, "SIGTERM: %s leaves, with %d sessions open", task, len(there))
            error = UnavailableError(None, None, f"{task} is leaving: its process has received SIGTERM")
            for session in there:
                session.steps.lose(error)
            sessions += there
        end = time.monotonic() + ANSWER_SECONDS
        while any(session.steps.status() for session in sessions) and time.monotonic() < end:
            time.sleep(0.01)
        self._stop()

    def _withdraw(self) -> None:
        for target in self._targets:
            withdraw(target)

    def _stop(self) -> None:
        """Ends the server; sessions on it find it lost."""
        for server in self._servers():
            if server is not self and self._takeovers.server is self:
                server._stop()
        self._withdraw()
        if self._service is not None:
            atexit.unregister(self._service.close)
            self._service.close()
        self._worker.close()


def _server_def(
    server_or_cluster_def: Any, job_name: str | None, task_index: int | None, protocol: str | None,
    config: ConfigProto | None,
) -> ServerDef:  # fmt: skip
    """The task that the arguments describe; checked."""
    if isinstance(server_or_cluster_def, ServerDef):
        definition = copy.deepcopy(server_or_cluster_def)
    else:
        definition = _member(server_or_cluster_def, job_name, task_index)
    if job_name is not None:
        definition.job_name = job_name
    if task_index is not None:
        definition.task_index = task_index
    if protocol is not None or not definition.protocol:
        definition.protocol = protocol or PROTOCOL
    if config is not None:
        definition.default_session_config.MergeFrom(config)
    _check(definition)
    return definition


def _member(cluster: Any, job_name: str | None, task_index: int | None) -> ServerDef:
    """A task of the cluster; its job and number may be left out where there is only one."""
    try:
        spec = ClusterSpec(cluster)
    except TypeError as error:
        raise TypeError(
            f"Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or `tf.train.ClusterSpec`: {error}"
        ) from None
    if job_name is None:
        if len(spec.jobs) != 1:
            raise ValueError(f"Must specify an explicit `job_name`: the jobs of the cluster are {spec.jobs} {at()}")
        job_name = spec.jobs[0]
    if task_index is None:
        indices = spec.task_indices(job_name)
        if len(indices) != 1:
            raise ValueError(f"Must specify an explicit `task_index`: the tasks of {job_name!r} are {indices} {at()}")
        task_index = indices[0]
    return ServerDef(cluster=spec.as_cluster_def(), job_name=job_name, task_index=task_index)


def _check(definition: ServerDef) -> None:
    if definition.protocol != PROTOCOL:
        raise NotFoundError(
            None, None,
            f"No server factory registered for the protocol {definition.protocol!r}; known: {PROTOCOL!r} {at()}",
        )  # fmt: skip
    spec = ClusterSpec(definition.cluster)
    job, index = definition.job_name, definition.task_index
    if job not in spec.jobs:
        raise InternalError(None, None, f"Job {job!r} was not defined in cluster {spec!r} {at()}")
    if index not in spec.task_indices(job):
        raise InternalError(
            None, None, f"Task {index} was not defined in job {job!r}; its tasks are {spec.task_indices(job)} {at()}"
        )


def _join_seconds() -> float | None:
    """How long `join` waits for the next session; None: for ever."""
    setting = os.environ.get("HEADRACE_JOIN_SECONDS", "")
    try:
        seconds = float(setting) if setting else math.inf
    except ValueError:
        raise ValueError(f"HEADRACE_JOIN_SECONDS must be a number of seconds, got {setting!r}") from None
    return None if seconds == math.inf else seconds


def _addresses(spec: ClusterSpec) -> dict[str, str]:
    """The address of each task, by the beginning of its devices' names."""
    return {
        f"/job:{job}/replica:0/task:{index}": spec.task_address(job, index)
        for job in spec.jobs
        for index in spec.task_indices(job)
    }


def _port(definition: ServerDef) -> int:
    """The number of the port in the task's address; one that no other server of this process has for 0."""
    address = ClusterSpec(definition.cluster).task_address(definition.job_name, definition.task_index)
    _, colon, number = address.rpartition(":")
    if not colon or not (number.isascii() and number.isdigit()):
        raise InvalidArgumentError(
            None, None, f'Could not parse port for local server from "{address}"; accepted is host:port {at()}'
        )
    if int(number):
        return int(number)
    return next(port for port in _free_ports if find(f"{PROTOCOL}://localhost:{port}") is None)
