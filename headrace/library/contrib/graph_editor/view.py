"""contrib.graph_editor: a part of a graph with its inputs and outputs."""

from __future__ import annotations

from typing import Any

from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.contrib.graph_editor.element import get_generating_ops, make_list_of_op, ops_of, unique
from headrace.library.contrib.graph_editor.select import compute_boundary_ts, get_name_scope_ops, select_ops


class SubGraphView:
    """A part of a graph: its operations, the tensors that come in and those that go out.  It does not follow later changes.

    Args:
      inside_ops: The operations.
      passthrough_ts: Tensors that come in and go out unchanged.

    >>> x = tf.constant(1.0, name="x")
    >>> view = tf.contrib.graph_editor.SubGraphView([tf.negative(x, name="y").op])
    >>> [t.name for t in view.inputs], [t.name for t in view.outputs]
    (['x:0'], ['y:0'])
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops: list[Operation] = unique(make_list_of_op(inside_ops))
        self._passthrough = list(passthrough_ts)
        inputs, outputs, _ = compute_boundary_ts(self._ops)
        self._inputs, self._outputs = [*inputs, *self._passthrough], [*outputs, *self._passthrough]

    @property
    def ops(self) -> list[Operation]:
        """The operations."""
        return list(self._ops)

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that come in."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that go out: nothing takes them, or something outside does."""
        return list(self._outputs)

    @property
    def passthroughs(self) -> list[Tensor]:
        """The tensors that come in and go out unchanged."""
        return list(self._passthrough)

    @property
    def graph(self) -> Graph:
        """The graph that it is a part of."""
        first = next(iter(self._ops or self._passthrough), None)
        return context.get_default_graph() if first is None else first.graph

    def op(self, op_id: int) -> Operation:
        """The operation with this number."""
        return self._ops[op_id]

    def find_op_by_name(self, op_name: str) -> Operation:
        """The operation of this name; an error if it has none."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise AssertionError(f"{op_name} not found!")

    def is_passthrough(self, t: Tensor) -> bool:
        """Whether a tensor comes in and goes out unchanged."""
        return any(t is one for one in self._passthrough)

    def consumers(self) -> list[Operation]:
        """The operations outside that take an output."""
        inside = set(self._ops)
        return unique(op for t in self._outputs for op in t._consumers if op not in inside)

    def __bool__(self) -> bool:
        return bool(self._ops or self._passthrough)

    def __repr__(self) -> str:
        return (
            f"<SubGraphView of {len(self._ops)} operations, {len(self._inputs)} inputs, {len(self._outputs)} outputs>"
        )


def make_view(*args: Any, graph: Graph | None = None, positive_filter: Any = None) -> SubGraphView:
    """A part of a graph, of operations or of regular expressions that are found in their names.

    Args:
      *args: Expressions, operations, tensors for the operations that compute them, lists of those, or a view.
      graph: Where names are looked up; needed for expressions.
      positive_filter: A function that says whether an operation counts; None for all.

    Returns:
      A `SubGraphView`.

    >>> x = tf.constant(1.0, name="layer/x")
    >>> tf.contrib.graph_editor.make_view("^layer/", graph=tf.get_default_graph()).op(0).name
    'layer/x'
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    ops = [arg if isinstance(arg, (str, SubGraphView)) or hasattr(arg, "search") else ops_of(arg, get_generating_ops)
           for arg in args]  # fmt: skip
    return SubGraphView(select_ops(*ops, graph=graph, positive_filter=positive_filter))


def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """The part of a graph below a name scope.

    Args:
      scope: The name of the scope.
      graph: The graph.

    Returns:
      A `SubGraphView`.

    >>> x = tf.constant(1.0, name="layer/x")
    >>> tf.contrib.graph_editor.make_view_from_scope("layer", tf.get_default_graph()).op(0).name
    'layer/x'
    """
    return SubGraphView(get_name_scope_ops(graph, scope))
