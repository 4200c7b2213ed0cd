"""Decoders of connectionist temporal classification on numpy arrays [steps, batch, classes]; the last class is the blank."""

from __future__ import annotations

from collections import defaultdict
from itertools import count

import numpy as np

from headrace.core import errors
from headrace.ops._string import int64s

_FEW = 256  # choices that are rather looked at one by one
_SORTED = 512  # candidates that are rather all sorted


def check_lengths(shape, lengths):
    steps, batch, _ = shape
    if len(lengths) != batch or (batch and (min(lengths) < 0 or max(lengths) > steps)):
        raise errors.FailedPreconditionError(
            None, None, f"sequence_length must hold {batch} numbers up to {steps}, got {lengths}"
        )


def merged(labels):
    """Without those that equal the one before."""
    return [label for i, label in enumerate(labels) if not i or label != labels[i - 1]]


def sparse_parts(sequences):
    """Lists as the three parts of a sparse tensor."""
    indices = [v for row, sequence in enumerate(sequences) for i in range(len(sequence)) for v in (row, i)]
    values = [v for sequence in sequences for v in sequence]
    shape = [len(sequences), max(map(len, sequences), default=0)]
    return int64s(indices).reshape(-1, 2), int64s(values), int64s(shape)


# ---- the best class of every step


def greedy(scores, sequence_length, merge_repeated):
    """-> the parts of a sparse tensor, and minus the sum of the scores taken."""
    lengths = sequence_length.tolist()
    check_lengths(scores.shape, lengths)
    steps, batch, classes = scores.shape
    choice, full = scores.argmax(2), lengths.count(steps) == batch
    best = scores.reshape(-1).take(choice + np.arange(0, choice.size * classes, classes).reshape(steps, batch))
    within = None if full else np.arange(steps)[:, None] < lengths
    total = np.negative(np.add.reduce(best if full else np.where(within, best, 0), 0, scores.dtype))[:, None]
    if choice.size <= _FEW:
        rows = [labels[:length] for labels, length in zip(choice.T.tolist(), lengths, strict=True)]
        blank = classes - 1
        found = [[v for v in (merged(row) if merge_repeated else row) if v != blank] for row in rows]
        return *sparse_parts(found), total
    choice = np.ascontiguousarray(choice.T)
    kept = choice != classes - 1
    if merge_repeated:
        kept[:, 1:] &= choice[:, 1:] != choice[:, :-1]
    if not full:
        kept &= within.T
    upto = np.add.accumulate(kept, 1, np.int64)
    values = choice[kept]
    indices = np.empty((len(values), 2), np.int64)
    indices[:, 0] = kept.nonzero()[0]
    indices[:, 1] = upto[kept] - 1
    return indices, values, np.array([batch, np.maximum.reduce(upto, None, initial=0)], np.int64), total


# ---- the best labels


@np.errstate(invalid="ignore")  # infinite scores
def _log_softmax(scores):
    shifted = scores - np.maximum.reduce(scores, 2, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), 2, keepdims=True))


def _first(values, count):
    """Where the ``count`` least numbers of each row stand, equal ones in order; the first place if there are not as many."""
    rows, width = values.shape
    if values.size <= _SORTED or width <= count:
        found = values.argsort(1, kind="stable")[:, :count]
        return found if width >= count else np.concatenate([found, np.zeros((rows, count - width), np.int64)], 1)
    some = np.sort(values.argpartition(count - 1, 1)[:, :count], 1)
    start = np.arange(rows)[:, None]
    mine = values.take(some + start * width)
    greatest = np.maximum.reduce(mine, 1, keepdims=True)
    if np.count_nonzero(values <= greatest) != rows * count:  # equal ones: which of them?  Or too few numbers
        return values.argsort(1, kind="stable")[:, :count]
    return some.take(mine.argsort(1, kind="stable") + start * count)


class _Search:
    """The best prefixes of every sequence, all sequences a step at a time.

    A prefix is a number: those below ``batch`` are the empty ones, each sequence's own; the others are numbered as they come up,
    by prefix and label.  Sequences stand in order of falling length, so that those not yet at their end are the first ones.
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
        """One step of the first sequences, by their scores [sequences, classes].

        Of the candidates, a row for each prefix, the first column is the prefix itself and column 1 + l it and label l.  They
        and the prefixes are counted through all sequences.
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
        # Those that another becomes by one more label stand at the first of the two places.
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
        """The candidates at ``best`` are the prefixes from now on."""
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
            sorted(zip(row[:n], numbers[:n], strict=True), key=lambda found: -found[0])
            for row, numbers, n in zip(totals, self.prefix.tolist(), self.counts.tolist(), strict=True)
        ]


def _labels(number, keys, batch, labels):
    """Those of a prefix, first to last."""
    found = []
    while number >= batch:
        number, label = divmod(keys[number - batch], labels)
        found.append(label)
    return found[::-1]


def beam(inputs, sequence_length, beam_width, top_paths, merge_repeated):
    """-> the parts of a sparse tensor for each of the best paths, in three lists, and their log-probabilities."""
    lengths = sequence_length.tolist()
    check_lengths(inputs.shape, lengths)
    batch, labels = inputs.shape[1], inputs.shape[2] - 1
    order = sorted(range(batch), key=lambda row: -lengths[row])
    scores = _log_softmax(inputs.astype(np.float64))
    if order != list(range(batch)):
        scores = scores[:, order]
    search, active = _Search(batch, labels, beam_width), batch
    for time in range(max(lengths, default=0)):
        while lengths[order[active - 1]] <= time:
            active -= 1
        search.step(np.ascontiguousarray(scores[time, :active]))
    keys = list(search.numbers)
    paths = [[[] for _ in order] for _ in range(top_paths)]
    total = np.zeros((batch, top_paths), inputs.dtype)
    for row, best in sorted(zip(order, search.best(), strict=True)):
        if len(best) < top_paths:
            raise ValueError(f"Less leaves in the beam search than requested: {len(best)} of {top_paths}")
        for i, (score, number) in enumerate(best[:top_paths]):
            found = _labels(number, keys, batch, labels)
            paths[i][row] = merged(found) if merge_repeated else found
            total[row, i] = score
    parts = [sparse_parts(path) for path in paths]
    return *([p[i] for p in parts] for i in range(3)), total
