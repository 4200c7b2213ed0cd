"""The iterator of a dataset that steps take elements from: a run of its chain, and who waits for the next element.

Steps are served one by one, in the order in which they ask.  An element that needs no other thread is computed by the step that
asks for it; others by a thread of the pool, the one that works ahead if there is one.  An element whose step has gone meanwhile
is for the next one.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic, perf_counter_ns
from typing import Any, Final

from headrace.core.dtypes import DType
from headrace.core.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from headrace.core.shape import TensorShape
from headrace.resources.calling.batch import own, whole
from headrace.resources.calling.copies import to_host
from headrace.resources.data.optional import OptionalValue
from headrace.resources.data.outcome import Outcome
from headrace.resources.data.saved import decode, encode
from headrace.resources.data.stage import Run, Stage, State, Submit
from headrace.resources.data.watch import Watch
from headrace.resources.state.container import NodeState
from headrace.resources.stepping.attempt import Attempt, Ended, Waiting, finish
from headrace.resources.stepping.step import current
from headrace.resources.stepping.waiting import Done, Later, Wait

WATCHED_S: Final = 10.0
NOT_INITIALIZED: Final = (
    "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer operation for "
    "this iterator before getting the next element."
)


class Take(Attempt):
    """Takes the next element."""

    __slots__ = ("as_optional", "on_device", "serving", "span")
    called = "GetNext"

    def __init__(self, done: Done, as_optional: bool, on_device: bool) -> None:
        super().__init__(done)
        self.as_optional, self.on_device = as_optional, on_device
        self.span = getattr(done, "stage", None)  # of a step that is traced: what is told of the work of each stage
        self.serving: Serving | None = None  # None while the dataset is being made

    def result(self, outcome: Outcome, device: Any) -> Any:
        """What the attempt ends with.  ``device``: where the dataset has its elements."""
        error = outcome.error
        if error is not None:  # one step adds its own lines to what it raises
            return type(error)(None, error.op, error.message)  # type: ignore[call-arg]
        element = outcome.element
        if element is None and not self.as_optional:
            return OutOfRangeError(None, None, "End of sequence")
        if element is None or device is None or self.on_device:
            return OptionalValue(element) if self.as_optional else element
        return Later(lambda: OptionalValue(tuple(to_host(element))) if self.as_optional else to_host(element))


class Serving:
    """One way through a dataset, and the steps that wait for its elements.  Thread-safe."""

    def __init__(self, stage: Stage, run: Run, left: Sequence[Outcome], submit: Submit) -> None:
        self.stage, self.run = stage, run
        self._blocks, self._shares = stage.blocks, stage.shares
        self._submit = submit
        self._changed = threading.Condition()
        self._takers: deque[Take] = deque()
        self._left = deque(left)  # computed for steps that were ended
        self._busy = False  # a thread uses the cursor
        self._retired = False
        self._watched_until = 0.0

    def take(self, attempt: Take) -> None:
        if attempt.span is not None:
            self._watch().span = attempt.span
        with self._changed:
            if attempt.ended:
                return
            self._takers.append(attempt)
            if self._busy:
                return
            self._busy = True
            # A step with a time limit may end while the element is computed, and what was taken for it would be lost.
            step = current.step
            free = not self._blocks and (step is None or step.until is None)
            immediate = bool(self._left) or free or self.run.cursor.ready()
        if immediate:
            self._serve(1)
        elif not self.run.cursor.tell(partial(self._serve, 1)):
            self._submit(self._serve)

    def _serve(self, most: int | None = None) -> None:
        """Gives elements to those who wait; ``most``: to so many here, and to the others on another thread."""
        while True:
            with self._changed:
                outcome = self._left.popleft() if self._left else None
            if outcome is None:
                outcome = _taken(self.run, self._shares)
            with self._changed:
                ended: Ended = []
                if self._takers:
                    taker = self._takers.popleft()
                    ended.append(taker.end(taker.result(outcome, self.stage.device)))
                else:
                    self._left.append(outcome)
                more = bool(self._takers)
                self._busy = more
                self._close_if_over()
                self._changed.notify_all()
            watch = self.run.watch
            if watch is not None:
                watch.span = None
                if monotonic() > self._watched_until:
                    self.run.look(None)
            finish(ended)
            if not more:
                return
            if most is not None:
                self._submit(self._serve)
                return

    def cancel(self, attempt: Take, error: Exception) -> None:
        with self._changed:
            ended: Ended = []
            if not attempt.ended:
                if attempt in self._takers:  # else it is on its way here
                    self._takers.remove(attempt)
                ended.append(attempt.end(error))
                self._close_if_over()
        finish(ended)

    def retire(self) -> None:
        """Nobody comes any more.  Those who wait get their elements, as in TensorFlow; then the run ends."""
        with self._changed:
            self._retired = True
            self._close_if_over()

    def _close_if_over(self) -> None:
        if self._retired and not self._takers:
            self.run.close()

    def _watch(self) -> Watch:
        watch = self.run.watch
        if watch is None:
            watch = Watch()
            self.run.look(watch)
        return watch

    def report(self) -> dict[str, Any]:
        """What the stages have done since somebody looked first; noted until `WATCHED_S` after the last look."""
        watch = self._watch()
        self._watched_until = monotonic() + WATCHED_S
        seconds = (perf_counter_ns() - watch.began) / 1e9
        return {"seconds": seconds, "waiting": len(self._takers), "stages": self.run.report()}

    def watched_like(self, other: Serving) -> None:
        """Goes on with what was noted of another way through the dataset."""
        self._watched_until = other._watched_until
        if other.run.watch is not None:
            self.run.look(other.run.watch)

    def save(self) -> State:
        """The whole position."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)
            self._busy = True
        try:
            return [self.run.save(), [outcome.save() for outcome in self._left]]
        finally:
            with self._changed:
                more = self._busy = bool(self._takers)
                self._changed.notify_all()
            if more:
                self._submit(self._serve)


