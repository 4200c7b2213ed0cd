"""Inception v1, v2 and v3: rows of layers, and mixtures of branches that are concatenated.

A layer is written ``Conv2d_0a_1x1 64``: its name, which says what it is and the size of its kernel, and its filters; ``/2`` is a
stride of 2, ``VALID`` a padding, ``~0.09`` the deviation of its initial weights.  ``+`` in a branch ends in several layers on
the same values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from headrace.graph.collection import GraphKeys
from headrace.library.contrib.arg_scope import arg_scope
from headrace.library.contrib.composition import softmax
from headrace.library.contrib.layers import (
    avg_pool2d,
    conv2d,
    dropout,
    fully_connected,
    max_pool2d,
    separable_convolution2d,
)
from headrace.library.contrib.normalization import batch_norm
from headrace.library.network import activation
from headrace.library.state.initializers import TruncatedNormal, contrib_variance_scaling_initializer
from headrace.library.state.regularizers import l2_regularizer
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array

Depth = Callable[[int], int]
_MAX, _AVG = "MaxPool_0a_3x3", "AvgPool_0a_3x3"


def _four(a: int, b: int, c: int, d: int, e: int, f: int, last: str = "Conv2d_0b_3x3") -> list[str]:
    """The four branches of v1."""
    return [
        f"Conv2d_0a_1x1 {a}",
        f"Conv2d_0a_1x1 {b}, Conv2d_0b_3x3 {c}",
        f"Conv2d_0a_1x1 {d}, {last} {e}",
        f"{_MAX}, Conv2d_0b_1x1 {f}",
    ]


def _second(a: int, b: int, c: int, d: int, e: int, f: int, pool: str = _AVG) -> list[str]:
    """The four branches of v2."""
    return [
        f"Conv2d_0a_1x1 {a}",
        f"Conv2d_0a_1x1 {b} ~0.09, Conv2d_0b_3x3 {c}",
        f"Conv2d_0a_1x1 {d} ~0.09, Conv2d_0b_3x3 {e}, Conv2d_0c_3x3 {e}",
        f"{pool}, Conv2d_0b_1x1 {f} ~0.1",
    ]


def _fifth(last: int, one: str = "Conv2d_0a_1x1", five: str = "Conv2d_0b_5x5") -> list[str]:
    """v3, pictures of 35 x 35."""
    return [
        "Conv2d_0a_1x1 64",
        f"{one} 48, {five} 64",
        "Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_0c_3x3 96",
        f"{_AVG}, Conv2d_0b_1x1 {last}",
    ]


def _sixth(n: int) -> list[str]:
    """v3, pictures of 17 x 17."""
    return [
        "Conv2d_0a_1x1 192",
        f"Conv2d_0a_1x1 {n}, Conv2d_0b_1x7 {n}, Conv2d_0c_7x1 192",
        f"Conv2d_0a_1x1 {n}, Conv2d_0b_7x1 {n}, Conv2d_0c_1x7 {n}, Conv2d_0d_7x1 {n}, Conv2d_0e_1x7 192",
        f"{_AVG}, Conv2d_0b_1x1 192",
    ]


def _seventh(tall: str) -> list[str]:
    """v3, pictures of 8 x 8."""
    return [
        "Conv2d_0a_1x1 320",
        f"Conv2d_0a_1x1 384, Conv2d_0b_1x3 384 + {tall} 384",
        "Conv2d_0a_1x1 448, Conv2d_0b_3x3 384, Conv2d_0c_1x3 384 + Conv2d_0d_3x1 384",
        f"{_AVG}, Conv2d_0b_1x1 192",
    ]


_V1: dict[str, Any] = {
    "Conv2d_1a_7x7": "64 /2", "MaxPool_2a_3x3": "/2", "Conv2d_2b_1x1": "64", "Conv2d_2c_3x3": "192",
    "MaxPool_3a_3x3": "/2",
    "Mixed_3b": _four(64, 96, 128, 16, 32, 32), "Mixed_3c": _four(128, 128, 192, 32, 96, 64),
    "MaxPool_4a_3x3": "/2",
    "Mixed_4b": _four(192, 96, 208, 16, 48, 64), "Mixed_4c": _four(160, 112, 224, 24, 64, 64),
    "Mixed_4d": _four(128, 128, 256, 24, 64, 64), "Mixed_4e": _four(112, 144, 288, 32, 64, 64),
    "Mixed_4f": _four(256, 160, 320, 32, 128, 128),
    "MaxPool_5a_2x2": "/2",
    "Mixed_5b": _four(256, 160, 320, 32, 128, 128, "Conv2d_0a_3x3"), "Mixed_5c": _four(384, 192, 384, 48, 128, 128),
}  # fmt: skip

_V2: dict[str, Any] = {
    "Conv2d_1a_7x7": "64 /2 ~1.0 separable", "MaxPool_2a_3x3": "/2", "Conv2d_2b_1x1": "64 ~0.1",
    "Conv2d_2c_3x3": "192", "MaxPool_3a_3x3": "/2",
    "Mixed_3b": _second(64, 64, 64, 64, 96, 32), "Mixed_3c": _second(64, 64, 96, 64, 96, 64),
    "Mixed_4a": [
        "Conv2d_0a_1x1 128 ~0.09, Conv2d_1a_3x3 160 /2", "Conv2d_0a_1x1 64 ~0.09, Conv2d_0b_3x3 96, Conv2d_1a_3x3 96 /2",
        "MaxPool_1a_3x3 /2",
    ],
    "Mixed_4b": _second(224, 64, 96, 96, 128, 128), "Mixed_4c": _second(192, 96, 128, 96, 128, 128),
    "Mixed_4d": _second(160, 128, 160, 128, 160, 96), "Mixed_4e": _second(96, 128, 192, 160, 192, 96),
    "Mixed_5a": [
        "Conv2d_0a_1x1 128 ~0.09, Conv2d_1a_3x3 192 /2",
        "Conv2d_0a_1x1 192 ~0.09, Conv2d_0b_3x3 256, Conv2d_1a_3x3 256 /2", "MaxPool_1a_3x3 /2",
    ],
    "Mixed_5b": _second(352, 192, 320, 160, 224, 128), "Mixed_5c": _second(352, 192, 320, 192, 224, 128, _MAX),
}  # fmt: skip

_V3: dict[str, Any] = {
    "Conv2d_1a_3x3": "32 /2 VALID", "Conv2d_2a_3x3": "32 VALID", "Conv2d_2b_3x3": "64", "MaxPool_3a_3x3": "/2 VALID",
    "Conv2d_3b_1x1": "80 VALID", "Conv2d_4a_3x3": "192 VALID", "MaxPool_5a_3x3": "/2 VALID",
    "Mixed_5b": _fifth(32), "Mixed_5c": _fifth(64, "Conv2d_0b_1x1", "Conv_1_0c_5x5"), "Mixed_5d": _fifth(64),
    "Mixed_6a": [
        "Conv2d_1a_1x1 384 3x3 /2 VALID", "Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_1a_1x1 96 3x3 /2 VALID",
        "MaxPool_1a_3x3 /2 VALID",
    ],
    "Mixed_6b": _sixth(128), "Mixed_6c": _sixth(160), "Mixed_6d": _sixth(160), "Mixed_6e": _sixth(192),
    "Mixed_7a": [
        "Conv2d_0a_1x1 192, Conv2d_1a_3x3 320 /2 VALID",
        "Conv2d_0a_1x1 192, Conv2d_0b_1x7 192, Conv2d_0c_7x1 192, Conv2d_1a_3x3 192 /2 VALID", "MaxPool_1a_3x3 /2 VALID",
    ],
    "Mixed_7b": _seventh("Conv2d_0b_3x1"), "Mixed_7c": _seventh("Conv2d_0c_3x1"),
}  # fmt: skip


def _layer(text: str, net: Any, depth: Depth) -> Any:
    """One layer as it is written."""
    name, *words = text.split()
    sizes = [word for word in words if re.fullmatch(r"\d+x\d+", word)] or [name.rpartition("_")[2]]
    kernel = [int(size) for size in sizes[0].split("x")]
    options: dict[str, Any] = {"scope": name, "stride": 2 if "/2" in words else 1}
    options["padding"] = "VALID" if "VALID" in words else "SAME"
    if "Pool" in name:
        return (max_pool2d if name.startswith("Max") else avg_pool2d)(net, kernel, **options)
    for word in words:
        if word.startswith("~"):
            options["weights_initializer"] = TruncatedNormal(0.0, float(word[1:]))
    filters = depth(next(int(word) for word in words if word.isdigit()))
    if "separable" in words:
        return separable_convolution2d(net, filters, kernel, depth_multiplier=min(filters // 3, 8), **options)
    return conv2d(net, filters, kernel, **options)


def _branch(text: str, net: Any, depth: Depth) -> Any:
    for step in text.split(", "):
        ends = [_layer(one, net, depth) for one in step.split(" + ")]
        net = ends[0] if len(ends) == 1 else array.concat(ends, 3)
    return net


def _rows(table: dict[str, Any], net: Any, depth: Depth) -> Iterator[tuple[str, Any]]:
    for name, what in table.items():
        if isinstance(what, str):
            net = _layer(f"{name} {what}", net, depth)
        else:
            with variable_scope(name):
                branches = []
                for i, text in enumerate(what):
                    with variable_scope(f"Branch_{i}"):
                        branches.append(_branch(text, net, depth))
                net = array.concat(branches, 3)
        yield name, net


def _base(
    table: dict[str, Any], title: str, inputs: Any, final_endpoint: str, depth: Depth, scope: Any, **weights: Any
) -> tuple[Any, dict[str, Any]]:
    if final_endpoint not in table:
        raise ValueError(f"Unknown final endpoint {final_endpoint}; accepted: {', '.join(table)}")
    end_points: dict[str, Any] = {}
    with variable_scope(scope, title, [inputs]), arg_scope([conv2d, fully_connected], **weights):
        for name, net in _rows(table, inputs, depth):
            end_points[name] = net
            if name == final_endpoint:
                break
    return net, end_points


def _depth(min_depth: int, multiplier: float) -> Depth:
    if multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda filters: max(int(filters * multiplier), min_depth)


def inception_v1_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Any, dict[str, Any]]:
    """Inception v1 up to a layer: what that gives, and what each one before it gives.

    Args:
      inputs: Images, float [batch, height, width, channels].
      final_endpoint: The name of the last layer.
      scope: The variable scope, or its name.

    Returns:
      The output of the last layer, and a dictionary from the names of the layers to their outputs.

    >>> net, ends = tf.contrib.slim.nets.inception.inception_v1_base(tf.zeros([1, 64, 64, 3]), final_endpoint="MaxPool_2a_3x3")
    >>> net.shape.as_list()
    [1, 16, 16, 64]
    """
    small = TruncatedNormal(0.0, 0.01)
    return _base(_V1, "InceptionV1", inputs, final_endpoint, int, scope, weights_initializer=small)


def inception_v2_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", min_depth: int = 16, depth_multiplier: float = 1.0, scope: Any = None
) -> tuple[Any, dict[str, Any]]:
    """Inception v2 up to a layer: what that gives, and what each one before it gives.

    Args:
      inputs: Images, float [batch, height, width, channels].
      final_endpoint: The name of the last layer.
      min_depth: The least number of channels of a layer.
      depth_multiplier: The factor of the number of channels of all layers, above 0.
      scope: The variable scope, or its name; None for `InceptionV2`.

    Returns:
      The output of the last layer, and a dictionary from the names of the layers to their outputs.

    >>> net, ends = tf.contrib.slim.nets.inception.inception_v2_base(tf.zeros([1, 64, 64, 3]), final_endpoint="MaxPool_2a_3x3")
    >>> net.shape.as_list()
    [1, 16, 16, 64]
    """
    return _base(_V2, "InceptionV2", inputs, final_endpoint, _depth(min_depth, depth_multiplier), scope)


def inception_v3_base(
    inputs: Any, final_endpoint: str = "Mixed_7c", min_depth: int = 16, depth_multiplier: float = 1.0, scope: Any = None
) -> tuple[Any, dict[str, Any]]:
    """Inception v3 up to a layer: what that gives, and what each one before it gives.

    Args:
      inputs: Images, float [batch, height, width, channels].
      final_endpoint: The name of the last layer.
      min_depth: The least number of channels of a layer.
      depth_multiplier: The factor of the number of channels of all layers, above 0.
      scope: The variable scope, or its name; None for `InceptionV3`.

    Returns:
      The output of the last layer, and a dictionary from the names of the layers to their outputs.

    >>> net, ends = tf.contrib.slim.nets.inception.inception_v3_base(tf.zeros([1, 64, 64, 3]), final_endpoint="MaxPool_3a_3x3")
    >>> net.shape.as_list()
    [1, 14, 14, 64]
    """
    return _base(_V3, "InceptionV3", inputs, final_endpoint, _depth(min_depth, depth_multiplier), scope)


def _kernel_within(net: Any, size: int) -> list[int]:
    """The kernel for the last pool, no larger than a picture whose size is known."""
    return [size if dim.value is None else min(dim.value, size) for dim in net.shape[1:3]]


def _logits(net: Any, num_classes: int, names: tuple[str, str], keep: float, squeeze: bool) -> tuple[Any, Any]:
    before = dropout(net, keep_prob=keep, scope=names[0])
    logits = conv2d(before, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=names[1])
    return before, array.squeeze(logits, [1, 2], name="SpatialSqueeze") if squeeze else logits


def inception_v1(
    inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.8,
    prediction_fn: Any = softmax, spatial_squeeze: bool = True, reuse: Any = None, scope: Any = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Inception v1, GoogLeNet: the logits, and what each layer gives.

    Args:
      inputs: Images, float [batch, height, width, 3], of 224 x 224 pixels as a rule.
      num_classes: The number of classes.
      is_training: Whether to train, for dropout and normalisation: a bool, or a bool scalar tensor.
      dropout_keep_prob: The probability to keep an element in dropout while training.
      prediction_fn: A function (logits, scope) that gives the predictions.
      spatial_squeeze: True removes the axes of height and width from the logits, where their size must be 1.
      reuse: True to use variables that exist; None or False to make them.
      scope: The variable scope, or its name.

    Returns:
      The logits [batch, num_classes], and a dictionary from the names of the layers to their outputs.

    Example: ``logits, ends = tf.contrib.slim.nets.inception.inception_v1(images, num_classes=10, is_training=False)``
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs], reuse=reuse) as own,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=own)
        with variable_scope("Logits"):
            net = avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            names = ("Dropout_0b", "Conv2d_0c_1x1")
            _, logits = _logits(net, num_classes, names, dropout_keep_prob, spatial_squeeze)
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def inception_v2(
    inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.8, min_depth: int = 16,
    depth_multiplier: float = 1.0, prediction_fn: Any = softmax, spatial_squeeze: bool = True, reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Inception v2: the logits, and what each layer gives.

    Args:
      inputs: Images, float [batch, height, width, 3], of 224 x 224 pixels as a rule.
      num_classes: The number of classes.
      is_training: Whether to train, for dropout and normalisation: a bool, or a bool scalar tensor.
      dropout_keep_prob: The probability to keep an element in dropout while training.
      min_depth: The least number of channels of a layer.
      depth_multiplier: The factor of the number of channels of all layers, above 0.
      prediction_fn: A function (logits, scope) that gives the predictions.
      spatial_squeeze: True removes the axes of height and width from the logits, where their size must be 1.
      reuse: True to use variables that exist; None or False to make them.
      scope: The variable scope, or its name.

    Returns:
      The logits [batch, num_classes], and a dictionary from the names of the layers to their outputs.

    Example: ``logits, ends = tf.contrib.slim.nets.inception.inception_v2(images, num_classes=10, is_training=False)``
    """
    with (
        variable_scope(scope, "InceptionV2", [inputs], reuse=reuse) as own,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=own)
        with variable_scope("Logits"):
            kernel = _kernel_within(net, 7)
            net = avg_pool2d(net, kernel, padding="VALID", stride=1, scope="AvgPool_1a_{}x{}".format(*kernel))
            names = ("Dropout_1b", "Conv2d_1c_1x1")
            _, logits = _logits(net, num_classes, names, dropout_keep_prob, spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def inception_v3(
    inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.8, min_depth: int = 16,
    depth_multiplier: float = 1.0, prediction_fn: Any = softmax, spatial_squeeze: bool = True, reuse: Any = None,
    create_aux_logits: bool = True, scope: Any = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Inception v3: the logits, and what each layer gives, the auxiliary logits among it.

    Args:
      inputs: Images, float [batch, height, width, 3], of 299 x 299 pixels as a rule.
      num_classes: The number of classes.
      is_training: Whether to train, for dropout and normalisation: a bool, or a bool scalar tensor.
      dropout_keep_prob: The probability to keep an element in dropout while training.
      min_depth: The least number of channels of a layer.
      depth_multiplier: The factor of the number of channels of all layers, above 0.
      prediction_fn: A function (logits, scope) that gives the predictions.
      spatial_squeeze: True removes the axes of height and width from the logits, where their size must be 1.
      reuse: True to use variables that exist; None or False to make them.
      create_aux_logits: False leaves out the auxiliary logits.
      scope: The variable scope, or its name.

    Returns:
      The logits [batch, num_classes], and a dictionary from the names of the layers to their outputs.

    Example: ``logits, ends = tf.contrib.slim.nets.inception.inception_v3(images, num_classes=10, is_training=False)``
    """
    depth = _depth(min_depth, depth_multiplier)
    with (
        variable_scope(scope, "InceptionV3", [inputs], reuse=reuse) as own,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=own)
        if create_aux_logits and num_classes:
            end_points["AuxLogits"] = _auxiliary(end_points["Mixed_6e"], num_classes, depth, spatial_squeeze)
        with variable_scope("Logits"):
            kernel = _kernel_within(net, 8)
            net = avg_pool2d(net, kernel, padding="VALID", stride=1, scope="AvgPool_1a_{}x{}".format(*kernel))
            names = ("Dropout_1b", "Conv2d_1c_1x1")
            end_points["PreLogits"], logits = _logits(net, num_classes, names, dropout_keep_prob, spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def _auxiliary(net: Any, num_classes: int, depth: Depth, squeeze: bool) -> Any:
    with variable_scope("AuxLogits"):
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        kernel = _kernel_within(net, 5)
        net = conv2d(
            net, depth(768), kernel, weights_initializer=TruncatedNormal(0.0, 0.01), padding="VALID",
            scope="Conv2d_2a_{}x{}".format(*kernel),
        )  # fmt: skip
        net = conv2d(
            net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
            weights_initializer=TruncatedNormal(0.0, 0.001), scope="Conv2d_2b_1x1",
        )  # fmt: skip
        return array.squeeze(net, [1, 2], name="SpatialSqueeze") if squeeze else net


def inception_arg_scope(
    weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """The arguments of Inception's layers.

    Args:
      weight_decay: The factor of the L2 loss of the weights.
      use_batch_norm: False leaves out the normalisation, so that layers have biases.
      batch_norm_var_collection: The collection of the moving means and variances.

    Returns:
      A scope for `tf.contrib.slim.arg_scope`.

    >>> with tf.contrib.slim.arg_scope(tf.contrib.slim.nets.inception.inception_v3_arg_scope()):
    ...     net, ends = tf.contrib.slim.nets.inception.inception_v3_base(tf.zeros([1, 64, 64, 3]), "Conv2d_1a_3x3")
    """
    normalizing = {
        "decay": 0.9997,
        "epsilon": 0.001,
        "updates_collections": GraphKeys.UPDATE_OPS,
        "variables_collections": {
            "beta": None,
            "gamma": None,
            "moving_mean": [batch_norm_var_collection],
            "moving_variance": [batch_norm_var_collection],
        },
    }
    normalizer = {"normalizer_fn": batch_norm, "normalizer_params": normalizing} if use_batch_norm else {}
    with (
        arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)),
        arg_scope(
            [conv2d],
            weights_initializer=contrib_variance_scaling_initializer(),
            activation_fn=activation.relu,
            **normalizer,
        ) as arguments,
    ):
        return arguments


inception_v1.default_image_size = 224  # type: ignore[attr-defined]
inception_v2.default_image_size = 224  # type: ignore[attr-defined]
inception_v3.default_image_size = 299  # type: ignore[attr-defined]
