"""Gradients of max pools: the same with and without passes, compiled, and by differences."""

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import headrace as tf
from headrace.ops.internal import opaque


def _program(padding: str, stride: int = 2, layout: str = "NHWC"):
    rng = np.random.RandomState(0)
    shape = [2, 5, 6, 3] if layout == "NHWC" else [2, 3, 5, 6]
    x = tf.placeholder(tf.float32, [None, *shape[1:]], name="x")
    window = [1, 2, 2, 1] if layout == "NHWC" else [1, 1, 2, 2]
    strides = [1, stride, stride, 1] if layout == "NHWC" else [1, 1, stride, stride]
    y = tf.nn.max_pool(tf.square(x), window, strides, padding, data_format=layout, name="pool")
    return {x: rng.randn(*shape).astype(np.float32)}, y, tf.gradients(tf.reduce_sum(y * y), x)[0]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_same_values(padding: str, stride: int, layout: str) -> None:
    feed, y, grad = _program(padding, stride, layout)
    level = tf.OptimizerOptions(opt_level=-1)
    plain = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=level))
    results = []
    for config in (tf.ConfigProto(), plain):
        with tf.Session(config=config) as sess:
            results.append(sess.run([y, grad], feed))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)
    x = next(iter(feed))
    with tf.Session() as sess:
        error = tf.test.compute_gradient_error(
            x, feed[x].shape, y, sess.run(y, feed).shape, x_init_value=feed[x], delta=1e-3
        )
    assert error < 2e-2


def test_compiled() -> None:
    feed, y, grad = _program("SAME")
    results = []
    for mode in ("off", "always"):
        with tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
            results.append(sess.run([y, grad], feed))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ("cpu", ["headrace.max_pool2d", "headrace.max_pool2d_backward"]),
        (
            "cuda",
            [
                "prims._low_memory_max_pool_with_offsets",
                "headrace.keep",
                "prims._low_memory_max_pool_offsets_to_indices",
                "headrace.max_pool2d_gather",
            ],
        ),
        ("meta", ["aten.max_pool2d_with_indices", "aten.max_pool2d_with_indices_backward"]),
    ],
)
def test_what_a_compiler_sees(device: str, found: list[str]) -> None:
    """On a GPU the offsets are stored in between; on the CPU the pool is a library call."""

    def both(x, grad):  # type: ignore[no-untyped-def]
        y, indices = opaque.max_pool2d(x, (3, 3), (2, 2), (1, 1), True)
        return y, opaque.max_pool2d_backward(grad, x, (3, 3), (2, 2), (1, 1), True, indices)

    with FakeTensorMode():
        x, grad = torch.empty(2, 3, 9, 10, device=device), torch.empty(2, 3, 5, 6, device=device)
    nodes = make_fx(both, tracing_mode="fake")(x, grad).graph.nodes
    assert [
        str(n.target).removesuffix(".default") for n in nodes if "pool" in str(n.target) or "keep" in str(n.target)
    ] == found
