"""Sorting, histograms, Fourier transforms and segments of chosen rows."""

import numpy as np
import pytest
from running import run

import headrace as tf

X = np.random.RandomState(0).randn(3, 4, 5).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_sort(axis):
    np.testing.assert_array_equal(run(tf.sort(X, axis)), np.sort(X, axis))
    np.testing.assert_array_equal(run(tf.argsort(X, axis)), np.argsort(X, axis, kind="stable"))
    falling = run(tf.sort(tf.constant(X), axis, direction="DESCENDING"))
    np.testing.assert_array_equal(falling, -np.sort(-X, axis))


def test_sort_of_integers_at_the_limits():
    x = np.array([3, np.iinfo(np.int32).min, np.iinfo(np.int32).max, 0], np.int32)
    np.testing.assert_array_equal(run(tf.sort(x)), np.sort(x))
    assert run(tf.argsort([2, 1, 2, 1])).tolist() == [1, 3, 0, 2]


def test_sort_of_partly_known_shapes():
    x = tf.placeholder(tf.float32, [None, 3])
    assert tf.sort(x).shape.as_list() == [None, 3]
    assert run(tf.gradients(tf.sort(x)[:, 0], x)[0], {x: [[2.0, 1.0, 3.0]]}).tolist() == [[0.0, 1.0, 0.0]]
    for bad in ({"direction": "UP"}, {"axis": 2}):
        with pytest.raises(ValueError):
            tf.sort(x, **bad)


def test_histogram():
    values = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]
    assert run(tf.histogram_fixed_width(values, [0.0, 5.0], nbins=5)).tolist() == [2, 1, 1, 0, 2]
    assert run(tf.histogram_fixed_width_bins(values, [0.0, 5.0], nbins=5)).tolist() == [0, 0, 1, 2, 4, 4]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_fourier(rank):
    suffix = "" if rank == 1 else f"{rank}d"
    axes = tuple(range(-rank, 0))
    z = (X + 1j * X[::-1]).astype(np.complex64)
    transformed = getattr(tf.signal, f"fft{suffix}")(z)
    np.testing.assert_allclose(run(transformed), np.fft.fftn(z, axes=axes), atol=1e-4)
    np.testing.assert_allclose(run(getattr(tf.signal, f"ifft{suffix}")(transformed)), z, atol=1e-5)
    even = X[..., :4]
    half = getattr(tf.signal, f"rfft{suffix}")(even)
    np.testing.assert_allclose(run(half), np.fft.rfftn(even, axes=axes), atol=1e-4)
    assert half.shape.as_list() == [3, 4, 3]
    np.testing.assert_allclose(run(getattr(tf.signal, f"irfft{suffix}")(half)), even, atol=1e-5)


@pytest.mark.parametrize("axis", [-2, 0, 1, -1])
def test_sorting_what_has_no_static_rank(axis):
    x = tf.placeholder(tf.float32)
    value = np.random.RandomState(0).randn(3, 4, 2).astype(np.float32)
    found = run([tf.sort(x, axis), tf.argsort(x, axis), tf.sort(x, axis, "DESCENDING")], {x: value})
    np.testing.assert_array_equal(found[0], np.sort(value, axis))
    np.testing.assert_array_equal(found[1], np.argsort(value, axis))
    np.testing.assert_array_equal(found[2], -np.sort(-value, axis))


@pytest.mark.parametrize("axis", [3, -2])
def test_sorting_along_an_axis_that_is_not_there(axis):
    x = tf.placeholder(tf.float32)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="test_sorting.py"):
        session.run(tf.sort(x, axis), {x: [2.0, 1.0]})
    with pytest.raises(ValueError, match=rf"axis {axis} is not in \[-1, 1\).*test_sorting.py"):
        tf.sort([2.0, 1.0], axis)
    with pytest.raises(ValueError, match="axis must be a constant integer, got 'rows'.*test_sorting.py"):
        tf.sort([2.0, 1.0], "rows")


def test_segments_of_chosen_rows():
    table = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    chosen, ids = [0, 2, 2], [0, 0, 1]
    assert run(tf.sparse_segment_sum(table, chosen, ids)).tolist() == [[6.0, 8.0], [5.0, 6.0]]
    mean = tf.sparse_segment_mean(table, chosen, ids)
    assert run(mean).tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert run(tf.gradients(mean, table)[0]).tolist() == [[0.5, 0.5], [0.0, 0.0], [1.5, 1.5]]
    sized = tf.sparse_segment_sqrt_n(table, chosen, ids, num_segments=3)
    assert sized.shape.as_list() == [3, 2]
    np.testing.assert_allclose(run(sized), [[6 / 2**0.5, 8 / 2**0.5], [5, 6], [0, 0]], rtol=1e-6)


def test_matrix_square_root():
    m = np.array([[4.0, 1.0], [1.0, 3.0]])
    root = run(tf.matrix_square_root(m))
    np.testing.assert_allclose(root @ root, m)
