"""Connectionist temporal classification: the loss; and the edit distance.  The decoders are in ``ctc_decoder``.

The last class is the blank.  Sequences come as sparse tensors, time first.
"""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import torch

from headrace.core.dtypes import ANY, float32, float64, resource, variant
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.ops.shared.sparse_entry import check_inside, check_parts, entries, static_rank
from headrace.resources.calling.dispatch import autograd

# ---- the loss

ctc_loss = op(
    "CTCLoss(inputs: T[3], labels_indices: int64[2], labels_values: int32[1], sequence_length: int32[1];"
    " preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True,"
    " ignore_longer_outputs_than_inputs: bool = False) -> (loss: T, gradient: T)",
    T=(float32, float64), opaque=True,
)  # fmt: skip


@ctc_loss.shape
def _(inputs, labels_indices, labels_values, sequence_length, *attrs):
    dims = inputs.with_rank(3).tuple or (None, None, None)
    entries(labels_indices, labels_values)
    if dims[2] == 0:
        raise ValueError(f"num_classes must be at least 1, got inputs of shape {inputs}")
    length = sequence_length.with_rank(1).tuple
    batch = dims[1] if dims[1] is not None or not length else length[0]
    if None not in (dims[1], (length or (None,))[0]) and length[0] != dims[1]:
        raise ValueError(f"Dimensions must be equal, but are {dims[1]} and {length[0]}: the sizes of the batch")
    return [(batch,), (dims[0], batch, dims[2])]


def _targets(indices, values, batch, classes, collapse):
    """The labels of each sequence in a list.  From the blank's number on, labels are padding."""
    if indices.shape[1] != 2:
        raise ValueError(f"labels_indices must have 2 columns, got shape {list(indices.shape)}")
    labels_of_rows = [[] for _ in range(batch)]
    for (row, _), label in zip(indices.tolist(), values.tolist(), strict=True):
        if not 0 <= row < batch:
            raise ValueError(f"label SparseTensor is not valid: row {row} is not in a batch of {batch}")
        labels_of_rows[row].append(label)
    return [_labels(row, labels, classes, collapse) for row, labels in enumerate(labels_of_rows)]


def _labels(row, labels, classes, collapse):
    if not labels:
        raise ValueError(f"Labels length is zero in batch {row}")
    if min(labels) < 0:
        raise ValueError(f"All labels must be nonnegative integers, batch: {row} labels: {labels}")
    count = next((i for i, label in enumerate(labels) if label >= classes - 1), len(labels))
    if any(label < classes - 1 for label in labels[count:]):
        raise ValueError(
            f"Saw a non-null label (index >= num_classes - 1) following a null label, batch: {row} num_classes: {classes} "
            f"labels: {labels}"
        )
    return _merged(labels[:count]) if collapse else labels[:count]


def _merged(labels):
    """The labels without those that equal the one before."""
    return [label for label, _ in groupby(labels)]


def _possible(labels, length, merge):
    """Whether the labels fit in the steps.  Equal neighbours that would be merged need a blank between them."""
    return len(labels) + (len(labels) - len(_merged(labels)) if merge else 0) <= length


@ctc_loss.kernel
def _(inputs, labels_indices, labels_values, sequence_length, collapse, merge, ignore_longer):
    steps, batch, classes = inputs.shape
    lengths = sequence_length.tolist()
    if len(lengths) != batch:
        raise ValueError(f"len(sequence_length) != batch_size: {len(lengths)} vs {batch}")
    if batch and (min(lengths) < 0 or max(lengths) > steps):
        raise ValueError(f"sequence_length({max(lengths)}) <= {steps} is needed")
    targets = _targets(labels_indices, labels_values, batch, classes, collapse)
    loss, gradient = inputs.new_zeros(batch), torch.zeros_like(inputs)
    rows = []
    for row, (labels, length) in enumerate(zip(targets, lengths, strict=True)):
        if len(labels) > length:
            if not ignore_longer:
                raise ValueError(
                    f"Not enough time for target transition sequence (required: {len(labels)}, available: {length}): "
                    f"sequence {row}. ignore_longer_outputs_than_inputs leaves such sequences out"
                )
        elif _possible(labels, length, merge):
            rows.append(row)
        else:
            loss[row] = math.inf
            gradient[:length, row] = torch.softmax(inputs[:length, row], 1)
    if rows:
        targets, lengths = [targets[row] for row in rows], [lengths[row] for row in rows]
        if merge:
            flat = torch.tensor([v for labels in targets for v in labels], dtype=torch.int64, device=inputs.device)
            loss[rows], gradient[:, rows] = _standard_loss(inputs[:, rows], flat, lengths, list(map(len, targets)))
        else:
            loss[rows], gradient[:, rows] = _unmerged_loss(inputs[:, rows], targets, lengths)
    return loss, gradient


