"""The reader that ops and threads share: a `ReaderMachine` behind a lock, which takes its work units from queues.

While a unit is open, a read is served on its own thread.  When the unit is used up, the first read in line asks its
queue, and whoever answers (usually a thread that enqueues) opens the unit and serves those in line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from headrace.core.dtypes import string
from headrace.core.errors import InvalidArgumentError, OutOfRangeError
from headrace.resources.state.movable import Contents, Movable
from headrace.resources.state.queue.queue import Queue
from headrace.resources.state.reader.machine import Read, ReaderMachine
from headrace.resources.state.reader.records import Records
from headrace.resources.stepping.attempt import Ended, finish
from headrace.resources.stepping.waiting import Done, Wait


class Reader(Movable):
    """Thread-safe; no call waits.  The lock is held while a file is read, never while a queue or a callback is called."""

    def __init__(
        self, class_name: str, name: str, open_unit: Callable[[bytes], Records], single: bool = False, made_at: str = ""
    ) -> None:
        """`class_name` is TensorFlow's name of the class, `made_at` the user's line; the others are as in `ReaderMachine`."""
        self.title = f"{class_name} '{name}'"
        self._made_at = made_at
        self._machine = ReaderMachine(self.title, open_unit, single)
        self._lock = threading.Lock()
        self._request: _Request | None = None  # what a queue is asked, until the answer has come

    def read(self, queue: Queue, count: int, done: Done) -> Wait | None:
        """Reads up to `count` records, from the open work unit or the next that `queue` has.  The result is a list."""
        if tuple(queue.dtypes) != (string,):
            raise InvalidArgumentError(
                None, None,
                f"Expected queue with single string component: {self.title} takes file names from {queue.class_name} "
                f"'{queue.name}', which has components of {', '.join(d.name for d in queue.dtypes)}",
            )  # fmt: skip
        if count < 0:
            raise InvalidArgumentError(None, None, f"num_records must not be negative, got {count} for {self.title}")
        read = Read(count, queue, done)
        self._go_on(partial(self._machine.read, read))
        return None if read.ended else _Waiting(self, read)

    def _go_on(self, event: Callable[[], Ended]) -> None:
        """Tells the machine of an event, and asks a queue for a work unit if the machine then needs one."""
        while True:
            with self._lock:
                ended = event()
                finished, self._machine.finished = self._machine.finished, []
                read = self._machine.asking
                request = _Request(read) if read is not None and self._request is None else None
                self._request = request or self._request
            for source, unit in finished:
                source.finish_unit(unit)
            finish(ended)
            if request is None or not self._ask(request):
                return
            event = partial(self._answer, request)

    def _ask(self, request: _Request) -> bool:
        """Whether the queue has answered before it could be told to call; otherwise its answer lets the reads go on."""

        def answered(element: Any, error: BaseException | None) -> None:
            with self._lock:
                request.answer = element, error
                if request.calling:
                    return
            self._go_on(partial(self._answer, request))

        wait = request.read.source.dequeue(answered)
        with self._lock:
            request.calling = False
            if request.answer is not None:
                return True
            request.wait = wait
            cancelled = request.cancelled
        if cancelled is not None:
            wait.cancel(cancelled)
        return False

    def _answer(self, request: _Request) -> Ended:
        """The event of the machine that the answer of a queue is."""
        self._request = None
        element, error = request.answer
        if isinstance(error, OutOfRangeError):
            error = OutOfRangeError(None, None, f"{error.message}; {self.title} asked it for the next file")
        elif error is None and element[0].size != 1:
            message = f"Expected to dequeue a one-element string tensor, got shape {list(element[0].shape)}"
            error = InvalidArgumentError(None, None, f"{message} for {self.title}")
        ended = self._machine.answer(None if error is not None else element[0].item(), error)
        if request.cancelled is not None and self._machine.asking is request.read:  # its unit was empty
            ended += self._machine.answer(None, request.cancelled)
        return ended

    def cancel(self, read: Read, error: Exception) -> None:
        """Ends the read with the error, unless it has ended or already has its work unit."""
        with self._lock:
            request = self._request
            if request is None or request.read is not read:
                wait, ended = None, self._machine.cancel(read, error)
            else:  # the queue ends it, now or as soon as its call has returned
                request.cancelled, wait, ended = error, request.wait, []
        finish(ended)
        if wait is not None:
            wait.cancel(error)

    def describe_read(self, read: Read) -> str:
        """What the read waits for."""
        request = self._request
        reader = f"{self.title} (made at {self._made_at})" if self._made_at else self.title
        if request is None or request.wait is None:
            return f"{reader} serves other reads first"
        turn = "" if request.read is read else "serves other reads first, and "
        return f"{reader} {turn}needs its next file: {request.wait.describe()}"

    # ---- state

    @property
    def records_produced(self) -> int:
        return self._machine.records_produced

    @property
    def units_completed(self) -> int:
        return self._machine.units_finished

    def reset(self) -> None:
        with self._lock:
            self._machine.reset()

    def serialized(self) -> bytes:
        with self._lock:
            return self._machine.serialized()

    def restore(self, state: bytes) -> None:
        with self._lock:
            self._machine.restore(state)

    def packed(self) -> Contents | None:
        unit, counts = self.position()
        return {"unit": unit, "counts": counts}, []

    def unpack(self, data: dict[str, Any], tensors: Sequence[Any]) -> None:
        self.move(data["unit"], data["counts"])

    def position(self) -> tuple[bytes, list[int]]:
        """The work unit and counts that `move` takes."""
        with self._lock:
            return self._machine.position()

    def move(self, unit: bytes, counts: Sequence[int]) -> None:
        """Goes on from another place; reads that wait go on waiting."""
        with self._lock:
            self._machine.move(unit, counts)


class _Request:
    """One call of a queue for the next work unit.  The reader's lock guards it."""

    __slots__ = ("answer", "calling", "cancelled", "read", "wait")

    def __init__(self, read: Read) -> None:
        self.read = read
        self.calling = True  # the call of the queue has not returned
        self.wait: Any = None
        self.answer: Any = None
        self.cancelled: Exception | None = None


class _Waiting:
    """The `Wait` of a read."""

    __slots__ = ("_read", "_reader")

    def __init__(self, reader: Reader, read: Read) -> None:
        self._reader = reader
        self._read = read

    def cancel(self, error: Exception) -> None:
        self._reader.cancel(self._read, error)

    def describe(self) -> str:
        return self._reader.describe_read(self._read)
