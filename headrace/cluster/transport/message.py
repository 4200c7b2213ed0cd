"""The messages of the control channel, and what they carry.

A message is the head, one of the structs below, and the body, what travels inline: tensors, then payload.  They are two frames,
or one if the body is small, for a frame costs as much as a copy of some thousand bytes.  Buffers that are too large for that are
*aside*, in one region of shared memory or of the bulk channel: one after the other, each at a multiple of 64 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from headrace.cluster.transport.codec import ALIGNMENT, Buffer, MalformedError, TensorHeader

VERSION: Final = 5
JOINED: Final = 4096  # bytes of a body that is in one frame with its head


class Probe(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A file in memory that a process on the same host can open: who reads ``content`` there shares memory with the sender."""

    process: int
    descriptor: int
    content: bytes


class Segment(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Shared memory that the sender holds under ``descriptor``; the same number means the same memory."""

    number: int
    descriptor: int
    nbytes: int


class Cargo(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a message carries: a payload of so many bytes, and tensors.

    Without ``segment`` or ``bulk`` all of it is in the body.  With one of them the tensors are aside, and so is the payload
    if ``payload_aside``.
    """

    payload: int
    tensors: list[TensorHeader]
    segment: Segment | None = None
    bulk: int = 0  # the number of the region, from 1
    payload_aside: bool = False

    @property
    def nbytes(self) -> int:
        """All of it."""
        total = self.payload
        for header in self.tensors:
            total += header.nbytes
        return total

    def aside(self) -> list[int]:
        """The sizes of the buffers that are aside."""
        if self.segment is None and not self.bulk:
            return []
        return ([self.payload] if self.payload_aside else []) + [header.nbytes for header in self.tensors]


class _Head(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    pass


class Hello(_Head, tag=1):
    """The first message of who connects."""

    version: int
    name: str
    probe: Probe | None


class Welcome(_Head, tag=2):
    """The answer.  ``shares``: the server can read the client's shared memory."""

    version: int
    probe: Probe | None
    shares: bool
    bulk_address: str
    bulk_identity: bytes  # what lets the client open it, once
    keys: tuple[bytes, bytes]  # of what the client sends over the bulk channel, of what it receives


class Ready(_Head, tag=3):
    """The client has understood.  ``shares``: it can read the server's shared memory."""

    shares: bool


class Call(_Head, tag=4):
    number: int
    method: str
    cargo: Cargo


class Push(_Head, tag=5):
    method: str
    order: str
    cargo: Cargo


class Reply(_Head, tag=6):
    number: int
    cargo: Cargo


class Failure(_Head, tag=7):
    number: int
    code: int
    message: str
    node: str


class Grant(_Head, tag=9):
    """So many more chunks of a region may be sent."""

    region: int
    chunks: int


class Forget(_Head, tag=10):
    """Segments that are not used again."""

    segments: list[int]


class Goodbye(_Head, tag=12):
    """The sender closes the connection; with a ``code`` of an error because of that error, which will not go away."""

    code: int = 0
    message: str = ""


class NoBulk(_Head, tag=13):
    """The client cannot open the bulk channel: chunks go over the control channel."""


class Chunk(_Head, tag=14):
    """A chunk of the bulk channel: its header; its bytes are the body."""

    header: bytes


class Question(_Head, tag=15):
    """Is the other end still there?  Nothing that it sent before is looked at until it has answered."""

    number: int


class Here(_Head, tag=16):
    """The answer to the question of this number."""

    number: int


Head = (
    Hello | Welcome | Ready | Call | Push | Reply | Failure | Grant | Forget | Goodbye | NoBulk | Chunk | Question | Here
)  # fmt: skip

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Head)


def encode_head(head: Head) -> bytes:
    return _encoder.encode(head)


def decode_head(data: Buffer) -> Head:
    try:
        head: Head = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as e:
        raise MalformedError(f"not a message of this transport: {e}") from None
    return head


def frames_of(receiver: bytes, head: bytes, body: bytes) -> tuple[bytes, ...]:
    """The frames of a message.  One frame begins with the size of the head."""
    if 0 < len(body) <= JOINED:
        return receiver, b"".join((len(head).to_bytes(4, "big"), head, body))
    return receiver, head, body


def decode_frames(frames: Sequence[Any]) -> tuple[Head, Buffer]:
    """The head and the body of a message, of ZeroMQ's frames: the first says from whom they are."""
    if len(frames) == 3:
        return decode_head(frames[1].bytes), frames[2].buffer  # a large body is copied once, where its tensors are made
    if len(frames) != 2:
        raise MalformedError(f"a message has one frame or two: received {len(frames) - 1}")
    whole = frames[1].bytes
    end = 4 + int.from_bytes(whole[:4], "big")
    return decode_head(whole[4:end]), whole[end:]


def version_of(data: Buffer) -> int | None:
    """The version that a first message of any version names; None if it is none."""
    try:
        tag, version, *_ = msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError, OverflowError):
        return None
    return version if tag == Hello.__struct_config__.tag and type(version) is int else None


def offsets(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Where the buffers of a region begin, and the region's size."""
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return starts, end


def joined(buffers: Sequence[Buffer]) -> memoryview:
    """A region with copies of the buffers."""
    views = [memoryview(one).cast("B") for one in buffers]
    starts, nbytes = offsets([view.nbytes for view in views])
    region = np.empty(nbytes, np.uint8).data  # which writes nothing: a large region is written once
    for start, view, following in zip(starts, views, [*starts[1:], nbytes], strict=True):
        end = start + view.nbytes
        region[start:end] = view
        region[end:following] = bytes(following - end)
    return region


def check_cargo(cargo: Cargo, body: int, max_bytes: int, max_tensors: int) -> None:
    """Refuses cargo that is too large or does not fit the body that it came with."""
    nbytes = least = cargo.payload
    tensors = 0
    for header in cargo.tensors:
        nbytes += header.nbytes
        tensors += header.count
        least = min(least, header.nbytes, header.count)
    if tensors > max_tensors:
        raise MalformedError(f"a message has at most {max_tensors} tensors: received {tensors}")
    if least < 0 or nbytes > max_bytes:
        raise MalformedError(f"a message has at most {max_bytes} bytes: received {nbytes}")
    if cargo.segment is not None and cargo.bulk:
        raise MalformedError("tensors are in shared memory or in the bulk channel, not in both")
    aside = 0 if cargo.segment is None and not cargo.bulk else sum(cargo.aside())
    if nbytes - aside != body:
        raise MalformedError(f"a message of {nbytes} bytes, {aside} of them aside, has a body of {body}")


def split(cargo: Cargo, body: Buffer, region: Any) -> tuple[Buffer, list[Buffer]]:
    """The payload and the buffers of the tensors, of the body and of what is aside."""
    if region is None:
        view = memoryview(bytearray(body) if cargo.tensors else body)  # which may be written
        start, buffers = 0, []
        for header in cargo.tensors:
            buffers.append(view[start : start + header.nbytes])
            start += header.nbytes
        return view[start:], buffers
    view, whole = memoryview(body), memoryview(region)
    aside = cargo.aside()
    pieces: list[Buffer] = [whole[at : at + size] for at, size in zip(offsets(aside)[0], aside, strict=True)]
    return (pieces[0], pieces[1:]) if cargo.payload_aside else (view[: cargo.payload], pieces)
