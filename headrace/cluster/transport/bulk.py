"""The bulk channel: large messages in encrypted chunks, so that small ones need not wait for them.

A message's buffers are one region.  The receiver makes room for it and grants the sender some chunks at a time; several regions
take turns.  A chunk is a header (counter, region, offset) and its bytes under AES-GCM, with a key of its own for each direction
of each connection, agreed over the control channel.  The counter is the nonce and must be the next: what is replayed, left out
or changed is refused.  No sockets here, and no threads.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import Any, Final

import torch
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from headrace.cluster.transport.codec import Buffer, MalformedError

WINDOW: Final = 16  # chunks that are under way for one region
ACTIVE: Final = 4  # regions under way
TAG: Final = 16
MOST_AROUND: Final = 64 + TAG  # bytes of a frame beside those of its chunk
_HEADER: Final = struct.Struct(">QQQ")


def _nonce(counter: int) -> bytes:
    return counter.to_bytes(12, "big")


class BulkSender:
    """Cuts regions into chunks, as many as are granted.  For one thread."""

    def __init__(self, key: bytes, chunk: int) -> None:
        self._cipher = AESGCM(key)
        self._chunk = chunk
        self._counter = 0
        self._regions: dict[int, tuple[memoryview, int, int]] = {}  # data, sent, granted chunks
        self._ready: deque[int] = deque()

    def offer(self, region: int, data: Buffer) -> None:
        """Keeps a region until it is sent."""
        self._regions[region] = (memoryview(data), 0, 0)

    def grant(self, region: int, chunks: int) -> None:
        """The receiver takes so many more chunks."""
        entry = self._regions.get(region)
        if entry is None or not 0 < chunks <= WINDOW:
            raise MalformedError(f"{chunks} chunks were granted of region {region}, which is not being sent")
        data, sent, granted = entry
        self._regions[region] = (data, sent, granted + chunks)
        if not granted:
            self._ready.append(region)

    @property
    def ready(self) -> bool:
        """Whether a chunk may be sent."""
        return bool(self._ready)

    def next(self) -> list[bytes]:
        """The next chunk, of the region whose turn it is."""
        region = self._ready.popleft()
        data, sent, granted = self._regions.pop(region)
        piece = data[sent : sent + self._chunk]
        header = _HEADER.pack(self._counter, region, sent)
        sealed = self._cipher.encrypt(_nonce(self._counter), piece, header)
        self._counter += 1
        if sent + piece.nbytes < data.nbytes:
            self._regions[region] = (data, sent + piece.nbytes, granted - 1)
            if granted > 1:
                self._ready.append(region)
        return [header, sealed]


class _Room:
    """A region that is partly here."""

    __slots__ = ("data", "granted", "received")

    def __init__(self, nbytes: int) -> None:
        self.data: Any = torch.empty(nbytes, dtype=torch.uint8).numpy()  # torch aligns
        self.received = 0
        self.granted = 0  # chunks that may still come


class BulkReceiver:
    """Puts chunks where they belong.  For one thread."""

    def __init__(self, key: bytes, chunk: int, limit: int) -> None:
        """``limit``: bytes of regions that are partly here."""
        self._cipher = AESGCM(key)
        self._chunk = chunk
        self._limit = limit
        self._counter = 0
        self._rooms: dict[int, _Room] = {}
        self._later: deque[tuple[int, int]] = deque()  # regions that wait for their turn
        self._grants: list[tuple[int, int]] = []
        self._waiting = 0
        self._newest = 0

    def expect(self, region: int, nbytes: int) -> None:
        """A message has come whose buffers follow in this region."""
        if region <= self._newest:
            raise MalformedError(f"region {region} was announced after {self._newest}")
        if nbytes <= 0 or self._waiting + nbytes > self._limit:
            raise MalformedError(
                f"{nbytes} bytes were announced beside {self._waiting}; at most {self._limit} may wait"
            )
        self._newest = region
        self._waiting += nbytes
        self._later.append((region, nbytes))
        self._begin()

    def _begin(self) -> None:
        while self._later and len(self._rooms) < ACTIVE:
            region, nbytes = self._later.popleft()
            try:
                room = self._rooms[region] = _Room(nbytes)
            except (MemoryError, RuntimeError):
                raise MalformedError(f"there is no memory for {nbytes} bytes") from None
            self._grant(region, room, WINDOW)

    def _grant(self, region: int, room: _Room, chunks: int) -> None:
        left = -(-(room.data.nbytes - room.received) // self._chunk) - room.granted
        chunks = min(chunks, left)
        if chunks > 0:
            room.granted += chunks
            self._grants.append((region, chunks))

    def take_grants(self) -> list[tuple[int, int]]:
        """What to tell the sender: (region, chunks)."""
        grants, self._grants = self._grants, []
        return grants

    def chunk(self, frames: list[Any]) -> tuple[int, Buffer] | None:
        """Takes a chunk; the region and its bytes when it was the last."""
        if len(frames) != 2 or len(frames[0]) != _HEADER.size:
            raise MalformedError(f"a chunk has a header and bytes: received {len(frames)} frames")
        counter, region, offset = _HEADER.unpack(frames[0])
        room = self._rooms.get(region)
        if counter != self._counter or room is None or offset != room.received or not room.granted:
            raise MalformedError(f"chunk {counter} came in place of {self._counter}, or was not granted")
        nbytes = min(self._chunk, room.data.nbytes - offset)
        if len(frames[1]) != nbytes + TAG:
            raise MalformedError(f"a chunk of {nbytes} bytes came with {len(frames[1]) - TAG}")
        self._open(frames, room.data[offset : offset + nbytes])
        self._counter += 1
        room.received += nbytes
        room.granted -= 1
        if room.received < room.data.nbytes:
            if room.granted <= WINDOW // 2:
                self._grant(region, room, WINDOW - room.granted)
            return None
        del self._rooms[region]
        self._waiting -= room.data.nbytes
        self._begin()
        return region, room.data

    def _open(self, frames: list[Any], target: Buffer) -> None:
        try:
            self._cipher.decrypt_into(_nonce(self._counter), frames[1], frames[0], target)
        except InvalidTag:
            raise MalformedError("a chunk was changed on its way, or comes from a stranger") from None
