"""TaskService: answers for one task of a cluster: what it is, the sessions on it, their partitions, what others send them.

A session of another process is here a registered graph with its partitions.  It ends when its client says so, or is lost.
"""

from __future__ import annotations

import logging
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, time_ns
from typing import Any, Final

from headrace.cluster.addresses import Addresses, Moves
from headrace.cluster.admission import Admission
from headrace.cluster.bystander import Bystander
from headrace.cluster.health import Health
from headrace.cluster.op_agreement import check_user_ops, own_version
from headrace.cluster.remote_files import wait_for_files
from headrace.cluster.request import (
    Abort,
    Answer,
    Begun,
    Chunk,
    Chunked,
    Close,
    Decide,
    Decided,
    Depart,
    Drop,
    EndSessions,
    Greeting,
    Handle,
    HandOver,
    Hello,
    Here,
    Holders,
    Introduction,
    Inventory,
    Left,
    Let,
    Memory,
    Open,
    Ping,
    Pull,
    Register,
    Release,
    Report,
    Request,
    Reset,
    Run,
    Send,
    Settle,
    StandBy,
    Statistics,
    Status,
    Take,
    TakenOver,
    TakeOver,
    Trace,
    Traced,
    Waiting,
    Waits,
    Watch,
    Watched,
    Write,
    ask,
    call,
    lost_receiver,
    send,
)
from headrace.cluster.residence import Residence
from headrace.cluster.session_config import from_plain
from headrace.cluster.sessions import RemoteSession, Sessions
from headrace.cluster.status import process_status, transport_status, worker_status
from headrace.cluster.step_traces import StepTraces
from headrace.cluster.trace_request import TakeTraces, TraceSteps
from headrace.cluster.transport.interface import CLOSED, Fail, Peer, Reply, Transport
from headrace.cluster.visitors import Visitors, followed
from headrace.core import errors
from headrace.core.errors import OpError
from headrace.core.silence import lost_seconds
from headrace.passes.portable import Portable
from headrace.resources.calling.copies import to_host
from headrace.resources.state.replicas.box import ChunkQuery, Failure, Given, Stop
from headrace.runtime.code.failure import as_told
from headrace.runtime.host.cut import Side
from headrace.runtime.host.registered import RegisteredGraph
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.planning.planner import Planner
from headrace.runtime.session.partition_worker import PartitionWorker
from headrace.runtime.session.partition_worker import Send as SendValues

log = logging.getLogger("headrace.cluster")


