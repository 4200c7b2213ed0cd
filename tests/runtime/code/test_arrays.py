"""Steps whose small values are numpy arrays: the same results, errors, memory and concurrency as with tensors."""

import warnings

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf
from headrace import extend
from headrace.core.registry import REGISTRY

OFF = tf.ConfigProto(compile="off")


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A function that gives the generated code of the plans so far."""
    monkeypatch.setenv("HEADRACE_DUMP", str(tmp_path))
    return lambda: "\n".join(p.read_text() for p in sorted(tmp_path.glob("*strand*.py")))


def start(config=OFF):
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    return session


def test_a_step_runs_on_arrays_and_gives_arrays(source):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    y = tf.tanh(v * 2.0) + v
    with start() as sess:
        found = sess.run(y)
    assert ".array" in source()
    assert type(found) is np.ndarray and found.dtype == np.float32
    np.testing.assert_allclose(found, np.tanh([[2, 4], [6, 8]]) + [[1, 2], [3, 4]], rtol=1e-6)


def test_the_pass_can_be_left_out(source, monkeypatch):
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")
    v = tf.Variable([1.0, 2.0])
    with start() as sess:
        assert sess.run(v * v + v).tolist() == [2.0, 6.0]
    assert ".array" not in source()


def test_scalars_are_scalars_of_numpy():
    v = tf.Variable(2.0)
    with start() as sess:
        found = sess.run(v * 3.0 + 1.0)
    assert isinstance(found, np.float32) and found == 7.0


def test_what_is_fetched_has_memory_of_its_own():
    v = tf.Variable([1.0, 2.0])
    y, z = v + 1.0, tf.negative(v)
    with start() as sess:
        first, second = sess.run([y, z])
        first[:] = 9.0
        assert second.tolist() == [-1.0, -2.0]
        assert sess.run(v).tolist() == [1.0, 2.0]
        assert sess.run(y).tolist() == [2.0, 3.0]


def test_what_is_fed_is_not_changed_or_handed_out(interpreted):
    x = tf.placeholder(tf.float32, [3])
    y = tf.identity(x)
    z = -(x * x + x)
    given = np.array([1.0, 2.0, 3.0], np.float32)
    same, other = interpreted.run([y, z], {x: given})
    assert not np.shares_memory(same, given) and not np.shares_memory(other, given)
    assert given.tolist() == [1.0, 2.0, 3.0]


def test_reads_before_and_after_a_write_in_one_step():
    v = tf.Variable([1.0, 2.0])
    before = v + 10.0
    with tf.control_dependencies([before]):
        written = tf.assign(v, [5.0, 6.0])
    with tf.control_dependencies([written]):
        after = v.read_value() + 10.0
    with start() as sess:
        a, _, b = sess.run([before, written.op, after])
        assert a.tolist() == [11.0, 12.0] and b.tolist() == [15.0, 16.0]


def test_a_variable_that_gets_another_shape():
    v = tf.Variable([1.0, 2.0], validate_shape=False)
    x = tf.placeholder(tf.float32)
    grow = tf.assign(v, x, validate_shape=False)
    w = tf.Variable([3.0], trainable=False)
    y = w * w + 1.0
    with start() as sess:
        assert sess.run([v + 1.0, y])[0].tolist() == [2.0, 3.0]
        sess.run(grow, {x: [7.0, 8.0, 9.0]})
        assert sess.run(v + 1.0).tolist() == [8.0, 9.0, 10.0]


def test_updates_are_seen_through_the_array():
    v = tf.Variable([1.0, 2.0])
    y = v * 2.0 - 1.0
    add = tf.assign_add(v, [1.0, 1.0])
    with start() as sess:
        for i in range(3):
            assert sess.run(y).tolist() == [2.0 * (1 + i) - 1, 2.0 * (2 + i) - 1]
            sess.run(add)


def test_an_uninitialised_variable_is_named():
    v = tf.Variable([1.0, 2.0], name="weights")
    named = pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value weights.*test_arrays.py")
    with tf.Session(config=OFF) as sess, named:
        sess.run(v * 2.0 + 1.0)


def test_the_kernel_on_tensors_says_what_is_wrong():
    v = tf.Variable([1.0, 2.0, 3.0])
    at = tf.Variable([0, 7], trainable=False)
    y = tf.gather(v, at) * 2.0
    with start() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(y)
    assert "7" in caught.value.message and "[0, 3)" in caught.value.message
    assert "test_arrays.py" in caught.value.message and "Gather" in caught.value.message


def test_an_op_that_fails_on_arrays_runs_once():
    calls = []
    refusing = extend.op("RefusesArrays(x: float32) -> (y: float32)")
    try:
        refusing.shape(lambda x: x)
        refusing.kernel(lambda x: calls.append("tensor") or x)

        @refusing.array_kernel
        def _(x):
            calls.append("array")
            raise ValueError("not today")

        y = extend.raw_ops.RefusesArrays(tf.Variable([1.0, 2.0]))
        with start() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="not today"):
            sess.run(y)
        assert calls == ["array"]
    finally:
        REGISTRY.remove("RefusesArrays")


def test_no_warning_of_overflow_or_division_by_zero():
    v = tf.Variable([0.0, 1e38])
    y = (v / 0.0) * v + v * 10.0
    with start() as sess, warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sess.run(y)
    assert np.isnan(found[0]) and np.isinf(found[1])
    assert np.geterr()["divide"] == "warn"


def test_integers_wrap_as_tensors_do():
    v = tf.Variable([2**31 - 1, -(2**31)], dtype=tf.int32)
    with start() as sess:
        assert sess.run(v + 1).tolist() == [-(2**31), -(2**31) + 1]
        assert sess.run(v * 2).tolist() == [-2, 0]


def test_gradients_and_training_agree_with_tensors(monkeypatch):
    def train():
        with tf.Graph().as_default():
            x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
            w = tf.Variable(np.full((3, 2), 0.1, np.float32))
            b = tf.Variable(np.zeros(2, np.float32))
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) + b) - 0.5))
            step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            with start() as sess:
                return [sess.run([loss, step])[0] for _ in range(10)] + [*sess.run(w).reshape(-1)]

    on_arrays = train()
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")
    np.testing.assert_allclose(on_arrays, train(), rtol=1e-5)


def test_in_loops_and_conditions():
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])

    def body(i, x):
        y = x
        for _ in range(4):
            y = tf.tanh(y * 1.5 + v) - v * 0.5
        return i + 1, y

    _, out = tf.while_loop(lambda i, x: i < 5, body, [0, v + 0.0])
    chosen = tf.cond(tf.reduce_sum(out) > 0, lambda: -(out * out + v), lambda: out)
    expected = np.array([1.0, 2.0, 3.0, 4.0])
    v0 = expected.copy()
    for _ in range(20):
        expected = np.tanh(expected * 1.5 + v0) - v0 * 0.5
    expected = -(expected * expected + v0) if expected.sum() > 0 else expected
    with start() as sess:
        np.testing.assert_allclose(sess.run(chosen), expected, rtol=1e-5)


def test_concurrent_steps():
    v = tf.Variable(np.ones(8, np.float32))
    y = v * 2.0 + v
    add = tf.assign_add(v, tf.ones_like(v) * 1.0, use_locking=True)
    with start() as sess:

        def work():
            for _ in range(200):
                found = sess.run(y)
                assert ((found >= 3) & (found <= 3 * 801)).all()  # a read may see half of another step's update
                sess.run(add)

        run_threads(*[work] * 4)
        assert sess.run(v).tolist() == [801.0] * 8


def test_partial_run():
    a, b = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    v = tf.Variable([1.0, 2.0])
    first = tf.square(a * v + v)
    second = first * b - v * v
    with start() as sess:
        handle = sess.partial_run_setup([first, second], [a, b])
        assert sess.partial_run(handle, first, {a: [1.0, 1.0]}).tolist() == [4.0, 16.0]
        assert sess.partial_run(handle, second, {b: [2.0, 2.0]}).tolist() == [7.0, 28.0]


def test_a_fed_shape_below_minus_one_is_refused():
    v, shape = tf.Variable([1.0, 2.0, 3.0, 4.0]), tf.placeholder(tf.int32, [2])
    y = tf.reshape(v * 2.0, shape)
    with start() as sess:
        assert sess.run(y, {shape: [2, -1]}).shape == (2, 2)
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(y, {shape: [2, -2]})


# ---- loops and conditionals


def count_to(n, body, *start):
    return tf.while_loop(lambda i, *_: i < n, lambda i, *rest: (i + 1, *body(*rest)), [0, *start])[1:]


def test_a_loop_hands_arrays_from_iteration_to_iteration(monkeypatch):
    w = tf.Variable([[0.5, 0.25], [0.125, 1.0]])
    (y,) = count_to(3, lambda x: [tf.matmul(x, w) / tf.reduce_sum(x)], tf.constant([[1.0, 2.0]]))
    (slope,) = tf.gradients(y, w)
    wanted = []
    for off in ("", "arrays"):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        with start() as sess:
            wanted.append(sess.run([y, slope]))
    for mine, other in zip(*wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_a_gradient_of_a_gradient_takes_arrays_from_the_stash():
    x = tf.Variable([1.0, 2.0])
    (y,) = count_to(2, lambda a: [a * a + tf.sin(a)], x.read_value())
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    with start() as sess:
        slope, bend = sess.run([first, second])
    v = np.array([1.0, 2.0])
    u, du, ddu = v * v + np.sin(v), 2 * v + np.cos(v), 2 - np.sin(v)
    np.testing.assert_allclose(slope, (2 * u + np.cos(u)) * du, rtol=1e-5)
    np.testing.assert_allclose(bend, (2 - np.sin(u)) * du * du + (2 * u + np.cos(u)) * ddu, rtol=1e-5)


def test_branches_may_give_different_forms():
    p, v = tf.placeholder(tf.bool, []), tf.Variable([3.0, 1.0, 2.0])
    y = tf.cond(p, lambda: v * 2.0 + v, lambda: tf.nn.top_k(v, 3)[0])
    with start() as sess:
        assert sess.run([y, y + 1.0], {p: True})[0].tolist() == [9.0, 3.0, 6.0]
        assert sess.run(y + 1.0, {p: False}).tolist() == [4.0, 3.0, 2.0]
        assert sess.run(y, {p: False}).tolist() == [3.0, 2.0, 1.0]


def test_what_a_loop_hands_on_unchanged_has_memory_of_its_own():
    v, n = tf.Variable([1.0, 2.0]), tf.placeholder(tf.int32, [])
    (y,) = count_to(n, lambda x: [x * 2.0 + x], v.read_value())
    with start() as sess:
        for times, result in ((0, [1.0, 2.0]), (1, [3.0, 6.0])):
            found = sess.run(y, {n: times})
            assert found.tolist() == result
            found[:] = 7.0
        assert sess.run(v).tolist() == [1.0, 2.0]


def test_a_column_chosen_in_a_loop_and_its_gradient(monkeypatch):
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(3, 4))
    picks = tf.placeholder(tf.int32, [None])
    y = tf.foldl(lambda a, i: a * 0.5 + table[:, i], picks, tf.zeros([3]))
    (slope,) = tf.gradients(y, table)
    with start() as sess:
        found, gradient = sess.run([y, slope], {picks: [1, 3, 1]})
        assert found.tolist() == [2.75, 9.75, 16.75]
        assert gradient.tolist() == [[0.0, 1.25, 0.0, 0.5]] * 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
            sess.run(y, {picks: [1, 4]})


def test_a_loop_on_tensors_converts_nothing():
    """A row comes as a tensor and goes as one: two small kernels on arrays would cost more than they save."""
    rows = tf.placeholder(tf.float32, [6, 8])
    found = tf.scan(lambda before, row: before * 0.5 + row, rows)
    gradient = tf.gradients(tf.reduce_sum(tf.square(found)), [rows])[0]
    values = np.arange(48, dtype=np.float32).reshape(6, 8)
    with start() as sess:
        for fetched in (found, gradient):
            (program,) = sess._master.plan((rows,), (fetched,), ()).programs
            on_arrays = {n for body in program.bodies for n in body.on_arrays}
            assert on_arrays and not any(n.outputs[0].dtype == tf.float32 for n in on_arrays)  # only counters
        expected = [values[0]]
        for row in values[1:]:
            expected.append(expected[-1] * 0.5 + row)
        np.testing.assert_allclose(sess.run(found, {rows: values}), expected, rtol=1e-6)
