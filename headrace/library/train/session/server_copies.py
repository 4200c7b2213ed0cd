"""Copies of the parameter servers' variables in each other's memory, so that a lost server costs seconds of training.

Each task with saved variables is a *source*; the task after it, in a ring, keeps its copies (resources/state/memory_copy.py).
The values go from task to task.  Nodes and session are apart from the program's: nothing is added to its graph, and the copies
outlive the sessions that training makes and loses.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

from headrace.client.cut import cut
from headrace.client.session import Session
from headrace.core import dtypes
from headrace.core.config import ConfigProto
from headrace.core.device import DeviceSpec
from headrace.core.errors import AbortedError, OpError
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.dependency import group
from headrace.library.state.global_step import get_global_step
from headrace.library.tensor.creation import placeholder
from headrace.library.train.saver.restore_check import assignments
from headrace.library.train.session.chief_lease import ChiefLease, container_of
from headrace.library.train.session.session_manager import restores_everything
from headrace.runtime.session.target import find as find_server

SMALL: Final = 1 << 20  # bytes: of a smaller variable nobody notes which rows were written


class Generation(NamedTuple):
    """A generation of copies: its number, and the global step that it is of."""

    number: int
    step: int


class _Place(NamedTuple):
    """A task that keeps the copies of a source."""

    generations: Tensor  # which generations it has
    keep: Operation
    drop: Operation
    assign: dict[str, Operation]  # gives a variable what is kept of it, by the variable's name


class ServerCopies:
    """The copies of a job as one process sees them.  Thread-safe: calls wait for each other, but `close` for none.

    ``scaffold``: its saver says which variables are copied.  ``restore``: what the job restores.  Where that is everything, a
    generation is of one moment between steps, and each source has its copies too: those of the neighbours are not enough when
    one of these is lost, and steps wait only until the source has copied its own variables.
    """

    def __init__(self, lease: ChiefLease, scaffold: Any, restore: str | None) -> None:
        self._lease, self._scaffold, self._restore = lease, scaffold, restore
        self._program = context.get_default_graph()
        self._lock = threading.RLock()
        self._sources: dict[str, list[_Place]] | None = None  # by task; None before the saver is built
        self._session: Session | None = None
        self._last: Generation | None = None  # the newest that is whole
        self._kept: dict[str, int] = {}  # the number of the generation of each source that the next one leaves there
        self._made: list[int] = []  # the numbers of the last two, if this session has made them
        self._next_turn = 0
        self._restoring = self._closed = False

    # ---- the nodes

    def _build(self) -> dict[str, list[_Place]]:
        variables = self._variables()
        tasks = sorted(variables, key=_job_and_number)
        self._everything = restores_everything(self._program, self._restore)
        places = {task: [task, after] if self._everything else [after] for task, after in self._ring(tasks)}
        self._tasks = sorted({*tasks, *(place for several in places.values() for place in several)})
        self._task_of = {op.name: task for task, ops in variables.items() for op in ops}
        self._graph = Graph()
        with self._graph.as_default():
            step = get_global_step(self._program)
            self._container, self._step_name = container_of(step.op), step.op.name
            with self._graph.device(step.device):
                self._step = raw_ops.Identity(_same(step.op))
            self._number, self._of_step, self._base, self._turn = (placeholder(dtypes.int64, []) for _ in range(4))
            self._last_of = {task: placeholder(dtypes.int64, []) for task in tasks}
            self._asked: list[Tensor] = []  # something of each source
            return {task: self._copied(task, variables[task], places[task]) for task in tasks}

    def _variables(self) -> dict[str, list[Operation]]:
        """What the saver saves, by the task that has it."""
        saver = self._scaffold.saver
        takers = None if saver.saver_def is None else assignments(self._program, saver.saver_def.restore_op_name)
        if takers is None:
            raise ValueError(
                "copies_secs and copies_steps are for savers that save variables only: this one saves nothing, or queues, "
                f"iterators or generators too, which would be of another moment than the variables {at()}"
            )
        variables: dict[str, list[Operation]] = {}
        for name in sorted(takers):
            op = takers[name][0].inputs[0].op
            place = DeviceSpec.from_string(op.device)
            if place.job is None:
                raise ValueError(
                    f"copies_secs and copies_steps: the variable {name!r} (made at {op.source}) is on no task of the cluster. "
                    f"Place it by tf.device('/job:ps/task:0') or tf.train.replica_device_setter {at()}"
                )
            variables.setdefault(_task_name(place), []).append(op)
        return variables

    def _ring(self, tasks: Sequence[str]) -> Iterable[tuple[str, str]]:
        if len(tasks) > 1:
            return zip(tasks, [*tasks[1:], tasks[0]], strict=True)
        server = find_server(self._lease.master)
        if server is None or server.worker.task == tasks[0]:
            raise ValueError(
                f"copies_secs and copies_steps: all variables are on {tasks[0]}, and there is no other task to keep copies: two "
                f"parameter servers are needed, or a chief that is a task itself (master=server.target) {at()}"
            )
        return [(tasks[0], server.worker.task)]

    def _copied(self, task: str, variables: Sequence[Operation], places: Sequence[str]) -> list[_Place]:
        handles = [_same(op) for op in variables]
        with self._graph.device(f"{task}/device:CPU:0"):
            marks = raw_ops._RowMarks(container=self._container)
        rows, values = [], []
        for handle in handles:
            with self._graph.device(handle.device):
                new = raw_ops._NewRows(handle, marks, self._turn, self._base, self._number, small=SMALL)
                rows.append(new.rows)
                values.append(new.values)
        with self._graph.device(handles[0].device):
            self._asked.append(raw_ops.IsVariableInitialized(handles[0]))
        types = [op.get_attr("dtype") for op in variables]
        layout = "\n".join(f"{op.name} {op.get_attr('dtype').name} {op.get_attr('shape')}" for op in variables)
        of_places = []
        for place in places:
            with self._graph.device(f"{place}/device:CPU:0"):
                share = raw_ops._CopyShare(shared_name=f"{self._step_name} of {task}", container=self._container)
                generations = raw_ops._CopyGenerations(share, layout=layout)
                numbers = (self._last_of[task], self._base, self._number, self._of_step)
                keep = raw_ops._KeepCopy(share, *numbers, rows, values, layout=layout)
                taken = raw_ops._TakeCopy(share, self._number, layout=layout, T=types)
                drop = raw_ops._DropCopies(share)
                # The next place has the values from here, where no step writes them.
                rows, values = raw_ops._TakeNewRows(share, self._number, layout=layout, N=len(types), T=types)
            assign = {op.name: _assigned(*pair) for op, *pair in zip(variables, handles, taken, strict=True)}
            of_places.append(_Place(generations, keep, drop, assign))
        return of_places

    # ---- a share in the copies

    def join(self) -> None:
        """Takes a share in the copies on all tasks, again if a task was lost since, and looks which there are.

        Copies stay as long as somebody has a share in them.
        """
        with self._lock:
            if self._sources is None:
                self._sources = self._build()
            before, session = self._session, self._session
            try:
                generations = None if session is None else self._generations(session)
            except (
                OpError,
                RuntimeError,
            ):  # it has lost a task; its shares on the others are needed until there are new ones
                generations = None
            if generations is None:
                session = Session(self._lease.master, self._graph, ConfigProto(device_filters=self._tasks))
                try:
                    generations = self._generations(session)
                except BaseException:
                    session.close()
                    raise
                self._session = session
                if before is not None:
                    before.close()
                if self._closed:
                    session.close()
            self._last = _newest(place for places in generations.values() for place in places)
            lasts = {task: self._last or _newest([set().union(*places)]) for task, places in generations.items()}
            self._kept = {task: 0 if last is None else last.number for task, last in lasts.items()}
            self._made = []
            self._restoring = False

    def close(self) -> None:
        """Gives up the share, and ends a copy that is being made."""
        self._closed = True
        if self._session is not None:
            self._session.close()

    def _generations(self, session: Session) -> dict[str, list[set[Generation]]]:
        """The generations that each source has, by place.  Raises if the session has lost a task, also one that keeps none."""
        assert self._sources is not None
        asked = {task: [place.generations for place in places] for task, places in self._sources.items()}
        generations, _ = session.run((asked, self._asked))
        return {
            task: [{Generation(int(number), int(step)) for number, step in place} for place in places]
            for task, places in generations.items()
        }

    # ---- copying and restoring

    def copy(self) -> None:
        """Makes the next generation, if there was a step since the last one.  Raises AbortedError if this is not the chief."""
        with self._lock:
            assert self._session is not None and self._sources is not None
            if self._restoring:
                raise AbortedError(None, None, "variables that were lost are being restored")
            self._lease.fence()
            first, *others = zip(
                *self._sources.values(), strict=True
            )  # places, where one has its values from the one before
            with cut(self._session, list(self._sources)) if self._everything else nullcontext():
                step = int(self._session.run(self._step))
                if self._last is not None and self._last.step == step:
                    return
                new = Generation(1 + secrets.randbits(62), step)
                made, self._made = self._made, []
                base = (
                    made[0] if len(made) == 2 else 0
                )  # what is replaced: it is this one but for the rows written since
                numbers = {
                    self._number: new.number,
                    self._of_step: new.step,
                    self._base: base,
                    self._turn: self._next_turn,
                }
                numbers |= {self._last_of[task]: number for task, number in self._kept.items()}
                self._session.run([place.keep for place in first], numbers)
            for places in others:
                self._session.run([place.keep for place in places], numbers)
            self._last, self._kept = new, dict.fromkeys(self._kept, new.number)
            self._made, self._next_turn = [*made[-1:], new.number], 1 - self._next_turn

    def drop(self) -> None:
        """Forgets all copies: what they were made of is not what the job goes on with."""
        with self._lock:
            self.join()
            assert self._session is not None and self._sources is not None
            self._session.run([place.drop for places in self._sources.values() for place in places])
            self._last, self._kept, self._made = None, dict.fromkeys(self._kept, 0), []

    def find(self, names: Sequence[str] | None) -> Generation | None:
        """The newest generation that has these variables, by default all; those that nobody saves do not count.

        Nothing is copied from now on until the next `join`: the lost variables have no value, or not the one that they will have.
        """
        with self._lock:
            self.join()
            self._restoring = True
            assert self._session is not None
            generations = self._generations(self._session)
            return _newest(set().union(*generations[task]) for task in self._needed(names))

    def restore(self, generation: Generation, names: Sequence[str] | None) -> int:
        """Gives these variables, by default all, what was kept of them; the number of the others."""
        with self._lock:
            assert self._session is not None and self._sources is not None
            generations = self._generations(self._session)
            chosen: list[Operation] = []
            for task in self._needed(names):
                index = next(i for i, there in enumerate(generations[task]) if generation in there)
                assign = self._sources[task][index].assign
                chosen.extend(done for name, done in assign.items() if names is None or name in names)
            self._session.run(chosen, {self._number: generation.number})
            return len(self._task_of) - len(chosen)

    def _needed(self, names: Sequence[str] | None) -> set[str]:
        return {task for name, task in self._task_of.items() if names is None or name in names}


def _newest(places: Iterable[set[Generation]]) -> Generation | None:
    """The newest generation that all of them have."""
    several = list(places)
    return max(set.intersection(*several), key=lambda generation: generation.step, default=None) if several else None


def _task_name(place: DeviceSpec) -> str:
    return DeviceSpec(job=place.job, replica=place.replica or 0, task=place.task or 0).to_string()


def _job_and_number(task: str) -> tuple[Any, ...]:
    place = DeviceSpec.from_string(task)
    return place.job, place.replica, place.task


# ---- the program's variables in another graph


def _same(variable: Operation) -> Tensor:
    """A node that stands for the same variable, by reference, whatever the program has it by."""
    attrs = {name: variable.get_attr(name) for name in ("shape", "dtype", "container", "shared_name")}
    attrs["shared_name"] = attrs["shared_name"] or variable.name
    with context.get_default_graph().device(variable.device):
        return raw_ops.VariableV2(**attrs, name=variable.name)


def _assigned(handle: Tensor, value: Tensor) -> Operation:
    with context.get_default_graph().device(handle.device):
        return group(raw_ops.Assign(handle, value))
