"""Rules of ``simplify`` for nodes that only arrange elements.  A docstring is what the rule does, before -> after."""

from __future__ import annotations

from headrace.passes.rule import Answer, Change, Facts, Rule, collect, constant, make_constant, numbers, same_shape
from headrace.passes.step_graph import Node, Value

RULES: list[Rule] = []
rule = collect(RULES)

_REDUCTIONS = ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any")


def _whole(value: Value, axis: int) -> int | None:
    """The axis counted from the front."""
    rank = value.shape.ndims
    return None if rank is None or not -rank <= axis < rank else axis % rank


# ---- transposed


@rule("Transpose")
def _same_order(node: Node, facts: Facts) -> Answer:
    """transpose(x, [0, 1]) -> x"""
    order = numbers(node.inputs[1])
    return node.inputs[0] if order is not None and order == list(range(len(order))) else None


@rule("Transpose")
def _transposed_twice(node: Node, facts: Facts) -> Answer:
    """transpose(transpose(x, p), q) -> transpose(x, p[q]), or x"""
    inner = node.inputs[0].op
    if inner.type != "Transpose":
        return None
    first, second = constant(inner.inputs[1]), constant(node.inputs[1])
    if first is None or second is None or first.shape != second.shape or sorted(second) != list(range(second.size)):
        return None
    order = first[second]
    if order.tolist() == list(range(order.size)):
        return inner.inputs[0]
    made = make_constant(node, "perm", order, inner.inputs[1])
    return Change(
        "Transpose", [inner.inputs[0], made.outputs[0]], {**node.attrs, "Tperm": inner.attrs["Tperm"]}, [made]
    )


@rule("MatMul", rounds=True)
def _product_of_transposed(node: Node, facts: Facts) -> Answer:
    """matmul(transpose(a), b) -> matmul(a, b, transpose_a=True)"""
    return _absorb(node, ("transpose_a", "transpose_b"))


@rule("BatchMatMul", "BatchMatMulV2", rounds=True)
def _products_of_transposed(node: Node, facts: Facts) -> Answer:
    """The same for the last two axes of stacks of real matrices"""
    return None if node.inputs[0].dtype.base_dtype.is_complex else _absorb(node, ("adj_x", "adj_y"))


def _absorb(node: Node, names: tuple[str, str]) -> Answer:
    for i, name in enumerate(names):
        transposed = node.inputs[i].op
        if transposed.type != "Transpose":
            continue
        order = numbers(transposed.inputs[1])
        if order is not None and len(order) >= 2 and order == [*range(len(order) - 2), len(order) - 1, len(order) - 2]:
            inputs = list(node.inputs)
            inputs[i] = transposed.inputs[0]
            return Change(node.type, inputs, {**node.attrs, name: not node.attrs[name]})
    return None


# ---- shaped anew


@rule("Reshape")
def _own_shape(node: Node, facts: Facts) -> Answer:
    """reshape(x: [?, 3], [-1, 3]) -> x, reshape(x, shape(x)) -> x"""
    x, shape = node.inputs
    if shape.op.type == "Shape" and shape.op.inputs[0] is x:
        return x
    mine, wanted = x.shape.tuple, numbers(shape)
    if mine is None or wanted is None or len(mine) != len(wanted):
        return None
    open_ = [i for i, n in enumerate(wanted) if n == -1]
    if any(m != w for i, (m, w) in enumerate(zip(mine, wanted, strict=True)) if i not in open_):
        return None
    return x if len(open_) <= 1 and (not open_ or 0 not in wanted) else None


@rule("Reshape")
def _reshaped_twice(node: Node, facts: Facts) -> Answer:
    """reshape(reshape(x, s), t) -> reshape(x, t), where x has a known shape, so that the first cannot fail"""
    inner = node.inputs[0].op
    if inner.type not in ("Reshape", "ExpandDims", "Squeeze") or not inner.inputs[0].shape.is_fully_defined():
        return None
    return Change("Reshape", [inner.inputs[0], node.inputs[1]], node.attrs)


@rule("Squeeze")
def _squeezed_again(node: Node, facts: Facts) -> Answer:
    """squeeze(expand_dims(x, 1), [1]) -> x"""
    inner, axes = node.inputs[0].op, list(node.attrs["squeeze_dims"])
    if inner.type != "ExpandDims" or len(axes) != 1:
        return None
    added = numbers(inner.inputs[1])
    if added is None or len(added) != 1:
        return None
    at, back = _whole(node.inputs[0], added[0]), _whole(node.inputs[0], axes[0])
    return inner.inputs[0] if at is not None and at == back else None


@rule("BroadcastTo", "_SumToShape")
def _own_extent(node: Node, facts: Facts) -> Answer:
    """broadcast_to(x: [2, 3], [2, 3]) -> x"""
    x, shape = node.inputs
    if shape.op.type == "Shape" and shape.op.inputs[0] is x:
        return x
    wanted = numbers(shape)
    return x if wanted is not None and x.shape.is_fully_defined() and list(x.shape.tuple or ()) == wanted else None


# ---- repeated, padded, cut, chosen


@rule("Tile")
def _tiled_once(node: Node, facts: Facts) -> Answer:
    """tile(x, [1, 1]) -> x"""
    counts = numbers(node.inputs[1])
    return node.inputs[0] if counts is not None and all(n == 1 for n in counts) else None


@rule("Pad", "PadV2", "MirrorPad")
def _unpadded(node: Node, facts: Facts) -> Answer:
    """pad(x, [[0, 0], [0, 0]]) -> x"""
    counts = numbers(node.inputs[1])
    return node.inputs[0] if counts is not None and not any(counts) else None


