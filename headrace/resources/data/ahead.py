"""Stages that work ahead on other threads: prefetching, and a function called for several elements together.

No thread belongs to a cursor.  A cursor asks the pool for as much work as it has room for, and the thread is free again when that
is done.  Who needs a result that no thread has begun computes it itself, so that a bounded pool is never waited for in vain: only
what runs on some thread is waited for.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.errors import OutOfRangeError
from headrace.resources.calling.batch import Element
from headrace.resources.data.function import Calling, CallingCursor, Function
from headrace.resources.data.outcome import Outcome
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, State
from headrace.resources.data.stats import bytes_of

AUTOTUNE = -1
MOST = 512  # elements that an automatic buffer grows to
MOST_BYTES = 1 << 28  # that it may hold by growing
_IDLE, _QUEUED, _RUNNING = range(3)


class Prefetch(OneInput):
    """A buffer of elements that is filled meanwhile; -1: its size follows what is needed."""

    blocks = True

    def __init__(self, input: Stage, size: int) -> None:
        super().__init__(input)
        self.size, self.device = size, input.device

    def begin(self, run: Run) -> Cursor:
        return _PrefetchCursor(self, run)


class _PrefetchCursor(OneCursor):
    """The lock guards all but the input, which belongs to the thread that has set ``_state`` to running."""

    def __init__(self, stage: Prefetch, run: Run) -> None:
        super().__init__(stage, run)
        self._changed = threading.Condition()
        self._buffer: deque[Outcome] = deque()
        self._size = 1 if stage.size == AUTOTUNE else stage.size
        self._was_full = False
        self._bytes = 0  # of an element, when the buffer was last full
        self._state = _IDLE
        self._ended = False  # the end of the input is in the buffer, or was taken
        self._stopping = False  # somebody wants to save
        self._told: Callable[[], None] | None = None  # what to call when the buffer is not empty any more
        run.at_close(self, _PrefetchCursor._wake)

    def _wake(self) -> None:
        with self._changed:
            told, self._told = self._told, None
            self._changed.notify_all()
        if told is not None:
            told()

    def ready(self) -> bool:
        return bool(self._buffer) or self._ended

    def tell(self, call: Callable[[], None]) -> bool:
        with self._changed:
            if self.ready() or self.run.closed:
                return False
            self._ask()
            if self._state == _IDLE:
                return False
            self._note_empty()
            self._told = call
            return True

    def fullness(self) -> tuple[int, int]:
        return len(self._buffer), self._size

    def next(self) -> Element | None:
        with self._changed:
            if not self._buffer:
                self._note_empty()
            while not self._buffer and not self._ended and self._state == _RUNNING:
                self.run.check_open()
                self._changed.wait()
            self.run.check_open()
            if not self._buffer and self._ended:
                return None
            if self._buffer:
                self._note_full()
                outcome = self._buffer.popleft()
                self._ask()
            else:
                self._state = _RUNNING
                outcome = None
        if outcome is None:
            outcome = Outcome.of(self.input.next)
            with self._changed:
                self._note(outcome)
                self._state = _IDLE
                self._ask()
                self._changed.notify_all()
        return outcome.get()

    def _note_full(self) -> None:
        if self.stage.size == AUTOTUNE and not self._was_full and len(self._buffer) >= self._size:
            self._was_full, self._bytes = True, bytes_of(self._buffer[0].element or ())

    def _note_empty(self) -> None:
        """An automatic buffer that was full, and yet is empty now, is too small."""
        if self._was_full:
            self._was_full = False
            if 2 * self._size * self._bytes <= MOST_BYTES:
                self._size = min(2 * self._size, MOST)

    def _note(self, outcome: Outcome) -> None:
        self._ended = self._ended or outcome.is_end

    def _has_room(self) -> bool:
        return len(self._buffer) < self._size and not (self._ended or self._stopping or self.run.closed)

    def _ask(self) -> None:
        if self._state == _IDLE and self._has_room():
            self._state = _QUEUED
            self.run.submit(self._fill)

    def _fill(self) -> None:
        with self._changed:
            if self._state != _QUEUED:  # somebody did it already
                return
            self._state = _RUNNING
        while True:
            outcome = Outcome.of(self.run.ended_by_closing, self.input.next)
            with self._changed:
                self._note(outcome)
                self._buffer.append(outcome)
                over = not self._has_room()
                if over:
                    self._state = _IDLE
                told, self._told = self._told, None
                self._changed.notify_all()
            if told is not None:
                told()
            if over:
                return

    def save(self) -> State:
        with self._changed:
            self._stopping = True
            while self._state == _RUNNING:
                self._changed.wait()
            self._stopping, self._state = False, _IDLE
            state = [self.input.save(), [o.save() for o in self._buffer], self._ended, self._size]
            self._ask()
        return state

    def restore(self, state: State) -> None:
        inner, buffer, self._ended, self._size = state
        self.input.restore(inner)
        self._buffer.extend(map(Outcome.restored, buffer))


class ParallelMap(Calling):
    """The results of a function that is called for several elements together; in their order unless ``sloppy``."""

    shares = True
    blocks = True

    def __init__(
        self, input: Stage, function: Function, captured: Sequence[Any], calls: int, sloppy: bool = False
    ) -> None:
        super().__init__(input, function, captured)
        self.calls, self.sloppy = calls, sloppy

    def begin(self, run: Run) -> Cursor:
        return self.begun(run, _ParallelMapCursor)


class Call:
    """One call of the function.  Whoever claims it first makes it."""

    __slots__ = ("_changed", "_claimed", "_function", "outcome")

    def __init__(self, function: Callable[[], Element | None], changed: threading.Condition) -> None:
        self._function: Callable[[], Element | None] | None = function
        self._changed = changed
        self._claimed = False
        self.outcome: Outcome | None = None

    def run(self) -> None:
        with self._changed:
            function = self._function
            if self._claimed or function is None:
                return
            self._claimed = True
        outcome = Outcome.of(function)
        with self._changed:
            self.outcome, self._function = outcome, None
            self._changed.notify_all()

    def result(self, run: Run) -> Outcome:
        """What came of it, computed here if nobody has begun."""
        self.run()
        with self._changed:
            while self.outcome is None:
                run.check_open()
                self._changed.wait()
            return self.outcome


class _ParallelMapCursor(CallingCursor):
    def __init__(self, stage: ParallelMap, run: Run) -> None:
        super().__init__(stage, run)
        self._changed = threading.Condition()
        self._calls: deque[Call] = deque()
        self._most = 2 * run.cores if stage.calls == AUTOTUNE else stage.calls
        self._ended = False
        run.at_close(self, _ParallelMapCursor._wake)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def next(self) -> Element | None:
        self.run.check_open()
        self._begin_calls()
        if not self._calls:
            return None
        call = self._calls[0]
        if self.stage.sloppy:
            call = next((c for c in self._calls if c.outcome is not None), call)
        outcome = call.result(self.run)
        self._calls.remove(call)
        try:
            return outcome.get()
        except OutOfRangeError:
            return None

    def fullness(self) -> tuple[int, int]:
        return len(self._calls), self._most

    def _begin_calls(self) -> None:
        while not self._ended and len(self._calls) < self._most:
            taken = Outcome.of(self.take)
            if taken.is_end:
                self._ended = True
                break
            self._add(taken, self.index - 1)

    def _add(self, taken: Outcome, index: int) -> None:
        element, stage = taken.element, self.stage
        if element is None:
            self._calls.append(Call(taken.get, self._changed))
            self._calls[-1].run()
        else:
            call = stage.call if self.run.watch is None else self.run.watch.calling(stage, stage.call)
            self._calls.append(Call(lambda: call(element, index), self._changed))
            if self._most > 1:
                self.run.submit(self._calls[-1].run)

    def position(self) -> State:
        return [self.index, self._ended, [call.result(self.run).save() for call in self._calls]]

    def save(self) -> State:
        position = self.position()
        return [self.input.save(), position]

    def move(self, position: State) -> None:
        self.index, self._ended, results = position
        for result in results:
            self._calls.append(Call(Outcome.restored(result).get, self._changed))
            self._calls[-1].run()
