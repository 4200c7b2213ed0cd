"""Networks of one row of layers: AlexNet, OverFeat, VGG.  Their fully connected layers are convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.library.contrib.arg_scope import arg_scope
from headrace.library.contrib.composition import repeat
from headrace.library.contrib.layers import conv2d, dropout, fully_connected, max_pool2d
from headrace.library.contrib.outputs import convert_collection_to_dict
from headrace.library.network import activation
from headrace.library.state.initializers import Constant, TruncatedNormal, Zeros
from headrace.library.state.regularizers import l2_regularizer
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array


def _scope_of_arguments(weight_decay: float, bias: Any, pool: str) -> Any:
    regularizing = l2_regularizer(weight_decay)
    with (
        arg_scope(
            [conv2d, fully_connected],
            activation_fn=activation.relu,
            weights_regularizer=regularizing,
            biases_initializer=bias,
        ),
        arg_scope([conv2d], padding="SAME"),
        arg_scope([max_pool2d], padding=pool) as arguments,
    ):
        return arguments


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of AlexNet's layers.

    Args:
      weight_decay: The factor of the L2 loss of the weights.

    Returns:
      A scope for `tf.contrib.slim.arg_scope`.

    >>> with tf.contrib.slim.arg_scope(tf.contrib.slim.nets.alexnet.alexnet_v2_arg_scope()):
    ...     net = tf.contrib.slim.conv2d(tf.zeros([1, 8, 8, 3]), 4, [3, 3])
    """
    return _scope_of_arguments(weight_decay, Constant(0.1), "VALID")


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of OverFeat's layers.

    Args:
      weight_decay: The factor of the L2 loss of the weights.

    Returns:
      A scope for `tf.contrib.slim.arg_scope`.

    >>> with tf.contrib.slim.arg_scope(tf.contrib.slim.nets.overfeat.overfeat_arg_scope()):
    ...     net = tf.contrib.slim.conv2d(tf.zeros([1, 8, 8, 3]), 4, [3, 3])
    """
    return _scope_of_arguments(weight_decay, Zeros(), "VALID")


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of VGG's layers.

    Args:
      weight_decay: The factor of the L2 loss of the weights.

    Returns:
      A scope for `tf.contrib.slim.arg_scope`.

    >>> with tf.contrib.slim.arg_scope(tf.contrib.slim.nets.vgg.vgg_arg_scope()):
    ...     net = tf.contrib.slim.conv2d(tf.zeros([1, 8, 8, 3]), 4, [3, 3])
    """
    return _scope_of_arguments(weight_decay, Zeros(), "VALID")


def _top(
    net: Any, sizes: Sequence[int], kernel: int, num_classes: int, keep: float, is_training: Any, **small: Any
) -> Any:
    """fc6, fc7 and fc8, with dropout between them."""
    with arg_scope([conv2d], **small):
        net = conv2d(net, sizes[0], [kernel, kernel], padding="VALID", scope="fc6")
        net = dropout(net, keep, is_training=is_training, scope="dropout6")
        net = conv2d(net, sizes[1], [1, 1], scope="fc7")
        net = dropout(net, keep, is_training=is_training, scope="dropout7")
        return conv2d(
            net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, biases_initializer=Zeros(), scope="fc8"
        )


def _ends(net: Any, scope: Any, collection: str, spatial_squeeze: bool) -> tuple[Any, dict[str, Any]]:
    end_points = convert_collection_to_dict(collection)
    if spatial_squeeze:
        net = end_points[f"{scope.name}/fc8"] = array.squeeze(net, [1, 2], name="fc8/squeezed")
    return net, end_points


_SMALL = {"weights_initializer": TruncatedNormal(0.0, 0.005), "biases_initializer": Constant(0.1)}


