"""What a process asks of a task: a struct for each method and for its answer, and how it is asked.

The structs are checked where they arrive: a service reads no field that was not sent with its type.  Tensors travel beside them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, ClassVar, Final

import msgspec

from headrace.cluster.addresses import Moves
from headrace.cluster.transport.interface import Decode, Peer, Tensors
from headrace.core import errors
from headrace.core.errors import OpError
from headrace.resources.state.replicas.box import ChunkQuery

log = logging.getLogger("headrace.cluster")

SAY_AFTER: Final = 10.0  # seconds after which a wait for another task is told, again and again
MOMENT: Final = 0.2  # seconds between two looks at the clock while an answer is awaited


class Answer(msgspec.Struct):
    """``incarnation``: of the task that answers, a number that another start of it has not."""

    incarnation: int


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """A method and what it takes; ``method`` is the name of the class in small letters."""

    method: ClassVar[str] = ""
    answer: ClassVar[type[Answer]] = Answer
    one_way: ClassVar[bool] = False  # it is not answered
    quick: ClassVar[bool] = False  # it neither plans, waits nor computes: it runs on the I/O thread

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.method = cls.__name__.lower()


class Introduction(msgspec.Struct):
    """What a process says of itself when it connects to a task.  ``task``: the one that it is; empty if it is none."""

    task: str
    incarnation: int
    address: str


class Greeting(Answer):
    """A task, its cluster (addresses by task), its devices (name, type, bytes of memory), its version of Headrace.

    ``moves``: the tasks that are not where the cluster spec says (`cluster.addresses`).
    """

    task: str
    cluster: dict[str, str]
    devices: list[tuple[str, str, int]]
    headrace: list[str]
    moves: Moves = {}


class Hello(Request):
    """Who is there?  ``expected``: the task that should be, if the asker knows.  ``moves``: those that the asker knows of."""

    answer = Greeting
    quick = True
    expected: str | None = None
    asker: Introduction | None = None
    moves: Moves = {}


class Here(Answer):
    """The task's time of day, in nanoseconds; 0 from one that does not say it."""

    now: int = 0


class Ping(Request):
    """Is anybody there?  ``sends``: the asker, a task, is going to send over this connection."""

    answer = Here
    quick = True
    expected: str | None = None
    asker: Introduction | None = None
    sends: bool = False


class Report(Answer):
    """What a task is doing, for people to read: see `headrace.cluster.status`."""

    status: dict[str, Any]


class Status(Request):
    """What is the task doing?"""

    answer = Report


class Open(Request):
    """Begins a session.  ``cluster``: the tasks it uses, with their addresses; ``task``: the one it belongs to, if any.

    ``over``: sessions of the same process that are over, though the task may not have heard of it.
    """

    session: str
    config: dict[str, Any]
    cluster: dict[str, str]
    task: str | None = None
    over: list[str] = []


class Handle(Answer):
    """By which a partition is run."""

    handle: int


class Register(Request):
    """Keeps a partition: its graph (`passes.portable`), whose arrays are the tensors, and where it sends and takes."""

    answer = Handle
    session: str
    seconds: float | None
    graphs: list[dict[str, Any]]
    lines: list[tuple[str, int, str]]
    routes: dict[str, str]
    sources: list[str]
    ops: dict[str, tuple[str, str, str]]  # that the user declared: digest, signature, location
    writers: list[str] = []  # tasks on which its steps write variables


class Trace(Request):
    """Keeps a partition once more, for steps that are traced."""

    answer = Handle
    session: str
    seconds: float | None
    handle: int


class Traced(Answer):
    """StepStats, as protobuf writes them, and the task's time of day in nanoseconds."""

    statistics: bytes
    now: int


class Statistics(Request):
    """What did a traced partition do in its last step?"""

    answer = Traced
    session: str
    seconds: float | None
    handle: int


class Holders(Answer):
    """Who holds memory: what `headrace.resources.state.holder.Holder` has, in its order."""

    holders: list[tuple[str, str, str, int, str]]


class Memory(Request):
    """Who holds memory on the task for a session?"""

    answer = Holders
    session: str


class Run(Request):
    """Runs a partition in a step; the tensors are its feeds, those of the answer its results.  ``ended``: steps to forget.

    ``key``: of what a partition of the sender sends along, if anything: the last tensors, so many.
    """

    quick = True
    session: str
    handle: int
    step: int
    seconds: float | None
    ended: list[int]
    key: str = ""
    along: int = 0
    oldest: int = 0  # all steps of the client with smaller numbers are over
    deferred: bool = False  # what it saves is copied, and written when `Write` comes
    local: tuple[str, str] | None = (
        None  # a folder on the task's own disk for these files, and the prefix of the checkpoint
    )


