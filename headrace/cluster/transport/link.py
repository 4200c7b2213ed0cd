"""One end of one connection, without its sockets: what is sent as which message, and what a message means.

``pack`` may be called from any thread.  ``send``, ``tell`` and ``expect`` are called under the lock of the connection;
everything else is for the endpoint's I/O thread.
"""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.bulk import BulkReceiver, BulkSender
from headrace.cluster.transport.codec import (
    Buffer,
    MalformedError,
    TensorHeader,
    decode_payload,
    decode_tensors,
    encode_payload,
    encode_tensors,
)
from headrace.cluster.transport.interface import Done, Handler, Limits, LinkStatistics, Payload, RemoteNode, Tensors
from headrace.cluster.transport.segments import IncomingSegments, OutgoingSegments
from headrace.core import errors
from headrace.core.errors import OpError, make_error

log: Final = logging.getLogger("headrace.cluster")

Build = Callable[[wire.Cargo], wire.Call | wire.Push | wire.Reply]
Loaded = wire.Call | wire.Push | wire.Reply


@dataclass(slots=True)
class Packed:
    """A message's buffers, copied.  Those in ``aside`` are too large for the control channel and have no place yet."""

    nbytes: int  # of all
    payload: bytes
    headers: list[TensorHeader]
    body: bytes
    aside: tuple[bytes | bytearray, ...] = ()
    segment: wire.Segment | None = None
    payload_aside: bool = False


class Outlet:
    """What a link needs of its endpoint."""

    def transmit(self, head: bytes, body: bytes) -> None:
        """Sends a message over the control channel."""
        raise NotImplementedError

    def open_bulk(self) -> None:
        """Sees to it that the bulk channel is there."""
        raise NotImplementedError

    def pump(self) -> None:
        """There are chunks to send."""
        raise NotImplementedError

    def submit(self, action: Callable[[], None]) -> None:
        """Runs the action on the I/O thread if the connection is still there.  From any thread."""
        raise NotImplementedError

    def send(self, build: Build, packed: Packed) -> None:
        """Sends a packed message if the connection is still there.  From any thread."""
        raise NotImplementedError


