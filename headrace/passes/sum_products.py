"""Sum products: a sum of matrix products that are alike -> one product of concatenated operands.

    %s = AddN(MatMul(%a1, %b1), MatMul(%a2, %b2), ...)      ->      %s = MatMul(ConcatV2(%a1, %a2 ...), ConcatV2(%b1, %b2 ...))

and where the rows of the same operands are summed as well:

    %t = AddN(Sum(%b1, [0]), Sum(%b2, [0]), ...)            ->      %t = Sum(ConcatV2(%b1, %b2 ...), [0])

The gradients of a weight and a bias used at every step of a recurrent network have this form; one long product is far faster than
many short ones and needs no buffers for the terms.  The value is the same up to rounding.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.graph.infer import constant_value
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

SUM, PRODUCT, REDUCTION, BIAS_GRADIENT = Ops("AddN"), Ops("MatMul"), Ops("Sum"), Ops("BiasAddGrad")
FEWEST = 3  # terms worth concatenating


def sum_products(graph: StepGraph) -> StepGraph:
    """Rewrites every AddN all of whose terms are on its device and used by nothing else: MatMuls, or sums of their operands."""
    sums = [n for n in graph.nodes if n in SUM and len(n.inputs) >= FEWEST]
    if not sums:
        return graph
    users = graph.users()
    fetched = set(graph.fetches)
    targets = set(graph.targets)
    new_nodes: list[Node] = []
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    joined: dict[frozenset[Value], Value] = {}  # rows one below the other, by what they are made of
    rest = []
    for node in sums:
        terms = [v.op for v in node.inputs]
        if not all(_single_use(t, node, users, fetched, targets) for t in terms):
            continue
        if not all(t in PRODUCT for t in terms) or not _alike(terms, node.device):
            rest.append(node)
            continue
        product, helpers = _product(node, terms)
        new_nodes += [*helpers, product]
        values[node.outputs[0]] = product.outputs[0]
        nodes[node] = product
        joined.update(_joined_rows(product, terms))
    for node in rest if joined else ():
        terms = [v.op for v in node.inputs]
        operands = frozenset(t.inputs[0] for t in terms if t.inputs)
        rows = joined.get(operands)
        if rows is not None and len(operands) == len(terms) and all(_sums_rows(t, node.device) for t in terms):
            total = _total(node, terms[0], rows)
            new_nodes.append(total)
            values[node.outputs[0]] = total.outputs[0]
            nodes[node] = total
    if new_nodes:
        graph.nodes = graph.nodes + new_nodes
        graph.replace(values, nodes)
        graph.sweep()
        graph.sort()
    return graph


def _single_use(
    term: Node, consumer: Node, users: dict[Value, list[Node]], fetches: set[Value], targets: set[Node]
) -> bool:
    if term in targets or term.outputs[0] in fetches or len(term.outputs) != 1:
        return False
    return all(u is consumer for u in users.get(term.outputs[0], ())) and not term.control_inputs


def _alike(terms: list[Node], device: str) -> bool:
    first = terms[0]
    if not first.attrs["T"].is_floating or len(set(terms)) != len(terms):
        return False
    return all(
        t.attrs["transpose_a"] == first.attrs["transpose_a"]
        and t.attrs["transpose_b"] == first.attrs["transpose_b"]
        and t.device == device
        for t in terms
    )


def _product(node: Node, terms: list[Node]) -> tuple[Node, list[Node]]:
    first = terms[0]
    transpose_a, transpose_b = first.attrs["transpose_a"], first.attrs["transpose_b"]
    a, helpers_a = _concat(node, [t.inputs[0] for t in terms], 0 if transpose_a else 1, "a")
    b, helpers_b = _concat(node, [t.inputs[1] for t in terms], 1 if transpose_b else 0, "b")
    product = Node(
        f"{node.name}/product", first.op_def, [a, b], dict(first.attrs), node.order, list(node.control_inputs),
        node.device, node.source, node.origin,
    )  # fmt: skip
    product.add_outputs([(node.outputs[0].dtype, node.outputs[0].shape)])
    return product, [*helpers_a, *helpers_b]


def _joined_rows(product: Node, terms: list[Node]) -> dict[frozenset[Value], Value]:
    """The operands of a long product that have the rows of those of its terms, by the operands of the terms."""
    along = (product.attrs["transpose_a"], not product.attrs["transpose_b"])
    operands = zip(product.inputs, zip(*[t.inputs for t in terms], strict=True), along, strict=True)
    return {frozenset(parts): whole for whole, parts, rows in operands if rows and len(set(parts)) == len(parts)}


def _sums_rows(node: Node, device: str) -> bool:
    """Whether the node sums a matrix over its rows."""
    if node.device != device or node.inputs[0].shape.ndims != 2:
        return False
    if node in BIAS_GRADIENT:
        return bool(node.attrs["data_format"] == "NHWC")
    if node not in REDUCTION or node.attrs["keep_dims"]:
        return False
    axes = constant_value(node.inputs[1])
    return axes is not None and np.asarray(axes).reshape(-1).tolist() == [0]


def _total(node: Node, term: Node, rows: Value) -> Node:
    """The sum over all rows, as ``term`` is over some."""
    total = Node(
        f"{node.name}/total", term.op_def, [rows, *term.inputs[1:]], dict(term.attrs), node.order,
        list(node.control_inputs), node.device, node.source, node.origin,
    )  # fmt: skip
    return total.add_outputs([(node.outputs[0].dtype, node.outputs[0].shape)])


def _concat(node: Node, parts: list[Value], axis: int, label: str) -> tuple[Value, list[Node]]:
    where = Node(
        f"{node.name}/axis_{label}", REGISTRY.get("Const"), [], {"value": np.array(axis, np.int32), "dtype": int32},
        node.order, device=node.device, source=node.source,
    ).add_outputs([(int32, TensorShape([]))])  # fmt: skip
    dims = [p.shape.tuple for p in parts]
    shape: list[int | None] = [None, None]
    if dims[0] is not None:
        shape[1 - axis] = dims[0][1 - axis]
    if all(d is not None and d[axis] is not None for d in dims):
        shape[axis] = sum(d[axis] for d in dims)  # type: ignore[index,misc]
    joined = Node(
        f"{node.name}/concat_{label}", REGISTRY.get("ConcatV2"), [*parts, where.outputs[0]],
        {"N": len(parts), "T": parts[0].dtype.base_dtype, "Tidx": int32}, node.order, device=node.device,
        source=node.source, origin=node.origin,
    ).add_outputs([(parts[0].dtype.base_dtype, TensorShape(shape))])  # fmt: skip
    return joined.outputs[0], [where, joined]
