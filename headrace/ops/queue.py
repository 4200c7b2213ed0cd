"""Queues: handles, adding and taking elements, closing.  Elements are held on the host."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from headrace.core import errors
from headrace.core.dtypes import ANY, int32, resource, variant
from headrace.core.dtypes import bool as bool_
from headrace.core.registry import op
from headrace.core.shape import TensorShape, fits
from headrace.ops.shared.resource import check_resource, shared_resource
from headrace.ops.shared.string_array import array_of
from headrace.resources.calling.batch import empty_batch, pad_and_stack, split, stack, whole
from headrace.resources.calling.invoke import bind_attr
from headrace.resources.calling.packed import pack, unpack
from headrace.resources.calling.value import FROM_TORCH, TORCH_DTYPES
from headrace.resources.state.queue.queue import Queue
from headrace.resources.state.queue.store import FifoStore, PriorityStore, ShuffleStore
from headrace.resources.stepping.waiting import Later

HELD = tuple(t for t in ANY if t not in (resource, variant))

# ---- handles


def _queue(class_name, make_store, options="", types="component_types: list(type) >= 1"):
    definition = op(
        f"{class_name}V2(; {types}, shapes: list(shape) = [], capacity: int = -1, {options}"
        'container: string = "", shared_name: string = "") -> (handle: resource[0])',
        handle=True, stateful=True, host=True,
    )  # fmt: skip

    @definition.state
    def _(context):
        attrs = dict(context.attrs)
        if class_name == "PriorityQueue":
            attrs["component_types"] = (FROM_TORCH[torch.int64], *attrs["component_types"])
            attrs["shapes"] = (TensorShape([]), *attrs["shapes"])
        settings = {k: v for k, v in attrs.items() if k not in ("container", "shared_name")}

        def make(name):
            return CheckedQueue(class_name, name, make_store(attrs), settings, str(context.source))

        named = {"kind": class_name} | {_WORDS.get(k, k): v for k, v in settings.items() if k not in ("seed", "seed2")}
        if "seed" in settings:
            named["random seeds"] = (settings["seed"], settings["seed2"])
        return shared_resource(context, Queue, make, named, by_node_name=False, same=_same)


_WORDS = {"component_types": "component types", "shapes": "component shapes"}


def _same(key, there, requested):
    """Whether two queues of one name may differ so: only shapes with open sizes may."""
    if key == "kind":
        raise errors.InvalidArgumentError(None, None, f"Expected {there}, found {requested}V2: they share their name")
    return (
        key == _WORDS["shapes"]
        and len(there) == len(requested)
        and all(a.is_compatible_with(b) for a, b in zip(there, requested, strict=True))
    )


class CheckedQueue(Queue):
    """A queue that knows what its elements must be."""

    def __init__(self, class_name, name, store, settings, source):
        dtypes, shapes = settings["component_types"], settings["shapes"]
        super().__init__(class_name, name, store, settings["capacity"], dtypes, shapes, source)
        self.bound_dtypes = tuple(bind_attr(t) for t in dtypes)  # as ops receive them
        self.value_dtypes = tuple(TORCH_DTYPES.get(t, _OBJECT) for t in dtypes)  # as values have them
        self.sizes = tuple(s.tuple for s in shapes)


_OBJECT = np.dtype(object)


def _shown(dtypes):
    return ", ".join(d.name for d in dtypes)


def _shuffled(attrs):
    least, capacity = attrs["min_after_dequeue"], attrs["capacity"]
    if least < 0:
        raise errors.InvalidArgumentError(None, None, f"min_after_dequeue {least} must be >= 0")
    if capacity >= 0 and least >= capacity:
        raise errors.InvalidArgumentError(None, None, f"min_after_dequeue {least} must be < capacity {capacity}")
    return ShuffleStore(least, attrs["seed"], attrs["seed2"])


_queue("FIFOQueue", lambda attrs: FifoStore())
_queue("PaddingFIFOQueue", lambda attrs: FifoStore())
_queue("PriorityQueue", lambda attrs: PriorityStore(), types="component_types: list(type) = []")
_queue("RandomShuffleQueue", _shuffled, "min_after_dequeue: int = 0, seed: int = 0, seed2: int = 0, ")

choose = op(
    "_ChooseHandle(index: host int32, handles: list(T)) -> (handle: resource[0])",
    T=(resource,),
    host=True,
    stateful=True,
    reads=True,
)


@choose.kernel
def _(index, handles):
    if not 0 <= index < len(handles):
        raise errors.InvalidArgumentError(None, None, f"indices = {index} is not in [0, {len(handles)})")
    return handles[index]


# ---- adding


def _enqueue(name):
    definition = op(
        f"{name}(handle: resource, components: list(Tcomponents); timeout_ms: int = -1) -> ()",
        Tcomponents=HELD, asynchronous=True, keeps=True, stateful=True, host=True,
    )  # fmt: skip
    return definition


@_enqueue("QueueEnqueueV2").begin
def _(handle, components, timeout_ms, *, done):
    _check(handle, components, ())
    return handle.enqueue(tuple(components), done)


@_enqueue("QueueEnqueueManyV2").begin
def _(handle, components, timeout_ms, *, done):
    first = components[0]
    count = first.shape[0] if first.ndim else None
    for i, component in enumerate(components):
        if not component.ndim:
            raise errors.InvalidArgumentError(
                None, None, f"Component {i} of enqueue_many must have at least one dimension, got a scalar"
            )
        if component.shape[0] != count:
            raise errors.InvalidArgumentError(
                None, None,
                f"Shape mismatch in tuple component {i}. Expected {_sizes((count, *component.shape[1:]))}, got "
                f"{_sizes(component.shape)}: all components must have the same size in the 0th dimension",
            )  # fmt: skip
    _check(handle, components, (count,))
    return handle.enqueue_many(split(components, count), done)


def _check(queue, components, leading):
    """Refuses components that are not the queue's; ``leading`` is the size of a batch."""
    check_resource(queue, Queue)
    if queue.capacity == 0:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{queue.class_name} '{queue.name}' has capacity 0: nothing can ever be enqueued. -1 means no limit",
        )
    if len(components) != len(queue.dtypes):
        raise errors.InvalidArgumentError(
            None, None,
            f"Wrong number of components in tuple. Expected {len(queue.dtypes)}, got {len(components)}",
        )  # fmt: skip
    for i, (component, dtype) in enumerate(zip(components, queue.value_dtypes, strict=True)):
        if component.dtype != dtype:
            received = FROM_TORCH[component.dtype].name if isinstance(component, torch.Tensor) else "string"
            raise errors.InvalidArgumentError(
                None, None,
                f"Type mismatch in tuple component {i}. Expected {queue.dtypes[i].name}, got {received}",
            )  # fmt: skip
    for i, (component, shape) in enumerate(zip(components, queue.sizes, strict=False)):
        if component.shape != leading + shape and not fits(component.shape, leading + shape):
            raise errors.InvalidArgumentError(
                None, None,
                f"Shape mismatch in tuple component {i}. Expected {_sizes(leading + shape)}, got {_sizes(component.shape)}",
            )  # fmt: skip


