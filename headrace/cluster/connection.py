"""ClusterConnection: a session's way to the tasks of a cluster: it finds them, waits for them, and says goodbye."""

from __future__ import annotations

import atexit
import logging
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Final

import torch

from headrace.cluster.addresses import Addresses
from headrace.cluster.health import Health, Told
from headrace.cluster.limits import limits
from headrace.cluster.op_agreement import check_version
from headrace.cluster.opened import Opened, introduction_of_process
from headrace.cluster.remote import RemoteRuns
from headrace.cluster.remote_files import wait_for_files
from headrace.cluster.request import (
    MOMENT,
    Asked,
    Close,
    Greeting,
    Hello,
    Introduction,
    Open,
    Ping,
    Reset,
    ask,
    lost_receiver,
)
from headrace.cluster.session_config import to_plain
from headrace.cluster.transport import open_endpoint
from headrace.cluster.transport.interface import NO_ANSWER, Peer, Transport
from headrace.core import errors
from headrace.core.config import ConfigProto
from headrace.core.device import same_or_matches, task_of
from headrace.core.source import at
from headrace.runtime.host.device import Device, checked_filters
from headrace.runtime.session.partition_worker import Send, Task

log = logging.getLogger("headrace.cluster")

GOODBYE: Final = 2.0  # seconds that a task has to answer when a session ends

_clients: dict[
    str | None, Transport
] = {}  # this process's, for sessions on servers of others, by key; None: its own key
_keys: dict[str, str] = {}  # of clusters that this process has started, by the addresses of their tasks
_opened: Final = Opened()
_lock = threading.Lock()


def client_endpoint(address: str = "") -> Transport:
    """The endpoint by which this process calls the server at an address, made when it is first needed."""
    with _lock:
        key = _keys.get(address)
        if key not in _clients:
            _clients[key] = open_endpoint(key=key, limits=limits())
            atexit.register(close_client_endpoint)
        return _clients[key]


def close_client_endpoint() -> None:
    """Ends the connections of this process's sessions to servers of others, when what they save is written."""
    wait_for_files()
    with _lock:
        while _clients:
            _clients.popitem()[1].close()


def remember_key(addresses: Iterable[str], key: str) -> None:
    """Sessions on the servers at these addresses use a key of their own instead of this process's."""
    with _lock:
        _keys.update(dict.fromkeys(addresses, key))


def forget_key(key: str) -> None:
    """Ends the connections under a key that was remembered."""
    with _lock:
        for address in [address for address, other in _keys.items() if other == key]:
            del _keys[address]
        client = _clients.pop(key, None)
    if client is not None:
        client.close()


