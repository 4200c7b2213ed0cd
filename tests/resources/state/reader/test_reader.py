"""Who reads next, from which file: as a table without threads, and with queues and threads."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from resources.calls import Call, blocking, run_threads

from headrace.core import errors
from headrace.core.dtypes import int32, string
from headrace.resources.state.queue.queue import Queue
from headrace.resources.state.queue.store import FifoStore
from headrace.resources.state.reader.reader import Reader
from headrace.resources.state.reader.records import Lines, UnitItself, WholeFile


class Letters:
    """The letters of a word, one record each; '!' is an error."""

    def __init__(self, unit: bytes) -> None:
        if unit == b"missing":
            raise errors.NotFoundError(None, None, "no such word")
        self.unit = unit
        self.at = 0

    def next(self) -> tuple[bytes, bytes] | None:
        letter = self.unit[self.at : self.at + 1]
        if letter == b"!":
            raise errors.DataLossError(None, None, f"damaged at {self.at}")
        self.at += 1
        return (self.unit, letter) if letter else None

    def close(self) -> None:
        pass


def words(*names: str, close: bool = True) -> Queue:
    queue = Queue("FIFOQueue", "words", FifoStore(), 1000, (string,), ((),))
    for name in names:
        add(queue, name)
    if close:
        blocking(lambda done: queue.close(False, done))
    return queue


def add(queue: Queue, name: str) -> None:
    blocking(lambda done: queue.enqueue((np.array(name.encode(), object),), done))


def letters() -> Reader:
    return Reader("LetterReader", "letters", Letters)


def begun(reader: Reader, queue: Queue, count: int = 1) -> Call:
    return Call(lambda done: reader.read(queue, count, done))


def read(reader: Reader, queue: Queue, count: int = 1) -> str:
    return b"".join(value for _, value in begun(reader, queue, count).result).decode()


def test_reading_goes_on_from_file_to_file() -> None:
    reader, queue = letters(), words("ab", "", "", "c")
    seen = []
    for _ in range(3):
        seen.append((read(reader, queue), reader.records_produced, reader.units_completed))
    assert seen == [("a", 1, 0), ("b", 2, 0), ("c", 3, 3)]
    with pytest.raises(errors.OutOfRangeError, match="'words' is closed and .*; LetterReader 'letters' asked it"):
        raise begun(reader, queue).error
    assert (reader.records_produced, reader.units_completed) == (3, 4)


def test_many_records_never_come_from_two_files() -> None:
    reader, queue = letters(), words("abcd", "", "ef")
    assert [read(reader, queue, 3), reader.units_completed] == ["abc", 0]
    assert [read(reader, queue, 3), reader.units_completed] == ["d", 1]
    assert [read(reader, queue, 3), reader.units_completed] == ["ef", 3]
    assert read(reader, queue, 0) == ""
    assert isinstance(begun(reader, queue, 3).error, errors.OutOfRangeError)


def test_a_thousand_empty_files_are_no_recursion() -> None:
    reader = letters()
    assert read(reader, words(*[""] * 999, "x")) == "x" and reader.units_completed == 999


def test_a_file_that_cannot_be_opened_is_left_out_after_its_error() -> None:
    reader, queue = letters(), words("missing", "a")
    assert isinstance(begun(reader, queue).error, errors.NotFoundError)
    assert read(reader, queue) == "a" and reader.units_completed == 0


def test_an_error_inside_a_file_stays() -> None:
    reader, queue = letters(), words("ab!c", "d")
    assert isinstance(begun(reader, queue, 9).error, errors.DataLossError)
    assert isinstance(begun(reader, queue).error, errors.DataLossError)
    reader.reset()
    assert read(reader, queue) == "d" and reader.records_produced == 1


def test_reads_wait_in_order_for_a_file() -> None:
    reader, queue = letters(), words(close=False)
    reads = [begun(reader, queue) for _ in range(3)]
    add(queue, "ab")
    assert [r.waits for r in reads] == [False, False, True]
    add(queue, "cd")
    assert [r.result[0][1] for r in reads] == [b"a", b"b", b"c"]
    assert read(reader, queue) == "d"


def test_each_read_asks_its_own_queue() -> None:
    reader, first, second = letters(), words(close=False), words("xy")
    early, late = begun(reader, first), begun(reader, second)
    assert early.waits and late.waits  # those who come later wait, whatever their queue has
    early.wait.cancel(errors.CancelledError(None, None, "no more"))
    assert isinstance(early.error, errors.CancelledError) and late.result[0][1] == b"x"


class TestCancel:
    def test_the_one_that_asks(self) -> None:
        reader, queue = letters(), words(close=False)
        first, second = begun(reader, queue), begun(reader, queue)
        first.wait.cancel(errors.CancelledError(None, None, "step over"))
        assert "step over" in str(first.error) and second.waits
        first.wait.cancel(errors.CancelledError(None, None, "again"))  # over: nothing happens
        add(queue, "a")
        assert second.result[0][1] == b"a"

    def test_one_in_line(self) -> None:
        reader, queue = letters(), words(close=False)
        first, second, third = (begun(reader, queue) for _ in range(3))
        second.wait.cancel(errors.CancelledError(None, None, "step over"))
        assert "step over" in str(second.error)
        add(queue, "ab")
        assert (first.result[0][1], third.result[0][1]) == (b"a", b"b")

    def test_while_the_queue_is_being_asked(self) -> None:
        """The read of one thread asks on the thread of another, and is cancelled before the queue's call returns."""
        reader, queue = letters(), words(close=False)
        second: Call

        class Slow(Queue):
            def dequeue(self, done: Any) -> Any:
                wait = super().dequeue(done)
                second.wait.cancel(errors.CancelledError(None, None, "in the middle"))
                return wait

        slow = Slow("FIFOQueue", "slow", FifoStore(), 10, (string,), ((),))
        begun(reader, queue)
        second = begun(reader, slow)
        blocking(lambda done: queue.close(True, done))  # the first read fails, and the second asks
        assert "in the middle" in str(second.error)
        add(slow, "a")
        assert read(reader, slow) == "a"

    def test_when_the_file_that_comes_is_empty(self) -> None:
        """The element comes just before the cancel: the file is opened, has nothing, and the read does not ask again."""
        reader = letters()
        call: Call

        class Late(Queue):
            def dequeue(self, done: Any) -> Any:
                if len(self._machine.store) < 2:
                    return super().dequeue(done)

                def answer(element: Any, error: BaseException | None) -> None:
                    call.wait.cancel(errors.CancelledError(None, None, "too late"))
                    done(element, error)

                return super().dequeue(answer)

        queue = Late("FIFOQueue", "late", FifoStore(), 10, (string,), ((),))
        idle = words(close=False)
        first, call = begun(reader, idle), begun(reader, queue)
        for name in ("", "a"):
            add(queue, name)
        first.wait.cancel(errors.CancelledError(None, None, "first over"))  # and the second asks
        assert "too late" in str(call.error) and reader.units_completed == 1
        assert read(reader, queue) == "a"


