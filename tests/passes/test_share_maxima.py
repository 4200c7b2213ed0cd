"""A max pool and its gradient that look for the maxima once: the same numbers, and left alone where they differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from passes.steps import piped

import headrace as tf

SHARED = {"_MaxPoolLocated", "_MaxPoolLocatedGrad"}
RANDOM = np.random.RandomState(0)


def types(fetches: list[Any], feeds: list[Any]) -> set[str]:
    return {node.type for node in piped(fetches, feeds, []).nodes}


def pooled(x: tf.Tensor, size: int = 2, **options: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """A pool, and the gradient of the sum of its squares."""
    y = tf.nn.max_pool(x, [1, size, size, 1], [1, 2, 2, 1], **{"padding": "SAME", **options})
    (gradient,) = tf.gradients(tf.reduce_sum(y * y), x)
    return y, gradient


@pytest.mark.parametrize(
    ("shape", "dtype", "options"),
    [
        ([2, 7, 6, 3], tf.float32, {"padding": "SAME"}),
        ([2, 7, 6, 3], tf.float64, {"padding": "VALID", "size": 3}),
        ([1, 8, 8, 2], tf.float16, {"padding": "VALID"}),
        ([0, 8, 8, 2], tf.float32, {"padding": "VALID"}),
    ],
)
def test_the_same_numbers(
    shape: list[int], dtype: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among equal numbers, too, the same one gets the gradient."""
    data = RANDOM.randint(0, 4, shape).astype(dtype.as_numpy_dtype)
    x = tf.placeholder(dtype, [None, *shape[1:]])
    fetches = list(pooled(x, **options))
    assert types(fetches, [x]) >= SHARED
    found = []
    for off in ("", "share_maxima"):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        with tf.Session(config=tf.ConfigProto(compile="off")) as session:
            found.append(session.run(fetches, {x: data}))
    for shared, apart in zip(*found, strict=True):
        np.testing.assert_array_equal(shared, apart)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_channels_first(padding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.constant(RANDOM.rand(2, 3, 6, 7).astype(np.float32))
    y = tf.nn.max_pool(x, [1, 1, 2, 3], [1, 1, 2, 2], padding, data_format="NCHW")
    fetches = [y, *tf.gradients(y, x)]
    found = []
    for off in ("", "share_maxima"):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        with tf.Session(config=tf.ConfigProto(compile="off")) as session:
            found.append(session.run(fetches))
    for shared, apart in zip(*found, strict=True):
        np.testing.assert_array_equal(shared, apart)


def test_the_gradient_is_right() -> None:
    x = tf.constant(RANDOM.permutation(98).reshape(1, 7, 7, 2) / 9.0)
    y, _ = pooled(x, 3)
    with tf.Session():
        assert tf.test.compute_gradient_error(x, [1, 7, 7, 2], y, [1, 4, 4, 2], delta=1e-4) < 1e-6


def test_pools_one_after_the_other() -> None:
    """The gradient of the first is of what the second's hands on."""
    x = tf.placeholder(tf.float32, [1, 8, 8, 1])
    first = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    second = tf.nn.max_pool(first, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    gradients = tf.gradients(second, [x, first])
    nodes = [node.type for node in piped(gradients, [x], []).nodes]
    assert nodes.count("_MaxPoolLocated") == nodes.count("_MaxPoolLocatedGrad") == 2
    data = np.arange(64, dtype=np.float32).reshape(1, 8, 8, 1)
    with tf.Session() as session:
        outer, inner = session.run(gradients, {x: data})
    assert (outer.sum(), inner.sum()) == (4.0, 4.0) and outer[0, 3, 3, 0] == outer[0, 7, 7, 0] == 1.0


def test_a_pool_without_its_gradient_is_left_alone() -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 2])
    y, gradient = pooled(x)
    assert not types([y], [x]) & SHARED
    other = tf.raw_ops.MaxPoolGrad(
        orig_input=x, orig_output=y, grad=y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", explicit_paddings=[],
        data_format="NHWC",
    )  # fmt: skip
    assert not types([y, other], [x]) & SHARED  # another window
    assert types([y, other, gradient], [x]) >= {*SHARED, "MaxPoolGrad"}


def test_on_two_devices_each_looks_by_itself() -> None:
    with tf.device("/cpu:0"):
        x = tf.constant(RANDOM.rand(1, 4, 4, 1))
        y = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    with tf.device("/cpu:1"):
        gradient = tf.raw_ops.MaxPoolGrad(
            orig_input=x, orig_output=y, grad=y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME",
            explicit_paddings=[], data_format="NHWC",
        )  # fmt: skip
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, compile="off")) as session:
        highest, back = session.run([y, gradient])
    np.testing.assert_allclose(back.sum(), highest.sum())


def test_in_a_loop_and_a_condition() -> None:
    def body(i: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, x - 0.1 * pooled(x)[1]

    x = tf.constant(RANDOM.rand(1, 4, 4, 1))
    _, looped = tf.while_loop(lambda i, _: i < 3, body, [0, x])
    chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: pooled(x)[1], lambda: x)
    with tf.Session() as session:
        first, last = session.run([chosen, looped])
        assert (first != 0).sum() == 4 and last.sum() < session.run(tf.reduce_sum(x))


def test_a_mistake_is_that_of_the_user_s_node() -> None:
    x = tf.placeholder(tf.float32)
    y, gradient = pooled(x)
    with (
        tf.Session(config=tf.ConfigProto(compile="off")) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"test_share_maxima.py"),
    ):
        session.run([y, gradient], {x: np.ones([2, 2], np.float32)})
