"""Stages and cursors: a dataset is a chain of stages, and a cursor is one way through it, element by element.

A stage never changes once it is made: it says what its elements are.  A cursor has a position.  `save` gives all of it as plain
data (numbers, bytes, values, lists, dicts), and a new cursor of an equal stage goes on from there after `restore`: random
streams, buffers, files and calls that are under way included.

What the cursors of one iterator share over epochs (the seeds of a shuffle, the elements of a cache) is kept by their `Run`.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Protocol, TypeVar

from headrace.core.errors import CancelledError, OpError
from headrace.resources.calling.batch import Element
from headrace.resources.stepping.interrupt import shield
from headrace.resources.stepping.step import current

State = Any  # plain data
Submit = Callable[[Callable[[], Any]], None]


class Saved(Protocol):
    """Something with a position."""

    def save(self) -> State: ...
    def restore(self, state: State) -> None: ...


class Statistics(Protocol):
    """What cursors may tell how they do."""

    def add(self, tag: bytes, value: float) -> None: ...


T = TypeVar("T", bound=Saved)


class Stage(ABC):
    """One transformation, or a source.  Immutable; thread-safe."""

    inputs: tuple[Stage, ...] = ()
    types: tuple[Any, ...] = ()  # DTypes of the components, where they are known
    shapes: tuple[Any, ...] = ()
    name: str = ""  # of its node
    title: str = "a dataset"  # in messages
    one_by_one = False  # asks for functions to be called for single elements only
    device: Any = None  # torch's, in whose memory its elements are; None: the host's

    @abstractmethod
    def begin(self, run: Run) -> Cursor:
        """A cursor before the first element."""

    @property
    def blocks(self) -> bool:
        """Whether `Cursor.next` may wait for another thread."""
        return any(stage.blocks for stage in self.inputs)

    @property
    def shares(self) -> bool:
        """Whether others may hold the memory of its elements, which must not be changed then."""
        return any(stage.shares for stage in self.inputs)

    @property
    def repeatable(self) -> bool:
        """Whether nobody notices that elements are taken earlier than they are asked for."""
        return all(stage.repeatable for stage in self.inputs)

    def within(self) -> Iterator[Stage]:
        """This stage and all before it, each as often as it is used."""
        yield self
        for stage in self.inputs:
            yield from stage.within()


class Cursor(ABC):
    """A position in a stage.  Used by one thread at a time."""

    @abstractmethod
    def next(self) -> Element | None:
        """The next element; None at the end, and from then on."""

    def fill(self, elements: list[Element], count: int) -> None:
        """Adds the next elements to a list: so many, fewer at the end.  Those before one that fails are added."""
        take, add = self.next, elements.append
        for _ in range(count):
            element = take()
            if element is None:
                return
            add(element)

    def ready(self) -> bool:
        """Whether `next` would not wait for another thread.  Asked of stages that block."""
        return False

    @abstractmethod
    def save(self) -> State:
        """The whole position."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Goes on from what `save` gave.  Called once, before `next`."""


class Run:
    """One use of a chain by one iterator.  Cursors of its stages may be on several threads."""

    def __init__(
        self, stage: Stage, submit: Submit, cores: int = 1, statistics: Statistics | None = None, by_rows: bool = True
    ) -> None:
        """``submit`` runs a call on another thread, some time.  ``cores``: how many calls are worth running together.

        ``by_rows``: functions may be called for many elements at once.
        """
        self.submit, self.cores = submit, cores
        self.statistics = statistics
        self._ended = threading.Event()
        self._stages = list(dict.fromkeys(stage.within()))
        self.by_rows = by_rows and not any(stage.one_by_one for stage in self._stages)
        self._shared: dict[Stage, Saved] = {}
        self._restored: dict[Stage, State] = {}  # what will be shared when a cursor asks for it
        self._at_close: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()
        self.cursor = stage.begin(self)

    def under(self, statistics: Statistics) -> Run:
        """This run for cursors that tell the statistics what they do."""
        run = copy(self)
        run.statistics = statistics
        return run

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    def inner(self, stage: Stage) -> Run:
        """The run of a dataset that a function has made; it ends with this one."""
        run = Run(stage, self.submit, self.cores, self.statistics, self.by_rows)
        self.at_close(run, Run.close)
        return run

    def shared(self, stage: Stage, make: Callable[[], T]) -> T:
        """What all cursors of a stage share."""
        if stage not in self._shared:
            self._shared[stage] = make()
            if stage in self._restored:
                self._shared[stage].restore(self._restored.pop(stage))
        return self._shared[stage]  # type: ignore[return-value]

    def at_close(self, owner: Any, call: Callable[[Any], None]) -> None:
        """Calls it with the owner when the run ends, if the owner is there: each epoch has cursors of its own."""
        self._at_close[owner] = call

    def forget(self, run: Run) -> None:
        """An inner run is over."""
        run.close()
        self._at_close.pop(run, None)

    def close(self) -> None:
        """Nothing goes on in the background, and who waits is told so."""
        self._ended.set()
        for owner, call in list(self._at_close.items()):
            call(owner)

    def check_open(self) -> None:
        if self.closed:
            raise CancelledError(None, None, "the iterator was closed or initialized again while it worked")

    def save(self) -> State:
        shared = [self._shared[s].save() if s in self._shared else self._restored.get(s) for s in self._stages]
        return {"shared": shared, "cursor": self.cursor.save()}

    def restore(self, state: State) -> None:
        """Goes on from what `save` gave."""
        if len(state["shared"]) != len(self._stages):
            raise ValueError(f"it has {len(state['shared'])} stages, the dataset has {len(self._stages)}")
        self.cursor.restore(state["cursor"])
        for stage, saved in zip(self._stages, state["shared"], strict=True):
            if saved is not None and stage in self._shared:
                self._shared[stage].restore(saved)
            elif saved is not None:
                self._restored[stage] = saved


class OneInput(Stage):
    """A stage with one stage before it."""

    def __init__(self, input: Stage) -> None:
        self.input = input
        self.inputs = (input,)


class OneCursor(Cursor):
    """A cursor of a stage with one input: the input's position and its own."""

    def __init__(self, stage: Any, run: Run) -> None:
        self.stage, self.run = stage, run
        self.input: Cursor = stage.input.begin(run)

    def save(self) -> State:
        return [self.input.save(), self.position()]

    def restore(self, state: State) -> None:
        self.input.restore(state[0])
        self.move(state[1])

    def position(self) -> State:
        """What there is to save besides the input's position."""
        return None

    def move(self, position: State) -> None:
        """Goes to what `position` gave."""


def pause() -> None:
    """Lets the step that waits on this thread end here, or Ctrl-C come: called where no element would be lost."""
    step = current.step
    if step is not None and (step.error is not None or step.until is not None):
        step.stop_if_over()
    guard = shield()
    if guard is not None:
        guard.deliver()


def at_element(error: OpError, index: int, stage: Stage) -> OpError:
    """The error, with the position of the element that it is about."""
    return type(error)(None, error.op, f"{error.message}\n\t in element {index} of {stage.title}")  # type: ignore[call-arg]
