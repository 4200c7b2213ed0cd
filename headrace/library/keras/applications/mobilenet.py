"""MobileNet (Howard and others, 2017) and MobileNetV2 (Sandler and others, 2018): small networks of separate convolutions."""

from __future__ import annotations

from typing import Any

from headrace.library.keras.applications.block import channels, conv, is_channels_last, norm, pad, pad_for_stride, total
from headrace.library.keras.applications.classifier import average_top, image_shape, make_model
from headrace.library.keras.engine.model import Model
from headrace.library.layers.advanced_activations import ReLU
from headrace.library.layers.core import Activation
from headrace.library.layers.dropout import Dropout
from headrace.library.layers.pooling import GlobalAveragePooling2D
from headrace.library.layers.reshaping import Reshape
from headrace.library.layers.separable import DepthwiseConv2D

_SIZES = (96, 128, 160, 192, 224)  # of images that weights are trained on
# MobileNet: filters and stride of each block.  MobileNetV2: expansion, filters, stride and how often.
_BLOCKS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2),
    (1024, 1),
)  # fmt: skip
_STACKS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 2, 3), (6, 64, 2, 4), (6, 96, 1, 3), (6, 160, 2, 3), (6, 320, 1, 1),
)  # fmt: skip


def _relu6(x: Any, name: str) -> Any:
    return ReLU(6.0, name=name)(x)


def _depthwise(x: Any, stride: int, name: str, multiplier: int = 1) -> Any:
    padding = "same" if stride == 1 else "valid"
    layer = DepthwiseConv2D(3, stride, padding, depth_multiplier=multiplier, use_bias=False, name=name)
    return layer(x)


def MobileNet(  # noqa: N802 - Keras's name
    input_shape: Any = None, alpha: float = 1.0, depth_multiplier: int = 1, dropout: float = 1e-3,
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, pooling: str | None = None,
    classes: int = 1000,
) -> Model:  # fmt: skip
    """MobileNet: 13 convolutions of single channels, each followed by one of all channels at each point.

    Args:
      input_shape: The shape of an image; None for 224 rows and columns of 3 channels, of any size without the top.
      alpha: The width of the network: what the numbers of filters are multiplied by.
      depth_multiplier: How many channels each convolution of a single channel makes of it.
      dropout: The share of features that training drops before the top.
      include_top: Whether the model ends in probabilities of classes, or in features.
      weights: None for random weights, the path of a file of weights, or "imagenet" for the file that Keras downloads to
        ``~/.keras/models``; Headrace downloads nothing.
      input_tensor: A tensor made by `tf.keras.Input` to use as the input; None for a new one.
      pooling: Without the top: "avg" or "max" makes one number of each channel; None leaves images of features.
      classes: The number of classes.

    Returns:
      A `tf.keras.Model`.

    Example: ``model = tf.keras.applications.MobileNet(weights=None, alpha=0.5, classes=10)``
    """

    def body(x: Any) -> Any:
        x = conv(x, int(32 * alpha), 3, "conv1", strides=2, padding="same")
        x = _relu6(norm(x, "conv1_bn"), "conv1_relu")
        for i, (filters, stride) in enumerate(_BLOCKS, 1):
            if stride == 2:
                x = pad(x, 0, 1, f"conv_pad_{i}")
            x = _depthwise(x, stride, f"conv_dw_{i}", depth_multiplier)
            x = _relu6(norm(x, f"conv_dw_{i}_bn"), f"conv_dw_{i}_relu")
            x = conv(x, int(filters * alpha), 1, f"conv_pw_{i}", padding="same")
            x = _relu6(norm(x, f"conv_pw_{i}_bn"), f"conv_pw_{i}_relu")
        return x

    def top(x: Any, classes: int) -> Any:
        count = channels(x)
        x = GlobalAveragePooling2D()(x)
        x = Reshape((1, 1, count) if is_channels_last() else (count, 1, 1), name="reshape_1")(x)
        x = conv(Dropout(dropout, name="dropout")(x), classes, 1, "conv_preds", padding="same", use_bias=True)
        return Activation("softmax", name="predictions")(Reshape((classes,), name="reshape_2")(x))

    shape = image_shape(input_shape, 224, 32, include_top)
    rows = _rows(shape, weights)
    width = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0"}.get(alpha, "2_5")
    file = f"mobilenet_{width}_{rows}_tf{'' if include_top else '_no_top'}.h5"
    name = f"mobilenet_{alpha:0.2f}_{rows}"
    return make_model(name, body, top if include_top else None, shape, input_tensor, pooling, classes, weights, file)


