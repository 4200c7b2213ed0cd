"""Errors about names and weights that do not fit name the user's line."""

import pytest

import headrace as tf

HERE = r"\(at .*test_named_object_line\.py:\d+\)"


def test_unknown_names() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    with pytest.raises(ValueError, match=f"Unknown loss function: nonsense.*{HERE}"):
        model.compile("sgd", "nonsense")
    with pytest.raises(ValueError, match=f"Unknown optimizer: nonsense.*{HERE}"):
        model.compile("nonsense", "mse")
    with pytest.raises(ValueError, match=f"Unknown metric function: nonsense.*{HERE}"):
        model.compile("sgd", "mse", metrics=["nonsense"])


def test_weights_and_graphs_that_do_not_fit() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    with pytest.raises(ValueError, match=rf"(?s)weight list of length 1, but the layer was expecting 2.*{HERE}"):
        model.set_weights([[[1.0], [2.0]]])
    one, other = tf.keras.Input((2,)), tf.keras.Input((2,))
    with pytest.raises(ValueError, match=f"Graph disconnected: .*{HERE}"):
        tf.keras.Model(one, tf.keras.layers.Dense(1)(other))
