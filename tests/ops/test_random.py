"""Random ops: their distributions, their streams, and stateless values as TensorFlow computes them."""

import math

import numpy as np
import pytest
from resources.calls import run_threads
from running import run
from running import run as draw

import headrace as tf

N = 20000


def normal_cdf(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


def ks_distance(sample: np.ndarray, cdf: np.ndarray) -> float:
    """How far the sample's distribution is from the one whose value at the sorted sample is ``cdf``."""
    n = len(sample)
    return max(np.max(np.arange(1, n + 1) / n - cdf), np.max(cdf - np.arange(n) / n))


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_uniform_is_uniform(dtype) -> None:
    x = np.sort(draw(tf.random_uniform([N], dtype=dtype, seed=1)))
    assert x[0] >= 0
    assert x[-1] < 1
    assert ks_distance(x, x) < 1.63 / math.sqrt(N)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_uniform_of_few_bits_never_reaches_one(dtype) -> None:
    x = draw(tf.random_uniform([N], dtype=dtype, seed=1))
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.astype(np.float64).mean() - 0.5) < 0.01


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_normal_is_normal(dtype) -> None:
    x = np.sort(draw(tf.random_normal([N], dtype=dtype, seed=1)))
    assert ks_distance(x, normal_cdf(x)) < 1.63 / math.sqrt(N)
    y = draw(tf.random_normal([N], mean=3.0, stddev=0.5, dtype=dtype, seed=2))
    assert abs(y.mean() - 3.0) < 0.02
    assert abs(y.std() - 0.5) < 0.01


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_truncated_normal_stays_within_two_sigma(dtype) -> None:
    x = np.sort(draw(tf.truncated_normal([N], dtype=dtype, seed=1)).astype(np.float64))
    assert np.abs(x).max() <= 2
    low = normal_cdf(np.array([-2.0]))[0]
    assert ks_distance(x, (normal_cdf(x) - low) / (1 - 2 * low)) < 1.63 / math.sqrt(N) + (
        0.001 if dtype is tf.float16 else 0
    )
    assert abs(x.std() - 0.8796) < 0.01


def test_uniform_integers_cover_the_range_evenly() -> None:
    x = draw(tf.random_uniform([N], -2, 3, tf.int32, seed=1))
    assert x.dtype == np.int32
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2]
    expected = N / 5
    assert ((counts - expected) ** 2 / expected).sum() < 18.5  # chi squared, 4 degrees of freedom, 0.1 %


def test_uniform_integers_of_the_widest_range() -> None:
    x = draw(tf.random_uniform([N], -(2**63), 2**63 - 1, tf.int64, seed=1))
    assert x.min() < -(2**62)
    assert x.max() > 2**62


def test_multinomial_follows_the_logits() -> None:
    logits = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-30]]))
    x = draw(tf.multinomial(logits, N, seed=1))
    assert x.dtype == np.int64
    share = np.stack([np.bincount(row, minlength=3) / N for row in x])
    np.testing.assert_allclose(share, [[0.1, 0.2, 0.7], [0.5, 0.5, 0]], atol=0.012)


def test_multinomial_never_chooses_minus_infinity() -> None:
    x = draw(tf.multinomial([[-np.inf, 0.0, -np.inf]], 100, output_dtype=tf.int32))
    assert x.dtype == np.int32
    assert (x == 1).all()


def test_gamma_and_poisson_moments() -> None:
    alpha = np.array([0.5, 3.0], np.float32)
    x = draw(tf.random_gamma([N], alpha, beta=2.0, seed=1))
    assert x.shape == (N, 2)
    np.testing.assert_allclose(x.mean(0), alpha / 2, rtol=0.05)
    np.testing.assert_allclose(x.var(0), alpha / 4, rtol=0.1)
    y = draw(tf.random_poisson([0.5, 30.0], [N], seed=1))
    np.testing.assert_allclose(y.mean(0), [0.5, 30.0], rtol=0.05)
    np.testing.assert_allclose(y.var(0), [0.5, 30.0], rtol=0.05)


@pytest.mark.parametrize(
    ("alpha", "sample", "slope"),  # of numbers with 40 digits
    [
        (5.0, 3e-65, 9.016532185462599e-64),
        (10.0, 6e-33, 4.5927180713185307e-32),
        (100.0, 1e-3, 1.1518031269653263e-4),
        (0.1, 501.0, 16.61256582248864),
        (2.0, 600.0, 5.985771668814713),
        (5.0, 1e4, 7.707405387343449),
        (3.0, 0.0, 0.0),
    ],
)
def test_gamma_changes_with_its_shape_in_the_tails(alpha: float, sample: float, slope: float) -> None:
    found = run(tf.raw_ops.RandomGammaGrad(np.float64(alpha), np.float64(sample)))
    np.testing.assert_allclose(found, slope, rtol=1e-3)


def test_gamma_is_differentiable() -> None:
    alpha = tf.constant(3.0)
    sample = tf.random_gamma([N], alpha, seed=1)
    slope = run(tf.gradients(sample, alpha)[0]) / N
    assert abs(slope - 1.0) < 0.05  # the mean is alpha


