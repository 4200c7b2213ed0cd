"""Barriers: handles, giving keys their components, taking complete elements.  Values are held on the host."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from headrace.core.dtypes import ANY, resource, variant
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.ops.shared.resource import check_dtype, check_resource, check_scalar, shared_resource
from headrace.resources.calling.batch import empty_batch, split
from headrace.resources.calling.invoke import bind_attr
from headrace.resources.calling.value import TORCH_DTYPES
from headrace.resources.state.barrier import Barrier, batch_of
from headrace.resources.stepping.waiting import Later

HELD = tuple(t for t in ANY if t not in (resource, variant))

barrier = op(
    "Barrier(; component_types: list(type), shapes: list(shape) = [], capacity: int = -1, "
    'container: string = "", shared_name: string = "") -> (handle: resource[0])',
    component_types=HELD, handle=True, stateful=True, host=True,
)  # fmt: skip


@barrier.state
def _(context):
    dtypes, shapes, capacity = (context.attrs[key] for key in ("component_types", "shapes", "capacity"))
    if capacity != -1:
        raise InvalidArgumentError(
            None, None,
            f"A barrier has no capacity but -1, got {capacity}. Give it its values through a queue to limit them",
        )  # fmt: skip
    if not dtypes or len(shapes) not in (0, len(dtypes)):
        raise InvalidArgumentError(
            None, None,
            f"A barrier needs one type or more, and a shape for each or none; got {len(dtypes)} types, {len(shapes)} shapes",
        )  # fmt: skip
    return shared_resource(
        context, Barrier, lambda name: Barrier(name, dtypes, shapes, str(context.source)),
        {"component types": dtypes, "component shapes": shapes},
    )  # fmt: skip


# ---- inserting

insert_many = op(
    "BarrierInsertMany(handle: resource, keys: string, values: T; component_index: int) -> ()",
    T=HELD, asynchronous=True, stateful=True, host=True,
)  # fmt: skip


@insert_many.shape
def _(handle, keys, values, component_index):
    keys.assert_has_rank(1)
    values.with_rank_at_least(1)[:1].assert_is_compatible_with(keys)
    return []


@insert_many.begin
def _(handle, keys, values, component_index, *, done):
    check_resource(handle, Barrier)
    if not 0 <= component_index < len(handle.dtypes):
        raise InvalidArgumentError(
            None, None,
            f"The component ID is out of range {component_index} > num_components (= {len(handle.dtypes)})",
        )  # fmt: skip
    check_dtype("values", values, TORCH_DTYPES.get(handle.dtypes[component_index], np.dtype(object)))
    _check_values(handle, keys, values, component_index)
    rows = [row for (row,) in split([values], len(keys))]
    return handle.insert_many(component_index, keys.tolist(), rows, done)


def _check_values(handle, keys, values, component_index):
    if keys.ndim != 1 or not values.ndim or len(keys) != values.shape[0]:
        raise InvalidArgumentError(
            None, None,
            f"A barrier needs a vector of keys and a value for each; got keys of shape {list(keys.shape)} and values of "
            f"shape {list(values.shape)}",
        )  # fmt: skip
    if not all(values.shape[1:]):
        raise InvalidArgumentError(
            None, None, f"Tensors with no elements are not supported by barriers: received shape {list(values.shape)}"
        )
    shape = handle.shapes[component_index] if handle.shapes else None
    if shape is not None and not shape.is_compatible_with(tuple(values.shape[1:])):
        raise InvalidArgumentError(
            None, None,
            f"Shape mismatch in component {component_index}. Expected {shape}, got {tuple(values.shape[1:])}",
        )  # fmt: skip


# ---- taking

take_many = op(
    "BarrierTakeMany(handle: resource, num_elements: host int32; component_types: list(type), "
    "allow_small_batch: bool = False, wait_for_incomplete: bool = False, timeout_ms: int = -1) "
    "-> (indices: int64, keys: string, values: list(component_types))",
    asynchronous=True, stateful=True, host=True,
)  # fmt: skip
take_many.not_differentiable()


@take_many.shape
def _(handle, num_elements, component_types, allow_small_batch, wait_for_incomplete, timeout_ms):
    check_scalar("num_elements", num_elements)
    count = (None if allow_small_batch else num_elements,)
    return [count, count, *[None] * len(component_types)]


@take_many.begin
def _(handle, num_elements, component_types, allow_small_batch, wait_for_incomplete, timeout_ms, *, done):
    check_resource(handle, Barrier)
    if component_types != tuple(bind_attr(dtype) for dtype in handle.dtypes):
        raise InvalidArgumentError(
            None, None,
            f"Barrier '{handle.name}' has components of types {[d.name for d in handle.dtypes]}, others were asked for",
        )  # fmt: skip
    if num_elements < 0:
        raise InvalidArgumentError(None, None, f"num_elements must be 0 or more, got {num_elements}")
    if timeout_ms != -1:
        raise InvalidArgumentError(
            None, None,
            f"Timeout not supported by barriers, got timeout_ms {timeout_ms}; a run has one: RunOptions.timeout_in_ms",
        )  # fmt: skip

    def over(elements, error):
        done(None if error is not None else Later(partial(_batch, handle, elements)), error)

    return handle.take_many(num_elements, over, allow_small_batch, wait_for_incomplete)


def _batch(barrier, elements):
    """Indices, keys, and a list of the components."""
    if not elements:
        shapes = [s if s.rank is not None else () for s in barrier.shapes] or [()] * len(barrier.dtypes)
        return torch.zeros(0, dtype=torch.int64), np.zeros(0, object), list(empty_batch(shapes, barrier.dtypes))
    for i in range(2, len(elements[0])):
        shapes = {tuple(element[i].shape) for element in elements}
        if len(shapes) > 1:
            raise InvalidArgumentError(
                None, None,
                f"Elements of different shapes cannot be taken together: component {i - 2} has {sorted(shapes)}",
            )  # fmt: skip
    indices, keys, *values = batch_of(elements)
    return indices, keys, values


# ---- the barrier itself

close = op(
    "BarrierClose(handle: resource; cancel_pending_enqueues: bool = False) -> ()",
    asynchronous=True,
    stateful=True,
    host=True,
)


@close.begin
def _(handle, cancel_pending_enqueues, *, done):
    check_resource(handle, Barrier)
    return handle.close(cancel_pending_enqueues, done)


def _size(name, get):
    definition = op(f"{name}(handle: resource) -> (size: int32[0])", stateful=True, reads=True, host=True)

    @definition.kernel
    def _(handle):
        check_resource(handle, Barrier)
        return torch.tensor(get(handle), dtype=torch.int32)


_size("BarrierReadySize", Barrier.ready_size)
_size("BarrierIncompleteSize", Barrier.incomplete_size)
