"""NASNet (Zoph and others, 2017): cells that a search found; each takes what the two before it made.

Layers are made in Keras's order, by which those without a name are numbered.
"""

from __future__ import annotations

from typing import Any

from headrace.library.keras.applications.block import (
    average_pool,
    channels,
    conv,
    join,
    max_pool,
    norm,
    pad,
    pad_for_stride,
    relu,
    rows_and_columns,
    total,
)  # fmt: skip
from headrace.library.keras.applications.classifier import average_top, image_shape, make_model
from headrace.library.keras.engine.model import Model
from headrace.library.layers.resizing import Cropping2D
from headrace.library.layers.separable import SeparableConv2D


def NASNetMobile(  # noqa: N802 - Keras's name
    input_shape: Any = None, include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None,
    pooling: str | None = None, classes: int = 1000,
) -> Model:  # fmt: skip
    """NASNet of 12 cells, small enough for telephones.

    Args:
      input_shape: The shape of an image; None for 224 rows and columns of 3 channels, of any size without the top.
      include_top: Whether the model ends in probabilities of classes, or in features.
      weights: None for random weights, the path of a file of weights, or "imagenet" for the file that Keras downloads to
        ``~/.keras/models``; Headrace downloads nothing.
      input_tensor: A tensor made by `tf.keras.Input` to use as the input; None for a new one.
      pooling: Without the top: "avg" or "max" makes one number of each channel; None leaves images of features.
      classes: The number of classes.

    Returns:
      A `tf.keras.Model`.

    Example: ``model = tf.keras.applications.NASNetMobile(weights=None, classes=10)``
    """
    rest = (include_top, weights, input_tensor, pooling, classes)
    return _nasnet("nasnet_mobile", 1056, 4, 32, False, 224, input_shape, *rest)


def NASNetLarge(  # noqa: N802 - Keras's name
    input_shape: Any = None, include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None,
    pooling: str | None = None, classes: int = 1000,
) -> Model:  # fmt: skip
    """NASNet of 18 cells.

    Args:
      input_shape: The shape of an image; None for 331 rows and columns of 3 channels, of any size without the top.
      include_top: Whether the model ends in probabilities of classes, or in features.
      weights: None for random weights, the path of a file of weights, or "imagenet" for the file that Keras downloads to
        ``~/.keras/models``; Headrace downloads nothing.
      input_tensor: A tensor made by `tf.keras.Input` to use as the input; None for a new one.
      pooling: Without the top: "avg" or "max" makes one number of each channel; None leaves images of features.
      classes: The number of classes.

    Returns:
      A `tf.keras.Model`.

    Example: ``model = tf.keras.applications.NASNetLarge(weights=None, classes=10)``
    """
    rest = (include_top, weights, input_tensor, pooling, classes)
    return _nasnet("nasnet_large", 4032, 6, 96, True, 331, input_shape, *rest)