def test_parameterized_truncated_normal_far_in_the_tail() -> None:
    x = draw(tf.raw_ops.ParameterizedTruncatedNormal([2, 1000], [0.0, 5.0], 1.0, [10.0, -1.0], [np.inf, 5.0], seed=1))
    assert x[0].min() >= 10
    assert abs(x[0].mean() - 10.098) < 0.02
    assert x[1].max() <= 5


def test_shuffle_permutes_rows() -> None:
    rows = np.arange(40).reshape(20, 2)
    x = draw(tf.random_shuffle(rows, seed=1))
    assert sorted(map(tuple, x)) == list(map(tuple, rows))
    assert (x != rows).any()
    names = draw(tf.random_shuffle(["a", "b", "c", "d"], seed=2))
    assert sorted(names) == [b"a", b"b", b"c", b"d"]


# ---- streams


def test_each_step_goes_on_and_each_session_starts_again() -> None:
    x = tf.random_uniform([3], seed=5)
    with tf.Session() as sess:
        first, second = sess.run(x), sess.run(x)
    assert (first != second).any()
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(x), first)
        np.testing.assert_array_equal(sess.run(x), second)


def test_without_seeds_sessions_differ() -> None:
    x = tf.random_uniform([3])
    assert (draw(x) != draw(x)).any()


def test_a_graph_seed_gives_every_op_its_own_stream_again_and_again() -> None:
    results = []
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(1234)
            results.append(sess.run([tf.random_uniform([4]), tf.random_uniform([4])]))
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0][0] != results[0][1]).any()


def test_equal_op_seeds_give_equal_streams() -> None:
    a, b = tf.random_normal([4], seed=7), tf.random_normal([4], seed=7)
    x, y = run([a, b])
    np.testing.assert_array_equal(x, y)


def test_seeds_that_agree_in_their_low_bits_give_other_streams() -> None:
    tensors = [tf.raw_ops.RandomUniform([4], tf.float32, seed=s, seed2=t) for s, t in [(0, 1), (1, 0), (1, 1), (2, 1)]]
    values = run(tensors)
    assert len({v.tobytes() for v in values}) == 4


def test_concurrent_steps_share_a_stream_without_repeating(session: tf.Session) -> None:
    x = tf.random_uniform([50], seed=3)
    found: list[np.ndarray] = []
    session.run(x)
    run_threads(*[lambda: [found.append(session.run(x)) for _ in range(20)]] * 4)
    assert len({v.tobytes() for v in found}) == 80


# ---- stateless: values computed by TensorFlow

STATELESS = {
    "StatelessRandomUniform": [
        (tf.float32, [0.8440604, 0.19204533, 0.9962232, 0.1603874, 0.27199018, 0.649346]),
        (tf.float16, [0.543, 0.2354, 0.06055, 0.8936, 0.1436, 0.4424]),
        (tf.bfloat16, [0.34375, 0.882812, 0.484375, 0.148438, 0.148438, 0.539062]),
    ],
    "StatelessRandomNormal": [
        (tf.float32, [0.5441101, 0.20738031, 0.07356432, 0.04643455, -1.3015898, -0.9538565]),
        (tf.float64, [-0.14231181, 0.74060725, -1.46904767]),
    ],
}


@pytest.mark.parametrize("op_type", sorted(STATELESS))
def test_stateless_values_are_tensorflows(op_type: str) -> None:
    for dtype, expected in STATELESS[op_type]:
        x = draw(getattr(tf.raw_ops, op_type)([len(expected)], [1, 2], dtype))
        np.testing.assert_allclose(x, expected, rtol=1e-3 if dtype.size == 2 else 1e-6)


def test_stateless_integers_are_tensorflows() -> None:
    assert draw(tf.random.stateless_uniform([6], [1, 2], 3, 100, tf.int32)).tolist() == [60, 62, 95, 18, 36, 30]
    x = draw(tf.random.stateless_uniform([3], [1, 2], -3, 10**15, tf.int64))
    assert x.tolist() == [880146280592049, 45637757956502, 275318163997897]
    x = draw(tf.random.stateless_uniform([3], [1, 2], None, None, tf.int32))
    assert x.tolist() == [1105988140, 1738052849, -335576002]
    wide = tf.raw_ops.StatelessRandomUniform([3], np.array([-1, 2**40]), tf.float64)
    np.testing.assert_allclose(draw(wide), [0.94761993, 0.57910851, 0.13026312], atol=1e-8)


def test_stateless_multinomial_is_tensorflows() -> None:
    x = draw(tf.random.stateless_multinomial([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]], 7, [1, 2]))
    assert x.tolist() == [[2, 2, 1, 2, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0]]


def test_stateless_truncated_normal_is_truncated_and_repeats() -> None:
    x = tf.random.stateless_truncated_normal([N], [4, 5], stddev=2.0)
    a, b = draw(x), draw(x)
    np.testing.assert_array_equal(a, b)
    assert np.abs(a).max() <= 4
    assert abs(a.std() - 1.7593) < 0.02