def _sizes(shape):
    return f"[{','.join('?' if n is None else str(n) for n in shape)}]"


# ---- taking

dequeue = op(
    "QueueDequeueV2(handle: resource; component_types: list(type), timeout_ms: int = -1) -> (components: list(component_types))",
    asynchronous=True, stateful=True, host=True,
)  # fmt: skip
dequeue.not_differentiable()
dequeue.shape(lambda handle, component_types, timeout_ms: [None] * len(component_types))


@dequeue.begin
def _(handle, component_types, timeout_ms, *, done):
    _check_types(handle, component_types)

    def over(element, error):
        done(None if error is not None else whole(element), error)

    return handle.dequeue(over)


def _check_types(queue, component_types):
    check_resource(queue, Queue)
    if component_types != queue.bound_dtypes:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{queue.class_name} '{queue.name}' has components of types {_shown(queue.dtypes)}, others were asked for",
        )


def _dequeue_many(name, method):
    definition = op(
        f"{name}(handle: resource, n: host int32; component_types: list(type), timeout_ms: int = -1) "
        "-> (components: list(component_types))",
        asynchronous=True, stateful=True, host=True,
    )  # fmt: skip
    definition.not_differentiable()
    definition.shape(lambda handle, n, component_types, timeout_ms: [None] * len(component_types))

    @definition.begin
    def _(handle, n, component_types, timeout_ms, *, done):
        _check_types(handle, component_types)
        if n < 0:
            raise errors.InvalidArgumentError(
                None, None, f"{handle.class_name} '{handle.name}': requested {n} < 0 elements"
            )
        if len(handle.shapes) != len(handle.dtypes):
            raise errors.InvalidArgumentError(
                None, None,
                f"{handle.class_name}'s DequeueMany and DequeueUpTo require the components to have specified shapes: "
                f"make '{handle.name}' with shapes=",
            )  # fmt: skip

        def over(elements, error):
            done(None if error is not None else Later(partial(_batch, handle, elements)), error)

        return getattr(handle, method)(n, over)


