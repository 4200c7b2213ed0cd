"""k-means as ops: distances to the centers, the first centers, and the updates of a step.

Follows TensorFlow's KMeans; mini batches are those of Sculley, "Web-Scale K-Means Clustering" (WWW 2010).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core.dtypes import float32, int32, int64
from headrace.core.source import at
from headrace.graph.convert import constant
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group, identity
from headrace.library.control.host import py_func
from headrace.library.linalg.matrix import matmul
from headrace.library.network.normalization import l2_normalize
from headrace.library.numeric import math, reduction
from headrace.library.numeric.segment import unsorted_segment_sum
from headrace.library.scope import control_dependencies
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable_scope import get_variable
from headrace.library.tensor import array, creation, indexing

SQUARED_EUCLIDEAN, COSINE = "squared_euclidean", "cosine"
RANDOM, PLUS_PLUS = "random", "kmeans_plus_plus"
CENTERS = "clusters"


@dataclass(frozen=True)
class KMeansOptions:
    """How many clusters, and how they are found."""

    num_clusters: int
    initial_clusters: Any
    distance: str
    seed: Any
    use_mini_batch: bool
    steps_per_iteration: int
    retries: int

    @property
    def delays(self) -> bool:
        """Whether points are assigned to the centers of an earlier step."""
        return self.use_mini_batch and self.steps_per_iteration > 1

    @property
    def keeps_unit_length(self) -> bool:
        """Whether the centers have length 1 in the variable; otherwise they are scaled where they are used."""
        return self.distance == COSINE and (not self.use_mini_batch or self.delays)


class KMeansModel:
    """The variables of the clusters and what is computed with a batch of points, rows of a matrix."""

    def __init__(self, points: Tensor, options: KMeansOptions) -> None:
        self._options = options
        width = points.shape.with_rank(2).as_list()[1]
        if width is None:
            raise ValueError(
                f"KMeans: the points must have a known number of columns, got the shape {points.shape} {at()}"
            )
        self.points = l2_normalize(points, 1) if options.distance == COSINE else points
        self.raw_points = points
        shape = [options.num_clusters, width]
        self.centers = self._state(CENTERS, shape, float32)
        self.chosen = self._state("chosen", [], int64)  # how many of the centers have their first value
        self.counts = self._state("counts", [options.num_clusters], float32) if options.use_mini_batch else None
        if options.delays:
            self._next = self._state("clusters_updated", shape, float32)
            self._steps_left = self._state("update_in_steps", [], int32)
        self.distances = self._distances()
        self.index = reduction.argmin(self.distances, 1)
        self.nearest = reduction.reduce_min(self.distances, 1)

    @staticmethod
    def _state(name: str, shape: list[int], dtype: Any) -> Any:
        return get_variable(name, shape, dtype, Zeros(), trainable=False)

    def _distances(self) -> Tensor:
        centers = math.add(self.centers, 0.0)
        if self._options.distance == COSINE:
            if not self._options.keeps_unit_length:
                centers = l2_normalize(centers, 1)
            return math.subtract(1.0, matmul(self.points, centers, transpose_b=True))
        of_points = reduction.reduce_sum(math.square(self.points), 1, keepdims=True)
        of_centers = reduction.reduce_sum(math.square(centers), 1)
        product = matmul(self.points, centers, transpose_b=True)
        return math.maximum(of_points - 2.0 * product + of_centers, 0.0)

    # ---- the first centers

    def initialize(self) -> Operation:
        """Chooses centers, from this batch and if need be from further ones: to be run until `chosen` says that all are there."""
        first = self._first_centers()
        if callable(first):
            first = first(self.raw_points, self._options.num_clusters)
        if first is None:
            inputs = [self.points, self.centers, self.chosen]
            centers, count = py_func(_chooser(self._options), inputs, [float32, int64], stateful=True)
        else:
            centers = math.cast(first, float32)
            centers.shape.assert_is_compatible_with(self.centers.shape)
            count = constant(self._options.num_clusters, int64)
            if self._options.keeps_unit_length:
                centers = l2_normalize(centers, 1)
        centers = array.reshape(centers, self.centers.shape.as_list())
        assigns = [self.centers.assign(centers).op]
        if self._options.delays:
            assigns.append(self._next.assign(centers).op)
            assigns.append(self._steps_left.assign(self._options.steps_per_iteration - 1).op)
        with control_dependencies(assigns):
            return group(self.chosen.assign(array.reshape(count, [])).op)

    def _first_centers(self) -> Any:
        given = self._options.initial_clusters
        return None if isinstance(given, str) else given

    # ---- one step

    def update(self) -> Operation:
        """Moves the centers towards the points of the batch that are nearest to them."""
        number = self._options.num_clusters
        sums = unsorted_segment_sum(self.points, self.index, number)
        counts = unsorted_segment_sum(creation.ones_like(self.nearest), self.index, number)
        if self.counts is None:
            return self._whole(sums, counts)
        target = self._next if self._options.delays else self.centers
        seen = self.counts + counts
        column = array.expand_dims(counts, 1)
        step = (sums - column * target) / array.expand_dims(math.maximum(seen, 1.0), 1)
        with control_dependencies([step, seen]):
            updated = group(target.assign_add(step).op, self.counts.assign_add(counts).op)
        return self._delayed(updated) if self._options.delays else updated

    def _whole(self, sums: Tensor, counts: Tensor) -> Operation:
        column = array.expand_dims(counts, 1)
        means = sums / math.maximum(column, 1.0)
        if self._options.keeps_unit_length:
            means = l2_normalize(means, 1)
        empty = creation.zeros_like(sums) + column < 0.5
        return group(self.centers.assign(indexing.where(empty, math.add(self.centers, 0.0), means)).op)

    def _delayed(self, updated: Operation) -> Operation:
        """After so many steps points are assigned to the centers as they are then."""

        def take_over() -> Tensor:
            centers = math.add(self._next, 0.0)
            if self._options.distance == COSINE:
                centers = l2_normalize(centers, 1)
            with control_dependencies([self.centers.assign(centers).op, self._next.assign(centers).op]):
                counts = self.counts.assign(creation.zeros_like(self.counts)).op  # type: ignore[union-attr]
            with control_dependencies([counts]):
                return identity(self._steps_left.assign(self._options.steps_per_iteration - 1))

        def wait() -> Tensor:
            return identity(self._steps_left.assign_sub(1))

        with control_dependencies([updated]):
            return group(cond(math.less_equal(identity(self._steps_left), 0), take_over, wait).op)


Chooser = Callable[[Any, Any, Any], tuple[Any, Any]]


def _chooser(options: KMeansOptions) -> Chooser:
    """A function of points, centers and how many of these are there -> more centers, and how many are there then."""
    generator = np.random.default_rng(options.seed)

    def choose(points: Any, centers: Any, count: Any) -> tuple[Any, Any]:
        centers, there = np.array(centers), int(count)
        missing = min(options.num_clusters - there, len(points))
        if missing == len(points):
            more = points
        elif options.initial_clusters == RANDOM:
            more = points[generator.choice(len(points), missing, replace=False)]
        else:
            more = _spread(points, centers[:there], missing, 1 + options.retries, generator)
        centers[there : there + missing] = more
        return centers, np.int64(there + missing)

    return choose


def _spread(points: Any, centers: Any, missing: int, tries: int, generator: np.random.Generator) -> Any:
    """k-means++: each further center is drawn with the square of its distance to those there are, the best of some tries."""
    found = [] if len(centers) else [points[generator.integers(len(points))]]
    known = np.concatenate([centers, np.array(found, points.dtype).reshape(-1, points.shape[1])])
    nearest = ((points[:, None] - known[None]) ** 2).sum(-1).min(1)
    while len(found) < missing:
        whole = nearest.sum()
        chances = nearest / whole if whole > 0 else np.full(len(points), 1 / len(points))
        drawn = generator.choice(len(points), tries, p=chances / chances.sum())
        after = [np.minimum(nearest, ((points - points[i]) ** 2).sum(-1)) for i in drawn]
        best = int(np.argmin([distances.sum() for distances in after]))
        found.append(points[drawn[best]])
        nearest = after[best]
    return np.array(found)
