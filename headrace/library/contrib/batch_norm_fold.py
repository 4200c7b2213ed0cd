"""A batch normalization behind a layer, folded into the layer's weights and a bias, as deployed models compute it."""

from __future__ import annotations

from headrace.graph import context, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.library.numeric import math
from headrace.library.tensor import array

BATCH_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")


def fold(layer: Operation, norm: Operation, place: str, is_training: bool) -> tuple[Operation, Tensor]:
    """The layer with folded weights, and its output with the bias added: what the normalization gives.

    In training the statistics are those of the batch, for which the layer itself is computed too; the gradient takes them
    for constants.
    """
    _, gamma, beta, mean, variance = norm.inputs
    if norm.attrs["is_training"]:
        mean, variance = norm.outputs[1], _without_correction(layer.outputs[0], norm.outputs[2])
    scale = raw_ops.Mul(gamma, raw_ops.Rsqrt(raw_ops.AddV2(variance, norm.attrs["epsilon"])), name=f"{place}/mul")
    weights = layer.inputs[1]
    spread = scale
    if layer.type == "DepthwiseConv2dNative":  # its channels are input channels times the multiplier
        spread = array.reshape(scale, weights.shape.as_list()[2:])
    folded = raw_ops.Mul(weights, spread, name=f"{place}/mul_fold")
    graph = context.get_default_graph()
    again = graph.create_op(
        layer.op_def, [layer.inputs[0], folded], [out.dtype for out in layer.outputs], name=f"{layer.name}_Fold",
        attrs=dict(layer.attrs),
    )  # fmt: skip
    bias = raw_ops.Sub(beta, raw_ops.Mul(mean, scale), name=f"{place}/bias")
    data_format = norm.attrs["data_format"]
    text = data_format.decode() if isinstance(data_format, bytes) else data_format
    return again, raw_ops.BiasAdd(again.outputs[0], bias, data_format=text, name=f"{place}/add_fold")


def _without_correction(values: Tensor, variance: Tensor) -> Tensor:
    """The variance divided by n; what the normalization gives, for its moving average, is divided by n - 1."""
    count = math.cast(raw_ops.FloorDiv(array.size(values), array.size(variance)), variance.dtype)
    return raw_ops.Mul(variance, raw_ops.RealDiv(raw_ops.Sub(count, 1.0), count))
