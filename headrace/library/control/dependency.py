"""Passing values on and ordering work: identity, group, tuple, no_op, and the checks that stop a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices, SparseTensor
from headrace.library.scope import colocate_with, control_dependencies, device, name_scope


def identity(input: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Passes ``input`` on under another name; made inside ``control_dependencies`` it waits for them.

    Args:
      input: A tensor.
      name: A name for the op.

    Returns:
      A tensor with the value of ``input``.

    >>> x = tf.identity([1.0, 2.0], name='x')
    >>> x
    <tf.Tensor 'x:0' shape=(2,) dtype=float32>
    """
    return raw_ops.Identity(input, name=name)


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:  # noqa: A002 - TF1's name
    """Passes the tensors on; none is available before all are.

    Args:
      input: A list of tensors, of different types or not.
      name: A name for the op.

    Returns:
      A list of tensors with their values.

    >>> tf.Session().run(tf.identity_n([1, 2.5]))
    [np.int32(1), np.float32(2.5)]
    """
    return raw_ops.IdentityN(list(input), name=name)


def stop_gradient(input: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Passes ``input`` on, a constant to gradients.

    Args:
      input: A tensor.
      name: A name for the op.

    Returns:
      A tensor with the value of ``input``.

    >>> x = tf.constant(2.0)
    >>> tf.Session().run(tf.gradients(x * tf.stop_gradient(x), x))
    [np.float32(2.0)]
    """
    return raw_ops.StopGradient(input, name=name)


def guarantee_const(input: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """The caller's promise that the value never changes.

    Args:
      input: A tensor.
      name: A name for the op.

    Returns:
      A tensor with the value of ``input``.

    >>> tf.Session().run(tf.guarantee_const([1, 2]))
    array([1, 2], dtype=int32)
    """
    return raw_ops.GuaranteeConst(input, name=name)


def no_op(name: str | None = None) -> Operation:
    """Does nothing: something to hang control dependencies on.

    Args:
      name: A name for the op.

    Returns:
      An operation; fetching it gives None.

    >>> with tf.control_dependencies([tf.print("a step")]):
    ...     done = tf.no_op(name="done")
    """
    return raw_ops.NoOp(name=name)


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """One operation that finishes when all ``inputs`` (tensors, operations, nested lists of them) have.

    ``train = tf.group(update_a, update_b)``.  It has no value: fetching it gives None.

    Args:
      *inputs: What to wait for; None is left out.
      **kwargs: ``name``: a name for the op.

    Returns:
      An operation; None where ops run eagerly.

    >>> a, b = tf.Variable(1), tf.Variable(2)
    >>> both = tf.group(a.initializer, b.initializer)
    >>> with tf.Session() as sess:
    ...     sess.run(both)
    ...     print(sess.run([a, b]))
    [np.int32(1), np.int32(2)]
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(map(str, kwargs))}")
    if context.executing_eagerly():  # all of them have run
        return None  # type: ignore[return-value]
    with name_scope(name, "group_deps", _flat(inputs)) as scope:
        by_device: dict[str, list[Any]] = {}
        for item in _flat(inputs):
            if not hasattr(item, "device"):
                raise TypeError(
                    "Expected tf.group() inputs to be tensors, operations or nested lists of them, "
                    f"got {item!r} of type {type(item).__name__}"
                )
            by_device.setdefault(item.device, []).append(item)
        if len(by_device) <= 1:
            [(where, items)] = by_device.items() or [("", [])]
            return _join(where, items, scope)
        # One node a device, so that a device is waited for once however many inputs it has.
        parts = [_join(where, items) for where, items in sorted(by_device.items())]
        with control_dependencies(parts):
            return no_op(name=scope)


def _join(where: str, items: list[Any], name: str | None = None) -> Operation:
    with control_dependencies(items):
        if not where:
            return no_op(name=name)
        with device(where):
            return no_op(name=name)


def _flat(value: Any) -> list[Any]:
    """The leaves of nested lists, tuples and dicts, dicts by sorted key; None is left out."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Sequence[Any] | None = None) -> list[Any]:
    """Passes the tensors on; none is available before all of them, and the ``control_inputs``, are computed.

    Args:
      tensors: A list of tensors, IndexedSlices and operations; None stays None.
      name: A name for the op.
      control_inputs: Further operations or tensors to wait for.

    Returns:
      A list of tensors with their values; an operation in place of each operation.

    >>> a, b = tf.tuple([tf.constant(1), tf.constant(2)])
    >>> tf.Session().run([a, b])
    [np.int32(1), np.int32(2)]
    """
    if context.executing_eagerly():
        return list(tensors)
    with name_scope(name, "tuple", list(tensors)):
        tensors = [
            t if t is None or isinstance(t, (Operation, Tensor, IndexedSlices)) else convert_to_tensor(t)
            for t in tensors
        ]
        gates = [t if isinstance(t, Operation) else t.op for t in tensors if t is not None]
        for item in control_inputs or ():
            element = context.get_default_graph().as_graph_element(item)
            gates.append(element.op if isinstance(element, Tensor) else element)
        gates = sorted(dict.fromkeys(gates), key=lambda operation: operation._id)
        if not gates:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*gates)
        return [t if t is None else gate if isinstance(t, Operation) else with_dependencies([gate], t) for t in tensors]


def with_dependencies(dependencies: Sequence[Any], output_tensor: Any, name: str | None = None) -> Any:
    """``output_tensor``, computed only after the ``dependencies``."""
    with (
        name_scope(name, "control_dependency", [*dependencies, output_tensor]) as scope,
        colocate_with(output_tensor),
        control_dependencies(dependencies),
    ):
        if isinstance(output_tensor, IndexedSlices):
            values = raw_ops.Identity(output_tensor.values, name=scope)
            return IndexedSlices(values, output_tensor.indices, output_tensor.dense_shape)
        if isinstance(output_tensor, SparseTensor):
            values = raw_ops.Identity(output_tensor.values, name=scope)
            return SparseTensor(output_tensor.indices, values, output_tensor.dense_shape)
        return raw_ops.Identity(convert_to_tensor(output_tensor), name=scope)


@contextmanager
def op_scope(values: Sequence[Any], name: str | None, default_name: str | None = None) -> Iterator[str]:
    """The old order of ``name_scope``'s arguments.

    Args:
      values: The tensors that are used inside; they must belong to one graph.
      name: The name of the scope; None for ``default_name``.
      default_name: The name to use where ``name`` is None.

    Returns:
      A context manager that gives the scope's name.

    >>> with tf.op_scope([], "layer") as scope:
    ...     print(scope, tf.constant(1).name)
    layer/ layer/Const:0
    """
    with name_scope(name, default_name, values) as scope:
        yield scope
