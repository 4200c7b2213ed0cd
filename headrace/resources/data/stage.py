"""Stages and cursors: a dataset is a chain of stages, and a cursor is one way through it, element by element.

A stage never changes once it is made: it says what its elements are.  A cursor has a position.  `save` gives all of it as plain
data (numbers, bytes, values, lists, dicts), and a new cursor of an equal stage goes on from there after `restore`: random
streams, buffers, files and calls that are under way included.

What the cursors of one iterator share over epochs (the seeds of a shuffle, the elements of a cache) is kept by their `Run`.
"""

from __future__ import annotations

import functools
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from headrace.core.errors import CancelledError, OpError
from headrace.resources.calling.batch import Element
from headrace.resources.data.watch import Figures, Watch, fill_one_by_one, title_of
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
_thread = threading.local()  # ``run``: whose element this thread computes


class Stage(ABC):
    """One transformation, or a source.  Immutable; thread-safe."""

    inputs: tuple[Stage, ...] = ()
    types: tuple[Any, ...] = ()  # DTypes of the components, where they are known
    shapes: tuple[Any, ...] = ()
    functions: tuple[Any, ...] = ()  # the planned ones that it calls
    name: str = ""  # of its node
    title: str = "a dataset"  # in messages
    whole: str = ""  # the title of the stage that this is a part of
    is_setting = False  # it has no cursor of its own
    device: Any = None  # torch's, in whose memory its elements are; None: the host's

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "begin" in vars(cls) and not cls.is_setting:
            cls.begin = _told(cls.begin)  # type: ignore[method-assign, assignment]

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

    def restart(self) -> None:
        """The functions of this stage, and of all before it, draw random numbers from the beginning, if they have seeds."""
        for stage in dict.fromkeys(self.within()):
            for function in stage.functions:
                function.restart()

    def within(self) -> Iterator[Stage]:
        """This stage and all before it, each as often as it is used."""
        yield self
        for stage in self.inputs:
            yield from stage.within()


def _told(begin: Callable[[Any, Run], Cursor]) -> Callable[[Any, Run], Cursor]:
    """What begins a cursor, and tells its run of it."""

    @functools.wraps(begin)
    def told(stage: Any, run: Run) -> Cursor:
        cursor = begin(stage, run)
        run.note(stage, cursor)
        return cursor

    return told


class Cursor(ABC):
    """A position in a stage.  Used by one thread at a time."""

    @abstractmethod
    def next(self) -> Element | None:
        """The next element; None at the end, and from then on."""

    def fill(self, elements: list[Element], count: int) -> None:
        """Adds the next elements to a list: so many, fewer at the end.  Those before one that fails are added."""
        fill_one_by_one(self, elements, count)

    def ready(self) -> bool:
        """Whether `next` would not wait for another thread.  Asked of stages that block."""
        return False

    def tell(self, call: Callable[[], None]) -> bool:
        """Has a thread that works ahead make the call as soon as there is an element; False: no thread does that."""
        return False

    def fullness(self) -> tuple[int, int] | None:
        """How many elements its buffer holds, and how many it has room for."""
        return None

    @abstractmethod
    def save(self) -> State:
        """The whole position."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Goes on from what `save` gave.  Called once, before `next`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the cursors of a run work."""

    statistics: Statistics | None = None  # what they tell what they do
    by_rows: bool = True  # functions may be called for many elements at once
    elsewhere: Callable[[Any, Any], Any] | None = (
        None  # begins stages that map, where their functions are called elsewhere
    )


PLAIN = Settings()


