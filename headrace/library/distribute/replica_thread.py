"""Runs a function once for each replica, each in a thread of its own, one thread at a time.

A thread pauses where its replica waits for the others, in `merge_call`.  When all have paused, the thread of the caller goes on
with what they brought.  So a graph is built in the same order every time.
"""

from __future__ import annotations

import contextvars
import copy
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from headrace.core.source import at
from headrace.graph import context
from headrace.library.control import replica
from headrace.library.distribute import thread_state
from headrace.library.distribute.replica_context import ReplicaContext
from headrace.library.distribute.thread_state import ThreadState
from headrace.library.distribute.values import regroup, select
from headrace.library.scope import device
from headrace.library.state.variable_creator import variable_creator_scope

_NUMBER = re.compile(r"_\d+(?=/|$)")


class _Stopped(BaseException):
    """Ends a thread whose replica is not to go on."""


class _SharedVariables:
    """The variables that the first replica makes, for the others to find in the same order under like names."""

    def __init__(self) -> None:
        self._made: dict[str, list[Any]] = {}

    def creator(self, number: int, prefix: str) -> Callable[..., Any]:
        """What makes variables in the replica: the first makes them, the others find them."""
        found: dict[str, int] = {}

        def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            scope = context.get_default_graph().get_name_scope().removeprefix(prefix).lstrip("/")
            key = _NUMBER.sub("", f"{scope}/{kwargs.get('name') or 'Variable'}")
            made = self._made.setdefault(key, [])
            if number == 0:
                made.append(next_creator(**kwargs))
                return made[-1]
            position = found.get(key, 0)
            found[key] = position + 1
            if position == len(made):
                raise RuntimeError(
                    f"Replica {number} makes a variable {kwargs.get('name')!r} that the first replica has not made: all replicas "
                    f"must make the same variables {at()}"
                )
            return made[position]

        return create


class _ReplicaThread(threading.Thread):
    """One replica's call of the function."""

    def __init__(
        self, strategy: Any, number: int, call: Callable[[], Any], shared: _SharedVariables, state: ThreadState
    ) -> None:
        super().__init__(name=f"headrace_replica_{number}", daemon=True)
        self._call, self._state = call, state
        self._context = contextvars.copy_context()
        self._graph = context.get_default_graph()
        prefix = state.scopes["name"]
        self._creator = shared.creator(number, prefix)
        self._replica = ReplicaContext._of(strategy, number, self._merge)
        self._may_run, self._has_paused = threading.Semaphore(0), threading.Semaphore(0)
        self._stopping = False
        self.request: tuple[Callable[..., Any], Any, Any] | None = None
        self.at_request = state
        self.answer: Any = None
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        """Whether the function has returned."""
        return self.request is None

    def run(self) -> None:
        self._may_run.acquire()
        try:
            if not self._stopping:
                self._context.run(self._run)
        except _Stopped:
            pass
        except BaseException as e:  # it is raised in the thread of the caller
            self.error = e
        finally:
            self._has_paused.release()

    def _run(self) -> None:
        thread_state.apply(self._state)
        with self._replica, variable_creator_scope(self._creator):
            self.result = self._call()
            self.at_request = thread_state.take()

    def _merge(self, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Waits for the other replicas, in this replica's thread."""
        if threading.current_thread() is not self:
            raise RuntimeError(f"merge_call is called in another thread than that of its replica {at()}")
        if context.get_default_graph() is not self._graph:
            raise RuntimeError(
                "merge_call, which an optimizer's apply_gradients and changes of mirrored variables call, is called in another "
                "graph than that of the replicas, such as the body of a loop or conditional: call it outside, or call "
                f"experimental_run_v2 inside {at()}"
            )
        self.request, self.at_request = (merge_fn, args, kwargs), thread_state.take()
        self._has_paused.release()
        self._may_run.acquire()
        if self._stopping:
            raise _Stopped
        thread_state.apply_counts(self.at_request.counts)
        return self.answer

    def go_on(self) -> None:
        """Lets the replica run until it waits or is done; raises its error."""
        self.request = None
        self._may_run.release()
        self._has_paused.acquire()
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """Ends the thread wherever it is."""
        self._stopping = True
        self._may_run.release()
        self.join()


def _states(devices: Sequence[str]) -> list[ThreadState]:
    """How the replicas begin: as the caller is, on their devices, with names of their own, sharing variables after the first."""
    here = thread_state.take()
    states = []
    for number, name in enumerate(devices):
        with device(name):
            scopes = thread_state.take().scopes
        scope = copy.copy(here.variable_scope)
        if number:
            scope.reuse_variables()
            outer = scopes["name"]
            scopes = {**scopes, "name": f"{outer}/replica_{number}" if outer else f"replica_{number}"}
        states.append(replace(here, scopes=scopes, variable_scope=scope))
    return states


def call_replicas(strategy: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What ``fn`` returns in each replica, as one structure."""
    shared = _SharedVariables()
    threads = []
    for number, state in enumerate(_states(strategy.extended.worker_devices)):
        own_args, own_kwargs = select(number, tuple(args)), select(number, dict(kwargs))
        threads.append(_ReplicaThread(strategy, number, _call(fn, own_args, own_kwargs), shared, state))
    for thread in threads:
        thread.start()
    try:
        while not _step(threads):
            _answer(strategy, threads)
    finally:
        for thread in threads:
            thread.stop()
    thread_state.apply_counts(threads[0].at_request.counts)
    return regroup([thread.result for thread in threads])


def _call(fn: Callable[..., Any], args: Any, kwargs: Any) -> Callable[[], Any]:
    return lambda: fn(*args, **kwargs)


def _step(threads: list[_ReplicaThread]) -> bool:
    """Lets each replica run until it waits or is done: whether all are done."""
    for thread in threads:
        thread.go_on()
    done = [thread.is_done for thread in threads]
    if any(done) and not all(done):
        _refuse_unequal(done)
    return done[0]


def _refuse_unequal(done: list[bool]) -> NoReturn:
    waiting = ", ".join(str(number) for number, is_done in enumerate(done) if not is_done)
    raise RuntimeError(
        f"Some replicas made a different number of replica_context().merge_call() calls: replicas {waiting} wait for others that "
        "have returned.  Optimizers and changes of mirrored variables make such calls; all replicas must make the same ones "
        f"{at()}"
    )


def _answer(strategy: Any, threads: list[_ReplicaThread]) -> None:
    """Runs what the replicas wait for, in this thread, as the first replica would."""
    requests = [thread.request for thread in threads if thread.request is not None]
    merge_fn = requests[0][0]
    args = regroup([tuple(request[1]) for request in requests])
    kwargs = regroup([dict(request[2]) for request in requests])
    here = thread_state.take()
    asked = threads[0].at_request
    controls = list(asked.scopes["control"])
    for thread in threads[1:]:
        controls += [scope for scope in thread.at_request.scopes["control"] if scope not in controls]
    thread_state.apply(replace(here, scopes={**here.scopes, "name": asked.scopes["name"], "control": controls},
                               variable_scope=asked.variable_scope, counts=asked.counts))  # fmt: skip
    try:
        with replica.mode_scope(replica.Mode(strategy)):
            result = merge_fn(strategy, *args, **kwargs)
        counts = thread_state.take().counts
    finally:
        thread_state.apply(here)
    for number, thread in enumerate(threads):
        thread.answer = select(number, result)
        thread.at_request = replace(thread.at_request, counts=counts)