class Waiting(Answer):
    """In words; empty if for nothing."""

    waits: str


class Waits(Request):
    """What do the partitions of a step wait for?"""

    answer = Waiting
    session: str
    step: int


class Abort(Request):
    """Ends a step with an error."""

    one_way = quick = True
    session: str
    step: int
    code: int
    message: str


class Take(Request):
    """Takes what partitions of a step leave for the client; answered when all is there."""

    quick = True
    session: str
    step: int
    keys: list[str]


class Send(Request):
    """What a partition sends to one of another task: the tensors."""

    one_way = quick = True
    step: int
    key: str
    session: str = ""


class Write(Request):
    """Writes what the saves of a step have left for later, of one stage (`resources.stepping.saving`)."""

    session: str
    step: int
    stage: int


class Drop(Request):
    """Lets what the saves of a step have left go, and ends the writing of it."""

    one_way = quick = True
    session: str
    step: int


class Begun(Answer):
    """Steps of several tasks that have begun here, by session and number, and the tasks on which they write variables."""

    steps: list[tuple[str, int, list[str]]]


class Watch(Request):
    """Watches variables that are to be saved: those of partitions, or all of the task.  ``holds``: nobody writes them."""

    answer = Begun
    quick = True  # so its release cannot overtake it
    session: str
    cut: int
    handles: list[int] | None
    holds: bool


class Left(Answer):
    """Steps that are not over here, by session and number."""

    steps: list[tuple[str, int]]


class Let(Request):
    """Lets steps write what is watched; answered, if it ``waits``, when they are over."""

    answer = Left
    quick = True
    session: str
    cut: int
    steps: list[tuple[str, int]]
    waits: bool


class Watched(Answer):
    """The variables that others wrote while they were watched, and the steps that are still waited for, in words."""

    torn: list[str]
    late: list[str]


class Release(Request):
    """Ends a watch, and with it what is held up.  ``torn``: steps that are not over somewhere."""

    answer = Watched
    quick = True
    session: str
    cut: int
    torn: list[tuple[str, int]]


class Chunked(Answer):
    """The tensor is the chunk; if there is none, ``why``, and at which ``box``."""

    box: int = 0
    why: str = ""


class Chunk(Request):
    """What workers pass on among themselves (`resources.state.replicas.box`): asks a box of the task for a chunk."""

    answer = Chunked
    quick = True
    box: int
    query: ChunkQuery


class Close(Request):
    """Ends a session."""

    session: str


class Reset(Request):
    """Empties containers."""

    containers: list[str]


# ---- a task moves to another process


class TakenOver(Answer):
    """``address``: where the task is now."""

    address: str


class TakeOver(Request):
    """To a server: take over a task, and answer when that is done.

    ``seconds``: for the steps under way to end.  ``port``: where the task is to listen; 0: any that is free.
    """

    answer = TakenOver
    task: str
    cluster: dict[str, str]
    moves: Moves
    seconds: float
    port: int = 0


class ParcelHead(msgspec.Struct):
    """A `resources.state.movable.Parcel` without its tensors: of these the dtypes, "string" among them, and shapes."""

    container: str
    class_name: str
    name: str
    device: str
    data: dict[str, Any]
    tensors: list[tuple[str, list[int]]]


class Inventory(Answer):
    """What is to be pulled."""

    parcels: list[ParcelHead]


class Depart(Request):
    """To a task: a process is going to take it over.  Answered with its variables, which the process can `Pull` then.

    ``address``: where the task will be.  ``holder``: the session that keeps steps from writing meanwhile, by a cut.
    """

    answer = Inventory
    address: str
    holder: str


class Pull(Request):
    """Bytes of tensors of a task that departs: (number of the tensor, first byte, count) each.  Strings come whole."""

    spans: list[tuple[int, int, int]]


class Settle(Request):
    """Ends the sessions on a task that departs, and lets none begin.  Answered with all but its variables."""

    answer = Inventory


class HandOver(Request):
    """The task is the asker's from now on: the point of no return."""


class StandBy(Request):
    """To the other tasks of the job: what the ``holder``, as in `Depart`, holds up stays so until the task has decided."""

    task: str
    holder: str


class Decided(Answer):
    """``settled``: whether the task has ended its sessions."""

    settled: bool


class Decide(Request):
    """How has the move ended for which this session held up steps?  Answered as soon as that is known."""

    answer = Decided
    holder: str


class EndSessions(Request):
    """Ends the sessions that use a task, which has ended its own, but not that of the ``holder``."""

    task: str
    holder: str


