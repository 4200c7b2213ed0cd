"""How a process takes over a task: it pulls the task's state from the process that has it, and then the task itself."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from math import prod
from time import monotonic
from typing import Any, Final

import numpy as np
import torch

from headrace.cluster.addresses import Addresses
from headrace.cluster.connection import ClusterConnection
from headrace.cluster.request import (
    Depart,
    EndSessions,
    Greeting,
    HandOver,
    Hello,
    Inventory,
    ParcelHead,
    Pull,
    Settle,
    StandBy,
    ask,
    call,
)
from headrace.cluster.residence import STRINGS
from headrace.cluster.transport.interface import Peer, Transport
from headrace.core.config import ConfigProto
from headrace.core.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    OpError,
    UnavailableError,
)
from headrace.core.silence import lost_seconds
from headrace.resources.state.movable import Parcel
from headrace.resources.stepping.step import Steps
from headrace.runtime.host.cut import cut
from headrace.runtime.host.worker import LocalWorker

log = logging.getLogger("headrace.cluster")

PIECE: Final = 16 << 20  # bytes of one message
MESSAGES: Final = 4  # that are under way together
TENSORS: Final = 1024  # of one message
AGAIN_SECONDS: Final = 0.1  # between two attempts
RETRY_SECONDS: Final = 1.0  # between two questions to a process that does not answer whether it still has the task

Span = tuple[int, int, int]


class Arrival:
    """One take-over.  Used by one thread."""

    def __init__(self, endpoint: Transport, addresses: Addresses, worker: LocalWorker, home: str) -> None:
        """``worker``: what is to have the task's state.  ``home``: the address of the task from then on."""
        self._endpoint, self._addresses, self._worker, self._home = endpoint, addresses, worker, home
        self._task = worker.task
        self._job = self._task.partition("/replica")[0]
        self._pulled = 0  # tensors, of both lists

    def run(self, seconds: float) -> None:
        """Returns when the task is this process's.  Raises if it stays where it was.

        ``seconds``: for the tasks of the job to answer, and for the steps under way to end.
        """
        until = monotonic() + seconds
        while True:
            try:
                return self._try(max(until - monotonic(), AGAIN_SECONDS))
            except (AbortedError, CancelledError) as e:  # mostly because another task of the job was moving
                if monotonic() + AGAIN_SECONDS > until:
                    raise
                log.info("%s: its move to %s begins again: %s", self._task, self._home, e.message)
                threading.Event().wait(AGAIN_SECONDS)

    def _try(self, seconds: float) -> None:
        config = ConfigProto(device_filters=[self._job], operation_timeout_in_ms=int(seconds * 1000))
        connection = ClusterConnection(self._endpoint, self._addresses, config, self._task, None)
        try:
            self._check_devices(connection)
            sides = {task.name: task.runs.side(None) for task in connection.tasks}
            turn = next(task.runs.side([]) for task in connection.tasks if task.name == min(sides))
            with cut(list(sides.values()), Steps(), seconds, turn=turn):
                self._take_over(connection, seconds)
            self._tell_others()
        except DeadlineExceededError as e:
            raise DeadlineExceededError(None, None, f"{self._task} stays where it is: {e.message}") from None
        finally:
            connection.close()

    def _check_devices(self, connection: ClusterConnection) -> None:
        there = next(task.devices for task in connection.tasks if task.name == self._task)
        missing = sorted({device.name for device in there} - set(self._worker.device_names))
        if missing:
            here = ", ".join(self._worker.device_names)
            raise FailedPreconditionError(
                None, None, f"{self._task} has devices that {self._home} has not: {', '.join(missing)}; here are {here}"
            )

    def _take_over(self, connection: ClusterConnection, seconds: float) -> None:
        """While steps that write are held: they begin nowhere before the move, and in no session that is older than it.

        ``seconds``: for the sessions of a task to end.
        """
        peer, holder = connection.peer(self._task), connection.session
        number = self._addresses.times_moved(self._task) + 1
        self._pulled = 0
        others = [connection.peer(task.name) for task in connection.tasks if task.name != self._task]
        for other in others:
            ask(other, StandBy(self._task, holder), seconds=seconds)
        variables: Inventory = ask(peer, Depart(self._home, holder))
        self._pull(peer, variables.parcels)
        rest: Inventory = ask(peer, Settle(), seconds=seconds)
        self._pull(peer, rest.parcels)
        for other in others:
            ask(other, EndSessions(self._task, holder), seconds=seconds)
        self._hand_over(peer, number, variables.incarnation)
        self._addresses.learn({self._task: (number, self._home)})

    def _tell_others(self) -> None:
        """Lets the other tasks know the new address, those that answer.  Clients pass it on to the rest."""
        for other in self._addresses:
            if other != self._task:
                try:
                    self._greet(other)
                except OpError as e:
                    log.info("%s has not heard that %s is at %s: %s", other, self._task, self._home, e.message)

    def _greet(self, task: str) -> Greeting:
        peer = self._endpoint.connect(self._addresses[task], lost_seconds())
        try:
            greeting: Greeting = ask(peer, Hello(task, moves=self._addresses.moves), seconds=lost_seconds())
            return greeting
        finally:
            peer.close()

    # ---- the last moment

    def _hand_over(self, peer: Peer, number: int, incarnation: int) -> None:
        try:
            ask(peer, HandOver())
        except UnavailableError as e:
            # It may have said yes.  Nobody but it knows, so this process waits until it can be asked.
            log.warning("%s was to move to %s, and it is not known whether it has: %s", self._task, self._home, e)
            self._ask_whether_moved(number, incarnation)

    def _ask_whether_moved(self, number: int, incarnation: int) -> None:
        while True:
            try:
                greeting = self._greet(self._task)
            except OpError as e:
                log.warning("%s: still asking whether it has moved to %s: %s", self._task, self._home, e.message)
                threading.Event().wait(RETRY_SECONDS)
                continue
            if greeting.moves.get(self._task) == (number, self._home):
                return
            why = "has kept it" if greeting.incarnation == incarnation else "was started again"
            where = self._addresses[self._task]
            raise UnavailableError(None, None, f"{self._task} has not moved: the process at {where} {why}")

    # ---- state

    def _pull(self, peer: Peer, heads: Sequence[ParcelHead]) -> None:
        """Fetches the tensors of parcels, in pieces, and keeps the parcels for the nodes that will ask for them."""
        tensors = [_empty(*form) for head in heads for form in head.tensors]
        first, self._pulled = self._pulled, self._pulled + len(tensors)
        under_way: deque[tuple[list[Span], Future[list[Any]]]] = deque()
        for spans in _messages([_size(one) for one in tensors], first):
            if len(under_way) == MESSAGES:
                _store(tensors, first, *under_way.popleft())
            future: Future[list[Any]] = Future()
            call(peer, Pull(spans), [], partial(_arrived, future))
            under_way.append((spans, future))
        for spans, future in under_way:
            _store(tensors, first, spans, future)
        left = iter(tensors)
        self._worker.resources.arrive([
            Parcel(one.container, one.class_name, one.name, one.device, one.data, [next(left) for _ in one.tensors])
            for one in heads
        ])  # fmt: skip