def _standard_loss(logits, labels, lengths, counts):
    """The loss and its gradient."""
    with autograd(), torch.enable_grad():
        logits = logits.detach().requires_grad_()
        scores = torch.log_softmax(logits, 2)
        losses = torch.ctc_loss(scores, labels, lengths, counts, logits.shape[2] - 1, 0)
        return losses.detach(), torch.autograd.grad(losses.sum(), logits)[0]


def _unmerged_loss(logits, targets, lengths):
    """Each label lasts one step, so that equal neighbours need no blank between them."""
    with autograd(), torch.enable_grad():
        logits = logits.detach().requires_grad_()
        scores = torch.log_softmax(logits, 2)
        losses = torch.stack([_unmerged_one(scores[:n, i], targets[i]) for i, n in enumerate(lengths)])
        return losses.detach(), torch.autograd.grad(losses.sum(), logits)[0]


def _unmerged_one(scores, labels):
    blank = scores.shape[1] - 1
    states = [blank]
    for label in labels:
        states += [label, blank]
    is_blank = torch.tensor([s == blank for s in states], device=scores.device)
    emitted = scores[:, states]
    never = torch.full_like(emitted[0], -math.inf) if len(scores) else scores.new_zeros(0)
    if not len(scores):
        return scores.sum()
    alpha = torch.where(torch.arange(len(states), device=scores.device) < 2, emitted[0], never)
    for step in emitted[1:]:
        stay = torch.where(is_blank, alpha, never)
        move = torch.cat([never[:1], alpha[:-1]])
        skip = torch.where(is_blank, never, torch.cat([never[:2], alpha[:-2]])[: len(states)])
        # The lowest number instead of minus infinity: the gradient of a sum of impossibilities is not a number.
        alpha = step + torch.logsumexp(torch.stack([stay, move, skip]).clamp_min(torch.finfo(scores.dtype).min / 2), 0)
    return -torch.logsumexp(alpha[-2:], 0)


@ctc_loss.gradient
def _(node, loss_grad, gradient_grad):
    spread = raw_ops.ExpandDims(raw_ops.ExpandDims(loss_grad, 0), -1)
    return [raw_ops.Mul(spread, node.outputs[1]), None, None, None]


# ---- how far apart sequences are

distance = op(
    "EditDistance(hypothesis_indices: int64[2], hypothesis_values: T[1], hypothesis_shape: host int64[1],"
    " truth_indices: int64[2], truth_values: T[1], truth_shape: host int64[1]; normalize: bool = True) -> (output: float32)",
    T=tuple(t for t in ANY if t not in (resource, variant)), host=True, lenient=True,
)  # fmt: skip
distance.not_differentiable()


@distance.shape
def _(hypothesis_indices, hypothesis_values, hypothesis_shape, truth_indices, truth_values, truth_shape, normalize):
    static_rank(entries(hypothesis_indices, hypothesis_values)[1], hypothesis_shape)
    static_rank(entries(truth_indices, truth_values)[1], truth_shape)
    if hypothesis_shape is None or truth_shape is None:
        return None
    if len(hypothesis_shape) != len(truth_shape):
        raise ValueError(f"Dimensions must be equal, but are {len(hypothesis_shape)} and {len(truth_shape)}: the ranks")
    return _common(hypothesis_shape, truth_shape)


def _common(a, b):
    return [None if x is None or y is None else max(x, y) for x, y in zip(a[:-1], b[:-1], strict=True)]


def _by_row(indices, values):
    items = values if isinstance(values, np.ndarray) else values.tolist()
    rows = {}
    for place, value in zip(indices.tolist(), items, strict=True):
        rows.setdefault(tuple(place[:-1]), []).append(value)
    return rows


def _levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


@distance.kernel
def _(hypothesis_indices, hypothesis_values, hypothesis_shape, truth_indices, truth_values, truth_shape, normalize):
    check_parts(hypothesis_indices, hypothesis_values, hypothesis_shape)
    check_parts(truth_indices, truth_values, truth_shape)
    mine, truth = _by_row(hypothesis_indices, hypothesis_values), _by_row(truth_indices, truth_values)
    result = torch.zeros(_common(hypothesis_shape, truth_shape))
    check_inside(hypothesis_indices[:, :-1], list(result.shape))
    check_inside(truth_indices[:, :-1], list(result.shape))
    for place in {**mine, **truth}:
        a, b = mine.get(place, []), truth.get(place, [])
        edits = _levenshtein(a, b)
        result[place] = edits if not normalize else edits / len(b) if b else math.inf
    return result