@dataclass(slots=True)
class TaskService:
    """Thread-safe.  ``addresses``: where each task of the cluster is, by name."""

    worker: LocalWorker
    addresses: Addresses
    home: str = ""  # the address of this process
    endpoint: Transport | None = None
    takes_over: Callable[[TakeOver], str] | None = (
        None  # takes over another task in this process, and gives its address
    )
    moved: Callable[[], None] | None = None  # called when the task has become another process's
    incarnation: int = field(default_factory=lambda: secrets.randbits(53))
    begun_at: float = field(default_factory=monotonic)
    version: list[str] = field(default_factory=own_version)
    admission: Admission = field(default_factory=Admission)
    visitors: Visitors = field(default_factory=Visitors)
    _sessions: Sessions = field(init=False)
    residence: Residence = field(init=False)
    _bystander: Bystander = field(init=False)
    _traces: StepTraces = field(init=False)
    _peers: dict[str, Peer] = field(default_factory=dict)  # by address: tasks that partitions of this one send to
    _health: Health | None = None  # of these
    _senders: dict[str, str] = field(default_factory=dict)  # the connection by which each of the others sends
    connections: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)  # of the sessions of this process
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.home = self.home or self.addresses[self.worker.task]
        self._sessions = Sessions(self.worker.task)
        self.residence = Residence(self.worker, self.home, self.addresses, self._sessions, self._check_holder)
        boxes = self.worker.boxes
        boxes.address, boxes.elsewhere = self.home, self._ask_box
        self._bystander = Bystander(self.worker, self._sessions, self.residence)
        self._traces = StepTraces(self.worker)

    # ---- the handler

    def handle(self, peer: str, method: str, request: Any, tensors: list[Any], reply: Reply, fail: Fail) -> None:
        """Answers a message, as `DECODERS` read it; longer work is left to the worker's pool."""
        answer = _METHODS.get(method)
        if answer is None:
            fail(errors.UNIMPLEMENTED, f"{self.worker.task} knows no method {method!r}", "")
            return
        message = Message(self, peer, tensors, reply, fail)
        if not request.one_way:
            refusal = self.admission.admit(peer)
            if refusal:
                fail(errors.RESOURCE_EXHAUSTED, f"{self.worker.task} refuses {method!r}: {refusal}", "")
                return
            message.under_way.append(None)
        if request.quick:
            self._answer(answer, request, message)
        else:
            self.worker.pool.submit(partial(self._answer, answer, request, message))

    def _answer(self, answer: Answers, request: Request, message: Message) -> None:
        try:
            answer(self, request, message)
        except Exception as e:  # noqa: BLE001 - the other side raises it
            message.refuse(e)

    def hello(self, request: Hello, message: Message) -> None:
        self._meet(request, message.peer)
        devices = [(d.name, d.device_type, d.memory_limit) for d in self.worker.devices]
        self._learn(request.moves)
        cluster, moves = dict(self.addresses), self.addresses.moves
        message.answer(Greeting(self.incarnation, self.worker.task, cluster, devices, self.version, moves))

    def ping(self, request: Ping, message: Message) -> None:
        self._meet(request, message.peer)
        if request.sends and request.asker is not None:
            self._senders[request.asker.task] = message.peer
        message.answer(Here(self.incarnation, time_ns()))

    def status(self, request: Status, message: Message) -> None:
        """For ``headrace top``."""
        refused = {"too many calls": self.admission.refused}
        message.answer(Report(self.incarnation, {
            "task": self.worker.task, "address": self.addresses.get(self.worker.task, ""), "moves": self.addresses.moves,
            **process_status(self.begun_at), **worker_status(self.worker),
            "visitors": self.visitors.status(lambda peer: len(self._sessions.of_peer(peer))),
            **transport_status(self.endpoint, self.addresses, message.peer, refused),
        }))  # fmt: skip

    def open(self, request: Open, message: Message) -> None:
        """Begins a session, after the end of those that its client has given up: nothing of them comes later."""
        name, client = request.session, self.visitors.client(message.peer)
        self._sessions.fence(request.over, "its client has given it up")
        self._sessions.fence(self._sessions.before(client), "its client was started again")
        config = from_plain(request.config, self.worker.config)
        timeout = config.operation_timeout_in_ms / 1000
        graph = RegisteredGraph(self.worker, timeout, config.isolate_session_state)
        addresses = {**request.cluster, **self.addresses}  # the client may know workers that came later
        send_to = partial(self._send_to, addresses, name, request.task, message.peer)
        partitions = PartitionWorker(Planner(graph, config), send_to, name)
        session = RemoteSession(message.peer, client, graph, partitions, request.cluster.keys())
        again = partial(self._answer, TaskService.open, request, message)
        begun = False
        try:
            begun = self.residence.begin_session(partial(self._sessions.add, name, session), again)
        finally:
            if not begun:
                graph.close()
        if not begun:
            return
        log.info("%s: a session begins (%s)", self.worker.task, name)
        message.answer()

    def register(self, request: Register, message: Message) -> None:
        begun, partitions = monotonic(), self._sessions.find(request.session).partitions
        data = Portable(request.graphs, request.lines, message.tensors)
        check_user_ops(self.worker.task, data, request.ops)
        handle = partitions.register(data, {}, request.routes, request.sources, request.writers)()
        seconds = request.seconds
        if (
            seconds is not None and monotonic() - begun > seconds
        ):  # the client has given up, and would register it again
            partitions.forget(handle)
            late = f"the step ran out of time: {self.worker.task} has registered it in more than {seconds:.3g} s"
            raise errors.DeadlineExceededError(None, None, late)
        message.answer(Handle(self.incarnation, handle))

    def trace(self, request: Trace, message: Message) -> None:
        message.answer(Handle(self.incarnation, self._sessions.find(request.session).partitions.trace(request.handle)))

    def statistics(self, request: Statistics, message: Message) -> None:
        stats = self._sessions.find(request.session).partitions.statistics(request.handle)
        message.answer(Traced(self.incarnation, stats.SerializeToString(), time_ns()))

    def trace_steps(self, request: TraceSteps, message: Message) -> None:
        self._traces.begin(request.asker, request.steps, request.seconds)
        message.answer()

    def take_traces(self, request: TakeTraces, message: Message) -> None:
        message.answer(self._traces.take(request.asker, request.ends, self.incarnation))

    def memory(self, request: Memory, message: Message) -> None:
        holders = self._sessions.find(request.session).partitions.holders()
        message.answer(Holders(self.incarnation, [(*one,) for one in holders]))

    def run(self, request: Run, message: Message) -> None:
        session = self._sessions.find(request.session)
        for step in request.ended:
            session.partitions.end(step)
        session.partitions.heard(request.oldest)
        until = None if request.seconds is None else monotonic() + request.seconds
        feeds = message.tensors
        if request.key:
            if not 0 < request.along <= len(feeds):
                why = f"{request.along} of {len(feeds)} tensors are said to go along with a step; one at least, all at most can"
                raise errors.InvalidArgumentError(None, None, why)
            feeds, along = feeds[: -request.along], feeds[-request.along :]
            self.worker.rendezvous.send(request.step, request.key, along)
        with session.partitions.saving(request.step, request.deferred, request.local):
            session.run(request.handle, request.step, feeds, message.done, until)

    def write(self, request: Write, message: Message) -> None:
        self._sessions.find(request.session).partitions.write_files(request.step, request.stage)
        message.answer()

    def drop(self, request: Drop, message: Message) -> None:
        self._sessions.find(request.session).partitions.drop_files(request.step)

    def waits(self, request: Waits, message: Message) -> None:
        said = self._sessions.find(request.session).partitions.waiting(request.step)
        message.answer(Waiting(self.incarnation, said))

    def abort(self, request: Abort, message: Message) -> None:
        error = errors.make_error(None, None, request.message, request.code)
        self._sessions.find(request.session).partitions.abort(request.step, error)

    def send(self, request: Send, message: Message) -> None:
        """The sender waits for no answer: what cannot be kept ends its connection, and with that the step."""
        if self._sessions.is_over(request.session):
            return
        try:
            self.worker.rendezvous.send(request.step, request.key, message.tensors)
        except errors.ResourceExhaustedError as e:
            sender = self.endpoint.peer(message.peer) if self.endpoint is not None else None
            if sender is not None:
                sender.close(errors.ResourceExhaustedError(None, None, f"{self.worker.task}: {e.message}"))

    def take(self, request: Take, message: Message) -> None:
        self._sessions.find(request.session).partitions.take(request.step, request.keys, message.done)

    def watch(self, request: Watch, message: Message) -> None:
        def told(begun: Any, error: BaseException | None) -> None:
            if error is not None:
                message.refuse(error)
            else:
                message.answer(Begun(self.incarnation, [(*one.key, list(one.tasks)) for one in begun]))

        self._side(request.session, request.handles).open(request.cut, request.holds, told)

    def let(self, request: Let, message: Message) -> None:
        def told(left: Any, error: BaseException | None) -> None:
            if error is not None:
                message.refuse(error)
            else:
                message.answer(Left(self.incarnation, [key for key in left if isinstance(key, tuple)]))

        self._side(request.session).let(request.cut, request.steps, request.waits, told)

    def release(self, request: Release, message: Message) -> None:
        outcome = self.worker.writers.release(request.cut, request.torn)
        message.answer(Watched(self.incarnation, outcome.torn, outcome.late))

    def _side(self, session: str, handles: Sequence[int] | None = None) -> Side:
        return self._sessions.find(session).partitions.side(handles)

    def chunk(self, request: Chunk, message: Message) -> None:
        def given(chunk: Any, failure: Failure | None) -> None:
            if failure is not None:
                message.answer(Chunked(self.incarnation, *failure))
            else:
                message.answer(Chunked(self.incarnation), [chunk])

        self.worker.boxes.give(request.box, request.query, given)

    def close_session(self, request: Close, message: Message) -> None:
        self._sessions.fence([request.session], "its client has closed it")
        message.answer()

    def reset(self, request: Reset, message: Message) -> None:
        for name in request.containers:
            self.worker.resources.reset(name)
        message.answer()

    # ---- moves

    def _learn(self, moves: Moves) -> None:
        """Somebody has said where tasks are now."""
        for task in self.addresses.learn(moves):
            self._senders.pop(task, None)
            if task == self.worker.task:  # it was started again here, and nobody knew that it is elsewhere
                self.worker.pool.submit(self._leave_to_another)

    def _leave_to_another(self) -> None:
        self._sessions.fence(self._sessions.names(), f"{self.worker.task} has moved to {self.residence.gone_to}")
        if self.moved is not None:
            self.moved()

    def take_over(self, request: TakeOver, message: Message) -> None:
        if self.takes_over is None:
            raise errors.UnimplementedError(None, None, f"the process of {self.worker.task} can take over no task")
        message.answer(TakenOver(self.incarnation, self.takes_over(request)))

    def depart(self, request: Depart, message: Message) -> None:
        message.answer(Inventory(self.incarnation, self.residence.depart(request, message.peer)))

    def pull(self, request: Pull, message: Message) -> None:
        message.answer(tensors=self.residence.pull(request.spans, message.peer))

    def settle(self, request: Settle, message: Message) -> None:
        message.answer(Inventory(self.incarnation, self.residence.settle(message.peer)))

    def hand_over(self, request: HandOver, message: Message) -> None:
        self.residence.hand_over(message.peer)
        message.answer()
        with self._lock:  # nothing is sent from here any more
            peers = list(self._peers.values())
            self._peers.clear()
        for peer in peers:
            peer.close()
        if self.moved is not None:
            self.moved()

    def stand_by(self, request: StandBy, message: Message) -> None:
        address = self.addresses[request.task]

        def has_settled() -> bool:
            assert self.endpoint is not None
            peer = self.endpoint.connect(address, lost_seconds())
            try:
                decided: Decided = ask(peer, Decide(request.holder))
                return decided.settled
            finally:
                peer.close()

        self._bystander.stand_by(request.task, request.holder, has_settled, partial(self._check_holder, request.holder))
        message.answer()

    def decide(self, request: Decide, message: Message) -> None:
        self.residence.when_decided(request.holder, lambda settled: message.answer(Decided(self.incarnation, settled)))

    def end_sessions(self, request: EndSessions, message: Message) -> None:
        self._bystander.end_sessions(request.task, request.holder)
        self._bystander.note_ended(request.holder)
        message.answer()

    def _check_holder(self, session: str) -> None:
        """Raises unless a session has kept steps from writing ever since it began to."""
        if not self.worker.writers.holds(self._sessions.find(session).graph.owner):
            why = f"session {session} does not hold up the steps that write on {self.worker.task}, or not any more"
            raise errors.AbortedError(None, None, why)

    # ---- sessions and tasks

    @property
    def introduction(self) -> Introduction:
        """What this task says of itself when it connects to another."""
        return Introduction(self.worker.task, self.incarnation, self.addresses.get(self.worker.task, ""))

    def tasks_with_sessions(self) -> list[str]:
        """The other tasks that have sessions here."""
        clients = [session.standing.client for session in self._sessions.values()]
        return sorted({client.task for client in clients if client is not None and client.task})

    def _meet(self, request: Hello | Ping, peer: str) -> None:
        """Somebody has connected: raises if it takes this task for another, or is not its task any more."""
        expected, who = request.expected or self.worker.task, request.asker
        by = peer if who is None else f"{who.task or 'a client'} at {who.address}"
        if expected != self.worker.task:
            log.warning("%s is taken for %s by %s: their cluster specs differ", self.worker.task, expected, by)
            here = f"{expected} is said to be at {self.addresses.get(self.worker.task)}, but {self.worker.task} answers there"
            raise errors.InvalidArgumentError(None, None, here)
        if request.expected and isinstance(request, Ping):  # a greeting says where the task is
            self.residence.check_here()
        if who is None:
            return
        before = self.visitors.meet(who, peer, None if self.endpoint is None else self.endpoint.peer(peer))
        for old in [] if before is None else list(before.peers.values()):
            if before is not None and old is not None:
                log.warning("%s: %s", self.worker.task, followed(who, before.who))
                old.close(errors.AlreadyExistsError(None, None, followed(who, before.who)))

    def lost(self, peer: str, error: OpError) -> None:
        """Ends the sessions of a client that is gone, and the steps that a task that is gone would have sent to."""
        self.visitors.leave(peer)
        self.residence.lost(peer)
        for task, sender in list(self._senders.items()):
            if sender == peer:
                del self._senders[task]
                why = f"{task} can send nothing to {self.worker.task} any more: {error.message}"
                self._task_lost(task, errors.UnavailableError(None, None, why))
        # A program may end without closing its session.
        level = logging.INFO if error.message.endswith(CLOSED) else logging.WARNING
        for name in self._sessions.of_peer(peer):
            log.log(level, "%s: the client of session %s is lost: %s", self.worker.task, name, error.message)
            why = f"its client was lost: {error.message}"
            self.worker.pool.submit(partial(self._sessions.end, name, why))

    def _send_to(
        self, addresses: Mapping[str, str], session: str, client: str | None, connection: str, task: str
    ) -> SendValues:
        """What sends to another task of a session's cluster: the client's own over the connection that it has made.

        Waits until that task answers: what is sent must arrive.
        """
        peer = None
        if self.endpoint is not None:
            peer = self.endpoint.peer(connection if task == client else self._senders.get(task, ""))
        if peer is None:
            peer = self._peer(addresses, task)
            try:
                ask(peer, self._ping_of(task), seconds=lost_seconds())
            except OpError as e:
                raise lost_receiver(task, e) from None
        return partial(send, peer, task, session)

    def _peer(self, addresses: Mapping[str, str], task: str) -> Peer:
        visitor = self.visitors.of_task(task)
        if visitor is not None and visitor.can_be_dialed and not self.addresses.times_moved(task):
            address: str | None = visitor.who.address
        else:
            address = addresses.get(task)
        if address is None or self.endpoint is None:
            raise errors.InvalidArgumentError(
                None, None, f"{self.worker.task} knows no address of {task}; it knows {', '.join(sorted(addresses))}"
            )
        with self._lock:
            if self._health is None:
                self._health = Health(self.endpoint, self._ping_of, self._task_lost)
            peer = self._peers.get(address)
            if peer is None or peer.lost is not None:
                peer = self._peers[address] = self.endpoint.connect(address)
                self._health.watch(task, peer, lost_seconds())
            return peer

    def _ask_box(self, stop: Stop, query: ChunkQuery, given: Given) -> None:
        """Asks a box of another task; one that cannot be reached is a failure of its own."""

        def answered(answer: Any, tensors: list[Any], error: OpError | None) -> None:
            if error is not None:
                given(None, Failure(stop.box, lost_receiver(stop.task, error).message))
            elif answer.why or len(tensors) != 1:
                given(None, Failure(answer.box or stop.box, answer.why or f"it has answered {len(tensors)} tensors"))
            else:
                given(tensors[0], None)

        try:
            call(self._peer({stop.task: stop.address}, stop.task), Chunk(stop.box, query), [], answered)
        except OpError as e:
            answered(None, [], e)

    def _ping_of(self, task: str) -> Ping:
        """What this task says to another to which it is going to send."""
        return Ping(task, self.introduction, sends=True)

    def _task_lost(self, task: str, error: OpError) -> None:
        """Ends the steps here that involve a task to or from which nothing comes any more."""
        for session in self._sessions.values():
            session.partitions.lose(task, error)
        for connection in list(self.connections):
            connection.lose(task, error)

    def close(self) -> None:
        """Ends all sessions and connections, when what sessions of this process save elsewhere is written."""
        wait_for_files()
        self._sessions.close()
        if self._health is not None:
            self._health.close()
        if self.endpoint is not None:
            self.endpoint.close()