def _arrived(future: Future[list[Any]], answer: Any, values: list[Any], error: OpError | None) -> None:
    if error is None:
        future.set_result(values)
    else:
        future.set_exception(error)


def _empty(dtype: str, shape: Sequence[int]) -> Any:
    """Memory for a tensor."""
    return np.empty(shape, object) if dtype == STRINGS else torch.empty(tuple(shape), dtype=getattr(torch, dtype))


def _size(tensor: Any) -> int:
    """Bytes; 0 for strings, which come whole."""
    return prod(tensor.shape) * tensor.itemsize if isinstance(tensor, torch.Tensor) else 0


def _messages(sizes: Sequence[int], first: int) -> Iterator[list[Span]]:
    """The spans of each message: large tensors in pieces, small ones together."""
    spans: list[Span] = []
    room = PIECE
    for number, size in enumerate(sizes, first):
        begin = 0
        while begin < size or begin == 0:
            count = min(size - begin, room)
            spans.append((number, begin, count))
            begin, room = begin + max(count, 1), room - count
            if not room or len(spans) == TENSORS:
                yield spans
                spans, room = [], PIECE
    if spans:
        yield spans


def _store(tensors: list[Any], first: int, spans: Sequence[Span], future: Future[list[Any]]) -> None:
    for (number, begin, count), piece in zip(spans, future.result(), strict=True):
        tensor = tensors[number - first]
        if not isinstance(tensor, torch.Tensor):
            tensors[number - first] = piece
        elif count:
            tensor.reshape(-1).view(torch.uint8)[begin : begin + count] = piece
