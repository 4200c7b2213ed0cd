"""Pools, conditions, clipped variables, spectral normalisation, grids of images and summaries of models."""

from typing import Any

import numpy as np
import pytest
from library.contrib.gan.networks import discriminator, generator

import headrace as tf

gan = tf.contrib.gan
features = gan.features


@pytest.fixture(autouse=True)
def seed() -> None:
    """The same weights in every run: losses may be near zero by chance."""
    tf.set_random_seed(1)


def test_a_pool_gives_older_values() -> None:
    x = tf.placeholder(tf.float32, [])
    always = features.tensor_pool((x, [2 * x]), pool_size=3, pooling_probability=1.0)
    never = features.tensor_pool(x, pool_size=1, pooling_probability=0.0)
    assert features.tensor_pool(x, pool_size=0) is x and always[0].shape == ()
    with tf.Session() as sess:
        seen = [sess.run([always, never], {x: i}) for i in range(20)]
    first = [int(one[0][0]) for one in seen]
    assert first[:3] == [0, 1, 2]  # while the pool has room
    assert all(old < i for i, old in enumerate(first) if i >= 3) and len(set(first[3:])) == len(first[3:])
    assert all(one[0][1][0] == 2 * one[0][0] and one[1] == i for i, one in enumerate(seen))
    with pytest.raises(ValueError, match="pool_size is negative: -1"):
        features.tensor_pool(x, -1)


def test_conditions() -> None:
    x, labels = tf.ones([2, 2, 3]), tf.one_hot([1, 0], 4)
    by_tensor = features.condition_tensor(x, tf.ones([2, 2, 2]))
    by_class = features.condition_tensor_from_onehot(tf.placeholder_with_default(tf.ones([2, 5]), [None, 5]), labels, 3)
    w = {v.op.name: v for v in tf.global_variables()}
    assert sorted(w) == [
        "embedding", "fully_connected/biases", "fully_connected/weights", "fully_connected_1/biases",
        "fully_connected_1/weights",
    ]  # fmt: skip
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        a, b, w = sess.run([by_tensor, by_class, w])
    np.testing.assert_allclose(a, 1 + np.tile(w["fully_connected/weights"].sum(0).reshape(2, 3), [2, 1, 1]), rtol=1e-5)
    np.testing.assert_allclose(b, 1 + w["embedding"][[1, 0]] @ w["fully_connected_1/weights"], rtol=1e-5)
    for call, match in (
        (
            lambda: features.condition_tensor(tf.placeholder(tf.float32, [2, None]), x),
            "must be known but for the batch",
        ),
        (lambda: features.condition_tensor(x, tf.ones([2])), "at least 2D"),
        (lambda: features.condition_tensor_from_onehot(x, tf.ones([2])), r"\[batch, classes\]"),
    ):
        with pytest.raises(ValueError, match=match):
            call()


def test_clipped_variables() -> None:
    model = gan.gan_model(generator, discriminator, tf.ones([4, 2]), tf.ones([4, 3]))
    optimizer = features.clip_discriminator_weights(tf.train.GradientDescentOptimizer(1.0), model, 0.01)
    train = optimizer.minimize(model.discriminator_real_outputs, var_list=model.discriminator_variables)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(
            np.abs(np.concatenate([v.ravel() for v in sess.run(model.discriminator_variables)])), 0.01
        )
    with pytest.raises(ValueError, match="weight_clip must be positive, got 0"):
        features.clip_variables(optimizer, [], 0)


def test_the_spectral_norm() -> None:
    values = np.random.RandomState(0).randn(2, 3, 4).astype(np.float32)
    w = tf.get_variable("w", initializer=values)
    norm = features.compute_spectral_norm(w)
    normal = features.spectral_normalize(w, power_iteration_rounds=50)
    loss = features.spectral_norm_regularizer(0.1, 50)(w)
    u, s, v = np.linalg.svd(values.reshape(6, 4))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(50):
            estimate = sess.run(norm)
        got, penalty, slope = sess.run([normal, loss, tf.gradients(norm, w)[0]])
    assert estimate == pytest.approx(s[0], rel=1e-4) and penalty == pytest.approx(0.1 * s[0], rel=1e-4)
    np.testing.assert_allclose(got, values / s[0], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(slope.reshape(6, 4), np.outer(u[:, 0], v[0]), atol=2e-3)
    names = [v.op.name for v in tf.global_variables() if not v.trainable]
    assert names[:2] == ["spectral_norm/spectral_norm_u", "spectral_normalize/spectral_norm/spectral_norm_u"]
    assert features.spectral_norm_regularizer(0.0)(w) is None
    for call, match in (
        (lambda: features.spectral_norm_regularizer(1), "cannot be an integer"),
        (lambda: features.spectral_norm_regularizer(-1.0), "less than 0"),
        (lambda: features.compute_spectral_norm(w, 0), "at least 1, got 0"),
        (lambda: features.compute_spectral_norm(tf.placeholder(tf.float32)), "must be known"),
    ):
        with pytest.raises(ValueError, match=match):
            call()


def test_grids() -> None:
    images = np.arange(6 * 2 * 3, dtype=np.float32).reshape(6, 2, 3, 1)
    grid, shaped = tf.Session().run(
        [gan.eval.image_grid(images, (2, 3), (2, 3), 1), gan.eval.image_reshaper(images[:5], 2)]
    )
    assert grid.shape == (1, 4, 9, 1) and (grid[0, 2:, 3:6] == images[4]).all()
    assert shaped.shape == (1, 6, 6, 1) and (shaped[0, 2:4, 3:] == images[3]).all() and (shaped[0, 4:, 3:] == 0).all()
    with pytest.raises(ValueError, match=r"Grid shape \(2, 2\) is incompatible with 6 images"):
        gan.eval.image_grid(images, (2, 2), (2, 3), 1)
    with pytest.raises(ValueError, match="of known sizes"):
        gan.eval.image_reshaper(tf.ones([2]))


def test_summaries_of_models() -> None:
    def pictures(inputs: Any) -> Any:
        return tf.reshape(tf.layers.dense(tf.layers.flatten(inputs), 12, name="g"), [4, 2, 2, 3])

    def judge(data: Any, inputs: Any) -> Any:
        return discriminator(tf.layers.flatten(data), inputs)

    images = tf.ones([4, 2, 2, 3])
    gan.eval.add_gan_model_image_summaries(gan.gan_model(pictures, judge, images, images), grid_size=2)
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 8
    gan.eval.add_gan_model_image_summaries(gan.cyclegan_model(pictures, judge, images, images), 2)
    gan.eval.add_gan_model_summaries(gan.cyclegan_model(pictures, judge, images, images, "G2", "D2"))
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 8 + 16 + 12
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        summary = tf.Summary.FromString(sess.run(tf.summary.merge_all()))
    tags = [value.tag for value in summary.value]
    assert tags[:3] == ["real_data/image", "generated_data/image", "generator_variables/Generator/g/kernel"]
    flat = gan.gan_model(generator, discriminator, tf.ones([4, 2]), tf.ones([4, 3]), "A", "B")
    with pytest.raises(ValueError, match="The real data must be"):
        gan.eval.add_gan_model_image_summaries(flat)