@rule("Slice")
def _uncut(node: Node, facts: Facts) -> Answer:
    """slice(x: [2, 3], [0, 0], [2, -1]) -> x"""
    x = node.inputs[0]
    begin, size = numbers(node.inputs[1]), numbers(node.inputs[2])
    dims = x.shape.tuple
    if begin is None or size is None or any(begin) or dims is None or len(size) != len(dims):
        return None
    return x if all(n == -1 or n == d for n, d in zip(size, dims, strict=True)) else None


@rule("ReverseV2")
def _reversed_twice(node: Node, facts: Facts) -> Answer:
    """reverse(x, []) -> x, reverse(reverse(x, [0]), [0]) -> x"""
    axes = numbers(node.inputs[1])
    if axes is None:
        return None
    x = node.inputs[0]
    if not axes:
        return x
    inner = x.op
    if inner.type != "ReverseV2":
        return None
    before = numbers(inner.inputs[1])
    if before is None or {_whole(x, a) for a in before} != {_whole(x, a) for a in axes}:
        return None
    return None if None in {_whole(x, a) for a in axes} else inner.inputs[0]


@rule(*_REDUCTIONS)
def _reduced_over_nothing(node: Node, facts: Facts) -> Answer:
    """reduce_sum(x, []) -> x"""
    axes = constant(node.inputs[1])
    return node.inputs[0] if axes is not None and axes.size == 0 else None


@rule("GatherV2", "Gather")
def _gathered_in_order(node: Node, facts: Facts) -> Answer:
    """gather(x: [3, ...], [0, 1, 2]) -> x"""
    x, indices = node.inputs[:2]
    axes = numbers(node.inputs[2]) if node.type == "GatherV2" else [0]
    found = constant(indices)
    if found is None or found.ndim != 1 or axes is None or node.attrs.get("batch_dims"):
        return None
    axis = _whole(x, axes[0])
    if axis is None or (x.shape.tuple or ())[axis] != found.size:
        return None
    return x if found.tolist() == list(range(found.size)) else None


# ---- joined and taken apart


@rule("ConcatV2", "Concat")
def _joined_alone(node: Node, facts: Facts) -> Answer:
    """concat([x], 0) -> x"""
    return _parts(node)[0][0] if node.attrs["N"] == 1 else None


@rule("ConcatV2", "Concat")
def _joined_again(node: Node, facts: Facts) -> Answer:
    """concat(split(x, n, 1), 1) -> x"""
    parts, axis = _parts(node)
    source = parts[0].op
    where = {"Split": 0, "SplitV": 2}.get(source.type)
    if where is None or list(parts) != source.outputs:
        return None
    x = source.inputs[1 if source.type == "Split" else 0]
    cut, joined = numbers(source.inputs[where]), numbers(axis)
    if not cut or not joined or _whole(x, cut[0]) is None or _whole(x, cut[0]) != _whole(x, joined[0]):
        return None
    return x


def _parts(node: Node) -> tuple[list[Value], Value]:
    """The values that are joined, and the axis."""
    if node.type == "ConcatV2":
        return node.inputs[:-1], node.inputs[-1]
    return node.inputs[1:], node.inputs[0]


@rule("Split")
def _split_into_one(node: Node, facts: Facts) -> Answer:
    """split(x, 1) -> [x]"""
    return [node.inputs[1]] if node.attrs["num_split"] == 1 else None


@rule("Pack")
def _stacked_again(node: Node, facts: Facts) -> Answer:
    """stack(unstack(x)) -> x"""
    source = node.inputs[0].op
    if source.type != "Unpack" or node.inputs != source.outputs:
        return None
    x = source.inputs[0]
    mine, theirs = _whole(x, node.attrs["axis"]), _whole(x, source.attrs["axis"])
    return x if mine is not None and mine == theirs else None


@rule("Unpack")
def _unstacked_again(node: Node, facts: Facts) -> Answer:
    """unstack(stack([x, y])) -> [x, y]"""
    stack = node.inputs[0].op
    if stack.type != "Pack" or len(stack.inputs) != len(node.outputs):
        return None
    mine, theirs = _whole(node.inputs[0], node.attrs["axis"]), _whole(node.inputs[0], stack.attrs["axis"])
    if mine is None or mine != theirs or not all(same_shape(v, stack.inputs[0]) for v in stack.inputs):
        return None
    return list(stack.inputs)


@rule("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN")
def _rows_chosen_at_once(node: Node, facts: Facts) -> Answer:
    """y, i = unique(x); sparse_segment_sum(gather(p, y), i, s) -> sparse_segment_sum(p, x, s)"""
    rows, index = _behind(node.inputs[0]), _behind(node.inputs[1])
    gather = rows.op
    if gather.type != "GatherV2" or numbers(gather.inputs[2]) != [0] or gather.attrs.get("batch_dims", 0):
        return None
    chosen = _behind(gather.inputs[1])
    if chosen.op.type != "Unique" or index.op is not chosen.op or (chosen.value_index, index.value_index) != (0, 1):
        return None
    x = chosen.op.inputs[0]
    return Change(
        node.type, [gather.inputs[0], x, *node.inputs[2:]], {**node.attrs, "Tidx": x.dtype.base_dtype}
    )  # fmt: skip


def _behind(value: Value) -> Value:
    while value.op.type == "Identity":
        value = value.op.inputs[0]
    return value
