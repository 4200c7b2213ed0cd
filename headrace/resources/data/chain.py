"""Stages that pass elements on, leave some out, or put several chains together.  None of them looks inside an element."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import InvalidArgumentError
from headrace.resources.calling.batch import Element
from headrace.resources.data.outcome import Outcome
from headrace.resources.data.source import Listed
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, State, pause


class _Limited(OneInput):
    def __init__(self, input: Stage, count: int) -> None:
        super().__init__(input)
        self.count = count


class Take(_Limited):
    """At most so many elements; -1: all."""

    def begin(self, run: Run) -> Cursor:
        return _TakeCursor(self, run)


class _TakeCursor(OneCursor):
    given = 0

    def next(self) -> Element | None:
        if self.given == self.stage.count:
            return None
        element = self.input.next()
        self.given = self.stage.count if element is None else self.given + 1
        return element

    def ready(self) -> bool:
        return self.given == self.stage.count or self.input.ready()

    def position(self) -> State:
        return self.given

    def move(self, position: State) -> None:
        self.given = position


class Skip(_Limited):
    """What comes after so many elements; -1: nothing."""

    def begin(self, run: Run) -> Cursor:
        return _SkipCursor(self, run)


class _SkipCursor(OneCursor):
    skipped = 0

    def next(self) -> Element | None:
        if self.stage.count < 0:
            return None
        while self.skipped < self.stage.count:
            pause()
            if self.input.next() is None:
                self.skipped = self.stage.count
                return None
            self.skipped += 1
        return self.input.next()

    def position(self) -> State:
        return self.skipped

    def move(self, position: State) -> None:
        self.skipped = position


class Shard(OneInput):
    """Every so-manieth element."""

    def __init__(self, input: Stage, count: int, index: int) -> None:
        super().__init__(input)
        if count < 1:
            raise InvalidArgumentError(
                None, None, f"Number of shards must be greater than zero (currently num_shards = {count})."
            )
        if not 0 <= index < count:
            raise InvalidArgumentError(
                None, None, f"Index must be between 0 and {count - 1} (currently index = {index})."
            )
        self.count, self.index = count, index

    def begin(self, run: Run) -> Cursor:
        return _ShardCursor(self, run)


class _ShardCursor(OneCursor):
    seen = 0

    def next(self) -> Element | None:
        while True:
            pause()
            element = self.input.next()
            if element is None:
                return None
            self.seen += 1
            if (self.seen - 1) % self.stage.count == self.stage.index:
                return element

    def position(self) -> State:
        return self.seen

    def move(self, position: State) -> None:
        self.seen = position


class Repeat(_Limited):
    """The elements of its input, ``count`` times over; -1: for ever, unless there are none."""

    def begin(self, run: Run) -> Cursor:
        return _RepeatCursor(self, run)


class _RepeatCursor(OneCursor):
    epochs = 0
    empty = True  # no element of this epoch was given

    def next(self) -> Element | None:
        while self.epochs != self.stage.count:
            element = self.input.next()
            if element is not None:
                self.empty = False
                return element
            if self.stage.count < 0 and self.empty:
                break
            self.epochs += 1
            self.empty = True
            if self.epochs != self.stage.count:
                self.input = self.stage.input.begin(self.run)
        return None

    def ready(self) -> bool:
        return self.epochs == self.stage.count or self.input.ready()

    def position(self) -> State:
        return [self.epochs, self.empty]

    def move(self, position: State) -> None:
        self.epochs, self.empty = position


class Concatenate(Stage):
    """The elements of one chain, then those of another."""

    def __init__(self, first: Stage, second: Stage) -> None:
        self.inputs = (first, second)

    def begin(self, run: Run) -> Cursor:
        return _ConcatenateCursor(self, run)


class _ConcatenateCursor(Cursor):
    def __init__(self, stage: Concatenate, run: Run) -> None:
        self._stage, self._run = stage, run
        self._at = 0
        self._input = stage.inputs[0].begin(run)

    def next(self) -> Element | None:
        element = self._input.next()
        while element is None and self._at + 1 < len(self._stage.inputs):
            self._go_to(self._at + 1)
            element = self._input.next()
        return element

    def _go_to(self, position: int) -> None:
        self._at = position
        self._input = self._stage.inputs[position].begin(self._run)

    def save(self) -> State:
        return [self._at, self._input.save()]

    def restore(self, state: State) -> None:
        at, inner = state
        if at:
            self._go_to(at)
        self._input.restore(inner)


class Zip(Stage):
    """One element of each chain, joined; ends with the shortest."""

    def __init__(self, inputs: Sequence[Stage]) -> None:
        self.inputs = tuple(inputs)

    def begin(self, run: Run) -> Cursor:
        return _ZipCursor([stage.begin(run) for stage in self.inputs])


class _ZipCursor(Cursor):
    def __init__(self, cursors: Sequence[Cursor]) -> None:
        self._cursors = cursors
        self._over = False

    def next(self) -> Element | None:
        joined: list[object] = []
        error: Exception | None = None
        for cursor in () if self._over else self._cursors:
            try:
                element = cursor.next()
            except Exception as e:  # noqa: BLE001 - raised below: the chains stay side by side
                pause()
                error = error or e
                continue
            if element is not None:
                joined += element
                continue
            self._over = True
            if error is None:
                break
        if error is not None:
            raise error
        return None if self._over else tuple(joined)

    def ready(self) -> bool:
        return self._over

    def save(self) -> State:
        return [self._over, [cursor.save() for cursor in self._cursors]]

    def restore(self, state: State) -> None:
        self._over, inner = state
        for cursor, one in zip(self._cursors, inner, strict=True):
            cursor.restore(one)


class Window(OneInput):
    """Windows of elements, each component a dataset of its own."""

    shares = True

    def __init__(self, input: Stage, size: int, shift: int, stride: int, drop_remainder: bool) -> None:
        super().__init__(input)
        for name, number in (("size", size), ("shift", shift), ("stride", stride)):
            if number < 1:
                raise InvalidArgumentError(None, None, f"Window {name} must be greater than zero.")
        self.size, self.shift, self.stride, self.drop_remainder = size, shift, stride, drop_remainder

    def begin(self, run: Run) -> Cursor:
        return _WindowCursor(self, run)

    def made_of(self, elements: Sequence[Element]) -> Element:
        """A window as an element."""
        components = zip(*elements, strict=True)
        windows = [Listed([(value,) for value in values]) for values in components]
        for window, dtype, shape in zip(windows, self.input.types, self.input.shapes, strict=False):
            window.types, window.shapes = (dtype,), (shape,)
        return tuple(windows)


class _WindowCursor(OneCursor):
    def __init__(self, stage: Window, run: Run) -> None:
        super().__init__(stage, run)
        self._buffer: list[Outcome] = []  # from the first element of the next window on; errors have their places
        self._over = False

    def next(self) -> Element | None:
        stage = self.stage
        reach = (stage.size - 1) * stage.stride + 1
        while not self._over and len(self._buffer) < reach:
            pause()
            self._take(self._buffer)
        if not self._buffer or (len(self._buffer) < reach and stage.drop_remainder):
            return None
        window = self._buffer[: reach : stage.stride]
        self._forward(stage.shift)
        elements = [outcome.get() for outcome in window]
        return stage.made_of(elements)  # type: ignore[no-any-return]

    def _take(self, taken: list[Outcome]) -> None:
        outcome = Outcome.of(self.input.next)
        if outcome.error is not None:
            pause()
            self.run.check_open()
        self._over = outcome.is_end
        if not self._over:
            taken.append(outcome)

    def _forward(self, count: int) -> None:
        missing = count - len(self._buffer)
        del self._buffer[:count]
        while missing > 0 and not self._over:
            self._take([])
            missing -= 1

    def position(self) -> State:
        return [self._over, [outcome.save() for outcome in self._buffer]]

    def move(self, position: State) -> None:
        self._over, buffer = position
        self._buffer = list(map(Outcome.restored, buffer))
