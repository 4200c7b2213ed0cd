"""How nodes use a device: in a few ways that each have rates of their own.  What is none of them works by elements.

Named here and nowhere else: which ops multiply, pool, move values or rows of tables, and which views may cost a copy.
"""

from __future__ import annotations

from typing import Final

from headrace.passes.match import Ops
from headrace.passes.step_graph import Node

PLAIN: Final = ""  # element-wise: as fast as memory
SUM: Final = "sum"
PRODUCT: Final = "product"
CONVOLUTION: Final = "convolution"
POOLING: Final = "pooling"
FUNCTION: Final = "function"  # by elements, and slower than memory: exponentials
LOSS: Final = "loss"  # of several kernels
MOVEMENT: Final = "movement"  # copies of values in another order
ROWS: Final = "rows"  # of a table, by their numbers
RANDOM: Final = "random"
USES: Final = (SUM, PRODUCT, CONVOLUTION, POOLING, FUNCTION, LOSS, MOVEMENT, ROWS, RANDOM)

_SUMS = "Sum Mean Max Min Prod All Any ArgMax ArgMin L2Loss EuclideanNorm BiasAddGrad"
_PRODUCTS = (
    "MatMul BatchMatMul BatchMatMulV2 SparseMatMul SparseTensorDenseMatMul Einsum _AddProduct _ApplyProduct "
    "_ApplyMomentumProduct _Attention _AttentionGrad _AttentionForward _AttentionBackward"
)
_CONVOLUTIONS = (
    "Conv2D Conv2DBackpropInput Conv2DBackpropFilter Conv3D Conv3DBackpropInputV2 Conv3DBackpropFilterV2 "
    "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter"
)
_POOLINGS = (
    "MaxPool MaxPoolGrad MaxPoolGradGrad MaxPoolWithArgmax MaxPoolGradWithArgmax AvgPool AvgPoolGrad MaxPool3D MaxPool3DGrad "
    "_MaxPoolLocated _MaxPoolLocatedGrad "
    "AvgPool3D AvgPool3DGrad LRN LRNGrad FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGrad "
    "FusedBatchNormGradV2 FusedBatchNormGradV3"
)
_FUNCTIONS = (
    "Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Sigmoid Softplus Softsign Elu Selu Erf Erfc Lgamma Digamma "
    "Pow _PowerOf Softmax LogSoftmax _SoftmaxGrad _LogSoftmaxGrad _LogisticLoss _TimesSigmoid"
)
_LOSSES = "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits"
_MOVEMENTS = (
    "Concat ConcatV2 Pack Transpose ConjugateTranspose _TransposeCopy Pad PadV2 MirrorPad Tile Reverse ReverseV2 Slice "
    "StridedSlice StridedSliceGrad DepthToSpace SpaceToDepth BatchToSpaceND SpaceToBatchND"
)
_READS_ROWS = "Gather GatherV2 GatherNd ResourceGather ResourceGatherNd"
_PARTS = "DynamicPartition DynamicStitch ParallelDynamicStitch"
_ADDS_ROWS = "UnsortedSegmentSum UnsortedSegmentMax SegmentSum ScatterNd _GatherGrad"
_BY_NAME: Final = {
    name: use
    for use, names in (
        (SUM, _SUMS), (PRODUCT, _PRODUCTS), (CONVOLUTION, _CONVOLUTIONS), (POOLING, _POOLINGS), (FUNCTION, _FUNCTIONS),
        (LOSS, _LOSSES),
        (MOVEMENT, _MOVEMENTS), (ROWS, f"{_READS_ROWS} {_ADDS_ROWS} {_PARTS}"),
    )
    for name in names.split()
}  # fmt: skip
READS_ROWS: Final = Ops(*_READS_ROWS.split())  # of their first input, no more than they hand out
ADDS_MANY: Final = Ops("AddN", "AccumulateNV2")  # one after the other; a single input is handed on as it is
MOVES_PARTS: Final = Ops(*_PARTS.split())  # part by part, each by a kernel of its own
_CASTS = Ops("Cast")


def use_of(node: Node) -> str:
    """How a node uses its device."""
    known = _BY_NAME.get(node.type)
    if known is not None:
        return known
    traits = node.op_def.traits
    return RANDOM if traits.random else ROWS if traits.rows else PLAIN


def is_free_view(node: Node) -> bool:
    """Whether a node only hands memory on, in another shape or under another name."""
    if not node.op_def.traits.view:
        return False
    if node in ADDS_MANY:
        return len(node.inputs) == 1
    return not (node in _CASTS and node.inputs[0].dtype.base_dtype != node.outputs[0].dtype.base_dtype)
