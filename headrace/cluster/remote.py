"""RemoteRuns: the partitions of one session on a task in another process, as the master sees them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from time import monotonic, time_ns
from typing import Any, Final

from headrace.cluster.op_agreement import user_ops
from headrace.cluster.remote_files import RemoteFiles
from headrace.cluster.request import (
    MOMENT,
    Abort,
    Answer,
    Answered,
    Let,
    Memory,
    Register,
    Release,
    Request,
    Run,
    Statistics,
    Take,
    Trace,
    Waiting,
    Waits,
    Watch,
    asked,
    call,
    lost_receiver,
    send,
)
from headrace.cluster.transport.interface import NO_ANSWER, Peer
from headrace.core import errors
from headrace.core.errors import OpError
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.passes.partition.spare import Spared
from headrace.passes.portable import Portable, holder_of_object
from headrace.resources.calling.copies import to_host
from headrace.resources.state.holder import Holder
from headrace.resources.stepping.saving import current as saving
from headrace.resources.stepping.saving import deferring
from headrace.resources.stepping.step import current
from headrace.resources.stepping.waiting import Done
from headrace.runtime.host import cut_machine
from headrace.runtime.session.causality import shift
from headrace.runtime.session.step_numbers import step_numbers

PATIENCE: Final = 1.0  # seconds for an answer that only people want
ALONG: Final = 8192  # bytes: a larger message may travel in another way than the next ones


@dataclass(slots=True)
class _Delayed:
    """A partition that has not begun yet."""

    request: Run
    feeds: list[Any]
    answered: Answered
    done: Done
    spared: Spared | None

    def is_spared(self, key: str, values: Sequence[Any]) -> bool:
        """Whether a message says that it has nothing to do."""
        one = self.spared
        return one is not None and one.key == key and values[0] is not None and bool(values[0]) is one.value


class RemoteRuns:
    """Thread-safe."""

    def __init__(
        self, peer: Peer, session: str, task: str, incarnation: int, compare: Callable[[int, int], int]
    ) -> None:
        """``incarnation``: that of the task on which the session was begun.

        ``compare``: takes when a question was asked and what the task's clock said then; tells what to add to its times.
        """
        self._compare = compare
        self._peer = peer
        self._session = session
        self._task = task
        self._incarnation = incarnation
        self._origins: dict[int, Mapping[str, Any]] = {}  # of the nodes of each partition, by name
        self._ended: list[int] = []  # steps of which the task is told with the next one
        self._delayed: dict[int, list[_Delayed]] = {}  # by step
        self._unheard: set[int] = set()  # steps in which all partitions of the task were spared
        self._lock = threading.Lock()

    def register(
        self, data: Portable, origins: Mapping[str, Any], routes: Mapping[str, str], sources: Sequence[str],
        writers: Sequence[str],
    ) -> Callable[[], int]:  # fmt: skip
        _check_sendable(data, origins)
        seconds, ops = self._seconds(), user_ops(data)
        request = Register(
            self._session, seconds, data.graphs, data.sources, dict(routes), list(sources), ops, list(writers)
        )
        answer = asked(self._peer, request, data.arrays, seconds)
        return lambda: self._noted(self._answer(answer, request, origins).handle, origins)

    def _noted(self, handle: int, origins: Mapping[str, Any]) -> int:
        self._origins[handle] = origins
        return handle

    def run(self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None) -> None:
        self.hold(handle, step, feeds, done, until)
        self.let_go(step)

    def hold(
        self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None, spared: Spared | None = None
    ) -> None:  # fmt: skip
        """Runs a partition as soon as `send` has something small to go along, or `let_go` is called.

        ``spared``: it does not run if `send` has that for it.
        """
        seconds = None if until is None else max(until - monotonic(), 0.0)
        with self._lock:
            ended, self._ended = self._ended, []
        answered = partial(self._answered, done, self._origins[handle])
        if (later := deferring()) is not None:
            RemoteFiles.leave(later, self._peer, self._session, self._task, step)
        request = Run(
            self._session, handle, step, seconds, ended, oldest=step_numbers.oldest(), deferred=later is not None,
            local=None if saving.saving is None else saving.saving.local,
        )  # fmt: skip
        if later is not None:
            spared = None  # somebody will ask for the files of the step
        self._delayed.setdefault(step, []).append(_Delayed(request, to_host(feeds), answered, done, spared))

    def let_go(self, step: int) -> bool:
        delayed = self._delayed.pop(step, ())
        for one in delayed:
            self._begin(one.request, one.feeds, one.answered)
        return bool(delayed)

    def _begin(self, request: Run, values: Sequence[Any], answered: Answered) -> None:
        try:
            call(self._peer, request, values, answered)
        except TypeError as e:  # it cannot be packed: the partition has ended before it began
            answered(None, [], errors.InvalidArgumentError(None, None, f"nothing was sent to {self._task}: {e}"))

    def send(self, step: int, key: str, values: Sequence[Any]) -> None:
        """What a partition of this process sends to one of the task."""
        delayed = self._delayed.get(step)
        for one in delayed or ():
            if one.is_spared(key, values):
                self._spare(step, one)
                return
        if delayed and self._peer.lost is None and _is_small(values):
            first = delayed.pop()
            self.let_go(step)
            first.request.key, first.request.along = key, len(values)
            self._begin(first.request, [*first.feeds, *values], first.answered)
            return
        if delayed:
            self.let_go(step)
        send(self._peer, self._task, self._session, step, key, values)

    def _spare(self, step: int, one: _Delayed) -> None:
        """A partition is over before it has begun."""
        with self._lock:
            delayed = self._delayed[step] = [other for other in self._delayed[step] if other is not one]
            if not delayed:
                self._unheard.add(step)
            self._ended += one.request.ended  # for the next one
        one.done((), None)

    def give(self, step: int, key: str, value: Any) -> None:
        send(self._peer, self._task, self._session, step, key, to_host([value]))

    def take(self, step: int, keys: Sequence[str], done: Done) -> None:
        call(self._peer, Take(self._session, step, list(keys)), [], partial(self._answered, done, {}))

    def _answered(
        self, done: Done, origins: Mapping[str, Any], answer: Answer, values: list[Any], error: OpError | None
    ) -> None:
        if error is None and answer.incarnation != self._incarnation:
            error = errors.AbortedError(None, None, f"{self._task} was started again while it ran a step")
        done(values if error is None else None, None if error is None else self._explained(error, origins))

    def trace(self, handle: int) -> int:
        seconds, origins = self._seconds(), self._origins[handle]
        return self._noted(self._ask(Trace(self._session, seconds, handle), origins, seconds).handle, origins)

    def statistics(self, handle: int) -> Any:
        seconds = self._seconds()
        asked = time_ns()
        answer = self._ask(Statistics(self._session, seconds, handle), self._origins[handle], seconds)
        stats = protos().StepStats.FromString(answer.statistics)
        shift(stats, self._compare(asked, answer.now))
        return stats

    def holders(self) -> list[Holder]:
        answer = self._ask(Memory(self._session), {}, self._seconds())
        return [Holder(*one) for one in answer.holders]

    @staticmethod
    def _seconds() -> float | None:
        """The time that this thread has for an answer."""
        return None if current.until is None or current.until == inf else max(current.until - monotonic(), MOMENT)

    def _ask(self, request: Request, origins: Mapping[str, Any], seconds: float | None) -> Any:
        """The answer of the task.  ``origins``: of the nodes that an error may be about."""
        return self._answer(asked(self._peer, request, seconds=seconds), request, origins)

    def _answer(self, answer: Callable[[], Any], request: Request, origins: Mapping[str, Any]) -> Any:
        try:
            return answer()
        except OpError as e:
            if NO_ANSWER in e.message:
                asked = f"{self._task} at {self._peer.address} {NO_ANSWER} {request.method!r}"
                raise errors.DeadlineExceededError(None, None, f"the step ran out of time: {asked} {at()}") from e
            raise self._explained(e, origins) from e

    def side(self, handles: Sequence[int] | None) -> RemoteSide:
        return RemoteSide(self._peer, self._session, self._task, handles)

    def waiting(self, step: int) -> str:
        try:
            answer: Waiting = asked(self._peer, Waits(self._session, step), seconds=PATIENCE)()
            return answer.waits
        except OpError:  # the wait that is being told has an end of its own
            return ""

    def abort(self, step: int, error: OpError) -> None:
        with self._lock:
            self._unheard.discard(step)  # it hears of it now, and is to be told when it is over
        self._peer.push(Abort.method, Abort(self._session, step, error.error_code, error.message), [])

    def end(self, step: int) -> bool:
        with self._lock:
            if step in self._unheard:
                self._unheard.discard(step)
                return False
            self._ended.append(step)
            return True

    def keep_out(self, step: int) -> None:
        self.abort(step, errors.CancelledError(None, None, f"step {step} had nothing to do on {self._task}"))
        self.end(step)

    def _explained(self, error: OpError, origins: Mapping[str, Any]) -> OpError:
        """The error with the client's operation; that of a lost connection names the task."""
        name = getattr(error.op, "name", "")
        message = error.message
        if error is self._peer.lost:
            message = lost_receiver(self._task, error).message
        make: Callable[..., OpError] = type(error)
        return make(None, origins.get(name), message)


