"""contrib.graph_editor: operations and tensors by name, and by walks along the edges of a graph."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.contrib.graph_editor.element import (
    get_consuming_ops,
    get_generating_ops,
    make_list_of_op,
    make_list_of_t,
    ops_of,
    unique,
)

ControlOutputs = dict[Operation, list[Operation]]


# ---- by name


def filter_ts(ops: Any, positive_filter: Any) -> list[Tensor]:
    """The tensors that the operations take and compute.

    Args:
      ops: Operations, a view, or a graph.
      positive_filter: A function that says whether a tensor counts; True for all.

    Returns:
      A list of tensors, each once.

    >>> y = tf.add(tf.constant(1.0, name="a"), tf.constant(2.0, name="b"), name="y")
    >>> [t.name for t in tf.contrib.graph_editor.filter_ts(y.op, True)]
    ['a:0', 'b:0', 'y:0']
    """
    every = unique(t for op in make_list_of_op(ops) for t in (*op.inputs, *op._outputs))
    return every if positive_filter is True else [t for t in every if positive_filter(t)]


def filter_ops(ops: Any, positive_filter: Any) -> list[Operation]:
    """The operations that a function accepts.

    Args:
      ops: Operations, a view, or a graph.
      positive_filter: A function that says whether an operation counts; True for all.

    Returns:
      A list of operations.

    >>> y = tf.add(1.0, 2.0, name="y")
    >>> graph = tf.get_default_graph()
    >>> [op.name for op in tf.contrib.graph_editor.filter_ops(graph, lambda op: op.type == "Add")]
    ['y']
    """
    every: list[Operation] = make_list_of_op(ops)
    return every if positive_filter is True else [op for op in every if positive_filter(op)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Operation]:
    """The operations in whose names the expression is found.

    Args:
      ops: Operations, a view, or a graph.
      regex: A regular expression, as text or compiled.

    Returns:
      A list of operations.

    >>> x = tf.constant(1.0, name="layer/x")
    >>> [op.name for op in tf.contrib.graph_editor.filter_ops_from_regex(tf.get_default_graph(), "^layer/")]
    ['layer/x']
    """
    expression = re.compile(regex)
    return filter_ops(ops, lambda op: expression.search(op.name))


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Tensor]:
    """The tensors of the operations in whose names the expression is found.

    Args:
      ops: Operations, a view, or a graph.
      regex: A regular expression, as text or compiled.

    Returns:
      A list of tensors.

    >>> x = tf.constant(1.0, name="layer/x")
    >>> [t.name for t in tf.contrib.graph_editor.filter_ts_from_regex(tf.get_default_graph(), ":0$")]
    ['layer/x:0']
    """
    expression = re.compile(regex)
    return filter_ts(ops, lambda t: expression.search(t.name))


def select_ops(*args: Any, graph: Graph | None = None, positive_filter: Any = None) -> list[Operation]:
    """Operations by regular expressions that are found in their names, and those that are given as they are.

    Args:
      *args: Expressions, operations, or lists of them.
      graph: Where names are looked up; needed for expressions.
      positive_filter: A function that says whether an operation counts; None for all.

    Returns:
      A list of operations, each once.

    >>> x = tf.constant(1.0, name="layer/x")
    >>> [op.name for op in tf.contrib.graph_editor.select_ops("^layer/.*", graph=tf.get_default_graph())]
    ['layer/x']
    """
    return _select(args, make_list_of_op, lambda whole: whole.get_operations(), graph, positive_filter)


def select_ts(*args: Any, graph: Graph | None = None, positive_filter: Any = None) -> list[Tensor]:
    """Tensors by regular expressions that are found in their names, and those that are given as they are.

    Args:
      *args: Expressions, tensors, or lists of them.
      graph: Where names are looked up; needed for expressions.
      positive_filter: A function that says whether a tensor counts; None for all.

    Returns:
      A list of tensors, each once.

    >>> x = tf.constant(1.0, name="layer/x")
    >>> [t.name for t in tf.contrib.graph_editor.select_ts("^layer/.*", graph=tf.get_default_graph())]
    ['layer/x:0']
    """
    return _select(args, make_list_of_t, make_list_of_t, graph, positive_filter)


def _select(
    args: Iterable[Any], listed: Callable[[Any], list[Any]], every: Callable[[Graph], list[Any]],
    graph: Graph | None, positive_filter: Any,
) -> list[Any]:  # fmt: skip
    found: list[Any] = []
    for arg in args:
        if isinstance(arg, (str, re.Pattern)):
            if graph is None:
                raise ValueError(f"Use the keyword argument 'graph' to use regular expressions, as in {arg!r} {at()}")
            expression = re.compile(arg)
            found += [item for item in every(graph) if expression.search(item.name)]
        else:
            found += listed(arg)
    return [item for item in unique(found) if positive_filter is None or positive_filter(item)]


def get_name_scope_ops(ops: Any, scope: str) -> list[Operation]:
    """The operations below a name scope, and one of its name.

    Args:
      ops: Operations, a view, or a graph.
      scope: The name of the scope.

    Returns:
      A list of operations.

    >>> x = tf.constant(1.0, name="layer/x")
    >>> [op.name for op in tf.contrib.graph_editor.get_name_scope_ops(tf.get_default_graph(), "layer")]
    ['layer/x']
    """
    scope = scope.rstrip("/")
    return filter_ops(ops, lambda op: not scope or op.name == scope or op.name.startswith(f"{scope}/"))


# ---- by walks


def _control_outputs(control_outputs: Any, seeds: list[Operation]) -> ControlOutputs:
    """Who waits for whom; True asks for those of the seeds' graph."""
    if not control_outputs:
        return {}
    if control_outputs is True:
        table: ControlOutputs = {}
        for op in seeds[0].graph.get_operations() if seeds else ():
            for other in op._control_inputs:
                table.setdefault(other, []).append(op)
        return table
    return dict(control_outputs)


