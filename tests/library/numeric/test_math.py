"""Element-wise functions through the public face: types, special cases, structures, gradients of broadcasts."""

import numpy as np
import pytest
from running import run

import headrace as tf


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_cast_of_infinity_and_nan(dtype):
    """What the processor makes of them, in TensorFlow and NumPy too: the lowest integer on x86, the nearest one and 0 on ARM."""
    x = np.array([np.inf, -np.inf, np.nan])
    with np.errstate(invalid="ignore"):
        expected = x.astype(dtype)
    assert run(tf.cast(tf.constant(x), dtype)).tolist() == expected.tolist()


def test_cast():
    x = tf.constant([1.9, -1.9, 0.0])
    assert tf.cast(x, tf.float32) is x
    assert run(tf.cast(x, tf.int32)).tolist() == [1, -1, 0]
    assert run(tf.cast(x, tf.bool)).tolist() == [True, True, False]
    assert run(tf.cast([True, False], tf.float64)).tolist() == [1.0, 0.0]
    assert run(tf.cast(tf.constant([1 + 2j]), tf.float32)).tolist() == [1.0]
    assert run(tf.cast(tf.constant([300, -1]), tf.uint8)).tolist() == [44, 255]
    assert tf.cast(x, "int64").dtype == tf.int64
    sparse = tf.cast(tf.SparseTensor([[0, 1]], [1.5], [2, 2]), tf.int32)
    assert isinstance(sparse, tf.SparseTensor) and sparse.dtype == tf.int32
    slices = tf.cast(tf.IndexedSlices(tf.constant([[1.5]]), tf.constant([0])), tf.int32)
    assert isinstance(slices, tf.IndexedSlices) and slices.dtype == tf.int32
    with pytest.raises(TypeError):
        tf.cast(tf.constant(["a"]), tf.float32)


def test_saturate_cast():
    x = tf.constant([300.7, -5.0, 12.5])
    assert run(tf.saturate_cast(x, tf.uint8)).tolist() == [255, 0, 12]
    assert run(tf.saturate_cast(tf.constant([1000, -1000]), tf.int8)).tolist() == [127, -128]
    assert run(tf.saturate_cast(tf.constant([3], tf.uint8), tf.int32)).tolist() == [3]


def test_rounding_goes_to_the_even_neighbour():
    x = tf.constant([0.5, 1.5, 2.5, -0.5, -1.5])
    assert run(tf.round(x)).tolist() == [0.0, 2.0, 2.0, -0.0, -2.0]
    assert run(tf.rint(x)).tolist() == [0.0, 2.0, 2.0, -0.0, -2.0]


def test_division_without_nan():
    assert run(tf.div_no_nan([1.0, 2.0], [0.0, 4.0])).tolist() == [0.0, 0.5]
    assert run(tf.math.multiply_no_nan([np.inf, 2.0], [0.0, 4.0])).tolist() == [0.0, 8.0]
    assert run(tf.math.xlogy([0.0, 2.0], [0.0, 1.0])).tolist() == [0.0, 0.0]
    y = tf.constant([0.0, 2.0])
    gradient = run(tf.gradients(tf.div_no_nan([1.0, 1.0], y), y)[0])
    np.testing.assert_allclose(gradient, [0.0, -0.25])


def test_pow_gradient_at_zero_and_below():
    x, y = tf.constant([0.0, -2.0, 3.0]), tf.constant([2.0, 2.0, 2.0])
    gx, gy = run(tf.gradients(x**y, [x, y]))
    np.testing.assert_allclose(gx, [0.0, -4.0, 6.0])
    np.testing.assert_allclose(gy, [0.0, 0.0, 9 * np.log(3)], rtol=1e-6)


def test_maximum_gives_ties_to_the_first():
    x, y = tf.constant([1.0, 2.0]), tf.constant([1.0, 3.0])
    gx, gy = run(tf.gradients(tf.maximum(x, y), [x, y]))
    assert gx.tolist() == [1.0, 0.0] and gy.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("known", [True, False])
def test_gradients_of_broadcasts(known):
    shapes = [((2, 3), (3,)), ((2, 3), ()), ((2, 1), (1, 3)), ((1, 3), (2, 3)), ((4, 1, 3), (2, 1)), ((3,), (2, 3))]
    for a, b in shapes:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, a if known else [None] * len(a))
            y = tf.placeholder(tf.float64, b if known else [None] * len(b))
            gx, gy = tf.gradients(x * y, [x, y])
            feed = {x: np.array(np.random.RandomState(0).randn(*a)), y: np.array(np.random.RandomState(1).randn(*b))}
            got = session.run([gx, gy], feed)
            for i, (mine, other) in enumerate(((x, y), (y, x))):
                whole = np.broadcast_to(feed[other], np.broadcast_shapes(a, b))
                lacking = tuple(range(whole.ndim - feed[mine].ndim))
                expected = whole.sum(lacking) if lacking else whole
                stretched = tuple(k for k, d in enumerate(feed[mine].shape) if d == 1 and expected.shape[k] != 1)
                expected = expected.sum(stretched, keepdims=True) if stretched else expected
                np.testing.assert_allclose(got[i], expected)


