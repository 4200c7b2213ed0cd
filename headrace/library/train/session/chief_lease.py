"""The lease of a job's chief: which of the processes that train together initialises, restores and saves.

The lease is on the task of the global step.  Each process has a session of its own there, beside the one that trains, so nothing
is added to the program's graph, and a place in line outlives the sessions that training makes and loses.  When the task loses the
holder's process, or the holder's session is closed, the lease goes to the next in line (resources/state/lease.py).
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from headrace.client.session import Session
from headrace.core import dtypes
from headrace.core.config import ConfigProto
from headrace.core.device import DeviceSpec
from headrace.core.errors import AbortedError, CancelledError, OpError
from headrace.graph import raw_ops
from headrace.graph.graph import Graph
from headrace.library import log
from headrace.library.state.global_step import get_global_step
from headrace.library.tensor.creation import placeholder
from headrace.resources.stepping.step import deadline
from headrace.runtime.session.target import find


def lease_of_job(master: Any, is_chief: bool, can_lead: bool) -> ChiefLease | None:
    """This process's part in the lease of its job; None where no other process takes part in the training.

    ``can_lead``: it may become the chief.  Others only show that the job goes on.
    """
    offered = find(master) if isinstance(master, str) else None
    if not master or (offered is not None and offered.connect is None):
        return None
    step = get_global_step()
    if step is None:
        return None
    place = DeviceSpec.from_string(step.device)
    if place.job is None:
        return None  # each process counts its own steps
    task = DeviceSpec(job=place.job, replica=place.replica, task=place.task).to_string()
    who = f"{socket.gethostname()}:{os.getpid()}" if offered is None else offered.worker.task
    return ChiefLease(master, task, step.op, who, is_chief, can_lead)


class ChiefLease:
    """One process's part in the lease.  Thread-safe, but one thread joins.

    ``number``: of the lease while this process holds it, else 0; a thread keeps it up to date.  ``went_on``: whether others were
    training when it got the lease.  ``took_over``: whether it is the chief in place of another process.
    """

    def __init__(self, master: str, task: str, step: Any, who: str, is_chief: bool, can_lead: bool) -> None:
        self.who, self.is_chief, self.can_lead = who, is_chief, can_lead
        self.number, self.holder = 0, ""
        self.went_on = self.took_over = False
        self.master, self._task = master, task
        self._graph = Graph()
        with self._graph.as_default(), self._graph.device(task):
            seat = raw_ops._LeaseSeat(shared_name=step.name, container=container_of(step), who=who)
            self._stands, self._begins = placeholder(dtypes.bool, []), placeholder(dtypes.bool, [])
            self._number = placeholder(dtypes.int64, [])
            self._join = list(raw_ops._JoinLease(seat, self._stands, self._begins))
            self._change = list(raw_ops._LeaseChange(seat, self._number))
            self._check = raw_ops._CheckLease(seat, self._number)
        self._lock = threading.Lock()
        self._held = threading.Event()
        self._session: Session | None = None
        self._thread: threading.Thread | None = None
        self._seen = 0  # the number of the last change that this process knows of
        self._in_line = 0
        self._has_led = self._has_warned = self._closed = False

    # ---- taking part

    def join(self, begins: bool = False) -> bool:
        """Takes part, in line if this process can lead; whether it holds the lease now.

        It may ``begin`` a job that nobody leads if it is the chief, or has been, or says so.
        """
        session = self._session
        is_new = session is None
        if session is None:
            session = Session(self.master, self._graph, ConfigProto(device_filters=[self._task]))
            with self._lock:
                self._session, self._seen = session, 0
        begins = begins or self.is_chief or self._has_led
        try:
            standing = session.run(self._join, {self._stands: self.can_lead, self._begins: begins})
        except (OpError, RuntimeError):
            self._forget(session)
            if is_new:
                raise
            return self.join(begins)  # the session was lost, or the thread has just found that it was
        self._note(session, *standing)
        if is_new:
            self._thread = threading.Thread(
                target=self._watch, args=(session,), name="headrace-chief-lease", daemon=True
            )
            self._thread.start()
        return bool(self.number)

    def look(self) -> int:
        """The number under which this process holds the lease, or 0.  Takes part again if the session was lost."""
        if self._session is None and not self._closed:
            self.join()
        return self.number

    def wait(self, seconds: float) -> bool:
        """Waits until this process holds the lease, for a time at most; whether it does."""
        return self._held.wait(seconds)

    def fence(self) -> Callable[[], None]:
        """Checks that this process holds the lease; gives what checks later that it has held it ever since.

        Both raise AbortedError otherwise: another process may have done meanwhile what only one should.
        """
        number = self.number

        def check() -> None:
            session = self._session
            if session is None or not number or number != self.number:
                raise AbortedError(None, None, f"{self.who} no longer leads the job: it has lost the lease")
            try:
                session.run(self._check, {self._number: number})
            except (CancelledError, RuntimeError) as error:  # the thread has found that the session is lost
                raise AbortedError(None, None, f"{self.who} no longer leads the job: {error}") from None

        check()
        return check

    def close(self) -> None:
        """Gives up the lease, or the place in line."""
        self._closed = True
        session = self._session
        if session is not None:
            self._forget(session)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    # ---- the thread

    def _watch(self, session: Session) -> None:
        try:
            with deadline(math.inf):
                while True:
                    self._note(session, *session.run(self._change, {self._number: self._seen}))
                    self._warn_if_nobody_leads()
        except (OpError, RuntimeError) as error:  # closed, or lost
            if self.number and not self._closed:
                log.warning("%s does not lead the job any more: %s", self.who, error)
            self._forget(session)

    def _note(self, session: Session, number: Any, mine: Any, went_on: Any, holder: bytes, in_line: Any) -> None:
        """Takes over what the task says, a `resources.state.lease.Standing`."""
        with self._lock:
            if session is not self._session or number < self._seen:
                return
            self._seen, self.holder, self._in_line = int(number), holder.decode(), int(in_line)
            if not mine:
                self.number = 0
                self._held.clear()
                return
            self.went_on = bool(went_on)
            self.took_over = self.went_on or not self.is_chief
            self.number, self._has_led = self._seen, True
            self._held.set()

    def _warn_if_nobody_leads(self) -> None:
        if not (self.can_lead or self.holder or self._in_line or self._has_warned):
            self._has_warned = True
            log.warning(
                "The job has no chief any more, and no worker can take over: none was given a checkpoint_dir. Training goes on, "
                "but nobody saves until the chief is started again."
            )

    def _forget(self, session: Session) -> None:
        with self._lock:
            if session is self._session:
                self._session, self.number = None, 0
                self._held.clear()
        session.close()


def container_of(step: Any) -> str:
    """That of the global step: jobs that keep their variables apart have leases of their own."""
    try:
        return str(step.get_attr("container").decode())
    except ValueError:
        return ""
