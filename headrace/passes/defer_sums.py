"""Defer sums: what a loop adds up product by product -> the operands collected, and one product after the loop.

    %w = _Repeat(..., %0; body: ..., s -> ..., s + MatMul(a, b))
    ->
    %as, %bs = _Repeat(..., (), (); body: ..., p, q -> ..., push(p, a), push(q, b))
    %w = MatMul(_JoinRows(%as), _JoinRows(%bs))

The gradient of a weight used in every iteration has this form, that of a bias too (with a sum of rows for the product).  One long
product is far faster than many short ones, and the sum is not read and written in every iteration.  The value is the same up
to rounding.  Each operand is collected once, however many sums need it.
"""

from __future__ import annotations

from headrace.core.dtypes import variant
from headrace.core.shape import TensorShape
from headrace.graph.infer import constant_value
from headrace.passes.loop import Loop, loops, users_of
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

PRODUCT = Ops("MatMul")
REDUCTION = Ops("Sum")
BIAS_GRADIENT = Ops("BiasAddGrad")
SUM = Ops("Add", "AddV2")
ZEROS = Ops("ZerosLike")
MOST = 2  # how many times larger than the product the operands may be: beyond that, a product per iteration costs less memory


def defer_sums(graph: StepGraph) -> StepGraph:
    """Rewrites sums of products and of rows in every loop of the graph."""
    changed = False
    for loop in loops(graph):
        changed |= _Deferred(loop).rewrite()
    if changed:
        graph.sweep()
        graph.sort()
    return graph


_Key = tuple[Value, int, str]  # an operand, the axis along which it is joined, and the device where that is done


class _Deferred:
    """One loop while its sums are taken out."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.users = users_of(loop.body)
        self.waited = {c for n in loop.body.nodes for c in n.control_inputs} | set(loop.body.targets)
        self.collected: dict[_Key, int] = {}  # -> its loop variable

    def rewrite(self) -> bool:
        sums = [(j, add, term) for j in range(self.loop.count) if (match := self._match(j)) for add, term in [match]]
        if not sums:
            return False
        # All operands are collected before the first variable is dropped, because dropping changes positions.
        totals = [(self.loop.result(j), self.loop.initial(j), self._operands(term), term) for j, _, term in sums]
        like = {key: term for _, _, operands, term in totals for key in operands}
        joined = {key: self._joined(like[key], *key[:2], at) for key, at in self.collected.items()}
        for result, initial, operands, term in totals:
            total = self._total(term, [joined[key] for key in operands], result.shape)
            if not _is_zero(initial):
                total = self.loop.after(term, "AddV2", [initial, total], [(total.dtype, result.shape)], T=total.dtype)
            self.loop.replace_result(result, total)
        for j, _, _ in reversed(sums):
            self.loop.drop_variable(j)
        self.loop.commit()
        return True

    def _match(self, j: int) -> tuple[Node, Node] | None:
        """The addition and the term, if all that happens to a variable is that a product or a sum of rows is added to it."""
        feed, add = self.loop.body.feeds[j], self.loop.body.fetches[j].op
        if add not in SUM or feed not in add.inputs or not self.loop.is_plain(j):
            return None
        term = add.inputs[1 - add.inputs.index(feed)].op
        alone = self.users[feed] == [add] and self.users[add.outputs[0]] == [None]
        if not alone or self.users.get(term.outputs[0]) != [add] or term.control_inputs or add.control_inputs:
            return None
        if add in self.waited or term in self.waited:  # somebody needs them in the iteration
            return None
        if term.device != add.device:
            return None
        return (add, term) if self._is_product(term) or self._is_row_sum(term) else None

    def _is_product(self, term: Node) -> bool:
        if term not in PRODUCT or not term.attrs["T"].is_floating or any(map(self._is_fixed, term.inputs)):
            return False
        (a, b), shape = (v.shape for v in term.inputs), term.outputs[0].shape
        if not shape.is_fully_defined() or a.tuple is None or b.tuple is None:
            return False
        rows = a.tuple[0 if term.attrs["transpose_a"] else 1]
        m, n = shape.tuple  # type: ignore[misc]
        return rows is None or rows * (m + n) <= MOST * m * n  # type: ignore[operator]

    def _is_row_sum(self, term: Node) -> bool:
        dims = term.inputs[0].shape.tuple if term.inputs else None
        if dims is None or len(dims) != 2 or dims[1] is None or self._is_fixed(term.inputs[0]):
            return False
        if term in BIAS_GRADIENT:
            return True
        if term not in REDUCTION or term.attrs["keep_dims"]:
            return False
        axis = constant_value(term.inputs[1])
        return axis is not None and axis.reshape(-1).tolist() == [0] and not term.attrs["T"].is_integer

    def _is_fixed(self, value: Value) -> bool:
        return self.loop.source(value) is not None or value.op.op_def.traits.constant

    def _operands(self, term: Node) -> list[_Key]:
        """What must be collected: values and the axes along which they are joined."""
        if term in PRODUCT:
            a, b = term.inputs
            axes = [(a, 0 if term.attrs["transpose_a"] else 1), (b, 1 if term.attrs["transpose_b"] else 0)]
        else:
            axes = [(term.inputs[0], 0)]
        keys = [(value, axis, term.device) for value, axis in axes]
        for key in keys:
            if key not in self.collected:
                self._collect(key, term)
        return keys

    def _collect(self, key: _Key, term: Node) -> None:
        value = key[0]
        scalar = TensorShape([])
        empty = self.loop.before(term, "_EmptyStash", [], [(variant, scalar)], purpose=value.op.name)
        so_far = self.loop.add_variable(empty)
        pushed = self.loop.inside(term, "_PushRow", [so_far, value], [(variant, scalar)], T=value.dtype.base_dtype)
        self.loop.body.fetches.append(pushed)
        self.collected[key] = self.loop.count - 1

    def _joined(self, term: Node, value: Value, axis: int, at: int) -> Value:
        other = (value.shape.tuple or (None, None))[1 - axis]
        shape = TensorShape([None, other] if axis == 0 else [other, None])
        base = value.dtype.base_dtype
        rows = [self.loop.result(at)]
        return self.loop.after(term, "_JoinRows", rows, [(base, shape)], axis=axis, other=other, T=base)

    def _total(self, term: Node, operands: list[Value], shape: TensorShape) -> Value:
        outputs = [(operands[0].dtype, shape)]
        if term not in REDUCTION:
            return self.loop.after(term, term.type, operands, outputs, **term.attrs)
        axis = self.loop.constant(term, [0])
        return self.loop.after(term, "Sum", [operands[0], axis], outputs, **{**term.attrs, "Tidx": axis.dtype})


def _is_zero(value: Value) -> bool:
    node = value.op
    if node.op_def.traits.constant:
        return not node.attrs["value"].any()
    return node in ZEROS
