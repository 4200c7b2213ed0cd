"""The processes that call functions for the datasets of one iterator, as the iterator sees them.

A call goes to a process that is idle.  One that dies is replaced, and its call is made again: functions that would notice are
refused before.  When the iterator ends they are kept for another one for a while.  They end with
this process, however it ends.
"""

from __future__ import annotations

import itertools
import os
import secrets
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from headrace.cluster.data.names import name_of
from headrace.cluster.data.pipe import Pipe, from_columns, to_columns
from headrace.cluster.op_agreement import user_ops
from headrace.core.errors import CancelledError, InternalError, InvalidArgumentError, OpError, make_error
from headrace.core.registry import REGISTRY
from headrace.passes.bodies import held_bodies, nodes_within
from headrace.passes.portable import holder_of_object, to_portable
from headrace.passes.step_graph import Node, StepGraph
from headrace.resources.calling.batch import Element
from headrace.resources.data.function import Calling
from headrace.resources.data.outcome import Outcome
from headrace.resources.data.sparse import SparseValue
from headrace.resources.data.stage import State

MOST_DEATHS: Final = 2  # of processes, over one group of elements
MOST_SHARED: Final = 64 << 20  # bytes of shared memory that a process keeps for another iterator

_VALUES: Final = (torch.Tensor, np.ndarray, np.generic, SparseValue)
_numbers: Final = itertools.count(1)
_live: Final[weakref.WeakValueDictionary[int, Any]] = weakref.WeakValueDictionary()


def _numbered(one: Any) -> int:
    """A number by which processes know a function or a stage, as long as it is there."""
    number = next(_numbers)
    _live[number] = one
    return number


class _Function:
    """A function as it is sent."""

    def __init__(self, function: Any, stage: Calling) -> None:
        graph: StepGraph = function.body
        for node in nodes_within(graph):
            problem = _problem(node, function.state)
            if problem:
                raise _refusal(stage, f"node {node.name!r} ({node.type}, made at {node.source}) {problem}")
        data = to_portable(graph)
        names = [name_of(one) for one in data.objects]
        if None in names:
            holder = holder_of_object(data)
            assert holder is not None
            filename, line, _ = data.sources[holder[0]["source"]]
            raise _refusal(
                stage,
                f"node {holder[0]['name']!r} (made at {filename}:{line}) calls {data.objects[names.index(None)]!r}, which "
                "another process cannot import: it must be a function at the top of a module, and not of the program itself",
            )
        ops = user_ops(data)
        kernels = [kernel.call for name in ops for kernel in REGISTRY.get(name).kernels.by_device]
        self.number = _numbered(function)
        self.seconds = 0.0  # that the last call has taken
        self.arrays = data.arrays
        self.message = {
            "function": self.number, "graphs": data.graphs, "sources": data.sources, "objects": names, "ops": ops,
            "modules": sorted({kernel.__module__ for kernel in kernels} - {"__main__"}),
        }  # fmt: skip


def _problem(node: Node, state: Callable[[Node], Any]) -> str:
    """Why a node cannot be in another process; empty if it can."""
    traits = node.op_def.traits
    if held_bodies(node):  # which are looked at
        return ""
    if traits.handle:
        return "is state, and each process would have its own"
    if traits.random:
        own_state = state(node) if node.op_def.state_fn is not None else None
        if own_state is None or isinstance(own_state, (torch.Generator, np.random.Generator)):
            return ""
        more = f"keeps a {type(own_state).__name__}, which is more than a generator of random numbers"
        return f"{more}: each process would have its own"
    if node.op_def.state_fn is not None and node.attrs.get("first_n", 0) >= 0:
        return "keeps something from call to call, and each process would keep its own"
    return ""


def _refusal(stage: Calling, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        None, None,
        f"the function of {stage.title} cannot run in another process (options.processes): {why}. Use with_options before this "
        "dataset, so that its function is called here",
    )  # fmt: skip


