"""pool_first: a max pool before the bias and the rectifier; the plan as text, and the same values and gradients as without."""

from __future__ import annotations

import re

import numpy as np
import pytest
from passes.steps import lines, piped

import headrace as tf

SHAPE = [2, 6, 6, 3]


def _numbers(*shape: int) -> np.ndarray:
    """Few small whole numbers: sums are exact, and windows hold their maximum more than once."""
    return np.random.RandomState(0).randint(-3, 3, shape).astype(np.float32)


def _pooled(y: tf.Tensor, window: int = 2, stride: int = 2, padding: str = "VALID") -> tf.Tensor:
    return tf.nn.max_pool(y, [1, window, window, 1], [1, stride, stride, 1], padding, name="pool")


def _network(add=tf.nn.bias_add, pool=_pooled) -> tuple[tf.Tensor, list[tf.Tensor]]:  # type: ignore[no-untyped-def]
    """The input, and what training needs: the pooled value, and gradients to input, weights and bias."""
    x = tf.placeholder(tf.float32, SHAPE, name="x")
    w = tf.Variable(_numbers(1, 1, 3, 4), name="w")
    b = tf.Variable(_numbers(4), name="b")
    y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", name="conv")
    pooled = pool(tf.nn.relu(add(y, b), name="relu"))
    return x, [pooled, *tf.gradients(tf.reduce_sum(tf.square(pooled)), [x, w, b])]


def _types(fetches: list[tf.Tensor], x: tf.Tensor) -> list[str]:
    return [node.type for node in piped(fetches, [x]).nodes]


def _taken_by_pools(fetches: list[tf.Tensor], feeds: list[tf.Tensor]) -> list[str]:
    return [node.inputs[0].op.type for node in piped(fetches, feeds).nodes if node.type == "MaxPool"]


def test_a_pool_takes_the_convolution_itself() -> None:
    x, fetches = _network()
    after = [re.split(r" [:{]", line)[0] for line in lines(piped(fetches, [x]))]
    assert "%pool = MaxPool(%conv)" in after
    assert "%relu = Relu(%BiasAdd)" in after
    assert any(line.startswith("%BiasAdd = BiasAdd(%pool, ") for line in after)
    gradients = {line.split(" = ")[1].split("(")[0]: line for line in after if "_grad/" in line and " = " in line}
    slope = gradients["ReluGrad"].split(" = ")[0]
    assert gradients["ReluGrad"].endswith(", %relu)")
    assert gradients["MaxPoolGrad"].endswith(f"MaxPoolGrad(%conv, %pool, {slope})")
    assert gradients["BiasAddGrad"].endswith(f"BiasAddGrad({slope})")


def test_a_bias_added_by_plus() -> None:
    x, fetches = _network(tf.add)
    graph = piped(fetches, [x])
    (total,) = (n for n in graph.nodes if n.type == "Sum" and n.inputs[0].op.type == "ReluGrad")
    assert total in {v.op for v in graph.fetches} or any(v.op.inputs[:1] == [total.outputs[0]] for v in graph.fetches)
    assert _taken_by_pools(fetches, [x]) == ["Conv2D"]


def _deep(y: tf.Tensor) -> tf.Tensor:
    """A pool over pairs of channels."""
    return tf.nn.max_pool(y, [1, 1, 1, 2], [1, 1, 1, 2], "SAME")


def _first(y: tf.Tensor) -> tf.Tensor:
    """A pool with channels first, of a bias that runs along them."""
    return tf.nn.max_pool(y, [1, 1, 2, 2], [1, 1, 2, 2], "VALID", data_format="NCHW")


CASES = {
    "bias_add": {},
    "plus": {"add": tf.add},
    "windows that overlap": {"pool": lambda y: _pooled(y, 3, 2)},
    "windows at the border": {"pool": lambda y: _pooled(y, 4, 3, "SAME")},
    "windows next to each other": {"add": tf.add, "pool": lambda y: _pooled(y, 2, 1, "SAME")},
    "two layers": {"pool": lambda y: _pooled(tf.nn.relu(tf.nn.bias_add(_pooled(y), _numbers(4) + 1)))},
    "no rectifier": {"pool": lambda y: _pooled(tf.nn.bias_add(tf.square(y), _numbers(4)))},
}


@pytest.mark.parametrize("case", CASES)
def test_same_to_the_last_bit_where_sums_are_exact(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, fetches = _network(**CASES[case])
    results = []
    for off in ("", "pool_first"):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            results.append(sess.run(fetches, {x: _numbers(*SHAPE)}))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.abs(one).max() > 0
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "")
    assert not {"Relu", "BiasAdd", "AddV2"} & set(_taken_by_pools(fetches, [x]))


