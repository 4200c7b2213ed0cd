"""What `tf.train.replicas` returns: nodes by which a worker hands in gradients, waits, and makes updates.

Whose gradients count and who may go on is decided by a machine on the task of the global step
(`headrace.resources.state.replicas.machine`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from headrace.core.device import DeviceSpec
from headrace.core.dtypes import int64
from headrace.core.errors import AbortedError
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import constant
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import no_op
from headrace.library.scope import add_to_collection, colocate_with, control_dependencies, device, name_scope
from headrace.library.state.assign import assign
from headrace.library.state.global_step import get_global_step
from headrace.library.state.variable import Variable
from headrace.library.state.variables import is_variable_initialized
from headrace.library.train.lossy import make_lossy
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer
from headrace.library.train.queue_runner import QueueRunner, add_queue_runner
from headrace.library.train.replica.auto import Auto
from headrace.library.train.replica.copies import read
from headrace.library.train.replica.finishing import Writes
from headrace.library.train.replica.replicas_hook import ReplicasHook
from headrace.library.train.session.run_hook import SessionRunHook
from headrace.resources.stepping.step import deadline


class Place:
    """Where values of all workers wait beside a variable, until it is decided which of them count."""

    def __init__(self, name: str, value: Any, variable: Any) -> None:
        """``value``: a gradient, or anything else that has the variable's shape."""
        if not isinstance(value, (Tensor, IndexedSlices)):
            raise ValueError(f"A gradient must be a Tensor, IndexedSlices or None; got {value!r} {at()}")
        self._like, self._variable = value, variable
        make = raw_ops._StagedTensors if isinstance(value, Tensor) else raw_ops._StagedRows
        with device(variable.device):
            self._handle = make(dtype=value.dtype, shape=variable.shape, shared_name=f"{name}/{variable.op.name}")

    def put(self, state: Tensor, value: Any) -> Operation:
        """Puts a value there.  ``state``: a vector; its first element is the number that `mean` knows the value by."""
        with device(self._variable.device):
            if isinstance(value, Tensor):
                return raw_ops._StageTensor(self._handle, state, value)
            return raw_ops._StageRows(self._handle, state, value.indices, value.values)

    def mean(self, counted: Any, present: Any) -> Any:
        """The mean of those that count; of others that are not present none stay."""
        like, shape = self._like, self._variable.shape
        with device(self._variable.device):
            if isinstance(like, Tensor):
                mean = raw_ops._MeanOfTensors(self._handle, counted, present, dtype=like.dtype)
                mean.set_shape(shape)
                return mean
            indices, values = raw_ops._MeanOfRows(
                self._handle, counted, present, dtype=like.dtype, Tindices=like.indices.dtype
            )
            values.set_shape([None, *shape[1:]])
            return IndexedSlices(values, indices, like.dense_shape)


class _Updater(QueueRunner):
    """A thread that makes updates once its session leads; first it finishes the one that another has begun.

    It waits for that in a step of its own: the step of an update reads what others have written before.
    """

    def __init__(
        self, replica: Operation, lead: Tensor, finish: Operation, update: Operation, exclude: Tensor | None = None
    ) -> None:
        """``exclude``: takes the membership of the worker away for which an update has failed; whether one was the reason."""
        nothing = no_op(name="nothing_to_close")
        super().__init__(replica, [update], close_op=nothing, cancel_op=nothing)
        self._lead, self._finish, self._exclude = lead, finish, exclude

    def _enqueue(self, sess: Any, enqueue_op: Any) -> Callable[[], Any]:
        update = sess.make_callable(enqueue_op)
        exclude = (lambda: False) if self._exclude is None else sess.make_callable(self._exclude)

        def lead() -> None:
            if sess.run(self._lead):
                sess.run(self._finish)

        steps = iter([lead])

        def run() -> None:
            with deadline(inf):  # it waits most of the time, and that is no reason to say so
                try:
                    next(steps, update)()
                except AbortedError:
                    if not exclude():
                        raise

        return run


