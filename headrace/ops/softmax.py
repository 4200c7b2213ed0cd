"""Softmax, and the cross entropies that take logits: loss and its gradient from one kernel, as TF1 has them."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import FLOATING, INDEX
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.ops.declare.regular import broadcast
from headrace.resources.calling.torch_names import log_softmax_backward, softmax_backward

softmax = op("Softmax(logits: T[1+]) -> (softmax: T)", T=FLOATING)
softmax.shape(lambda logits: logits.with_rank_at_least(1))
softmax.gradient(lambda node, grad: [raw_ops._SoftmaxGrad(grad, node.outputs[0])])
softmax.kernel(lambda logits: torch.softmax(logits, -1))

softmax_grad = op("_SoftmaxGrad(gradients: T, softmax: T) -> (backprops: T)", T=FLOATING)
softmax_grad.shape(lambda gradients, softmax: gradients.merge_with(softmax))
softmax_grad.kernel(lambda gradients, softmax: softmax_backward(gradients, softmax, -1, softmax.dtype))

log_softmax = op("LogSoftmax(logits: T[1+]) -> (logsoftmax: T)", T=FLOATING, lenient=True)
log_softmax.shape(lambda logits: logits.with_rank_at_least(1))
log_softmax.gradient(lambda node, grad: [raw_ops._LogSoftmaxGrad(grad, node.outputs[0])])
log_softmax.kernel(lambda logits: torch.log_softmax(logits, -1))

log_softmax_grad = op("_LogSoftmaxGrad(gradients: T, logsoftmax: T) -> (backprops: T)", T=FLOATING)
log_softmax_grad.shape(lambda gradients, logsoftmax: gradients.merge_with(logsoftmax))


@log_softmax_grad.kernel
def _(gradients, logsoftmax):
    return log_softmax_backward(gradients, logsoftmax, -1, logsoftmax.dtype)


# ---- cross entropy with a distribution over the classes

xent = op("SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> (loss: T, backprop: T)", T=FLOATING, lenient=True)


@xent.shape
def _(features, labels):
    full = broadcast(features.with_rank(2), labels.with_rank(2))
    return [TensorShape(full.tuple[:1]), full]


def _scale_rows(grad_loss, matrix):
    return raw_ops.Mul(raw_ops.ExpandDims(grad_loss, -1), matrix)


def _through_backprop(logits, grad_backprop):
    """What the gradient of ``backprop``, softmax - labels, adds to the gradient of the logits."""
    return raw_ops._SoftmaxGrad(_fit(grad_backprop, logits), raw_ops.Softmax(logits))


def _is_zero(grad):
    return grad is None or grad.op.type in ("ZerosLike", "Zeros")


@xent.gradient
def _(node, grad_loss, grad_backprop):
    logits, labels = node.inputs
    to_logits = to_labels = None
    if grad_loss is not None:
        to_logits = _fit(_scale_rows(grad_loss, node.outputs[1]), logits)
        to_labels = _fit(_scale_rows(grad_loss, raw_ops.Neg(raw_ops.LogSoftmax(logits))), labels)
    if not _is_zero(grad_backprop):
        extra = _through_backprop(logits, grad_backprop)
        to_logits = extra if to_logits is None else raw_ops.Add(to_logits, extra)
    return [to_logits, to_labels]


def _fit(grad, like):
    """Sums over the rows along which ``like`` was broadcast, if it was."""
    if grad is None or grad.shape.tuple == like.shape.tuple and None not in (like.shape.tuple or (None,)):
        return grad
    if like.shape.tuple is not None and like.shape.tuple[0] != 1:
        return grad
    return raw_ops._SumToShape(grad, raw_ops.Shape(like))


@xent.kernel
def _(features, labels):
    if features.shape != labels.shape:
        features, labels = torch.broadcast_tensors(features, labels)
    log_probability = torch.log_softmax(features, -1)
    loss = (labels * log_probability).sum(-1).neg()
    return loss, log_probability.exp() - labels


@xent.array_kernel
def _(features, labels):
    shifted = features - features.max(-1, keepdims=True)
    grown = np.exp(shifted)
    total = np.add.reduce(grown, -1, keepdims=True)
    loss = np.add.reduce(labels * (np.log(total) - shifted), -1)
    return loss, grown / total - labels


# ---- cross entropy with class numbers

sparse_xent = op(
    "SparseSoftmaxCrossEntropyWithLogits(features: T[2], labels: Tlabels[1]) -> (loss: T, backprop: T)",
    T=FLOATING, Tlabels=INDEX, lenient=True,
)  # fmt: skip


@sparse_xent.shape
def _(features, labels):
    features, labels = features.with_rank(2), labels.with_rank(1)
    rows, size = features.tuple[0], labels.tuple[0]
    if rows is not None and size is not None and rows != size:
        raise ValueError(f"Dimensions must be equal, but are {rows} and {size}")
    rows = size if rows is None else rows
    return [TensorShape((rows,)), TensorShape((rows, features.tuple[1]))]


@sparse_xent.gradient
def _(node, grad_loss, grad_backprop):
    to_logits = None if grad_loss is None else _scale_rows(grad_loss, node.outputs[1])
    if not _is_zero(grad_backprop):
        extra = _through_backprop(node.inputs[0], grad_backprop)
        to_logits = extra if to_logits is None else raw_ops.Add(to_logits, extra)
    return [to_logits, None]


@sparse_xent.refuse
def _(features, labels):
    if features.ndim != 2:
        raise ValueError(f"logits must be 2-D, but got shape {list(features.shape)}")
    if labels.ndim != 1:
        raise ValueError(f"labels must be 1-D, but got shape {list(labels.shape)}")
    if features.shape[0] != labels.shape[0]:
        raise ValueError(
            f"logits and labels must have the same first dimension, got logits shape {list(features.shape)} "
            f"and labels shape {list(labels.shape)}"
        )


def _sparse(features, index):
    log_probability = torch.log_softmax(features, -1)
    loss = log_probability.gather(-1, index).squeeze(-1).neg()
    minus_one = torch.full_like(index, -1, dtype=features.dtype)
    return loss, log_probability.exp().scatter_add(-1, index, minus_one)


@sparse_xent.kernel(device="cpu")
def _(features, labels):
    try:
        return _sparse(features, labels.long().unsqueeze(-1))
    except RuntimeError:
        _check_labels(labels.tolist(), features.shape[-1])
        raise


def _check_labels(labels, classes):
    for label in labels:
        if not 0 <= label < classes:
            raise ValueError(
                f"Received a label value of {label} which is outside the valid range of [0, {classes}).  "
                f"Label values: {' '.join(map(str, labels[:100]))}"
            )


@sparse_xent.array_kernel
def _(features, labels):
    _check_labels(labels.tolist(), features.shape[-1])
    rows = np.arange(len(labels))
    shifted = features - features.max(-1, keepdims=True)
    backprop = np.exp(shifted)
    total = np.add.reduce(backprop, -1, keepdims=True)
    backprop /= total
    backprop[rows, labels] -= 1
    return np.log(total[:, 0]) - shifted[rows, labels], backprop


@sparse_xent.kernel
def _(features, labels):
    # A device cannot raise; like TF1's GPU kernel, rows whose label is out of range become NaN.
    index = labels.long().unsqueeze(-1)
    valid = (index >= 0) & (index < features.shape[-1])
    loss, backprop = _sparse(features, index.clamp(0, features.shape[-1] - 1))
    nan = float("nan")
    return torch.where(valid.squeeze(-1), loss, nan), torch.where(valid, backprop, nan)
