"""gather, scatter, partitions and diagonals beyond what the golden file holds."""

import numpy as np
import pytest
from running import run

import headrace as tf


@pytest.mark.parametrize(
    ("indices", "message"),
    [([0, 1, 7], r"indices\[2\] = 7 is not in \[0, 5\)"), ([[0], [-1]], r"indices\[1,0\] = -1 is not in \[0, 5\)")],
)
def test_gather_names_the_bad_index(indices, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(tf.gather(tf.placeholder_with_default(np.arange(5.0), [5]), indices))


def test_gather_nd_names_the_bad_coordinates():
    x = tf.placeholder_with_default(np.ones([2, 3]), [None, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = \[0, 3\] does not index into"):
        run(tf.gather_nd(x, [[1, 2], [0, 3]]))


def test_gradient_of_rows_is_sparse():
    x = tf.placeholder(tf.float32, [None, 2])
    (grad,) = tf.gradients(tf.gather(x, [[2, 0], [2, 1]]), x)
    assert isinstance(grad, tf.IndexedSlices)
    value = run(grad, {x: np.zeros([3, 2])})
    assert value.indices.tolist() == [2, 0, 2, 1]
    assert value.values.shape == (4, 2)
    assert value.dense_shape.tolist() == [3, 2]
    (dense,) = tf.gradients(tf.gather(x, [0, 1, 1], axis=1), x)
    assert isinstance(dense, tf.Tensor)
    np.testing.assert_array_equal(run(dense, {x: np.zeros([1, 2])}), [[1, 2]])


def test_batched_gather_against_loops():
    params, indices = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5), np.array([[[0, 3], [1, 1]], [[2, 2], [3, 0]]])
    have = run(tf.gather(params, indices, axis=2, batch_dims=1))
    want = np.stack([np.take(p, i, axis=1) for p, i in zip(params, indices, strict=True)])
    np.testing.assert_array_equal(have, want)
    rows = indices % 3
    have = run(tf.gather_nd(params, rows[..., None], batch_dims=1))
    np.testing.assert_array_equal(have, np.stack([p[i] for p, i in zip(params, rows, strict=True)]))


def test_unique_keeps_the_order_of_appearance():
    rng = np.random.RandomState(0)
    for values in (rng.randint(0, 9, 50), rng.choice([b"x", b"a", b"m"], 20).astype(object), np.array([], np.float32)):
        y, idx, count = run(tf.unique_with_counts(values))
        want = list(dict.fromkeys(values.tolist()))
        assert list(y) == want
        assert [want[i] for i in idx] == values.tolist()
        assert list(count) == [values.tolist().count(v) for v in want]


def test_partition_and_stitch_are_inverse():
    data = np.arange(12.0).reshape(6, 2)
    parts = np.array([2, 0, 1, 0, 2, 2])
    pieces = tf.dynamic_partition(data, parts, 3)
    places = tf.dynamic_partition(tf.range(6), parts, 3)
    np.testing.assert_array_equal(run(tf.dynamic_stitch(places, pieces)), data)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"partitions\[1\] = 3 is not in \[0, 3\)"):
        run(tf.dynamic_partition([1.0, 2.0], tf.placeholder_with_default([0, 3], [2]), 3))


def test_boolean_mask_needs_a_known_rank():
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        tf.boolean_mask([1, 2], True)
    with pytest.raises(ValueError, match="must be equal|incompatible"):
        tf.boolean_mask(tf.zeros([3, 2]), [True, False])


def test_several_diagonals():
    m = np.arange(12).reshape(3, 4)
    part = run(tf.matrix_diag_part(m, k=(-1, 1), padding_value=-7))
    np.testing.assert_array_equal(part, [[1, 6, 11], [0, 5, 10], [4, 9, -7]])
    back = run(tf.matrix_diag(part, k=(-1, 1), num_rows=3, num_cols=4))
    np.testing.assert_array_equal(back, np.triu(np.tril(m, 1), -1))
    np.testing.assert_array_equal(
        run(tf.matrix_set_diag(m, [-1, -2], k=-1)), [[0, 1, 2, 3], [-1, 5, 6, 7], [8, -2, 10, 11]]
    )
    np.testing.assert_array_equal(run(tf.matrix_diag([1, 2], k=1)), [[0, 1, 0], [0, 0, 2], [0, 0, 0]])


def test_assigning_to_a_slice_of_a_variable(session):
    v = tf.Variable(np.arange(5.0))
    session.run(v.initializer)
    ref = tf.get_default_graph().get_operation_by_name("Variable").outputs[0]
    session.run(tf.raw_ops.StridedSliceAssign(ref, [0], [0], [2], [9.0, 8.0, 7.0], begin_mask=1, end_mask=1).op)
    np.testing.assert_array_equal(session.run(v), [9, 1, 8, 3, 7])


def test_scatter_adds_what_repeats_and_checks_shapes():
    np.testing.assert_array_equal(run(tf.scatter_nd([[1], [1]], [3, 4], [3])), [0, 7, 0])
    with pytest.raises(ValueError, match="updates"):
        tf.scatter_nd([[1]], [1.0, 2.0], [3])


def test_required_paddings_at_run_time():
    size = tf.placeholder(tf.int32, [2])
    paddings, crops = tf.required_space_to_batch_paddings(size, [2, 3], [[1, 0], [0, 0]])
    fixed = tf.required_space_to_batch_paddings([4, 7], [2, 3], [[1, 0], [0, 0]])
    for a, b in zip(run([paddings, crops], {size: [4, 7]}), run(fixed), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(run(fixed[0]), [[1, 1], [0, 2]])


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_depth_and_space_are_inverse(data_format):
    x = np.random.RandomState(0).randn(2, 4, 4, 4).astype(np.float32)
    deep = tf.space_to_depth(x, 2, data_format=data_format)
    np.testing.assert_array_equal(run(tf.depth_to_space(deep, 2, data_format=data_format)), x)


def test_strings_are_scattered():
    assert run(tf.scatter_nd([[1], [3], [1]], ["a", "b", "c"], [4])).tolist() == [b"", b"ac", b"", b"b"]
    assert run(tf.scatter_nd([[1], [1]], [["a", "b"], ["c", "d"]], [2, 2])).tolist() == [[b"", b""], [b"ac", b"bd"]]
    words = tf.constant([["x", "y"], ["z", "w"]])
    changed = tf.tensor_scatter_update(words, [[1, 0], [0, 1], [1, 0]], ["q", "r", "s"])
    assert [v.tolist() for v in run([changed, words])] == [[[b"x", b"r"], [b"s", b"w"]], [[b"x", b"y"], [b"z", b"w"]]]
    for scattered in (tf.scatter_nd([[4]], ["a"], [4]), tf.tensor_scatter_update(["a"], [[4]], ["b"])):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = \[4\] does not index into shape"):
            run(scattered)
