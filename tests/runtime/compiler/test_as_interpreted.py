"""Compiled steps whose results, refusals and errors must be those of the interpreted ones.  Each test compiles a few regions."""

import logging

import numpy as np
import pytest
import torch
from packaging.version import Version
from runtime.compiler.failing_checks import caught

import headrace as tf

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def nothing_stays_interpreted(caplog):
    """No region may be refused by the compiler."""
    yield
    assert not [r for r in caplog.records if r.name == "headrace.compile" and r.levelno >= logging.WARNING]


def both(build, feed=X):
    """The results of a program interpreted and compiled: ``build(x)`` gives what to fetch."""
    found = []
    for mode in ("off", "always"):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, feed.shape)
            fetches = build(x)
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                found.append([session.run(fetches, {x: feed}) for _ in range(2)])
    return found


def same(build, feed=X):
    interpreted, compiled = both(build, feed)
    for a, b in zip(interpreted, compiled, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6 * max(np.abs(a[np.isfinite(a)]).max(), 1.0))


FORMS = [
    lambda r: r * 1.0, lambda r: tf.transpose(r) * 1.0, lambda r: tf.reshape(r, [-1]) + 0.0, lambda r: r[1:] * 1.0,
    lambda r: tf.cast(tf.cast(r, tf.float64), tf.float32),
]  # fmt: skip


class TestMemory:
    """A result that is computed does not lie in a variable: torch's compiler drops what changes nothing."""

    @pytest.mark.parametrize("resource", [True, False])
    def test_a_variable_that_is_written_outside_the_region_before_the_result_is_read(self, resource):
        def build(x):
            count, late = tf.Variable(0.0, use_resource=resource), []
            for form in FORMS:
                v = tf.Variable(X, use_resource=resource)
                with tf.control_dependencies([tf.assign_add(count, 1.0)]):
                    old = form(v.read_value())
                    new = tf.tanh(x) * 2.0 + v.read_value()
                with tf.control_dependencies([old]):
                    written = tf.assign(v, new + 100.0)
                with tf.control_dependencies([written]):
                    late.append(tf.reshape(tf.tanh(old * 0.1) * 2.0 + 0.5, [-1]))
            return tf.concat(late, 0)

        same(build)

    def test_a_variable_that_is_written_in_the_region_after_the_result(self):
        def build(x):
            fetched = []
            for i, form in enumerate(FORMS):
                v = tf.Variable(np.zeros((3, 4), np.float32), use_resource=bool(i % 2))
                with tf.control_dependencies([tf.assign(v, x + 1.0)]):
                    before = form(v.read_value())
                with tf.control_dependencies([before]):
                    rows = tf.scatter_update(v, [0, 2], -tf.ones([2, 4]))
                    written = rows if i % 2 else tf.assign_add(v, x)
                with tf.control_dependencies([written]):
                    fetched += [tf.reshape(before, [-1]), tf.reshape(tf.identity(v.read_value()), [-1])]
            return tf.concat(fetched, 0)

        same(build)


def test_a_transposed_value_from_another_strand():
    def build(x):
        total = tf.py_func(lambda a: a.sum(), [x], tf.float32)
        total.set_shape([])
        return tf.tanh(tf.transpose(x) + total) * 2.0 + 1.0

    same(build)


def test_random_numbers_after_an_update():
    """Constants made under a control dependency wait for the update, which is in the region that reads them."""

    def build(x):
        v = tf.Variable(X)
        with tf.control_dependencies([tf.assign(v, tf.tanh(x * 2.0) + v)]):
            return tf.tanh(v.read_value() * 2.0) * 3.0 + tf.random_uniform([3, 4], seed=1)

    same(build)


@pytest.mark.skipif(
    Version(torch.__version__) < Version("2.13"), reason="an older compiler keeps 32 bits on the CPU (docs/compile.md)"
)
def test_values_of_16_bits_are_rounded_to_them():
    def build(x):
        return tf.stack([tf.cast(tf.cast(x + 0.25, t), tf.float32) + 1.0 for t in (tf.float16, tf.bfloat16)])

    same(build, np.array([1e5, 0.3, 2050.0], np.float32))


def test_what_is_no_number_stays_none():
    def build(x):
        return tf.stack([tf.sign(x) * 2.0 + 1.0, tf.gradients(tf.abs(x), x)[0]])

    for size in (1, 40_000):  # arrays, tensors
        x = np.tile(np.array([np.nan, -2.0, 0.0, 3.0], np.float32), size)
        same(build, x)
        interpreted, _ = both(build, x)
        assert np.isnan(interpreted[0][:, 0]).all()


def test_decompositions_stand_between_regions():
    def build(x):
        matrix = tf.matmul(x, x, transpose_b=True) + 30.0 * tf.eye(3)
        found = [tf.matrix_inverse(matrix), tf.cholesky(matrix), tf.matrix_solve(matrix, matrix * 2.0)]
        return tf.stack([tf.tanh(y) * 2.0 + 1.0 for y in found])

    same(build)


def test_a_body_that_writes_a_variable():
    def build(x):
        v = tf.Variable(tf.zeros([3, 4]), use_resource=True)

        def body(i, a):
            with tf.control_dependencies([v.assign_add(tf.tanh(a) * 2.0 + 1.0)]):
                return i + 1, tf.tanh(a * 0.5 + v.read_value()) + 1.0

        return tf.while_loop(lambda i, a: i < 4, body, [0, x], parallel_iterations=1)[1]

    same(build)


def test_blocks_that_turn_what_they_pass_on():
    """Torch's compiler refuses such blocks as subgraphs; they are compiled one by one."""

    def build(x):
        w, h = tf.Variable(0.5 * np.eye(256, dtype=np.float32)), x
        for _ in range(6):
            y = tf.tanh(tf.matmul(h, w)) * tf.sigmoid(h) + tf.nn.relu(h) * 0.5
            h = tf.transpose(y - tf.reduce_mean(y, 1, keepdims=True))
        return tf.gradients(tf.reduce_sum(h * h), [w])[0]

    same(build, np.random.RandomState(0).standard_normal((256, 256)).astype(np.float32))


REFUSED = {
    "Integers to negative": lambda n: tf.pow(n + 3, n) * 2 + 1,
    "out of bound": lambda n: tf.unravel_index(n + 9, [2, 3]) * 2 + 1,
    "is not between 0 and 2": lambda n: tf.invert_permutation(n + 3) * 2 + 1,
    r"indices\[1\] = 3 is not in": lambda n: tf.gather(tf.eye(3), n + 3) * 2.0 + 1.0,
}


@caught
def test_what_is_refused_stays_refused_and_errors_have_an_end():
    n = tf.placeholder(tf.int32, [2])
    for said, build in REFUSED.items():
        y = build(n)
        for mode in ("off", "always"):
            with (
                tf.Session(config=tf.ConfigProto(compile=mode)) as session,
                pytest.raises(tf.errors.InvalidArgumentError, match=said) as raised,
            ):
                session.run(y, {n: [-2, 0]})
            error, seen = raised.value, []
            while error is not None:
                assert error not in seen, "an error is its own cause"
                seen.append(error)
                error = error.__cause__ or error.__context__
