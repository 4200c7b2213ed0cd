"""Workers that train one model: a session's share in the aggregator, gradients that wait at servers, updates."""

from __future__ import annotations

import json
import secrets
from dataclasses import fields

import numpy as np
import torch

from headrace.core.device import DeviceSpec
from headrace.core.dtypes import FLOATING, INDEX, string
from headrace.core.registry import op
from headrace.ops.shared.resource import check_resource, shared_resource
from headrace.ops.shared.string_array import scalar_of
from headrace.resources.calling.value import TORCH_DTYPES
from headrace.resources.state.replicas.box import Box, decoded, encoded
from headrace.resources.state.replicas.layout import Layout
from headrace.resources.state.replicas.machine import Rule
from headrace.resources.state.replicas.replicas import Replica, Replicas
from headrace.resources.state.replicas.staged import StagedRows, StagedTensors
from headrace.resources.state.replicas.written import Written
from headrace.resources.stepping.waiting import Later

# ---- a session's share

replica = op(
    "_Replica(; shared_name: string, container: string, worker: string, workers: int, gathers: bool, needed: int, "
    "grace: float, staleness: int, elastic: bool, copies: bool, all_reduce: bool, said: string) -> (handle: resource)",
    handle=True, stateful=True, host=True,
)  # fmt: skip
replica.not_differentiable()
replica.shape(lambda *arguments: ())


@replica.state
def _(context):
    """One for each session; the aggregator is everybody's."""
    attrs = context.attrs
    rule = Rule(**{field.name: attrs[field.name] for field in fields(Rule)})

    def make():
        return Replicas(attrs["shared_name"], rule, secrets.randbits(53), str(context.source))

    replicas = context.resource(Replicas, make)
    replicas.check(rule)
    return context.own(Replica, lambda: Replica(replicas, attrs["worker"]))


own_task = op("_OwnTask() -> (task: string)", stateful=True, host=True)
own_task.not_differentiable()
own_task.shape(lambda: ())


@own_task.state
def _(context):
    return scalar_of(_task(context).encode())


def _task(context):
    return DeviceSpec.from_string(context.device_name).replace(device_type=None, device_index=None).to_string()


@own_task.kernel
def _(*, state):
    """The task that the node is placed on."""
    return state


join = op(
    "_JoinReplicas(replica: resource, known: host int64[0], task: host string[0], place: host list(T)) -> (state: int64)",
    T=[string], stateful=True, host=True,
)  # fmt: skip
join.not_differentiable()
join.shape(lambda replica, known, task, place: (2,))


@join.kernel
def _(replica, known, task, place):
    """The number of the member, and the step that it may compute.

    ``task``: by which a worker without a name is called.  ``place``: of its box, if it has one.
    """
    check_resource(replica, Replica)
    return torch.tensor(replica.join(int(known), task.item().decode(), *(one.item() for one in place)))


arrive = op(
    "_ReplicaArrives(replica: resource, state: host int64[1]) -> (next: int64, known: int64, ticket: int64, route: string)",
    stateful=True,
    host=True,
    asynchronous=True,
)
arrive.not_differentiable()
arrive.shape(lambda replica, state: [(2,), (), (), (None,)])


@arrive.begin
def _(replica, state, *, done):
    """``ticket``, ``route``: of the last update, and the places of those that have the variables as it has made them."""
    check_resource(replica, Replica)
    _, step = state

    def released(result, error):
        if error is not None:
            done(None, error)
        else:
            *state, known, ticket, route = result
            done([*map(torch.tensor, (state, known, ticket)), _strings(route)], None)

    return replica.replicas.arrive(replica.member, int(step), released)


lead = op("_LeadReplicas(replica: resource) -> (unfinished: bool)", stateful=True, host=True, asynchronous=True)
lead.not_differentiable()
lead.shape(lambda replica: ())


@lead.begin
def _(replica, *, done):
    """Whether an update was begun, by a worker that is lost."""
    check_resource(replica, Replica)
    return replica.replicas.stand(
        replica.member, lambda unfinished, error: done(None if error else np.array(unfinished), error)
    )


offer = op(
    "_NextUpdate(replica: resource; finishes: bool) -> (ticket: int64, counted: int64, present: int64, route: string)",
    stateful=True, host=True, asynchronous=True,
)  # fmt: skip
offer.not_differentiable()
offer.shape(lambda *arguments: [(), (None,), (None,), (None,)])


@offer.begin
def _(replica, finishes, *, done):
    """``route``: the places of those that are counted."""
    check_resource(replica, Replica)

    def handed_out(result, error):
        if error is not None:
            done(None, error)
        else:
            update, route = result
            done([*map(torch.tensor, (update.ticket, update.counted, update.present)), _strings(route)], None)

    return replica.replicas.offer(replica.member, finishes, handed_out)


