"""Kernels that write over an input, for the planner to choose where it proves that nobody needs the input any more.

``op.in_place[p]`` takes what the op's kernel takes and leaves the result in the memory of input ``p``.
"""

from __future__ import annotations

from typing import Any

import torch

from headrace.core.registry import REGISTRY

_threshold_backward = torch.ops.aten.threshold_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input
_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input


def _add_bias(value, bias, data_format):
    if value.shape[-1] != bias.shape[0]:  # a bias of one element would be broadcast
        raise ValueError(
            f"Must provide as many biases as the last dimension of the input tensor: {list(bias.shape)} vs. "
            f"{list(value.shape)}"
        )
    return value.add_(bias)


_KERNELS: dict[str, dict[int, Any]] = {
    "Relu": {0: torch.relu_},
    "BiasAdd": {0: _add_bias},
    "Add": {0: torch.Tensor.add_, 1: lambda x, y: y.add_(x)},
    "AddV2": {0: torch.Tensor.add_, 1: lambda x, y: y.add_(x)},
    "Sub": {0: torch.Tensor.sub_, 1: lambda x, y: torch.sub(x, y, out=y)},
    "Mul": {0: torch.Tensor.mul_, 1: lambda x, y: y.mul_(x)},
    "RealDiv": {0: torch.Tensor.div_},
    "Neg": {0: torch.neg_},
    "Exp": {0: torch.exp_},
    "Tanh": {0: torch.tanh_},
    "Sigmoid": {0: torch.sigmoid_},
    "Sqrt": {0: torch.sqrt_},
    "Rsqrt": {0: torch.rsqrt_},
    "Square": {0: torch.square_},
    "ReluGrad": {0: lambda gradients, features: _threshold_backward(gradients, features, 0, grad_input=gradients)},
    "TanhGrad": {1: lambda y, dy: _tanh_backward(dy, y, grad_input=dy)},
    "SigmoidGrad": {1: lambda y, dy: _sigmoid_backward(dy, y, grad_input=dy)},
}


def install() -> None:
    """Gives the ops their kernels; called when all families are declared."""
    for name, kernels in _KERNELS.items():
        REGISTRY.get(name).in_place.update(kernels)
