"""Candidate samplers: classes drawn from a distribution, and how often each was to be expected.

They run on the host.  Each node owns a generator (and, where it learns, its counts) for the life of a session.
"""

from __future__ import annotations

import math
import threading

import numpy as np
import torch

from headrace.core import errors
from headrace.core.registry import op
from headrace.ops._sparse import host_order

_LOWEST = -3.4028234663852886e38  # what an accidental hit adds to a logit: the lowest float32


_TABLE = 1 << 20  # classes
_EXACT = 1 << 53  # up to here a float64 holds every integer


class Sampler:
    """A distribution over [0, range_max) with its own stream of random numbers.  Thread-safe."""

    def __init__(self, attrs) -> None:
        seeds = (attrs["seed"], attrs["seed2"])
        self.random = np.random.default_rng(seeds if any(seeds) else None)
        self.lock = threading.Lock()
        self.range: int = attrs["range_max"]
        self._places: np.ndarray | None = None  # by class, for those whose draws are to be distinct
        self._numbers = np.arange(0)
        self._enough = 0  # draws that sufficed lately
        self.prepare(attrs)

    def prepare(self, attrs) -> None:
        """Whatever the distribution needs."""

    def draw(self, count):
        """``count`` classes, with repetition."""
        raise NotImplementedError

    def probability(self, classes):
        raise NotImplementedError

    def learn(self, classes) -> None:
        """Called with the true classes after each batch."""

    def sample(self, true_classes, count, unique):
        """-> the classes drawn and, for true and drawn ones, how often ``count`` such draws hit them on average."""
        with self.lock:
            drawn, tries = self._distinct(count) if unique else (self.draw(count), count)
            expected = self.expected(true_classes, drawn, count, tries)
            self.learn(true_classes.reshape(-1))
        return drawn, *expected

    def expected(self, true_classes, drawn, count, tries):
        both = np.concatenate([true_classes.reshape(-1), drawn])
        # When no draw repeated, count * p is what the classes can expect; otherwise the chance of at least one hit.
        if tries == count:
            both = self.probability(both)
            both *= count
        else:
            both = self.misses(both)
            both *= tries
            np.expm1(both, out=both)
            np.negative(both, out=both)
        both = both.astype(np.float32)
        return both[: true_classes.size].reshape(true_classes.shape), both[true_classes.size :].copy()

    def misses(self, classes):
        """The logarithm of the chance that one draw is another class."""
        return np.log1p(-self.probability(classes))

    def _distinct(self, count):
        """Draws until ``count`` different classes have come up; also says how many draws that took."""
        drawn = self.draw(max(count + count // 2 + 16, self._enough))
        while True:
            first = self._first(drawn)
            if len(first) >= count:
                tries = int(first[count - 1]) + 1 if count else 0
                self._enough = tries + tries // 8
                return drawn[first[:count]], tries
            drawn = np.concatenate([drawn, self.draw(count + count // 2 + 16)])

    def _first(self, drawn):
        """Where each class came up first, in order."""
        if self.range > _TABLE:
            return np.sort(np.unique(drawn, return_index=True)[1])
        if self._places is None:
            self._places = np.empty(self.range, np.int64)
        if len(self._numbers) < len(drawn):
            self._numbers = np.arange(2 * len(drawn))
        number = self._numbers[: len(drawn)]
        self._places[drawn[::-1]] = number[::-1]  # the last one written is the first of its class
        return (self._places.take(drawn) == number).nonzero()[0]


def _inside(classes, size):
    """Whether all are in [0, size): negative ones are too large without their sign."""
    return not classes.size or np.maximum.reduce(classes.view(np.uint64), None) < size


class LogUniform(Sampler):
    """Zipf-like: the chance of a class is log(1 + 1/(class + 1)) over log(range_max + 1)."""

    _misses: np.ndarray | None = None  # by class

    def prepare(self, attrs) -> None:
        self.log_range = np.log1p(self.range)

    def misses(self, classes):
        if self.range > _TABLE or not _inside(classes, self.range):
            return super().misses(classes)
        if self._misses is None:
            self._misses = super().misses(np.arange(self.range))
        return self._misses.take(classes)

    def draw(self, count):
        return (np.exp(self.random.random(count) * self.log_range).astype(np.int64) - 1) % self.range

    def probability(self, classes):
        found = np.log((classes + 2.0) / (classes + 1.0))
        found /= self.log_range
        return found


class Uniform(Sampler):
    def draw(self, count):
        if self.range > _EXACT:
            return self.random.integers(0, self.range, count)
        return (self.random.random(count) * self.range).astype(np.int64)

    def expected(self, true_classes, drawn, count, tries):
        p = 1.0 / self.range
        hits = p * count if tries == count else -math.expm1(tries * math.log1p(-p)) if p < 1 else 1.0
        both = np.empty(true_classes.size + len(drawn), np.float32)
        both.fill(hits)
        return both[: true_classes.size].reshape(true_classes.shape), both[true_classes.size :].copy()


class Weighted(Sampler):
    """Classes by weight; those beyond the weights never come up."""

    weights: np.ndarray
    total: float
    _bounds: np.ndarray | None = None  # what the weights add up to, until they change

    def draw(self, count):
        if self._bounds is None:
            self._bounds = self.weights.cumsum()
        bounds = self._bounds
        return bounds.searchsorted(self.random.random(count) * bounds[-1], side="right")

    def probability(self, classes):
        total = self.total
        if _inside(classes, len(self.weights)):
            return self.weights.take(classes) / total
        known = (classes >= 0) & (classes < len(self.weights))
        return np.where(known, self.weights[np.where(known, classes, 0)], 0.0) / total


class LearnedUnigram(Weighted):
    """Every class starts with weight 1 and gains 1 whenever it is a true class."""

    def prepare(self, attrs) -> None:
        self.weights, self.total = np.ones(attrs["range_max"]), float(attrs["range_max"])

    def learn(self, classes) -> None:
        if not _inside(classes, len(self.weights)):
            classes = classes[(classes >= 0) & (classes < len(self.weights))]
        np.add.at(self.weights, classes, 1.0)
        self.total += len(classes)
        self._bounds = None


class FixedUnigram(Weighted):
    """Given weights to the power ``distortion``, after reserved ids of weight zero; of several shards, one's share."""

    def prepare(self, attrs) -> None:
        given = _vocabulary(attrs["vocab_file"]) if attrs["vocab_file"] else list(attrs["unigrams"])
        weights = np.concatenate([np.zeros(attrs["num_reserved_ids"]), np.asarray(given, float) ** attrs["distortion"]])
        self.weights = weights[attrs["shard"] :: attrs["num_shards"]]
        self.total = self.weights.sum()
        if len(self.weights) != attrs["range_max"]:
            found = f"range_max is {attrs['range_max']}, but there are weights for {len(self.weights)} classes"
            raise errors.InvalidArgumentError(None, None, found)


def _vocabulary(path):
    """The last column of each line of comma-separated values."""
    with open(path, encoding="utf-8") as file:
        return [float(line.rsplit(",", 1)[-1]) for line in file if line.strip()]


_INPUTS = "true_classes: int64; num_true: int, num_sampled: int, unique: bool"
_OUTPUTS = "(sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32)"
_SEEDS = "seed: int = 0, seed2: int = 0"


def _shape(true_classes, num_true, num_sampled, unique, *rest):
    if num_true < 1 or num_sampled < 1:
        raise ValueError(f"num_true and num_sampled must be at least 1, got {num_true} and {num_sampled}")
    rows = true_classes.merge_with([None, num_true])[0]
    return [(num_sampled,), (rows, num_true), (num_sampled,)]


def _check(true_classes, num_true):
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise ValueError(f"true_classes must have num_true ({num_true}) columns, got shape {list(true_classes.shape)}")


def _declare(name, kind, options=""):
    definition = op(
        f"{name}({_INPUTS}, range_max: int{options}, {_SEEDS}) -> {_OUTPUTS}", stateful=True, random=True, host=True
    )
    definition.not_differentiable()
    definition.state(lambda context: kind(context.attrs))

    @definition.shape
    def _(true_classes, num_true, num_sampled, unique, range_max, *rest):
        if range_max < 1:
            raise ValueError(f"range_max must be at least 1, got {range_max}")
        if unique and num_sampled > range_max:
            raise ValueError(f"Sampler's range is too small: {num_sampled} distinct classes out of {range_max}")
        return _shape(true_classes, num_true, num_sampled, unique)

    @definition.kernel
    def _(true_classes, num_true, num_sampled, unique, *rest, state):
        _check(true_classes, num_true)
        return tuple(map(torch.from_numpy, state.sample(true_classes.numpy(), num_sampled, unique)))


_declare("LogUniformCandidateSampler", LogUniform)
_declare("UniformCandidateSampler", Uniform)
_declare("LearnedUnigramCandidateSampler", LearnedUnigram)
_declare("ThreadUnsafeUnigramCandidateSampler", LearnedUnigram)
_declare(
    "FixedUnigramCandidateSampler", FixedUnigram,
    ', vocab_file: string = "", distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1,'
    " shard: int = 0, unigrams: list(float) = []",
)  # fmt: skip

every = op(f"AllCandidateSampler({_INPUTS}, {_SEEDS}) -> {_OUTPUTS}", stateful=True, random=True, host=True)
every.not_differentiable()
every.shape(_shape)


@every.kernel
def _(true_classes, num_true, num_sampled, unique, seed, seed2):
    """Every class below ``num_sampled`` once."""
    _check(true_classes, num_true)
    return torch.arange(num_sampled), torch.ones(tuple(true_classes.shape)), torch.ones(num_sampled)


hits = op(
    f"ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64; num_true: int, {_SEEDS})"
    " -> (indices: int32, ids: int64, weights: float32)",
    dynamic_shape=True,
)  # fmt: skip
hits.not_differentiable()


@hits.shape
def _(true_classes, sampled_candidates, num_true, seed, seed2):
    true_classes.merge_with([None, num_true])
    sampled_candidates.with_rank(1)
    return [(None,)] * 3


@hits.kernel
def _(true_classes, sampled_candidates, num_true, seed, seed2):
    """(row, position, lowest float) for every true class that was drawn too; of equal candidates the last counts."""
    _check(true_classes, num_true)
    if true_classes.is_cpu:
        return tuple(map(torch.from_numpy, _hits_on_host(true_classes.numpy(), sampled_candidates.numpy())))
    ordered, order = sampled_candidates.sort(stable=True)
    if not ordered.shape[0]:
        row = true_classes.new_zeros(0)
        return row.int(), row, row.float()
    place = torch.searchsorted(ordered, true_classes.contiguous(), right=True) - 1
    found = (place >= 0) & (ordered[place.clamp(min=0)] == true_classes)
    row = found.nonzero()[:, 0]
    position = order[place[found]]
    return row.int(), position, torch.full(row.shape, _LOWEST, device=row.device)


def _hits_on_host(true_classes, candidates):
    if not len(candidates):
        return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.float32)
    order = host_order(candidates)
    ordered = candidates.take(order)
    place = ordered.searchsorted(true_classes, side="right")
    place -= 1
    found = (
        ordered.take(place, mode="wrap") == true_classes
    )  # one below all others meets the greatest there, and differs
    row, position = found.nonzero()[0].astype(np.int32), order.take(place[found])
    weights = np.empty(len(row), np.float32)
    weights.fill(_LOWEST)
    return row, position, weights
