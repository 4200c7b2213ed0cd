"""Staging areas: putting values, getting or peeking at them, in order or by key.  They stay on the device of the ops.

An area has no handle: ops with one `shared_name` share it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from headrace.core.dtypes import ANY, resource, variant
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.ops.shared.resource import check_dtype, check_scalar, shared_resource
from headrace.resources.calling.value import TORCH_DTYPES
from headrace.resources.state.staging import MapStagingArea, StagingArea
from headrace.resources.stepping.waiting import Later

HELD = tuple(t for t in ANY if t not in (resource, variant))
LIMITS = 'capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, container: string = "", shared_name: string = ""'
NAMED = f"dtypes: list(type), {LIMITS}"


def _declare(signature, state, **traits):
    definition = op(signature, stateful=True, **traits)
    definition.not_differentiable()
    definition.state(state)
    return definition


def _limits(context):
    limits = {key: context.attrs[key] for key in ("capacity", "memory_limit")}
    for key, limit in limits.items():
        if limit < 0:
            raise InvalidArgumentError(None, None, f"{key} of a staging area must be 0 (no limit) or more, got {limit}")
    return limits


def _on_device(values, device):
    return [value.to(device) if isinstance(value, torch.Tensor) else value for value in values]


def _copied(values, device):
    """What stays in the area must not be changed by those who look at it."""
    return [value.clone() if isinstance(value, torch.Tensor) else value.copy() for value in _on_device(values, device)]


# ---- in order


def _row(context):
    limits = _limits(context)
    return shared_resource(
        context, StagingArea, lambda name: StagingArea(name, **limits, made_at=str(context.source)),
        {"dtypes": context.attrs["dtypes"], **limits},
    )  # fmt: skip


stage = _declare(f"Stage(values: list(dtypes); {LIMITS}) -> ()", _row, dtypes=HELD, asynchronous=True, keeps=True)


@stage.begin
def _(values, capacity, memory_limit, container, shared_name, *, done, state):
    return state.put(values, done)


unstage = _declare(f"Unstage(; {NAMED}) -> (values: list(dtypes))", _row, asynchronous=True)
unstage.shape(lambda dtypes, capacity, memory_limit, container, shared_name: [None] * len(dtypes))


@unstage.begin
def _(dtypes, capacity, memory_limit, container, shared_name, *, done, state, device):
    return state.get(_then(done, partial(_on_device, device=device)))


def _then(done, work):
    """Leaves the work on the values to the step that waits for them."""

    def over(values, error):
        done(None if error is not None else Later(partial(work, values)), error)

    return over


peek = _declare(f"StagePeek(index: host int32; {NAMED}) -> (values: list(dtypes))", _row, asynchronous=True)


@peek.shape
def _(index, dtypes, capacity, memory_limit, container, shared_name):
    check_scalar("index", index)
    return [None] * len(dtypes)


@peek.begin
def _(index, dtypes, capacity, memory_limit, container, shared_name, *, done, state, device):
    return state.peek(index, _then(done, partial(_copied, device=device)))


def _size(name, state, get):
    definition = _declare(f"{name}(; {NAMED}) -> (size: int32[0])", state, reads=True, host=True)

    @definition.kernel
    def _(dtypes, capacity, memory_limit, container, shared_name, *, state):
        return torch.tensor(get(state), dtype=torch.int32)


def _clear(name, state):
    definition = _declare(f"{name}(; {NAMED}) -> ()", state, host=True)

    @definition.kernel
    def _(dtypes, capacity, memory_limit, container, shared_name, *, state):
        state.clear()


_size("StageSize", _row, StagingArea.size)
_clear("StageClear", _row)

# ---- by key


def _map(context, ordered):
    """A get may name only some of the types: a put tells how many an element has."""
    limits = _limits(context)
    return shared_resource(
        context, MapStagingArea,
        lambda name: MapStagingArea(name, None, **limits, ordered=ordered, made_at=str(context.source)),
        {"ordered": ordered, **limits},
    )  # fmt: skip


def _map_of_all(context, ordered):
    """The state of an op whose ``dtypes`` are those of a whole element."""
    area, dtypes = _map(context, ordered), context.attrs["dtypes"]
    area.set_dtypes(dtypes)
    return area


def _declare_map(prefix, ordered):
    whole, part = partial(_map_of_all, ordered=ordered), partial(_map, ordered=ordered)
    _map_stage(f"{prefix}MapStage", whole)
    _map_get(f"{prefix}MapUnstage", part, MapStagingArea.get, _on_device)
    _map_get(f"{prefix}MapPeek", part, MapStagingArea.peek, _copied)
    _map_get_any(f"{prefix}MapUnstageNoKey", part)
    _size(f"{prefix}MapSize", whole, MapStagingArea.size)
    _size(f"{prefix}MapIncompleteSize", whole, MapStagingArea.incomplete_size)
    _clear(f"{prefix}MapClear", whole)


def _map_stage(name, state):
    put = _declare(
        f"{name}(key: host int64, indices: host int32, values: list(fake_dtypes); {NAMED}) -> ()",
        state, fake_dtypes=HELD, asynchronous=True, keeps=True,
    )  # fmt: skip

    @put.shape
    def _(key, indices, values, dtypes, capacity, memory_limit, container, shared_name):
        check_scalar("key", key)
        return []

    @put.begin
    def _(key, indices, values, dtypes, capacity, memory_limit, container, shared_name, *, done, state):
        if len(indices) != len(values):
            raise InvalidArgumentError(
                None, None, f"indices and values must have the same length, got {len(indices)} and {len(values)}"
            )
        for index, value in zip(indices, values, strict=True):
            if 0 <= index < len(state.dtypes):  # what is outside is refused by the area
                check_dtype(f"value {index}", value, TORCH_DTYPES.get(state.dtypes[index], np.dtype(object)))
        return state.put(key, indices, values, done)


def _map_get(name, state, method, work):
    get = _declare(
        f"{name}(key: host int64, indices: host int32; {NAMED}) -> (values: list(dtypes))", state, asynchronous=True
    )

    @get.shape
    def _(key, indices, dtypes, capacity, memory_limit, container, shared_name):
        check_scalar("key", key)
        return [None] * len(dtypes)

    @get.begin
    def _(key, indices, dtypes, capacity, memory_limit, container, shared_name, *, done, state, device):
        _check_indices(state, indices, dtypes)
        return method(state, key, indices, _then(done, partial(work, device=device)))


def _map_get_any(name, state):
    get = _declare(
        f"{name}(indices: host int32; {NAMED}) -> (key: int64, values: list(dtypes))", state, asynchronous=True
    )
    get.shape(lambda indices, dtypes, capacity, memory_limit, container, shared_name: [(), *[None] * len(dtypes)])

    @get.begin
    def _(indices, dtypes, capacity, memory_limit, container, shared_name, *, done, state, device):
        _check_indices(state, indices, dtypes)

        def with_key(item):
            key, values = item
            return torch.tensor(key, dtype=torch.int64), _on_device(values, device)

        return state.get(None, indices, _then(done, with_key))


def _check_indices(area, indices, dtypes):
    if len(indices) != len(dtypes):
        raise InvalidArgumentError(None, None, f"{len(indices)} indices are given for values of {len(dtypes)} types")
    for index, dtype in zip(indices, dtypes, strict=True):
        there = area.dtypes[index] if 0 <= index < len(area.dtypes) else None
        if there is not None and TORCH_DTYPES.get(there, there) != dtype:
            raise InvalidArgumentError(
                None, None, f"Value {index} of {area.title} is {there.name}, another type was asked for"
            )


for _prefix, _ordered in (("", False), ("Ordered", True)):
    _declare_map(_prefix, _ordered)
