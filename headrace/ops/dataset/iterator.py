"""Iterators: handles, what begins them, and taking elements."""

from __future__ import annotations

import json
import uuid
import weakref

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.ops.dataset.declare import TYPES, check_dataset
from headrace.ops.shared.resource import check_resource
from headrace.resources.state.iterator import Iterator, check_same

# Iterators of this process by the strings that stand for them.
_by_handle: weakref.WeakValueDictionary[bytes, Iterator] = weakref.WeakValueDictionary()


def _iterator(context, factory=None):
    attrs = context.attrs

    def make():
        name = attrs["shared_name"] or context.name
        return Iterator(
            name, attrs["output_types"], attrs["output_shapes"], context.submit, context.cores, str(context.source),
            factory,
        )  # fmt: skip

    return context.resource(Iterator, make)


for _name in ("Iterator", "IteratorV2"):
    _definition = op(
        f"{_name}(; shared_name: string, container: string, {TYPES}) -> (handle: resource)",
        handle=True,
        stateful=True,
        host=True,
    )
    _definition.not_differentiable()
    _definition.shape(lambda *arguments: ())
    _definition.state(_iterator)

one_shot = op(
    f"OneShotIterator(; dataset_factory: func, {TYPES}, container: string = \"\", shared_name: string = \"\") -> "
    "(handle: resource)",
    handle=True, stateful=True, host=True,
)  # fmt: skip
one_shot.not_differentiable()
one_shot.shape(lambda *arguments: ())


@one_shot.state
def _(context):
    make = context.callable(context.attrs["dataset_factory"].body)

    def factory():
        (stage,) = make()
        check_dataset(stage)
        return stage

    return _iterator(context, factory)


make_iterator = op("MakeIterator(dataset: variant, iterator: resource) -> ()", stateful=True, host=True)
make_iterator.not_differentiable()
make_iterator.shape(lambda dataset, iterator: [])


@make_iterator.kernel
def _(dataset, iterator):
    check_dataset(dataset)
    check_resource(iterator, Iterator)
    iterator.make(dataset)


for _name in ("IteratorGetNext", "IteratorGetNextSync"):
    _definition = op(
        f"{_name}(iterator: resource; {TYPES}) -> (components: list(output_types))",
        asynchronous=True,
        stateful=True,
        host=True,
    )
    _definition.not_differentiable()
    _definition.shape(lambda iterator, output_types, output_shapes: list(output_shapes))

    @_definition.begin
    def _(iterator, output_types, output_shapes, *, done):
        check_resource(iterator, Iterator)
        return iterator.get_next(done)


as_optional = op(
    f"IteratorGetNextAsOptional(iterator: resource; {TYPES}) -> (optional: variant)",
    asynchronous=True,
    stateful=True,
    host=True,
)
as_optional.not_differentiable()
as_optional.shape(lambda iterator, output_types, output_shapes: ())


@as_optional.begin
def _(iterator, output_types, output_shapes, *, done):
    check_resource(iterator, Iterator)
    return iterator.get_next(done, as_optional=True)


to_string = op(
    "IteratorToStringHandle(resource_handle: resource) -> (string_handle: string)",
    stateful=True,
    reads=True,
    host=True,
)
to_string.not_differentiable()
to_string.shape(lambda resource_handle: ())


@to_string.kernel
def _(resource_handle):
    """A string that stands for the iterator in this process, the same each time."""
    check_resource(resource_handle, Iterator)
    if not resource_handle.handle:
        resource_handle.handle = f"{resource_handle.name}-{uuid.uuid4().hex}".encode()
        _by_handle[resource_handle.handle] = resource_handle
    return np.array(resource_handle.handle, object)


for _name in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    _definition = op(
        f"{_name}(string_handle: string; output_types: list(type) = [], output_shapes: list(shape) = []) -> "
        "(resource_handle: resource)",
        stateful=True, reads=True, host=True,
    )  # fmt: skip
    _definition.not_differentiable()
    _definition.shape(lambda string_handle, output_types, output_shapes: ())

    @_definition.kernel
    def _(string_handle, output_types, output_shapes, *, node):
        if string_handle.ndim:
            raise InvalidArgumentError(None, None, "string_handle must be a scalar")
        iterator = _by_handle.get(string_handle.item())
        if iterator is None:
            raise InvalidArgumentError(
                None, None,
                f"no iterator of this process has the string handle {string_handle.item()!r}: pass what sess.run gives for "
                "iterator.string_handle(), of a session that is open",
            )  # fmt: skip
        if node.attrs["output_types"]:
            shapes = node.attrs["output_shapes"] or [TensorShape(None)] * len(iterator.types)
            check_same(node.attrs["output_types"], shapes, iterator.types, iterator.shapes)
        return iterator


# ---- where its time goes

report = op("_IteratorReport(iterator: resource) -> (report: string)", stateful=True, host=True)
report.not_differentiable()
report.shape(lambda iterator: ())


@report.kernel
def _(iterator):
    """What the stages have done, as JSON."""
    check_resource(iterator, Iterator)
    return np.array(json.dumps(iterator.report()).encode(), object)


# ---- the position of an iterator as a tensor

state = op("_IteratorState(iterator: resource) -> (position: string)", stateful=True, blocking=True, host=True)
state.not_differentiable()
state.shape(lambda iterator: ())


@state.kernel
def _(iterator):
    check_resource(iterator, Iterator)
    return np.array(iterator.save(), object)


restore = op("_RestoreIteratorState(iterator: resource, position: string) -> ()", stateful=True, host=True)
restore.not_differentiable()


@restore.shape
def _(iterator, position):
    position.with_rank(0)
    return []


@restore.kernel
def _(iterator, position):
    check_resource(iterator, Iterator)
    iterator.restore(position.item())
