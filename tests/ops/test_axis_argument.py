"""Axes of every form that TensorFlow takes, and those that it refuses with ValueError or InvalidArgumentError."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def late(value: Any, dtype: Any = np.float32) -> Any:
    return tf.placeholder_with_default(np.asarray(value, dtype), None)


def run(tensor: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        return session.run(tensor)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod"])
@pytest.mark.parametrize(
    "axis",
    [0, -1, [0], (0, 1), [-1, 0], np.int32(1), np.int64(0), np.array(1), np.array([0, 1]), None],
    ids=repr,
)
def test_reductions_take_axes_of_any_form(name: str, axis: Any) -> None:
    numbers = axis if axis is None or np.ndim(axis) == 0 else tuple(int(a) for a in axis)
    expected = getattr(np, name)(
        X, None if numbers is None else numbers if isinstance(numbers, tuple) else int(numbers)
    )
    np.testing.assert_allclose(run(getattr(tf, f"reduce_{name}")(X, axis)), expected)


def test_axes_that_are_tensors() -> None:
    for axis in (tf.constant(1), tf.constant(1, tf.int64), late(1, np.int32), [tf.constant(1)], late([1], np.int32)):
        np.testing.assert_array_equal(run(tf.reduce_sum(X, axis)), [3, 12])
    for axes in ([tf.constant(0), 1], (0, late(1, np.int32))):
        assert run(tf.reduce_sum(X, axes)) == 15


@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod"])
def test_no_axes_reduce_nothing(name: str) -> None:
    reduce = getattr(tf, f"reduce_{name}")
    for axis in ([], (), np.array([], np.int32), tf.constant([], tf.int32), late([], np.int32)):
        np.testing.assert_array_equal(run(reduce(X, axis)), X)
    np.testing.assert_array_equal(run(tf.reduce_any(X > 2, [])), X > 2)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "nested axes": (lambda: tf.reduce_sum(X, [[0, 1]]), "Shape must be at most rank 1"),
    "axes in a column": (lambda: tf.reduce_max(X, tf.constant([[0], [1]])), "Shape must be at most rank 1"),
    "axis beyond": (lambda: tf.reduce_mean(X, 2), "Invalid reduction dimension 2 for input with 2 dimensions"),
    "norm, one axis in a list": (
        lambda: tf.norm(X, axis=[0]),
        "'axis' must be None, an integer, or a tuple of 2 unique",
    ),
    "norm, three axes": (lambda: tf.norm(X, axis=[0, 1, 2]), "'axis' must be None, an integer, or a tuple of 2 unique"),
    "norm, text": (lambda: tf.norm(X, axis="a"), "'axis' must be None, an integer, or a tuple of 2 unique"),
    "norm, no order": (lambda: tf.norm(X, ord=None, axis=0), "'ord' must be a supported vector norm"),
    "concat, list": (lambda: tf.concat([X, X], [0]), "Shape must be rank 0 but is rank 1"),
    "concat, beyond": (lambda: tf.concat([X, X], 2), "Shape must be at least rank 3 but is rank 2"),
    "gather, list": (lambda: tf.gather(X, [0], axis=[0]), "Shape must be rank 0 but is rank 1"),
    "reverse, nested": (lambda: tf.reverse(X, [[0]]), "Shape must be rank 1 but is rank 2"),
    "reverse, number": (lambda: tf.reverse(X, 0), "Shape must be rank 1 but is rank 0"),
    "argmax, list": (lambda: tf.argmax(X, [0]), "Shape must be rank 0 but is rank 1"),
    "tile, number": (lambda: tf.tile(X, 2), "Shape must be rank 1 but is rank 0"),
    "tile, nested": (lambda: tf.tile(X, [[1, 2]]), "Shape must be rank 1 but is rank 2"),
    "tile, too few": (lambda: tf.tile(X, [1]), "Shape must be rank 2 but is rank 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_axes_are_value_errors(case: str) -> None:
    build, words = WRONG[case]
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.reduce_prod(late(X), late(5, np.int32)),
        lambda: tf.reduce_prod(late(X), late([0, 0], np.int32)),
        lambda: tf.reduce_sum(late(X), late(5, np.int32)),
        lambda: tf.concat([late(X), late(X)], late(3, np.int32)),
    ],
)
def test_wrong_axes_when_it_runs(build: Callable[[], Any]) -> None:
    node = build()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(node)


# ---- weights whose rank is known only when it runs

VALUES, LABELS = np.float32([1, 2, 3]), np.float32([1, 1, 1])
COLUMN = np.float32([[1], [0], [2]])


@pytest.mark.parametrize("weights", [lambda: late(COLUMN), lambda: COLUMN, lambda: late(COLUMN[:, 0])])
@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (lambda w: tf.metrics.mean(late(VALUES), weights=w), 7 / 3),
        (lambda w: tf.metrics.mean_squared_error(late(LABELS), late(VALUES), weights=w), 8 / 3),
        (lambda w: tf.metrics.accuracy(late([1, 0, 1]), late([1, 1, 1]), weights=w), 1.0),
        (lambda w: tf.metrics.precision(late([1, 0, 1]), late([1, 1, 1]), weights=w), 1.0),
        (lambda w: tf.metrics.true_positives(late([1, 0, 1]), late([1, 1, 1]), weights=w), 3.0),
    ],
)
def test_weights_of_metrics_lose_a_last_dimension(weights: Any, metric: Any, expected: float) -> None:
    assert run(metric(weights())[1]) == pytest.approx(expected)


def test_weights_of_metrics_gain_a_last_dimension() -> None:
    values = np.float32([[1, 2], [3, 4]])
    assert run(tf.metrics.mean(late(values), weights=late([1, 0]))[1]) == pytest.approx(1.5)
    assert run(tf.metrics.mean(late(values), weights=late(2.0))[1]) == pytest.approx(2.5)


def test_labels_and_weights_of_losses() -> None:
    logits = late(np.ones([3, 2]))
    for labels in ([0, 1, 0], [[0], [1], [0]]):
        loss = tf.losses.sparse_softmax_cross_entropy(late(labels, np.int32), logits, weights=late(COLUMN))
        assert run(loss) == pytest.approx(1.0397208)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="can not be broadcast"):
        session.run(tf.losses.compute_weighted_loss(late(VALUES), late(COLUMN)))  # here the ranks must agree
