"""What a message carries as bytes and back: in its body, or in shared memory beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.codec import Buffer, TensorHeader, decode_tensors, encode_payload, encode_tensors
from headrace.cluster.transport.interface import Limits, Payload, Tensors
from headrace.cluster.transport.segments import OutgoingSegments


@dataclass(slots=True)
class Packed:
    """A message's buffers, copied.  ``aside``: those too large for the control channel that have no place yet."""

    nbytes: int  # of all
    cargo: wire.Cargo
    body: bytes
    aside: memoryview | None = None


def pack(payload: Payload, tensors: Tensors, limits: Limits, outgoing: OutgoingSegments | None) -> Packed:
    """Copies what is to be sent: into shared memory, into a body, or aside until there is a way."""
    data = encode_payload(payload)
    nbytes = size = len(data)
    headers: list[TensorHeader] = []
    buffers: list[Buffer] = []
    if tensors:
        if len(tensors) > limits.tensors:
            raise TypeError(f"a message has at most {limits.tensors} tensors: received {len(tensors)}")
        headers, buffers = encode_tensors(tensors)
        for header in headers:
            nbytes += header.nbytes
        if nbytes > limits.message:
            raise TypeError(f"a message has at most {limits.message} bytes: received {nbytes}")
    if nbytes <= (limits.inline if outgoing is None else limits.shared):
        return Packed(nbytes, wire.Cargo(size, headers), b"".join((*buffers, data)))
    payload_aside = size > limits.shared
    moved = [data, *buffers] if payload_aside else buffers
    segment = None if outgoing is None else outgoing.place(moved)
    cargo = wire.Cargo(size, headers, segment, 0, payload_aside)
    return Packed(nbytes, cargo, b"" if payload_aside else data, wire.joined(moved) if segment is None else None)


def unpack(cargo: wire.Cargo, body: Buffer, beside: Buffer | None) -> tuple[Buffer, list[Any]]:
    """The bytes of the payload, and the tensors.  ``beside``: what is aside."""
    if not cargo.tensors and beside is None:
        return body, []
    raw, buffers = wire.split(cargo, body, beside)
    return raw, decode_tensors(cargo.tensors, buffers)
