"""Workers that train one model: a session's share in the aggregator, gradients that wait at servers, updates."""

from __future__ import annotations

import json
import secrets
from dataclasses import fields

import numpy as np

from headrace.core.device import DeviceSpec
from headrace.core.dtypes import FLOATING, INDEX
from headrace.core.registry import op
from headrace.ops.shared.resource import check_resource, shared_resource
from headrace.ops.shared.string_array import scalar_of
from headrace.resources.state.replicas.machine import Rule
from headrace.resources.state.replicas.replicas import Replica, Replicas
from headrace.resources.state.replicas.staged import StagedRows, StagedTensors
from headrace.resources.state.replicas.written import Written

# ---- a session's share

replica = op(
    "_Replica(; shared_name: string, container: string, worker: string, workers: int, gathers: bool, needed: int, "
    "grace: float, staleness: int, elastic: bool, copies: bool) -> (handle: resource)",
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
    device = DeviceSpec.from_string(context.device_name)
    return scalar_of(device.replace(device_type=None, device_index=None).to_string().encode())


@own_task.kernel
def _(*, state):
    """The task that the node is placed on."""
    return state


join = op(
    "_JoinReplicas(replica: resource, known: host int64[0], task: host string[0]) -> (state: int64)",
    stateful=True,
    host=True,
)
join.not_differentiable()
join.shape(lambda replica, known, task: (2,))


@join.kernel
def _(replica, known, task):
    """The number of the member, and the step that it may compute.  ``task``: by which a worker without a name is called."""
    check_resource(replica, Replica)
    return np.array(replica.join(int(known), task.item().decode()), np.int64)


arrive = op(
    "_ReplicaArrives(replica: resource, state: host int64[1]) -> (next: int64, known: int64)",
    stateful=True,
    host=True,
    asynchronous=True,
)
arrive.not_differentiable()
arrive.shape(lambda replica, state: [(2,), ()])


@arrive.begin
def _(replica, state, *, done):
    check_resource(replica, Replica)
    _, step = state

    def released(result, error):
        if error is not None:
            done(None, error)
        else:
            *state, known = result
            done([np.array(state, np.int64), np.array(known, np.int64)], None)

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
    "_NextUpdate(replica: resource; finishes: bool) -> (ticket: int64, counted: int64, present: int64)",
    stateful=True, host=True, asynchronous=True,
)  # fmt: skip
offer.not_differentiable()
offer.shape(lambda *arguments: [(), (None,), (None,)])


@offer.begin
def _(replica, finishes, *, done):
    check_resource(replica, Replica)

    def handed_out(update, error):
        if error is not None:
            done(None, error)
        else:
            done([np.array(update.ticket), np.array(update.counted), np.array(update.present)], None)

    return replica.replicas.offer(replica.member, finishes, handed_out)


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
