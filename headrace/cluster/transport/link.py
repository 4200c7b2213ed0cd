"""Link: one end of one connection, a ``Peer``, without its sockets: what is sent as which message, and what a message means.

A message goes out on the thread that sends it, under the lock of the socket, unless others must go first or it is too large for
the control channel.  Everything else happens on the endpoint's I/O thread.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Final

import msgspec

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.bulk import BulkReceiver, BulkSender
from headrace.cluster.transport.codec import Buffer, MalformedError, decode_payload
from headrace.cluster.transport.doubt import Doubt, now
from headrace.cluster.transport.interface import NO_ANSWER, Done, LinkStatistics, Payload, RemoteNode, Tensors
from headrace.cluster.transport.packing import Packed, pack, unpack
from headrace.cluster.transport.segments import IncomingSegments, OutgoingSegments
from headrace.core import errors
from headrace.core.errors import CancelledError, InternalError, OpError, UnavailableError, make_error

log: Final = logging.getLogger("headrace.cluster")

Loaded = wire.Call | wire.Push | wire.Reply
LOADED: Final = (wire.Call, wire.Push, wire.Reply)


@dataclass(slots=True)
class _Arrival:
    """A message that cannot be delivered yet.  ``region``: what of it is aside, if that has come."""

    head: Loaded
    body: Buffer
    region: Buffer | None
    whole: bool


class Link:
    """What is asked of it before it is ready waits until then.  ``name``: what handlers hear; ``address``: of the other end."""

    def __init__(self, endpoint: Any, name: str, address: str) -> None:
        self.endpoint = endpoint
        self.name = name
        self.address = address
        self.lock = threading.RLock()  # of the socket
        self.ready = False  # whether messages can travel
        self.lost: OpError | None = None
        self.statistics = LinkStatistics()
        self._limits = endpoint.limits
        self._doubt = Doubt(endpoint.limits.backlog)
        self._queued = 0  # messages that the I/O thread is still to send
        self._numbers = itertools.count(1)  # of calls, and of regions
        self._calls: dict[int, Done] = {}
        self._waiting: list[Callable[[], None]] = []
        self._on_lost: list[Callable[[OpError], None]] = []
        self._partly: dict[int, _Arrival] = {}  # by region
        self._lines: dict[str, deque[_Arrival]] = {}  # by order: a push that is not whole, and those behind it
        self.outgoing: OutgoingSegments | None = None
        self.incoming: IncomingSegments | None = None
        self.sender: BulkSender | None = None
        self.receiver: BulkReceiver | None = None

    # ---- what the kinds of links supply

    def transmit(self, head: bytes, body: bytes) -> None:
        """Sends a message over the control channel."""
        raise NotImplementedError

    def open_bulk(self) -> None:
        """Sees to it that the bulk channel is there, if this end can."""

    def pump(self) -> None:
        """There are chunks to send."""
        raise NotImplementedError

    def dispose(self, goodbye: bool) -> None:
        """Lets go of the connection; ``goodbye``: and says so to the other end."""
        raise NotImplementedError

    # ---- from any thread

    def call(self, method: str, payload: Payload, tensors: Tensors, done: Done, timeout: float | None = None) -> None:
        number = next(self._numbers)
        packed = self.pack(payload, tensors)
        head = wire.Call(number, method, packed.cargo)
        if timeout is None and self._send_now(head, packed, done):
            return

        def begin() -> None:
            if self.lost is not None:
                call_back(done, {}, [], self.lost)
                return
            if timeout is not None:
                late = UnavailableError(None, None, f"{self.address} {NO_ANSWER} {method!r} within {timeout} s")
                self.endpoint.loop.later(timeout, lambda: self._answered(number, {}, [], late))
            self._calls[number] = done
            self._send_later(head, packed)

        if not self.endpoint.loop.submit(begin):
            call_back(done, {}, [], self.lost or self._closed())

    def push(self, method: str, payload: Payload, tensors: Tensors, order: str = "") -> None:
        packed = self.pack(payload, tensors)
        self.send(wire.Push(method, order, packed.cargo), packed)

    def silent_for(self) -> float:
        return now() - self._doubt.heard_at

    def on_lost(self, callback: Callable[[OpError], None]) -> None:
        def add() -> None:
            if self.lost is None:
                self._on_lost.append(callback)
            elif not isinstance(self.lost, CancelledError):
                call_back(callback, self.lost)

        self.endpoint.loop.submit(add)

    def close(self, error: OpError | None = None) -> None:
        self.submit(lambda: self.end(error or self._closed(), goodbye=True))

    def submit(self, action: Callable[[], None]) -> None:
        """Runs the action on the I/O thread, unless the connection is over by then; what it raises ends the connection."""
        self.endpoint.loop.submit(partial(self.act, action))

    def pack(self, payload: Payload, tensors: Tensors) -> Packed:
        """Copies what is to be sent: into shared memory, into a body, or aside until there is a way."""
        return pack(payload, tensors, self._limits, self.outgoing)

    def send(self, head: Loaded, packed: Packed) -> None:
        """Sends a message that carries what is packed."""
        if not self._send_now(head, packed):
            self._send_later(head, packed)

    def _send_now(self, head: Loaded, packed: Packed, done: Done | None = None) -> bool:
        """Sends on this thread, if nothing must go first: waking the I/O thread would cost more than the message."""
        if packed.aside is not None or not self.ready:
            return False
        with self.lock:
            if self._queued or self.lost is not None:
                return False
            if done is not None and isinstance(head, wire.Call):
                self._calls[head.number] = done
            self._load(head, packed)
        return True

    def _send_later(self, head: Loaded, packed: Packed) -> None:
        """Sends on the I/O thread, after what was given to it before, when messages can travel."""
        with self.lock:
            self._queued += 1

        def send() -> None:
            with self.lock:
                self._queued -= 1
                self._load(head, packed)

        self.submit(lambda: send() if self.ready else self._waiting.append(send))

    def _load(self, head: Loaded, packed: Packed) -> None:
        """Sends a packed message.  Under the lock."""
        if packed.aside is not None:
            region = next(self._numbers)
            assert self.sender is not None
            self.sender.offer(region, packed.aside)
            self.open_bulk()
            head.cargo = msgspec.structs.replace(packed.cargo, bulk=region)
        statistics, outgoing = self.statistics, self.outgoing
        statistics.sent_messages += 1
        statistics.sent_bytes += packed.nbytes
        if packed.cargo.segment is not None:
            statistics.shared_bytes += sum(packed.cargo.aside())
        self.transmit(wire.encode_head(head), packed.body)
        if outgoing is not None and outgoing.forgotten:
            self.tell(wire.Forget(outgoing.take_forgotten()))

    def _closed(self) -> CancelledError:
        """The error of an end that its own side has closed."""
        return CancelledError(None, None, f"the connection with {self.address} was closed")

    # ---- on the I/O thread

    def tell(self, head: wire.Head) -> None:
        """Sends a message without cargo."""
        self.transmit(wire.encode_head(head), b"")

    def act(self, action: Callable[[], None]) -> None:
        """Acts unless the connection is over.  An exception is told to all who asked something of the connection."""
        if self.lost is None:
            try:
                action()
            except Exception as e:  # noqa: BLE001 - one connection must not end the I/O thread
                log.exception("the connection with %s has failed", self.name)
                why = f"the connection with {self.name} has failed here: {type(e).__name__}: {e}"
                self.end(InternalError(None, None, why))

    def become_ready(self) -> None:
        """Does what has waited for the connection."""
        self.ready = True
        if self._doubt.patience == inf:
            self.expect_to_hear()
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()

    def expect_to_hear(self) -> None:
        """From now on the other end is asked after a long silence."""
        self._doubt.begin(self._limits.doubt, now())

    def hear(self) -> None:
        """A message has come, or a chunk: before it is looked at.  Asks the other end if it has been silent for long."""
        question = self._doubt.hear(now())
        if question:
            self.tell(wire.Question(question))

    def end(self, error: OpError, goodbye: bool = False) -> None:
        """Ends the connection, once, and tells who wants to know unless it was closed here."""
        with self.lock:
            if self.lost is not None:
                return
            self.lost = error
        if self._doubt.messages:
            log.warning("%d messages are dropped that %s sent before it was lost", len(self._doubt.messages), self.name)
            self._doubt.messages.clear()
        for number in list(self._calls):
            self._answered(number, {}, [], error)
        self._partly.clear()
        self._lines.clear()
        if self.outgoing is not None:
            self.outgoing.close()
        self.incoming = self.sender = self.receiver = None
        try:
            self.dispose(goodbye)
        finally:
            self._waiting.clear()
            callbacks, self._on_lost = self._on_lost, []
            if not isinstance(error, CancelledError):
                for callback in callbacks:
                    call_back(callback, error)

    def receive(self, head: wire.Head, body: Buffer) -> None:
        """Takes a message.  MalformedError: the connection must end."""
        if isinstance(head, LOADED):
            self.receive_loaded(head, body)
        elif isinstance(head, wire.Failure):
            node = RemoteNode(head.node) if head.node else None
            self._answered(head.number, {}, [], make_error(None, node, head.message, head.code))
        elif isinstance(head, wire.Grant):
            if self.sender is None:
                raise MalformedError("chunks were granted, and there is no bulk channel")
            self.sender.grant(head.region, head.chunks)
            self.pump()
        elif isinstance(head, wire.Forget):
            if self.incoming is not None:
                self.incoming.forget(head.segments)
        elif isinstance(head, wire.Question):
            self.tell(wire.Here(head.number))
        elif isinstance(head, wire.Here):
            for message in self._doubt.answered(head.number):
                if self.lost is None:
                    self._deliver(*message)
            self._grant()
        else:
            raise MalformedError(f"{type(head).__name__} is out of place")

    def receive_loaded(self, head: Loaded, body: Buffer) -> None:
        """Takes a message that carries something."""
        cargo, region = head.cargo, None
        wire.check_cargo(cargo, len(body), self._limits.message, self._limits.tensors)
        if cargo.segment is None and not cargo.bulk and not self._lines:
            self._deliver(head, body, None)
            return
        order = head.order if isinstance(head, wire.Push) else ""
        if cargo.segment is not None:
            if self.incoming is None:
                raise MalformedError("a segment came from a peer that shares no memory")
            region = self.incoming.region(cargo.segment, wire.offsets(cargo.aside())[1])
        elif cargo.bulk:
            if self.receiver is None:
                raise MalformedError("a region was announced, and there is no bulk channel")
            self.receiver.expect(cargo.bulk, wire.offsets(cargo.aside())[1])
            self._partly[cargo.bulk] = arrival = _Arrival(head, body, None, False)
            self.open_bulk()
            self._grant()
            if order:
                self._lines.setdefault(order, deque()).append(arrival)
            return
        if order in self._lines:
            self._lines[order].append(_Arrival(head, body, region, True))
        else:
            self._deliver(head, body, region)

    def chunk(self, frames: list[Any]) -> None:
        """Takes a chunk of the bulk channel."""
        if self.receiver is None:
            raise MalformedError("a chunk came, and there is no bulk channel")
        finished = self.receiver.chunk(frames)
        self._grant()
        if finished is None:
            return
        arrival = self._partly.pop(finished[0])
        arrival.region, arrival.whole = finished[1], True
        order = arrival.head.order if isinstance(arrival.head, wire.Push) else ""
        line = self._lines[order] if order else deque([arrival])
        while line and line[0].whole:
            first = line.popleft()
            self._deliver(first.head, first.body, first.region)
        if not line:
            self._lines.pop(order, None)

    def _grant(self) -> None:
        """Lets chunks come, unless there is doubt: then as few as possible are held back."""
        if self.receiver is None or self._doubt.messages is not None:
            return
        for region, chunks in self.receiver.take_grants():
            self.tell(wire.Grant(region, chunks))

    def _deliver(self, head: Loaded, body: Buffer, region: Buffer | None) -> None:
        if self._doubt.messages is not None and not isinstance(head, wire.Reply):
            self._doubt.hold((head, body, region))
            return
        cargo, statistics = head.cargo, self.statistics
        statistics.received_messages += 1
        raw, tensors = unpack(cargo, body, region)
        statistics.received_bytes += cargo.nbytes if tensors else cargo.payload
        if isinstance(head, wire.Reply):
            self._answered(head.number, decode_payload(raw), tensors, None)
            return
        answer = Answer(self, head.number if isinstance(head, wire.Call) else 0)
        decode = self.endpoint.decoders.get(head.method)
        payload: Any = decode_payload(raw) if decode is None else None
        try:
            if decode is not None:
                payload = decode(raw, self.name)
            self.endpoint.handler(self.name, head.method, payload, tensors, answer.reply, answer.fail)
        except OpError as e:
            answer.fail(e.error_code, e.message, getattr(e.op, "name", ""))
        except Exception as e:  # noqa: BLE001 - one message must not end the I/O thread
            log.exception("the handler of %r failed", head.method)
            answer.fail(errors.INTERNAL, f"the handler of {head.method!r} failed: {type(e).__name__}: {e}", "")

    def _answered(self, number: int, payload: dict[str, Any], tensors: list[Any], error: OpError | None) -> None:
        """Tells who made a call, unless it has been told."""
        done = self._calls.pop(number, None)
        if done is not None:
            call_back(done, payload, tensors, error)


class Answer:
    """The one answer to a call.  The second is dropped."""

    __slots__ = ("_link", "_number")

    def __init__(self, link: Link, number: int) -> None:
        self._link = link
        self._number = number  # 0: answered, or nobody waits

    def reply(self, payload: Payload, tensors: Tensors) -> None:
        link, number = self._link, self._number
        if number:
            packed = link.pack(payload, tensors)
            self._number = 0
            link.send(wire.Reply(number, packed.cargo), packed)

    def fail(self, code: int, message: str, node: str = "") -> None:
        link, number = self._link, self._number
        if number:
            self._number = 0
            link.submit(lambda: link.tell(wire.Failure(number, code, message[:65_536], node)))


def call_back(callback: Callable[..., None], *arguments: Any) -> None:
    """Calls back; what it raises is logged."""
    try:
        callback(*arguments)
    except Exception:  # noqa: BLE001 - one caller must not end the I/O thread
        log.exception("a callback of the transport failed")
