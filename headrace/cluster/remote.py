"""RemoteRuns: the partitions of one session on a task in another process, as the master sees them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Final

from headrace.cluster.op_agreement import user_ops
from headrace.cluster.transport.interface import NO_ANSWER, Peer
from headrace.cluster.transport.portable_codec import encode_portable
from headrace.core import errors
from headrace.core.errors import OpError
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.passes.portable import Portable
from headrace.resources.stepping.step import current
from headrace.resources.stepping.waiting import Done

log = logging.getLogger("headrace.cluster")

SAY_AFTER: Final = 10.0  # seconds after which a wait for another task is told, again and again
MOMENT: Final = 0.2  # seconds between two looks at the clock while an answer is awaited


def ask(
    peer: Peer, method: str, payload: Mapping[str, Any], tensors: Sequence[Any] = (), seconds: float | None = None
) -> dict[str, Any]:
    """Calls a peer and waits for the answer; raises its error.  Ctrl-C gets through."""
    answered = threading.Event()
    outcome: list[Any] = []

    def done(reply: dict[str, Any], values: list[Any], error: OpError | None) -> None:
        outcome.append((reply, error))
        answered.set()

    peer.call(method, payload, tensors, done, seconds)
    said = monotonic()
    while not answered.wait(MOMENT):
        if monotonic() - said >= SAY_AFTER:
            said = monotonic()
            what = "a server to answer at" if method == "hello" else f"the answer to {method!r} from"
            log.warning("still waiting for %s %s", what, peer.address)
    reply, error = outcome[0]
    if error is not None:
        raise error
    return reply  # type: ignore[no-any-return]


def lost_receiver(task: str, error: OpError) -> OpError:
    """The error of a step that has something to send to a lost task."""
    if task in error.message:
        return error
    return errors.UnavailableError(None, None, f"{task} cannot be reached: {error.message}")


class RemoteRuns:
    """Thread-safe."""

    def __init__(self, peer: Peer, session: str, task: str, incarnation: int) -> None:
        """``incarnation``: that of the task on which the session was begun."""
        self._peer = peer
        self._session = session
        self._task = task
        self._incarnation = incarnation
        self._origins: dict[int, Mapping[str, Any]] = {}  # of the nodes of each partition, by name
        self._ended: list[int] = []  # steps of which the task is told with the next one
        self._lock = threading.Lock()

    def register(
        self, data: Portable, origins: Mapping[str, Any], routes: Mapping[str, str], sources: Sequence[str]
    ) -> int:
        try:
            text, arrays = encode_portable(data)
        except OpError as e:
            raise self._explained(e, origins) from e
        payload = {"graph": text, "routes": dict(routes), "ops": user_ops(data), "sources": list(sources)}
        handle: int = self._ask("register", payload, origins, arrays)["handle"]
        self._origins[handle] = origins
        return handle

    def run(self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None) -> None:
        seconds = None if until is None else max(until - monotonic(), 0.0)
        origins = self._origins[handle]

        def answered(reply: dict[str, Any], values: list[Any], error: OpError | None) -> None:
            if error is None and reply["incarnation"] != self._incarnation:
                error = errors.AbortedError(None, None, f"{self._task} was started again while it ran a step")
            done(values if error is None else None, None if error is None else self._explained(error, origins))

        with self._lock:
            ended, self._ended = self._ended, []
        payload = {"session": self._session, "handle": handle, "step": step, "seconds": seconds, "ended": ended}
        self._peer.call("run", payload, [_plain(value) for value in feeds], answered)

    def give(self, step: int, key: str, value: Any) -> None:
        if self._peer.lost is not None:
            raise lost_receiver(self._task, self._peer.lost)
        self._peer.push("send", {"step": step, "key": key}, [_plain(value)], order=f"{step}/{key}")

    def take(self, step: int, keys: Sequence[str], done: Done) -> None:
        def answered(reply: dict[str, Any], values: list[Any], error: OpError | None) -> None:
            done(values if error is None else None, None if error is None else self._explained(error, {}))

        self._peer.call("take", {"session": self._session, "step": step, "keys": list(keys)}, [], answered)

    def trace(self, handle: int) -> int:
        traced: int = self._ask("trace", {"handle": handle}, self._origins[handle])["handle"]
        self._origins[traced] = self._origins[handle]
        return traced

    def statistics(self, handle: int) -> Any:
        reply = self._ask("statistics", {"handle": handle}, self._origins[handle])
        return protos().StepStats.FromString(reply["statistics"])

    def _ask(
        self, method: str, payload: Mapping[str, Any], origins: Mapping[str, Any], tensors: Sequence[Any] = ()
    ) -> dict[str, Any]:
        """The answer of the task, while this thread has time.  ``origins``: of the nodes that an error may be about."""
        seconds = None if current.until is None else max(current.until - monotonic(), MOMENT)
        try:
            asked = {"session": self._session, "seconds": seconds, **payload}
            return ask(self._peer, method, asked, tensors, seconds)
        except OpError as e:
            if NO_ANSWER in e.message:
                why = f"the step ran out of time: {self._task} at {self._peer.address} {NO_ANSWER} {method!r} {at()}"
                raise errors.DeadlineExceededError(None, None, why) from e
            raise self._explained(e, origins) from e

    def abort(self, step: int, error: OpError) -> None:
        payload = {"session": self._session, "step": step, "code": error.error_code, "message": error.message}
        self._peer.push("abort", payload, [])

    def end(self, step: int) -> None:
        with self._lock:
            self._ended.append(step)

    def _explained(self, error: OpError, origins: Mapping[str, Any]) -> OpError:
        """The error with the client's operation; that of a lost connection names the task."""
        name = getattr(error.op, "name", "")
        message = error.message
        if error is self._peer.lost:
            message = lost_receiver(self._task, error).message
        make: Callable[..., OpError] = type(error)
        return make(None, origins.get(name), message)


def _plain(value: Any) -> Any:
    return value.cpu() if hasattr(value, "cpu") else value