class RemoteSide:
    """The `Side` of a cut that is on a task in another process."""

    def __init__(self, peer: Peer, session: str, task: str, handles: Sequence[int] | None) -> None:
        self.task = task
        self._peer = peer
        self._session = session
        self._handles = None if handles is None else list(handles)

    def open(self, cut: int, holds: bool, done: Done) -> None:
        self._ask(
            Watch(self._session, cut, self._handles, holds), done,
            lambda answer: [cut_machine.Begun((session, step), tasks) for session, step, tasks in answer.steps],
        )  # fmt: skip

    def let(self, cut: int, keys: Sequence[Any], waits: bool, done: Done) -> None:
        self._ask(Let(self._session, cut, list(keys), waits), done, lambda answer: answer.steps)

    def release(self, cut: int, torn: Sequence[Any], done: Done) -> None:
        steps = [key for key in torn if isinstance(key, tuple)]
        self._ask(
            Release(self._session, cut, steps), done, lambda answer: cut_machine.Outcome(answer.torn, answer.late)
        )

    def _ask(self, request: Request, done: Done, read: Callable[[Any], Any]) -> None:
        def answered(answer: Any, values: list[Any], error: OpError | None) -> None:
            lost = error is not None and error is self._peer.lost
            done(None if error else read(answer), lost_receiver(self.task, error) if lost and error else error)

        call(self._peer, request, [], answered)


def _is_small(values: Sequence[Any]) -> bool:
    """Whether values may go along with another message: one in chunks is overtaken by those after it."""
    sizes = [ALONG if value is None or value.dtype == object else value.nbytes or 1 for value in values]
    return 0 < sum(sizes) < ALONG


def _check_sendable(data: Portable, origins: Mapping[str, Any]) -> None:
    """Refuses a graph with Python objects (the function of a ``py_func``): they mean nothing in another process."""
    found = holder_of_object(data)
    if found is not None:
        node, attr = found
        name, (filename, line, _) = node["name"], data.sources[node["source"]]
        raise errors.InvalidArgumentError(
            None, origins.get(name),
            f"node {name!r} cannot run on another task, {node['device'] or 'any'}: its attribute {attr!r} is a Python object "
            f"({type(data.objects[0]).__name__}). What calls Python (tf.py_func) stays on the client's task, and a client that "
            f"is no task of the cluster has none\n\t [[node {name} ({node['op']}) made at {filename}:{line}]]",
        )  # fmt: skip
