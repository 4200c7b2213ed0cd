"""Clusters: training with full and mini batches, first centers, and what is asked of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

KMeans = tf.estimator.experimental.KMeans
POINTS = np.array([[0, 0], [0, 2], [2, 0], [10, 10], [10, 12]], np.float32)
FIRST = POINTS[[0, 3]]
FOUND = [[2 / 3, 2 / 3], [10, 11]]


def batches(points: Any = POINTS, size: int = 5, epochs: int | None = None) -> Any:
    return lambda: tf.data.Dataset.from_tensor_slices(points).repeat(epochs).batch(size)


def once(points: Any = POINTS) -> Any:
    return batches(points, epochs=1)


@pytest.mark.parametrize("use_mini_batch", [False, True])
def test_centers_are_means(tmp_path: Path, use_mini_batch: bool) -> None:
    model = KMeans(2, str(tmp_path), FIRST, use_mini_batch=use_mini_batch)
    assert model.train(batches(), steps=4) is model
    np.testing.assert_allclose(model.cluster_centers(), FOUND, rtol=1e-5)
    assert list(model.predict_cluster_index(once())) == [0, 0, 0, 1, 1]
    distances = ((POINTS[:, None] - np.array(FOUND)) ** 2).sum(-1)
    np.testing.assert_allclose(list(model.transform(once())), distances, rtol=1e-4)
    np.testing.assert_allclose(model.score(once()), distances.min(1).sum(), rtol=1e-4)
    model.train(batches(), steps=1)  # goes on from the checkpoint
    np.testing.assert_allclose(model.cluster_centers(), FOUND, rtol=1e-5)
    assert model.get_variable_value("global_step") == 5


def test_mini_batches_follow_the_paper(tmp_path: Path) -> None:
    model = KMeans(2, str(tmp_path), FIRST)
    model.train(batches(size=2), steps=5)
    centers, counts = FIRST.copy(), np.zeros(2)
    for batch in np.split(np.tile(POINTS, (2, 1)), 5):
        nearest = ((batch[:, None] - centers[None]) ** 2).sum(-1).argmin(1)
        for point, index in zip(batch, nearest, strict=True):
            counts[index] += 1
            centers[index] += (point - centers[index]) / counts[index]
    np.testing.assert_allclose(model.cluster_centers(), centers, rtol=1e-5)


def test_steps_of_one_iteration(tmp_path: Path) -> None:
    model = KMeans(2, str(tmp_path), FIRST, mini_batch_steps_per_iteration=3)
    model.train(batches(), steps=2)
    np.testing.assert_allclose(model.cluster_centers(), FIRST)  # still those of the iteration before
    model.train(batches(), steps=1)
    np.testing.assert_allclose(model.cluster_centers(), FOUND, rtol=1e-5)


@pytest.mark.parametrize("options", [{"use_mini_batch": False}, {}, {"mini_batch_steps_per_iteration": 2}])
def test_cosine(tmp_path: Path, options: dict[str, Any]) -> None:
    points = np.array([[1, 0], [5, 0.1], [0, 2], [0.1, 7]], np.float32)
    model = KMeans(2, str(tmp_path), points[[0, 2]], KMeans.COSINE_DISTANCE, **options)
    model.train(batches(points, 4), steps=4)
    assert list(model.predict_cluster_index(once(points))) == [0, 0, 1, 1]
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    means = unit.reshape(2, 2, 2).mean(1)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(list(model.transform(once(points))), 1 - unit @ means.T, atol=1e-5)


@pytest.mark.parametrize("first", ["random", "kmeans_plus_plus"])
@pytest.mark.parametrize("size", [1, 6])
def test_first_centers_may_come_from_several_batches(tmp_path: Path, first: str, size: int) -> None:
    points = np.array([[0, 0], [0, 1], [50, 0], [50, 1], [0, 50], [1, 50]], np.float32)
    model = KMeans(3, str(tmp_path), first, seed=4, use_mini_batch=False)
    model.train(batches(points, size), steps=1)
    assert model.get_variable_value("chosen") == 3
    if first == "kmeans_plus_plus" and size == 6:
        assert sorted(np.bincount(list(model.predict_cluster_index(once(points))))) == [2, 2, 2]


def test_first_centers_of_a_function(tmp_path: Path) -> None:
    model = KMeans(2, str(tmp_path), lambda inputs, k: inputs[2 : 2 + k], use_mini_batch=False)
    model.train(batches(), steps=1)
    np.testing.assert_allclose(model.cluster_centers(), FOUND, rtol=1e-5)


def test_an_empty_cluster_stays(tmp_path: Path) -> None:
    model = KMeans(2, str(tmp_path), [[0.0, 0.0], [99.0, 99.0]], use_mini_batch=False)
    model.train(batches(POINTS[:3], 3), steps=2)
    np.testing.assert_allclose(model.cluster_centers(), [[2 / 3, 2 / 3], [99, 99]], rtol=1e-5)


def test_training_stops_when_nothing_changes(tmp_path: Path) -> None:
    model = KMeans(2, str(tmp_path), FIRST, use_mini_batch=False, relative_tolerance=1e-3)
    model.train(batches(), steps=50)
    assert model.get_variable_value("global_step") == 3


def test_features_by_name_and_by_columns(tmp_path: Path) -> None:
    features = {"b": POINTS[:, 1:], "a": POINTS[:, :1]}
    model = KMeans(2, str(tmp_path / "names"), FIRST, use_mini_batch=False)
    np.testing.assert_allclose(model.train(batches(features), steps=2).cluster_centers(), FOUND, rtol=1e-5)
    columns = [tf.feature_column.numeric_column("a")]
    model = KMeans(2, str(tmp_path / "columns"), FIRST[:, :1], use_mini_batch=False, feature_columns=columns)
    assert model.train(batches(features), steps=2).cluster_centers().shape == (2, 1)


def test_the_name_in_contrib(tmp_path: Path) -> None:
    model = tf.contrib.factorization.KMeansClustering(2, str(tmp_path), FIRST, random_seed=3, use_mini_batch=False)
    np.testing.assert_allclose(model.train(batches(), steps=2).cluster_centers(), FOUND, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_clusters": 0}, "num_clusters must be a number, 1 or more, got 0"),
        ({"initial_clusters": "best"}, "'random' or 'kmeans_plus_plus', an array or a function, got 'best'"),
        ({"distance_metric": "manhattan"}, "'squared_euclidean' or 'cosine', got 'manhattan'"),
        ({"mini_batch_steps_per_iteration": 0}, "mini_batch_steps_per_iteration must be"),
        ({"relative_tolerance": 0.1}, "relative_tolerance=0.1 is for use_mini_batch=False"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=rf"{words}.*\(at .*test_k_means"):
        KMeans(**{"num_clusters": 2, **arguments})


def test_too_few_points(tmp_path: Path) -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="the input ends after 5 points, and 6 clusters need as many"
    ):
        KMeans(6, str(tmp_path)).train(once(), steps=1)
