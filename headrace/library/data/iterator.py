"""tf.data.Iterator: what steps take the elements of datasets from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from headrace.core import dtypes
from headrace.core.errors import OutOfRangeError
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.body import Detached, FuncGraph, function_name
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.data.structure import (
    classes_of,
    flat_shapes,
    flat_types,
    from_flat,
    from_legacy,
    is_compatible,
    shapes_of,
    types_of,
)
from headrace.library.scope import name_scope

GLOBAL_ITERATORS = "iterators"
GET_NEXT_CALL_WARNING_THRESHOLD = 32


class Iterator:
    """Gives the elements of a dataset, one for each step that uses ``get_next()``.

    Made by ``dataset.make_one_shot_iterator()``, ``dataset.make_initializable_iterator()``, or by `from_structure` for
    several datasets and `from_string_handle` for several iterators.  At the end steps raise OutOfRangeError.

    Args:
      iterator_resource: The tensor that stands for the iterator's state.
      initializer: The operation that begins it, or None.
      output_types: The type of each component of an element, in its structure.
      output_shapes: The shape of each component, in the same structure.
      output_classes: The class of each component, `tf.Tensor` or `tf.SparseTensor`, in the same structure.

    >>> iterator = tf.data.Dataset.range(3).make_one_shot_iterator()
    >>> tf.Session().run(iterator.get_next())
    np.int64(0)
    """

    def __init__(
        self, iterator_resource: Tensor, initializer: Operation | None, output_types: Any, output_shapes: Any,
        output_classes: Any,
    ) -> None:  # fmt: skip
        self._begin(iterator_resource, initializer, from_legacy(output_types, output_shapes, output_classes))

    _device = ""  # where a dataset has its elements; "": on the host

    def _begin(self, iterator_resource: Tensor, initializer: Operation | None, spec: Any) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._spec = spec
        self._string_handle: Tensor | None = None
        self._calls = 0
        graph = context.get_default_graph()
        graph.add_to_collection(GLOBAL_ITERATORS, iterator_resource)

    @classmethod
    def _of(cls, iterator_resource: Tensor, initializer: Operation | None, spec: Any, device: str = "") -> Iterator:
        iterator = cls.__new__(cls)
        iterator._begin(iterator_resource, initializer, spec)
        iterator._device = device
        return iterator

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """An iterator without a dataset: `make_initializer` gives the operations that begin one."""
        spec = from_legacy(output_types, output_shapes, output_classes)
        return Iterator._of(_resource(spec, shared_name), None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator that a string stands for, usually a placeholder that is fed what ``string_handle()`` has given."""
        spec = from_legacy(output_types, output_shapes, output_classes)
        handle = convert_to_tensor(string_handle, dtypes.string)
        resource = raw_ops.IteratorFromStringHandleV2(
            handle, output_types=flat_types(spec), output_shapes=flat_shapes(spec)
        )
        return Iterator._of(resource, None, spec)

    @property
    def initializer(self) -> Operation:
        """What begins the iterator again, from the first element on."""
        if self._initializer is None:
            raise ValueError(f"Iterator does not have an initializer. {at()}")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """What begins the iterator with a dataset, whose elements must be like those of the iterator."""
        with name_scope(name, "make_initializer") as scope:
            _check_like(self._spec, dataset)
            with context.get_default_graph().colocate_with(self._iterator_resource.op):
                variant = dataset._applied()._variant_tensor
                made: Operation = raw_ops.MakeIterator(variant, self._iterator_resource, name=scope)
        return made

    def __iter__(self) -> Iterator:
        _check_eager()
        return self

    def __next__(self) -> Any:
        """The next element, where ops run eagerly; StopIteration at the end."""
        _check_eager()
        try:
            return self.get_next()
        except OutOfRangeError:
            raise StopIteration from None

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """The next element: in each step that uses it, another one.  Executed eagerly, in each call."""
        self._calls += 1
        if self._calls > GET_NEXT_CALL_WARNING_THRESHOLD and not context.executing_eagerly():
            warnings.warn(
                "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates that "
                "`Iterator.get_next()` is being called inside a training loop, which will cause gradual slowdown and "
                "eventual resource exhaustion. Call it once, before the loop, and run its result in each step.",
                stacklevel=2,
            )
        take = raw_ops._IteratorGetNextOnDevice if self._device else raw_ops.IteratorGetNext
        with on_device(self._device):
            tensors = take(
                self._iterator_resource,
                output_types=flat_types(self._spec),
                output_shapes=flat_shapes(self._spec),
                name=name or "IteratorGetNext",
            )
        return from_flat(self._spec, tensors)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string that stands for the iterator, for `from_string_handle`."""
        if name is None and self._string_handle is not None:
            return self._string_handle
        handle: Tensor = raw_ops.IteratorToStringHandle(self._iterator_resource, name=name)
        self._string_handle = self._string_handle or handle
        return handle

    @property
    def element_spec(self) -> Any:
        """What an element is like."""
        return self._spec

    @property
    def output_types(self) -> Any:
        """The types of the components of an element, in its structure."""
        return types_of(self._spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components of an element, in its structure."""
        return shapes_of(self._spec)

    @property
    def output_classes(self) -> Any:
        """The classes of the components of an element, in its structure."""
        return classes_of(self._spec)


