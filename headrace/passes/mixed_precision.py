"""Mixed precision: products of float32 matrices in 16 bits, and what stands between them; sums, losses and state stay float32.

    %y = MatMul(%x, %w)   %z = Exp(%y)      ->      %y = MatMul(Cast(%x), Cast(%w))   %z = Exp(Cast(%y))

After TensorFlow's lists: an op of `ALLOW` gains much and loses little; one of `DENY` needs 32 bits; one of `INFER` runs in 16
bits between ops that do, and not after one that needs 32; one of `CLEAR` only moves or chooses numbers, and goes with its
neighbours.  Everything else stays as it is, and so do the borders of bodies.  A variable keeps its 32 bits: no update is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.core.dtypes import DType, float32
from headrace.core.registry import REGISTRY
from headrace.core.signature import Arg
from headrace.passes.match import Ops
from headrace.passes.step_graph import Node, StepGraph, Value

ALLOW = Ops(
    "BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3D",
    "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2", "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput", "Einsum", "MatMul",
)  # fmt: skip
INFER = Ops(
    "Add", "AddN", "AddV2", "AvgPool", "AvgPool3D", "AvgPool3DGrad", "AvgPoolGrad", "BiasAdd", "BiasAddGrad",
    "BiasAddV1", "Elu", "EluGrad", "Erf", "Erfc", "FloorDiv", "FusedBatchNormGradV2", "FusedBatchNormGradV3",
    "FusedBatchNormV2", "FusedBatchNormV3", "Inv", "LeakyRelu", "LeakyReluGrad", "Mul", "Prod", "RealDiv",
    "Reciprocal", "Rsqrt", "Selu", "SeluGrad", "Sigmoid", "SigmoidGrad", "Softmax", "Softplus", "SoftplusGrad",
    "Softsign", "SoftsignGrad", "Sqrt", "Square", "Sub", "Tanh", "TanhGrad", "_SoftmaxGrad",
)  # fmt: skip
DENY = Ops(
    "Exp", "Expm1", "L2Loss", "Log", "Log1p", "LogSoftmax", "Mean", "Pow", "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits", "SquaredDifference", "Sum", "_LogSoftmaxGrad", "_PowerOf",
)  # fmt: skip
CLEAR = Ops(
    "Abs", "BatchToSpaceND", "BroadcastTo", "Ceil", "Concat", "ConcatV2", "DepthToSpace", "ExpandDims", "Floor",
    "GatherNd", "Identity", "MatrixBandPart", "MatrixDiag", "Max", "MaxPool", "MaxPoolGrad", "MaxPoolGradGrad",
    "Maximum", "Min", "Minimum", "MirrorPad", "Neg", "Pack", "Pad", "PadV2", "Relu", "Relu6", "Relu6Grad", "ReluGrad",
    "Reshape", "ReverseV2", "Round", "Select", "SelectV2", "Sign", "Slice", "SpaceToBatchND", "SpaceToDepth", "Split",
    "SplitV", "Squeeze", "StopGradient", "StridedSlice", "Tile", "Transpose", "Unpack",
)  # fmt: skip
TYPE = "T"

Half = Callable[[str], DType | None]


def mixed_precision(graph: StepGraph, half: Half) -> StepGraph:
    """``half`` says which type of 16 bits nodes of a device may compute in, if any."""
    types = {device: half(device) for device in {node.device for node in graph.nodes}}
    able = {node for node in graph.nodes if _is_able(node, types[node.device])}
    chosen = {node for node in able if node in ALLOW}
    if not chosen:
        return graph
    users = graph.users()
    others = able - chosen
    others -= _after_denied(graph, users, others)
    chosen |= _between(graph, users, others, chosen)
    chosen |= _beside(graph, users, others, chosen)
    for node in chosen:
        _narrow(node, types[node.device] or float32)
    _add_casts(graph, chosen)
    return graph


def _is_able(node: Node, half: DType | None) -> bool:
    """Whether the node is of one of the lists that may change, of float32, and can be of the type."""
    if half is None or node.attrs.get(TYPE) is not float32:
        return False
    if half not in node.op_def.signature.allowed.get(TYPE, ()):
        return False
    return node in ALLOW or node in INFER or node in CLEAR


def _floats(node: Node) -> Iterable[Node]:
    """The nodes that the numbers come from."""
    return (value.op for value in node.inputs if value.dtype is float32)


def _after_denied(graph: StepGraph, users: dict[Value, list[Node]], others: set[Node]) -> set[Node]:
    """Those that continue what an op that needs 32 bits began, up to the next product.

    What only moves numbers is among them if they come to an op that would compute with them.
    """
    leads: set[Node] = set()  # to a node that would compute, or must in 32 bits, by nodes that move numbers only
    for node in reversed(graph.nodes):
        after = [user for value in node.outputs for user in users.get(value, ())]
        if node in others and any(user in DENY or user in INFER or user in leads for user in after):
            leads.add(node)
    denied: set[Node] = set()
    for node in graph.nodes:
        if node in DENY or (
            node in others and (node in INFER or node in leads) and any(before in denied for before in _floats(node))
        ):
            denied.add(node)
    return denied & others


def _between(graph: StepGraph, users: dict[Value, list[Node]], others: set[Node], chosen: set[Node]) -> set[Node]:
    """Those on a way from one product to another, by nodes that may change only."""
    after: set[Node] = set()
    for node in graph.nodes:
        if node in others and any(before in chosen or before in after for before in _floats(node)):
            after.add(node)
    before_one: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in after and any(
            user in chosen or user in before_one for value in node.outputs for user in users.get(value, ())
        ):
            before_one.add(node)
    return before_one


def _beside(graph: StepGraph, users: dict[Value, list[Node]], others: set[Node], chosen: set[Node]) -> set[Node]:
    """Those that only move numbers that come from chosen nodes, or go to chosen nodes only."""
    found: set[Node] = set()
    for node in graph.nodes:
        if node in others and node in CLEAR and node not in chosen:
            before = [one in chosen or one in found for one in _floats(node)]
            if before and all(before):
                found.add(node)
    for node in reversed(graph.nodes):
        if node in others and node in CLEAR and node not in chosen and node not in found:
            after = [user in chosen or user in found for value in node.outputs for user in users.get(value, ())]
            if after and all(after) and not any(value in graph.fetches for value in node.outputs):
                found.add(node)
    return found


def _narrow(node: Node, half: DType) -> None:
    node.attrs = {**node.attrs, TYPE: half}
    for value, arg in zip(node.outputs, _spread(node.op_def.signature.outputs, node), strict=True):
        if arg.type_attr == TYPE:
            value.dtype = half


def _spread(args: tuple[Arg, ...], node: Node) -> Iterable[Arg]:
    """The argument that each input or output belongs to."""
    for arg in args:
        count = 1
        if arg.number_attr is not None:
            count = node.attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            count = len(node.attrs[arg.type_list_attr])
        for _ in range(count):
            yield arg


def _add_casts(graph: StepGraph, chosen: set[Node]) -> None:
    """Where a value is not of the type that its user takes."""
    made: dict[tuple[Value, DType, str], Value] = {}
    narrowed = {value for node in chosen for value in node.outputs if value.dtype is not float32}

    def cast(value: Value, dtype: DType, near: Node) -> Value:
        key = (value, dtype, near.device)
        if key not in made:
            attrs = {"SrcT": value.dtype, "DstT": dtype, "Truncate": False}
            node = Node(
                f"{value.op.name}/{dtype.name}" + f"_{value.value_index}" * bool(value.value_index)
                + f"_on_{len(made)}" * any(one is value and to is dtype for one, to, _ in made),
                REGISTRY.get("Cast"), [value], attrs, value.op.order + 1e-6, None, near.device, value.op.source,
                value.op.origin,
            )  # fmt: skip
            made[key] = node.add_outputs([(dtype, value.shape)]).outputs[0]
        return made[key]

    for node in graph.nodes:
        taken = [float32] * len(node.inputs)
        if node in chosen:
            args = _spread(node.op_def.signature.inputs, node)
            taken = [node.attrs[TYPE] if arg.type_attr == TYPE else float32 for arg in args]
        elif narrowed.isdisjoint(node.inputs):
            continue
        node.inputs = [
            cast(value, dtype, node)
            if dtype is not value.dtype and (dtype is not float32 or value in narrowed)
            else value
            for value, dtype in zip(node.inputs, taken, strict=True)
        ]
    graph.fetches = [cast(value, float32, value.op) if value in narrowed else value for value in graph.fetches]
    graph.nodes = graph.nodes + [value.op for value in made.values()]
    graph.sort()
