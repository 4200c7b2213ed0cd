"""RecordInput: records of TFRecord files in random order, read ahead by threads of its own, epoch after epoch.

`RecordMachine` decides who gets which record, without threads; `_Buffer` is the lock around it, where readers wait for
room; `RecordInput` starts the readers, and ends them with the session that it belongs to.
"""

from __future__ import annotations

import random
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from headrace.core.errors import CancelledError, NotFoundError, OpError, UnknownError
from headrace.core.file import file_errors, matching, open_to_read
from headrace.core.record import read_records
from headrace.resources.state.container import NodeState
from headrace.resources.stepping.attempt import Attempt, Driver, Ended, finish
from headrace.resources.stepping.waiting import Done, Wait


class TakeRecords(Attempt):
    """Takes `count` records, one by one as they become ready."""

    __slots__ = ("count", "records")

    def __init__(self, count: int, done: Done) -> None:
        super().__init__(done)
        self.count = count
        self.records: list[bytes] = []


class RecordMachine:
    """Records that were read and not taken, in random order, and who waits for them.  Not thread-safe.

    Records are ready once the buffer is half full, so that there are some to choose from; at the end of an epoch all
    are.  The next epoch begins when they are taken.
    """

    def __init__(self, capacity: int, seed: int, title: str) -> None:
        self.capacity, self.title = capacity, title
        self.records: list[bytes] = []
        self.takers: deque[TakeRecords] = deque()
        self.epoch_over = False
        self.error: OpError | None = None
        self._random = random.Random(seed)

    @property
    def is_full(self) -> bool:
        return len(self.records) >= self.capacity

    def add(self, record: bytes) -> Ended:
        """Puts the record at a random place."""
        records = self.records
        records.append(record)
        place = self._random.randrange(len(records))
        records[place], records[-1] = records[-1], records[place]
        return self._advance()

    def take(self, attempt: TakeRecords) -> Ended:
        if self.error is not None:
            return [attempt.end(_again(self.error))]
        self.takers.append(attempt)
        return self._advance()

    def end_epoch(self) -> Ended:
        self.epoch_over = True
        return self._advance()

    def fail(self, error: OpError) -> Ended:
        """Ends everybody who waits or will come with the error, unless there is one."""
        self.error = self.error or error
        failed, self.takers = self.takers, deque()
        return [taker.end(_again(self.error)) for taker in failed]

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        """What the attempt has got so far is for the next."""
        if attempt.ended:
            return []
        assert isinstance(attempt, TakeRecords)
        self.takers.remove(attempt)
        self.records += attempt.records
        return [attempt.end(error), *self._advance()]

    def _advance(self) -> Ended:
        ended: Ended = []
        least = 1 if self.epoch_over else max(1, self.capacity // 2)
        while self.takers and len(self.records) >= least:
            first = self.takers[0]
            first.records.append(self.records.pop())
            if len(first.records) == first.count:
                ended.append(self.takers.popleft().end(first.records))
        return ended

    def describe(self, attempt: Attempt) -> str:
        assert isinstance(attempt, TakeRecords)
        return (
            f"{self.title} has {len(self.records)} of {self.capacity} records, {attempt.count - len(attempt.records)} "
            f"of {attempt.count} are still to come"
        )


def _again(error: OpError) -> OpError:
    """The error for one more step: each adds its own lines to what it raises."""
    return type(error)(None, None, error.message)  # type: ignore[call-arg]


class _Stopped(Exception):
    """Nobody wants records any more."""


class _Buffer(Driver):
    """What readers and steps share.  Readers wait for room; steps never block."""

    _machine: RecordMachine

    def __init__(self, machine: RecordMachine, made_at: str) -> None:
        super().__init__(machine, made_at)
        self._changed = threading.Condition(self._lock)
        self._stopped = False

    def take(self, count: int, done: Done) -> Wait | None:
        wait = self._begin(self._machine.take, TakeRecords(count, done))
        self._tell_readers()
        return wait

    def cancel(self, attempt: Attempt, error: Exception) -> None:
        super().cancel(attempt, error)
        self._tell_readers()

    def _tell_readers(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # ---- for readers, which may block

    def add(self, record: bytes) -> None:
        with self._changed:
            self._wait_while(lambda: self._machine.is_full)
            ended = self._machine.add(record)
        finish(ended)

    def end_epoch(self) -> None:
        """Returns when all records were taken."""
        with self._changed:
            ended = self._machine.end_epoch()
        finish(ended)
        with self._changed:
            self._wait_while(lambda: bool(self._machine.records))
            self._machine.epoch_over = False

    def fail(self, error: OpError) -> None:
        with self._changed:
            ended = self._machine.fail(error)
        finish(ended)

    def _wait_while(self, condition: Callable[[], bool]) -> None:
        while condition() and not self._stopped:
            self._changed.wait()
        if self._stopped:
            self._changed.notify_all()  # `stop` may have found the lock taken
            raise _Stopped

    def stop(self) -> None:
        """Ends the readers.  May run in a destructor, on a thread that is inside the lock: never waits for it."""
        self._stopped = True
        if self._lock.acquire(blocking=False):
            try:
                self._changed.notify_all()
            finally:
                self._lock.release()


class RecordInput(NodeState):
    """Thread-safe, never blocks.  Reading begins with the first call of `take`."""

    def __init__(
        self, name: str, pattern: str, capacity: int, parallelism: int, shift_ratio: float, seed: int, compression: str,
        made_at: str = "",
    ) -> None:  # fmt: skip
        self._buffer = _Buffer(RecordMachine(capacity, seed, f"RecordInput '{name}'"), made_at)
        self._start: Callable[[], None] | None = _Readers(
            self._buffer, pattern, parallelism, shift_ratio, seed, compression
        ).start
        self._starting = threading.Lock()
        self._end = weakref.finalize(self, self._buffer.stop)  # also where nobody ends it, as in eager mode

    def take(self, batch_size: int, done: Done) -> Wait | None:
        """Ends with a list of records."""
        with self._starting:
            start, self._start = self._start, None
        if start is not None:
            start()
        return self._buffer.take(batch_size, done)

    def end(self) -> None:
        self._end()


class _Readers:
    """The threads that read: one for the epochs, and others beside it where several files are read together."""

    def __init__(
        self, buffer: _Buffer, pattern: str, parallelism: int, shift_ratio: float, seed: int, compression: str
    ) -> None:
        self._buffer, self._pattern, self._parallelism = buffer, pattern, parallelism
        self._shift_ratio, self._seed, self._compression = shift_ratio, seed, compression

    def start(self) -> None:
        threading.Thread(target=self._guarded, args=(self._read_epochs,), name="RecordInput", daemon=True).start()

    def _guarded(self, read: Callable[..., Any], *args: Any) -> None:
        try:
            read(*args)
        except _Stopped:
            self._buffer.fail(CancelledError(None, None, "the session of the records was closed"))
        except Exception as e:  # noqa: BLE001 - the steps that wait for records raise it
            self._buffer.fail(e if isinstance(e, OpError) else UnknownError(None, None, f"{type(e).__name__}: {e}"))
            self._buffer.stop()

    def _read_epochs(self) -> None:
        for epoch in count():
            files = self._files(epoch)
            shards = [files[i :: self._parallelism] for i in range(min(self._parallelism, len(files)))]
            counts: list[int] = []
            threads = [
                threading.Thread(
                    target=self._guarded, args=(self._read, shard, counts), name="RecordInput", daemon=True
                )
                for shard in shards[1:]
            ]
            for thread in threads:
                thread.start()
            self._read(shards[0], counts)
            for thread in threads:
                thread.join()
            if not sum(counts):
                raise NotFoundError(None, None, f"Found no records in the {len(files)} files at {self._pattern}")
            self._buffer.end_epoch()

    def _files(self, epoch: int) -> list[str]:
        """The files in the order of an epoch: shuffled, then rotated by a share of them."""
        files = sorted(matching(self._pattern))
        if not files:
            raise NotFoundError(None, None, f"Found no files at {self._pattern}")
        random.Random(f"{self._seed} {epoch}").shuffle(files)
        shift = int(self._shift_ratio * len(files))
        return files[shift:] + files[:shift]

    def _read(self, paths: Sequence[str], counts: list[int]) -> None:
        number = 0
        for path in paths:
            with open_to_read(path, self._compression) as file, file_errors(path):
                for record in read_records(file, path):
                    self._buffer.add(record)
                    number += 1
        counts.append(number)
