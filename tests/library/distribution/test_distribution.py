"""tf.distributions: numbers checked with TensorFlow's, samples by their moments, gradients through samples."""

import numpy as np
import pytest
from running import run

import headrace as tf

D = tf.distributions


def normal():
    return D.Normal([0.0, 1.0], [1.0, 2.0])


def categorical():
    return D.Categorical(logits=[[0.1, 0.5, -1.0], [0.0, 0.0, 2.0]])


POINTS = [[0.5, 0.2], [1.0, -1.0]]


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: normal().mean(), [0, 1]),
        (lambda: normal().variance(), [1, 4]),
        (lambda: normal().entropy(), [1.4189, 2.1121]),
        (lambda: normal().prob(POINTS), [[0.3521, 0.1841], [0.2420, 0.1210]]),
        (lambda: normal().log_prob(POINTS), [[-1.0439, -1.6921], [-1.4189, -2.1121]]),
        (lambda: normal().cdf(POINTS), [[0.6915, 0.3446], [0.8413, 0.1587]]),
        (lambda: normal().log_cdf(POINTS), [[-0.3689, -1.0654], [-0.1728, -1.8410]]),
        (lambda: normal().survival_function(POINTS), [[0.3085, 0.6554], [0.1587, 0.8413]]),
        (lambda: normal().log_survival_function(POINTS), [[-1.1759, -0.4225], [-1.8410, -0.1728]]),
        (lambda: normal().quantile(0.3), [-0.5244, -0.0488]),
        (lambda: normal().cross_entropy(D.Normal(0.5, 1.5)), [1.6022, 2.2688]),
        (lambda: D.kl_divergence(normal(), D.Normal(0.5, 1.5)), [0.1832, 0.1568]),
        (lambda: D.Bernoulli(logits=[0.3, -1.0]).mean(), [0.5744, 0.2689]),
        (lambda: D.Bernoulli(logits=[0.3, -1.0]).variance(), [0.2445, 0.1966]),
        (lambda: D.Bernoulli(logits=[0.3, -1.0]).mode(), [1, 0]),
        (lambda: D.Bernoulli(logits=[0.3, -1.0]).entropy(), [0.6820, 0.5822]),
        (lambda: D.Bernoulli(logits=[0.3, -1.0]).log_prob([1, 0]), [-0.5544, -0.3133]),
        (lambda: D.Bernoulli(probs=[0.2, 0.5]).logits, [-1.3863, 0]),
        (lambda: D.kl_divergence(D.Bernoulli(logits=[0.3, -1.0]), D.Bernoulli(probs=0.4)), [0.0617, 0.0377]),
        (lambda: categorical().mode(), [1, 2]),
        (lambda: categorical().entropy(), [0.9568, 0.6656]),
        (lambda: categorical().prob([1, 0]), [0.5281, 0.1065]),
        (lambda: categorical().log_prob([[1, 0], [2, 2]]), [[-0.6384, -2.2395], [-2.1384, -0.2395]]),
        (lambda: categorical().cdf([1, 0]), [0.3540, 0]),
        (lambda: D.kl_divergence(categorical(), D.Categorical(probs=[0.2, 0.3, 0.5])), [0.3305, 0.1796]),
        (lambda: D.Uniform([0.0, 1.0], 3.0).variance(), [0.75, 0.3333]),
        (lambda: D.Uniform([0.0, 1.0], 3.0).log_prob([0.5, 0.2]), [-1.0986, -np.inf]),
        (lambda: D.Uniform([0.0, 1.0], 3.0).cdf([0.5, 0.2]), [0.1667, 0]),
        (lambda: D.Uniform([0.0, 1.0], 3.0).range(), [3, 2]),
        (lambda: D.Exponential([0.5, 2.0]).log_prob([0.5, 0.2]), [-0.9431, 0.2931]),
        (lambda: D.Exponential([0.5, 2.0]).cdf([0.5, 0.2]), [0.2212, 0.3297]),
        (lambda: D.Gamma([0.5, 2.0], [1.0, 3.0]).log_prob([0.5, 0.2]), [-0.7258, -0.0122]),
        (lambda: D.Gamma([0.5, 2.0], [1.0, 3.0]).mode(), [np.nan, 0.3333]),
        (lambda: D.Gamma([0.5, 2.0], [1.0, 3.0]).entropy(), [0.0906, 0.4786]),
        (lambda: D.kl_divergence(D.Gamma([0.5, 2.0], [1.0, 3.0]), D.Gamma(1.5, 2.0)), [0.7306, 0.0321]),
        (lambda: D.Laplace([0.5, 2.0], [1.0, 3.0]).log_prob([0.5, 0.2]), [-0.6931, -2.3918]),
        (lambda: D.Laplace([0.5, 2.0], [1.0, 3.0]).cdf([0.5, 0.2]), [0.5, 0.2744]),
        (lambda: D.Beta([1.5, 2.0], [1.2, 3.0]).log_prob([0.5, 0.2]), [0.1558, 0.4292]),
        (lambda: D.Beta([1.5, 2.0], [1.2, 3.0]).entropy(), [-0.0437, -0.2349]),
        (lambda: D.Beta([1.5, 2.0], [1.2, 3.0]).cdf([0.5, 0.2]), [0.4155, 0.1808]),
        (lambda: D.kl_divergence(D.Beta([1.5, 2.0], [1.2, 3.0]), D.Beta(1.5, 2.0)), [0.1879, 0.0382]),
    ],
)  # fmt: skip
def test_same_as_tensorflow(make, wanted) -> None:
    np.testing.assert_allclose(run(make()), wanted, atol=6e-5)


