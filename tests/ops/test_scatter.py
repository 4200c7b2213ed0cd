"""Updates of parts of a variable, against numpy."""

import numpy as np
import pytest

import headrace as tf
from headrace.core import errors

START = np.arange(1.0, 9.0, dtype=np.float32).reshape(4, 2)
INDEX = np.array([3, 1, 3], np.int32)
ROWS = np.array([[2.0, 4.0], [0.5, 8.0], [10.0, 0.25]], np.float32)

ROW_UPDATES = {
    "add": (tf.scatter_add, np.add),
    "sub": (tf.scatter_sub, np.subtract),
    "mul": (tf.scatter_mul, np.multiply),
    "div": (tf.scatter_div, np.divide),
    "min": (tf.scatter_min, np.minimum),
    "max": (tf.scatter_max, np.maximum),
}


def updated(make, start=START, then=None):
    v = tf.Variable(start)
    update = make(v)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(update)
        return sess.run(v if then is None else then)


@pytest.mark.parametrize("kind", ROW_UPDATES)
def test_rows_given_twice_are_updated_twice(kind: str) -> None:
    function, rule = ROW_UPDATES[kind]
    want = START.copy()
    for i, row in zip(INDEX, ROWS, strict=True):
        want[i] = rule(want[i], row)
    np.testing.assert_allclose(updated(lambda v: function(v, INDEX, ROWS)), want, rtol=1e-6)
    slices = tf.IndexedSlices(tf.constant(ROWS), tf.constant(INDEX))
    np.testing.assert_allclose(updated(lambda v: getattr(v, f"scatter_{kind}")(slices)), want, rtol=1e-6)


@pytest.mark.parametrize("count", [500, 2000])
@pytest.mark.parametrize("kind", ["add", "sub"])
def test_many_rows_given_several_times(kind: str, count: int) -> None:
    random = np.random.RandomState(0)
    start, rows = random.randn(40, 16), random.randn(count, 16)
    index = random.randint(0, 40, count)
    function, rule = ROW_UPDATES[kind]
    want = start.copy()
    rule.at(want, index, rows)
    np.testing.assert_allclose(updated(lambda v: function(v, index, rows), start), want, rtol=1e-9)


@pytest.mark.parametrize("kind", [*ROW_UPDATES, "update"])
def test_other_rows_keep_every_bit(kind: str) -> None:
    odd = START.copy()
    odd[0] = [np.nan, -0.0]
    odd[2] = [np.inf, 1e-45]
    function = tf.scatter_update if kind == "update" else ROW_UPDATES[kind][0]
    got = updated(lambda v: function(v, [1, 3], ROWS[:2]), odd)
    assert got[[0, 2]].tobytes() == odd[[0, 2]].tobytes()


def test_update_sets_rows() -> None:
    got = updated(lambda v: tf.scatter_update(v, [2, 0], ROWS[:2]))
    np.testing.assert_array_equal(got, [ROWS[1], START[1], ROWS[0], START[3]])
    np.testing.assert_array_equal(updated(lambda v: tf.scatter_update(v, [0, 3], 9.0))[[0, 3]], np.full((2, 2), 9.0))


def test_integer_division_truncates() -> None:
    got = updated(lambda v: tf.scatter_div(v, [0, 1, 1], [2, 2, 2]), np.array([-7, 9, 5]))
    assert got.tolist() == [-3, 2, 5]
    with pytest.raises(errors.InvalidArgumentError, match="division by zero"):
        updated(lambda v: tf.scatter_div(v, [0], [0]), np.array([1]))


def test_coordinates() -> None:
    want = START.copy()
    want[0, 1] += 3
    want[2, 0] += 5
    np.testing.assert_array_equal(updated(lambda v: tf.scatter_nd_add(v, [[0, 1], [2, 0]], [3.0, 5.0])), want)
    want = START.copy()
    want[1] -= [1, 1]
    want[1] -= [2, 2]
    got = updated(lambda v: v.scatter_nd_sub([[1], [1]], [[1.0, 1.0], [2.0, 2.0]]))
    np.testing.assert_array_equal(got, want)
    assert updated(lambda v: v.scatter_nd_update([[3, 1]], [0.0])).tolist()[3] == [7.0, 0.0]
    assert updated(lambda v: tf.scatter_nd_update(v, [[1, 0]], [0.0])).tolist()[1] == [0.0, 4.0]


def test_batches() -> None:
    start = np.array([[1, 2, 3], [4, 5, 6]])
    got = updated(lambda v: tf.batch_scatter_update(v, [[0, 1], [2, 0]], [[10, 20], [60, 40]]), start)
    assert got.tolist() == [[10, 20, 3], [40, 5, 60]]
    slices = tf.IndexedSlices(tf.constant([[7], [8]], tf.int64), tf.constant([[1], [1]]))
    assert updated(lambda v: v.batch_scatter_update(slices), start).tolist() == [[1, 7, 3], [4, 8, 6]]


@pytest.mark.parametrize("index", [4, -1])
def test_bad_indices_are_named(index: int) -> None:
    for function in (*(f for f, _ in ROW_UPDATES.values()), tf.scatter_update):
        with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[1\] = {index} is not in \[0, 4\)"):
            updated(lambda v, f=function: f(v, [0, index], ROWS[:2]))
    for function in (tf.scatter_nd_add, tf.scatter_nd_sub, tf.scatter_nd_update):
        with pytest.raises(
            errors.InvalidArgumentError, match=rf"indices\[0\] = \[{index}, 0\] does not index into shape"
        ):
            updated(lambda v, f=function: f(v, [[index, 0]], [1.0]))


def test_shapes_are_checked_while_building_and_while_running(session: tf.Session) -> None:
    v = tf.Variable(START)
    with pytest.raises(ValueError, match="updates.shape"):
        tf.scatter_add(v, [0], [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="rank 0"):
        tf.scatter_add(tf.Variable(1.0), [0], [1.0])
    with pytest.raises(TypeError, match="IndexedSlices"):
        v.scatter_add(3)
    rows = tf.placeholder(tf.float32)
    session.run(v.initializer)
    with pytest.raises(errors.InvalidArgumentError, match="updates.shape"):
        session.run(tf.scatter_add(v, [0, 1], rows), {rows: ROWS})


def test_reads_before_an_update_see_the_old_rows(session: tf.Session) -> None:
    v = tf.Variable(START)
    before = v.value()[3]
    with tf.control_dependencies([before]):
        update = tf.scatter_add(v, [3], [[1.0, 1.0]])
    session.run(v.initializer)
    old, new = session.run([before, update])
    np.testing.assert_array_equal(old, START[3])
    np.testing.assert_array_equal(new[3], START[3] + 1)


def test_count_up_to(session: tf.Session) -> None:
    n = tf.Variable(0)
    count = n.count_up_to(2)
    session.run(n.initializer)
    assert [session.run(count), session.run(count)] == [0, 1]
    with pytest.raises(errors.OutOfRangeError, match="Reached limit of 2"):
        session.run(count)
    assert session.run(n) == 2
    assert session.run(tf.count_up_to(n, 5)) == 2
