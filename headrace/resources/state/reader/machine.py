"""Who reads next, and from which work unit: a machine without threads.

Reads stand in line; only the first may progress.  When the open work unit is used up, the first in line `asks` for
another one, and nobody progresses until the machine gets an `answer`.  Where units come from is the driver's business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.errors import DataLossError, InvalidArgumentError, UnimplementedError
from headrace.core.wire import BYTES, VARINT, field, fields, varint
from headrace.resources.state.reader.records import Record, Records
from headrace.resources.stepping.attempt import Attempt, Ended
from headrace.resources.stepping.waiting import Done


class Read(Attempt):
    """Reads up to `count` records of one work unit, at least one unless `count` is 0.  Its result is a list."""

    __slots__ = ("count", "records", "source")

    def __init__(self, count: int, source: Any, done: Done) -> None:
        """`source` is what gives the next work unit; the machine does not look at it."""
        super().__init__(done)
        self.count = count
        self.source = source
        self.records: list[Record] = []


class ReaderMachine:
    """Not thread-safe.  `title` names the reader in messages; `open_unit` makes the records of a work unit.

    `single` means that each work unit is one record, so that between two reads no unit is open and the state can be saved.
    """

    def __init__(self, title: str, open_unit: Callable[[bytes], Records], single: bool = False) -> None:
        self.title = title
        self.line: deque[Read] = deque()
        self.asking: Read | None = None  # the first in line, from the moment it needs a unit until the answer
        self.records_produced = self.units_finished = self.units_started = 0
        self._open_unit = open_unit
        self._single = single
        self._unit = b""
        self._source: Any = None  # what gave the open unit
        self.finished: list[
            tuple[Any, bytes]
        ] = []  # sources and units that are read to the end, for the driver to tell
        self._records: Records | None = None  # of the open unit
        self._read_of_unit = 0

    # ---- events

    def read(self, read: Read) -> Ended:
        self.line.append(read)
        return self._advance()

    def answer(self, unit: bytes | None, error: BaseException | None) -> Ended:
        """Gives the read that asks a work unit, or an error if there is none."""
        asked, self.asking = self.asking, None
        ended: Ended = []
        if error is None:
            try:
                self._start(unit)  # type: ignore[arg-type]
                self._source = None if asked is None else asked.source
            except Exception as e:
                error = e
        if error is not None:
            ended.append(self.line.popleft().end(error))
        return [*ended, *self._advance()]

    def cancel(self, read: Read, error: Exception) -> Ended:
        """For a read that is not `asking`."""
        if read.ended:
            return []
        self.line.remove(read)
        return [read.end(error)]

    # ---- progress

    def _advance(self) -> Ended:
        ended: Ended = []
        while self.line and self.asking is None:
            read = self.line[0]
            try:
                over = self._progress(read)
            except Exception as e:
                self.line.popleft()
                ended.append(read.end(e))
                continue
            if over:
                self.line.popleft()
                ended.append(read.end(read.records))
            else:
                self.asking = read
        return ended

    def _progress(self, read: Read) -> bool:
        """Whether the read is over; otherwise it needs another work unit."""
        while len(read.records) < read.count:
            if self._records is None:
                return False
            record = self._records.next()
            if record is None:
                self._finish()
                if read.records:
                    return True
                continue
            read.records.append(record)
            self.records_produced += 1
            self._read_of_unit += 1
            if self._single:
                self._finish()
                return True
        return True

    def _start(self, unit: bytes) -> None:
        self._unit = unit
        self._records = self._open_unit(unit)
        self._read_of_unit = 0
        self.units_started += 1

    def _finish(self) -> None:
        self.close()
        self.units_finished = self.units_started
        if self._source is not None:
            self.finished.append((self._source, self._unit))
            self._source = None

    def close(self) -> None:
        """Closes the open unit, if there is one."""
        if self._records is not None:
            self._records.close()
            self._records = None

    # ---- state

    def reset(self) -> None:
        """Forgets the open unit and all counts.  Reads in line stay there."""
        self.close()
        self._unit, self._source = b"", None
        self.records_produced = self.units_finished = self.units_started = 0

    def serialized(self) -> bytes:
        """The state in TensorFlow's form, a serialized `ReaderBaseState`."""
        self._check_single("serialize_state")
        counts = (self.units_started, self.units_finished, self.records_produced)
        numbers = (varint(i << 3 | VARINT) + varint(n) for i, n in enumerate(counts, 1) if n)
        return b"".join((*numbers, field(4, self._unit) if self._unit else b""))

    def restore(self, state: bytes) -> None:
        """Continues from a state that `serialized` gave; on an error, the reader is as after `reset`."""
        self._check_single("restore_state")
        self.reset()
        try:
            numbers = dict.fromkeys((1, 2, 3), 0)
            unit = b""
            for number, wire_type, payload in fields(state):
                if number in numbers and wire_type == VARINT:
                    numbers[number] = payload
                elif number == 4 and wire_type == BYTES:
                    unit = payload
        except ValueError:
            raise InvalidArgumentError(None, None, f"Could not parse state for {self.title}: {state!r}") from None
        started, finished, produced = numbers.values()
        shown = f"{self.title}: work_started {started}, work_finished {finished}, num_records_produced {produced}"
        if max(started, finished, produced) >> 63:
            raise InvalidArgumentError(None, None, f"Unexpected negative value when restoring in {shown}")
        if started > finished:
            raise InvalidArgumentError(None, None, f"Inconsistent work started vs. finished when restoring in {shown}")
        self.units_started, self.units_finished, self.records_produced = started, finished, produced
        self._unit = unit

    def position(self) -> tuple[bytes, list[int]]:
        """Where it is, of any reader: the work unit, the three counts, and the records read of the unit; -1 if none is open."""
        open_at = -1 if self._records is None else self._read_of_unit
        return self._unit, [self.units_started, self.units_finished, self.records_produced, open_at]

    def move(self, unit: bytes, counts: Sequence[int]) -> None:
        """Goes on from what `position` gave.  Opens the work unit and skips what was read of it; on an error it is reset."""
        self.reset()
        started, finished, produced, open_at = counts
        if open_at >= 0:
            try:
                self._start(unit)
                assert self._records is not None
                for number in range(open_at):
                    if self._records.next() is None:
                        raise DataLossError(
                            None, None,
                            f"{self.title} had read {open_at} records of {unit.decode(errors='replace')}, which has only "
                            f"{number} now",
                        )  # fmt: skip
            except BaseException:
                self.reset()
                raise
            self._read_of_unit = open_at
        self._unit = unit
        self.units_started, self.units_finished, self.records_produced = started, finished, produced

    def _check_single(self, what: str) -> None:
        if not self._single:
            raise UnimplementedError(
                None,
                None,
                f"{self.title} has no {what}: only WholeFileReader and IdentityReader keep a state that can be saved",
            )
