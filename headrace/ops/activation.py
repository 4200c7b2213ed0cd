"""Activation functions and their gradients, bias addition and the L2 loss."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from headrace.core import dtypes
from headrace.core.dtypes import FLOATING, NUMERIC, REAL
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.declare.regular import widen

elu_backward = torch.ops.aten.elu_backward.default
hardtanh_backward = torch.ops.aten.hardtanh_backward.default
leaky_relu_backward = torch.ops.aten.leaky_relu_backward.default
softplus_backward = torch.ops.aten.softplus_backward.default
threshold_backward = torch.ops.aten.threshold_backward.default
UNSIGNED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)  # torch stores these but computes little with them
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946
# Beyond this softplus(x) == x in every dtype; torch's own default of 20 is visible in float64.
SOFTPLUS_THRESHOLD = 40.0
_ZERO = np.array(False)  # a zero that leaves every numpy dtype as it is


def activation(name, types, gradient):
    """``Name(features) -> (activations)``; ``gradient(node, grad)`` gives one tensor."""
    op_def = op(f"{name}(features: T) -> (activations: T)", T=types)
    op_def.shape(lambda features: features)
    op_def.gradient(lambda node, grad: [gradient(node, grad)])
    return op_def


def activation_grad(name, types, second="features"):
    """``NameGrad(gradients, features) -> (backprops)``; ``second`` is "outputs" where it is taken from those."""
    op_def = op(f"{name}(gradients: T, {second}: T) -> (backprops: T)", T=types, lenient=True)
    op_def.shape(lambda gradients, features: gradients.merge_with(features))
    return op_def


def piecewise_linear(op_def):
    """The gradient rule of a gradient whose slope does not depend on the point.  It uses the same op again."""

    @op_def.gradient
    def _(node, grad):
        features = node.inputs[1]
        attrs = {name: node.attrs[name] for name in op_def.attr_names}
        return [getattr(raw_ops, op_def.name)(grad, features, **attrs), raw_ops.ZerosLike(features)]


# ---- Relu

relu = activation("Relu", REAL, lambda node, grad: raw_ops.ReluGrad(grad, node.outputs[0]))
relu.kernel(torch.relu)
relu.kernel(torch.clone, T=(dtypes.uint8, *UNSIGNED))
relu.array_kernel(lambda features: np.maximum(features, _ZERO))

relu_grad = activation_grad("ReluGrad", REAL)
piecewise_linear(relu_grad)

relu_grad.kernel(lambda gradients, features: threshold_backward(gradients, features, 0))


@relu_grad.kernel(T=UNSIGNED)
def _(gradients, features):
    chosen = torch.where(features.to(torch.int64) == 0, 0, gradients.to(torch.int64))  # torch 2.11 lacks these
    return chosen.to(gradients.dtype)


relu_grad.array_kernel(lambda gradients, features: np.where(np.greater(features, _ZERO), gradients, _ZERO))


# ---- Relu6

relu6 = activation("Relu6", REAL, lambda node, grad: raw_ops.Relu6Grad(grad, node.outputs[0]))
relu6.kernel(lambda features: torch.clamp(features, 0, 6))
widen(relu6, lambda features: torch.clamp(features, 0, 6))

relu6_grad = activation_grad("Relu6Grad", REAL)
piecewise_linear(relu6_grad)


def _between(gradients, features):
    return torch.where((features > 0) & (features < 6), gradients, 0)


relu6_grad.kernel(_between)
widen(relu6_grad, _between)


@relu6_grad.kernel(T=FLOATING)
def _(gradients, features):
    return hardtanh_backward(gradients, features, 0, 6)


# ---- LeakyRelu

leaky_relu = op("LeakyRelu(features: T; alpha: float = 0.2) -> (activations: T)", T=FLOATING)
leaky_relu.shape(lambda features, alpha: features)
leaky_relu.kernel(lambda features, alpha: functional.leaky_relu(features, alpha))


@leaky_relu.gradient
def _(node, grad):
    return [raw_ops.LeakyReluGrad(grad, node.inputs[0], alpha=node.attrs["alpha"])]


leaky_relu_grad = op(
    "LeakyReluGrad(gradients: T, features: T; alpha: float = 0.2) -> (backprops: T)", T=FLOATING, lenient=True
)  # fmt: skip
leaky_relu_grad.shape(lambda gradients, features, alpha: gradients.merge_with(features))
piecewise_linear(leaky_relu_grad)


@leaky_relu_grad.kernel
def _(gradients, features, alpha):
    return leaky_relu_backward(gradients, features, alpha, False)


# ---- Elu and Selu

elu = activation("Elu", FLOATING, lambda node, grad: raw_ops.EluGrad(grad, node.outputs[0]))


@elu.kernel
def _(features):
    # exp(x) - 1, as TensorFlow has it: torch's elu takes the exact difference, in twice the time.
    return torch.maximum(features, torch.exp(torch.clamp(features, max=0)).sub_(1))


elu_grad = activation_grad("EluGrad", FLOATING, "outputs")
elu_grad.kernel(lambda gradients, outputs: elu_backward(gradients, 1.0, 1.0, 1.0, True, outputs))

selu = activation("Selu", FLOATING, lambda node, grad: raw_ops.SeluGrad(grad, node.outputs[0]))
selu.kernel(torch.selu)

selu_grad = activation_grad("SeluGrad", FLOATING, "outputs")


@selu_grad.kernel
def _(gradients, outputs):
    # torch's backward counts zero as below; TensorFlow counts it as above, where the slope is another.
    return torch.where(outputs < 0, gradients * (outputs + SELU_SCALE * SELU_ALPHA), gradients * SELU_SCALE)


# ---- Softplus and Softsign

softplus = activation("Softplus", FLOATING, lambda node, grad: raw_ops.SoftplusGrad(grad, node.inputs[0]))
softplus.kernel(lambda features: functional.softplus(features, 1.0, SOFTPLUS_THRESHOLD))

softplus_grad = activation_grad("SoftplusGrad", FLOATING)


@softplus_grad.kernel
def _(gradients, features):
    return softplus_backward(gradients, features, 1.0, SOFTPLUS_THRESHOLD)


softsign = activation("Softsign", FLOATING, lambda node, grad: raw_ops.SoftsignGrad(grad, node.inputs[0]))
softsign.kernel(lambda features: features / (features.abs() + 1))

softsign_grad = activation_grad("SoftsignGrad", FLOATING)
softsign_grad.kernel(lambda gradients, features: gradients / (features.abs() + 1).square())


# ---- BiasAdd

bias_add = op('BiasAdd(value: T[2+], bias: T[1]; data_format: string = "NHWC") -> (output: T)', T=NUMERIC)


def channel_axis(rank, data_format):
    """Which axis the bias runs along."""
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(
            f'Value for attr \'data_format\' of "{data_format}" is not in the list of allowed values: "NHWC", "NCHW"'
        )
    return rank - 1 if data_format == "NHWC" else 1


def bias_add_shape(value, bias, data_format):
    value, bias = value.with_rank_at_least(2), bias.with_rank(1)
    axis = channel_axis(value.ndims or 2, data_format)
    dims = value.tuple
    if dims is None:
        return None
    channels, size = dims[axis], bias.tuple[0]
    if channels is not None and size is not None and channels != size:
        raise ValueError(f"Dimensions must be equal, but are {channels} and {size}")
    return (*dims[:axis], size if channels is None else channels, *dims[axis + 1 :])


def _check_last(value, bias):
    if value.shape[-1] != bias.shape[0]:  # a bias of one element would be broadcast
        raise ValueError(
            f"Must provide as many biases as the last dimension of the input tensor: "
            f"{list(bias.shape)} vs. {list(value.shape)}"
        )


def add_bias(value, bias, data_format):
    if data_format == "NHWC":
        _check_last(value, bias)
        return value + bias
    if value.shape[1] != bias.shape[0]:
        raise ValueError(
            f"Must provide as many biases as the channel dimension of the input tensor: "
            f"{list(bias.shape)} vs. {value.shape[1]} in {list(value.shape)}"
        )
    return value + bias.reshape(-1, *[1] * (value.dim() - 2))


def bias_add_gradient(node, grad):
    return [grad, raw_ops.BiasAddGrad(grad, data_format=node.attrs["data_format"])]


bias_add.shape(bias_add_shape)
bias_add.gradient(bias_add_gradient)
bias_add.kernel(add_bias)
widen(bias_add, add_bias)


@bias_add.array_kernel
def _(value, bias, data_format):
    return np.add(value, bias if data_format == "NHWC" else bias.reshape(-1, *[1] * (value.ndim - 2)))


bias_add_v1 = op("BiasAddV1(value: T[2+], bias: T[1]) -> (output: T)", T=NUMERIC)
bias_add_v1.shape(lambda value, bias: bias_add_shape(value, bias, "NHWC"))
bias_add_v1.gradient(lambda node, grad: [grad, raw_ops.BiasAddGrad(grad)])
bias_add_v1.kernel(lambda value, bias: add_bias(value, bias, "NHWC"))

bias_add_grad = op(
    'BiasAddGrad(out_backprop: T[2+]; data_format: string = "NHWC") -> (output: T)', T=NUMERIC, lenient=True
)


@bias_add_grad.shape
def _(out_backprop, data_format):
    out_backprop = out_backprop.with_rank_at_least(2)
    axis = channel_axis(out_backprop.ndims or 2, data_format)
    dims = out_backprop.tuple
    return (None,) if dims is None else (dims[axis],)


def _axes_of_bias(grad, data_format):
    """The axes to sum over."""
    return tuple(range(grad.ndim - 1)) if data_format == "NHWC" else (0, *range(2, grad.ndim))


@bias_add_grad.kernel
def _(out_backprop, data_format):
    axes = _axes_of_bias(out_backprop, data_format)
    return torch.sum(out_backprop, axes, dtype=out_backprop.dtype)


@bias_add_grad.array_kernel
def _(out_backprop, data_format):
    return np.add.reduce(out_backprop, _axes_of_bias(out_backprop, data_format), out_backprop.dtype)


# ---- L2Loss

l2_loss = op("L2Loss(t: T) -> (output: T[0])", T=FLOATING)
l2_loss.gradient(lambda node, grad: [raw_ops.Mul(node.inputs[0], grad)])
l2_loss.kernel(lambda t: torch.sum(t * t) * 0.5)
