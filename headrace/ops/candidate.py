"""Candidate samplers: classes drawn from a distribution, and the expected count of each.

They run on the host.  Each node owns a generator (and, where it learns, its counts) for the life of a session.
"""

from __future__ import annotations

import threading

import numpy as np
import torch

from headrace.core import errors
from headrace.core.file import open_to_read
from headrace.core.registry import op
from headrace.resources.state.node_state import Resumable, numpy_state, resume_numpy

_LOWEST = -3.4028234663852886e38  # what an accidental hit adds to a logit: the lowest float32


class Sampler(Resumable):
    """A distribution over [0, range_max) with its own stream of random numbers.  Thread-safe."""

    def __init__(self, attrs) -> None:
        seeds = [attrs[name] % 2**64 for name in ("seed", "seed2")]  # numpy takes no negative ones
        self.random = np.random.default_rng(seeds if any(seeds) else None)
        self.lock = threading.Lock()
        self.range: int = attrs["range_max"]
        self.prepare(attrs)

    def prepare(self, attrs) -> None:
        """Whatever the distribution needs."""

    def draw(self, count):
        """``count`` classes, with repetition."""
        raise NotImplementedError

    def probability(self, classes):
        raise NotImplementedError

    def possible(self) -> int:
        """How many classes are ever drawn."""
        return self.range

    def learn(self, classes) -> None:
        """Called with the true classes after each batch."""

    def saved(self) -> bytes:
        with self.lock:
            return numpy_state(self.random)

    def resume(self, data: bytes) -> None:
        with self.lock:
            resume_numpy(self.random, data)

    def sample(self, true_classes, count, unique):
        """-> the classes drawn and the average number of hits in ``count`` draws, for the true classes and for the drawn ones."""
        with self.lock:
            drawn, tries = self._distinct(count) if unique else (self.draw(count), count)
            expected = self.expected(true_classes, drawn, count, tries)
            self.learn(true_classes.reshape(-1))
        return drawn, *expected

    def expected(self, true_classes, drawn, count, tries):
        both = np.concatenate([true_classes.reshape(-1), drawn])
        p = self.probability(both)
        # If no draw repeated, a class expects count * p hits; otherwise the number is the chance of at least one hit.
        both = (p * count if tries == count else -np.expm1(tries * np.log1p(-p))).astype(np.float32)
        return both[: true_classes.size].reshape(true_classes.shape), both[true_classes.size :].copy()

    def _distinct(self, count):
        """Draws until ``count`` different classes have come up; also says how many draws that took."""
        if self.possible() < count:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Sampler's range is too small: {count} distinct classes out of {self.possible()} with a weight",
            )
        drawn: list[int] = []
        distinct: dict[int, None] = {}  # in the order in which they were drawn first
        while len(distinct) < count:
            more = self.draw(count + count // 2 + 16).tolist()
            distinct |= dict.fromkeys(more)
            drawn += more
        classes = list(distinct)[:count]
        return np.array(classes, np.int64), drawn.index(classes[-1]) + 1


class LogUniform(Sampler):
    """Zipf-like: the chance of a class is log(1 + 1/(class + 1)) over log(range_max + 1)."""

    def prepare(self, attrs) -> None:
        self.log_range = np.log1p(self.range)

    def draw(self, count):
        return (np.exp(self.random.random(count) * self.log_range).astype(np.int64) - 1) % self.range

    def probability(self, classes):
        return np.log((classes + 2.0) / (classes + 1.0)) / self.log_range


class Uniform(Sampler):
    def draw(self, count):
        return self.random.integers(0, self.range, count)

    def probability(self, classes):
        return np.full(len(classes), 1.0 / self.range)


class Weighted(Sampler):
    """Draws classes by weight; classes beyond the weights are never drawn."""

    weights: np.ndarray
    total: float
    _bounds: np.ndarray | None = None  # the running sums of the weights, until they change

    def draw(self, count):
        if self._bounds is None:
            self._bounds = self.weights.cumsum()
        bounds = self._bounds
        return bounds.searchsorted(self.random.random(count) * bounds[-1], side="right")

    def possible(self) -> int:
        return int(np.count_nonzero(self.weights > 0))

    def probability(self, classes):
        has_weight = (classes >= 0) & (classes < len(self.weights))
        return np.where(has_weight, self.weights[np.where(has_weight, classes, 0)], 0.0) / self.total


class LearnedUnigram(Weighted):
    """Every class starts with weight 1 and gains 1 whenever it is a true class."""

    def prepare(self, attrs) -> None:
        self.weights, self.total = np.ones(attrs["range_max"]), float(attrs["range_max"])

    def learn(self, classes) -> None:
        classes = classes[(classes >= 0) & (classes < len(self.weights))]
        np.add.at(self.weights, classes, 1.0)
        self.total += len(classes)
        self._bounds = None

    def saved(self) -> bytes:
        """The weights, all numbers of 8 bytes, and behind them the generator."""
        with self.lock:
            return self.weights.tobytes() + numpy_state(self.random)

    def resume(self, data: bytes) -> None:
        size = self.weights.nbytes
        with self.lock:
            resume_numpy(self.random, data[size:])
            self.weights = np.frombuffer(data[:size], self.weights.dtype).copy()
            self.total, self._bounds = float(self.weights.sum()), None


class FixedUnigram(Weighted):
    """The user's weights to the power ``distortion``, after reserved ids of weight zero; one shard's share of them."""

    def prepare(self, attrs) -> None:
        unigrams = _vocabulary(attrs["vocab_file"]) if attrs["vocab_file"] else list(attrs["unigrams"])
        if attrs["num_reserved_ids"] < 0:
            message = f"num_reserved_ids must not be negative, got {attrs['num_reserved_ids']}"
            raise errors.InvalidArgumentError(None, None, message)
        weights = np.concatenate(
            [np.zeros(attrs["num_reserved_ids"]), np.asarray(unigrams, float) ** attrs["distortion"]]
        )
        shard, num_shards = attrs["shard"], attrs["num_shards"]
        if not 0 <= shard < num_shards or not bool(np.all(weights >= 0)):
            message = f"weights must not be negative and shard must be in [0, num_shards), got {shard} of {num_shards}"
            raise errors.InvalidArgumentError(None, None, message)
        self.weights = weights[shard::num_shards]
        self.total = self.weights.sum()
        if len(self.weights) != attrs["range_max"]:
            message = f"range_max is {attrs['range_max']}, but there are weights for {len(self.weights)} classes"
            raise errors.InvalidArgumentError(None, None, message)


def _vocabulary(path):
    """The last column of each line of comma-separated values."""
    with open_to_read(path) as file:
        return [float(line.rsplit(b",", 1)[-1]) for line in file if line.strip()]


_INPUTS = "true_classes: int64[2]; num_true: int, num_sampled: int, unique: bool"
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


def _declare(name, sampler_class, options=""):
    definition = op(
        f"{name}({_INPUTS}, range_max: int{options}, {_SEEDS}) -> {_OUTPUTS}", stateful=True, random=True, host=True
    )
    definition.not_differentiable()
    definition.state(lambda context: sampler_class(context.attrs))

    @definition.shape
    def _(true_classes, num_true, num_sampled, unique, range_max, *rest):
        if range_max < 1:
            raise ValueError(f"range_max must be at least 1, got {range_max}")
        if unique and num_sampled > range_max:
            raise ValueError(f"Sampler's range is too small: {num_sampled} distinct classes out of {range_max}")
        return _shape(true_classes, num_true, num_sampled, unique)

    @definition.array_kernel
    def sample(true_classes, num_true, num_sampled, unique, *rest, state):
        _check(true_classes, num_true)
        return state.sample(true_classes, num_sampled, unique)

    @definition.kernel
    def _(true_classes, *attrs, state):
        return tuple(map(torch.from_numpy, sample(true_classes.numpy(), *attrs, state=state)))


_declare("LogUniformCandidateSampler", LogUniform)
_declare("UniformCandidateSampler", Uniform)
_declare("LearnedUnigramCandidateSampler", LearnedUnigram)
_declare("ThreadUnsafeUnigramCandidateSampler", LearnedUnigram)
_declare(
    "FixedUnigramCandidateSampler", FixedUnigram,
    ', vocab_file: string = "", distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int >= 1 = 1,'
    " shard: int >= 0 = 0, unigrams: list(float) = []",
)  # fmt: skip

every = op(f"AllCandidateSampler({_INPUTS}, {_SEEDS}) -> {_OUTPUTS}", stateful=True, random=True, host=True)
every.not_differentiable()
every.shape(_shape)


@every.kernel
def _(true_classes, num_true, num_sampled, unique, seed, seed2):
    """Takes every class below ``num_sampled`` once."""
    _check(true_classes, num_true)
    return torch.arange(num_sampled), torch.ones(tuple(true_classes.shape)), torch.ones(num_sampled)


hits = op(
    f"ComputeAccidentalHits(true_classes: int64[2], sampled_candidates: int64[1]; num_true: int, {_SEEDS})"
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
    ordered, order = sampled_candidates.sort(stable=True)
    if not ordered.shape[0]:
        row = true_classes.new_zeros(0)
        return row.int(), row, row.float()
    place = torch.searchsorted(ordered, true_classes.contiguous(), right=True) - 1
    drawn = (place >= 0) & (ordered[place.clamp(min=0)] == true_classes)
    row = drawn.nonzero()[:, 0]
    position = order[place[drawn]]
    return row.int(), position, torch.full(row.shape, _LOWEST, device=row.device)