def decoder(struct: type[Request]) -> Decode:
    """What makes a request of the bytes that a sender has sent; InvalidArgumentError says what is wrong with them."""
    decode = msgspec.msgpack.Decoder(struct).decode

    def decoded(data: Any, sender: str) -> Request:
        try:
            return decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as e:
            raise _without_fields(sender, struct, e) from None

    return decoded


Answered = Callable[[Any, list[Any], OpError | None], None]


def parsed(payload: dict[str, Any], struct: type[msgspec.Struct], sender: str) -> Any:
    """What was received, as a struct.  InvalidArgumentError: it is not one."""
    try:
        return msgspec.convert(payload, struct)
    except (msgspec.ValidationError, RecursionError) as e:
        raise _without_fields(sender, struct, e) from None


def _without_fields(sender: str, struct: type[msgspec.Struct], problem: Exception) -> OpError:
    return errors.InvalidArgumentError(
        None, None, f"what came from {sender} does not have the fields of {struct.__name__}: {problem}"
    )


def call(peer: Peer, request: Request, tensors: Tensors, done: Answered, seconds: float | None = None) -> None:
    """Asks, and tells ``done`` the answer, its tensors, or the error."""

    def answered(reply: dict[str, Any], values: list[Any], error: OpError | None) -> None:
        answer = None
        if error is None:
            try:
                answer = parsed(reply, request.answer, peer.address)
            except OpError as e:
                error = e
        done(answer, values, error)

    peer.call(request.method, request, tensors, answered, seconds)


def send(peer: Peer, task: str, session: str, step: int, key: str, values: Tensors) -> None:
    """Sends values of a session's step to a task; raises if that is lost."""
    if peer.lost is not None:
        raise lost_receiver(task, peer.lost)
    peer.push(Send.method, Send(step, key, session), values, order=f"{step}/{key}")


def lost_receiver(task: str, error: OpError) -> OpError:
    """The error of a step that has something to send to a lost task."""
    if task in error.message:
        return error
    return errors.UnavailableError(None, None, f"{task} cannot be reached: {error.message}")


class Asked:
    """Requests to several peers whose answers one thread waits for.  They are known by names."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.failed: dict[str, OpError] = {}
        self.missing: dict[str, Peer] = {}
        self._changed = threading.Condition()

    def ask(
        self, name: str, peer: Peer, request: Request, tensors: Sequence[Any] = (), seconds: float | None = None
    ) -> None:
        def done(answer: Any, values: list[Any], error: OpError | None) -> None:
            with self._changed:
                if self.missing.get(name) is not peer:  # another was asked in its place
                    return
                del self.missing[name]
                if error is None:
                    self.answers[name] = answer
                else:
                    self.failed[name] = error
                self._changed.notify_all()

        self.missing[name] = peer
        call(peer, request, tensors, done, seconds)

    def wait(self, waits_for: str, until: float | None = None, enough: int | None = None) -> bool:
        """Waits until all, or ``enough``, have answered or one has failed; False if it is ``until`` first.  Ctrl-C gets through.

        Says from time to time that it ``waits_for`` those that are missing.
        """
        said = monotonic()
        with self._changed:
            while self.missing and not self.failed and (enough is None or len(self.answers) < enough):
                if until is not None and monotonic() > until:
                    return False
                if monotonic() - said >= SAY_AFTER:
                    said = monotonic()
                    log.warning("%s %s", waits_for, self.whom())
                self._changed.wait(MOMENT)
        return True

    def forget(self, name: str) -> None:
        """Whatever this one answers, or has answered, does not count."""
        with self._changed:
            self.missing.pop(name, None)
            self.answers.pop(name, None)
            self.failed.pop(name, None)

    def whom(self) -> str:
        """Those that are missing, in words."""
        return ", ".join(f"{name} at {peer.address}".removeprefix(" at ") for name, peer in list(self.missing.items()))


def ask(peer: Peer, request: Request, tensors: Sequence[Any] = (), seconds: float | None = None) -> Any:
    """Asks a peer and waits for the answer; raises its error."""
    return asked(peer, request, tensors, seconds)()


def asked(peer: Peer, request: Request, tensors: Sequence[Any] = (), seconds: float | None = None) -> Callable[[], Any]:
    """Asks a peer; returns what waits for the answer, and raises its error."""
    one = Asked()
    one.ask("", peer, request, tensors, seconds)

    def answer() -> Any:
        what = "a server to answer at" if isinstance(request, Hello) else f"the answer to {request.method!r} from"
        one.wait(f"still waiting for {what}")
        for error in one.failed.values():
            raise error
        return one.answers[""]

    return answer
