"""Box: what a worker holds for the others of its job, if they sum dense gradients among themselves: `dense="all_reduce"`.

It holds the worker's gradients, and the variables as the last update has made them.  Both travel in chunks, from box to box
along a *route*, and only when they are asked for:

- A chunk of the *sum* is asked of the last box of the route, which asks the one before it, and adds its own gradients to the
  answer.  So gradients are added in the order of the route.
- A chunk of the *values* is asked of the box before one's own.  A box that has not got it yet asks the one before itself, and
  keeps what comes.  The route begins with the worker that has made the update, which got the values from the servers.

So there is nothing to clear away when a worker is lost: whoever has asked it hears that.  How boxes of other tasks are asked is
not known here (`Boxes.elsewhere`).
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

import torch

from headrace.core.errors import AbortedError
from headrace.resources.state.container import NodeState
from headrace.resources.state.replicas.layout import Layout
from headrace.resources.stepping.waiting import Done, Later, Wait

log = logging.getLogger("headrace")

AHEAD: Final = 4  # chunks that are asked for before the first has come, besides one for each box of the route


class Stop(NamedTuple):
    """Where a box is.  ``worker``: whose it is, as people call it."""

    worker: str
    task: str
    address: str
    box: int


class ChunkQuery(NamedTuple):
    """A chunk that is asked for.  ``route``: the boxes before the one that is asked."""

    what: Literal["sum", "values"]
    ticket: int
    number: int
    route: tuple[Stop, ...]


class Failure(NamedTuple):
    """Why there is no chunk.  ``box``: the one that could not be asked, or lacks what it should have."""

    box: int
    why: str


Given = Callable[[torch.Tensor | None, Failure | None], None]  # called once, by any thread, under no lock
Elsewhere = Callable[[Stop, ChunkQuery, Given], None]


def encoded(stop: Stop) -> bytes:
    """A stop as bytes, for a tensor of strings."""
    return json.dumps(stop).encode()


def decoded(stops: Iterable[bytes]) -> tuple[Stop, ...]:
    """The stops again."""
    return tuple(Stop(*json.loads(stop)) for stop in stops)


class Boxes:
    """The boxes of a task by number, and the way to those of others.  Thread-safe.

    ``elsewhere``: asks a box of another task; None where there is none.  ``submit``: runs a call that computes.
    """

    def __init__(self, task: str, submit: Callable[[Callable[[], None]], None]) -> None:
        self.task, self.submit = task, submit
        self.address = ""
        self.elsewhere: Elsewhere | None = None
        self._boxes: dict[int, Box] = {}

    def add(self, box: Box) -> Stop:
        """Gives a box a number that nobody can guess."""
        number = secrets.randbits(53)
        self._boxes[number] = box
        return Stop(box.worker, self.task, self.address, number)

    def remove(self, number: int) -> None:
        self._boxes.pop(number, None)

    def give(self, number: int, query: ChunkQuery, given: Given) -> None:
        """Answers for a box of this task."""
        box = self._boxes.get(number)
        if box is None:
            given(None, Failure(number, f"its session on {self.task} has ended"))
        elif not 0 <= query.number < len(box.layout.chunks):
            given(None, Failure(number, f"it has {len(box.layout.chunks)} chunks, number {query.number} was asked for"))
        elif query.what == "sum":
            box.give_sum(query, given)
        else:
            box.give_values(query, given)

    def ask(self, stop: Stop, query: ChunkQuery, given: Given) -> None:
        """Asks a box of any task."""
        if stop.box in self._boxes or stop.task == self.task or self.elsewhere is None:
            self.give(stop.box, query, given)
        else:
            self.elsewhere(stop, query, given)


class _Gather:
    """Asks for chunks, so many at a time, until all have come or one has failed.  It is also the `Wait` for that."""

    def __init__(
        self, numbers: Sequence[int], ahead: int, ask: Callable[[int, Given], None],
        keep: Callable[[int, torch.Tensor], None], over: Callable[[Failure | None], None],
    ) -> None:  # fmt: skip
        """``over``: called once, after ``keep`` was for each chunk."""
        self._numbers, self._missing = iter(numbers), len(numbers)
        self._free, self._ask, self._keep, self._over = ahead, ask, keep, over
        self._asking = self._ended = False
        self._lock = threading.Lock()

    def start(self) -> None:
        if self._missing:
            self._go_on()
        else:
            self._over(None)

    def _go_on(self) -> None:
        """One thread asks at a time: a chunk that comes while it is asked for is no deeper call."""
        with self._lock:
            if self._asking:
                return
            self._asking = True
        while True:
            with self._lock:
                number = next(self._numbers, None) if self._free and not self._ended else None
                if number is None:
                    self._asking = False
                    return
                self._free -= 1
            self._ask(number, partial(self._given, number))

    def _given(self, number: int, chunk: torch.Tensor | None, failure: Failure | None) -> None:
        if chunk is not None and not self._ended:
            self._keep(number, chunk)
        with self._lock:
            self._free += 1
            self._missing -= 1
            over = not self._ended and (failure is not None or not self._missing)
            self._ended = self._ended or over
        if over:
            self._over(failure)
        else:
            self._go_on()


class _Ending:
    """The `Wait` of a step for something that others bring: it ends once."""

    def __init__(self, done: Done, describe: Callable[[], str]) -> None:
        self._done: Done | None = done
        self._lock = threading.Lock()
        self.describe = describe

    def end(self, result: object, error: BaseException | None = None) -> None:
        with self._lock:
            done, self._done = self._done, None
        if done is not None:
            done(result, error)

    def cancel(self, error: Exception) -> None:
        self.end(None, error)


class _Values:
    """The variables after an update, as far as they have come."""

    def __init__(self, ticket: int, count: int) -> None:
        self.ticket = ticket
        self.chunks: list[torch.Tensor | None] = [None] * count
        self._failure: Failure | None = None
        self._waiting: dict[int, list[Given]] = {}
        self._whole: list[Callable[[bool], None]] = []
        self._complete = False
        self._lock = threading.Lock()

    def keep(self, number: int, chunk: torch.Tensor) -> None:
        with self._lock:
            self.chunks[number] = chunk
            waiting = self._waiting.pop(number, ())
        for given in waiting:
            given(chunk, None)

    def end(self, failure: Failure | None) -> None:
        """All have come, or no more will."""
        with self._lock:
            if self._complete or self._failure is not None:
                return
            self._complete, self._failure = failure is None, failure
            waiting, self._waiting = [one for some in self._waiting.values() for one in some], {}
            whole, self._whole = self._whole, []
        for given in waiting:
            given(None, failure)
        for told in whole:
            told(failure is None)

    def give(self, number: int, given: Given) -> None:
        with self._lock:
            chunk, failure = self.chunks[number], self._failure
            if chunk is None and failure is None:
                self._waiting.setdefault(number, []).append(given)
                return
        given(chunk, None if chunk is not None else failure)

    def when_whole(self, told: Callable[[bool], None]) -> None:
        with self._lock:
            if not self._complete and self._failure is None:
                self._whole.append(told)
                return
        told(self._complete)


class Box(NodeState):
    """A session's own.  Thread-safe, never blocks."""

    def __init__(self, boxes: Boxes, layout: Layout, worker: str, made_at: str = "") -> None:
        self.layout, self.worker = layout, worker
        self._made_at = f" (made at {made_at})" if made_at else ""
        self.unreached: Failure | None = None  # why the last sum has failed
        self._boxes = boxes
        self._stop: Stop | None = None
        self._gradients: list[torch.Tensor] | None = None
        self._counted: tuple[int, list[torch.Tensor]] | None = None  # the ticket of an update, and what it takes
        self._values: _Values | None = None
        self._lock = threading.Lock()

    def open(self) -> Stop:
        """Begins anew, under another number."""
        self.end()
        self._stop = self._boxes.add(self)
        return self._stop

    def end(self) -> None:
        with self._lock:
            values, self._values = self._values, None
            self._gradients = self._counted = None
        if self._stop is not None:
            self._boxes.remove(self._stop.box)
        if values is not None:
            values.end(self._failure("its session has ended"))

    def _failure(self, why: str) -> Failure:
        return Failure(0 if self._stop is None else self._stop.box, why)

    # ---- gradients

    def stage(self, gradients: Sequence[torch.Tensor]) -> None:
        """Puts the worker's gradients in the place of those before."""
        chunks = self.layout.pack("a gradient", gradients)
        with self._lock:
            self._gradients = chunks

    def give_sum(self, query: ChunkQuery, given: Given) -> None:
        """A chunk of the sum of the gradients along the route, and of this box's own."""
        with self._lock:
            # All chunks are of one gradient, whatever the worker stages, and whoever asks for an update before, meanwhile.
            if self._counted is None or self._counted[0] < query.ticket:
                self._counted = None if self._gradients is None else (query.ticket, self._gradients)
            counted = self._counted
        if counted is None:
            given(None, self._failure("it has no gradients"))
            return
        own = counted[1][query.number]
        if not query.route:
            given(own, None)
            return

        def add(chunk: torch.Tensor | None, failure: Failure | None) -> None:
            if chunk is None:
                given(None, failure)
            else:
                self._boxes.submit(lambda: given(chunk + own, None))

        self._ask(query.what, query.ticket, query.route, query.number, add)

    def _ask(
        self, what: Literal["sum", "values"], ticket: int, route: Sequence[Stop], number: int, given: Given
    ) -> None:
        """Asks the last box of a route for a chunk, and looks at what comes."""
        *before, last = route

        def checked(chunk: torch.Tensor | None, failure: Failure | None) -> None:
            if chunk is not None and not self.layout.fits(number, chunk):
                chunk, failure = None, Failure(last.box, f"its variables have other sizes than those of {self.worker}")
            given(chunk, failure)

        self._boxes.ask(last, ChunkQuery(what, ticket, number, tuple(before)), checked)

    def sum(self, ticket: int, route: Sequence[Stop], done: Done) -> Wait:
        """Ends with the mean of the gradients along the route; AbortedError that names the worker that has failed."""
        chunks: dict[int, torch.Tensor] = {}

        def over(failure: Failure | None) -> None:
            self.unreached = failure
            if failure is None:
                in_order = [chunks[number] for number in range(len(chunks))]
                ending.end(Later(lambda: self.layout.unpack(in_order, len(route))))
            else:
                worker = next((stop.worker for stop in route if stop.box == failure.box), "a worker")
                why = f"the gradients of {worker} could not be added: {failure.why}"
                ending.end(None, AbortedError(None, None, why))

        def describe() -> str:
            names = ", ".join(stop.worker for stop in route)
            there = f"{len(chunks)} of {len(self.layout.chunks)} chunks"
            return f"{there} of the sum of the gradients of {names} are here{self._made_at}"

        ending = _Ending(done, describe)
        ask = partial(self._ask, "sum", ticket, route)
        _Gather(range(len(self.layout.chunks)), len(route) + AHEAD, ask, chunks.__setitem__, over).start()
        return ending

    # ---- values

    def put(self, ticket: int, values: Sequence[torch.Tensor]) -> None:
        """What the servers have after an update that this worker has made."""
        current, _ = self._of(ticket, anew=True)
        for number, chunk in enumerate(self.layout.pack("the value", values)):
            current.keep(number, chunk)
        current.end(None)

    def _of(self, ticket: int, anew: bool = False) -> tuple[_Values, bool]:
        """The values of an update, or of a later one, and whether they are still to be asked for."""
        with self._lock:
            before = self._values
            if before is not None and before.ticket >= ticket and not anew:
                return before, False
            self._values = values = _Values(ticket, len(self.layout.chunks))
        if before is not None:
            before.end(self._failure("an update was made since"))
        return values, True

    def give_values(self, query: ChunkQuery, given: Given) -> None:
        """A chunk of the values after an update."""
        values, is_new = self._of(query.ticket)
        if is_new:
            self._follow(values, list(query.route))
        if values.ticket == query.ticket:
            values.give(query.number, given)
        else:
            given(None, self._failure("an update was made since"))

    def _follow(self, values: _Values, route: list[Stop]) -> None:
        """Asks the last box of the route; if that is lost, the one before it."""
        if not route:
            values.end(self._failure("nobody has the variables as that update has made them"))
            return

        def over(failure: Failure | None) -> None:
            if failure is None:
                values.end(None)
            else:
                self._follow(values, route[:-1])

        missing = [number for number, chunk in enumerate(values.chunks) if chunk is None]
        _Gather(missing, AHEAD, partial(self._ask, "values", values.ticket, route), values.keep, over).start()

    def take(self, ticket: int, route: Sequence[Stop], done: Done) -> Wait:
        """Ends with the variables after an update or a later one; with None if nobody has them any more.

        The worker's gradients are not needed any more.
        """
        values, is_new = self._of(ticket)
        with self._lock:
            self._gradients = self._counted = None

        def describe() -> str:
            there = sum(chunk is not None for chunk in values.chunks)
            names = ", ".join(stop.worker for stop in route)
            what = f"{there} of {len(values.chunks)} chunks of the variables are here"
            return f"{what}, the others come by {names}{self._made_at}"

        def told(complete: bool) -> None:
            if complete:
                whole = [chunk for chunk in values.chunks if chunk is not None]
                ending.end(Later(lambda: self.layout.unpack(whole)))
            else:
                log.warning(
                    "%s reads the variables from the servers: the workers that had them are lost, or have gone on",
                    self.worker,
                )
                ending.end(None)

        ending = _Ending(done, describe)
        values.when_whole(told)
        if is_new:
            self._follow(values, list(route))
        return ending
