"""``tensor[...]``, slice and strided_slice."""

import random

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.library.tensor.slicing import slice_spec

ARRAY = np.arange(2 * 3 * 5).reshape(2, 3, 5)


def _random_key(rng):
    """An index for ARRAY: slices of all kinds, numbers, one Ellipsis at most, new axes."""
    parts, used, ellipsis = [], 0, False
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(["slice", "slice", "number", "ellipsis", "new"])
        if kind == "ellipsis" and not ellipsis:
            parts.append(...)
            ellipsis = True
        elif kind == "new":
            parts.append(None)
        elif kind in ("slice", "number") and used < 3:
            if kind == "number" and not ellipsis:
                size = ARRAY.shape[used]
                parts.append(rng.randint(-size, size - 1))
            else:
                bound = [None, *range(-7, 8)]
                parts.append(slice(rng.choice(bound), rng.choice(bound), rng.choice([None, 1, 2, 3, -1, -2])))
            used += 1
    return tuple(parts)


def test_any_index_means_what_it_means_in_numpy():
    rng = random.Random(7)
    keys = [_random_key(rng) for _ in range(150)]
    with tf.Graph().as_default():
        whole = tf.placeholder(tf.int32, ARRAY.shape)
        partly = tf.placeholder(tf.int32, [None, 3, None])
        slices = [(whole[key], partly[key]) for key in keys]
        values = run(slices, {whole: ARRAY, partly: ARRAY})
    for key, tensors, results in zip(keys, slices, values, strict=True):
        want = ARRAY[key]
        assert tuple(tensors[0].shape.as_list()) == want.shape, key
        assert tensors[1].shape.is_compatible_with(want.shape), key
        assert tensors[1].shape.ndims == want.ndim, key
        for result in results:
            np.testing.assert_array_equal(result, want, err_msg=str(key))


def test_gradient_of_any_index_fills_the_same_places():
    rng = random.Random(11)
    keys = [_random_key(rng) for _ in range(40)]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3, 5])
        grads = [tf.gradients(x[key], x)[0] for key in keys]
        values = run(grads, {x: ARRAY})
    for key, value in zip(keys, values, strict=True):
        want = np.zeros(ARRAY.shape)
        want[key] = 1
        np.testing.assert_array_equal(value, want, err_msg=str(key))


@pytest.mark.parametrize("key", ["a", 0.5, [1.5], np.array([0, 1]), True])
def test_a_wrong_kind_of_index_is_a_type_error(key):
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Only integers, slices"):
        tf.zeros([2, 2])[key]


def test_vector_tensors_and_two_ellipses_are_refused():
    with tf.Graph().as_default():
        x = tf.zeros([2, 2])
        with pytest.raises(TypeError, match="scalar"):
            x[tf.constant([0, 1])]
        with pytest.raises(ValueError, match="Multiple ellipses"):
            x[..., ...]


def test_spec_of_a_mixed_index():
    begin, end, strides, masks = slice_spec((1, slice(None, -1), ..., None, slice(2, None, 2)))
    assert (begin, end, strides) == ([1, 0, 0, 0, 2], [2, -1, 0, 0, 0], [1, 1, 1, 1, 2])
    assert masks == {
        "begin_mask": 2, "end_mask": 16, "ellipsis_mask": 4, "new_axis_mask": 8, "shrink_axis_mask": 1,
    }  # fmt: skip


def test_int64_indices_make_the_whole_spec_int64(session):
    at = tf.placeholder(tf.int64, [])
    part = tf.constant([10, 20, 30, 40])[at : at + 2]
    assert part.op.inputs[1].dtype == tf.int64
    np.testing.assert_array_equal(session.run(part, {at: 1}), [20, 30])


def test_numpy_integers_and_dimensions_are_indices(session):
    x = tf.constant([10, 20, 30])
    assert session.run(x[np.int64(1)]) == 20
    assert session.run(x[tf.Dimension(2)]) == 30


def test_an_index_out_of_range_found_at_run_time_names_it(session):
    x = tf.placeholder(tf.float32, [None])
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 5 of dimension 0 out of bounds"):
        session.run(x[5], {x: [1, 2]})


def test_slices_of_strings_keep_their_shape(session):
    s = tf.constant([["a", "b"], ["c", "d"]])
    assert session.run(s[1, 0]) == b"c"
    assert session.run(s[::-1, 1]).tolist() == [b"d", b"b"]
    assert session.run(s[0, tf.newaxis]).tolist() == [[b"a", b"b"]]


def test_strides_default_to_ones(session):
    np.testing.assert_array_equal(session.run(tf.strided_slice([1, 2, 3, 4], [1], [3])), [2, 3])


def test_static_shape_with_unknown_bounds():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 4, 6])
        k = tf.placeholder(tf.int32, [])
        assert x[k:, 1:3, ::-2].shape.as_list() == [None, 2, 3]
        assert x[:, :k].shape.as_list() == [None, None, 6]
        assert x[3:1].shape.as_list() == [0, 4, 6]
        assert x[k].shape.as_list() == [4, 6]


def test_bools_are_a_mask(session):
    x = tf.constant([[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(session.run(x[tf.constant([True, False, True])]), [[1, 2], [5, 6]])
    np.testing.assert_array_equal(session.run(x[x > 3]), [4, 5, 6])
    np.testing.assert_array_equal(session.run(x[np.array([False, True, False])]), [[3, 4]])
    assert x[x > 3].shape.as_list() == [None]
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        x[tf.constant(True)]
    with pytest.raises(ValueError, match="incompatible"):
        x[np.array([True, False])]