def on_device(name: str) -> Any:
    """A scope for nodes that are on this device whatever is around them; "": a scope that says nothing."""
    return context.get_default_graph().device(name) if name else nullcontext()


def _resource(spec: Any, shared_name: str | None, device: str = "") -> Tensor:
    with on_device(device):
        resource: Tensor = raw_ops.IteratorV2(
            shared_name=shared_name or "", container="", output_types=flat_types(spec), output_shapes=flat_shapes(spec)
        )
    return resource


def _check_like(spec: Any, dataset: Any) -> None:
    other = dataset.element_spec
    if is_compatible(spec, other):
        return
    for what, get in (("types", types_of), ("shapes", shapes_of), ("classes", classes_of)):
        mine, theirs = get(spec), get(other)
        if str(mine) != str(theirs):
            raise TypeError(f"Expected output {what} {mine!r} but got dataset with output {what} {theirs!r}. {at()}")
    raise TypeError(f"Expected elements like {spec!r} but got a dataset of {other!r}. {at()}")


def _check_eager() -> None:
    if not context.executing_eagerly():
        raise RuntimeError(
            "__iter__() is only supported when eager execution is enabled: in a graph, run the tensors of get_next(). "
            + at()
        )


def eager_iterator(dataset: Any) -> Iterator:
    """An iterator that has begun, where ops run eagerly."""
    _check_eager()
    dataset = dataset._applied()
    spec = dataset.element_spec
    iterator = Iterator._of(_resource(spec, None, dataset._device), None, spec, dataset._device)
    raw_ops.MakeIterator(dataset._variant_tensor, iterator._iterator_resource)
    return iterator


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """An iterator that begins when its ``initializer`` runs, and begins again each time it does.

    Args:
      dataset: The dataset whose elements it gives.
      shared_name: A name under which sessions of one cluster share the iterator; None for an iterator of its own.

    Returns:
      A `tf.data.Iterator`.

    >>> iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
    >>> with tf.Session() as sess:
    ...     sess.run(iterator.initializer)
    ...     sess.run(iterator.get_next())
    np.int64(0)
    """
    if context.executing_eagerly():
        raise RuntimeError(
            "dataset.make_initializable_iterator is not supported when eager execution is enabled. Use `for element in "
            f"dataset` instead. {at()}"
        )
    dataset = dataset._applied()
    spec = dataset.element_spec
    resource = _resource(spec, shared_name, dataset._device)
    with context.get_default_graph().colocate_with(resource.op):
        initializer = raw_ops.MakeIterator(dataset._variant_tensor, resource)
    return Iterator._of(resource, initializer, spec, dataset._device)


def make_one_shot_iterator(dataset: Any, shared_name: str = "") -> Iterator:
    """An iterator that begins with the first step that uses it, and cannot begin again.

    The dataset may use constants only: no variables, tables or placeholders.  Executed eagerly, it begins at once.

    Args:
      dataset: The dataset whose elements it gives.
      shared_name: A name under which sessions of one cluster share the iterator; empty for an iterator of its own.

    Returns:
      A `tf.data.Iterator`.

    >>> iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    >>> tf.Session().run(iterator.get_next())
    np.int64(0)
    """
    if context.executing_eagerly():
        return eager_iterator(dataset)
    dataset = dataset._applied()
    spec = dataset.element_spec
    try:
        factory = _by_value(dataset._variant_tensor)
    except Uncapturable as e:
        raise ValueError(
            "Failed to create a one-shot iterator for a dataset. `Dataset.make_one_shot_iterator()` does not support datasets "
            "that capture stateful objects, such as a `Variable` or `LookupTable`. In these cases, use "
            f"`Dataset.make_initializable_iterator()`. (Original error: {e}) {at()}"
        ) from None
    with on_device(dataset._device):
        resource = raw_ops.OneShotIterator(
            dataset_factory=Detached(factory), output_types=flat_types(spec), output_shapes=flat_shapes(spec),
            shared_name=shared_name,
        )  # fmt: skip
    return Iterator._of(resource, None, spec, dataset._device)