class ClusterConnection:
    """The tasks of one cluster as one session sees them.  Thread-safe."""

    def __init__(
        self, endpoint: Transport, addresses: Mapping[str, str], config: ConfigProto, first: str, own: str | None,
        introduction: Introduction | None = None,
    ) -> None:  # fmt: skip
        """``first``: the task whose devices are preferred.  ``own``: the task that is this process; None if none is.

        ``introduction``: what that says of itself.  None: this process is a client that is no task.
        """
        self._endpoint = endpoint
        self._session = secrets.token_hex(8)
        self._addresses = addresses if isinstance(addresses, Addresses) else Addresses(addresses)
        self._own = own
        self._peers: dict[str, Peer] = {}
        self._runs: dict[str, RemoteRuns] = {}
        self._over: dict[str, list[str]] = {}  # sessions of which tasks that were asked to begin this one were told
        self._introduction = introduction or introduction_of_process()
        self._health = Health(endpoint, Ping, self.lose)
        self._losers: list[Told] = []
        self._closed = False
        filters = checked_filters(config.device_filters)
        names = [task for task in addresses if task != own and _is_visible(task, filters)]
        names.sort(key=lambda task: task != first)
        try:
            for task in names:
                self._dial(task)
            self.tasks: Sequence[Task] = self._greet(names, config)
        except BaseException:
            self.close()
            raise

    @property
    def session(self) -> str:
        """How the tasks know this one."""
        return self._session

    @property
    def includes_own(self) -> bool:
        """Whether this process is a task of the cluster."""
        return self._own is not None

    def peer(self, task: str) -> Peer:
        return self._peers[task]

    def _dial(self, task: str) -> None:
        """Begins to connect to a task, in place of the connection to where it was before, if any."""
        before = self._peers.get(task)
        self._peers[task] = self._endpoint.connect(self._addresses[task])
        self._health.watch(task, self._peers[task])
        if before is not None:
            before.close()

    def _greet(self, names: Sequence[str], config: ConfigProto) -> list[Task]:
        """Waits until every task has answered, and opens the session there.

        A task that has moved is known to the process where it was, and to other tasks: it is asked at its new address then.
        """
        asked = Asked()
        for task in names:
            self._say_hello(task, asked)
        until = monotonic() + config.operation_timeout_in_ms / 1000 if config.operation_timeout_in_ms else None
        in_time, known = True, 0
        while asked.missing and in_time and not asked.failed:
            in_time = asked.wait("CreateSession still waiting for response from worker:", until, known + 1)
            known = self._follow_moves(names, asked)
        if not in_time:
            late = f"the session could not begin, as these tasks did not answer: {asked.whom()} {at()}"
            raise errors.DeadlineExceededError(None, None, late)
        for task, error in list(asked.failed.items()):
            why = lost_receiver(task, error) if isinstance(error, errors.UnavailableError) else error
            raise errors.make_error(None, None, f"{why.message} {at()}", why.error_code)
        left = None if until is None else max(until - monotonic(), MOMENT)
        begun = Asked()
        used = {task: self._addresses[task] for task in self._addresses if task in names or task == self._own}
        for task in names:
            peer, greeting = self._peers[task], asked.answers[task]
            check_version(task, peer.address, greeting.headrace)
            self._health.heard(task, greeting.incarnation, peer)
            over = self._over[task] = _opened.over(peer.address)
            _opened.add(peer.address, self._session, peer)
            request = Open(self._session, to_plain(config), used, self._own, over)
            begun.ask(task, peer, request, seconds=left)
        begun.wait("still waiting for the answer to 'open' from")
        for task in begun.answers:
            _opened.forget(self._peers[task].address, self._over[task])
        for error in begun.failed.values():
            raise error
        tasks = []
        for task in names:
            peer, greeting = self._peers[task], asked.answers[task]
            devices = [Device(name, kind, torch.device("cpu"), memory) for name, kind, memory in greeting.devices]
            runs = self._runs[task] = RemoteRuns(
                peer, self._session, task, greeting.incarnation, partial(self._health.compare, task)
            )
            tasks.append(Task(task, devices, runs))
        return tasks

    def _say_hello(self, task: str, asked: Asked) -> None:
        asked.ask(task, self._peers[task], Hello(task, self._introduction, self._addresses.moves))

    def _follow_moves(self, names: Sequence[str], asked: Asked) -> int:
        """Asks tasks that are elsewhere, by what has been answered so far, again; how many answers are left."""
        answers = asked.answers.copy()
        for greeting in answers.values():
            self._addresses.learn(greeting.moves)
        for task in names:
            if self._peers[task].address != self._addresses[task]:
                answers.pop(task, None)
                asked.forget(task)
                self._dial(task)
                self._say_hello(task, asked)
        return len(answers)

    def send_to(self, task: str) -> Send:
        """What sends to a task from a partition of this process."""
        return self._runs[task].send

    def on_lost(self, lose: Told) -> None:
        self._losers.append(lose)

    def lose(self, task: str, error: errors.OpError) -> None:
        """Nothing passes between this process and the task any more."""
        for lose in self._losers:
            lose(task, error)

    def reset(self, containers: Sequence[str]) -> None:
        """Empties containers on all tasks."""
        for peer in self._peers.values():
            ask(peer, Reset(list(containers)))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        wait_for_files(self._session)
        self._health.close()
        goodbyes = {}
        for task, peer in self._peers.items():
            if peer.lost is None:
                goodbyes[task] = Asked()
                goodbyes[task].ask(task, peer, Close(self._session), seconds=GOODBYE)
        for task, goodbye in goodbyes.items():
            goodbye.wait("still waiting for the end of the session on")
            if task in goodbye.answers:
                _opened.forget(self._peers[task].address, [self._session])
        for peer in self._peers.values():
            _opened.give_up(peer.address, self._session)
            peer.close()


def connect(target: str, config: ConfigProto) -> ClusterConnection:
    """A session's connection to the cluster of a server in another process: ``grpc://host:port``."""
    address = target.partition("://")[2]
    seconds = config.operation_timeout_in_ms / 1000 or None
    try:
        endpoint = client_endpoint(address)
        peer = endpoint.connect(address)
        try:
            greeting: Greeting = ask(peer, Hello(), seconds=seconds)
        finally:
            peer.close()
    except errors.OpError as e:
        if NO_ANSWER in e.message:
            late = f"{address} {NO_ANSWER} within {seconds:g} s: no server listens there yet {at()}"
            raise errors.UnavailableError(None, None, late) from None
        raise errors.with_user_line(e) from None
    return ClusterConnection(endpoint, Addresses(greeting.cluster, greeting.moves), config, greeting.task, None)


def _is_visible(task: str, filters: Sequence[str]) -> bool:
    """Whether a filter leaves devices of the task."""
    return not filters or any(same_or_matches(task_of(name) or name, f"{task}/device:CPU:0") for name in filters)
