"""tf.losses: values and names as TensorFlow's (tests/golden/make_cases.py), weights, collections, gradients, errors."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from golden.losses_cases import CASES, LABELS, PREDICTIONS
from running import run

import headrace as tf


@functools.cache
def golden() -> dict[str, dict]:
    return json.loads((Path(__file__).parents[2] / "golden" / "losses.json").read_text())


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_as_tensorflow(name: str) -> None:
    loss = CASES[name](tf)
    wanted = golden()[name]
    assert (loss.name, loss.dtype.name) == (wanted["name"], wanted["dtype"])
    assert tf.losses.get_losses() == [loss]
    np.testing.assert_allclose(run(loss), wanted["value"], rtol=1e-4, atol=2e-6)


def test_static_shape_is_not_needed(session: tf.Session) -> None:
    labels, predictions = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    weights = tf.placeholder(tf.float32)
    loss = tf.losses.mean_squared_error(labels, predictions, weights=weights)
    pairwise = tf.losses.mean_pairwise_squared_error(labels, predictions)
    feed = {labels: LABELS, predictions: PREDICTIONS}
    plain = ((LABELS - PREDICTIONS) ** 2).mean()
    assert session.run(loss, {**feed, weights: 1.0}) == pytest.approx(plain, rel=1e-5)
    column = session.run(loss, {**feed, weights: [[1.0], [0.0], [0.0]]})
    assert column == pytest.approx(((LABELS - PREDICTIONS) ** 2)[0].mean(), rel=1e-5)
    wanted = golden()["mean_pairwise_squared_error"]["value"]
    assert session.run(pairwise, feed) == pytest.approx(wanted, rel=1e-5)
    for bad in ([1.0, 2.0, 3.0, 4.0], [[1.0, 2.0]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
            session.run(loss, {**feed, weights: bad})


@pytest.mark.parametrize("weights", [[1.0, 2.0, 3.0], [[1.0, 2.0, 3.0]]])
def test_weights_must_fit(weights: list) -> None:
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.losses.mean_squared_error(LABELS, PREDICTIONS, weights=weights)


def test_gradients(session: tf.Session) -> None:
    x = tf.constant(PREDICTIONS)
    loss = tf.losses.mean_squared_error(LABELS, x, weights=[[1.0], [0.0], [2.0]])
    smoothed = tf.losses.softmax_cross_entropy(np.eye(4)[:3], x, label_smoothing=0.1)
    (grad,) = session.run(tf.gradients(loss, x))
    wanted = 2 * (PREDICTIONS - LABELS) * np.array([[1.0], [0.0], [2.0]]) / 8
    np.testing.assert_allclose(grad, wanted, rtol=1e-5, atol=1e-7)
    assert tf.test.compute_gradient_error(x, [3, 4], smoothed, [], x_init_value=PREDICTIONS, delta=1e-2) < 1e-3


def test_collections_and_total() -> None:
    assert float(tf.Session().run(tf.losses.get_regularization_loss())) == 0.0
    first = tf.losses.mean_squared_error(LABELS, PREDICTIONS)
    own = tf.constant(3.0)
    tf.losses.add_loss(own)
    tf.losses.mean_squared_error(LABELS, PREDICTIONS, loss_collection=None)
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(1.5))
    assert tf.losses.get_losses() == [first, own]
    assert tf.losses.get_losses(scope="mean_squared_error") == [first]
    total, plain = tf.losses.get_total_loss(), tf.losses.get_total_loss(add_regularization_losses=False)
    assert total.name == "total_loss:0"
    assert tf.losses.get_regularization_loss().name == "total_regularization_loss:0"
    values = run([first, total, plain])
    np.testing.assert_allclose([values[0] + 4.5, values[0] + 3], values[1:], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.losses.mean_squared_error(None, PREDICTIONS), "labels must not be None"),
        (lambda: tf.losses.softmax_cross_entropy(LABELS, None), "logits must not be None"),
        (lambda: tf.losses.mean_squared_error(LABELS, PREDICTIONS[:2]), "incompatible"),
        (lambda: tf.losses.mean_squared_error(LABELS, PREDICTIONS, reduction="foo"), "Invalid Reduction Key foo"),
        (lambda: tf.losses.cosine_distance(LABELS, PREDICTIONS), "You must specify 'axis'"),
        (lambda: tf.losses.cosine_distance(LABELS, PREDICTIONS, axis=1, dim=1), "Cannot specify both"),
    ],
)
def test_errors(make, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()