def MobileNetV2(  # noqa: N802 - Keras's name
    input_shape: Any = None, alpha: float = 1.0, include_top: bool = True, weights: Any = "imagenet",
    input_tensor: Any = None, pooling: str | None = None, classes: int = 1000,
) -> Model:  # fmt: skip
    """MobileNetV2: 17 blocks that widen, convolve single channels, narrow again, and add to what they got.

    Args:
      input_shape: The shape of an image; None for 224 rows and columns of 3 channels, of any size without the top.
      alpha: The width of the network: what the numbers of filters are multiplied by.
      include_top: Whether the model ends in probabilities of classes, or in features.
      weights: None for random weights, the path of a file of weights, or "imagenet" for the file that Keras downloads to
        ``~/.keras/models``; Headrace downloads nothing.
      input_tensor: A tensor made by `tf.keras.Input` to use as the input; None for a new one.
      pooling: Without the top: "avg" or "max" makes one number of each channel; None leaves images of features.
      classes: The number of classes.

    Returns:
      A `tf.keras.Model`.

    Example: ``model = tf.keras.applications.MobileNetV2(weights=None, alpha=0.35, classes=10)``
    """

    def body(x: Any) -> Any:
        x = conv(x, _divisible(32 * alpha), 3, "Conv1", strides=2, padding="same")
        x = _relu6(_norm(x, "bn_Conv1"), "Conv1_relu")
        number = 0
        for expansion, filters, stride, count in _STACKS:
            for i in range(count):
                x = _inverted(x, expansion, _divisible(int(filters * alpha)), 1 if i else stride, number)
                number += 1
        x = conv(x, max(1280, _divisible(1280 * alpha)), 1, "Conv_1")
        return _relu6(_norm(x, "Conv_1_bn"), "out_relu")

    shape = image_shape(input_shape, 224, 32, include_top)
    rows = _rows(shape, weights)
    ending = "" if include_top else "_no_top"
    file = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{rows}{ending}.h5"
    name = f"mobilenetv2_{alpha:0.2f}_{rows}"
    top = average_top(None) if include_top else None
    return make_model(name, body, top, shape, input_tensor, pooling, classes, weights, file)


def _inverted(x: Any, expansion: int, filters: int, stride: int, number: int) -> Any:
    inputs, prefix = x, f"block_{number}_" if number else "expanded_conv_"
    if number:
        x = conv(x, expansion * channels(x), 1, f"{prefix}expand", padding="same")
        x = _relu6(_norm(x, f"{prefix}expand_BN"), f"{prefix}expand_relu")
    if stride == 2:
        x = pad_for_stride(x, 3, f"{prefix}pad")
    x = _relu6(_norm(_depthwise(x, stride, f"{prefix}depthwise"), f"{prefix}depthwise_BN"), f"{prefix}depthwise_relu")
    x = _norm(conv(x, filters, 1, f"{prefix}project", padding="same"), f"{prefix}project_BN")
    return total(inputs, x, f"{prefix}add") if channels(inputs) == filters and stride == 1 else x


def _norm(x: Any, name: str) -> Any:
    return norm(x, name, momentum=0.999, epsilon=1e-3)


def _divisible(value: float) -> int:
    """The multiple of 8 nearest to a number of filters, but no less than 90 % of it."""
    nearest = max(8, int(value + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * value else nearest


def _rows(shape: Any, weights: Any) -> int | None:
    """The size in the name of the model: with weights of ImageNet, that of the weights that fit."""
    rows, columns = shape[:2] if is_channels_last() else shape[1:]
    fits = weights != "imagenet" or (rows == columns and rows in _SIZES)
    return rows if fits else 224
