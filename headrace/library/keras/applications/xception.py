"""Xception (Chollet, 2017): convolutions of each channel, then of all channels at each point."""

from __future__ import annotations

from typing import Any

from headrace.library.keras.applications.block import conv, max_pool, norm, relu, total
from headrace.library.keras.applications.classifier import average_top, classifier
from headrace.library.layers.separable import SeparableConv2D


def _separable(x: Any, filters: int, name: str) -> Any:
    return norm(SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x), f"{name}_bn")


def _halving(x: Any, filters: tuple[int, int], block: int, begins_active: bool = True) -> Any:
    """A block that halves the images, beside a convolution that does too."""
    shortcut = norm(conv(x, filters[1], 1, strides=2, padding="same"))
    for i, count in enumerate(filters, 1):
        if i > 1 or begins_active:
            x = relu(x, f"block{block}_sepconv{i}_act")
        x = _separable(x, count, f"block{block}_sepconv{i}")
    return total(max_pool(x, 3, 2, padding="same", name=f"block{block}_pool"), shortcut)


def _body(x: Any) -> Any:
    for i, (filters, strides) in enumerate(((32, 2), (64, 1)), 1):
        name = f"block1_conv{i}"
        x = relu(norm(conv(x, filters, 3, name, strides=strides), f"{name}_bn"), f"{name}_act")
    for block, filters in ((2, 128), (3, 256), (4, 728)):
        x = _halving(x, (filters, filters), block, begins_active=block > 2)
    for block in range(5, 13):
        shortcut = x
        for i in (1, 2, 3):
            x = _separable(relu(x, f"block{block}_sepconv{i}_act"), 728, f"block{block}_sepconv{i}")
        x = total(x, shortcut)
    x = _halving(x, (728, 1024), 13)
    for i, filters in ((1, 1536), (2, 2048)):
        x = relu(_separable(x, filters, f"block14_sepconv{i}"), f"block14_sepconv{i}_act")
    return x


Xception = classifier(
    "Xception", "Xception: 36 convolutions, most of them separable.", _body, average_top(), __name__, 299, 71
)
