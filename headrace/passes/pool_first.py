"""Pool first: a max pool of a sum with a bias, or of a rectified value, takes the value before that.

    %b = BiasAdd(%x, %w)   %r = Relu(%b)   %p = MaxPool(%r)
    ->
    %p = MaxPool(%x)   %b = BiasAdd(%p, %w)   %r = Relu(%b)

and backwards

    %g = MaxPoolGrad(%r, %p, %d)   %h = ReluGrad(%g, %r)   %s = BiasAddGrad(%h)
    ->
    %h = ReluGrad(%d, %r)   %s = BiasAddGrad(%h)   %g = MaxPoolGrad(%x, %p, %h)

Neither ever puts a smaller number above a larger one of its channel, so both orders leave the same numbers; and where the
greatest of a window is not above zero, no gradient gets through either way.  A gradient may go to another element than before
where rounding made two of them equal, sums of gradients may be rounded otherwise, and a zero may have the other sign.

Windows of 2 x 2 leave a fourth of the elements, and the rectified value need not be kept for the gradient.  For the CPU, where
each node goes through memory: a compiler for accelerators makes one loop of these nodes anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.passes.match import Ops
from headrace.passes.rule import numbers
from headrace.passes.step_graph import Node, StepGraph, Value

BIAS, BIAS_GRADIENT = Ops("BiasAdd"), Ops("BiasAddGrad")
ADD, SUM = Ops("Add", "AddV2"), Ops("Sum")  # a bias added by "+", and its gradient
RECTIFIER, SLOPE = Ops("Relu"), Ops("ReluGrad")
POOL, POOL_GRADIENT = Ops("MaxPool", "MaxPool3D"), Ops("MaxPoolGrad", "MaxPool3DGrad")


def pool_first(graph: StepGraph) -> StepGraph:
    """Moves each pool before what it may be moved before, one node at a time."""
    changed = False
    for pool in [node for node in graph.nodes if node in POOL and "device:CPU" in node.device]:
        while (_is_rectified(pool) or _is_biased(pool)) and _swap(graph, pool):
            changed = True
    if changed:
        graph.sort()
    return graph


def _is_rectified(pool: Node) -> bool:
    """Whether the pool takes a rectified value."""
    return pool.inputs[0].op in RECTIFIER


def _is_biased(pool: Node) -> bool:
    """Whether the pool takes a sum with one number for each channel, and its windows have one channel each."""
    value = pool.inputs[0]
    add, rank = value.op, value.shape.ndims
    if rank is None or not value.dtype.base_dtype.is_floating:  # a sum of integers may overflow
        return False
    last = _channels_last(pool)
    if pool.attrs["ksize"][-1 if last else 1] != 1:
        return False
    if add in BIAS:
        return (add.attrs["data_format"] == "NHWC") is last
    if add not in ADD or not last or add.inputs[0].shape.ndims != rank:
        return False
    channels = add.inputs[1].shape.tuple
    return channels is not None and channels == (add.inputs[0].shape.tuple or ())[-1:] != (None,)


def _swap(graph: StepGraph, pool: Node) -> bool:
    """Moves a pool before the node whose value it takes, if nothing else needs that value; all nodes keep type and name."""
    value, pooled = pool.inputs[0], pool.outputs[0]
    before, users = value.op, graph.users()
    needed = {*graph.fetches, *(v for node in graph.targets for v in node.outputs)}
    gradients = [node for node in users[value] if _is_gradient(node, pool)]
    after = {node: users.get(node.outputs[0], []) for node in gradients}
    slopes: dict[Node, Node] = {}  # the rectifier's gradients by the pool's
    if before in RECTIFIER:
        for node, used in after.items():
            if node.outputs[0] in needed or len(used) != 1 or not _is_slope(used[0], node, value):
                return False
            slopes[node] = used[0]
    members = {pool, *gradients, *slopes.values()}
    if value in needed or not members.issuperset(users[value]) or not _together([before, *members]):
        return False
    values = {pooled: value, **{slope.outputs[0]: node.outputs[0] for node, slope in slopes.items()}}
    graph.replace(values, {pool: before, **{slope: node for node, slope in slopes.items()}})
    x = before.inputs[0]
    pool.inputs, before.inputs = [x], [pooled, *before.inputs[1:]]
    value.shape = pooled.shape
    for node in gradients:
        gradient = node.inputs[2]
        if node in slopes:
            slopes[node].inputs = [gradient, value]
            gradient = slopes[node].outputs[0]
            gradient.shape = pooled.shape
        else:
            for user in after[node]:
                if user.device == node.device and _sums_channels(user, pool):
                    user.inputs = [gradient, *user.inputs[1:]]  # the pool's gradient only puts zeros in between
        node.inputs = [x, pooled, gradient]
    return True


def _is_gradient(node: Node, pool: Node) -> bool:
    """Whether the node is the gradient of the pool."""
    if node not in POOL_GRADIENT or node.inputs[:2] != [pool.inputs[0], pool.outputs[0]]:
        return False
    return all(node.attrs.get(name) == pool.attrs.get(name) for name in pool.op_def.attr_names)


def _is_slope(node: Node, gradient: Node, rectified: Value) -> bool:
    """Whether the node hands a pool's gradient on through the rectifier."""
    return node in SLOPE and node.inputs == [gradient.outputs[0], rectified]


def _sums_channels(node: Node, pool: Node) -> bool:
    """Whether the node sums all numbers of each channel of a pool's gradient, as the gradient of a bias does."""
    last = _channels_last(pool)
    if node in BIAS_GRADIENT:
        return (node.attrs["data_format"] == "NHWC") is last
    return node in SUM and last and numbers(node.inputs[1]) == list(range((node.inputs[0].shape.ndims or 0) - 1))


def _channels_last(pool: Node) -> bool:
    return str(pool.attrs["data_format"]).endswith("C")


def _together(nodes: Sequence[Node]) -> bool:
    """Whether the nodes are on one device and wait for nothing but their inputs."""
    return len({node.device for node in nodes}) == 1 and not any(node.control_inputs for node in nodes)
