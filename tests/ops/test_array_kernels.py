"""Kernels on arrays that look at indices, write into variables or share memory: errors, edges and concurrency."""

import numpy as np
import pytest
from resources.calls import run_threads
from running import initialized_session

import headrace as tf

OFF = tf.ConfigProto(compile="off")


def floats(*shape):
    return tf.Variable(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def ints(values, dtype=np.int32):
    return tf.Variable(np.array(values, dtype))


def run(make):
    with tf.Graph().as_default(), tf.Session(config=OFF) as sess:
        y = make()
        sess.run(tf.global_variables_initializer())
        return sess.run(y)


REFUSED = {
    "gather -1": (lambda: tf.gather(floats(3, 2), ints([1, -1])), r"indices\[1\] = -1 is not in \[0, 3\)"),
    "gather 3": (lambda: tf.gather(floats(3, 2), ints([1, 3], np.int64)), r"indices\[1\] = 3 is not in \[0, 3\)"),
    "gather -1 of int64": (lambda: tf.gather(floats(3), ints([-1], np.int64)), r"indices\[0\] = -1 is not in"),
    "batch_gather": (lambda: tf.batch_gather(floats(2, 3), ints([[1, 3], [0, 0]])), r"indices\[0,1\] = 3 is not in"),
    "gather_nd": (lambda: tf.gather_nd(floats(3, 2), ints([[0, 0], [1, -1]])), r"indices\[1\] = \[1, -1\] does not"),
    "scatter_nd": (lambda: tf.scatter_nd(ints([[2]]), floats(1), [2]), r"indices\[0\] = \[2\] does not index into"),
    "scatter_update": (lambda: tf.scatter_update(floats(3), ints([3]), [1.0]), r"indices\[0\] = 3 is not in \[0, 3\)"),
    "scatter_add": (lambda: tf.scatter_add(floats(3), ints(-1), 1.0), r"indices\[\] = -1 is not in \[0, 3\)"),
    "scatter_nd_add": (lambda: tf.scatter_nd_add(floats(3, 2), ints([[1, -1]]), [1.0]), r"= \[1, -1\] does not index"),
    "dynamic_partition": (lambda: tf.dynamic_partition(floats(2), ints([1, 3]), 2), r"partitions\[1\] = 3 is not in"),
    "dynamic_stitch": (lambda: tf.dynamic_stitch([ints([1, -3])], [floats(2)]), "indices must not be negative, got -3"),
    "invert_permutation": (lambda: tf.invert_permutation(ints([1, 1])), "1 is duplicated in the input"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_say_what_tensors_say(name):
    make, message = REFUSED[name]
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(make)


def test_the_value_that_is_wrong_may_come_from_a_tensor():
    """An index that a kernel on tensors made: it is gone as a tensor once it is an array."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 7 is not in \[0, 3\)"):
        run(lambda: tf.gather(floats(3), tf.py_func(lambda: np.array([7], np.int32), [], tf.int32, False) + ints([0])))


SAME = {
    "rows twice": lambda: tf.scatter_add(floats(3, 4), ints([1, 1]), floats(2, 4)),
    "rows of odd width": lambda: tf.scatter_sub(floats(3, 3), ints([1, 1]), floats(2, 3)),
    "strided rows": lambda: tf.scatter_add(floats(3, 4), ints([2, 2]), floats(2, 8)[:, ::2]),
    "one for all": lambda: tf.scatter_add(floats(3, 4), ints([2, 2, 0]), 1.5),
    "no rows": lambda: tf.scatter_add(floats(3, 4), ints([]), floats(0, 4)),
    "coordinates": lambda: tf.scatter_nd_sub(floats(3, 4), ints([[0, 1], [2, 3], [0, 1]]), floats(3)),
    "scatter_nd": lambda: tf.scatter_nd(ints([[1], [1], [0]]), floats(3, 2), [4, 2]),
    "no class": lambda: tf.one_hot(ints([0, -1, 3, 2], np.int64), 3, on_value=-0.0, off_value=0.0),
    "many classes": lambda: tf.one_hot(ints([0, -1, 199, 300]), 200),
    "classes first": lambda: tf.one_hot(ints([[0, 2], [5, 1]]), 3, 2, 7, axis=0),
    "blocks beside the input": lambda: tf.space_to_batch_nd(floats(1, 1, 3, 1), [2, 3], [[3, 2], [4, 2]]),
    "cropped blocks": lambda: tf.batch_to_space_nd(floats(4, 2, 2, 1), [2, 2], [[1, 2], [0, 1]]),
    "backwards": lambda: tf.negative(floats(5)[::-2]) + 1.0,
    "mirror of an edge": lambda: tf.pad(floats(2, 3), [[1, 1], [2, 0]], "REFLECT"),
    "mirror of all": lambda: tf.pad(floats(2, 3), [[2, 1], [0, 3]], "SYMMETRIC"),
    "adjoint": lambda: tf.negative(tf.linalg.adjoint(tf.complex(floats(2, 3), floats(2, 3)))),
    "nothing": lambda: tf.reshape(floats(0, 3), [-1, 0]),
    "far apart": lambda: tf.unique(ints([10**9, 5, 10**9, -7], np.int64)),
    "many far apart": lambda: tf.unique(ints([10**9, 5, 10**9, -7] * 30, np.int64)),
    "many close together": lambda: tf.unique_with_counts(ints([13, -2, 13, 7] * 30, np.int64)),
    "none": lambda: tf.unique(ints([])),
    "missing rows": lambda: tf.dynamic_stitch([ints([3]), ints([[0]])], [floats(1, 2), floats(1, 1, 2)]),
    "many parts": lambda: tf.dynamic_partition(floats(4, 2), ints([9, 0, 9, 3]), 10),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_as_on_tensors(name, monkeypatch):
    found = run(SAME[name])
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")
    wanted = run(SAME[name])
    for a, b in zip(*([x] if isinstance(x, np.ndarray) else x for x in (found, wanted)), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
        assert not np.issubdtype(b.dtype, np.floating) or np.array_equal(np.signbit(a), np.signbit(b))


def test_parts_of_a_variable_are_of_the_time_of_the_read():
    v = floats(4)
    row = tf.reshape(v, [2, 2])[1]
    with tf.control_dependencies([row]):
        later = tf.assign_add(v, [10.0] * 4)
    with initialized_session(config=OFF) as sess:
        found, _ = sess.run([row, later])
        found[0] = 99.0
        assert found.tolist() == [99.0, 3.0]
        assert sess.run(v).tolist() == [10.0, 11.0, 12.0, 13.0]


def test_locked_updates_from_many_threads_all_count():
    v = tf.Variable(np.zeros((4, 2), np.float32))
    add = tf.scatter_add(v, ints([0, 3, 3]), tf.ones([3, 2]), use_locking=True)
    with initialized_session(config=OFF) as sess:
        run_threads(*[lambda: [sess.run(add.op) for _ in range(50)]] * 4)
        assert sess.run(v).tolist() == [[200.0, 200.0], [0.0, 0.0], [0.0, 0.0], [400.0, 400.0]]


def test_a_failed_check_shows_arrays_as_tensors():
    def make():
        x, flags = floats(2, 3), tf.Variable([True, False])
        return tf.Assert(tf.reduce_all(flags), [x * 2.0, tf.stack([x[0, 1], x[1, 2]]), flags, x[1, 1]], summarize=4)

    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"failed: \[\[0 2 4\]\[6\.\.\.\]\.\.\.\] \[1 5\] \[1 0\] \[4\]"
    ):
        run(make)