def _walk(
    seeds: list[Operation], inclusive: bool, within_ops: Any, within_ops_fn: Any,
    neighbours: Callable[[Operation], Iterable[Operation]],
) -> list[Operation]:  # fmt: skip
    within = None if within_ops is None else set(make_list_of_op(within_ops))

    def is_within(op: Operation) -> bool:
        return (within is None or op in within) and (within_ops_fn is None or bool(within_ops_fn(op)))

    reached = {op: None for op in seeds if is_within(op)}
    waiting = deque(reached)
    while waiting:
        for op in neighbours(waiting.popleft()):
            if op not in reached and is_within(op):
                reached[op] = None
                waiting.append(op)
    return [op for op in reached if inclusive or op not in seeds]


def get_forward_walk_ops(
    seed_ops: Any, inclusive: bool = True, within_ops: Any = None, within_ops_fn: Any = None, stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Operation]:  # fmt: skip
    """The operations that depend on some.

    Args:
      seed_ops: Where the walk begins: operations, or tensors for the operations that take them.
      inclusive: False leaves the operations out where it begins.
      within_ops: The only operations that the walk may reach; None for all.
      within_ops_fn: A function that says whether the walk may reach an operation; None for all.
      stop_at_ts: Tensors that the walk does not follow.
      control_outputs: True to follow control edges too, or a dictionary of them; None for data only.

    Returns:
      A list of operations, the nearest first.

    >>> x = tf.constant(1.0, name="x")
    >>> y = tf.exp(tf.negative(x, name="n"), name="y")
    >>> [op.name for op in tf.contrib.graph_editor.get_forward_walk_ops(x.op)]
    ['x', 'n', 'y']
    """
    seeds = ops_of(seed_ops, get_consuming_ops)
    stop, waits = set(make_list_of_t(stop_at_ts)), _control_outputs(control_outputs, seeds)

    def neighbours(op: Operation) -> Iterable[Operation]:
        yield from (taker for t in op._outputs if t not in stop for taker in t._consumers)
        yield from waits.get(op, ())

    return _walk(seeds, inclusive, within_ops, within_ops_fn, neighbours)


def get_backward_walk_ops(
    seed_ops: Any, inclusive: bool = True, within_ops: Any = None, within_ops_fn: Any = None, stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Operation]:  # fmt: skip
    """The operations that some depend on.

    Args:
      seed_ops: Where the walk begins: operations, or tensors for the operations that compute them.
      inclusive: False leaves the operations out where it begins.
      within_ops: The only operations that the walk may reach; None for all.
      within_ops_fn: A function that says whether the walk may reach an operation; None for all.
      stop_at_ts: Tensors that the walk does not follow.
      control_inputs: True to follow control edges too.

    Returns:
      A list of operations, the nearest first.

    >>> x = tf.constant(1.0, name="x")
    >>> y = tf.exp(tf.negative(x, name="n"), name="y")
    >>> [op.name for op in tf.contrib.graph_editor.get_backward_walk_ops(y)]
    ['y', 'n', 'x']
    """
    stop = set(make_list_of_t(stop_at_ts))

    def neighbours(op: Operation) -> Iterable[Operation]:
        yield from (t.op for t in op.inputs if t not in stop)
        if control_inputs:
            yield from op._control_inputs

    return _walk(ops_of(seed_ops, get_generating_ops), inclusive, within_ops, within_ops_fn, neighbours)


