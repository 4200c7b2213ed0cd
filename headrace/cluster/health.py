"""Health: watches the tasks that this process is connected to, and ends the connection to one that is lost.

It feeds a membership machine with answers, broken connections and time, and does what the machine says.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic, time_ns
from typing import Any, Final

from headrace.cluster.clock import Clock
from headrace.cluster.membership import (
    ANSWER_FACTOR,
    PING_SECONDS,
    Broken,
    Event,
    Expected,
    Heard,
    Instruction,
    Joined,
    Lost,
    Membership,
    Ping,
    Tick,
)
from headrace.cluster.request import Here, call
from headrace.cluster.request import Ping as PingRequest
from headrace.cluster.transport.interface import CLOSED, Peer, Transport
from headrace.core.errors import OpError, make_error
from headrace.core.silence import lost_seconds

log = logging.getLogger("headrace.cluster")

Told = Callable[[str, OpError], None]  # (task, error)

_last_seen: Final[dict[str, int]] = {}  # the incarnation that was at an address when this process last heard from it


class Health:
    """Thread-safe."""

    def __init__(self, endpoint: Transport, greeting: Callable[[str], PingRequest], told: Told) -> None:
        """``greeting(task)``: what a task is told with the first question.

        ``told`` is called once for each task that is lost, mostly on the I/O thread.
        """
        self._endpoint = endpoint
        self._greeting = greeting
        self._told = told
        self._machine = Membership(lost_seconds() * ANSWER_FACTOR)
        self._peers: dict[str, Peer] = {}
        self._clocks: dict[str, Clock] = {}
        self._lock = threading.Lock()
        self._ticks = False
        self._closed = False

    def watch(self, task: str, peer: Peer, within: float | None = None) -> None:
        """Expects a task at the other end of a new connection; it must answer ``within`` so many seconds."""
        with self._lock:
            self._peers[task] = peer
            self._clocks[task] = Clock()
            self._machine.take(Expected(task, within, _last_seen.get(peer.address)), monotonic())
            start = not self._ticks and not self._closed
            self._ticks = self._ticks or start
        peer.on_lost(lambda error: self._feed(Broken(task, error.message), peer))
        self._ask(peer, self._greeting(task), task)
        if start:
            self._endpoint.later(PING_SECONDS, self._tick)

    def heard(self, task: str, incarnation: int, peer: Peer) -> None:
        """The task has answered."""
        self._feed(Heard(task, incarnation), peer)

    def compare(self, task: str, asked: int, there: int) -> int:
        """Takes when a question was asked and what the task's clock said, in nanoseconds, as its answer comes.

        Returns what to add to the times of the task's clock to have those of this one's.
        """
        answered = time_ns()
        with self._lock:
            clock = self._clocks.setdefault(task, Clock())
            if there:
                clock.note(asked, there, answered)
            return clock.difference(there)

    def close(self) -> None:
        """Ends the watch, not the connections."""
        with self._lock:
            self._closed = True
            self._peers.clear()

    # ---- events

    def _tick(self) -> None:
        if not self._closed:
            self._feed(Tick(), None)
            self._endpoint.later(PING_SECONDS, self._tick)

    def _feed(self, event: Event, peer: Peer | None) -> None:
        """Takes an event; one of a connection that another has followed is too late."""
        with self._lock:
            if self._closed or (peer is not None and self._peers.get(event.task) is not peer):  # type: ignore[union-attr]
                return
            instructions = self._machine.take(event, monotonic())
            peers = dict(self._peers) if instructions else {}
        for one in instructions:
            self._follow(one, peers[one.task])

    def _follow(self, instruction: Instruction, peer: Peer) -> None:
        task = instruction.task
        if isinstance(instruction, Ping):
            self._ask(peer, PingRequest(), task)
        elif isinstance(instruction, Joined):
            _last_seen[peer.address] = instruction.incarnation
            if instruction.restarted:
                log.warning("%s at %s was started again since it was last heard of", task, peer.address)
        elif isinstance(instruction, Lost):
            where = "" if peer.address in instruction.message else f" (at {peer.address})"
            error = make_error(None, None, f"{instruction.message}{where}", instruction.code)
            # One that says goodbye has ended by itself; steps that need it tell their user.
            log.log(logging.INFO if error.message.endswith(CLOSED) else logging.WARNING, "%s", error.message)
            peer.close(error)
            self._told(task, error)

    def _ask(self, peer: Peer, request: PingRequest, task: str) -> None:
        call(peer, request, [], partial(self._answered, task, peer, time_ns()))

    def _answered(
        self, task: str, peer: Peer, asked: int, answer: Here, values: list[Any], error: OpError | None
    ) -> None:
        if error is None:  # else the connection has ended, and `on_lost` tells
            if self._peers.get(task) is peer:
                self.compare(task, asked, answer.now)
            self.heard(task, answer.incarnation, peer)
