"""contrib.graph_editor: edges of a graph that lead elsewhere."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph.operation import Operation, Tensor
from headrace.library.contrib.graph_editor.element import make_list_of_op, make_list_of_t


def _pairs(ts0: Any, ts1: Any) -> list[tuple[Tensor, Tensor]]:
    first, second = make_list_of_t(ts0), make_list_of_t(ts1)
    if len(first) != len(second):
        raise ValueError(f"the two lists of tensors must have one length, got {len(first)} and {len(second)} {at()}")
    for one, other in zip(first, second, strict=True):
        if one.dtype.base_dtype != other.dtype.base_dtype or not one.shape.is_compatible_with(other.shape):
            raise ValueError(
                f"{one.name} ({one.dtype.name} {one.shape}) cannot take the place of {other.name} ({other.dtype.name} "
                f"{other.shape}) {at()}"
            )
    return list(zip(first, second, strict=True))


def _takers(t: Tensor, can_modify: Any, cannot_modify: Any) -> list[tuple[Operation, int]]:
    """The places where the tensor is taken that may be changed."""
    only = None if can_modify is None else set(make_list_of_op(can_modify))
    never = set(make_list_of_op(cannot_modify))
    takers = [op for op in dict.fromkeys(t._consumers) if (only is None or op in only) and op not in never]
    return [(op, i) for op in takers for i, x in enumerate(op.inputs) if x is t]


def _lead(places: list[tuple[Operation, int]], t: Tensor) -> int:
    for op, index in places:
        op._update_input(index, t)
    return len(places)


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Lets what takes the second tensors take the first instead.

    Args:
      ts0: The tensors that are taken from here on.
      ts1: As many tensors, whose places they take.
      can_modify: The only operations that may change; None for all.
      cannot_modify: Operations that may not change; None for none.

    Returns:
      How many inputs were changed.

    >>> a, b = tf.constant(1.0), tf.constant(2.0)
    >>> y = tf.negative(b)
    >>> tf.contrib.graph_editor.reroute_ts(a, b)
    1
    >>> y.op.inputs[0] is a
    True
    """
    changes = [(_takers(other, can_modify, cannot_modify), one) for one, other in _pairs(ts0, ts1)]
    return sum(_lead(places, t) for places, t in changes)


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Lets what takes the first tensors take the second instead, and the other way round.

    Args:
      ts0: Tensors.
      ts1: As many others.
      can_modify: The only operations that may change; None for all.
      cannot_modify: Operations that may not change; None for none.

    Returns:
      How many inputs were changed.

    >>> a, b = tf.constant(1.0), tf.constant(2.0)
    >>> y, z = tf.negative(a), tf.negative(b)
    >>> tf.contrib.graph_editor.swap_ts(a, b)
    2
    >>> y.op.inputs[0] is b
    True
    """
    changes: list[tuple[list[tuple[Operation, int]], Tensor]] = []
    for one, other in _pairs(ts0, ts1):
        changes.append((_takers(one, can_modify, cannot_modify), other))
        changes.append((_takers(other, can_modify, cannot_modify), one))
    return sum(_lead(places, t) for places, t in changes)


def add_control_inputs(op: Operation, cops: Any) -> None:
    """Lets an operation run after others.

    Args:
      op: The operation.
      cops: An operation, or a list of them, that it does not wait for yet.

    >>> x, y = tf.constant(1.0), tf.constant(2.0)
    >>> tf.contrib.graph_editor.add_control_inputs(y.op, x.op)
    >>> y.op.control_inputs == [x.op]
    True
    """
    others = make_list_of_op(cops, allow_graph=False)
    for other in others:
        if other in op._control_inputs:
            raise ValueError(f"{other.name} is already a control_input of {op.name} {at()}")
    op._add_control_inputs(others)


def remove_control_inputs(op: Operation, cops: Any) -> None:
    """Lets an operation no longer wait for others.

    Args:
      op: The operation.
      cops: An operation, or a list of them, that it waits for.

    >>> x, y = tf.constant(1.0), tf.constant(2.0)
    >>> y.op._add_control_input(x.op)
    >>> tf.contrib.graph_editor.remove_control_inputs(y.op, x.op)
    >>> y.op.control_inputs
    []
    """
    others = make_list_of_op(cops, allow_graph=False)
    for other in others:
        if other not in op._control_inputs:
            raise ValueError(f"{other.name} is not a control_input of {op.name} {at()}")
    op._control_inputs = [other for other in op._control_inputs if other not in others]
    op.graph._mutated()
