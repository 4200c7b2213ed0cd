"""Distributions of vectors, with heavy tails, and mixtures, against torch.distributions; draws by their moments."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import distributions as exact

import headrace as tf

d = tf.contrib.distributions
ALPHA = np.array([[1.5, 2.0, 4.0], [3.0, 1.2, 1.1]], np.float32)
PROBS = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], np.float32)
SIMPLEX = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]], np.float32)
COUNTS = np.array([[1.0, 2.0, 1.0], [3.0, 0.0, 3.0]], np.float32)
MATRIX = np.array([[[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.7]], np.eye(3)], np.float32)
MEAN = np.array([0.5, -1.0, 2.0], np.float32)
X = np.array([[0.3], [-2.0]], np.float32)


def _t(value: Any) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


CASES = {
    "dirichlet": (lambda: d.Dirichlet(ALPHA), exact.Dirichlet(_t(ALPHA)), SIMPLEX, ("mean", "variance", "entropy")),
    "multinomial": (
        lambda: d.Multinomial(4.0, probs=PROBS[0]), exact.Multinomial(4, _t(PROBS[0])), COUNTS[0], ("mean", "variance"),
    ),
    "normal vector": (
        lambda: d.MultivariateNormalFullCovariance(MEAN, MATRIX), exact.MultivariateNormal(_t(MEAN), _t(MATRIX)), SIMPLEX,
        ("mean", "variance", "entropy"),
    ),
    "relaxed": (
        lambda: d.RelaxedOneHotCategorical(0.7, probs=PROBS), exact.RelaxedOneHotCategorical(_t(0.7), _t(PROBS)), SIMPLEX, (),
    ),
    "student": (
        lambda: d.StudentT([[3.0], [4.5]], 1.0, 2.0), exact.StudentT(_t([[3.0], [4.5]]), _t(1.0), _t(2.0)), X,
        ("mean", "variance", "entropy"),
    ),
    "cauchy": (lambda: d.Cauchy([[1.0], [2.0]], 2.0), exact.Cauchy(_t([[1.0], [2.0]]), _t(2.0)), X, ("entropy",)),
    "mixture": (
        lambda: d.Mixture(d.Categorical(probs=PROBS), [d.Normal([0.0, 1.0], 1.0 + i) for i in range(3)]),
        exact.MixtureSameFamily(
            exact.Categorical(_t(PROBS)), exact.Normal(_t([[0.0] * 3, [1.0] * 3]), _t([[1.0, 2.0, 3.0]] * 2))
        ), X[:, 0], ("mean", "variance"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_densities_and_moments(case: str) -> None:
    make, other, values, moments = CASES[case]
    one = make()
    with tf.Session() as sess:
        shapes = sess.run([one.batch_shape_tensor(), one.event_shape_tensor(), one.is_scalar_event()])
        got, *rest = sess.run([one.log_prob(values), *(getattr(one, m)() for m in moments)])
    assert (tuple(shapes[0]), tuple(shapes[1])) == (tuple(other.batch_shape), tuple(other.event_shape))
    assert one.batch_shape.as_list() == list(other.batch_shape) and shapes[2] == (not other.event_shape)
    np.testing.assert_allclose(got, other.log_prob(_t(values)).numpy(), rtol=2e-4, atol=1e-5)
    for moment, value in zip(moments, rest, strict=True):
        expected = getattr(other, moment)
        np.testing.assert_allclose(
            value, (expected() if callable(expected) else expected).numpy(), rtol=2e-4, atol=1e-5
        )


@pytest.mark.parametrize("case", ["dirichlet", "multinomial", "normal vector", "mixture", "compound"])
def test_draws(case: str) -> None:
    one = d.DirichletMultinomial(4.0, ALPHA) if case == "compound" else CASES[case][0]()
    tf.set_random_seed(3)
    with tf.Session() as sess:
        drawn, mean, variance = sess.run([one.sample([3000]), one.mean(), one.variance()])
    assert drawn.shape == (3000, *mean.shape)
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.2)
    np.testing.assert_allclose(drawn.var(0), variance, rtol=0.25, atol=0.05)
    if case in ("multinomial", "compound"):
        np.testing.assert_array_equal(drawn.sum(-1), np.full(drawn.shape[:-1], 4.0))


def test_draws_with_heavy_tails_and_soft_choices() -> None:
    tf.set_random_seed(4)
    relaxed = d.RelaxedOneHotCategorical(0.05, probs=PROBS).sample(2000)
    with tf.Session() as sess:
        cauchy, student, soft = sess.run(
            [d.Cauchy(1.0, 2.0).sample(4000), d.StudentT(5.0, 1.0, 2.0).sample(4000), relaxed]
        )
    np.testing.assert_allclose(np.quantile(cauchy, [0.25, 0.5, 0.75]), [-1.0, 1.0, 3.0], atol=0.25)
    np.testing.assert_allclose([student.mean(), student.var()], [1.0, 20 / 3], atol=1.0)
    np.testing.assert_allclose(np.eye(3)[soft.argmax(-1)].mean(0), PROBS, atol=0.05)


def test_compound_counts() -> None:
    """All counts of 4 draws among 2 classes have probabilities that add up to one."""
    every = np.array([[i, 4 - i] for i in range(5)], np.float32)
    with tf.Session() as sess:
        np.testing.assert_allclose(
            sess.run(tf.reduce_sum(d.DirichletMultinomial(4.0, [1.5, 0.7]).prob(every))), 1.0, rtol=1e-5
        )


def test_divergences_modes_and_tails() -> None:
    other = ALPHA[::-1].copy()
    pairs = [
        (d.Dirichlet(ALPHA), d.Dirichlet(other), exact.Dirichlet(_t(ALPHA)), exact.Dirichlet(_t(other))),
        (
            d.MultivariateNormalFullCovariance(MEAN, MATRIX[0]), d.MultivariateNormalFullCovariance(-MEAN, MATRIX[1]),
            exact.MultivariateNormal(_t(MEAN), _t(MATRIX[0])), exact.MultivariateNormal(_t(-MEAN), _t(MATRIX[1])),
        ),
    ]  # fmt: skip
    with tf.Session() as sess:
        for a, b, x, y in pairs:
            np.testing.assert_allclose(sess.run(d.kl_divergence(a, b)), exact.kl_divergence(x, y).numpy(), rtol=1e-4)
        np.testing.assert_allclose(sess.run(d.Dirichlet([2.0, 3.0]).mode()), [1 / 3, 2 / 3], rtol=1e-5)
        assert np.isnan(sess.run(d.Dirichlet([0.5, 3.0]).mode())).all()
        cdf = sess.run([d.StudentT(3.0, 0.0, 1.0).cdf([-1.0, 0.0, 2.0]), d.Cauchy(0.0, 1.0).quantile([0.25, 0.75])])
        np.testing.assert_allclose(cdf[0], [0.195501, 0.5, 0.930337], rtol=1e-4)
        np.testing.assert_allclose(cdf[1], [-1.0, 1.0], rtol=1e-5)
        assert np.isnan(sess.run(d.Cauchy(0.0, 1.0).mean())) and np.isnan(sess.run(d.StudentT(0.5, 0.0, 1.0).mean()))
        assert np.isinf(sess.run(d.StudentT(1.5, 0.0, 1.0).variance()))
        covariance = d.MultivariateNormalFullCovariance(covariance_matrix=MATRIX).covariance()
        np.testing.assert_allclose(sess.run(covariance), MATRIX, rtol=1e-4, atol=1e-6)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="undefined"):
        d.Cauchy(0.0, 1.0, allow_nan_stats=False).mean()
    with pytest.raises(ValueError, match="probs or logits"):
        d.Multinomial(1.0)
    with pytest.raises(ValueError, match="loc or covariance_matrix"):
        d.MultivariateNormalFullCovariance()
    choice = d.Categorical(probs=[0.5, 0.5])
    with pytest.raises(TypeError, match="must be a Categorical"):
        d.Mixture(d.Normal(0.0, 1.0), [])
    with pytest.raises(TypeError, match="at least one distribution"):
        d.Mixture(choice, [])
    with pytest.raises(ValueError, match="cat has 2 classes"):
        d.Mixture(choice, [d.Normal(0.0, 1.0)])
