"""Residence: whether a task is in this process, and what the process does when another one takes the task over.

Until `hand_over` the task is here: whatever fails before, and if the process that takes it over is lost, it goes on as if nothing
had been asked.  Sessions that would begin in the last moment wait until it is known where the task is.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch

from headrace.cluster.addresses import Addresses
from headrace.cluster.request import Depart, ParcelHead
from headrace.cluster.sessions import Sessions
from headrace.core.errors import AbortedError, FailedPreconditionError, InvalidArgumentError, UnavailableError
from headrace.resources.calling.copies import to_host
from headrace.resources.calling.value import as_tensor
from headrace.resources.state.movable import Parcel
from headrace.resources.state.variable import Variable
from headrace.runtime.host.worker import LocalWorker

log = logging.getLogger("headrace.cluster")

STRINGS: Final = "string"
OUTCOMES: Final = 64  # moves of which it is known how they ended
GRACE: Final = 0.5  # seconds that steps have to end by themselves before the sessions end
_LARGE: Final = Variable.__name__  # what is pulled while steps that only read go on


class Residence:
    """Thread-safe."""

    def __init__(
        self,
        worker: LocalWorker,
        home: str,
        addresses: Addresses,
        sessions: Sessions,
        check_holder: Callable[[str], None],
    ) -> None:
        """``home``: the address of this process as the task.

        ``check_holder(session)`` raises unless that session has kept steps from writing since it began to.
        """
        self._worker, self._addresses, self._sessions, self._check_holder = worker, addresses, sessions, check_holder
        self._home = home
        self._peer = ""  # the connection of the process that takes over; empty: the task stays
        self._request: Depart | None = None
        self._tensors: list[Any] = []
        self._settled = False  # whether sessions have ended, or are about to
        self._outcomes: dict[str, bool] = {}  # whether they have, by the session that held up steps
        self._askers: list[Callable[[bool], None]] = []
        self._deferred: list[Callable[[], None]] | None = None  # sessions that wait; None: they begin immediately
        self._lock = threading.Lock()

    # ---- where the task is

    def defer(self) -> None:
        """Sessions wait until `go_on`: it is not known yet where a task is."""
        with self._lock:
            if self._deferred is None:
                self._deferred = []

    def go_on(self) -> None:
        """Sessions that have waited begin, or hear where the task is."""
        with self._lock:
            deferred, self._deferred = self._deferred or [], None
        for begin in deferred:
            self._worker.pool.submit(begin)

    def when_decided(self, holder: str, tell: Callable[[bool], None]) -> None:
        """Tells whether sessions have ended for the move that a session holds up steps for, as soon as that is decided."""
        with self._lock:
            if self._request is not None and self._request.holder == holder:
                self._askers.append(tell)
                return
            settled = self._outcomes.get(holder, False)
        tell(settled)

    @property
    def gone_to(self) -> str:
        """The address of the process that the task has moved to; empty while it is here."""
        now = self._addresses[self._worker.task]
        return "" if now == self._home else now

    def check_here(self) -> None:
        if self.gone_to:
            raise UnavailableError(None, None, f"{self._worker.task} has moved from {self._home} to {self.gone_to}")

    def begin_session(self, add: Callable[[], None], again: Callable[[], None]) -> bool:
        """Adds a session, or has it begin ``again`` when it is known where the task is: False."""
        with self._lock:
            if self._deferred is not None:
                self._deferred.append(again)
                return False
            self.check_here()
            add()
            return True

    # ---- what the process that takes over asks, in this order

    def depart(self, request: Depart, peer: str) -> list[ParcelHead]:
        """Lists the variables."""
        with self._lock:
            self.check_here()
            task = self._worker.task
            if self._request is not None:
                taker = self._request.address
                raise FailedPreconditionError(None, None, f"{task} is about to move to {taker} already")
            if request.address == self._home:
                raise InvalidArgumentError(None, None, f"{task} is at {self._home} already")
            mine = len(self._worker.sessions()) - len(self._sessions)
            if mine > 0:
                why = f"{mine} sessions of its own process use it, and they cannot move"
                raise FailedPreconditionError(None, None, f"{task} stays at {self._home}: {why}")
            self._check_holder(request.holder)
            self._request, self._peer = request, peer
        log.info("%s: %s is going to take over", task, request.address)
        return self._listed(self._worker.resources.parcels(lambda name: name == _LARGE))

    def pull(self, spans: Sequence[tuple[int, int, int]], peer: str) -> list[Any]:
        """Bytes of what is listed, by number of the tensor."""
        self._check_asker(peer)
        if any(not 0 <= number < len(self._tensors) for number, _, _ in spans):
            raise InvalidArgumentError(None, None, f"there are {len(self._tensors)} tensors to pull; asked for {spans}")
        pieces = []
        for number, begin, count in spans:
            tensor = self._tensors[number]
            if isinstance(tensor, torch.Tensor):
                flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
                tensor = to_host([flat[begin : begin + count]])[0]
            pieces.append(tensor)
        return pieces

    def settle(self, peer: str) -> list[ParcelHead]:
        """Ends all sessions and lists the rest: nothing changes from now on."""
        request = self._check_asker(peer)
        self.defer()
        try:
            self._check_holder(request.holder)
            with self._lock:
                self._settled = True
            self._end_sessions(request)
            self._check_holder(request.holder)
            return self._listed(self._worker.resources.parcels(lambda name: name != _LARGE))
        except BaseException:
            self._over()
            raise

    def hand_over(self, peer: str) -> None:
        """The task is the other process's from now on."""
        request = self._check_asker(peer)
        with self._lock:
            if not self._settled:
                raise FailedPreconditionError(None, None, f"{self._worker.task} has not ended its sessions yet")
            task = self._worker.task
            self._addresses.learn({task: (self._addresses.times_moved(task) + 1, request.address)})
        log.warning("%s has moved from %s to %s", task, self._home, request.address)
        self._over()
        self._worker.resources.clear()

    def lost(self, peer: str) -> None:
        """A connection has ended: if it was that of the process that takes over, the task stays."""
        if peer == self._peer:
            log.warning("%s stays at %s: the process that was to take it over is lost", self._worker.task, self._home)
            self._over()

    def _check_asker(self, peer: str) -> Depart:
        with self._lock:
            if self._request is None or peer != self._peer:
                raise AbortedError(None, None, f"{self._worker.task} is not about to move to {peer}")
            return self._request

    def _over(self) -> None:
        """Ends the departure."""
        with self._lock:
            if self._request is not None:
                self._outcomes[self._request.holder] = self._settled
                while len(self._outcomes) > OUTCOMES:
                    del self._outcomes[next(iter(self._outcomes))]
            settled, askers, self._askers = self._settled, self._askers, []
            self._request, self._peer, self._tensors, self._settled = None, "", [], False
        for tell in askers:
            tell(settled)
        self.go_on()

    def _end_sessions(self, request: Depart) -> None:
        """All but the one that keeps steps from writing."""
        why = f"{self._worker.task} moves to {request.address}"
        names = [name for name in self._sessions.names() if name != request.holder]
        sessions = [self._sessions.find(name) for name in names]
        for session in sessions:
            session.standing.end(why)
        end = time.monotonic() + GRACE
        while not all(session.only_waits() for session in sessions) and time.monotonic() < end:
            time.sleep(0.001)
        for session in sessions:  # those that wait for each other hear of the move, not of each other's end
            session.graph.steps.close()
        for session in sessions:
            session.standing.wait()
        self._sessions.fence(names, why)

    def _listed(self, parcels: Sequence[Parcel]) -> list[ParcelHead]:
        heads = []
        for one in parcels:
            tensors = [_sendable(tensor) for tensor in one.tensors]
            self._tensors += tensors
            forms = [(_dtype_name(tensor), list(tensor.shape)) for tensor in tensors]
            heads.append(ParcelHead(one.container, one.class_name, one.name, one.device, one.data, forms))
        return heads


def _sendable(value: Any) -> Any:
    """Numbers as a tensor, strings as an array."""
    return value if isinstance(value, torch.Tensor) or value.dtype == object else as_tensor(np.asarray(value))


def _dtype_name(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else STRINGS