def test_what_a_read_waits_for_in_words() -> None:
    reader = Reader("TextLineReader", "lines", Letters, made_at="train.py:7")
    queue = words(close=False)
    first, second = begun(reader, queue), begun(reader, queue)
    assert first.wait.describe() == (
        "TextLineReader 'lines' (made at train.py:7) needs its next file: "
        "FIFOQueue 'words' has 0 of 1000 elements, 1 is asked for"
    )
    assert "serves other reads first, and needs its next file: FIFOQueue 'words'" in second.wait.describe()


@pytest.mark.parametrize(
    ("dtypes", "message"),
    [((int32,), "components of int32"), ((string, string), "components of string, string")],
)
def test_queues_without_file_names(dtypes: tuple[Any, ...], message: str) -> None:
    queue = Queue("FIFOQueue", "q", FifoStore(), 10, dtypes, (None,) * len(dtypes))
    with pytest.raises(errors.InvalidArgumentError, match=f"Expected queue with single string component.*{message}"):
        letters().read(queue, 1, lambda *_: None)


def test_an_element_of_several_names() -> None:
    queue = words(close=False)
    blocking(lambda done: queue.enqueue((np.array([b"a", b"b"], object),), done))
    with pytest.raises(errors.InvalidArgumentError, match=r"one-element string tensor, got shape \[2\]"):
        raise begun(letters(), queue).error


class TestState:
    @pytest.mark.parametrize("open_unit", [UnitItself, WholeFile])
    def test_round_trip(self, tmp_path: Path, open_unit: Callable[[bytes], Any]) -> None:
        paths = [tmp_path / name for name in "abc"]
        for path in paths:
            path.write_bytes(path.name.encode())
        reader, queue = Reader("R", "r", open_unit, single=True), words(*map(str, paths))
        read(reader, queue)
        state = reader.serialized()
        assert state == b'\x08\x01\x10\x01\x18\x01"' + bytes([len(str(paths[0]))]) + bytes(paths[0])  # as TensorFlow's
        read(reader, queue)
        reader.restore(state)
        assert (reader.records_produced, reader.units_completed, reader.serialized()) == (1, 1, state)
        assert read(reader, queue) == (str(paths[2]) if open_unit is UnitItself else "c")

    def test_of_a_new_reader_is_empty(self) -> None:
        assert Reader("R", "r", UnitItself, single=True).serialized() == b""

    @pytest.mark.parametrize(
        ("state", "message"),
        [
            (b"junk", "Could not parse state for R 'r': b'junk'"),
            (b"\x08\x03\x10\x02", "Inconsistent work started vs. finished when restoring in R 'r': work_started 3"),
            (b"\x08" + b"\xff" * 9 + b"\x01", "Unexpected negative value when restoring in R 'r'"),
        ],
    )
    def test_a_wrong_state_resets(self, state: bytes, message: str) -> None:
        reader = Reader("R", "r", UnitItself, single=True)
        read(reader, words("a"))
        with pytest.raises(errors.InvalidArgumentError, match=message):
            reader.restore(state)
        assert (reader.records_produced, reader.units_completed) == (0, 0)

    def test_of_a_reader_that_cannot_be_saved(self) -> None:
        for call in (letters().serialized, lambda: letters().restore(b"")):
            with pytest.raises(errors.UnimplementedError, match="LetterReader 'letters' has no .*_state"):
                call()


def test_threads_read_every_record_once(tmp_path: Path) -> None:
    paths = [tmp_path / str(i) for i in range(40)]
    for path in paths:
        path.write_text("".join(f"{path.name}/{line}\n" for line in range(25)))
    reader = Reader("TextLineReader", "lines", lambda unit: Lines(unit, 0))
    queue = Queue("FIFOQueue", "names", FifoStore(), 3, (string,), ((),))
    seen: list[bytes] = []
    lock = threading.Lock()

    def produce() -> None:
        for path in paths:
            add(queue, str(path))
        blocking(lambda done: queue.close(False, done))

    def consume() -> None:
        while True:
            try:
                records = blocking(lambda done: reader.read(queue, 4, done))
            except errors.OutOfRangeError:
                return
            with lock:
                seen.extend(value for _, value in records)

    run_threads(produce, *[consume] * 6)
    assert sorted(seen) == sorted(f"{i}/{line}".encode() for i in range(40) for line in range(25))
    assert (reader.records_produced, reader.units_completed) == (1000, 40)
