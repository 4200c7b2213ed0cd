"""Kernels that go another way about many numbers, or about few, give the same as NumPy."""

import numpy as np
import pytest
import torch
from running import initialize_and_run, run

import headrace as tf
from headrace.ops import random

RANDOM = np.random.RandomState(3)


def given(array):
    """A value that is not known before running."""
    return (
        tf.Variable(array).initialized_value() * 1
        if array.dtype != bool
        else tf.logical_not(tf.Variable(~array).initialized_value())
    )


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_truth(axis, keepdims):
    array = RANDOM.rand(300, 256) > 0.01
    array[5] = True
    array[9, :] = False
    for given_, ours, theirs in ((array, tf.reduce_all, np.all), (~array, tf.reduce_any, np.any)):
        found = run(ours(given(given_), axis, keepdims))
        assert np.array_equal(found, theirs(given_, axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("axes", [[0, 2], [2, 0], [-2, 0], [1, 3], [0, 3], [0, 1], [0, 1, 3]])
def test_sums_over_several_axes(axes, dtype):
    array = RANDOM.randint(-9, 9, [2, 30, 3, 20]).astype(dtype)
    for keepdims in (False, True):
        found = run(tf.reduce_sum(given(array), axes, keepdims))
        np.testing.assert_allclose(found, array.sum(tuple(axes), keepdims=keepdims), rtol=1e-6)


def test_gradient_of_tiles():
    x = tf.Variable(RANDOM.rand(40, 30))
    weights = RANDOM.rand(120, 60)
    (gradient,) = tf.gradients(tf.tile(x, [3, 2]) * weights, [x])
    np.testing.assert_allclose(initialize_and_run(gradient), weights.reshape(3, 40, 2, 30).sum((0, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
@pytest.mark.parametrize("reverse", [False, True])
def test_nth_element(dtype, reverse):
    array = RANDOM.randint(0, 200, [3, 5, 70]).astype(dtype)
    found = run(tf.raw_ops.NthElement(input=given(array), n=7, reverse=reverse))
    ordered = np.sort(array)[..., ::-1] if reverse else np.sort(array)
    assert np.array_equal(found, ordered[..., 7])


@pytest.mark.parametrize(
    "equation", ["bik,bjk->bij", "bik,bkj->bij", "ik,kj->ij", "ik,jk->ij", "bik,bjk->bji", "abik,abjk->abij", "ik,jk"]
)
@pytest.mark.parametrize("size", [3, 40])
def test_einstein_sums_that_are_products(equation, size):
    sizes = dict(zip("abijk", (2, 3, size, size + 1, size + 2), strict=True))
    left, right = equation.partition("->")[0].split(",")
    x, y = (RANDOM.rand(*[sizes[c] for c in part]) for part in (left, right))
    np.testing.assert_allclose(run(tf.einsum(equation, given(x), given(y))), np.einsum(equation, x, y))


@pytest.mark.parametrize("shape", [[1, 3, 4, 9], [2, 20, 20, 32], [1, 2, 2, 100], [1, 3, 3, 3]])
@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0])
def test_local_response(shape, beta):
    x = RANDOM.rand(*shape).astype(np.float32)
    norm = np.ones(shape)
    for c in range(shape[3]):
        norm[..., c] = 2.0 + 0.3 * (x[..., max(c - 2, 0) : c + 3] ** 2).sum(-1)
    expected = x / norm**beta
    found = tf.nn.lrn(given(x), depth_radius=2, bias=2.0, alpha=0.3, beta=beta)
    np.testing.assert_allclose(run(found), expected, rtol=2e-5)


def test_local_response_keeps_infinities_to_their_neighbours():
    x = np.ones([1, 2, 2, 32], np.float32)
    x[0, 1, 1, 20] = np.inf
    found = run(tf.nn.lrn(given(x), depth_radius=2))
    assert np.isfinite(found[0, 0]).all()
    assert found[0, 1, 1, 18] == 0 and np.isnan(found[0, 1, 1, 20])
    assert np.isfinite(found[0, 1, 1, :18]).all() and np.isfinite(found[0, 1, 1, 23:]).all()


@pytest.mark.parametrize("length", [5, 6, 8, 9])
def test_gradient_of_real_transforms(length):
    """Of 6 numbers: as many, fewer and more are transformed."""
    x, weights = tf.constant(RANDOM.rand(2, 6)), RANDOM.rand(2, length // 2 + 1) + 1j * RANDOM.rand(2, length // 2 + 1)
    (gradient,) = tf.gradients(tf.raw_ops.RFFT(input=x, fft_length=[length], Tcomplex=tf.complex128), [x], [weights])
    expected = np.zeros([2, 6])
    for i in range(6):
        column = np.fft.rfft(np.eye(6)[i], length)
        expected[:, i] = (weights * column.conj()).sum(-1).real
    np.testing.assert_allclose(run(gradient), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [[2, 40, 30, 16], [1, 4, 6, 3], [2, 41, 30, 16]])
def test_pools_of_two_by_two(shape):
    x = tf.constant(RANDOM.rand(*shape).astype(np.float32)) * 1
    array = run(x)
    whole = np.full([shape[0], shape[1] + shape[1] % 2, *shape[2:]], np.nan, np.float32)
    whole[:, : shape[1]] = array
    blocks = whole.reshape(shape[0], -1, 2, shape[2] // 2, 2, shape[3])
    assert np.array_equal(run(tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")), np.nanmax(blocks, (2, 4)))
    mean = tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    np.testing.assert_allclose(run(mean), np.nanmean(blocks, (2, 4)), rtol=1e-5)
    weights = RANDOM.rand(*mean.shape.as_list()).astype(np.float32)
    (gradient,) = tf.gradients(mean, [x], [weights])
    count = (~np.isnan(blocks)).sum((2, 4))
    spread = (weights / count)[:, :, None, :, None] * np.ones([1, 1, 2, 1, 2, 1])
    np.testing.assert_allclose(run(gradient), spread.reshape(whole.shape)[:, : shape[1]], rtol=1e-5)


def test_gradient_of_a_pool_of_another_size():
    with pytest.raises(tf.errors.OpError):
        run(
            tf.raw_ops.AvgPoolGrad(
                orig_input_shape=[1, 4, 6, 3], grad=tf.ones([1, 2, 2, 3]) * 1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
                padding="SAME",
            )
        )  # fmt: skip


@pytest.mark.parametrize("count", [100, 20_000])
def test_activations(count):
    x = (RANDOM.randn(count) * 20).astype(np.float32)
    x[:6] = np.inf, -np.inf, np.nan, 0.0, -1e-8, 1e-8
    wide, grad = x.astype(np.float64), RANDOM.randn(count).astype(np.float32)
    with np.errstate(all="ignore"):
        elu = np.where(wide > 0, wide, np.expm1(wide))
        slope = np.where(elu < 0, grad * (elu + 1), grad)
        softplus = np.logaddexp(0, wide)
        sigmoid = grad / (1 + np.exp(-wide))
    g = given(grad)
    found = run(
        [
            tf.nn.elu(given(x)),
            tf.raw_ops.EluGrad(gradients=g, outputs=given(elu.astype(np.float32))),
            tf.nn.softplus(given(x)),
            tf.raw_ops.SoftplusGrad(gradients=g, features=given(x)),
        ]
    )
    for ours, theirs in zip(found, (elu, slope, softplus, sigmoid), strict=True):
        np.testing.assert_allclose(ours[2:3], [np.nan]) if theirs is not slope else None
        np.testing.assert_allclose(np.delete(ours, 2), np.delete(theirs, 2), rtol=1e-5, atol=2e-7)


@pytest.mark.parametrize("count", [3, 20_000])
def test_complex_numbers(count):
    z = (RANDOM.randn(count) * 3 + 1j * RANDOM.randn(count) * 9).astype(np.complex64)
    w = (RANDOM.randn(count) + 1j).astype(np.complex64)
    for special in ((), (100, -200 + 1j, 89)):
        z[: len(special)] = special
        found = run([tf.exp(given(z)), tf.abs(given(z)), tf.conj(given(z)), tf.complex(given(z.real), given(z.imag))])
        with np.errstate(all="ignore"):
            wanted = [np.exp(z), np.abs(z), np.conj(z), z]
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_allclose(run(given(w) * given(w[::-1].copy())), w * w[::-1], rtol=1e-5)


def test_truncated_normal_numbers_are_quantiles():
    """As the inverse of the distribution function of the uniform numbers they are made of."""
    x = torch.linspace(-0.9544996, 0.9544996, 200_001)
    wanted = torch.erfinv(x.double()) * 2**0.5
    found = random._quantiles(x.clone())
    assert (found - wanted).abs().max() < 5e-7
    assert found.abs().max() <= 2