def _strings(values):
    return np.array([*values, None], object)[:-1]  # one that is empty has a dtype too


staged = op(
    "_UpdateIsStaged(replica: resource, ticket: host int64) -> (ticket: int64, counted: int64, present: int64)",
    stateful=True,
    host=True,
)
staged.not_differentiable()
staged.shape(lambda *arguments: [(), (None,), (None,)])


@staged.kernel
def _(replica, ticket):
    """The same update as `_NextUpdate` gave: it may be begun."""
    check_resource(replica, Replica)
    update = replica.replicas.staged(int(ticket))
    return [torch.tensor(one) for one in (update.ticket, update.counted, update.present)]


updated = op("_UpdateIsMade(replica: resource, ticket: host int64) -> ()", stateful=True, host=True)
updated.not_differentiable()
updated.shape(lambda replica, ticket: [])


@updated.kernel
def _(replica, ticket):
    check_resource(replica, Replica)
    replica.replicas.updated(ticket)


report = op("_ReplicasReport(replica: resource) -> (report: string)", stateful=True, host=True)
report.not_differentiable()
report.shape(lambda replica: ())


@report.kernel
def _(replica):
    check_resource(replica, Replica)
    return scalar_of(json.dumps(replica.report()).encode())


summary = op("_ReplicasSummary(replica: resource; tag: string) -> (summary: string)", stateful=True, host=True)
summary.not_differentiable()
summary.shape(lambda *arguments: ())


@summary.kernel
def _(replica, tag):
    check_resource(replica, Replica)
    return scalar_of(replica.summary(tag))


exclude = op(
    "_ExcludeReplica(replica: resource, box: host int64[0], why: host string[0]) -> (failed: bool)",
    stateful=True,
    host=True,
)
exclude.not_differentiable()
exclude.shape(lambda replica, box, why: ())


@exclude.kernel
def _(replica, box, why):
    """Takes the membership of the worker with this box away; whether there is such a box, 0 being none."""
    check_resource(replica, Replica)
    if box:
        replica.replicas.exclude(int(box), why.item().decode())
    return torch.tensor(bool(box))


# ---- gradients that wait


def _staged(name, resource_class):
    definition = op(
        f'{name}(; dtype: type, shape: shape, container: string = "", shared_name: string = "") -> (handle: resource)',
        dtype=FLOATING, handle=True, stateful=True, host=True,
    )  # fmt: skip
    definition.not_differentiable()
    definition.shape(lambda *arguments: ())

    @definition.state
    def _(context):
        dtype, shape = context.attrs["dtype"], context.attrs["shape"]
        return shared_resource(
            context, resource_class, lambda own_name: resource_class(own_name, shape), {"dtype": dtype, "shape": shape},
        )  # fmt: skip


_staged("_StagedTensors", StagedTensors)
_staged("_StagedRows", StagedRows)

stage = op(
    "_StageTensor(handle: resource, state: host int64[1], gradient: dtype) -> ()",
    dtype=FLOATING,
    stateful=True,
    host=True,
)
stage.not_differentiable()
stage.shape(lambda handle, state, gradient: [])


@stage.kernel
def _(handle, state, gradient):
    check_resource(handle, StagedTensors)
    handle.stage(int(state[0]), gradient)


stage_rows = op(
    "_StageRows(handle: resource, state: host int64[1], indices: Tindices, values: dtype) -> ()",
    dtype=FLOATING, Tindices=INDEX, stateful=True, host=True,
)  # fmt: skip
stage_rows.not_differentiable()
stage_rows.shape(lambda handle, state, indices, values: [])


@stage_rows.kernel
def _(handle, state, indices, values):
    check_resource(handle, StagedRows)
    handle.stage(int(state[0]), (indices, values))


_UPDATE = "counted: host int64[1], present: host int64[1]"
mean = op(
    f"_MeanOfTensors(handle: resource, {_UPDATE}; dtype: type) -> (mean: dtype)",
    dtype=FLOATING,
    stateful=True,
    host=True,
)
mean.not_differentiable()
mean.shape(lambda *arguments: None)


@mean.kernel
def _(handle, counted, present, dtype):
    check_resource(handle, StagedTensors)
    return handle.mean(counted, present)


mean_of_rows = op(
    f"_MeanOfRows(handle: resource, {_UPDATE}; dtype: type, Tindices: type) -> (indices: Tindices, values: dtype)",
    dtype=FLOATING, Tindices=INDEX, stateful=True, host=True,
)  # fmt: skip
mean_of_rows.not_differentiable()
mean_of_rows.shape(lambda *arguments: [(None,), None])


