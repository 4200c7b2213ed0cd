"""Buffers lent to the node that uses them last: where that is done, where not, and the same values either way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as tf
from headrace.passes.reuse import SMALLEST

SIDE = int(SMALLEST**0.5) + 1


def _places(fetches, feeds):  # type: ignore[no-untyped-def]
    """The nodes that work in place, as (type, position)."""
    session = tf.Session(config=tf.ConfigProto(compile="off"))
    plan = session._master.plan(feeds, fetches, [])
    session.close()
    return [(n.type, n.attrs["_in_place"]) for n in plan.graph.nodes if "_in_place" in n.attrs]


def _x(side=SIDE, dtype=tf.float32):  # type: ignore[no-untyped-def]
    return tf.placeholder(dtype, [side, side])


def _same(fetches, x, monkeypatch):  # type: ignore[no-untyped-def]
    value = np.random.RandomState(0).rand(*x.shape.as_list()).astype(np.float32) + 0.5
    got = []
    for off in ("", "reuse"):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        with tf.Session(config=tf.ConfigProto(compile="off")) as session:
            session.run(tf.global_variables_initializer())
            given_value = value.copy()
            for _ in range(2):
                found = session.run(fetches, {x: given_value})
            np.testing.assert_array_equal(given_value, value)  # what was fed is the caller's
            got.append(found)
    for left, right in zip(*got, strict=True):
        # A result written over its input keeps that one's layout, and a sum over it may take another order.
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


class TestWhere:
    def test_a_chain_works_in_one_buffer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = _x()
        y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, x), tf.ones([SIDE])))
        assert _places([y], [x]) == [("BiasAdd", 0), ("Relu", 0)]
        _same([y], x, monkeypatch)

    def test_gradients(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = _x()
        y = tf.tanh(tf.nn.relu(tf.matmul(x, x)))
        slopes = tf.gradients(tf.sigmoid(y * x), x)
        assert {("TanhGrad", 1), ("ReluGrad", 0)} <= set(_places(slopes, [x]))
        _same(slopes, x, monkeypatch)

    @pytest.mark.parametrize(
        "function",
        [tf.exp, tf.negative, tf.sigmoid, tf.sqrt, tf.square, tf.math.rsqrt, lambda v: v + 1.0, lambda v: 2.0 - v,
         lambda v: v * 3.0, lambda v: v / 3.0, lambda v: v - 1.0, lambda v: 1.0 + v],
    )  # fmt: skip
    def test_each_kernel(self, function, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
        x = _x()
        y = function(tf.nn.relu(tf.matmul(x, x)))
        assert len(_places([y], [x])) == 2
        _same([y], x, monkeypatch)

    def test_the_second_operand(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = _x()
        y = x - tf.matmul(x, x)
        assert _places([y], [x]) == [("Sub", 1)]
        _same([y], x, monkeypatch)

    def test_batches_of_unknown_size(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, tf.ones([4, 4])), tf.ones([4])))
        slopes = tf.gradients(y, x)
        places = _places([y, *slopes], [x])
        assert {("BiasAdd", 0), ("Relu", 0)} <= set(places)
        product = tf.matmul(x, tf.ones([4, 4]))
        assert _places([product * tf.exp(x)], [x]) == []  # either may be a single row
        with tf.Session(config=tf.ConfigProto(compile="off")) as session:
            for rows in (1, 5):
                value = np.full((rows, 4), -0.5, np.float32)
                got = session.run([y, *slopes, product * tf.exp(x)], {x: value})
                np.testing.assert_array_equal(got[0], np.zeros((rows, 4)))
                np.testing.assert_allclose(got[2], np.full((rows, 4), -2 * np.exp(-0.5)), rtol=1e-6)


class TestWhereNot:
    def test_small_values(self) -> None:
        x = _x(8)
        assert _places([tf.nn.relu(tf.matmul(x, x))], [x]) == []

    def test_integers(self) -> None:
        x = _x(dtype=tf.int32)
        assert _places([tf.negative(tf.matmul(x, x))], [x]) == []

    def test_feeds_variables_and_constants(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = _x()
        v = tf.Variable(np.ones((SIDE, SIDE), np.float32))
        fetches = [tf.exp(x), tf.exp(v), tf.exp(tf.constant(np.ones((SIDE, SIDE), np.float32)) + 0.0 * x[0, 0])]
        assert ("Exp", 0) not in _places(fetches[:2], [x])
        _same([*fetches, v], x, monkeypatch)

    def test_a_value_used_later_or_fetched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = _x()
        product = tf.matmul(x, x)
        first = tf.nn.relu(product)
        second = tf.exp(product)
        assert _places([first, second], [x]) == [("Exp", 0)]
        assert _places([first, product], [x]) == []
        _same([first, second, product], x, monkeypatch)

    def test_a_view_of_it_used_later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = _x()
        product = tf.matmul(x, x)
        turned = tf.transpose(product)
        first = tf.nn.relu(product)
        fetches = [first, tf.matmul(turned, x)]
        assert ("Relu", 0) not in _places(fetches, [x])
        _same(fetches, x, monkeypatch)

    def test_a_view_of_it_beside_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = _x()
        product = tf.matmul(x, x)
        y = product + tf.transpose(product)
        assert _places([y], [x]) == []
        _same([y], x, monkeypatch)

    def test_itself_beside_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = _x()
        product = tf.matmul(x, x)
        y = tf.multiply(product, product)
        assert _places([y], [x]) == []
        _same([y], x, monkeypatch)

    def test_a_result_of_another_shape(self) -> None:
        x = _x()
        y = tf.matmul(x, x) * tf.ones([2, SIDE, SIDE])
        assert _places([y], [x]) == []


OPS = [tf.exp, tf.nn.relu, tf.tanh, tf.negative, tf.transpose, lambda v: tf.reshape(v, [-1]), lambda v: v[:, ::-1]]
PAIRS = [tf.add, tf.multiply, tf.subtract]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), *[st.integers(0, 10**6)] * 3), min_size=2, max_size=10))
def test_random_graphs_keep_their_values(program) -> None:  # type: ignore[no-untyped-def]
    with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("headrace.passes.reuse.SMALLEST", 1)
        x = tf.placeholder(tf.float32, [4, 4])
        values = [tf.matmul(x, x)]
        for single, which, first, second in program:
            a, b = (tf.reshape(values[i % len(values)], [4, 4]) for i in (first, second))
            values.append(OPS[which % len(OPS)](a) if single else PAIRS[which % len(PAIRS)](a, b) * 0.1)
        fetches = [values[-1], tf.reduce_sum(values[len(values) // 2])]
        _same(fetches, x, patch)