@pytest.mark.parametrize(
    "make",
    [
        normal,
        lambda: D.Uniform([0.0, 1.0], 3.0),
        lambda: D.Laplace([0.5, 2.0], [1.0, 3.0]),
        lambda: D.Gamma([0.5, 2.0], [1.0, 3.0]),
        lambda: D.Exponential([0.5, 2.0]),
        lambda: D.Beta([1.5, 2.0], [1.2, 3.0]),
        lambda: D.Bernoulli(logits=[0.3, -1.0]),
    ],
)
def test_samples_have_the_moments(make) -> None:
    distribution = make()
    samples = distribution.sample([100, 80], seed=3)
    assert samples.dtype == distribution.dtype
    drawn, single, mean, deviation = run([samples, distribution.sample(), distribution.mean(), distribution.stddev()])
    assert drawn.shape == (100, 80, 2)
    assert single.shape == (2,)
    np.testing.assert_allclose(drawn.mean((0, 1)), mean, atol=5 * deviation.max() / np.sqrt(8000))
    np.testing.assert_allclose(drawn.std((0, 1)), deviation, rtol=0.15)


def test_categorical_samples() -> None:
    drawn, probs = run([categorical().sample([2000, 2], seed=1), categorical().probs])
    assert drawn.shape == (2000, 2, 2)
    counts = [[(drawn[..., row] == k).mean() for k in range(3)] for row in range(2)]
    np.testing.assert_allclose(counts, probs, atol=0.04)
    assert run(D.Categorical(probs=[0.0, 1.0]).sample(5)).tolist() == [1] * 5


def test_shapes_and_names() -> None:
    n = normal()
    assert (n.batch_shape.as_list(), n.event_shape.as_list(), n.dtype, n.name) == ([2], [], tf.float32, "Normal")
    assert n.loc.name == "Normal/loc:0"
    assert n.mean().name == "Normal/mean/mul:0"
    assert n.log_prob(0.0).name.startswith("Normal/log_prob/")
    assert n.copy(scale=3.0).scale.shape.as_list() == []
    dynamic = D.Normal(tf.placeholder_with_default([0.0, 0.0, 0.0], [None]), 1.0)
    assert run([dynamic.batch_shape_tensor(), tf.shape(dynamic.sample(2))])[1].tolist() == [2, 3]


def test_gradients_pass_through_samples() -> None:
    loc, scale = tf.constant(1.0), tf.constant(2.0)
    n = D.Normal(loc, scale)
    sample = n.sample(seed=1)
    by_loc, by_scale, drawn = run([*tf.gradients(sample, [loc, scale]), sample])
    assert by_loc == 1
    assert by_scale == pytest.approx((drawn - 1) / 2, rel=1e-5)
    score = tf.gradients(D.Categorical(logits=tf.constant([0.0, 0.0])).log_prob(1), [loc])
    assert score == [None]


def test_errors() -> None:
    with pytest.raises(ValueError, match="not both"):
        D.Bernoulli(probs=0.4, logits=0.2)
    with pytest.raises(NotImplementedError, match="mean is not implemented: Categorical"):
        categorical().mean()
    with pytest.raises(NotImplementedError, match="mode is not implemented: Uniform"):
        D.Uniform().mode()
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(normal(), D.Uniform())
    with pytest.raises(ValueError, match="already been registered"):
        D.RegisterKL(D.Normal, D.Normal)(lambda a, b, name=None: None)