class Message:
    """A request that is to be answered once."""

    __slots__ = ("_fail", "_reply", "_service", "peer", "tensors", "under_way")

    def __init__(self, service: TaskService, peer: str, tensors: list[Any], reply: Reply, fail: Fail) -> None:
        self._service = service
        self.peer = peer
        self.tensors = tensors
        self.under_way: list[None] = []  # one while the call counts as under way
        self._reply = reply
        self._fail = fail

    def answer(self, answer: Answer | None = None, tensors: Sequence[Any] = ()) -> None:
        self._reply(answer or Answer(self._service.incarnation), tensors)
        self._leave()

    def _leave(self) -> None:
        """The call is answered, unless answering has raised: then its error is still to come."""
        try:
            self.under_way.pop()
        except IndexError:  # nobody waits, or this is the second answer
            return
        self._service.admission.leave(self.peer)

    def done(self, results: Sequence[Any] | None, error: BaseException | None) -> None:
        """Answers with the values of a partition, or with its error."""
        if error is not None:
            self.refuse(error)
        else:
            self.answer(tensors=to_host(results) if results else ())

    def refuse(self, error: BaseException) -> None:
        """Answers with an error: its code, what it says, and the name of the node it is about."""
        self._fail(*as_told(error))
        self._leave()


Answers = Callable[[TaskService, Any, Message], None]
_METHODS: Final[dict[str, Answers]] = {
    "hello": TaskService.hello,
    "ping": TaskService.ping,
    "status": TaskService.status,
    "open": TaskService.open,
    "register": TaskService.register,
    "trace": TaskService.trace,
    "statistics": TaskService.statistics,
    "tracesteps": TaskService.trace_steps,
    "taketraces": TaskService.take_traces,
    "memory": TaskService.memory,
    "run": TaskService.run,
    "waits": TaskService.waits,
    "abort": TaskService.abort,
    "take": TaskService.take,
    "send": TaskService.send,
    "write": TaskService.write,
    "drop": TaskService.drop,
    "watch": TaskService.watch,
    "let": TaskService.let,
    "release": TaskService.release,
    "chunk": TaskService.chunk,
    "close": TaskService.close_session,
    "reset": TaskService.reset,
    "takeover": TaskService.take_over,
    "depart": TaskService.depart,
    "pull": TaskService.pull,
    "settle": TaskService.settle,
    "handover": TaskService.hand_over,
    "standby": TaskService.stand_by,
    "decide": TaskService.decide,
    "endsessions": TaskService.end_sessions,
}
