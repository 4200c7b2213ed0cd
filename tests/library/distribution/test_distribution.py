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


INVALID = [  # TensorFlow refuses the same with validate_args, when the graph is made or when it runs
    (D.Normal, {"loc": 0.0, "scale": 0.0}, "mean", "scale must be positive"),
    (D.Laplace, {"loc": 0.0, "scale": -1.0}, "mean", "scale must be positive"),
    (D.Uniform, {"low": 1.0, "high": 1.0}, "mean", "low >= high"),
    (D.Gamma, {"concentration": -1.0, "rate": 1.0}, "mean", "must be positive"),
    (D.Gamma, {"concentration": 1.0, "rate": 0.0}, "mean", "must be positive"),
    (D.Gamma, {"concentration": 1.0, "rate": 1.0, "value": 0.0}, "prob", "sample must be positive"),
    (D.Gamma, {"concentration": 1.0, "rate": 1.0, "value": -1.0}, "cdf", "sample must be positive"),
    (D.Exponential, {"rate": -1.0}, "mean", "must be positive"),
    (D.Exponential, {"rate": 1.0, "value": -1.0}, "prob", "sample must be positive"),
    (D.Beta, {"concentration1": 1.0, "concentration0": 0.0}, "mean", "must be positive"),
    (D.Beta, {"concentration1": 1.0, "concentration0": 1.0, "value": 1.0}, "prob", "less than `1`"),
    (D.Beta, {"concentration1": 1.0, "concentration0": 1.0, "value": 0.0}, "prob", "sample must be positive"),
    (D.Bernoulli, {"probs": -0.1}, "mean", "less than 0"),
    (D.Bernoulli, {"probs": 1.5}, "mean", "greater than 1"),
    (D.Bernoulli, {"probs": 0.5, "value": 2}, "prob", "cannot exceed 1"),
    (D.Bernoulli, {"probs": 0.5, "value": -1}, "prob", "non-negative"),
    (D.Bernoulli, {"probs": 0.5, "value": 0.5}, "prob", "whole numbers"),
    (D.Categorical, {"probs": [0.5, 0.6]}, "mode", "sum to 1"),
    (D.Categorical, {"probs": [-0.5, 1.5]}, "mode", "less than 0"),
    (D.Categorical, {"probs": [0.5, 0.5], "value": -1}, "cdf", "non-negative"),
    (D.Categorical, {"probs": [0.5, 0.5], "value": 0.5}, "prob", "whole numbers"),
]


def computed(make, arguments: dict, method: str, fed: bool, **settings):
    """A method of a distribution, with constants or with placeholders that are fed."""
    feeds = {}
    if fed:
        values = {name: np.asarray(value, np.float32 if name != "value" else None) for name, value in arguments.items()}
        arrays = {name: a.astype(np.float32) if a.dtype == np.float64 else a for name, a in values.items()}
        holders = {name: tf.placeholder(a.dtype, a.shape) for name, a in arrays.items()}
        feeds, arguments = {holders[name]: a for name, a in arrays.items()}, holders
    value = [arguments[name] for name in arguments if name == "value"]
    distribution = make(**{name: a for name, a in arguments.items() if name != "value"}, **settings)
    with tf.Session() as session:
        return session.run(getattr(distribution, method)(*value), feeds)


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize(("make", "arguments", "method", "message"), INVALID)
def test_arguments_are_validated_if_asked(make, arguments, method, message, fed) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        computed(make, arguments, method, fed, validate_args=True)
    computed(make, arguments, method, fed)  # unless asked, nothing is checked


@pytest.mark.parametrize(
    ("make", "arguments", "method", "wanted"),
    [
        (D.Normal, {"loc": 0.0, "scale": 1.0}, "mean", 0.0),
        (D.Uniform, {"low": 0.0, "high": 1.0, "value": 2.0}, "prob", 0.0),
        (D.Gamma, {"concentration": 1.0, "rate": 1.0, "value": 0.5}, "prob", 0.6065),
        (D.Beta, {"concentration1": 1.0, "concentration0": 1.0, "value": 2.0}, "cdf", np.nan),  # only prob is checked
        (D.Bernoulli, {"probs": 0.5, "value": 1.0}, "prob", 0.5),
        (D.Bernoulli, {"probs": 0.25, "value": True}, "prob", 0.25),
        (D.Categorical, {"probs": [0.25, 0.75], "value": 1}, "prob", 0.75),
    ],
)
def test_valid_arguments_pass(make, arguments, method, wanted) -> None:
    for fed in (False, True):
        got = computed(make, arguments, method, fed, validate_args=True)
        np.testing.assert_allclose(got, wanted, rtol=1e-3)


@pytest.mark.parametrize("fed", [False, True])
def test_moments_that_are_not_defined(fed) -> None:
    gamma, beta = {"concentration": 0.5, "rate": 1.0}, {"concentration1": 0.5, "concentration0": 2.0}
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode not defined when any concentration <= 1"):
        computed(D.Gamma, gamma, "mode", fed, allow_nan_stats=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Mode undefined for concentration1 <= 1"):
        computed(D.Beta, beta, "mode", fed, allow_nan_stats=False)
    assert np.isnan(computed(D.Beta, beta, "mode", fed))
    assert computed(D.Gamma, {"concentration": 2.0, "rate": 1.0}, "mode", fed, allow_nan_stats=False) == 1.0


def test_a_divergence_that_is_nan() -> None:
    a, b = D.Normal(0.0, 1.0), D.Normal(float("nan"), 1.0)
    assert np.isnan(run(D.kl_divergence(a, b)))
    for divergence in (
        D.kl_divergence(a, b, allow_nan_stats=False),
        D.Normal(0.0, 1.0, allow_nan_stats=False).kl_divergence(b),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="returned NaN values"):
            run(divergence)
    double = tf.constant(2.0, tf.float64)
    assert run(D.Gamma(double, 1.0, validate_args=True, allow_nan_stats=False).mode()) == 1.0
