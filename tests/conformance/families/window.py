"""Convolutions, pools, normalisation, softmax and the losses, images."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from conformance.call import Call
from conformance.draw import Draw, Tensor

FLOAT = ("float32", "float64", "float32", "float16")


def _window(d: Draw, rank: int) -> tuple[list[int], list[int], list[int], str]:
    sizes = [d.int(1, 6) for _ in range(rank)]
    window = [d.int(1, 3) for _ in range(rank)]
    strides = [d.int(1, 3) for _ in range(rank)] if d.bool() else [d.int(1, 2)] * rank
    if rank == 3:  # with strides wider than the window TensorFlow's kernels start at the wrong place
        strides = [min(s, k) for s, k in zip(strides, window, strict=True)]
    return sizes, window, strides, d.choice(("SAME", "VALID"))


def _explicit(d: Draw, rank: int) -> dict[str, Any]:
    pairs = [n for _ in range(rank) for n in (d.int(0, 1), d.int(0, 1))]
    return {"padding": "EXPLICIT", "explicit_paddings": [0, 0, *pairs, 0, 0]}


def conv(op: str, d: Draw) -> Call:
    rank = 3 if "3D" in op else 2
    sizes, window, strides, padding = _window(d, rank)
    deep, out = d.int(1, 3), d.int(1, 3)
    if "Depthwise" in op:
        strides = [strides[0]] * 2
    attrs: dict[str, Any] = {"strides": [1, *strides, 1], "padding": padding}
    if op == "Conv2D" and d.int(0, 3) == 0:
        attrs.update(_explicit(d, rank))
    if op == "Conv2D" and d.int(0, 2) == 0:
        attrs.update(dilations=[1, d.int(1, 2), d.int(1, 2), 1], strides=[1] * 4)
    dtype = d.choice(("float32", "float64"))
    x = d.values((d.size(), *sizes, deep), dtype, "plain")
    return d.call(op, x, d.values((*window, deep, out), dtype, "plain"), **attrs)


def conv_back(op: str, d: Draw) -> Call:
    rank = 3 if "3D" in op else 2
    sizes, window, strides, padding = _window(d, rank)
    strides = [strides[0]] * rank if "Depthwise" in op else strides
    deep, out, batch = d.int(1, 2), d.int(1, 3), d.int(1, 2)
    ends = [
        -(-n // s) if padding == "SAME" else max((n - k) // s + 1, 0)
        for n, k, s in zip(sizes, window, strides, strict=True)
    ]
    last = deep * out if "Depthwise" in op else out
    y = d.values((batch, *ends, last), "float32", "plain")
    x_shape, w_shape = (batch, *sizes, deep), (*window, deep, out)
    attrs = {"strides": [1, *strides, 1], "padding": padding}
    if "Input" in op:
        return d.call(op, np.int32(x_shape), d.values(w_shape, "float32", "plain"), y, **attrs)
    return d.call(op, d.values(x_shape, "float32", "plain"), np.int32(w_shape), y, **attrs)


def pool(op: str, d: Draw) -> Call:
    rank = 3 if "3D" in op else 2
    sizes, window, strides, padding = _window(d, rank)
    attrs: dict[str, Any] = {"ksize": [1, *window, 1], "strides": [1, *strides, 1], "padding": padding}
    if op == "MaxPoolWithArgmax":
        attrs["include_batch_in_index"] = d.bool()
    kind = "grid" if op == "MaxPool" and d.bool() else "plain"
    dtype = d.choice(("float32", "float64")) if op in ("MaxPool", "AvgPool") else "float32"
    return d.call(op, d.values((d.size(), *sizes, d.int(1, 3)), dtype, kind), **attrs)


def dilate(d: Draw) -> Call:
    sizes, window, strides, padding = _window(d, 2)
    deep = d.int(1, 2)
    x, w = d.values((d.int(1, 2), *sizes, deep), "float32", "plain"), d.values((*window, deep), "float32", "plain")
    rates = [d.int(1, 2) if size > 1 else 1 for size in sizes]  # else windows may lie wholly in the padding
    return d.call("Dilation2D", x, w, strides=[1, *strides, 1], rates=[1, *rates, 1], padding=padding)


def lrn(d: Draw) -> Call:
    x = d.values(d.solid(4, 4), "float32", "plain")
    return d.call("LRN", x, depth_radius=d.int(0, 3), bias=1.0, alpha=d.choice((1.0, 0.1)), beta=d.choice((0.5, 0.75)))


def batch_norm(op: str, d: Draw) -> Call:
    x = d.values(d.solid(4, 4), "float32", "plain")
    count, training = x.shape[-1], d.bool()
    scale, offset = (d.values((count,), "float32", "positive") for _ in range(2))
    statistics = (
        [np.zeros(0, np.float32)] * 2 if training else [d.values((count,), "float32", "positive") for _ in range(2)]
    )
    return d.call(op, x, scale, offset, *statistics, is_training=training, epsilon=d.choice((0.001, 0.1)))


def quotient(op: str, d: Draw) -> Call:
    return d.call(op, d.values(d.shape(1, 3), d.choice(FLOAT)))


def softmax_loss(d: Draw) -> Call:
    (rows, classes), dtype = d.shape(2, 2), d.choice(FLOAT)
    labels = (1, classes) if d.rarely() else (rows, classes)
    return d.call("SoftmaxCrossEntropyWithLogits", d.values((rows, classes), dtype), d.values(labels, dtype, "plain"))


def sparse_loss(d: Draw) -> Call:
    rows, classes = d.size(), d.int(1, 4)
    return d.call(
        "SparseSoftmaxCrossEntropyWithLogits", d.values((rows, classes), d.choice(FLOAT)), d.indices(classes, (rows,))
    )


def resize(op: str, d: Draw) -> Call:
    x = d.values((d.int(1, 2), d.int(1, 5), d.int(1, 5), d.int(1, 2)), d.dtype(op), "plain")
    attrs = {"align_corners": d.bool()}
    if op != "ResizeArea" and not attrs["align_corners"]:
        attrs["half_pixel_centers"] = d.bool()
    return d.call(op, x, np.int32([d.int(1, 7), d.int(1, 7)]), **attrs)


def crop(d: Draw) -> Call:
    x = d.values(
        (d.int(1, 2), d.int(1, 5), d.int(1, 5), d.int(1, 2)), d.choice(("float32", "uint8", "float64")), "plain"
    )
    count = d.int(1, 3)
    boxes = Tensor(np.random.RandomState(d.int(0, 99)).uniform(-0.2, 1.2, (count, 4)).astype(np.float32))
    return d.call(
        "CropAndResize", x, boxes, d.indices(x.shape[0], (count,), "int32"), np.int32([d.int(1, 4), d.int(1, 4)]),
        method=d.choice(("bilinear", "nearest")), extrapolation_value=d.choice((0.0, -1.0)),
    )  # fmt: skip


def colour(op: str, d: Draw) -> Call:
    x = np.abs(d.values((*d.shape(0, 2), 3), d.choice(("float32", "float64")), "unit").array)
    if op in ("AdjustHue", "AdjustSaturation", "AdjustContrastv2"):
        x = np.abs(d.values((*d.solid(2, 3), 3), "float32", "unit").array)
        return d.call(op, x, np.float32(d.choice((0.0, 0.3, -0.4, 1.5) if op == "AdjustHue" else (0.0, 0.5, 2.0))))
    return d.call(op, x)


def thin(op: str, d: Draw) -> Call:
    count = d.int(0, 6)
    random = np.random.RandomState(d.int(0, 99))
    boxes, scores = random.rand(count, 4).astype(np.float32), random.rand(count).astype(np.float32)
    limits = [np.int32(d.int(0, 5)), np.float32(d.choice((0.1, 0.5, 0.9))), np.float32(d.choice((0.0, 0.4)))]
    attrs = {"pad_to_max_output_size": d.bool()} if op.endswith("V4") else {}
    return d.call(op, boxes, scores, *limits, **attrs)


def draw_boxes(d: Draw) -> Call:
    x = d.values((d.int(1, 2), d.int(2, 6), d.int(2, 6), 3), "float32", "unit")
    boxes = np.random.RandomState(d.int(0, 99)).uniform(-0.2, 1.2, (x.shape[0], d.int(0, 2), 4)).astype(np.float32)
    return d.call("DrawBoundingBoxes", x, boxes, gradient=False)


OPS = {
    **{op: partial(conv, op) for op in ("Conv2D", "Conv3D", "DepthwiseConv2dNative")},
    **{
        op: partial(conv_back, op)
        for op in (
            "Conv2DBackpropInput",
            "Conv2DBackpropFilter",
            "Conv3DBackpropInputV2",
            "Conv3DBackpropFilterV2",
            "DepthwiseConv2dNativeBackpropInput",
            "DepthwiseConv2dNativeBackpropFilter",
        )
    },
    **{op: partial(pool, op) for op in ("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D", "MaxPoolWithArgmax")},
    "Dilation2D": dilate,
    "LRN": lrn,
    **{op: partial(batch_norm, op) for op in ("FusedBatchNorm", "FusedBatchNormV3")},
    "Softmax": partial(quotient, "Softmax"),
    "LogSoftmax": partial(quotient, "LogSoftmax"),
    "SoftmaxCrossEntropyWithLogits": softmax_loss,
    "SparseSoftmaxCrossEntropyWithLogits": sparse_loss,
    **{op: partial(resize, op) for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")},
    "CropAndResize": crop,
    **{op: partial(colour, op) for op in ("RGBToHSV", "HSVToRGB", "AdjustHue", "AdjustSaturation", "AdjustContrastv2")},
    **{op: partial(thin, op) for op in ("NonMaxSuppressionV3", "NonMaxSuppressionV4")},
    "DrawBoundingBoxes": draw_boxes,
}
