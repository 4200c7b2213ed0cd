"""Neural-network programs whose results real TensorFlow gave; each runs on any module with TF1's functions.

A case takes the module and a function that makes a named input, and returns what to fetch: results and, through
``with_gradients``, the gradients of a weighted sum of them.  ``layout`` "NCHW" runs the same mathematics on transposed
inputs, which TensorFlow's CPU kernels cannot do: compare it with the channels-last results.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Case = Callable[[Any, Any], list[Any]]
CASES: dict[str, Case] = {}


def values(name: str, shape: Any) -> np.ndarray:
    """The input called ``name``: the same on every machine."""
    return np.asarray(np.random.RandomState(zlib.crc32(name.encode())).randn(*shape), np.float32)


def with_gradients(tf: Any, outputs: Any, inputs: Any) -> list[Any]:
    """The outputs, and the gradients of their sum with fixed random weights."""
    outputs = list(outputs)
    weights = [tf.constant(values(f"w{i}", o.shape.as_list())) for i, o in enumerate(outputs)]
    return outputs + list(tf.gradients(outputs, inputs, grad_ys=weights))


def _second(tf: Any, y: Any, x: Any) -> list[Any]:
    """First and second derivatives along fixed directions."""
    first = tf.gradients(y, x, grad_ys=tf.constant(values("first", y.shape.as_list())))[0]
    again = tf.gradients(first, x, grad_ys=tf.constant(values("second", x.shape.as_list())))[0]
    return [y, first, again]


def add(name: str) -> Callable[[Case], Case]:
    def keep(case: Case) -> Case:
        CASES[name] = case
        return case

    return keep


# ---- activations

for _name in ("relu", "relu6", "elu", "selu", "softplus", "softsign", "leaky_relu", "sigmoid", "tanh"):

    @add(_name)
    def _(tf: Any, make: Any, name: str = _name) -> list[Any]:
        x = make("x", (3, 7))
        y = getattr(tf.nn, name)(3 * x)
        return with_gradients(tf, [y], [x]) if name == "softsign" else _second(tf, y, x)


@add("crelu")
def _(tf: Any, make: Any) -> list[Any]:
    x = make("x", (3, 4))
    return with_gradients(tf, [tf.nn.crelu(x)], [x])


@add("bias_add")
def _(tf: Any, make: Any) -> list[Any]:
    x, b = make("x", (2, 3, 4)), make("b", (4,))
    return with_gradients(tf, [tf.nn.bias_add(x, b)], [x, b])


# ---- softmax and losses

for _axis in (-1, 0, 1):

    @add(f"softmax{_axis}")
    def _(tf: Any, make: Any, axis: int = _axis) -> list[Any]:
        x = make("x", (3, 4, 2))
        return _second(tf, tf.nn.softmax(x, axis=axis), x)

    @add(f"log_softmax{_axis}")
    def _(tf: Any, make: Any, axis: int = _axis) -> list[Any]:
        x = make("x", (3, 4, 2))
        return _second(tf, tf.nn.log_softmax(x, axis=axis), x)

    @add(f"softmax_cross_entropy{_axis}")
    def _(tf: Any, make: Any, axis: int = _axis) -> list[Any]:
        x, raw = make("x", (3, 4, 5)), make("labels", (3, 4, 5))
        loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(raw, axis), logits=x, axis=axis)
        return _second(tf, loss, x) + tf.gradients(loss, raw)


@add("softmax_cross_entropy_v1")
def _(tf: Any, make: Any) -> list[Any]:
    x, labels = make("x", (3, 5)), make("labels", (3, 5))
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(labels), logits=x)
    return with_gradients(tf, [loss], [x])


@add("sparse_softmax_cross_entropy")
def _(tf: Any, make: Any) -> list[Any]:
    x = make("x", (3, 4, 5))
    labels = tf.constant(np.arange(12).reshape(3, 4) % 5)
    return _second(tf, tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x), x)


@add("sigmoid_cross_entropy")
def _(tf: Any, make: Any) -> list[Any]:
    x, z = make("x", (3, 5)), make("z", (3, 5))
    return with_gradients(tf, [tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=5 * x)], [x, z])


@add("weighted_cross_entropy")
def _(tf: Any, make: Any) -> list[Any]:
    x, z = make("x", (3, 5)), make("z", (3, 5))
    return with_gradients(tf, [tf.nn.weighted_cross_entropy_with_logits(z, x, 2.5)], [x, z])


@add("log_poisson_loss")
def _(tf: Any, make: Any) -> list[Any]:
    x, z = make("x", (3, 5)), tf.exp(make("z", (3, 5)))
    return with_gradients(tf, [tf.nn.log_poisson_loss(z, x, True), tf.nn.log_poisson_loss(z, x)], [x])


@add("l2_loss")
def _(tf: Any, make: Any) -> list[Any]:
    x = make("x", (3, 5))
    return with_gradients(tf, [tf.nn.l2_loss(x)], [x])


# ---- convolutions


def _conv2d(tf: Any, make: Any, size: Any, window: Any, stride: Any, dilation: Any, padding: Any, layout: str) -> Any:
    x, w = make("x", (2, *size, 3)), make("w", (*window, 3, 2))
    first = layout == "NCHW"
    given = tf.transpose(x, [0, 3, 1, 2]) if first else x
    full = [1, 1, *stride] if first else [1, *stride, 1]
    wide = [1, 1, *dilation] if first else [1, *dilation, 1]
    if first and not isinstance(padding, str):
        padding = [padding[0], padding[3], padding[1], padding[2]]
    y = tf.nn.conv2d(given, w, strides=full, padding=padding, data_format=layout, dilations=wide)
    y = tf.transpose(y, [0, 2, 3, 1]) if first else y
    # TensorFlow's CPU kernels give no gradients of dilated convolutions; "convolution" below has some.
    return [y] if max(dilation) > 1 else with_gradients(tf, [y], [x, w])


PADDINGS = ("SAME", "VALID")
EXPLICIT = [[0, 0], [2, 1], [0, 3], [0, 0]]
CONVOLUTIONS = [
    *itertools.product([(5, 6), (4, 3)], [(3, 3), (2, 4), (1, 1)], [(1, 1), (2, 2), (3, 2)], [(1, 1)], PADDINGS),
    *itertools.product([(7, 6)], [(3, 2)], [(1, 1)], [(2, 2), (1, 3)], PADDINGS),
    ((5, 4), (3, 3), (1, 1), (1, 1), EXPLICIT), ((5, 4), (2, 3), (2, 2), (1, 1), EXPLICIT),
    ((5, 6), (3, 2), (1, 1), (2, 2), EXPLICIT),
]  # fmt: skip
LAYOUT_CASES: dict[str, Callable[..., list[Any]]] = {}
for _arguments in CONVOLUTIONS:
    if _arguments[-1] == "VALID" and _arguments[1][1] > _arguments[0][1]:
        continue
    _words = "explicit" if isinstance(_arguments[-1], list) else _arguments[-1]
    _name = "conv2d " + " ".join("x".join(map(str, a)) for a in _arguments[:-1]) + " " + _words

    def _run(tf: Any, make: Any, layout: str = "NHWC", arguments: Any = _arguments) -> list[Any]:
        return _conv2d(tf, make, *arguments, layout)

    LAYOUT_CASES[_name] = CASES[_name] = _run


@add("conv2d second")
def _(tf: Any, make: Any) -> list[Any]:
    x, w = make("x", (1, 4, 5, 2)), make("w", (2, 3, 2, 2))
    return _second(tf, tf.nn.conv2d(tf.tanh(x), w, [1, 2, 2, 1], "SAME"), x)


@add("conv1d")
def _(tf: Any, make: Any) -> list[Any]:
    x, w = make("x", (2, 7, 3)), make("w", (3, 3, 2))
    return with_gradients(tf, [tf.nn.conv1d(x, w, 2, "SAME"), tf.nn.conv1d(x, w, 1, "VALID")], [x, w])


@add("conv3d")
def _(tf: Any, make: Any) -> list[Any]:
    x, w = make("x", (1, 4, 3, 5, 2)), make("w", (2, 3, 2, 2, 2))
    ys = [
        tf.nn.conv3d(x, w, [1, *s, 1], p) for s, p in (((1, 1, 1), "SAME"), ((2, 1, 2), "SAME"), ((1, 1, 2), "VALID"))
    ]
    return with_gradients(tf, ys, [x, w])


@add("conv transposed")
def _(tf: Any, make: Any) -> list[Any]:
    x, w = make("x", (2, 3, 4, 3)), make("w", (3, 2, 2, 3))
    line, narrow = make("line", (2, 4, 3)), make("narrow", (3, 2, 3))
    cube, deep = make("cube", (1, 2, 2, 3, 2)), make("deep", (2, 2, 3, 1, 2))
    ys = [
        tf.nn.conv2d_transpose(x, w, [2, 6, 8, 2], [1, 2, 2, 1], "SAME"),
        tf.nn.conv2d_transpose(x, w, [2, 5, 7, 2], [1, 2, 2, 1], "SAME"),
        tf.nn.conv2d_transpose(x, w, [2, 7, 8, 2], [1, 2, 2, 1], "VALID"),
        tf.nn.conv1d_transpose(line, narrow, [2, 8, 2], 2),
        tf.nn.conv3d_transpose(cube, deep, [1, 4, 2, 6, 1], [1, 2, 1, 2, 1]),
    ]
    return with_gradients(tf, ys, [x, w, line, narrow, cube, deep])


@add("depthwise")
def _(tf: Any, make: Any) -> list[Any]:
    x, w, mix = make("x", (2, 5, 6, 3)), make("w", (3, 2, 3, 2)), make("mix", (1, 1, 6, 4))
    ys = [
        tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
        tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"),
        tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "VALID"),
        tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID", rate=[2, 2]),
        tf.nn.separable_conv2d(x, w, mix, [1, 1, 1, 1], "SAME"),
    ]
    return with_gradients(tf, ys, [x, w, mix])


@add("convolution")
def _(tf: Any, make: Any) -> list[Any]:
    x, w = make("x", (2, 8, 7, 3)), make("w", (3, 2, 3, 2))
    back = make("back", (3, 2, 2, 3))
    ys = [
        tf.nn.convolution(x, w, "SAME", strides=[2, 1]),
        tf.nn.convolution(x, w, "SAME", dilation_rate=[2, 3]),
        tf.nn.convolution(x[0], w[0], "VALID", dilation_rate=[2]),
        tf.nn.atrous_conv2d(x, w, 2, "VALID"),
        tf.nn.atrous_conv2d_transpose(x, back, [2, 8, 7, 2], 2, "SAME"),
    ]
    return with_gradients(tf, ys, [x, w, back])


# ---- pools

POOLS = [
    *itertools.product([(5, 6), (4, 3)], [(2, 2), (3, 3), (1, 4)], [(1, 1), (2, 2), (3, 2)], ["SAME", "VALID"]),
    ((7, 2), (4, 4), (3, 3), "SAME"), ((2, 3), (4, 6), (1, 1), "SAME"), ((6, 6), (2, 2), (3, 3), "SAME"),
]  # fmt: skip
for _arguments in POOLS:
    if _arguments[-1] == "VALID" and _arguments[1][1] > _arguments[0][1]:
        continue
    for _kind in ("max_pool", "avg_pool"):

        def _pool(
            tf: Any, make: Any, layout: str = "NHWC", kind: str = _kind, arguments: Any = _arguments
        ) -> list[Any]:
            size, window, stride, padding = arguments
            x = make("x", (2, *size, 2))
            first = layout == "NCHW"
            given = tf.transpose(x, [0, 3, 1, 2]) if first else x
            full = [1, 1, *window] if first else [1, *window, 1]
            steps = [1, 1, *stride] if first else [1, *stride, 1]
            y = getattr(tf.nn, kind)(given, full, steps, padding, data_format=layout)
            y = tf.transpose(y, [0, 2, 3, 1]) if first else y
            return with_gradients(tf, [y], [x])

        _name = f"{_kind} " + " ".join("x".join(map(str, a)) for a in _arguments[:-1]) + " " + _arguments[-1]
        LAYOUT_CASES[_name] = CASES[_name] = _pool


@add("max_pool second")
def _(tf: Any, make: Any) -> list[Any]:
    x = make("x", (1, 5, 5, 2))
    return _second(tf, tf.nn.max_pool(tf.tanh(x), [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), x)


@add("pool3d")
def _(tf: Any, make: Any) -> list[Any]:
    x = make("x", (1, 4, 3, 5, 2))
    ys = [
        function(x, [1, *k, 1], [1, *s, 1], padding)
        for function in (tf.nn.max_pool3d, tf.nn.avg_pool3d)
        for k, s, padding in (
            ((2, 2, 2), (1, 1, 1), "SAME"),
            ((3, 2, 2), (2, 1, 2), "SAME"),
            ((2, 2, 3), (1, 1, 2), "VALID"),
        )  # fmt: skip
    ]
    return with_gradients(tf, ys, [x])


@add("pool")
def _(tf: Any, make: Any) -> list[Any]:
    x = make("x", (2, 6, 7, 2))
    ys = [
        tf.nn.pool(x, [2, 3], "MAX", "SAME", strides=[2, 2]),
        tf.nn.pool(x, [2, 2], "AVG", "VALID", dilation_rate=[2, 3]),
        tf.nn.pool(x[0], [3], "AVG", "SAME"),
        tf.nn.max_pool1d(x[0], 2, 2, "SAME"),
        tf.nn.avg_pool1d(x[0], 3, 2, "VALID"),
    ]
    return with_gradients(tf, ys, [x])


@add("max_pool_with_argmax")
def _(tf: Any, make: Any) -> list[Any]:
    x = make("x", (2, 5, 4, 3))
    found = []
    for window, stride, padding, batch in ((2, 2, "SAME", False), (3, 1, "SAME", True), (2, 1, "VALID", False)):
        y, positions = tf.nn.max_pool_with_argmax(
            x, [1, window, window, 1], [1, stride, stride, 1], padding, include_batch_in_index=batch
        )
        found += [positions, *with_gradients(tf, [y], [x])]
    return found


# ---- normalisation


@add("fused_batch_norm")
def _(tf: Any, make: Any, layout: str = "NHWC") -> list[Any]:
    x, scale, offset = make("x", (2, 3, 4, 3)), make("scale", (3,)), make("offset", (3,))
    given = tf.transpose(x, [0, 3, 1, 2]) if layout == "NCHW" else x
    y, mean, variance = tf.nn.fused_batch_norm(given, scale, offset, epsilon=0.01, data_format=layout)
    y = tf.transpose(y, [0, 2, 3, 1]) if layout == "NCHW" else y
    return [mean, variance, *with_gradients(tf, [y], [x, scale, offset])]


@add("fused_batch_norm inference")
def _(tf: Any, make: Any, layout: str = "NHWC") -> list[Any]:
    x, scale, offset = make("x", (2, 3, 4, 3)), make("scale", (3,)), make("offset", (3,))
    mean, variance = make("mean", (3,)), tf.exp(make("variance", (3,)))
    given = tf.transpose(x, [0, 3, 1, 2]) if layout == "NCHW" else x
    y, _, _ = tf.nn.fused_batch_norm(
        given, scale, offset, mean, variance, epsilon=0.01, is_training=False, data_format=layout
    )
    y = tf.transpose(y, [0, 2, 3, 1]) if layout == "NCHW" else y
    return with_gradients(tf, [y], [x, scale, offset])


LAYOUT_CASES["fused_batch_norm"] = CASES["fused_batch_norm"]
LAYOUT_CASES["fused_batch_norm inference"] = CASES["fused_batch_norm inference"]


@add("fused_batch_norm second")
def _(tf: Any, make: Any) -> list[Any]:
    x, scale, offset = make("x", (2, 2, 3, 2)), make("scale", (2,)), make("offset", (2,))
    return _second(tf, tf.nn.fused_batch_norm(x, scale, offset, epsilon=0.01)[0], x)


@add("moments")
def _(tf: Any, make: Any) -> list[Any]:
    x, w = make("x", (3, 4, 2)), tf.exp(make("w", (3, 4, 1)))
    found = [*tf.nn.moments(x, [0, 1]), *tf.nn.moments(x, [1], keep_dims=True), *tf.nn.weighted_moments(x, [0, 1], w)]
    count, total, squares, shift = tf.nn.sufficient_statistics(x, [0, 2], shift=0.5)
    found += [count, total, squares, *tf.nn.normalize_moments(count, total, squares, shift)]
    return with_gradients(tf, found, [x])


@add("normalisations")
def _(tf: Any, make: Any) -> list[Any]:
    x, m, v = make("x", (2, 3, 2, 5)), make("m", (5,)), tf.exp(make("v", (5,)))
    ys = [
        tf.nn.batch_normalization(x, m, v, 2 * m, 3 * m, 0.01),
        tf.nn.batch_normalization(x, m, v, None, None, 0.01),
        tf.nn.l2_normalize(x, [1, 3]),
        tf.nn.lrn(x),
        tf.nn.lrn(x, 1, 2.0, 0.3, 0.75),
    ]
    return with_gradients(tf, ys, [x, m])


@add("embedding_lookup")
def _(tf: Any, make: Any) -> list[Any]:
    a, b, c = make("a", (3, 2)), make("b", (2, 2)), make("c", (2, 2))
    ids = tf.constant([[0, 6, 3], [2, 2, 5]])
    found = [tf.nn.embedding_lookup([a, b, c], ids, s) for s in ("mod", "div")]
    found += [tf.nn.embedding_lookup([a, b, c], ids, "div", max_norm=0.5)]
    found += [tf.nn.embedding_lookup(a, ids // 3), tf.nn.embedding_lookup(a, ids // 3, max_norm=0.8)]
    weights = [tf.constant(values(f"w{i}", (2, 3, 2))) for i in range(len(found))]
    return found + [tf.convert_to_tensor(g) for g in tf.gradients(found, [a, b, c], grad_ys=weights)]
