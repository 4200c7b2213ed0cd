"""Residual networks (He and others, 2015 and 2016): each block adds to what it gets.

In the first version a block normalizes after its convolutions, in the second before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.library.keras.applications.block import conv, max_pool, norm, pad, relu, total
from headrace.library.keras.applications.classifier import average_top, classifier

_EPSILON = 1.001e-5
_DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
_FILTERS = (64, 128, 256, 512)


def _body(counts: Sequence[int]) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        x = conv(pad(x, 3, 3, "conv1_pad"), 64, 7, "conv1_conv", strides=2, use_bias=True)
        x = relu(norm(x, "conv1_bn", epsilon=_EPSILON), "conv1_relu")
        x = max_pool(pad(x, 1, 1, "pool1_pad"), 3, 2, name="pool1_pool")
        for stack, (filters, count) in enumerate(zip(_FILTERS, counts, strict=True), 2):
            for block in range(1, count + 1):
                stride = 2 if block == 1 and stack > 2 else 1
                x = _block(x, filters, stride, f"conv{stack}_block{block}", is_first=block == 1)
        return x

    return body


def _block(x: Any, filters: int, stride: int, name: str, is_first: bool) -> Any:
    def step(x: Any, number: int, filters: int, size: int, strides: int = 1) -> Any:
        x = conv(x, filters, size, f"{name}_{number}_conv", strides=strides, padding="same", use_bias=True)
        return norm(x, f"{name}_{number}_bn", epsilon=_EPSILON)

    shortcut = step(x, 0, 4 * filters, 1, stride) if is_first else x
    x = relu(step(x, 1, filters, 1, stride), f"{name}_1_relu")
    x = relu(step(x, 2, filters, 3), f"{name}_2_relu")
    return relu(total(shortcut, step(x, 3, 4 * filters, 1), f"{name}_add"), f"{name}_out")


def _body_2(counts: Sequence[int]) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        x = conv(pad(x, 3, 3, "conv1_pad"), 64, 7, "conv1_conv", strides=2, use_bias=True)
        x = max_pool(pad(x, 1, 1, "pool1_pad"), 3, 2, name="pool1_pool")
        for stack, (filters, count) in enumerate(zip(_FILTERS, counts, strict=True), 2):
            for block in range(1, count + 1):
                stride = 2 if block == count and stack < 5 else 1
                x = _block_2(x, filters, stride, f"conv{stack}_block{block}", is_first=block == 1)
        return relu(norm(x, "post_bn", epsilon=_EPSILON), "post_relu")

    return body


def _block_2(x: Any, filters: int, stride: int, name: str, is_first: bool) -> Any:
    ready = relu(norm(x, f"{name}_preact_bn", epsilon=_EPSILON), f"{name}_preact_relu")
    if is_first:
        shortcut = conv(ready, 4 * filters, 1, f"{name}_0_conv", strides=stride, use_bias=True)
    else:
        shortcut = max_pool(x, 1, stride) if stride > 1 else x
    x = relu(norm(conv(ready, filters, 1, f"{name}_1_conv"), f"{name}_1_bn", epsilon=_EPSILON), f"{name}_1_relu")
    x = conv(pad(x, 1, 1, f"{name}_2_pad"), filters, 3, f"{name}_2_conv", strides=stride)
    x = relu(norm(x, f"{name}_2_bn", epsilon=_EPSILON), f"{name}_2_relu")
    return total(shortcut, conv(x, 4 * filters, 1, f"{name}_3_conv", use_bias=True), f"{name}_out")


def _make(depth: int, version: int) -> Callable[..., Any]:
    suffix = "" if version == 1 else "V2"
    about = f"ResNet{depth}{suffix}: a residual network of {depth} layers" + ("." if version == 1 else ", version 2.")
    body = (_body if version == 1 else _body_2)(_DEPTHS[depth])
    names = ("avg_pool", "max_pool")
    return classifier(f"ResNet{depth}{suffix}", about, body, average_top(), __name__, pool_names=names)


ResNet50, ResNet101, ResNet152 = (_make(depth, 1) for depth in (50, 101, 152))
ResNet50V2, ResNet101V2, ResNet152V2 = (_make(depth, 2) for depth in (50, 101, 152))