class Run:
    """One use of a chain by one iterator.  Cursors of its stages may be on several threads."""

    def __init__(
        self, stage: Stage, submit: Submit, cores: int = 1, settings: Settings = PLAIN, watch: Watch | None = None
    ) -> None:
        """``submit`` runs a call on another thread, some time.  ``cores``: how many calls are worth running together."""
        self.submit, self.cores, self.settings = submit, cores, settings
        self._watch = [watch]  # one for all copies
        self._lock = threading.Lock()  # of what it is told
        self._cursors: weakref.WeakKeyDictionary[Cursor, Stage] = weakref.WeakKeyDictionary()
        self._ended = threading.Event()
        self._stages = list(dict.fromkeys(stage.within()))
        self._shared: dict[Stage, Saved] = {}
        self._restored: dict[Stage, State] = {}  # what will be shared when a cursor asks for it
        self._at_close: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()
        self.cursor = stage.begin(self)

    def under(self, **changed: Any) -> Run:
        """This run with other settings, for the cursors before some stage."""
        run = copy(self)
        run.settings = replace(self.settings, **changed)
        return run

    @property
    def watch(self) -> Watch | None:
        """Who looks."""
        return self._watch[0]

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    def inner(self, stage: Stage) -> Run:
        """The run of a dataset that a function has made; it ends with this one."""
        run = Run(stage, self.submit, self.cores, self.settings, self.watch)
        self.at_close(run, Run.close)
        return run

    def note(self, stage: Stage, cursor: Cursor) -> None:
        """A cursor has begun."""
        with self._lock:
            self._cursors.setdefault(cursor, stage)
        if self.watch is not None:
            self.watch.attach(stage, cursor)

    def look(self, watch: Watch | None) -> None:
        """Has its cursors watched, or no longer, and those of inner runs."""
        self._watch[0] = watch
        with self._lock:
            cursors = list(self._cursors.items())
            inner = [owner for owner in self._at_close if isinstance(owner, Run)]
        for cursor, stage in cursors:
            Watch.detach(cursor)
            if watch is not None:
                watch.attach(stage, cursor)
        for run in inner:
            run.look(watch)

    def report(self) -> list[dict[str, Any]]:
        """What was noted of each stage, the last of the chain first, and what buffers hold."""
        figures = {} if self.watch is None else dict(self.watch.figures)
        with self._lock:
            buffers = {title_of(stage): cursor.fullness() for cursor, stage in self._cursors.items()}
        titles = dict.fromkeys([*(title_of(stage) for stage in self._stages if not stage.is_setting), *figures])
        return [_described(title, figures.get(title, Figures()), buffers.get(title)) for title in titles]

    def shared(self, stage: Stage, make: Callable[[], T]) -> T:
        """What all cursors of a stage share."""
        if stage not in self._shared:
            self._shared[stage] = make()
            if stage in self._restored:
                self._shared[stage].restore(self._restored.pop(stage))
        return self._shared[stage]  # type: ignore[return-value]

    def at_close(self, owner: Any, call: Callable[[Any], None]) -> None:
        """Calls it with the owner when the run ends, if the owner is there: each epoch has cursors of its own."""
        with self._lock:
            self._at_close[owner] = call

    def forget(self, run: Run) -> None:
        """An inner run is over."""
        run.close()
        self._at_close.pop(run, None)

    def ended_by_closing(self, call: Callable[[], Element | None]) -> Element | None:
        """What a call on this thread gives, which ends where it pauses when the run is closed."""
        outer, _thread.run = getattr(_thread, "run", None), self
        try:
            return call()
        finally:
            _thread.run = outer

    def close(self) -> None:
        """Nothing goes on in the background, and who waits is told so."""
        self._ended.set()
        with self._lock:
            owners = list(self._at_close.items())
        for owner, call in owners:
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


def _described(title: str, figures: Figures, fullness: tuple[int, int] | None) -> dict[str, Any]:
    seconds = {"computing_s": figures.computed / 1e9, "waited_s": figures.waited / 1e9}
    buffer = {} if fullness is None else {"held": fullness[0], "room": fullness[1]}
    return {"stage": title, "elements": figures.elements, **seconds, **buffer}


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
    """Lets the step that waits on this thread end here, or Ctrl-C come, or the iterator be closed: called where no element would
    be lost."""
    run: Run | None = getattr(_thread, "run", None)
    if run is not None:
        run.check_open()
    step = current.step
    if step is not None and (step.error is not None or step.until is not None):
        step.stop_if_over()
    guard = shield()
    if guard is not None:
        guard.deliver()


def at_element(error: OpError, index: int, stage: Stage) -> OpError:
    """The error, with the position of the element that it is about."""
    return type(error)(None, error.op, f"{error.message}\n\t in element {index} of {stage.whole or stage.title}")  # type: ignore[call-arg]
