"""VGG16 and VGG19 (Simonyan and Zisserman, 2014): convolutions of size 3, in five blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.library.keras.applications.block import conv, max_pool
from headrace.library.keras.applications.classifier import classifier
from headrace.library.layers.core import Dense
from headrace.library.layers.reshaping import Flatten

_FILTERS = (64, 128, 256, 512, 512)


def _body(counts: Sequence[int]) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        for block, (filters, count) in enumerate(zip(_FILTERS, counts, strict=True), 1):
            for i in range(1, count + 1):
                options = {"padding": "same", "activation": "relu", "use_bias": True}
                x = conv(x, filters, 3, f"block{block}_conv{i}", **options)
            x = max_pool(x, 2, 2, name=f"block{block}_pool")
        return x

    return body


def _top(x: Any, classes: int) -> Any:
    x = Flatten(name="flatten")(x)
    for name in ("fc1", "fc2"):
        x = Dense(4096, activation="relu", name=name)(x)
    return Dense(classes, activation="softmax", name="predictions")(x)


VGG16 = classifier("VGG16", "VGG16: 13 convolutions and 3 dense layers.", _body((2, 2, 3, 3, 3)), _top, __name__)
VGG19 = classifier("VGG19", "VGG19: 16 convolutions and 3 dense layers.", _body((2, 2, 4, 4, 4)), _top, __name__)