def _nasnet(
    file: str, last_filters: int, count: int, stem: int, skips: bool, size: int, input_shape: Any, include_top: bool,
    weights: Any, input_tensor: Any, pooling: str | None, classes: int,
) -> Model:  # fmt: skip
    """``count`` cells of each width; with ``skips`` the cell after a halving one takes what came before that."""
    filters = last_filters // 24

    def body(x: Any) -> Any:
        x = _norm(_conv(x, stem, 3, "stem_conv1", strides=2), "stem_bn1")
        x, before = _halving_cell(x, None, filters // 4, "stem_1")
        x, before = _halving_cell(x, before, filters // 2, "stem_2")
        for width in range(3):
            if width:
                x, halved = _halving_cell(x, before, filters << width, f"reduce_{width * count}")
                before = before if skips else halved
            for i in range(count):
                number = width * count + i + (1 if width else 0)
                x, before = _cell(x, before, filters << width, str(number))
        return relu(x)

    shape = image_shape(input_shape, size, 32, include_top)
    top = average_top(None) if include_top else None
    name = f"{file}{'' if include_top else '_no_top'}.h5"
    return make_model("NASNet", body, top, shape, input_tensor, pooling, classes, weights, name)


def _conv(x: Any, filters: int, size: int, name: str, **options: Any) -> Any:
    return conv(x, filters, size, name, kernel_initializer="he_normal", **options)


def _norm(x: Any, name: str) -> Any:
    return norm(x, name, momentum=0.9997, epsilon=1e-3)


def _separable(x: Any, filters: int, size: int, name: str, halves: bool = False) -> Any:
    """Two separable convolutions, the first of which halves the images if asked to."""
    options: dict[str, Any] = {"use_bias": False, "kernel_initializer": "he_normal"}
    for i, strides in ((1, 2 if halves else 1), (2, 1)):
        x = relu(x)
        if strides == 2:
            x = pad_for_stride(x, size, f"separable_conv_1_pad_{name}")
        padding = "valid" if strides == 2 else "same"
        layer = SeparableConv2D(filters, size, strides, padding, name=f"separable_conv_{i}_{name}", **options)
        x = _norm(layer(x), f"separable_conv_{i}_bn_{name}")
    return x


def _adjusted(p: Any, x: Any, filters: int, name: str) -> Any:
    """What the cell before made, in the size of what the last one made, with so many channels."""
    if p is None:
        return x
    if rows_and_columns(p)[1] != rows_and_columns(x)[1]:
        p = relu(p, f"adjust_relu_1_{name}")
        options = {"padding": "same"}
        one = average_pool(p, 1, 2, name=f"adjust_avg_pool_1_{name}")
        one = _conv(one, filters // 2, 1, f"adjust_conv_1_{name}", **options)
        other = average_pool(Cropping2D(((1, 0), (1, 0)))(pad(p, 0, 1)), 1, 2, name=f"adjust_avg_pool_2_{name}")
        other = _conv(other, filters // 2, 1, f"adjust_conv_2_{name}", **options)
        return _norm(join([one, other]), f"adjust_bn_{name}")
    if channels(p) != filters:
        p = _conv(relu(p), filters, 1, f"adjust_conv_projection_{name}", padding="same")
        return _norm(p, f"adjust_bn_{name}")
    return p


def _cell(x: Any, p: Any, filters: int, name: str) -> tuple[Any, Any]:
    p = _adjusted(p, x, filters, name)
    h = _norm(_conv(relu(x), filters, 1, f"normal_conv_1_{name}", padding="same"), f"normal_bn_1_{name}")

    def separable(y: Any, size: int, side: str) -> Any:
        return _separable(y, filters, size, f"normal_{side}_{name}")

    def mean(y: Any, side: str) -> Any:
        return average_pool(y, 3, 1, padding="same", name=f"normal_{side}_{name}")

    parts = [p]
    for i in range(1, 6):  # one after the other, for the numbers of layers without a name
        if i == 1:
            left, right = separable(h, 5, "left1"), separable(p, 3, "right1")
        elif i == 2:
            left, right = separable(p, 5, "left2"), separable(p, 3, "right2")
        elif i == 3:
            left, right = mean(h, "left3"), p
        elif i == 4:
            left, right = mean(p, "left4"), mean(p, "right4")
        else:
            left, right = separable(h, 3, "left5"), h
        parts.append(total(left, right, f"normal_add_{i}_{name}"))
    return join(parts, f"normal_concat_{name}"), x


def _halving_cell(x: Any, p: Any, filters: int, name: str) -> tuple[Any, Any]:
    p = _adjusted(p, x, filters, name)
    h = _norm(_conv(relu(x), filters, 1, f"reduction_conv_1_{name}", padding="same"), f"reduction_bn_1_{name}")
    padded = pad_for_stride(h, 3, f"reduction_pad_1_{name}")

    def separable(y: Any, size: int, side: str, halves: bool = True) -> Any:
        return _separable(y, filters, size, f"reduction_{side}_{name}", halves)

    one = total(separable(h, 5, "left1"), separable(p, 7, "right1"), f"reduction_add_1_{name}")
    largest = max_pool(padded, 3, 2, name=f"reduction_left2_{name}")
    two = total(largest, separable(p, 7, "right2"), f"reduction_add_2_{name}")
    mean = average_pool(padded, 3, 2, name=f"reduction_left3_{name}")
    three = total(mean, separable(p, 5, "right3"), f"reduction_add3_{name}")
    four = total(two, average_pool(one, 3, 1, padding="same", name=f"reduction_left4_{name}"))
    last = separable(one, 3, "left4", halves=False)
    five = total(last, max_pool(padded, 3, 2, name=f"reduction_right5_{name}"), f"reduction_add4_{name}")
    return join([two, three, four, five], f"reduction_concat_{name}"), x
