"""Losses of models: the tensors they take, penalties, regularizers, pools, mistakes."""

from typing import Any

import numpy as np
import pytest
from library.contrib.gan.networks import discriminator, generator, guesses, two_outputs

import headrace as tf

gan = tf.contrib.gan
NOISE = np.float32(np.random.RandomState(0).randn(4, 3))
DATA = np.float32(np.random.RandomState(1).randn(4, 2))


@pytest.fixture(autouse=True)
def seed() -> None:
    """The same weights in every run: losses may be near zero by chance."""
    tf.set_random_seed(1)


def _model(discriminator_fn: Any = discriminator) -> Any:
    return gan.gan_model(generator, discriminator_fn, tf.constant(DATA), tf.constant(NOISE))


def _run(*fetches: Any) -> Any:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches)


def test_the_model_has_the_tensors() -> None:
    model = _model()
    loss = gan.gan_loss(model, gan.losses.modified_generator_loss, gan.losses.modified_discriminator_loss)
    wargs = gan.losses.wargs
    real, fake = model.discriminator_real_outputs, model.discriminator_gen_outputs
    by_hand = (wargs.modified_generator_loss(fake), wargs.modified_discriminator_loss(real, fake))
    smooth = gan.losses.modified_discriminator_loss(model, label_smoothing=0.0)
    got = _run(loss, by_hand, smooth, wargs.modified_discriminator_loss(real, fake, 0.0))
    np.testing.assert_allclose(got[0], got[1], rtol=1e-6)
    assert got[2] == got[3] != got[1][1]


def test_the_default_with_a_penalty_and_regularizers() -> None:
    def regularized(data: Any, inputs: Any) -> Any:
        return tf.layers.dense(data, 1, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.5), name="d")

    model = _model(regularized)
    plain, with_penalty = gan.gan_loss(model, add_summaries=False), gan.gan_loss(model, gradient_penalty_weight=2.0)
    kernel = model.discriminator_variables[0]
    wargs = gan.losses.wargs
    critic = wargs.wasserstein_discriminator_loss(model.discriminator_real_outputs, model.discriminator_gen_outputs)
    a, b, c, w = _run(plain, with_penalty, critic, kernel)
    norm = np.sqrt((w**2).sum())
    np.testing.assert_allclose(a.discriminator_loss, c + 0.25 * norm**2, rtol=1e-5)
    np.testing.assert_allclose(b.discriminator_loss, a.discriminator_loss + 2 * (norm - 1) ** 2, rtol=1e-4)
    assert a.generator_loss == b.generator_loss


def test_guessed_inputs_and_classes() -> None:
    code = tf.constant([0, 1, 2, 1])
    info = gan.infogan_model(
        lambda inputs: generator([inputs[0], tf.one_hot(inputs[1], 3)]), guesses, DATA, [NOISE], [code], "G1", "D1"
    )
    classes = gan.acgan_model(generator, two_outputs, DATA, NOISE, tf.one_hot([0, 1, 2, 0], 3), "G2", "D2")
    penalty = gan.losses.mutual_information_penalty(info)
    losses = [
        gan.gan_loss(info), gan.gan_loss(info, mutual_information_penalty_weight=0.5),
        gan.gan_loss(classes), gan.gan_loss(classes, aux_cond_generator_weight=2.0, aux_cond_discriminator_weight=3.0),
    ]  # fmt: skip
    parts = gan.losses.acgan_generator_loss(classes), gan.losses.acgan_discriminator_loss(classes)
    gan.gan_loss(info, gradient_penalty_weight=1.0)  # its discriminator gives a pair
    gan.gan_loss(classes, gradient_penalty_weight=1.0)
    p, (plain, more, classless, classed), (ac_g, ac_d) = _run(penalty, losses, parts)
    np.testing.assert_allclose(np.subtract(more, plain), [0.5 * p] * 2, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.subtract(classed, classless), [2 * ac_g, 3 * ac_d], rtol=1e-4)


@pytest.mark.parametrize("kind", ["plain", "guesses", "classes"])
def test_the_discriminator_sees_what_the_pool_gives(kind: str) -> None:
    model: Any
    if kind == "plain":
        model = _model()
    elif kind == "classes":
        model = gan.acgan_model(generator, two_outputs, DATA, NOISE, tf.one_hot([0, 1, 2, 0], 3))
    else:
        code = [tf.constant([0, 1, 2, 1])]
        model = gan.infogan_model(lambda inputs: generator(inputs[0]), guesses, DATA, [NOISE], code)
    pooled = gan.gan_loss(model, tensor_pool_fn=lambda values: (tf.constant(DATA), values[1]))
    plain = gan.gan_loss(model)
    assert len(tf.trainable_variables()) == {"plain": 4, "guesses": 6, "classes": 6}[kind]
    a, b = _run(pooled, plain)
    assert a.discriminator_loss == pytest.approx(0.0, abs=1e-6) and a.generator_loss == b.generator_loss


def test_cycles() -> None:
    model = gan.cyclegan_model(generator, discriminator, DATA, DATA + 1)
    loss = gan.cyclegan_loss(model, cycle_consistency_loss_weight=3.0)
    plain = gan.gan_loss(
        model.model_y2x, gan.losses.least_squares_generator_loss, gan.losses.least_squares_discriminator_loss
    )
    a, b, c = _run(loss, plain, gan.losses.cycle_consistency_loss(model))
    np.testing.assert_allclose(a.loss_y2x, [b.generator_loss + 3 * c, b.discriminator_loss], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"gradient_penalty_weight": -1}, "gradient_penalty_weight must be greater than 0. Instead, was -1"),
        ({"mutual_information_penalty_weight": 1.0}, "model must be a InfoGANModel. Instead, was GANModel"),
        ({"aux_cond_generator_weight": 1.0}, "model must be a ACGANModel"),
        ({"aux_cond_discriminator_weight": 1.0}, "model must be a ACGANModel"),
    ],
)
def test_mistakes(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        gan.gan_loss(_model(), **options)


def test_mistakes_of_losses() -> None:
    model = _model()
    with pytest.raises(ValueError, match="needs .*one_hot_labels, which a GANModel has not"):
        gan.losses.acgan_generator_loss(model)
    with pytest.raises(ValueError, match="has real_data already"):
        gan.losses.wasserstein_gradient_penalty(model, real_data=1)
    with pytest.raises(ValueError, match="must be a CycleGANModel. Instead, was GANModel"):
        gan.cyclegan_loss(model)