class Uncapturable(Exception):
    """What a copy of a dataset cannot have in it."""


def _by_value(dataset: Tensor) -> FuncGraph:
    """A function without arguments that makes the dataset: a copy of all nodes that the dataset depends on."""
    graph = context.get_default_graph()
    body = FuncGraph("the factory of a one-shot iterator", graph, function_name("make_dataset", graph))
    with body.as_default():
        body.outputs = [copy_by_value(dataset, body, placed=True)]
    return body


def copy_by_value(
    dataset: Tensor, graph: Any, change: Callable[[Tensor], Tensor] = lambda tensor: tensor, placed: bool = False
) -> Tensor:
    """A copy in a graph, of all nodes that the dataset depends on; ``change`` may put something in the place of their outputs.

    ``placed``: each on the device that was asked for.
    """
    copies: dict[Tensor, Tensor] = {}
    for op in _in_order(dataset.op):
        traits = op.op_def.traits
        if traits.feed:
            raise Uncapturable(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
        if traits.stateful or any(t.dtype._is_ref_dtype for t in op._outputs):
            raise Uncapturable(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")
        inputs = [copies[t] for t in op.inputs]
        with graph.device(op.device or None) if placed else nullcontext():
            copy = graph.create_op(
                op.op_def, inputs, [t.dtype for t in op._outputs], name=op.name, attrs=dict(op.attrs)
            )
        copy.source = op.source
        copies.update(zip(op._outputs, map(change, copy._outputs), strict=True))
    return copies[dataset]


def _in_order(op: Operation) -> list[Operation]:
    """The node and all that it depends on, each after its inputs."""
    order: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(op, False)]
    while stack:
        one, ready = stack.pop()
        if one in order:
            continue
        if ready:
            order[one] = None
            continue
        stack.append((one, True))
        stack.extend((t.op, False) for t in one.inputs)
    return list(order)


def get_structure(dataset_or_iterator: Any) -> Any:
    """What an element is like: specs of its components, in its structure.

    Args:
      dataset_or_iterator: A dataset or an iterator.

    Returns:
      A `tf.TensorSpec`, or a nested structure of specs.

    >>> tf.data.experimental.get_structure(tf.data.Dataset.range(3))
    TensorSpec(shape=(), dtype=tf.int64, name=None)
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            f"`dataset_or_iterator` must be a Dataset or Iterator object, but got {dataset_or_iterator!r}. {at()}"
        ) from None


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of the components of an element.

    Args:
      dataset_or_iterator: A dataset or an iterator.

    Returns:
      A type, or types in the structure of an element.

    >>> tf.data.get_output_types(tf.data.Dataset.range(3))
    tf.int64
    """
    return types_of(get_structure(dataset_or_iterator))


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of the components of an element.

    Args:
      dataset_or_iterator: A dataset or an iterator.

    Returns:
      A shape, or shapes in the structure of an element.

    >>> tf.data.get_output_shapes(tf.data.Dataset.range(6).batch(2))
    TensorShape([Dimension(None)])
    """
    return shapes_of(get_structure(dataset_or_iterator))


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of the components of an element.

    Args:
      dataset_or_iterator: A dataset or an iterator.

    Returns:
      A class, or classes in the structure of an element.

    >>> tf.data.get_output_classes(tf.data.Dataset.range(3)) is tf.Tensor
    True
    """
    return classes_of(get_structure(dataset_or_iterator))


def report(iterator: Iterator) -> Tensor:
    """What the stages of the dataset have done, as a tensor of JSON: run it twice, and look at the difference.

    For each stage: the elements that it gave, the seconds that it computed itself, the seconds that what comes after it waited
    for it, and what its buffer holds.  They are counted from the first time that it is run, until ten seconds after the last.

    Args:
      iterator: An iterator of a dataset.

    Returns:
      A string scalar with JSON text.

    >>> iterator = tf.data.Dataset.range(3).make_one_shot_iterator()
    >>> report = tf.data.report(iterator)
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"report needs an iterator of a dataset, got {iterator!r} {at()}")
    text: Tensor = raw_ops._IteratorReport(iterator._iterator_resource, name="report")
    return text
