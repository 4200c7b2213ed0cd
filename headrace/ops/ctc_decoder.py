"""Decoders of connectionist temporal classification: CTCGreedyDecoder, CTCBeamSearchDecoder.  They run on the host.

Scores are [steps, batch, classes]; the last class is the blank.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count, groupby

import numpy as np
import torch

from headrace.core import errors
from headrace.core.dtypes import float32, float64
from headrace.core.registry import op


def _checked_lengths(shape, lengths):
    """The lengths of the sequences; those below zero count as zero."""
    steps, batch, _ = shape
    if not steps or any(isinstance(n, list) for n in lengths):
        raise ValueError(
            f"max_time must not be 0 and sequence_length a vector, got inputs of shape {list(shape)} and {lengths}"
        )
    if len(lengths) != batch or (batch and max(lengths) > steps):
        raise errors.FailedPreconditionError(
            None, None, f"sequence_length must hold {batch} numbers up to {steps}, got {lengths}"
        )
    return [max(n, 0) for n in lengths]


def _merged(labels):
    """The labels without those that equal the one before."""
    return [label for label, _ in groupby(labels)]


def _sparse_parts(sequences):
    """Lists as the three parts of a sparse tensor."""
    indices = [(row, i) for row, sequence in enumerate(sequences) for i in range(len(sequence))]
    values = [v for sequence in sequences for v in sequence]
    shape = [len(sequences), max(map(len, sequences), default=0)]
    return _vector(indices).reshape(-1, 2), _vector(values), _vector(shape)


def _vector(numbers):
    return torch.tensor(numbers, dtype=torch.int64)


# ---- the best class of every step

greedy = op(
    "CTCGreedyDecoder(inputs: T[3], sequence_length: int32[1]; merge_repeated: bool = False)"
    " -> (decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T)",
    T=(float32, float64), host=True, dynamic_shape=True,
)  # fmt: skip
greedy.not_differentiable()


@greedy.shape
def _(inputs, sequence_length, merge_repeated):
    dims = inputs.with_rank(3).tuple or (None, None, None)
    batch = sequence_length.with_rank(1).merge_with([dims[1]]).tuple
    if dims[2] == 0:
        raise ValueError(f"num_classes must be at least 1, got inputs of shape {inputs}")
    return [(None, 2), (None,), (2,), (*batch, 1)]


@greedy.kernel
def _(inputs, sequence_length, merge_repeated):
    """-> the parts of a sparse tensor, and minus the sum of the scores taken."""
    steps, batch, classes = inputs.shape
    lengths = _checked_lengths(inputs.shape, sequence_length.tolist())
    best, choice = inputs.max(2)
    within = torch.arange(steps)[:, None] < sequence_length
    rows = [labels[:length] for labels, length in zip(choice.t().tolist(), lengths, strict=True)]
    decoded = [[v for v in (_merged(row) if merge_repeated else row) if v != classes - 1] for row in rows]
    return *_sparse_parts(decoded), -torch.where(within, best, 0).sum(0)[:, None]


# ---- the best labels

beam = op(
    "CTCBeamSearchDecoder(inputs: T[3], sequence_length: int32[1]; beam_width: int, top_paths: int,"
    " merge_repeated: bool = True) -> (decoded_indices: top_paths*int64, decoded_values: top_paths*int64,"
    " decoded_shape: top_paths*int64, log_probability: T)",
    T=(float32, float64), host=True, dynamic_shape=True,
)  # fmt: skip
beam.not_differentiable()


@beam.shape
def _(inputs, sequence_length, beam_width, top_paths, merge_repeated):
    dims = inputs.with_rank(3).tuple or (None, None, None)
    batch = sequence_length.with_rank(1).merge_with([dims[1]]).tuple
    if dims[2] == 0:
        raise ValueError(f"num_classes must be at least 1, got inputs of shape {inputs}")
    if not 1 <= top_paths <= beam_width:
        raise ValueError(f"top_paths ({top_paths}) must be at least 1 and at most beam_width ({beam_width})")
    return [(None, 2)] * top_paths + [(None,)] * top_paths + [(2,)] * top_paths + [(*batch, top_paths)]


@np.errstate(invalid="ignore")  # infinite scores
def _log_softmax(scores):
    shifted = scores - np.maximum.reduce(scores, 2, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), 2, keepdims=True))


def _first(values, count):
    """The places of the ``count`` least numbers of each row, equal ones in order; the first place if there are fewer."""
    order = values.argsort(1, kind="stable")[:, :count]
    return np.pad(order, ((0, 0), (0, count - order.shape[1])))


class _Search:
    """The best prefixes of every sequence.  All sequences advance one step at a time.

    A prefix is a number.  Each sequence has its own empty prefix, numbered below ``batch``.  The others are numbered as they
    appear, by prefix and label.  The longest sequences come first: those that have not ended are always the first ones.
    """

    def __init__(self, batch, labels, width):
        self.width, self.labels = width, labels
        self.numbers = defaultdict(count(batch).__next__)  # by prefix * labels + label
        self.prefix, self.parent, self.last = np.full((3, batch, width), [[[-2]], [[-3]], [[0]]])
        self.prefix[:, 0] = np.arange(batch)
        self.counts = np.ones(batch, np.int64)  # how many prefixes there are
        self.place = np.arange(width)
        self.own = np.arange(batch * width).reshape(batch, width) * (labels + 1)  # where a prefix stands for itself
        self.first_score = np.arange(batch)[:, None] * (labels + 1)
        # The log-probabilities of a prefix that ends in a blank, and in its last label.
        self.in_blank, self.in_label = np.full((2, batch, width), -np.inf)
        self.in_blank[:, 0] = 0

    def step(self, scores):
        """Makes one step of the first sequences, by their scores [sequences, classes].

        The candidates have a row for each prefix.  Column 0 is the prefix itself, column 1 + l is the prefix with label l.
        Candidates and prefixes are numbered through all sequences.
        """
        active, labels, width, wide = len(scores), self.labels, self.width, self.labels + 1
        prefix, last, counts = self.prefix[:active], self.last[:active], self.counts[:active]
        in_blank, in_label = self.in_blank[:active], self.in_label[:active]
        own = self.own[:active]
        total = np.logaddexp(in_blank, in_label)
        again = scores.take(self.first_score[:active] + last)
        own_blank, own_label = total + scores[:, labels:], in_label + again
        as_label = np.empty((active, width, wide))
        np.add(total[:, :, None], scores[:, None, :labels], out=as_label[:, :, 1:])
        as_label[:, :, 0] = own_label
        flat_label, flat_last = as_label.reshape(-1), last.reshape(-1)
        if labels:
            flat_label[own + last + 1] = in_blank + again  # only after a blank
        as_blank = np.full(flat_label.shape, -np.inf)
        as_blank[own] = own_blank
        ranking = flat_label.copy()
        ranking[own] = np.logaddexp(own_blank, own_label)
        # A prefix that another one becomes by one more label has two places: it keeps the first.
        same = (self.parent[:active, :, None] == prefix[:, None, :]).reshape(-1).nonzero()[0]
        gone = 0
        if len(same):
            me = same // width
            longer, mine = (me - me % width + same % width) * wide + flat_last.take(me) + 1, me * wide
            both, blank = np.logaddexp(flat_label.take(longer), own_label.take(me)), own_blank.take(me)
            stay = np.minimum(longer, mine)
            flat_label[stay], as_blank[stay], ranking[stay] = both, blank, np.logaddexp(both, blank)
            ranking[np.maximum(longer, mine)] = np.nan  # last of all
            gone = np.bincount(me // width, minlength=active)
        if few := np.minimum.reduce(counts) < width:
            ranking.reshape(active, width, wide)[self.place >= counts[:, None]] = np.nan
        best = _first(np.negative(ranking).reshape(active, -1), width)
        np.minimum(counts * wide - gone, width, out=counts)
        self._keep(best + own[:, :1], as_blank, flat_label, few)

    def _keep(self, best, as_blank, as_label, few):
        """Makes the candidates at ``best`` the new prefixes."""
        active = len(best)
        before = best // (self.labels + 1)
        label = best - before * (self.labels + 1)
        prefix, parent, last = self.prefix.take(before), self.parent.take(before), self.last.take(before)
        longer = label > 0
        self.parent[:active], self.last[:active] = np.where(longer, prefix, parent), np.where(longer, label - 1, last)
        keys = (prefix * self.labels + label - 1)[longer].tolist()
        prefix[longer] = list(map(self.numbers.__getitem__, keys))
        self.prefix[:active] = prefix
        self.in_blank[:active], self.in_label[:active] = as_blank.take(best), as_label.take(best)
        if few:
            none = self.place >= self.counts[:active, None]
            self.prefix[:active][none], self.parent[:active][none], self.last[:active][none] = -2, -3, 0
            self.in_blank[:active][none] = self.in_label[:active][none] = -np.inf

    def best(self):
        """For each sequence, (log-probability, number) of its prefixes, the best ones first."""
        totals = np.logaddexp(self.in_blank, self.in_label).tolist()
        return [
            sorted(zip(row[:n], numbers[:n], strict=True), key=lambda candidate: -candidate[0])
            for row, numbers, n in zip(totals, self.prefix.tolist(), self.counts.tolist(), strict=True)
        ]


def _labels(number, keys, batch, labels):
    """The labels of a prefix, from the first to the last."""
    path = []
    while number >= batch:
        number, label = divmod(keys[number - batch], labels)
        path.append(label)
    return path[::-1]


@beam.kernel
def _(inputs, sequence_length, beam_width, top_paths, merge_repeated):
    """-> the parts of a sparse tensor for each of the best paths, in three lists, and their log-probabilities."""
    lengths = _checked_lengths(inputs.shape, sequence_length.tolist())
    batch, labels = inputs.shape[1], inputs.shape[2] - 1
    order = sorted(range(batch), key=lambda row: -lengths[row])
    scores = _log_softmax(inputs.numpy().astype(np.float64))
    if order != list(range(batch)):
        scores = scores[:, order]
    search, active = _Search(batch, labels, beam_width), batch
    for time in range(max(lengths, default=0)):
        while lengths[order[active - 1]] <= time:
            active -= 1
        search.step(np.ascontiguousarray(scores[time, :active]))
    keys = list(search.numbers)
    paths = [[[] for _ in order] for _ in range(top_paths)]
    total = inputs.new_zeros(batch, top_paths)
    for row, best in sorted(zip(order, search.best(), strict=True)):
        if len(best) < top_paths:
            raise ValueError(f"Less leaves in the beam search than requested: {len(best)} of {top_paths}")
        for i, (score, number) in enumerate(best[:top_paths]):
            decoded = _labels(number, keys, batch, labels)
            paths[i][row] = _merged(decoded) if merge_repeated else decoded
            total[row, i] = score
    parts = [_sparse_parts(path) for path in paths]
    return *([p[i] for p in parts] for i in range(3)), total
