"""tf.metrics: values, names and variables as TensorFlow's (tests/golden/make_cases.py), collections, errors."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from golden.metrics_cases import CASES, run

import headrace as tf


@functools.cache
def golden() -> dict[str, dict]:
    return json.loads((Path(__file__).parents[2] / "golden" / "metrics.json").read_text())


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_as_tensorflow(name: str) -> None:
    found, wanted = run(tf, CASES[name]), golden()[name]
    for found_pair, wanted_pair in zip(found.pop("numbers"), wanted["numbers"], strict=True):
        for a, b in zip(found_pair, wanted_pair, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=2e-6)
    assert found == {key: value for key, value in wanted.items() if key != "numbers"}
    assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.local_variables()
    assert tf.global_variables() == []


def test_collections() -> None:
    value, update = tf.metrics.accuracy([1], [1], metrics_collections="a", updates_collections=["b", "c"])
    assert tf.get_collection("a") == [value]
    assert tf.get_collection("b") == tf.get_collection("c") == [update]


def test_reset_by_initializing_again(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [None])
    value, update = tf.metrics.mean(x)
    session.run(tf.local_variables_initializer())
    assert session.run(value) == 0
    session.run(update, {x: [1.0, 2.0, 6.0]})
    assert session.run(value) == 3
    session.run(tf.variables_initializer(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)))
    assert session.run(value) == 0


def test_scope() -> None:
    with tf.variable_scope("s"):
        value, _ = tf.metrics.accuracy([1], [1], name="acc")
    assert value.name == "s/acc/value:0"
    assert [v.name for v in tf.local_variables()] == ["s/acc/total:0", "s/acc/count:0"]


def test_sparse_labels(session: tf.Session) -> None:
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 3, 2], tf.int64), [2, 2])
    predictions = [[0.1, 0.9, 0.5, 0.2], [0.3, 0.8, 0.1, 0.7]]
    updates = [
        tf.metrics.recall_at_k(labels, predictions, 2)[1],
        tf.metrics.precision_at_k(labels, predictions, 2)[1],
        tf.metrics.average_precision_at_k(labels, predictions, 2)[1],
    ]
    session.run(tf.local_variables_initializer())
    np.testing.assert_allclose(session.run(updates), [1 / 3, 1 / 4, 1 / 4])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda p: tf.metrics.accuracy(p[:, None, None], p), "incompatible"),
        (lambda p: tf.metrics.auc(p, p, curve="X"), "Curve X is unknown"),
        (lambda p: tf.metrics.auc(p, p, summation_method="X"), "Invalid summation_method"),
        (lambda p: tf.metrics.sensitivity_at_specificity(p, p, 1.5), "must be in the range"),
        (lambda p: tf.metrics.average_precision_at_k(p, p, 0), "Invalid k=0"),
    ],
)
def test_errors(make, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make(tf.placeholder(tf.float32, [None]))


def test_errors_at_run_time(session: tf.Session) -> None:
    predictions = tf.placeholder(tf.float32, [None])
    _, area = tf.metrics.auc([1, 0], predictions)
    _, part = tf.metrics.accuracy([1, 0], [1, 1], weights=tf.placeholder_with_default([1.0, 2.0, 3.0], [None]))
    session.run(tf.local_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError, match="predictions must be in"):
        session.run(area, {predictions: [0.5, 1.5]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast"):
        session.run(part)
