"""A lease on a task: a session's seat, standing in line, waiting for a change, asking whether it is still held."""

from __future__ import annotations

import numpy as np

from headrace.core.registry import op
from headrace.ops.shared.resource import check_resource
from headrace.ops.shared.string_array import scalar_of
from headrace.resources.state.lease import Lease, Seat

_STANDING = "(number: int64, mine: bool, went_on: bool, holder: string, in_line: int64)"


def _outputs(standing):
    number, mine, went_on, holder, in_line = standing
    return np.array(number), np.array(mine), np.array(went_on), scalar_of(holder.encode()), np.array(in_line)


seat = op(
    "_LeaseSeat(; shared_name: string, container: string, who: string) -> (handle: resource)",
    handle=True, stateful=True, host=True,
)  # fmt: skip
seat.not_differentiable()
seat.shape(lambda *arguments: ())


@seat.state
def _(context):
    """One for each session; the lease is everybody's."""
    attrs = context.attrs
    lease = context.resource(Lease, lambda: Lease(attrs["shared_name"], str(context.source)))
    return context.own(Seat, lambda: Seat(lease, attrs["who"]))


join = op(f"_JoinLease(seat: resource, stands: host bool, begins: host bool) -> {_STANDING}", stateful=True, host=True)
join.not_differentiable()
join.shape(lambda seat, stands, begins: ((),) * 5)


@join.kernel
def _(seat, stands, begins):
    check_resource(seat, Seat)
    return _outputs(seat.lease.join(seat, bool(stands), bool(begins)))


change = op(
    f"_LeaseChange(seat: resource, seen: host int64) -> {_STANDING}", stateful=True, host=True, asynchronous=True
)
change.not_differentiable()
change.shape(lambda seat, seen: ((),) * 5)


@change.begin
def _(seat, seen, *, done):
    check_resource(seat, Seat)
    return seat.lease.change(
        seat, int(seen), lambda standing, error: done(None if error else _outputs(standing), error)
    )


check = op("_CheckLease(seat: resource, number: host int64) -> ()", stateful=True, host=True)
check.not_differentiable()
check.shape(lambda seat, number: [])


@check.kernel
def _(seat, number):
    check_resource(seat, Seat)
    seat.lease.check(seat, int(number))
