"""Losses of tensors beside their formulas in numpy; weights, collections, summaries."""

from typing import Any

import numpy as np
import pytest

import headrace as tf

wargs = tf.contrib.gan.losses.wargs
REAL = np.float32([[0.5], [-1.5], [3.0]])
FAKE = np.float32([[-0.25], [1.0], [0.75]])
LOGITS = np.float32([[1.0, 0.0], [0.5, 2.0], [-1.0, 1.0]])
LABELS = np.float32([[1, 0], [1, 0], [0, 1]])


def _cross(logits: Any, label: float) -> Any:
    return np.maximum(logits, 0) - logits * label + np.log1p(np.exp(-np.abs(logits)))


def _classes(logits: Any, smoothing: float = 0.0) -> Any:
    labels = LABELS * (1 - smoothing) + smoothing / 2
    return -(labels * (logits - np.log(np.exp(logits).sum(1, keepdims=True)))).sum(1)


CASES: dict[str, tuple[Any, Any]] = {
    "wasserstein_generator_loss": (lambda f: f(FAKE), -FAKE.mean()),
    "wasserstein_discriminator_loss": (lambda f: f(REAL, FAKE), FAKE.mean() - REAL.mean()),
    "wasserstein_hinge_generator_loss": (lambda f: f(FAKE), -FAKE.mean()),
    "wasserstein_hinge_discriminator_loss": (
        lambda f: f(REAL, FAKE), np.maximum(0, 1 - REAL).mean() + np.maximum(0, 1 + FAKE).mean(),
    ),
    "minimax_generator_loss": (lambda f: f(FAKE), -(_cross(FAKE, 0).mean() + _cross(np.float32(1), 1))),
    "minimax_discriminator_loss": (
        lambda f: f(REAL, FAKE), _cross(REAL, 1 - 0.25 + 0.125).mean() + _cross(FAKE, 0).mean(),
    ),
    "modified_generator_loss": (lambda f: f(FAKE, 0.2), _cross(FAKE, 0.9).mean()),
    "modified_discriminator_loss": (lambda f: f(REAL, FAKE, 0.0), _cross(REAL, 1).mean() + _cross(FAKE, 0).mean()),
    "least_squares_generator_loss": (lambda f: f(FAKE), ((FAKE - 1) ** 2).mean() / 2),
    "least_squares_discriminator_loss": (
        lambda f: f(REAL, FAKE, real_label=2, fake_label=-1), (((REAL - 2) ** 2).mean() + ((FAKE + 1) ** 2).mean()) / 2,
    ),
    "acgan_generator_loss": (lambda f: f(LOGITS, LABELS), _classes(LOGITS).mean()),
    "acgan_discriminator_loss": (
        lambda f: f(LOGITS, -LOGITS, LABELS, 0.2), _classes(LOGITS, 0.2).mean() + _classes(-LOGITS, 0.2).mean(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    call, expected = CASES[name]
    loss = call(getattr(wargs, name))
    assert tf.losses.get_losses() == ([loss] if name != "minimax_generator_loss" else tf.losses.get_losses())
    assert len(tf.losses.get_losses()) == 1
    np.testing.assert_allclose(tf.Session().run(loss), expected, rtol=1e-5)


def test_weights_and_summaries() -> None:
    weights = np.float32([[1], [0], [2]])
    loss = wargs.wasserstein_discriminator_loss(REAL, FAKE, weights, 0.5, loss_collection=None, add_summaries=True)
    single = wargs.modified_generator_loss(FAKE, weights=weights, reduction=tf.losses.Reduction.SUM, add_summaries=True)
    assert tf.losses.get_losses() == [single]
    names = [op.op.name.rpartition("/")[2] for op in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert names == [
        "discriminator_real_wass_loss", "discriminator_gen_wass_loss", "discriminator_wass_loss", "generator_modified_loss",
    ]  # fmt: skip
    got = tf.Session().run([loss, single])
    np.testing.assert_allclose(got[0], 0.5 * FAKE.mean() - (REAL * weights).sum() / 2, rtol=1e-5)
    np.testing.assert_allclose(got[1], (_cross(FAKE, 1) * weights).sum(), rtol=1e-5)


@pytest.mark.parametrize(("one_sided", "factor"), [(False, 0.5), (True, 0.5), (True, 3.0)])
def test_the_gradient_penalty(one_sided: bool, factor: float) -> None:
    def discriminator(data: Any, inputs: Any) -> Any:
        return tf.reduce_sum(data, [1, 2]) * tf.get_variable("w", initializer=factor)

    real, fake = tf.ones([4, 2, 2]), tf.zeros([4, 2, 2])
    loss = wargs.wasserstein_gradient_penalty(real, fake, None, discriminator, "D", target=2.0, one_sided=one_sided)
    excess = 2 * factor / 2.0 - 1  # the length of a gradient of four equal parts
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got, slope = sess.run([loss, tf.gradients(loss, tf.trainable_variables())[0]])
    assert got == pytest.approx(0.0 if one_sided and excess < 0 else excess**2, abs=1e-6)
    assert slope == pytest.approx(0.0 if one_sided and excess < 0 else 2 * excess, abs=1e-4)
    assert [v.op.name for v in tf.global_variables()] == ["D/w"]


def test_mutual_information_and_cycles() -> None:
    guess = tf.distributions.Normal([0.0, 1.0], 1.0)
    classes = tf.distributions.Categorical(logits=LOGITS)
    loss = wargs.mutual_information_penalty([tf.constant([0.5, 0.0]), tf.constant([0, 1, 1])], [guess, classes])
    normal = -0.5 * np.array([0.25, 1.0]) - 0.5 * np.log(2 * np.pi)
    likely = (LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True)))[[0, 1, 2], [0, 1, 1]]
    cycle = wargs.cycle_consistency_loss(REAL, REAL + 1, FAKE, FAKE - 3, add_summaries=True)
    got = tf.Session().run([loss, cycle])
    np.testing.assert_allclose(got, [-(normal.mean() + likely.mean()) / 2, 2.0], rtol=1e-5)
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 3


def test_mistakes() -> None:
    unknown = tf.placeholder(tf.float32)
    for real, fake, match in ((unknown, REAL, "real_data can't"), (REAL, unknown, "generated_data can't")):
        with pytest.raises(ValueError, match=match):
            wargs.wasserstein_gradient_penalty(real, fake, None, lambda d, i: d, "D")
