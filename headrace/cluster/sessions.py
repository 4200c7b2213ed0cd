"""Sessions: those of other processes on a task, and those that are over.

The name of a session is its client's choice, and never used again.  One that is over stays over: whatever comes late in its
name is refused, its beginning too.  `Sessions.fence` returns when none of its steps changes anything any more.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, Final

from headrace.cluster.admission import SESSIONS
from headrace.cluster.request import Introduction
from headrace.core import errors
from headrace.resources.stepping.waiting import Done
from headrace.runtime.host.registered import RegisteredGraph
from headrace.runtime.session.partition_worker import PartitionWorker

OVER: Final = 2 * SESSIONS  # that are known to be over: all that there may be, lost twice


class Standing:
    """Whether a session is over, and how many of its steps are under way.  Thread-safe."""

    def __init__(self, client: Introduction | None) -> None:
        self.client = client
        self.over = ""  # why
        self._numbers = itertools.count()
        self._steps: set[int] = set()
        self._idle = threading.Condition()

    @property
    def under_way(self) -> int:
        return len(self._steps)

    def begin(self, done: Done) -> Done:
        """A step begins; returns what it calls at its end.  AbortedError if the session is over."""
        number = next(self._numbers)
        self._steps.add(number)
        if self.over:  # looked at after adding: `wait` looks for steps after the session is over
            self._leave(number)
            raise self._aborted()
        return partial(self._end, number, done)

    def _end(self, number: int, done: Done, results: Any, error: BaseException | None) -> None:
        self._leave(number)
        done(results, self._aborted() if error is not None and self.over else error)

    def _aborted(self) -> errors.OpError:
        return errors.AbortedError(None, None, f"the session is over: {self.over}")

    def _leave(self, number: int) -> None:
        self._steps.discard(number)
        if self.over:
            with self._idle:
                self._idle.notify_all()

    @property
    def is_idle(self) -> bool:
        return not self._steps

    def end(self, why: str) -> None:
        """No step begins any more."""
        self.over = self.over or why

    def wait(self) -> None:
        """Waits until no step is under way, of a session that is over."""
        with self._idle:
            self._idle.wait_for(lambda: self.is_idle)


class RemoteSession:
    """A session of another process on this task."""

    def __init__(
        self, peer: str, client: Introduction | None, graph: RegisteredGraph, partitions: PartitionWorker,
        tasks: Collection[str] = (),
    ) -> None:  # fmt: skip
        """``peer``: the connection of its client.  ``tasks``: those that it uses."""
        self.peer = peer
        self.tasks = tasks
        self.standing = Standing(client)
        self.graph = graph
        self.partitions = partitions

    def run(self, handle: int, step: int, feeds: Sequence[Any], done: Done, until: float | None) -> None:
        """Begins to run a partition, and tells ``done`` its results or its error."""
        over = self.standing.begin(done)
        try:
            self.partitions.run(handle, step, feeds, over, until)
        except Exception as e:  # noqa: BLE001 - the client raises it
            over(None, e)

    def only_waits(self) -> bool:
        """Whether all its steps that are under way wait for something, or are held up."""
        waiting = sum(bool(step.waits) for step in self.graph.steps.status())
        return self.standing.under_way <= waiting + self.graph.writers.held_up(self.partitions.session)

    def close(self) -> None:
        """Ends its steps, which may take a while."""
        self.graph.close()
        self.partitions.close()


class Sessions:
    """Thread-safe."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._live: dict[str, RemoteSession] = {}
        self._over: dict[str, Standing] = {}  # the oldest first
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._live)

    def values(self) -> list[RemoteSession]:
        with self._lock:
            return list(self._live.values())

    def names(self) -> list[str]:
        with self._lock:
            return list(self._live)

    def using(self, task: str) -> list[str]:
        """The names of those that use a task."""
        with self._lock:
            return [name for name, session in self._live.items() if task in session.tasks]

    def of_peer(self, peer: str) -> list[str]:
        """The names of those whose client has this connection."""
        with self._lock:
            return [name for name, session in self._live.items() if session.peer == peer]

    def add(self, name: str, session: RemoteSession) -> None:
        with self._lock:
            if name in self._over:
                raise self._aborted(name)
            if name in self._live:
                raise errors.AlreadyExistsError(None, None, f"{self._task} has a session {name} already")
            if len(self._live) >= SESSIONS:
                why = f"{self._task} has {len(self._live)} sessions, and more are not accepted"
                raise errors.ResourceExhaustedError(None, None, why)
            self._live[name] = session

    def find(self, name: str) -> RemoteSession:
        """The session; AbortedError if it is over or not known."""
        session = self._live.get(name)
        if session is None:
            raise self._aborted(name)
        return session

    def is_over(self, name: str) -> bool:
        return name in self._over

    def _aborted(self, name: str) -> errors.OpError:
        standing = self._over.get(name)
        why = "it was started again, or took the client for lost" if standing is None else standing.over
        return errors.AbortedError(None, None, f"{self._task} has no session {name}: {why}")

    def end(self, name: str, why: str) -> Standing:
        """Ends a session without waiting for its steps; one that has not begun never will."""
        with self._lock:
            session = self._live.pop(name, None)
            standing = self._over.get(name) or (Standing(None) if session is None else session.standing)
            self._over[name] = standing
            self._forget()
        standing.end(why)
        if session is not None:
            session.close()
        return standing

    def _forget(self) -> None:
        """Forgets the oldest if there are too many, but none whose steps are under way: a fence waits for these."""
        idle = (name for name, standing in self._over.items() if standing.is_idle)
        for name in list(itertools.islice(idle, max(0, len(self._over) - OVER))):
            del self._over[name]

    def fence(self, names: Sequence[str], why: str) -> None:
        """Ends sessions, and waits until none of their steps is under way."""
        for standing in [self.end(name, why) for name in names]:
            standing.wait()

    def before(self, client: Introduction | None) -> list[str]:
        """The sessions of earlier processes of a client that is a task."""
        if client is None or not client.task:
            return []
        with self._lock:
            return [name for name, standing in self._standings() if _is_earlier(standing.client, client)]

    def _standings(self) -> Iterator[tuple[str, Standing]]:
        yield from self._over.items()
        for name, session in self._live.items():
            yield name, session.standing

    def close(self) -> None:
        """Ends all."""
        for name in self.names():
            self.end(name, f"{self._task} has ended")


def _is_earlier(one: Introduction | None, client: Introduction) -> bool:
    return one is not None and one.task == client.task and one.incarnation != client.incarnation