@mean_of_rows.kernel
def _(handle, counted, present, dtype, Tindices):
    check_resource(handle, StagedRows)
    return handle.mean(counted, present)


# ---- writes of an update

written = op(
    '_Written(; container: string = "", shared_name: string = "") -> (handle: resource)',
    handle=True, stateful=True, host=True,
)  # fmt: skip
written.not_differentiable()
written.shape(lambda *arguments: ())
written.state(lambda context: context.resource(Written, Written))

note = op("_NoteWritten(written: resource, ticket: host int64) -> ()", stateful=True, host=True)
note.not_differentiable()
note.shape(lambda *arguments: [])


@note.kernel
def _(written, ticket):
    check_resource(written, Written)
    written.note(int(ticket))


is_written = op("_IsWritten(written: resource, ticket: host int64) -> (done: bool)", stateful=True, host=True)
is_written.not_differentiable()
is_written.shape(lambda *arguments: ())


@is_written.kernel
def _(written, ticket):
    check_resource(written, Written)
    return np.array(written.is_done(int(ticket)))


# ---- what travels from worker to worker

box = op(
    "_Box(; names: list(string), T: list(type), shapes: list(shape), worker: string, container: string) -> (handle: resource)",
    T=FLOATING, handle=True, stateful=True, host=True,
)  # fmt: skip
box.not_differentiable()
box.shape(lambda *arguments: ())


@box.state
def _(context):
    """A session's own, on its worker."""
    attrs = context.attrs
    dtypes = [TORCH_DTYPES[dtype] for dtype in attrs["T"]]
    layout = Layout(attrs["names"], dtypes, [tuple(shape) for shape in attrs["shapes"]])
    worker = attrs["worker"] or _task(context)
    return context.own(Box, lambda: Box(context.boxes, layout, worker, str(context.source)))


open_box = op("_OpenBox(box: resource) -> (place: string)", stateful=True, host=True)
open_box.not_differentiable()
open_box.shape(lambda box: ())


@open_box.kernel
def _(box):
    check_resource(box, Box)
    return scalar_of(encoded(box.open()))


stage_all = op("_StageGradients(box: resource, gradients: list(T)) -> ()", T=FLOATING, stateful=True, host=True)
stage_all.not_differentiable()
stage_all.shape(lambda box, gradients: [])


@stage_all.kernel
def _(box, gradients):
    check_resource(box, Box)
    box.stage(gradients)


_ROUTE = "ticket: host int64, route: host string[1]"
sum_all = op(
    f"_SumGradients(box: resource, {_ROUTE}; T: list(type), shapes: list(shape)) -> (means: list(T))",
    T=FLOATING, stateful=True, host=True, asynchronous=True,
)  # fmt: skip
sum_all.not_differentiable()
sum_all.shape(lambda box, ticket, route, T, shapes: list(shapes))


@sum_all.begin
def _(box, ticket, route, T, shapes, *, done):
    """The mean of the gradients along the route, in its order."""
    check_resource(box, Box)
    return box.sum(int(ticket), decoded(route), done)


unreached = op("_Unreached(box: resource) -> (number: int64, why: string)", stateful=True, host=True)
unreached.not_differentiable()
unreached.shape(lambda box: [(), ()])


@unreached.kernel
def _(box):
    """Whose box the last sum has failed at, and why; 0 if at none."""
    check_resource(box, Box)
    failure, box.unreached = box.unreached, None
    number, why = failure or (0, "")
    return torch.tensor(number), scalar_of(why.encode())


put_values = op(
    "_PutValues(box: resource, ticket: host int64, values: list(T)) -> ()", T=FLOATING, stateful=True, host=True
)
put_values.not_differentiable()
put_values.shape(lambda box, ticket, values: [])


@put_values.kernel
def _(box, ticket, values):
    check_resource(box, Box)
    box.put(int(ticket), values)


take_values = op(
    f"_TakeValues(box: resource, {_ROUTE}; T: list(type), shapes: list(shape)) -> (here: bool, values: list(T))",
    T=FLOATING, stateful=True, host=True, asynchronous=True,
)  # fmt: skip
take_values.not_differentiable()
take_values.shape(lambda box, ticket, route, T, shapes: [(), *shapes])


@take_values.begin
def _(box, ticket, route, T, shapes, *, done):
    """The variables after an update; ``here`` is False if nobody has them any more."""
    check_resource(box, Box)

    def taken(values, error):
        if error is not None:
            done(None, error)
        elif values is None:
            nothing = [torch.zeros(tuple(shape), dtype=dtype) for shape, dtype in zip(shapes, T, strict=True)]
            done((torch.tensor(False), nothing), None)
        else:
            done(Later(lambda: (torch.tensor(True), values.call())), None)

    return box.take(int(ticket), decoded(route), taken)
