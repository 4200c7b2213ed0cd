"""InceptionV3 (Szegedy and others, 2015) and InceptionResNetV2 (2016): several convolutions side by side.

The branches of a block are in tables: a step is a number of filters and a size, a single number for squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.library.keras.applications.block import average_pool, channels, conv, join, max_pool, norm, relu
from headrace.library.keras.applications.classifier import average_top, classifier
from headrace.library.layers.base_layer import Layer

Step = tuple[int, Any]
_HALVES: dict[str, Any] = {"strides": 2, "padding": "valid"}


def _unit(x: Any, filters: int, size: Any, strides: int = 1, padding: str = "same", names: Any = (None,) * 3) -> Any:
    """Convolution, normalization without scale, positive part."""
    x = norm(conv(x, filters, size, names[0], strides=strides, padding=padding), names[1], scale=False)
    return relu(x, names[2])


def _branch(x: Any, steps: Sequence[Step], halves: bool = False) -> Any:
    """Units one after the other; with ``halves`` the last one halves the images."""
    for i, (filters, size) in enumerate(steps, 1):
        x = _unit(x, filters, size, **(_HALVES if halves and i == len(steps) else {}))
    return x


def _stem(x: Any) -> Any:
    x = _unit(x, 32, 3, **_HALVES)
    x = max_pool(_unit(_unit(x, 32, 3, padding="valid"), 64, 3), 3, 2)
    x = _unit(_unit(x, 80, 1, padding="valid"), 192, 3, padding="valid")
    return max_pool(x, 3, 2)


def _pooled(x: Any, filters: int) -> Any:
    return _unit(average_pool(x, 3, 1, padding="same"), filters, 1)


# ---- InceptionV3


def _v3_body(x: Any) -> Any:
    x = _stem(x)
    for i, pooled in enumerate((32, 64, 64)):
        steps: Sequence[Sequence[Step]] = ([(64, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)])
        x = join([*(_branch(x, one) for one in steps), _pooled(x, pooled)], f"mixed{i}")
    halved = [_branch(x, [(384, 3)], halves=True), _branch(x, [(64, 1), (96, 3), (96, 3)], halves=True)]
    x = join([*halved, max_pool(x, 3, 2)], "mixed3")
    for i, n in enumerate((128, 160, 160, 192), 4):
        row, column = (1, 7), (7, 1)
        steps = (
            [(192, 1)],
            [(n, 1), (n, row), (192, column)],
            [(n, 1), (n, column), (n, row), (n, column), (192, row)],
        )
        x = join([*(_branch(x, one) for one in steps), _pooled(x, 192)], f"mixed{i}")
    ends = ([(192, 1), (320, 3)], [(192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3)])
    x = join([*(_branch(x, one, halves=True) for one in ends), max_pool(x, 3, 2)], "mixed8")
    for i in range(2):
        single = _unit(x, 320, 1)
        double = _split(_unit(x, 384, 1), f"mixed9_{i}")
        triple = _split(_branch(x, [(448, 1), (384, 3)]), None)
        x = join([single, double, triple, _pooled(x, 192)], f"mixed{9 + i}")
    return x


def _split(x: Any, name: str | None) -> Any:
    return join([_unit(x, 384, (1, 3)), _unit(x, 384, (3, 1))], name)


InceptionV3 = classifier(
    "InceptionV3", "InceptionV3: 94 convolutions in blocks of several branches.", _v3_body, average_top(), __name__, 299, 75,
    "inception_v3",
)  # fmt: skip


# ---- InceptionResNetV2


class CustomScaleLayer(Layer):
    """The first of two inputs, and the second times a number.

    Args:
      scale: The number.
      **kwargs: What every layer takes, such as ``name``.

    >>> x, y = tf.keras.Input([2]), tf.keras.Input([2])
    >>> tf.keras.layers.deserialize({"class_name": "CustomScaleLayer", "config": {"scale": 0.5}})([x, y]).shape.as_list()
    [None, 2]
    """

    def __init__(self, scale: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale = scale

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return inputs[0] + inputs[1] * self.scale

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape[0]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "scale": self.scale}


_BRANCHES: dict[str, tuple[float, int, list[list[Step]]]] = {  # scale, number of blocks, branches
    "block35": (0.17, 10, [[(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]]),
    "block17": (0.1, 20, [[(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]]),
    "block8": (0.2, 10, [[(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]]),
}


def _residual(x: Any, block: str, number: int, scale: float, is_active: bool) -> Any:
    name = f"{block}_{number}"
    mixed = join([_branch(x, steps) for steps in _BRANCHES[block][2]], f"{name}_mixed")
    up = conv(mixed, channels(x), 1, f"{name}_conv", padding="same", use_bias=True)
    x = CustomScaleLayer(scale)([x, up])
    return relu(x, f"{name}_ac") if is_active else x


def _residuals(x: Any, block: str) -> Any:
    scale, count, _ = _BRANCHES[block]
    for number in range(1, count + 1):
        is_last = block == "block8" and number == count
        x = _residual(x, block, number, 1.0 if is_last else scale, not is_last)
    return x


def _resnet_body(x: Any) -> Any:
    x = _stem(x)
    steps: Sequence[Sequence[Step]] = ([(96, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)])
    x = join([*(_branch(x, one) for one in steps), _pooled(x, 64)], "mixed_5b")
    x = _residuals(x, "block35")
    steps = ([(384, 3)], [(256, 1), (256, 3), (384, 3)])
    x = join([*(_branch(x, one, halves=True) for one in steps), max_pool(x, 3, 2)], "mixed_6a")
    x = _residuals(x, "block17")
    steps = ([(256, 1), (384, 3)], [(256, 1), (288, 3)], [(256, 1), (288, 3), (320, 3)])
    x = join([*(_branch(x, one, halves=True) for one in steps), max_pool(x, 3, 2)], "mixed_7a")
    x = _residuals(x, "block8")
    return _unit(x, 1536, 1, names=("conv_7b", "conv_7b_bn", "conv_7b_ac"))


InceptionResNetV2 = classifier(
    "InceptionResNetV2", "InceptionResNetV2: an Inception network whose blocks add to what they get.", _resnet_body,
    average_top(), __name__, 299, 75, "inception_resnet_v2",
)  # fmt: skip
