"""tf.keras.losses, metrics and optimizers: values as real Keras's (tests/golden/make_keras_training.py); names, errors."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from golden import keras_figures_cases as cases
from running import run

import headrace as tf


@functools.cache
def golden() -> dict:
    return json.loads((Path(__file__).parents[2] / "golden" / "keras_figures.json").read_text())


def test_figures_as_in_keras() -> None:
    found, wanted = cases.figures(tf), golden()["figures"]
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=3e-6, err_msg=name)


def test_steps_of_optimizers_as_in_keras() -> None:
    found, wanted = cases.steps(tf), golden()["steps"]
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=3e-6, err_msg=name)


def test_eagerly_as_in_a_graph() -> None:
    with tf.eager_mode():
        for name in cases.LOSSES:
            y_true, y_pred = cases.DATA.get(name, cases.PLAIN)
            loss = getattr(tf.keras.losses, name)()(y_true, y_pred, sample_weight=cases.WEIGHTS)
            wanted = golden()["figures"][f"loss {name} sum_over_batch_size weighed"]
            assert float(loss) == pytest.approx(wanted, rel=1e-4, abs=3e-6), name


def test_named() -> None:
    losses = tf.keras.losses
    assert losses.get("mse") is losses.mean_squared_error
    assert losses.get(None) is None
    assert losses.get("MeanSquaredError").get_config() == {"reduction": "auto", "name": "mean_squared_error"}
    smooth = losses.CategoricalCrossentropy(label_smoothing=0.5, name="soft")
    again = losses.deserialize(losses.serialize(smooth))
    assert again.get_config() == smooth.get_config()
    assert losses.serialize(losses.hinge) == "hinge"
    with pytest.raises(ValueError, match="Unknown loss function: nope"):
        losses.get("nope")
    with pytest.raises(ValueError, match="a loss is a name"):
        losses.get(3)
    with pytest.raises(ValueError, match="Invalid Reduction Key mean"):
        losses.Hinge(reduction="mean")


def test_own_loss() -> None:
    class Distance(tf.keras.losses.Loss):
        def call(self, y_true, y_pred):
            return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)

    loss = Distance()(tf.constant([[0.0], [0.0]]), tf.constant([[1.0], [3.0]]), sample_weight=[1.0, 0.0])
    assert run(loss) == 0.5
    with pytest.raises(NotImplementedError, match="Loss must define call"):
        tf.keras.losses.Loss()([1.0], [1.0])


def test_probabilities_of_a_softmax_lose_no_accuracy() -> None:
    logits = tf.constant([[0.0, 60.0]])
    loss = tf.keras.losses.categorical_crossentropy([[1.0, 0.0]], tf.nn.softmax(logits))
    sparse = tf.keras.losses.sparse_categorical_crossentropy([0], tf.nn.softmax(logits))
    binary = tf.keras.losses.binary_crossentropy([[0.0]], tf.sigmoid(tf.constant([[60.0]])))
    assert run([loss, sparse, binary]) == [pytest.approx([60.0])] * 3