def get_within_boundary_ops(
    ops: Any, seed_ops: Any, boundary_ops: Any = (), inclusive: bool = True, control_inputs: bool = False,
    control_outputs: Any = None, control_ios: Any = None,
) -> list[Operation]:  # fmt: skip
    """The operations connected with some, in either direction, up to a border.

    Args:
      ops: The only operations that count.
      seed_ops: Where the walk begins.
      boundary_ops: The border.
      inclusive: True counts the border too.
      control_inputs: True to follow control edges from an operation to what it waits for.
      control_outputs: True to follow control edges from an operation to what waits for it.
      control_ios: True for both.

    Returns:
      A list of operations.

    >>> x = tf.constant(1.0, name="x")
    >>> y = tf.exp(tf.negative(x, name="n"), name="y")
    >>> found = tf.contrib.graph_editor.get_within_boundary_ops(tf.get_default_graph(), y.op, x.op, inclusive=False)
    >>> [op.name for op in found]
    ['y', 'n']
    """
    within, seeds = set(make_list_of_op(ops)), make_list_of_op(seed_ops)
    border = set(make_list_of_op(boundary_ops))
    inside = {op for op in within if op not in border}
    if outside := [op.name for op in seeds if op not in inside and op not in border]:
        raise ValueError(f"these seed_ops are not among ops: {outside} {at()}")
    waits = _control_outputs(control_ios or control_outputs, seeds)

    def neighbours(op: Operation) -> Iterable[Operation]:
        if op in border:
            return
        yield from (taker for t in op._outputs for taker in t._consumers)
        yield from waits.get(op, ())
        yield from (t.op for t in op.inputs)
        if control_inputs or control_ios:
            yield from op._control_inputs

    reached = _walk(seeds, True, within | border if inclusive else inside, None, neighbours)
    return reached if inclusive else [op for op in reached if op not in border]


def get_walks_intersection_ops(
    forward_seed_ops: Any, backward_seed_ops: Any, forward_inclusive: bool = True, backward_inclusive: bool = True,
    within_ops: Any = None, within_ops_fn: Any = None, control_inputs: bool = False, control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Operation]:  # fmt: skip
    """The operations on the ways from some to others.

    Args:
      forward_seed_ops: Where the ways begin: operations, or tensors for the operations that take them.
      backward_seed_ops: Where they end: operations, or tensors for the operations that compute them.
      forward_inclusive: False leaves the operations out where they begin.
      backward_inclusive: False leaves the operations out where they end.
      within_ops: The only operations that count; None for all.
      within_ops_fn: A function that says whether an operation counts; None for all.
      control_inputs: True to follow control edges backward.
      control_outputs: True to follow control edges forward.
      control_ios: True for both.

    Returns:
      A list of operations, those near the beginning first.

    >>> x = tf.constant(1.0, name="x")
    >>> y = tf.exp(tf.negative(x, name="n"), name="y")
    >>> [op.name for op in tf.contrib.graph_editor.get_walks_intersection_ops(x, y)]
    ['n', 'y']
    """
    forward = get_forward_walk_ops(
        forward_seed_ops, forward_inclusive, within_ops, within_ops_fn, (), control_ios or control_outputs
    )
    backward = get_backward_walk_ops(
        backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, (), bool(control_ios or control_inputs)
    )
    return [op for op in forward if op in set(backward)]


def compute_boundary_ts(ops: Any) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """The tensors at the border of some operations.

    Args:
      ops: The operations.

    Returns:
      Three lists: tensors that come from outside, tensors that nothing or something outside takes, and those of the second
      list that an operation inside takes too.

    >>> x = tf.constant(1.0, name="x")
    >>> y = tf.exp(tf.negative(x, name="n"), name="y")
    >>> [[t.name for t in ts] for ts in tf.contrib.graph_editor.compute_boundary_ts([y.op.inputs[0].op, y.op])]
    [['x:0'], ['y:0'], []]
    """
    inside = make_list_of_op(ops)
    known = set(inside)
    inputs = unique(t for op in inside for t in op.inputs if t.op not in known)
    outputs = [t for op in inside for t in op._outputs if not t._consumers or any(c not in known for c in t._consumers)]
    return inputs, outputs, [t for t in outputs if any(c in known for c in t._consumers)]