class Iterator(NodeState):
    """Thread-safe.  Dropping it, or closing its session, ends what goes on in the background and closes files."""

    def __init__(
        self, name: str, types: Sequence[DType], shapes: Sequence[TensorShape], submit: Submit, cores: int,
        made_at: str = "", factory: Callable[[], Stage] | None = None,
    ) -> None:  # fmt: skip
        """``factory`` makes the dataset of a one-shot iterator, when the first element is asked for."""
        self.name, self.types, self.shapes = name, tuple(types), tuple(shapes)
        self._submit, self._cores, self._made_at = submit, cores, made_at
        self._factory = factory
        self._lock = threading.Lock()
        self._serving: Serving | None = None
        self._early: deque[Take] = deque()  # who waits for the factory
        self._starting = False  # a thread runs the factory
        self._looked_early = False  # somebody asked for a report when there was no dataset yet
        self._restored: bytes | None = None  # a position from a checkpoint, for the next dataset
        self._at_end: Any = None
        self.handle = b""  # the string that stands for it, once somebody has asked for one

    @property
    def title(self) -> str:
        return f"iterator '{self.name}'" + (f" (made at {self._made_at})" if self._made_at else "")

    def make(self, stage: Stage) -> None:
        """Goes to the first element of the dataset, or to where a restored position is."""
        check_same(self.types, self.shapes, stage.types, stage.shapes)
        data, self._restored = self._restored, None
        if data is None:
            stage.restart()
        self._use(self._served(stage, data))

    def _served(self, stage: Stage, data: bytes | None) -> Serving:
        run = Run(stage, self._submit, self._cores)
        return Serving(stage, run, [] if data is None else self._move(run, data), self._submit)

    def _use(self, serving: Serving | None) -> None:
        with self._lock:
            last, self._serving = self._serving, serving
            if self._at_end is not None:
                self._at_end.detach()
            self._at_end = None if serving is None else weakref.finalize(self, serving.run.close)
        if serving is not None and self._looked_early:
            self._looked_early = False
            serving.report()
        if last is not None:
            if serving is not None:
                serving.watched_like(last)
            last.retire()

    def end(self) -> None:
        self._use(None)

    # ---- elements

    def get_next(self, done: Done, as_optional: bool = False, on_device: bool = False) -> Wait | None:
        """Takes the next element; at the end OutOfRangeError, or an optional without a value.

        ``on_device``: from where the dataset has it; otherwise in the host's memory.
        """
        attempt = Take(done, as_optional, on_device)
        starts = False
        with self._lock:
            serving = attempt.serving = self._serving
            if serving is None:
                if self._factory is None:
                    raise FailedPreconditionError(None, None, f"{NOT_INITIALIZED} It is {self.title}")
                self._early.append(attempt)
                starts, self._starting = not self._starting, True
        if serving is not None:
            serving.take(attempt)
        elif starts:
            self._start()
        return None if attempt.ended else Waiting(self, attempt)  # type: ignore[arg-type]

    def _start(self) -> None:
        """Begins a one-shot iterator for those who wait.  An error is for the first of them; the next begin again."""
        assert self._factory is not None
        try:
            self.make(self._factory())
            error = None
        except BaseException as e:  # noqa: BLE001 - the step raises it
            error = e
        ended: Ended = []
        with self._lock:
            serving = self._serving
            early, self._early = self._early, deque()
            if serving is None:
                if error is not None and early:
                    ended.append(early.popleft().end(error))
                self._early = early
            again = self._starting = bool(self._early)
            for attempt in early:
                attempt.serving = serving
        finish(ended)
        if again:
            self._submit(self._start)
        elif serving is not None:
            for attempt in early:
                serving.take(attempt)

    # ---- where its time goes

    def report(self) -> dict[str, Any]:
        """What the stages of its dataset have done since somebody looked first."""
        serving = self._serving
        self._looked_early = serving is None
        found = {"seconds": 0.0, "waiting": 0, "stages": []} if serving is None else serving.report()
        return {"iterator": self.name, "made_at": self._made_at, **found}

    def cancel(self, attempt: Take, error: Exception) -> None:
        ended: Ended = []
        with self._lock:
            serving = attempt.serving
            if serving is None and not attempt.ended:
                self._early.remove(attempt)
                ended.append(attempt.end(error))
        finish(ended)
        if serving is not None:
            serving.cancel(attempt, error)

    def describe_wait(self, attempt: Take) -> str:
        serving = attempt.serving
        return f"{self.title} computes the next element of {'a dataset' if serving is None else serving.stage.title}"

    # ---- its position

    def save(self) -> bytes:
        """The whole position, for `restore`; empty if it has not begun."""
        serving = self._serving
        return self._restored or b"" if serving is None else encode(serving.save())

    def restore(self, data: bytes) -> None:
        """Goes on from what `save` gave: now, or when the iterator is initialized next."""
        serving = self._serving
        if not data:  # it had not begun: a one-shot iterator begins again
            if self._factory is not None:
                self._use(None)
        elif serving is not None:
            self._use(self._served(serving.stage, data))
        elif self._factory is not None:
            self._restored = data
            self.make(self._factory())
        else:
            self._restored = data

    def _move(self, run: Run, data: bytes) -> list[Outcome]:
        try:
            position, left = decode(data)
            run.restore(position)
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as e:
            raise InvalidArgumentError(
                None, None, f"the saved position is not one of the dataset of {self.title}: {e}"
            ) from e
        return [Outcome.restored(one) for one in left]


def _taken(run: Run, shares: bool) -> Outcome:
    outcome = Outcome.of(run.ended_by_closing, run.cursor.next)
    if outcome.element is not None:
        outcome.element = own(outcome.element) if shares else whole(outcome.element)
    return outcome


def check_same(
    types: Sequence[DType], shapes: Sequence[TensorShape], given: Sequence[DType], given_shapes: Sequence[TensorShape]
) -> None:
    """Refuses elements that an iterator does not expect, in TensorFlow's words."""
    if len(types) != len(given):
        raise InvalidArgumentError(
            None, None, f"Number of components does not match: expected {len(types)} types but got {len(given)}."
        )
    for i, (dtype, other) in enumerate(zip(types, given, strict=True)):
        if dtype != other:
            raise InvalidArgumentError(
                None, None, f"Data type mismatch at component {i}: expected {dtype.name} but got {other.name}."
            )
    for i, (shape, other_shape) in enumerate(zip(shapes, given_shapes, strict=True)):
        if not shape.is_compatible_with(other_shape):
            raise InvalidArgumentError(
                None, None, f"Incompatible shapes at component {i}: expected {shape} but got {other_shape}."
            )
