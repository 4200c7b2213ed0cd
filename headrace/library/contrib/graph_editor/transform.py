"""contrib.graph_editor: copies of parts of a graph, with other tensors where they begin.

y = f(x)                graph_replace(y, {x: z})  =>  f copied onto z; y and its nodes stay
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library import nest
from headrace.library.contrib.graph_editor.element import make_list_of_t
from headrace.library.contrib.graph_editor.select import get_walks_intersection_ops
from headrace.library.contrib.graph_editor.view import SubGraphView, make_view


class TransformerInfo:
    """What of a graph became what when it was copied.

    Args:
      transformed_ops: The copy of each operation.
      transformed_ts: What stands for each tensor.
    """

    def __init__(self, transformed_ops: dict[Operation, Operation], transformed_ts: dict[Tensor, Tensor]) -> None:
        self._transformed_ops = transformed_ops  # the names that programs use
        self._transformed_ts = transformed_ts

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """The copy of an operation or a tensor, or a list of them; ``missing_fn(original)`` where there is none."""
        return nest.map_structure(lambda one: self._look(one, self._of(one), missing_fn), original)

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """What an operation or a tensor is the copy of; ``missing_fn(transformed)`` where there is none."""

        def look(one: Any) -> Any:
            return self._look(one, {copy: origin for origin, copy in self._of(one).items()}, missing_fn)

        return nest.map_structure(look, transformed)

    def _of(self, one: Any) -> dict[Any, Any]:
        return self._transformed_ops if isinstance(one, Operation) else self._transformed_ts  # type: ignore[return-value]

    @staticmethod
    def _look(one: Any, table: dict[Any, Any], missing_fn: Callable[[Any], Any] | None) -> Any:
        found = table.get(one)
        return missing_fn(one) if found is None and missing_fn is not None else found


def _without(name: str, scope: str) -> str:
    scope = scope.rstrip("/")
    if not scope:
        return name
    if not name.startswith(f"{scope}/"):
        raise ValueError(f"{name} does not belong to the scope {scope} {at()}")
    return name[len(scope) + 1 :]


class _Copier:
    """Copies operations, those that they take from first."""

    def __init__(self, view: SubGraphView, graph: Graph, source_scope: str, replacements: dict[Tensor, Tensor]) -> None:
        self.ops: dict[Operation, Operation] = {}
        self.ts: dict[Tensor, Tensor] = {}
        self._graph, self._source_scope, self._replacements = graph, source_scope, replacements
        self._view = view
        self._inside = set(view.ops)

    def run(self) -> None:
        late: list[tuple[Operation, int, Tensor]] = []
        for op in sorted(self._inside, key=lambda op: op._id):
            inputs = []
            for i, t in enumerate(op.inputs):
                if t.op in self._inside and t not in self.ts:  # a loop's edge back
                    late.append((op, i, t))
                    inputs.append(t if t.graph is self._graph else self._placeholder(t))
                else:
                    inputs.append(self._input(t))
            self._copy(op, inputs)
        for op, i, t in late:
            self.ops[op]._update_input(i, self.ts[t])
        for op, copy in self.ops.items():
            own = [self.ops.get(other, other) for other in op._control_inputs]
            copy._add_control_inputs([other for other in own if other.graph is self._graph])
        for t in self._view.passthroughs:
            self._input(t)

    def _input(self, t: Tensor) -> Tensor:
        if t not in self.ts:
            if t in self._replacements:
                self.ts[t] = self._replacements[t]
            else:
                self.ts[t] = t if t.graph is self._graph else self._placeholder(t)
        return self.ts[t]

    @staticmethod
    def _placeholder(t: Tensor) -> Tensor:
        placeholder: Tensor = raw_ops.Placeholder(
            t.dtype.base_dtype, shape=t.shape, name=f"geph__{t.op.name}_{t.value_index}"
        )
        return placeholder

    def _copy(self, op: Operation, inputs: list[Tensor]) -> None:
        name = _without(op.name, self._source_scope)
        with self._graph.control_dependencies(None):
            copy = self._graph.create_op(
                op.op_def, inputs, [t.dtype for t in op._outputs], name=name, attrs=dict(op.attrs)
            )
        copy._set_device(op.device)
        copy.original_op = op.original_op
        self.ops[op] = copy
        for t, other in zip(op._outputs, copy._outputs, strict=True):
            self.ts[t] = other


def copy_with_input_replacements(
    sgv: Any, replacement_ts: Any, dst_graph: Graph | None = None, dst_scope: str = "", src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:  # fmt: skip
    """Copies a part of a graph, with other tensors for some that it takes from outside.

    Args:
      sgv: The part: a view, or operations.
      replacement_ts: A dictionary: what is taken in the place of which tensor.  Others from outside are taken as they are, and
        in another graph become placeholders.
      dst_graph: Where the copies go; None for the same graph.
      dst_scope: The name scope of the copies.
      src_scope: The scope that the names of the copies lose.
      reuse_dst_scope: True to use the scope as it is, if there is one of its name already.

    Returns:
      The view of the copies, and a `TransformerInfo` that says what became what.

    >>> x, z = tf.constant(1.0), tf.constant(2.0)
    >>> y = tf.negative(x, name="y")
    >>> view, info = tf.contrib.graph_editor.copy_with_input_replacements([y.op], {x: z})
    >>> tf.Session().run(info.transformed(y))
    np.float32(-2.0)
    """
    view = make_view(sgv)
    graph = view.graph if dst_graph is None else dst_graph
    replacements = {make_list_of_t(old)[0]: make_list_of_t(new)[0] for old, new in dict(replacement_ts).items()}
    scope = f"{dst_scope.rstrip('/')}/" if reuse_dst_scope and dst_scope else dst_scope.rstrip("/") or None
    with graph.as_default(), graph.name_scope(scope):
        copier = _Copier(view, graph, src_scope, replacements)
        copier.run()
    copies = SubGraphView([copier.ops[op] for op in view.ops], [copier.ts[t] for t in view.passthroughs])
    return copies, TransformerInfo(copier.ops, copier.ts)


def copy(
    sgv: Any, dst_graph: Graph | None = None, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies a part of a graph.

    Args:
      sgv: The part: a view, or operations.
      dst_graph: Where the copies go; None for the same graph.
      dst_scope: The name scope of the copies.
      src_scope: The scope that the names of the copies lose.
      reuse_dst_scope: True to use the scope as it is, if there is one of its name already.

    Returns:
      The view of the copies, and a `TransformerInfo` that says what became what.

    >>> y = tf.negative(tf.constant(1.0), name="y")
    >>> view, info = tf.contrib.graph_editor.copy([y.op], dst_scope="copy")
    >>> info.transformed(y).name
    'copy/y:0'
    """
    return copy_with_input_replacements(sgv, {}, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: Any, replacement_ts: Any, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False
) -> Any:
    """What tensors would be if some that they depend on were others: copies of all that is between them.

    Args:
      target_ts: A tensor, or a structure of tensors.
      replacement_ts: A dictionary: what is taken in the place of which tensor.
      dst_scope: The name scope of the copies.
      src_scope: The scope that the names of the copies lose.
      reuse_dst_scope: True to use the scope as it is, if there is one of its name already.

    Returns:
      The copies of `target_ts`, in the same structure; a tensor that does not depend on a replaced one stays.

    >>> a, b, c = tf.constant(1.0), tf.constant(2.0), tf.constant(5.0)
    >>> y = tf.exp(a - b)
    >>> tf.Session().run(tf.contrib.graph_editor.graph_replace(y, {a: c - 4.0, b: 1.0 + a - 1.0}))
    np.float32(1.0)
    """
    replacements = dict(replacement_ts)
    ops = get_walks_intersection_ops(list(replacements), make_list_of_t(nest.flatten(target_ts)))
    if not ops:
        raise ValueError(f"Targets and replacements are not connected! {at()}")
    _, info = copy_with_input_replacements(ops, replacements, None, dst_scope, src_scope, reuse_dst_scope)
    return info.transformed(target_ts, lambda original: original)