def test_a_volume() -> None:
    x = tf.placeholder(tf.float32, [1, 4, 4, 4, 2], name="x")
    y = tf.nn.max_pool3d(tf.nn.relu(x * 2.0), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID")
    (gradient,) = tf.gradients(tf.reduce_sum(y * y), x)
    (pool,) = (n for n in piped([y, gradient], [x]).nodes if n.type == "MaxPool3D")
    assert pool.inputs[0].op.type == "Mul"
    value = _numbers(1, 4, 4, 4, 2)
    with tf.Session() as sess:
        pooled, slope = sess.run([y, gradient], {x: value})
    blocks = np.maximum(value * 2, 0).reshape(1, 2, 2, 2, 2, 2, 2, 2).max((2, 4, 6))
    np.testing.assert_array_equal(pooled, blocks)
    np.testing.assert_array_equal(slope.sum(), (4 * blocks).sum())


def test_channels_first() -> None:
    x = tf.placeholder(tf.float32, [2, 4, 6, 6], name="x")
    b = tf.constant(_numbers(4))
    y = _first(tf.nn.relu(tf.nn.bias_add(x * 2.0, b, data_format="NCHW")))
    fetches = [y, *tf.gradients(tf.reduce_sum(y * y), [x, b])]
    assert _taken_by_pools(fetches, [x]) == ["Mul"]
    value = _numbers(2, 4, 6, 6)
    with tf.Session() as sess:
        pooled, _, slope = sess.run(fetches, {x: value})
    blocks = np.maximum(value * 2 + _numbers(4).reshape(4, 1, 1), 0).reshape(2, 4, 3, 2, 3, 2).max((3, 5))
    np.testing.assert_array_equal(pooled, blocks)
    np.testing.assert_array_equal(slope, (2 * blocks).sum((0, 2, 3)))


def test_numbers_that_are_none() -> None:
    """What is not a number stays one, and gets its gradient; below zero and infinite gradients do not get through."""
    x = tf.placeholder(tf.float32, [1, 2, 6, 1], name="x")
    d = tf.placeholder(tf.float32, [1, 1, 3, 1], name="d")
    y = _pooled(tf.nn.relu(x + [0.0]))
    fetches = [y, tf.gradients(y, x, d)[0]]
    assert not {"Relu", "AddV2"} & set(_taken_by_pools(fetches, [x, d]))
    value = np.array([[1, np.nan, -1, -2, np.inf, 0], [2, 3, -4, -5, 1, np.inf]], np.float32).reshape(1, 2, 6, 1)
    with tf.Session() as sess:
        pooled, slope = sess.run(fetches, {x: value, d: np.array([5, np.inf, 7], np.float32).reshape(1, 1, 3, 1)})
    np.testing.assert_array_equal(pooled.ravel(), [np.nan, 0, np.inf])
    np.testing.assert_array_equal(slope.reshape(2, 6), [[0, 5, 0, 0, 7, 0], [0] * 6])


@pytest.mark.parametrize(
    "why", ["fetched", "used elsewhere", "two pools", "waits", "second gradients", "slope fetched"]
)
def test_a_rectified_value_that_is_needed_stays(why: str) -> None:
    x = tf.placeholder(tf.float32, SHAPE, name="x")
    b = tf.Variable(_numbers(3), name="b", use_resource=False)
    y = tf.nn.bias_add(x, _numbers(3))
    with tf.control_dependencies([tf.assign(b, -b)] if why == "waits" else []):
        y = tf.nn.relu(y)
    pooled = _pooled(y)
    (gradient,) = tf.gradients(tf.reduce_sum(pooled * pooled), x)
    fetches = [pooled, gradient]
    if why == "fetched":
        fetches.append(y)
    elif why == "used elsewhere":
        fetches.append(tf.reduce_sum(y))
    elif why == "two pools":
        fetches.append(_pooled(y, 3))
    elif why == "second gradients":
        fetches += tf.gradients(tf.reduce_sum(gradient * gradient), x)
    elif why == "slope fetched":
        (node,) = (op for op in tf.get_default_graph().get_operations() if op.type == "MaxPoolGrad")
        fetches.append(node.outputs[0])
    assert _taken_by_pools(fetches, [x])[0] == "Relu"


@pytest.mark.parametrize("why", ["a number for each pixel", "whole numbers", "windows over channels", "another layout"])
def test_a_sum_that_is_no_bias_stays(why: str) -> None:
    shape = [2, 4, 4, 4]
    x = tf.placeholder(tf.int32 if why == "whole numbers" else tf.float32, shape, name="x")
    if why == "a number for each pixel":
        y = _pooled(x + tf.constant(_numbers(4, 4)))
    elif why == "whole numbers":  # the sum may overflow
        y = _pooled(x + tf.constant([1, 2, 3, 4]))
    elif why == "windows over channels":
        y = _deep(tf.nn.bias_add(x, _numbers(4)))
    else:
        y = _first(x + tf.constant(_numbers(4)))
    assert _taken_by_pools([y], [x])[0] in ("AddV2", "BiasAdd")


def test_what_is_fetched_keeps_its_value() -> None:
    """The pool itself, and the gradients in between."""
    x, fetches = _network()
    graph = tf.get_default_graph()
    fetches += [op.outputs[0] for op in graph.get_operations() if op.type in ("BiasAdd", "ReluGrad", "MaxPoolGrad")]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        one = sess.run(fetches, {x: _numbers(*SHAPE)})
        each = [sess.run(t, {x: _numbers(*SHAPE)}) for t in fetches]
    for a, b in zip(one, each, strict=True):
        np.testing.assert_array_equal(a, b)