class _Process:
    """One process, and what it was told so far."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [
                sys.executable,
                "-P",
                "-m",
                "headrace.cluster.data.process",
                str(os.getpid()),
                str(theirs.fileno()),
            ]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], process_group=0,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_path())},
            )  # fmt: skip
        self._pipe = Pipe(ours, self._process.pid)
        self.told: set[int] = set()  # numbers of functions and stages
        self.surroundings: dict[str, Any] = {}  # that it was told

    def ask(self, request: dict[str, Any], tensors: Sequence[Any] = ()) -> tuple[dict[str, Any], list[Any]]:
        """The answer.  OSError, EOFError: the process is gone."""
        self._pipe.send(request, tensors)
        return self._pipe.receive()

    def rest(self) -> None:
        """Is kept for another iterator, with the functions that it knows."""
        try:
            if self._pipe.shared() > MOST_SHARED:
                self.ask({})
                self._pipe.forget()
        except (OSError, EOFError):
            self.end()
        else:
            with _lock:
                _resting.append(self)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> int:
        """What it ended with."""
        self._process.kill()
        self._pipe.close()
        return self._process.wait()


_lock: Final = threading.Lock()
_resting: Final[list[_Process]] = []  # they end by themselves after a while
_functions: Final[weakref.WeakKeyDictionary[Any, _Function]] = weakref.WeakKeyDictionary()


def _path() -> list[str]:
    """Where modules are found, for another process."""
    return list(dict.fromkeys([*(one or os.getcwd() for one in sys.path), str(Path(__file__).parents[3])]))


def _found() -> _Process:
    """A process that has nothing to do, or a new one."""
    while True:
        with _lock:
            own = [one for one in _resting if one.parent == os.getpid()]  # not those of one that this is a copy of
            if own:
                _resting.remove(own[0])
        if not own:
            return _Process()
        if not own[0].has_ended():
            return own[0]
        own[0].end()


def resting() -> list[Any]:
    """The processes that wait for another iterator."""
    with _lock:
        return list(_resting)


def end_resting(but: Sequence[Any] = ()) -> None:
    """Ends the processes that wait for another iterator, ``but`` some."""
    for process in set(resting()) - set(but):
        with _lock:
            _resting.remove(process)
        process.end()


class DataProcesses:
    """See `resources.data.elsewhere.Elsewhere`.  Thread-safe."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._changed = threading.Condition()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._closed = False
        self._surroundings = {"path": _path(), "environment": dict(os.environ), "directory": os.getcwd()}
        self._stages: weakref.WeakKeyDictionary[Calling, int] = weakref.WeakKeyDictionary()
        self._base = secrets.randbits(63)  # of random numbers without a seed
        self._streams = 0

    def check(self, stage: Calling) -> float:
        """Refuses a stage whose function cannot be called in another process; the seconds that the last call has taken, or 0."""
        with self._changed:
            return self._function(stage).seconds

    def stream(self) -> int:
        with self._changed:
            self._streams += 1
            return self._streams

    def _function(self, stage: Calling) -> _Function:
        function = _functions.get(stage.function)
        if function is None:
            function = _functions.setdefault(stage.function, _Function(stage.function, stage))
        if stage not in self._stages:
            for value in stage.captured:
                if not isinstance(value, _VALUES):
                    raise _refusal(stage, f"it uses a {type(value).__name__}, which is in this process")
            self._stages[stage] = _numbered(stage)
        return function

    def call(self, stage: Calling, elements: Sequence[Element], place: tuple[int, int]) -> tuple[list[Outcome], float]:
        """The results of the stage's function for some elements, and the seconds that one took."""
        sparse, values = to_columns(elements)
        with self._changed:
            function, number = self._function(stage), self._stages[stage]
        request = {
            "function": function.number, "stage": number, "count": len(elements), "sparse": sparse,
            "place": [self._base, *place],
        }  # fmt: skip
        for _ in range(MOST_DEATHS):
            process = self._take()
            try:
                self._tell(process, function, stage, number)
                answer, results = process.ask({**request, "forget": self._forgotten(process)}, values)
            except (OSError, EOFError):
                code = self._drop(process)
                continue
            except BaseException:
                self._drop(process)  # an answer may be under way
                raise
            with self._changed:
                closed = self._closed  # which has ended the process
                if not closed:
                    self._idle.append(process)
                    self._changed.notify()
            if closed:
                self._drop(process)
            outcomes = _outcomes(_checked(answer), results)
            function.seconds = answer["seconds"] / len(elements)
            return outcomes, function.seconds
        if len(elements) > 1:  # one of them may be the reason
            stream, first = place
            each = [self.call(stage, [element], (stream, i)) for i, element in enumerate(elements, first)]
            return [outcomes[0] for outcomes, _ in each], max(seconds for _, seconds in each)
        why = f"a process that called the function ended with code {code}, {MOST_DEATHS} times"
        return [Outcome(error=InternalError(None, None, why))], 0.0

    def _take(self) -> _Process:
        """A process that is idle."""
        with self._changed:
            while not self._closed:
                while len(self._all) < self.count:
                    process = _found()  # is not waited for
                    self._all.add(process)
                    self._idle.append(process)
                if self._idle:
                    return self._idle.pop(0)  # the first is sooner ready
                self._changed.wait()
        raise CancelledError(None, None, "the iterator was closed or initialized again while it worked")

    def _tell(self, process: _Process, function: _Function, stage: Calling, number: int) -> None:
        """Tells a process what it does not know yet."""
        if process.surroundings != self._surroundings:
            process.ask(self._surroundings)
            process.surroundings = self._surroundings
        if function.number not in process.told:
            _checked(process.ask(function.message, function.arrays)[0])
            process.told.add(function.number)
        if number not in process.told:
            sparse, values = to_columns([stage.captured])
            _checked(process.ask({"captured": number, "sparse": sparse}, values)[0])
            process.told.add(number)

    def _forgotten(self, process: _Process) -> list[int]:
        gone = [number for number in process.told if number not in _live]
        process.told.difference_update(gone)
        return gone

    def _drop(self, process: _Process) -> int:
        """Ends a process, whose place another one takes; what it ended with."""
        with self._changed:
            self._all.discard(process)
            self._changed.notify()
        return process.end()

    def save(self) -> State:
        return [self._base, self._streams]

    def restore(self, state: State) -> None:
        self._base, self._streams = state

    def close(self) -> None:
        """Ends the processes, and who waits for one."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            for process in self._all.difference(idle):
                process.kill()  # who waits for its answer ends it
            self._changed.notify_all()
        for process in idle:
            process.rest()


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise _made(answer["error"])
    return answer


def _made(told: Sequence[Any]) -> OpError:
    code, text = told
    return make_error(None, None, text, code)


def _outcomes(answer: dict[str, Any], results: Sequence[Any]) -> list[Outcome]:
    problems = answer["problems"]
    elements = iter(from_columns(answer["sparse"], results, problems.count(None)))
    return [Outcome(next(elements)) if told is None else Outcome(error=_made(told)) for told in problems]
