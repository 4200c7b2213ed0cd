"""Shared memory between two processes of one user on one host.

A segment is a file in memory without a name (``memfd``).  The sender holds it open and tells its process and descriptor; the
receiver opens it through ``/proc``, which the kernel allows to the same user only, and maps it.  Nothing has a name, so
nothing is left behind whichever process dies.  Segments are sealed: nobody can shrink one under the other's feet.

The first byte says whether the receiver still uses the segment.  It sets it to zero when the last tensor over it is gone, and
the sender takes the segment again: neither asks the system for pages a second time.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
import stat
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.cluster.transport.codec import Buffer, MalformedError
from headrace.cluster.transport.message import Probe, Segment, offsets

FREE, USED = 0, 1
HEADER: Final = 64  # before the data: keeps them aligned
MAX_SEGMENTS: Final = 4096  # of one sender
PARTS: Final = 8  # sizes between one power of two and the next
_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


class HostProbe:
    """The file by which another process finds out whether it shares memory with this one."""

    def __init__(self) -> None:
        content = secrets.token_bytes(32)
        self._descriptor = os.memfd_create("headrace-probe", os.MFD_CLOEXEC)
        os.write(self._descriptor, content)
        self.message = Probe(os.getpid(), self._descriptor, content)

    def close(self) -> None:
        os.close(self._descriptor)


def shares_memory(probe: Probe | None) -> bool:
    """Whether the process of the probe is on this host and lets this one read its files in memory."""
    if probe is None or len(probe.content) != 32:
        return False
    try:
        descriptor = _open(probe.process, probe.descriptor)
    except OSError:
        return False
    try:
        return secrets.compare_digest(os.pread(descriptor, 33, 0), probe.content)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _open(process: int, descriptor: int) -> int:
    """Opens a regular file that another process holds open; OSError where there is none or it may not be."""
    opened = os.open(f"/proc/{process:d}/fd/{descriptor:d}", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(f"descriptor {descriptor} of process {process} is not a file in memory")
    return opened


class _Outgoing:
    """A segment of the sender's."""

    __slots__ = ("data", "descriptor", "memory", "message")

    def __init__(self, number: int, nbytes: int) -> None:
        descriptor = os.memfd_create("headrace", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, nbytes)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS | fcntl.F_SEAL_SEAL)
            self.memory = mmap.mmap(descriptor, nbytes)
        except BaseException:
            os.close(descriptor)
            raise
        self.descriptor = descriptor
        self.data = np.frombuffer(self.memory, np.uint8, offset=HEADER)
        self.message = Segment(number, descriptor, nbytes)

    def close(self) -> None:
        os.close(self.descriptor)  # the memory goes with the last reference to it