class Link:
    """See the module."""

    def __init__(self, name: str, handler: Handler, limits: Limits, outlet: Outlet) -> None:
        self.name = name
        self._handler = handler
        self._limits = limits
        self._outlet = outlet
        self._calls: dict[int, Done] = {}
        self._regions = itertools.count(1)
        self._partly: dict[int, tuple[Loaded, Buffer]] = {}  # by region: messages whose buffers have not come
        self._after: dict[str, deque[tuple[Loaded, Buffer, Buffer | None]]] = {}  # by order: what waits for such a push
        self._arrived: dict[int, Buffer] = {}
        self.outgoing: OutgoingSegments | None = None
        self.incoming: IncomingSegments | None = None
        self.sender: BulkSender | None = None
        self.receiver: BulkReceiver | None = None
        self._sent = [0, 0]
        self._received = [0, 0]
        self._shared = 0

    # ---- sending

    def pack(self, payload: Payload, tensors: Tensors) -> Packed:
        """Copies what is to be sent: into shared memory, into a body, or aside until there is a way."""
        data = encode_payload(payload)
        headers, buffers = encode_tensors(tensors)
        if len(headers) > self._limits.tensors:
            raise TypeError(f"a message has at most {self._limits.tensors} tensors: received {len(headers)}")
        nbytes = len(data)
        for header in headers:
            nbytes += header.nbytes
        if nbytes > self._limits.message:
            raise TypeError(f"a message has at most {self._limits.message} bytes: received {nbytes}")
        outgoing = self.outgoing
        if nbytes <= (self._limits.inline if outgoing is None else self._limits.shared):
            return Packed(nbytes, data, headers, b"".join((*buffers, data)))
        payload_aside = len(data) > self._limits.shared
        moved = [data, *buffers] if payload_aside else buffers
        body = b"" if payload_aside else data
        if outgoing is not None:
            segment = outgoing.place(moved, [memoryview(one).nbytes for one in moved])
            if segment is not None:
                return Packed(nbytes, data, headers, body, (), segment, payload_aside)
        return Packed(nbytes, data, headers, body, tuple(bytearray(one) for one in moved), None, payload_aside)

    def send(self, build: Build, packed: Packed) -> None:
        """Sends a packed message."""
        region = 0
        if packed.aside:
            region = self._offer(packed.aside)
        cargo = wire.Cargo(len(packed.payload), packed.headers, packed.segment, region, packed.payload_aside)
        self._sent[0] += 1
        self._sent[1] += packed.nbytes
        if packed.segment is not None:
            self._shared += sum(cargo.aside())
        self._outlet.transmit(wire.encode_head(build(cargo)), packed.body)
        if self.outgoing is not None and (numbers := self.outgoing.take_forgotten()):
            self.tell(wire.Forget(numbers))

    def _offer(self, buffers: tuple[bytes | bytearray, ...]) -> int:
        starts, nbytes = wire.offsets([len(one) for one in buffers])
        if len(buffers) == 1:
            data = buffers[0]
        else:
            data = bytearray(nbytes)
            for start, one in zip(starts, buffers, strict=True):
                data[start : start + len(one)] = one
        if len(data) < nbytes:
            data = data + bytes(nbytes - len(data))
        region = next(self._regions)
        assert self.sender is not None
        self.sender.offer(region, data)
        self._outlet.open_bulk()
        return region

    def tell(self, head: wire.Head) -> None:
        """Sends a message without cargo."""
        self._outlet.transmit(wire.encode_head(head), b"")

    def expect(self, number: int, done: Done) -> None:
        """Somebody waits for the answer to a call."""
        self._calls[number] = done

    def give_up(self, number: int, error: OpError) -> None:
        """Ends a call whose answer nobody waits for any more."""
        done = self._calls.pop(number, None)
        if done is not None:
            call_back(done, {}, [], error)

    def end(self, error: OpError) -> None:
        """The connection is over."""
        calls, self._calls = self._calls, {}
        for done in calls.values():
            call_back(done, {}, [], error)
        self._partly.clear()
        self._after.clear()
        self._arrived.clear()
        if self.outgoing is not None:
            self.outgoing.close()
        self.incoming = self.sender = self.receiver = None

    @property
    def statistics(self) -> LinkStatistics:
        sent, received = self._sent, self._received
        return LinkStatistics(sent[0], sent[1], received[0], received[1], self._shared)

    # ---- receiving

    def receive(self, head: wire.Head, body: Buffer) -> None:
        """Takes a message.  MalformedError: the connection must end."""
        if isinstance(head, (wire.Call, wire.Push, wire.Reply)):
            self._receive_loaded(head, body)
        elif isinstance(head, wire.Failure):
            self._fail(head)
        elif isinstance(head, wire.Grant):
            if self.sender is None:
                raise MalformedError("chunks were granted, and there is no bulk channel")
            self.sender.grant(head.region, head.chunks)
            self._outlet.pump()
        elif isinstance(head, wire.Forget):
            if self.incoming is not None:
                self.incoming.forget(head.segments)
        elif isinstance(head, wire.OpenBulk):
            self._outlet.open_bulk()
        else:
            raise MalformedError(f"{type(head).__name__} is out of place")

    def _receive_loaded(self, head: Loaded, body: Buffer) -> None:
        cargo = head.cargo
        wire.check_cargo(cargo, len(body), self._limits.message, self._limits.tensors)
        region: Buffer | None = None
        if cargo.segment is not None:
            if self.incoming is None:
                raise MalformedError("a segment came from a peer that shares no memory")
            region = self.incoming.region(cargo.segment, wire.offsets(cargo.aside())[1])
        elif cargo.bulk:
            if self.receiver is None:
                raise MalformedError("a region was announced, and there is no bulk channel")
            self.receiver.expect(cargo.bulk, wire.offsets(cargo.aside())[1])
            self._partly[cargo.bulk] = (head, body)
            self._grant()
        self._queue(head, body, region)

    def _queue(self, head: Loaded, body: Buffer, region: Buffer | None) -> None:
        """Delivers a message, or keeps it behind an unfinished push of the same order."""
        partly = head.cargo.bulk != 0
        if isinstance(head, wire.Push) and (partly or head.order in self._after):
            if head.order or partly:
                order = head.order or f"\0{head.cargo.bulk}"  # without an order: a line of its own
                self._after.setdefault(order, deque()).append((head, body, region))
                return
        if not partly:
            self._deliver(head, body, region)

    def chunk(self, frames: list[Any]) -> None:
        """Takes a chunk of the bulk channel."""
        if self.receiver is None:
            raise MalformedError("a chunk came, and there is no bulk channel")
        finished = self.receiver.chunk(frames)
        self._grant()
        if finished is None:
            return
        number, region = finished
        head, body = self._partly.pop(number)
        if not isinstance(head, wire.Push):
            self._deliver(head, body, region)
            return
        self._arrived[number] = region
        order = head.order or f"\0{number}"
        waiting = self._after[order]
        while waiting:
            head, body, there = waiting[0]
            if head.cargo.bulk:
                if head.cargo.bulk not in self._arrived:
                    return
                there = self._arrived.pop(head.cargo.bulk)
            waiting.popleft()
            self._deliver(head, body, there)
        self._after.pop(order, None)

    def _grant(self) -> None:
        assert self.receiver is not None
        for region, chunks in self.receiver.take_grants():
            self.tell(wire.Grant(region, chunks))

    def _deliver(self, head: Loaded, body: Buffer, region: Buffer | None) -> None:
        raw, buffers = wire.split(head.cargo, body, region)
        payload, tensors = decode_payload(raw), decode_tensors(head.cargo.tensors, buffers)
        self._received[0] += 1
        self._received[1] += head.cargo.nbytes
        if isinstance(head, wire.Reply):
            done = self._calls.pop(head.number, None)
            if done is not None:
                call_back(done, payload, tensors, None)
            return
        number = head.number if isinstance(head, wire.Call) else 0
        answer = Answer(self, number)
        try:
            self._handler(self.name, head.method, payload, tensors, answer.reply, answer.fail)
        except OpError as e:
            answer.fail(e.error_code, e.message, getattr(e.op, "name", ""))
        except Exception as e:  # noqa: BLE001 - one message must not end the I/O thread
            log.exception("the handler of %r failed", head.method)
            answer.fail(errors.INTERNAL, f"the handler of {head.method!r} failed: {type(e).__name__}: {e}", "")

    def _fail(self, head: wire.Failure) -> None:
        done = self._calls.pop(head.number, None)
        if done is not None:
            node = RemoteNode(head.node) if head.node else None
            call_back(done, {}, [], make_error(None, node, head.message, head.code))

    def answer(self, build: Build, packed: Packed) -> None:
        """Sends a packed answer.  From any thread."""
        self._outlet.send(build, packed)

    def submit(self, action: Callable[[], None]) -> None:
        """Runs the action on the I/O thread if the connection is still there.  From any thread."""
        self._outlet.submit(action)


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
            link.answer(lambda cargo: wire.Reply(number, cargo), packed)

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
