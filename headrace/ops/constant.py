"""Constants, placeholders and the ops that pass a value on unchanged."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import ANY, string
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.resources.calling.value import from_numpy

const = op("Const(; value: tensor, dtype: type) -> (output: dtype)", dtype=ANY, constant=True)
const.not_differentiable()


@const.shape
def _(value, dtype):
    if (value.dtype == object) != (dtype.base_dtype == string):
        raise ValueError(f"Type mismatch between value ({value.dtype}) and dtype ({dtype.name})")
    return value.shape


const.value(lambda node: node.attrs["value"])


@const.kernel
def _(value, dtype, *, device):
    tensor = from_numpy(value)
    return tensor if isinstance(tensor, np.ndarray) else tensor.to(device=device, dtype=dtype)


placeholder = op("Placeholder(; dtype: type, shape: shape = None) -> (output: dtype)", dtype=ANY, feed=True)
placeholder.not_differentiable()
placeholder.shape(lambda dtype, shape: shape)

feed = op("_Feed(; dtype: type, shape: shape = None) -> (output: dtype)", dtype=ANY, feed=True)
feed.shape(lambda dtype, shape: shape)

default = op(
    "PlaceholderWithDefault(input: dtype; shape: shape) -> (output: dtype)", dtype=ANY, view=True, identity=True
)


@default.shape
def _(input, shape):  # noqa: A002 - the op's name for it
    input.merge_with(shape)  # what is not fed must fit as well
    return shape


default.value(lambda node, input: None)  # the value may be fed
default.gradient(lambda node, grad: [grad])
default.kernel(lambda input, shape: input)

identity = op("Identity(input: T) -> (output: T)", T=ANY, view=True, identity=True)
identity.shape(lambda input: input)
identity.value(lambda node, input: input)
identity.gradient(lambda node, grad: [grad])
identity.kernel(lambda input: input)

snapshot = op("Snapshot(input: T) -> (output: T)", T=ANY)
snapshot.shape(lambda input: input)
snapshot.gradient(lambda node, grad: [grad])
snapshot.kernel(lambda input: input.clone() if isinstance(input, torch.Tensor) else input.copy())

identity_n = op("IdentityN(input: list(T)) -> (output: list(T))", T=ANY, view=True, pairs=True)
identity_n.shape(lambda input: input)
identity_n.gradient(lambda node, *grads: list(grads))
identity_n.kernel(lambda input: input)

stop = op("StopGradient(input: T) -> (output: T)", T=ANY, view=True, identity=True)
stop.shape(lambda input: input)
stop.value(lambda node, input: input)
stop.not_differentiable()
stop.kernel(lambda input: input)

prevent = op('PreventGradient(input: T; message: string = "") -> (output: T)', T=ANY, view=True, identity=True)
prevent.shape(lambda input, message: input)
prevent.kernel(lambda input, message: input)


@prevent.gradient
def _(node, grad):
    raise LookupError(f"Gradient explicitly disabled. Reason: {node.attrs['message']}")


no_op = op("NoOp() -> ()", stateful=True)
no_op.kernel(lambda: None)


def _zeros(input):
    if isinstance(input, np.ndarray):
        return np.full(input.shape, b"", dtype=object)
    return torch.zeros_like(input, memory_format=torch.preserve_format)


zeros_like = op("ZerosLike(x: T) -> (y: T)", T=ANY)
zeros_like.shape(lambda x: x)
zeros_like.gradient(lambda node, grad: [raw_ops.ZerosLike(grad)])
zeros_like.kernel(_zeros)
zeros_like.array_kernel(lambda x: np.zeros(x.shape, x.dtype))

ones_like = op("OnesLike(x: T) -> (y: T)", T=ANY)
ones_like.shape(lambda x: x)
ones_like.gradient(lambda node, grad: [raw_ops.ZerosLike(grad)])
ones_like.kernel(torch.ones_like)
ones_like.array_kernel(lambda x: np.ones(x.shape, x.dtype))
