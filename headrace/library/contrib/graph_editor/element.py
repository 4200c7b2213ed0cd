"""contrib.graph_editor: lists of operations and tensors from whatever programs give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, Graph):
        return value.get_operations()
    if hasattr(value, "ops") and not isinstance(value, (Operation, Tensor)):  # a view of a part of a graph
        return list(value.ops)
    if isinstance(value, (Operation, Tensor)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def make_list_of_op(ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False) -> Any:
    """The operations among what is given, as a list.

    Args:
      ops: An operation, a list of them, a view, or a graph.
      check_graph: Accepted for TensorFlow's sake; operations of several graphs are an error wherever they meet.
      allow_graph: False refuses a graph.
      ignore_ts: True leaves tensors out; False refuses them.

    Returns:
      A list of operations.

    >>> [op.type for op in tf.contrib.graph_editor.make_list_of_op(tf.constant(1.0).op)]
    ['Const']
    """
    if isinstance(ops, Graph) and not allow_graph:
        raise TypeError(f"a graph is not accepted here: give its operations {at()}")
    items = _items(ops)
    if ignore_ts:
        items = [item for item in items if not isinstance(item, Tensor)]
    return [_checked(item, Operation) for item in items]


def make_list_of_t(ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False) -> Any:
    """The tensors among what is given, as a list; of a graph, all tensors of its operations.

    Args:
      ts: A tensor, a list of them, or a graph.
      check_graph: Accepted for TensorFlow's sake; tensors of several graphs are an error wherever they meet.
      allow_graph: False refuses a graph.
      ignore_ops: True leaves operations out; False refuses them.

    Returns:
      A list of tensors.

    >>> len(tf.contrib.graph_editor.make_list_of_t([tf.constant(1.0), tf.constant(2.0)]))
    2
    """
    if isinstance(ts, Graph):
        if not allow_graph:
            raise TypeError(f"a graph is not accepted here: give its tensors {at()}")
        return outputs_of(ts.get_operations())
    items = _items(ts)
    if ignore_ops:
        items = [item for item in items if not isinstance(item, Operation)]
    return [_checked(item, Tensor) for item in items]


def _checked(item: Any, accepted: type) -> Any:
    item = item._as_graph_element() if hasattr(item, "_as_graph_element") else item
    if not isinstance(item, accepted):
        raise TypeError(f"expected a tf.{accepted.__name__}, got {item!r} {at()}")
    return item


def outputs_of(ops: Iterable[Operation]) -> list[Tensor]:
    """All outputs of the operations, in their order."""
    return [t for op in ops for t in op._outputs]


def unique(items: Iterable[Any]) -> list[Any]:
    """Each item once, in the order of their first places."""
    return list(dict.fromkeys(items))


def get_consuming_ops(ts: Any) -> list[Operation]:
    """The operations that take any of the tensors.

    Args:
      ts: A tensor or a list of tensors.

    Returns:
      A list of operations, each once.

    >>> x = tf.constant(1.0)
    >>> y = tf.negative(x, name="y")
    >>> [op.name for op in tf.contrib.graph_editor.get_consuming_ops(x)]
    ['y']
    """
    return unique(op for t in make_list_of_t(ts) for op in t._consumers)


def get_generating_ops(ts: Any) -> list[Operation]:
    """The operations that compute the tensors.

    Args:
      ts: A tensor or a list of tensors.

    Returns:
      A list of operations, each once.

    >>> [op.name for op in tf.contrib.graph_editor.get_generating_ops(tf.constant(1.0, name="x"))]
    ['x']
    """
    return unique(t.op for t in make_list_of_t(ts))


def ops_of(seeds: Any, of_tensors: Callable[[Any], list[Operation]]) -> list[Operation]:
    """The operations among seeds, and those that belong to the tensors among them."""
    items = [item._as_graph_element() if hasattr(item, "_as_graph_element") else item for item in _items(seeds)]
    result: list[Operation] = []
    for item in items:
        result += of_tensors(item) if isinstance(item, Tensor) else [_checked(item, Operation)]
    return unique(result)
