"""Masks: which layers make them, hand them on, use them and end them."""

import numpy as np
import pytest
from running import initialize_and_run

import headrace as tf

layers = tf.keras.layers
IDS = [[3, 0, 5], [1, 2, 0]]
KNOWN = [[True, False, True], [True, True, False]]


def embedded(width: int = 4) -> tf.Tensor:
    return layers.Embedding(9, width, mask_zero=True)(tf.keras.Input([3], dtype=tf.int32, tensor=tf.constant(IDS)))


def mask_of(tensor: tf.Tensor) -> list:
    return initialize_and_run(tensor._keras_mask).tolist()


def test_an_embedding_masks_zeros() -> None:
    assert mask_of(embedded()) == KNOWN
    assert getattr(layers.Embedding(9, 4)(tf.keras.Input([3])), "_keras_mask", None) is None


@pytest.mark.parametrize(
    "layer",
    [
        lambda: layers.Dense(2), lambda: layers.Activation("relu"), lambda: layers.Dropout(0.5), lambda: layers.ReLU(),
        lambda: layers.GaussianNoise(0.1), lambda: layers.BatchNormalization(), lambda: layers.LayerNormalization(),
        lambda: layers.PReLU(), lambda: layers.ActivityRegularization(0.1), lambda: layers.Softmax(),
    ],
)  # fmt: skip
def test_a_layer_of_single_steps_hands_its_mask_on(layer) -> None:
    assert mask_of(layer()(embedded())) == KNOWN


@pytest.mark.parametrize(
    "layer", [lambda: layers.Flatten(), lambda: layers.Conv1D(2, 2), lambda: layers.Lambda(lambda x: x)]
)
def test_a_layer_that_moves_steps_has_none(layer) -> None:
    outputs = layer()(embedded())
    assert getattr(outputs, "_keras_mask", None) is None


def test_masking_leaves_out_steps_of_one_value() -> None:
    x = tf.keras.Input([3, 2], tensor=tf.constant([[[1.0, 2.0], [7.0, 7.0], [7.0, 1.0]]]))
    y = layers.Masking(7.0)(x)
    assert mask_of(y) == [[True, False, True]]
    assert initialize_and_run(y)[0].tolist() == [[1.0, 2.0], [0.0, 0.0], [7.0, 1.0]]


def test_merged_masks() -> None:
    x, other = embedded(), layers.Dense(4)(tf.keras.Input([3, 4], tensor=tf.zeros([2, 3, 4])))
    again = layers.Embedding(9, 4, mask_zero=True)(tf.keras.Input([3], tensor=tf.constant([[1, 1, 0], [1, 1, 1]])))
    assert mask_of(layers.add([x, again])) == [[True, False, False], [True, True, False]]
    assert mask_of(layers.add([x, other])) == KNOWN
    assert mask_of(layers.concatenate([x, other], axis=1)) == [[*KNOWN[0], *[True] * 3], [*KNOWN[1], *[True] * 3]]
    assert mask_of(layers.concatenate([x, again])) == [[True, False, False], [True, True, False]]
    assert getattr(layers.dot([x, again], axes=2), "_keras_mask", None) is None


def test_a_mean_over_known_steps() -> None:
    x = embedded()
    pooled = layers.GlobalAveragePooling1D()(x)
    values, mean = initialize_and_run([x, pooled])
    np.testing.assert_allclose(mean[0], (values[0, 0] + values[0, 2]) / 2, rtol=1e-5)
    assert getattr(pooled, "_keras_mask", None) is None


def test_attention_looks_at_known_steps_only() -> None:
    x = embedded()
    y = layers.Attention()([x, x])
    assert mask_of(y) == KNOWN
    values, found = initialize_and_run([x, y])
    scores = values @ values.transpose(0, 2, 1) - 1e9 * ~np.array(KNOWN)[:, None, :]
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = (weights / weights.sum(-1, keepdims=True)) @ values * np.array(KNOWN)[:, :, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_the_mask_of_a_function_of_the_users() -> None:
    layer = layers.Lambda(lambda x, mask: x * tf.cast(mask[..., None], tf.float32), mask=lambda x, mask: ~mask)
    y = layer(embedded())
    assert mask_of(y) == (~np.array(KNOWN)).tolist()
    assert (initialize_and_run(y)[0, 1] == 0).all()


def test_masks_that_do_not_fit() -> None:
    x = tf.zeros([2, 3, 4])
    with pytest.raises(ValueError, match="mask must be a list"):
        layers.Attention()([x, x], mask=tf.ones([2, 3], tf.bool))
    with pytest.raises(ValueError, match="the same length"):
        layers.Add().compute_mask([x, x], [None])
    with pytest.raises(ValueError, match="`mask` should be a list"):
        layers.Concatenate().compute_mask([x, x], tf.ones([2, 3], tf.bool))
    with pytest.raises(TypeError, match="does not support masking"):
        layers.Flatten().compute_mask(x, tf.ones([2, 3], tf.bool))