class OutgoingSegments:
    """The segments by which one peer is sent large messages.  Thread-safe."""

    def __init__(self, keep: int) -> None:
        """``keep``: bytes of segments that may lie idle."""
        self._keep = keep
        self._lock = threading.Lock()
        self._next = 0
        self._used: list[_Outgoing] = []
        self._free: list[_Outgoing] = []
        self.forgotten: list[int] = []
        self._closed = False

    def place(self, buffers: Sequence[Buffer]) -> Segment | None:
        """Copies the buffers into a segment; None where the system has no more of them."""
        sizes = [memoryview(one).nbytes for one in buffers]
        starts, nbytes = offsets(sizes)
        try:
            segment = self._take(HEADER + nbytes)
        except OSError:
            return None
        if segment is None:
            return None
        for start, size, buffer in zip(starts, sizes, buffers, strict=True):
            if size:
                segment.data[start : start + size] = np.frombuffer(buffer, np.uint8)
        return segment.message

    def _take(self, nbytes: int) -> _Outgoing | None:
        nbytes = _rounded(nbytes)
        with self._lock:
            if self._closed:
                return None
            self._reclaim()
            fits = [segment for segment in self._free if nbytes <= segment.message.nbytes <= 2 * nbytes]
            if fits:
                segment = min(fits, key=lambda h: h.message.nbytes)
                self._free.remove(segment)
            elif len(self._used) + len(self._free) >= MAX_SEGMENTS:
                return None
            else:
                self._next += 1
                segment = _Outgoing(self._next, nbytes)
            segment.memory[0] = USED
            self._used.append(segment)
            return segment

    def _reclaim(self) -> None:
        """Takes back what the receiver has let go; idle segments beyond the limit are given up, the oldest first."""
        used: list[_Outgoing] = []
        for segment in self._used:  # looked at once: the receiver may let go of one at any moment
            (used if segment.memory[0] != FREE else self._free).append(segment)
        if len(used) == len(self._used):
            return
        self._used = used
        idle = sum(segment.message.nbytes for segment in self._free)
        while idle > self._keep:
            segment = self._free.pop(0)
            idle -= segment.message.nbytes
            self.forgotten.append(segment.message.number)
            segment.close()

    def take_forgotten(self) -> list[int]:
        """The numbers of segments that were given up since the last call: the receiver may let go of them."""
        with self._lock:
            numbers, self.forgotten = self.forgotten, []
            return numbers

    def nbytes(self) -> int:
        """Those of all segments."""
        with self._lock:
            return sum(segment.message.nbytes for segment in self._used + self._free)

    def close(self) -> None:
        """Lets go of all: what the receiver uses it keeps."""
        with self._lock:
            self._closed = True
            self._reclaim()
            for segment in self._free:
                segment.memory.madvise(mmap.MADV_REMOVE)  # also where the receiver has mapped it
            for segment in self._used + self._free:
                segment.close()
            self._used, self._free = [], []


def _rounded(nbytes: int) -> int:
    """A size that is used again: whole pages, and eight sizes between two powers of two."""
    step = max(mmap.PAGESIZE, 1 << max(0, nbytes.bit_length() - PARTS.bit_length()))
    return -(-nbytes // step) * step


class IncomingSegments:
    """The segments of one sender that are mapped here.  For one thread; the tensors over them may go anywhere."""

    def __init__(self, process: int, limit: int) -> None:
        self._process = process
        self._limit = limit
        self._mapped: dict[int, mmap.mmap] = {}
        self._lent: dict[int, weakref.ref[Any]] = {}

    def region(self, segment: Segment, nbytes: int) -> Buffer:
        """The first ``nbytes`` of a segment's data.  It is the sender's again when nothing refers to them."""
        memory = self._mapped.get(segment.number)
        if memory is None:
            memory = self._mapped[segment.number] = self._map(segment)
        if len(memory) != segment.nbytes or HEADER + nbytes > segment.nbytes:
            raise MalformedError(f"{nbytes} bytes are not in a segment of {segment.nbytes}")
        data = np.frombuffer(memory, np.uint8, nbytes, HEADER)
        lent, number = self._lent, segment.number

        def give_back(_: Any) -> None:
            lent.pop(number, None)
            memory[0] = FREE

        lent[number] = weakref.ref(data, give_back)
        return data

    def nbytes(self) -> int:
        """Those of all segments that are mapped."""
        return sum(map(len, self._mapped.values()))

    def _map(self, segment: Segment) -> mmap.mmap:
        if len(self._mapped) >= MAX_SEGMENTS or not HEADER <= segment.nbytes <= self._limit:
            raise MalformedError(
                f"a segment of {segment.nbytes} bytes is too large, or there are {len(self._mapped)} already"
            )
        try:
            descriptor = _open(self._process, segment.descriptor)
        except OSError as e:
            raise MalformedError(f"the segment cannot be opened: {e}") from None
        try:
            if fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & _SEALS != _SEALS:
                raise MalformedError("the segment can shrink: it is not sealed")
            if os.fstat(descriptor).st_size != segment.nbytes:
                raise MalformedError(f"the segment does not have {segment.nbytes} bytes")
            return mmap.mmap(descriptor, segment.nbytes, mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
        except OSError as e:
            raise MalformedError(f"the segment cannot be mapped: {e}") from None
        finally:
            os.close(descriptor)

    def forget(self, numbers: Sequence[int]) -> None:
        """Lets go of segments that the sender has given up; tensors over them stay."""
        for number in numbers:
            self._mapped.pop(number, None)
