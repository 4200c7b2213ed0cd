"""``tf.estimator.experimental.KMeans``: clusters of points, found by full or mini batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.core.dtypes import float32
from headrace.core.errors import InvalidArgumentError, OutOfRangeError
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.estimator.estimator import Estimator
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.export_output import PredictOutput
from headrace.library.estimator.k_means_model import (
    CENTERS,
    COSINE,
    PLUS_PLUS,
    RANDOM,
    SQUARED_EUCLIDEAN,
    KMeansModel,
    KMeansOptions,
)
from headrace.library.feature_column.layer import input_layer
from headrace.library.metrics import mean
from headrace.library.numeric import math, reduction
from headrace.library.scope import control_dependencies
from headrace.library.state.assign import assign_add
from headrace.library.state.global_step import get_global_step
from headrace.library.summary import summary
from headrace.library.tensor import array
from headrace.library.train.session.run_hook import SessionRunArgs, SessionRunHook

_INDEX, _DISTANCES, _SCORE = "cluster_index", "all_distances", "score"


class _Begin(SessionRunHook):
    """Chooses the first centers, before the first step of the chief; other workers wait for them."""

    def __init__(self, model: KMeansModel, number: int, is_chief: bool) -> None:
        self._initialize, self._chosen = model.initialize(), model.chosen
        self._number, self._is_chief = number, is_chief

    def after_create_session(self, session: Any, coord: Any) -> None:
        if not self._is_chief:
            return
        while (count := session.run(self._chosen)) < self._number:
            try:
                session.run(self._initialize)
            except OutOfRangeError:
                raise InvalidArgumentError(
                    None, None, f"KMeans: the input ends after {count} points, and {self._number} clusters need as many"
                ) from None


class _StopWhenStill(SessionRunHook):
    """Stops when the loss changes by less than a part of it."""

    def __init__(self, loss: Tensor, tolerance: float) -> None:
        self._loss, self._tolerance = loss, tolerance
        self._before: float | None = None

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        loss = float(run_values.results)
        if self._before is not None and abs(loss - self._before) / (1 + abs(self._before)) < self._tolerance:
            run_context.request_stop()
        self._before = loss


class KMeans(Estimator):
    """Finds clusters: ``train`` moves their centers, ``predict`` and its kin say which center is nearest to a point.

    A batch of the input function is the points as rows of a matrix, or a dict of such matrices side by side.  With
    ``use_mini_batch=False`` each batch is the whole data.

    Args:
      num_clusters: How many clusters.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      initial_clusters: "random" points, "kmeans_plus_plus", an array of centers, or a function of points and `num_clusters`.
      distance_metric: "squared_euclidean" or "cosine".
      seed: A number for the choice of the first centers; None for another choice each time.
      use_mini_batch: False if each batch is the whole data.
      mini_batch_steps_per_iteration: After how many steps points are assigned to the centers as they are then.
      kmeans_plus_plus_num_retries: How many further points each choice of k-means++ tries.
      relative_tolerance: Training stops when the loss changes by less than this part; None to go on. Not with mini batches.
      config: A `tf.estimator.RunConfig`; None for the default one.
      feature_columns: Columns that make the points of the features; None to take them as they are.

    >>> points = np.array([[0, 0], [0, 2], [10, 10], [10, 12]], np.float32)
    >>> def input_fn():
    ...     return tf.data.Dataset.from_tensors(points).repeat(5)
    >>> first = points[[0, 2]]
    >>> kmeans = tf.estimator.experimental.KMeans(2, initial_clusters=first, use_mini_batch=False)
    >>> _ = kmeans.train(input_fn, steps=3)
    >>> kmeans.cluster_centers().tolist()
    [[0.0, 1.0], [10.0, 11.0]]
    >>> tf.summary.FileWriterCache.clear()
    """

    SQUARED_EUCLIDEAN_DISTANCE = SQUARED_EUCLIDEAN
    COSINE_DISTANCE = COSINE
    RANDOM_INIT = RANDOM
    KMEANS_PLUS_PLUS_INIT = PLUS_PLUS
    SCORE = _SCORE
    CLUSTER_INDEX = _INDEX
    ALL_DISTANCES = _DISTANCES
    CLUSTER_CENTERS_VAR_NAME = CENTERS

    def __init__(
        self, num_clusters: int, model_dir: Any = None, initial_clusters: Any = RANDOM,
        distance_metric: str = SQUARED_EUCLIDEAN, seed: int | None = None, use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1, kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None, config: Any = None, feature_columns: Any = None,
    ) -> None:  # fmt: skip
        _check("num_clusters", num_clusters, 1)
        _check("mini_batch_steps_per_iteration", mini_batch_steps_per_iteration, 1)
        _check("kmeans_plus_plus_num_retries", kmeans_plus_plus_num_retries, 0)
        _check_choice("distance_metric", distance_metric, (SQUARED_EUCLIDEAN, COSINE))
        if isinstance(initial_clusters, str):
            _check_choice("initial_clusters", initial_clusters, (RANDOM, PLUS_PLUS), ", an array or a function")
        if relative_tolerance is not None and use_mini_batch:
            raise ValueError(
                f"KMeans: relative_tolerance={relative_tolerance!r} is for use_mini_batch=False: the losses of mini batches are "
                f"of different points {at()}"
            )
        options = KMeansOptions(
            num_clusters, initial_clusters, distance_metric, seed, bool(use_mini_batch), mini_batch_steps_per_iteration,
            kmeans_plus_plus_num_retries,
        )  # fmt: skip

        def model_fn(features: Any, mode: str, config: Any) -> EstimatorSpec:
            return _specification(features, mode, config, options, relative_tolerance, feature_columns)

        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)

    def _predict_one(self, input_fn: Any, key: str) -> Iterator[Any]:
        for result in self.predict(input_fn, predict_keys=[key]):
            yield result[key]

    def predict_cluster_index(self, input_fn: Any) -> Iterator[Any]:
        """For each point the number of the center that is nearest to it."""
        return self._predict_one(input_fn, _INDEX)

    def score(self, input_fn: Any) -> Any:
        """The sum of the distances of the points of one batch to their centers."""
        return self.evaluate(input_fn, steps=1)[_SCORE]

    def transform(self, input_fn: Any) -> Iterator[Any]:
        """For each point its distances to all centers."""
        return self._predict_one(input_fn, _DISTANCES)

    def cluster_centers(self) -> Any:
        """The centers in the newest checkpoint, as rows of a matrix."""
        return self.get_variable_value(CENTERS)


class KMeansClustering(KMeans):
    """`tf.estimator.experimental.KMeans` under its first name, with ``random_seed`` for ``seed``.

    Args:
      num_clusters: As there, like all others.
      model_dir: As there.
      initial_clusters: As there.
      distance_metric: As there.
      random_seed: A number for the choice of the first centers.
      use_mini_batch: As there.
      mini_batch_steps_per_iteration: As there.
      kmeans_plus_plus_num_retries: As there.
      relative_tolerance: As there.
      config: As there.
      feature_columns: As there.

    Example: ``tf.contrib.factorization.KMeansClustering(num_clusters=5)``
    """

    def __init__(
        self, num_clusters: int, model_dir: Any = None, initial_clusters: Any = RANDOM,
        distance_metric: str = SQUARED_EUCLIDEAN, random_seed: int | None = 0, use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1, kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None, config: Any = None, feature_columns: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_clusters, model_dir, initial_clusters, distance_metric, random_seed, use_mini_batch,
            mini_batch_steps_per_iteration, kmeans_plus_plus_num_retries, relative_tolerance, config, feature_columns,
        )  # fmt: skip


def _specification(
    features: Any, mode: str, config: Any, options: KMeansOptions, tolerance: float | None, feature_columns: Any
) -> EstimatorSpec:
    model = KMeansModel(_points(features, feature_columns), options)
    loss = reduction.reduce_sum(model.nearest)
    summary.scalar("loss/raw", loss)
    predictions = {_DISTANCES: model.distances, _INDEX: model.index}
    train_op: Operation | None = None
    hooks: list[SessionRunHook] = []
    if mode == "train":
        with control_dependencies([model.update()]):
            train_op = assign_add(get_global_step(), 1).op
        hooks.append(_Begin(model, options.num_clusters, config.is_chief))
        if tolerance is not None:
            hooks.append(_StopWhenStill(loss, tolerance))
    return EstimatorSpec(
        mode, predictions, loss, train_op, {_SCORE: mean.mean(loss)},
        export_outputs={name: PredictOutput({name: value}) for name, value in predictions.items()}
        | {"serving_default": PredictOutput(predictions)},
        training_hooks=hooks,
    )  # fmt: skip


def _points(features: Any, columns: Any) -> Tensor:
    if not isinstance(features, Mapping):
        points = convert_to_tensor(features)
    elif columns:
        points = input_layer(features, columns)
    else:
        points = array.concat([convert_to_tensor(features[name]) for name in sorted(features)], 1)
    return math.cast(points, float32)


def _check(name: str, received: Any, least: int) -> None:
    if isinstance(received, bool) or not isinstance(received, int) or received < least:
        raise ValueError(f"KMeans: {name} must be a number, {least} or more, got {received!r} {at()}")


def _check_choice(name: str, received: Any, choices: tuple[str, ...], others: str = "") -> None:
    if received not in choices:
        raise ValueError(f"KMeans: {name} must be {' or '.join(map(repr, choices))}{others}, got {received!r} {at()}")
