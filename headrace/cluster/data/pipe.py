"""Messages between two processes of one user on one host: a socket, and shared memory beside it for what is large."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
import torch

from headrace.cluster.transport.codec import decode_payload
from headrace.cluster.transport.interface import DEFAULT_LIMITS, Payload
from headrace.cluster.transport.message import Cargo, check_cargo, offsets
from headrace.cluster.transport.packing import pack, unpack
from headrace.cluster.transport.segments import HEADER, IncomingSegments, OutgoingSegments
from headrace.resources.calling.batch import Element, whole
from headrace.resources.data.sparse import SparseValue
from headrace.resources.data.stage import Stage

_SIZES: Final = struct.Struct("<QQ")  # of a message's head and of its body
_INLINE: Final = replace(DEFAULT_LIMITS, inline=DEFAULT_LIMITS.message)
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(tuple[Cargo, list[int]]).decode


class Pipe:
    """One end.  For one thread at a time."""

    def __init__(self, connection: socket.socket, process: int) -> None:
        """``process``: of the other end."""
        self._socket, self._process = connection, process
        self._outgoing = OutgoingSegments(DEFAULT_LIMITS.pool)
        self._incoming = IncomingSegments(process, 2 * DEFAULT_LIMITS.message + HEADER)

    def shared(self) -> int:
        """Bytes of shared memory that both ends hold."""
        return self._outgoing.nbytes() + self._incoming.nbytes()

    def forget(self) -> None:
        """Lets go of all shared memory; the other end must too, before the next message."""
        self._outgoing.close()
        self._outgoing = OutgoingSegments(DEFAULT_LIMITS.pool)
        self._incoming = IncomingSegments(self._process, 2 * DEFAULT_LIMITS.message + HEADER)

    def send(self, payload: Payload, tensors: Sequence[Any]) -> None:
        """Sends plain data and tensors.  OSError: the other process is gone."""
        outgoing = self._outgoing
        packed = pack(payload, tensors, DEFAULT_LIMITS, outgoing)
        if packed.aside is not None:  # the system has no more shared memory
            packed = pack(payload, tensors, _INLINE, None)
        head = _encode((packed.cargo, outgoing.take_forgotten()))
        self._socket.sendall(b"".join((_SIZES.pack(len(head), len(packed.body)), head, packed.body)))

    def receive(self) -> tuple[dict[str, Any], list[Any]]:
        """What the other end has sent.  EOFError: it is gone."""
        head, body = _SIZES.unpack(self._read(_SIZES.size))
        cargo, forgotten = _decode(self._read(head))
        content = self._read(body)
        check_cargo(cargo, body, DEFAULT_LIMITS.message, DEFAULT_LIMITS.tensors)
        beside = None
        if cargo.segment is not None:
            beside = self._incoming.region(cargo.segment, offsets(cargo.aside())[1])
        raw, tensors = unpack(cargo, content, beside)
        self._incoming.forget(forgotten)
        return decode_payload(raw), tensors

    def _read(self, count: int) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            read = self._socket.recv_into(view)
            if not read:
                raise EOFError
            view = view[read:]
        return data

    def wait(self, seconds: float) -> bool:
        """Whether something comes, or the other end goes, within so many seconds."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def close(self) -> None:
        self._socket.close()
        self.forget()


def to_columns(elements: Sequence[Element]) -> tuple[list[bool], list[Any]]:
    """Elements as what can be sent: which components are sparse, and the values of one component after those of another.

    Small values of one component go as one that way.
    """
    sparse: list[bool] = []
    values: list[Any] = []
    for column in zip(*map(whole, elements), strict=True):
        sparse.append(isinstance(column[0], SparseValue))
        if sparse[-1]:
            values += [one.indices for one in column]
            values += [one.values for one in column]
            values += [torch.tensor(one.shape, dtype=torch.int64) for one in column]
        elif isinstance(column[0], Stage):
            raise TypeError("a dataset among the components of an element cannot go to another process")
        else:
            values += column
    return sparse, values


def from_columns(sparse: Sequence[bool], values: Sequence[Any], count: int) -> list[Element]:
    """The elements again."""
    if not sparse:
        return [()] * count
    columns: list[list[Any]] = []
    rest = iter([list(values[i : i + count]) for i in range(0, len(values), count)])
    for is_sparse in sparse:
        column = next(rest)
        if is_sparse:
            parts = zip(column, next(rest), next(rest), strict=True)
            column = [SparseValue(indices, nonzero, shape.tolist()) for indices, nonzero, shape in parts]
        columns.append(column)
    return list(zip(*columns, strict=True))