class ReplicasOptimizer(Optimizer):
    """What `replicas` returns."""

    def __init__(self, optimizer: Optimizer, rule: dict[str, Any], name: str) -> None:
        super().__init__(False, name)
        self._opt = optimizer
        self._rule = rule
        self._replica: Any = None
        self._auto: Auto | None = None  # what the program has asked for, where its mode was "auto"
        self._lossy = False

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        """What ``compute_gradients`` of the wrapped optimizer gives: the gradients of this worker alone."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """What a worker runs for a step.  It ends when the worker may compute the next one.

        ``global_step``, by default that of the graph, is increased by each update.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError(f"The list of (gradient, variable) pairs is empty {at()}")
        if self._replica is not None:
            raise ValueError(f"apply_gradients of one replicas optimizer can be called once; make another {at()}")
        step = get_global_step() if global_step is None else global_step
        if step is None:
            raise ValueError(
                f"replicas count updates by the global step: pass global_step=tf.train.get_or_create_global_step() {at()}"
            )
        if self._lossy:
            make_lossy(pairs)
        with name_scope(None, self._name):
            self._join(pairs, step)
            return self._step(pairs, step, name)

    def _step(self, pairs: GradsAndVars, step: Any, name: str | None) -> Operation:
        if self._rule["gathers"]:
            places = [(None if g is None else Place(self._name, g, v), v) for g, v in pairs]
            update = self._next_update(step)
            means = [(None if place is None else place.mean(update.counted, update.present), v) for place, v in places]
            self._make_updates(update, self._apply(means, step), step)
            member = read(self._state)
            done = [place.put(member, g) for (place, _), (g, _) in zip(places, pairs, strict=True) if place is not None]
        else:
            done = [self._apply(pairs, step)]
        return self._arrive(done, step, name)

    def _apply(self, pairs: GradsAndVars, step: Any) -> Operation:
        """An update by the wrapped optimizer; its variables are named as without replicas, so that checkpoints fit."""
        with name_scope(""):
            return self._opt.apply_gradients(pairs, step)

    def _arrive(self, done: Sequence[Operation], step: Any, name: str | None = None) -> Operation:
        """Waits until this worker may go on, and notes for what."""
        with control_dependencies(done), device(step.device):
            released = raw_ops._ReplicaArrives(self._replica, self._state.read_value())
        with control_dependencies([assign(self._known, released.known).op, *self._go_on(released)]):
            return assign(self._state, released.next, name=name).op

    def _go_on(self, released: Any) -> list[Operation]:
        """What else a worker does when it may go on."""
        return []

    def _place(self, pairs: GradsAndVars, worker: str) -> list[Tensor]:
        """Where other workers find this one, if they do."""
        return []

    def _join(self, pairs: GradsAndVars, step: Any) -> None:
        """This session's share in the aggregator, and what it was last released for: (member, step), on the worker."""
        worker = no_op(name="worker")
        self._global_step = step
        device_name = worker.device if DeviceSpec.from_string(worker.device).task is not None else ""
        with colocate_with(worker):  # nothing initialises it: later sessions of the process find it as it was
            self._known = Variable(0, trainable=False, collections=[], name="known", dtype=int64)
            known = cond(is_variable_initialized(self._known), self._known.read_value, lambda: constant(0, int64))
            task, place = raw_ops._OwnTask(), self._place(pairs, device_name)
        with device(step.device):
            self._replica = raw_ops._Replica(shared_name=self._name, container="", worker=device_name, **self._rule)
            self._joined = raw_ops._JoinReplicas(self._replica, known, task, place)
            self._report = raw_ops._ReplicasReport(self._replica)
            summary = raw_ops._ReplicasSummary(self._replica, tag=self._replica.op.name.rpartition("/")[0])
        add_to_collection(GraphKeys.SUMMARIES, summary)
        with colocate_with(worker):
            self._state = Variable(
                self._joined, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name="state", dtype=int64
            )

    def _next_update(self, step: Any, finishes: bool = False) -> Any:
        """Waits until this worker is asked to make an update: its ticket, who counts, who is present."""
        with device(step.device):
            return raw_ops._NextUpdate(self._replica, finishes=finishes)

    def _make_updates(self, update: Any, made: Operation, step: Any, exclude: Tensor | None = None) -> None:
        """A thread of every session would make the updates; one of them does.  ``exclude``: as of `_Updater`.

        ``update``: what `_NextUpdate` gives, or `_UpdateIsStaged`: who finishes the update begins there.
        """
        writes = Writes(self._name, update, made)
        begun = self._next_update(step, finishes=True)
        with device(step.device):
            lead = raw_ops._LeadReplicas(self._replica)
        finished = self._tell(begun, writes.finish(begun), step)  # copied before there are notes
        told = self._tell(update, writes.note(), step)
        add_queue_runner(_Updater(self._replica.op, lead, finished, told, exclude))

    def _tell(self, update: Any, made: Operation, step: Any) -> Operation:
        """Says that an update is made."""
        with device(step.device), control_dependencies([made]):
            return raw_ops._UpdateIsMade(self._replica, update.ticket)  # type: ignore[no-any-return]

    def report(self, session: Any) -> dict[str, Any]:
        """What was counted so far, in the whole job.

        ``updates``; ``workers`` that are there; how many gradients an update ``needed``; ``staleness``: how many gradients were
        computed so many updates before they counted; ``slow``: workers that take twice the median or more; ``by_worker``: of each
        worker the gradients that were ``counted`` and ``late``, its ``sessions``, seconds ``working`` and ``waiting``;
        ``worker``: what this one is called.
        """
        self._check_is_applied("report() can be called")
        return _read(session.run(self._report))

    def _check_is_applied(self, what: str) -> None:
        if self._replica is None:
            raise ValueError(f"{what} after apply_gradients() or minimize() {at()}")

    def _look(self, session: Any) -> tuple[int, dict[str, Any]]:
        """The global step and the report, in one step."""
        step, report = session.run([self._global_step, self._report])
        return int(step), _read(report)

    def make_session_run_hook(self, every_secs: float = 10) -> SessionRunHook:
        """A hook for the monitored session of a worker, which looks at the `report` every ``every_secs`` seconds and at the end.

        It logs when a worker becomes slow, and at the end one line for the job.  While there is one worker it does neither.
        """
        return ReplicasHook(self, every_secs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot of the wrapped optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The names of the wrapped optimizer's slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """The variables of the wrapped optimizer."""
        return self._opt.variables()


def _read(report: bytes) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(report)
    read["staleness"] = {int(steps): count for steps, count in read["staleness"].items()}
    return read