def alexnet_v2(
    inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True, scope: Any = "alexnet_v2",
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """AlexNet of "One weird trick for parallelizing convolutional neural networks": the logits, and what each layer gives.

    Args:
      inputs: Images, float [batch, height, width, 3], of 224 x 224 pixels as a rule.
      num_classes: The number of classes.
      is_training: Whether to train, for dropout: a bool, or a bool scalar tensor.
      dropout_keep_prob: The probability to keep an element in dropout while training.
      spatial_squeeze: True removes the axes of height and width from the logits, where their size must be 1.
      scope: The variable scope, or its name.

    Returns:
      The logits [batch, num_classes], and a dictionary from the names of the layers to their outputs.

    Example: ``logits, ends = tf.contrib.slim.nets.alexnet.alexnet_v2(images, num_classes=10, is_training=False)``
    """
    with variable_scope(scope, "alexnet_v2", [inputs]) as own:
        collection = f"{own.original_name_scope}_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=[collection]):
            net = conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [3, 3], 2, scope="pool1")
            net = conv2d(net, 192, [5, 5], scope="conv2")
            net = max_pool2d(net, [3, 3], 2, scope="pool2")
            for number, filters in ((3, 384), (4, 384), (5, 256)):
                net = conv2d(net, filters, [3, 3], scope=f"conv{number}")
            net = max_pool2d(net, [3, 3], 2, scope="pool5")
            net = _top(net, (4096, 4096), 5, num_classes, dropout_keep_prob, is_training, **_SMALL)
            return _ends(net, own, collection, spatial_squeeze)


def overfeat(
    inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True, scope: Any = "overfeat",
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """OverFeat, the fast model: the logits, and what each layer gives.

    Args:
      inputs: Images, float [batch, height, width, 3], of 231 x 231 pixels as a rule.
      num_classes: The number of classes.
      is_training: Whether to train, for dropout: a bool, or a bool scalar tensor.
      dropout_keep_prob: The probability to keep an element in dropout while training.
      spatial_squeeze: True removes the axes of height and width from the logits, where their size must be 1.
      scope: The variable scope, or its name.

    Returns:
      The logits [batch, num_classes], and a dictionary from the names of the layers to their outputs.

    Example: ``logits, ends = tf.contrib.slim.nets.overfeat.overfeat(images, num_classes=10, is_training=False)``
    """
    with variable_scope(scope, "overfeat", [inputs]) as own:
        collection = f"{own.original_name_scope}_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=collection):
            net = conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [2, 2], scope="pool1")
            net = conv2d(net, 256, [5, 5], padding="VALID", scope="conv2")
            net = max_pool2d(net, [2, 2], scope="pool2")
            for number, filters in ((3, 512), (4, 1024), (5, 1024)):
                net = conv2d(net, filters, [3, 3], scope=f"conv{number}")
            net = max_pool2d(net, [2, 2], scope="pool5")
            net = _top(net, (3072, 4096), 6, num_classes, dropout_keep_prob, is_training, **_SMALL)
            return _ends(net, own, collection, spatial_squeeze)


_VGG = """VGG with {layers} layers: the logits, and what each layer gives.

Args:
  inputs: Images, float [batch, height, width, 3], of 224 x 224 pixels as a rule.
  num_classes: The number of classes.
  is_training: Whether to train, for dropout: a bool, or a bool scalar tensor.
  dropout_keep_prob: The probability to keep an element in dropout while training.
  spatial_squeeze: True removes the axes of height and width from the logits, where their size must be 1.
  scope: The variable scope, or its name.

Returns:
  The logits [batch, num_classes], and a dictionary from the names of the layers to their outputs.

Example: ``logits, ends = tf.contrib.slim.nets.vgg.{name}(images, num_classes=10, is_training=False)``
"""


def _vgg(name: str, repetitions: Sequence[int]) -> Any:
    def vgg(
        inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True, scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:  # fmt: skip
        with variable_scope(scope, name, [inputs]) as own:
            collection = f"{own.original_name_scope}_end_points"
            with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=collection):
                net = inputs
                for stage, (count, filters) in enumerate(zip(repetitions, (64, 128, 256, 512, 512), strict=True), 1):
                    net = repeat(net, count, conv2d, filters, [3, 3], scope=f"conv{stage}")
                    net = max_pool2d(net, [2, 2], scope=f"pool{stage}")
                net = _top(net, (4096, 4096), 7, num_classes, dropout_keep_prob, is_training)
                return _ends(net, own, collection, spatial_squeeze)

    vgg.__name__ = vgg.__qualname__ = name
    vgg.__doc__ = _VGG.format(layers=sum(repetitions) + 3, name=name)
    vgg.default_image_size = 224  # type: ignore[attr-defined]
    return vgg


vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2))
vgg_16 = vgg_d = _vgg("vgg_16", (2, 2, 3, 3, 3))
vgg_19 = vgg_e = _vgg("vgg_19", (2, 2, 4, 4, 4))
alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]
overfeat.default_image_size = 231  # type: ignore[attr-defined]