def _batch(queue, elements):
    if not elements:
        return empty_batch(queue.shapes, queue.dtypes)
    if queue.class_name == "PaddingFIFOQueue":
        return pad_and_stack(elements, queue.shapes, queue.dtypes)
    return stack(elements)


_dequeue_many("QueueDequeueManyV2", "dequeue_many")
_dequeue_many("QueueDequeueUpToV2", "dequeue_up_to")

# ---- the queue itself

close = op(
    "QueueCloseV2(handle: resource; cancel_pending_enqueues: bool = False) -> ()",
    asynchronous=True,
    stateful=True,
    host=True,
)


@close.begin
def _(handle, cancel_pending_enqueues, *, done):
    check_resource(handle, Queue)
    return handle.close(cancel_pending_enqueues, done)


def _property(name, output, dtype, get):
    definition = op(f"{name}(handle: resource) -> ({output}: {dtype.name}[0])", stateful=True, reads=True, host=True)

    @definition.kernel
    def _(handle):
        check_resource(handle, Queue)
        return torch.tensor(get(handle), dtype=TORCH_DTYPES[dtype])


_property("QueueSizeV2", "size", int32, Queue.size)
_property("QueueIsClosedV2", "is_closed", bool_, lambda queue: queue.is_closed)

# ---- the state of a queue as tensors

state = op("_QueueState(handle: resource) -> (elements: string, position: int64)", stateful=True, reads=True, host=True)
state.shape(lambda handle: ((None, None), (None,)))


@state.kernel
def _(handle):
    """A row for each element, each component as a TensorProto; whether the queue is closed, and what its store adds."""
    check_resource(handle, Queue)
    elements, position, closed = handle.state()
    packed = [pack(value) for element in elements for value in whole(element)]
    return array_of(packed, (len(elements), len(handle.dtypes))), torch.tensor([int(closed), *position])


restore = op("_RestoreQueueState(handle: resource, elements: string, position: int64) -> ()", stateful=True, host=True)


@restore.shape
def _(handle, elements, position):
    elements.with_rank(2)
    position.with_rank(1)
    return []


@restore.kernel
def _(handle, elements, position):
    check_resource(handle, Queue)
    closed, *rest = position.tolist()
    own = len(handle.state()[1])
    if elements.shape[1] != len(handle.dtypes) or len(rest) != own:
        raise errors.InvalidArgumentError(
            None, None,
            f"the saved elements have {elements.shape[1]} components and {len(rest)} numbers of a position; {handle.class_name} "
            f"'{handle.name}' has {len(handle.dtypes)} and {own}",
        )  # fmt: skip
    try:
        rows = [tuple(map(unpack, row, handle.bound_dtypes)) for row in elements]
    except ValueError as e:
        raise errors.InvalidArgumentError(
            None, None, f"a saved element is not of {handle.class_name} '{handle.name}': {e}"
        ) from None
    for row in rows:
        _check(handle, row, ())
    handle.restore(rows, rest, bool(closed))
