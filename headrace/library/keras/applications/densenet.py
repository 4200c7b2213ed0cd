"""Densely connected networks (Huang and others, 2017): each block adds channels to all that came before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.library.keras.applications.block import (
    average_pool,
    channels,
    conv,
    join,
    max_pool,
    norm,
    pad,
    relu,
)  # fmt: skip
from headrace.library.keras.applications.classifier import average_top, classifier

_EPSILON = 1.001e-5
_GROWTH = 32


def _body(counts: Sequence[int]) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        x = conv(pad(x, 3, 3), 64, 7, "conv1/conv", strides=2)
        x = relu(norm(x, "conv1/bn", epsilon=_EPSILON), "conv1/relu")
        x = max_pool(pad(x, 1, 1), 3, 2, name="pool1")
        for stack, count in enumerate(counts, 2):
            for block in range(1, count + 1):
                x = _block(x, f"conv{stack}_block{block}")
            if stack < 5:
                name = f"pool{stack}"
                x = relu(norm(x, f"{name}_bn", epsilon=_EPSILON), f"{name}_relu")
                x = average_pool(conv(x, channels(x) // 2, 1, f"{name}_conv"), 2, 2, name=f"{name}_pool")
        return relu(norm(x, "bn", epsilon=_EPSILON), "relu")

    return body


def _block(x: Any, name: str) -> Any:
    new = relu(norm(x, f"{name}_0_bn", epsilon=_EPSILON), f"{name}_0_relu")
    new = conv(new, 4 * _GROWTH, 1, f"{name}_1_conv")
    new = relu(norm(new, f"{name}_1_bn", epsilon=_EPSILON), f"{name}_1_relu")
    return join([x, conv(new, _GROWTH, 3, f"{name}_2_conv", padding="same")], f"{name}_concat")


def _make(depth: int, counts: Sequence[int]) -> Callable[..., Any]:
    about = f"DenseNet{depth}: a densely connected network of {depth} layers."
    names = ("avg_pool", "max_pool")
    return classifier(f"DenseNet{depth}", about, _body(counts), average_top(), __name__, pool_names=names)


DenseNet121 = _make(121, (6, 12, 24, 16))
DenseNet169 = _make(169, (6, 12, 32, 32))
DenseNet201 = _make(201, (6, 12, 48, 32))