def test_a_bias_gradient_needs_no_shapes():
    x, bias = tf.placeholder(tf.float32, [None, 3]), tf.constant([1.0, 2.0, 3.0])
    tf.gradients(x + bias, [x, bias], grad_ys=tf.placeholder(tf.float32, [None, 3]))
    types = [o.type for o in tf.get_default_graph().get_operations()]
    assert "_SumToShape" not in types and "Shape" not in types


def test_complex_numbers():
    z = tf.complex([3.0, 0.0], [4.0, -1.0])
    assert z.dtype == tf.complex64
    assert run(tf.abs(z)).tolist() == [5.0, 1.0]
    assert run(tf.conj(z)).tolist() == [3 - 4j, 1j]
    assert tf.real(z).dtype == tf.float32
    assert tf.complex(tf.constant(1.0, tf.float64), tf.constant(1.0, tf.float64)).dtype == tf.complex128
    x = tf.constant([1.0])
    assert tf.conj(x) is x and tf.real(x) is x
    with pytest.raises(TypeError, match="incorrect types"):
        tf.complex([1.0], tf.constant([1.0], tf.float64))


def test_add_n():
    x = tf.constant([[1.0], [2.0]])
    assert tf.add_n([x]) is x
    assert tf.add_n([x], name="named").op.name == "named"
    slices = tf.IndexedSlices(tf.constant([[5.0]]), tf.constant([1]), tf.constant([2, 1]))
    assert run(tf.add_n([x, slices])).tolist() == [[1.0], [7.0]]
    for bad in ([], x, 3):
        with pytest.raises(ValueError, match="at least one Tensor/IndexedSlices"):
            tf.add_n(bad)
    with pytest.raises((ValueError, TypeError)):
        tf.add_n([x, tf.constant([1, 2])])


def test_accumulate_n():
    x = tf.constant([1.0, 2.0])
    assert run(tf.accumulate_n([x, x, x])).tolist() == [3.0, 6.0]
    assert tf.accumulate_n([x, tf.placeholder(tf.float32)], shape=[2]).shape.as_list() == [2]
    with pytest.raises(TypeError, match="tensor_dtype"):
        tf.accumulate_n([x], tensor_dtype=tf.int32)


def test_scalar_mul():
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
    assert run(tf.scalar_mul(3, slices).values).tolist() == [[3.0]]
    with pytest.raises(ValueError, match="Only scalar multiply works"):
        tf.scalar_mul([1.0, 2.0], tf.constant([1.0, 2.0]))


def test_sparse_tensors_are_mapped():
    sparse = tf.SparseTensor([[0, 0], [1, 1]], [-4.0, 9.0], [2, 2])
    assert run(tf.abs(sparse)).values.tolist() == [4.0, 9.0]
    assert run(tf.square(sparse)).values.tolist() == [16.0, 81.0]
    assert run(tf.negative(sparse)).values.tolist() == [4.0, -9.0]


def test_types_that_an_op_does_not_take():
    with pytest.raises(TypeError, match="not in list of allowed values"):
        tf.exp(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="not in list of allowed values"):
        tf.less(tf.constant([1j]), tf.constant([1j]))
    with pytest.raises(TypeError):
        tf.logical_and(tf.constant([1]), tf.constant([True]))


def test_strings_compare():
    assert run(tf.equal(["a", "b"], "b")).tolist() == [False, True]
    assert run(tf.not_equal(["a", "b"], ["a", "c"])).tolist() == [False, True]


def test_wide_unsigned_integers_compute():
    for dtype in (tf.uint16, tf.uint32, tf.uint64):
        x, y = tf.constant([9, 7], dtype), tf.constant([2, 3], dtype)
        assert run([x + y, x * y, x // y, x % y, x < y])[0].tolist() == [11, 10]
        assert run(x // y).dtype == dtype.as_numpy_dtype


def test_second_derivatives():
    x = tf.constant([0.3, 0.8], tf.float64)
    for function in (tf.tanh, tf.sigmoid, tf.sqrt, tf.rsqrt, tf.reciprocal, tf.exp, tf.log, tf.sin, tf.erf, tf.lgamma):
        first = tf.gradients(function(x), x)[0]
        second = run(tf.gradients(first, x)[0])
        step = 1e-5
        shifted = [run(tf.gradients(function(z), z)[0]) for z in (tf.constant(run(x) + s) for s in (step, -step))]
        np.testing.assert_allclose(second, (shifted[0] - shifted[1]) / (2 * step), rtol=1e-5)
