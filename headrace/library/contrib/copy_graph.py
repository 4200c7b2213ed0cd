"""contrib.copy_graph: nodes and variables of one graph copied into another."""

from __future__ import annotations

from typing import Any

from headrace.client.session import Session
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.state.variable import Variable


def get_copied_op(org_instance: Any, graph: Graph, scope: str = "") -> Any:
    """The copy of a node or a variable, which `copy_op_to_graph` or `copy_variable_to_graph` has made.

    Args:
      org_instance: The original: an operation, a tensor or a variable.
      graph: The graph of the copy.
      scope: The name scope of the copy.

    Returns:
      The operation, tensor or variable of that name.

    >>> x, other = tf.constant(1.0, name="x"), tf.Graph()
    >>> copy = tf.contrib.copy_graph.copy_op_to_graph(x, other, [])
    >>> tf.contrib.copy_graph.get_copied_op(x, other) is copy
    True
    """
    name = f"{scope}/{org_instance.name}" if scope else org_instance.name
    if isinstance(org_instance, Variable):
        for keys in graph.get_all_collection_keys():
            for item in graph.get_collection(keys):
                if isinstance(item, Variable) and item.name == name:
                    return item
        raise KeyError(f"the graph has no variable {name!r} {at()}")
    return graph.as_graph_element(name, allow_tensor=True, allow_operation=True)


def copy_variable_to_graph(org_instance: Any, to_graph: Graph, scope: str = "") -> Any:
    """A variable of the same name, value and collections in another graph.

    The value is the one that the variable's initializer gives.

    Args:
      org_instance: The variable.
      to_graph: The graph of the copy.
      scope: A name scope for the copy.

    Returns:
      The copy.

    >>> v, other = tf.Variable(2.0, name="v"), tf.Graph()
    >>> tf.contrib.copy_graph.copy_variable_to_graph(v, other, "copied").op.name
    'copied/v'
    """
    if not isinstance(org_instance, Variable):
        raise TypeError(f"{org_instance!r} is not a Variable {at()}")
    name = f"{scope}/{org_instance.op.name}" if scope else org_instance.op.name
    graph = org_instance.graph
    collections = [key for key in graph.get_all_collection_keys() if _has(graph.get_collection(key), org_instance)]
    with Session(graph=graph) as session:
        value = session.run(org_instance.initial_value)
    with to_graph.as_default(), to_graph.name_scope(None):
        return Variable(
            value, trainable=org_instance.trainable, name=name, collections=collections, use_resource=org_instance._is_resource
        )  # fmt: skip


def _has(items: list[Any], one: Any) -> bool:
    return any(item is one for item in items)


def copy_op_to_graph(org_instance: Any, to_graph: Graph, variables: Any, scope: str = "") -> Any:
    """Copies a node and all that it depends on into another graph; what has been copied already is used as it is.

    Args:
      org_instance: An operation, a tensor or a variable.
      to_graph: The graph of the copy.
      variables: The copies of the variables that it uses, made by `copy_variable_to_graph`.
      scope: A name scope for the copies.

    Returns:
      The copy: an operation, a tensor or a variable.

    >>> v, other = tf.Variable(2.0, name="v", use_resource=True), tf.Graph()
    >>> copy = tf.contrib.copy_graph.copy_variable_to_graph(v, other)
    >>> y = tf.contrib.copy_graph.copy_op_to_graph(v * 3.0, other, [copy])
    >>> with tf.Session(graph=other) as session:
    ...     session.run(copy.initializer)
    ...     session.run(y)
    np.float32(6.0)
    """
    named = {variable.op.name: variable for variable in variables}
    if isinstance(org_instance, Variable):
        return named.get(_scoped(org_instance.op, scope)) or get_copied_op(org_instance, to_graph, scope)
    if not isinstance(org_instance, (Operation, Tensor)):
        raise TypeError(f"Could not copy instance {org_instance!r}: it is no operation, tensor or variable {at()}")
    last = org_instance.op if isinstance(org_instance, Tensor) else org_instance
    copies = _copied(last, to_graph, scope)
    copy = copies[last]
    return copy.outputs[org_instance.value_index] if isinstance(org_instance, Tensor) else copy


def _scoped(op: Operation, scope: str) -> str:
    return f"{scope}/{op.name}" if scope else op.name


def _copied(last: Operation, graph: Graph, scope: str) -> dict[Operation, Operation]:
    """The copies of an operation and of those that it depends on."""
    needed: set[Operation] = set()
    waiting = [last]
    copies: dict[Operation, Operation] = {}
    while waiting:
        op = waiting.pop()
        if op in needed or op in copies:
            continue
        if _scoped(op, scope) in graph._by_name:
            copies[op] = graph.get_operation_by_name(_scoped(op, scope))
            continue
        needed.add(op)
        waiting += [t.op for t in op.inputs] + op.control_inputs
    with graph.as_default():
        for op in sorted(needed, key=lambda op: op._id):
            inputs = [copies[t.op].outputs[t.value_index] for t in op.inputs]
            with graph.control_dependencies(None):
                copy = graph.create_op(
                    op.op_def,
                    inputs,
                    [t.dtype for t in op.outputs],
                    name=f"{_scoped(op, scope)}/",
                    attrs=dict(op.attrs),
                )
            copy._set_device(op.device)
            copy.original_op = op.original_op
            copy._add_control_inputs([copies[other] for other in op.control_inputs])
            copies[op] = copy
    return copies
