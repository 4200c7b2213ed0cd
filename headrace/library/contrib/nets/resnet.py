"""Residual networks: v1, which normalises after each convolution, and v2, which does so before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace.graph.collection import GraphKeys
from headrace.library.contrib.arg_scope import add_arg_scope, arg_scope
from headrace.library.contrib.composition import softmax
from headrace.library.contrib.layers import conv2d, max_pool2d
from headrace.library.contrib.normalization import batch_norm
from headrace.library.contrib.outputs import collect_named_outputs, convert_collection_to_dict
from headrace.library.network import activation
from headrace.library.numeric import reduction
from headrace.library.state.initializers import contrib_variance_scaling_initializer
from headrace.library.state.regularizers import l2_regularizer
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array


class Block(NamedTuple):
    """A block of units: ``unit_fn`` is called once for each dictionary in ``args``."""

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[dict[str, Any]]


def subsample(inputs: Any, factor: int, scope: Any = None) -> Any:
    """Every ``factor``-th pixel.

    Args:
      inputs: Images or their features, float [batch, height, width, channels].
      factor: The number, at least 1.
      scope: The name scope of the ops; None for a name made of the layer's.

    Returns:
      `inputs` itself if `factor` is 1, else a smaller tensor.

    >>> tf.contrib.slim.nets.resnet_utils.subsample(tf.zeros([1, 8, 8, 3]), 2).shape.as_list()
    [1, 4, 4, 3]
    """
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None) -> Any:
    """A convolution with a padding that does not depend on the size of the picture, so that a stride is a plain subsampling.

    Args:
      inputs: Images or their features, float [batch, height, width, channels].
      num_outputs: The number of channels of the output.
      kernel_size: The height and width of the kernel, an int.
      stride: The step from one place of the kernel to the next, an int.
      rate: The distance of the kernel's elements, 1 for no gaps.
      scope: The variable scope, or its name; None for `Conv`.

    Returns:
      A tensor [batch, height / stride, width / stride, num_outputs], sizes rounded up.

    >>> tf.contrib.slim.nets.resnet_utils.conv2d_same(tf.zeros([1, 8, 8, 3]), 4, kernel_size=3, stride=2).shape.as_list()
    [1, 4, 4, 4]
    """
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    total = (kernel_size - 1) * rate
    margins = [total // 2, total - total // 2]
    inputs = array.pad(inputs, [[0, 0], margins, margins, [0, 0]])
    return conv2d(inputs, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(
    net: Any, blocks: Sequence[Block], output_stride: int | None = None, outputs_collections: Any = None
) -> Any:
    """The blocks one after another.  From ``output_stride`` on, units use larger rates in place of strides.

    Args:
      net: Images or their features, float [batch, height, width, channels].
      blocks: A list of `Block`s.
      output_stride: How many times smaller the last picture is than `net`; None for the strides of the blocks.
      outputs_collections: The collections to add the output of each block to; None for none.

    Returns:
      The output of the last block.

    >>> block = tf.contrib.slim.nets.resnet_v1.resnet_v1_block("block1", base_depth=2, num_units=2, stride=2)
    >>> tf.contrib.slim.nets.resnet_utils.stack_blocks_dense(tf.zeros([1, 8, 8, 3]), [block]).shape.as_list()
    [1, 4, 4, 8]
    """
    stride = rate = 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as own:
            for i, unit in enumerate(block.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with variable_scope(f"unit_{i}", values=[net]):
                    if stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = collect_named_outputs(outputs_collections, own.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001, batch_norm_decay: float = 0.997, batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:  # fmt: skip
    """The arguments of a residual network's layers.

    Args:
      weight_decay: The factor of the L2 loss of the weights.
      batch_norm_decay: How much of the moving averages stays in each step.
      batch_norm_epsilon: A small number that is added to the variance.
      batch_norm_scale: True multiplies normalised values by a trained factor.

    Returns:
      A scope for `tf.contrib.slim.arg_scope`.

    >>> with tf.contrib.slim.arg_scope(tf.contrib.slim.nets.resnet_utils.resnet_arg_scope()):
    ...     net = tf.contrib.slim.conv2d(tf.zeros([1, 8, 8, 3]), 4, [3, 3])
    """
    normalizing = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [conv2d],
            weights_regularizer=l2_regularizer(weight_decay),
            weights_initializer=contrib_variance_scaling_initializer(),
            activation_fn=activation.relu,
            normalizer_fn=batch_norm,
            normalizer_params=normalizing,
        ),
        arg_scope([batch_norm], **normalizing),
        arg_scope([max_pool2d], padding="SAME") as arguments,
    ):
        return arguments


def _shortcut(inputs: Any, given: Any, depth: int, stride: int, **plain: Any) -> Any:
    if depth == inputs.shape[3].value:
        return subsample(inputs, stride, "shortcut")
    return conv2d(given, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut", **plain)


@add_arg_scope
def bottleneck_v1(
    inputs: Any, depth: int, depth_bottleneck: int, stride: int, rate: int = 1, outputs_collections: Any = None,
    scope: Any = None,
) -> Any:  # fmt: skip
    """Three convolutions beside a shortcut, then relu.

    Args:
      inputs: Images or their features, float [batch, height, width, channels].
      depth: The number of channels of the output.
      depth_bottleneck: The number of channels between the convolutions.
      stride: How many times smaller the output is.
      rate: The distance of the kernel's elements, 1 for no gaps.
      outputs_collections: The collections to add the output to; None for none.
      scope: The variable scope, or its name; None for `bottleneck_v1`.

    Returns:
      A tensor [batch, height / stride, width / stride, depth].

    >>> tf.contrib.slim.nets.resnet_v1.bottleneck(tf.zeros([1, 8, 8, 3]), depth=8, depth_bottleneck=2, stride=2).shape.as_list()
    [1, 4, 4, 8]
    """
    with variable_scope(scope, "bottleneck_v1", [inputs]) as own:
        shortcut = _shortcut(inputs, inputs, depth, stride)
        net = conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        net = conv2d(net, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, own.name, activation.relu(shortcut + net))


@add_arg_scope
def bottleneck_v2(
    inputs: Any, depth: int, depth_bottleneck: int, stride: int, rate: int = 1, outputs_collections: Any = None,
    scope: Any = None,
) -> Any:  # fmt: skip
    """Normalised and rectified, then three convolutions beside a shortcut.

    Args:
      inputs: Images or their features, float [batch, height, width, channels].
      depth: The number of channels of the output.
      depth_bottleneck: The number of channels between the convolutions.
      stride: How many times smaller the output is.
      rate: The distance of the kernel's elements, 1 for no gaps.
      outputs_collections: The collections to add the output to; None for none.
      scope: The variable scope, or its name; None for `bottleneck_v2`.

    Returns:
      A tensor [batch, height / stride, width / stride, depth].

    >>> tf.contrib.slim.nets.resnet_v2.bottleneck(tf.zeros([1, 8, 8, 3]), depth=8, depth_bottleneck=2, stride=2).shape.as_list()
    [1, 4, 4, 8]
    """
    plain: dict[str, Any] = {"normalizer_fn": None}
    with variable_scope(scope, "bottleneck_v2", [inputs]) as own:
        active = batch_norm(inputs, activation_fn=activation.relu, scope="preact")
        shortcut = _shortcut(inputs, active, depth, stride, **plain)
        net = conv2d(active, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        net = conv2d(net, depth, [1, 1], stride=1, activation_fn=None, scope="conv3", **plain)
        return collect_named_outputs(outputs_collections, own.name, shortcut + net)


def _network(
    second: bool, inputs: Any, blocks: Sequence[Block], num_classes: int | None, is_training: Any, global_pool: bool,
    output_stride: int | None, include_root_block: bool, reuse: Any, scope: Any,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    unit = bottleneck_v2 if second else bottleneck_v1
    with variable_scope(scope, "resnet_v2" if second else "resnet_v1", [inputs], reuse=reuse) as own:
        collection = f"{own.original_name_scope}_end_points"
        with (
            arg_scope([conv2d, unit, stack_blocks_dense], outputs_collections=collection),
            arg_scope([batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                if output_stride is not None:
                    if output_stride % 4 != 0:
                        raise ValueError("The output_stride needs to be a multiple of 4.")
                    output_stride //= 4
                root = {"activation_fn": None, "normalizer_fn": None} if second else {}
                with arg_scope([conv2d], **root):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            if second:
                net = batch_norm(net, activation_fn=activation.relu, scope="postnorm")
            if global_pool:
                net = reduction.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
            end_points = convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = softmax(net, scope="predictions")
            return net, end_points


def resnet_v1(
    inputs: Any, blocks: Sequence[Block], num_classes: int | None = None, is_training: Any = True,
    global_pool: bool = True, output_stride: int | None = None, include_root_block: bool = True, reuse: Any = None,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """A network of blocks of `bottleneck_v1`: the last values or logits, and what each layer gives.

    Args:
      inputs: Images, float [batch, height, width, channels].
      blocks: A list of `Block`s.
      num_classes: The number of classes; None for no logits.
      is_training: Whether to train, for the normalisation: a bool, or a bool scalar tensor.
      global_pool: True takes the mean over height and width before the logits.
      output_stride: How many times smaller the last picture is than the input; units then use larger rates in place of
        strides. None for the strides of the blocks.
      include_root_block: False leaves out the first convolution and pooling, with their strides of 4 together.
      reuse: True to use variables that exist; None or False to make them.
      scope: The variable scope, or its name; None for `resnet_v1`.

    Returns:
      The logits [batch, 1, 1, num_classes], or the last values, and a dictionary from the names of the layers to their
      outputs.

    >>> block = tf.contrib.slim.nets.resnet_v1.resnet_v1_block("block1", base_depth=2, num_units=1, stride=1)
    >>> net, ends = tf.contrib.slim.nets.resnet_v1.resnet_v1(tf.zeros([1, 32, 32, 3]), [block], num_classes=10)
    >>> net.shape.as_list()
    [1, 1, 1, 10]
    """
    return _network(
        False, inputs, blocks, num_classes, is_training, global_pool, output_stride, include_root_block, reuse, scope
    )


def resnet_v2(
    inputs: Any, blocks: Sequence[Block], num_classes: int | None = None, is_training: Any = True,
    global_pool: bool = True, output_stride: int | None = None, include_root_block: bool = True, reuse: Any = None,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """A network of blocks of `bottleneck_v2`: the last values or logits, and what each layer gives.

    Args:
      inputs: Images, float [batch, height, width, channels].
      blocks: A list of `Block`s.
      num_classes: The number of classes; None for no logits.
      is_training: Whether to train, for the normalisation: a bool, or a bool scalar tensor.
      global_pool: True takes the mean over height and width before the logits.
      output_stride: How many times smaller the last picture is than the input; units then use larger rates in place of
        strides. None for the strides of the blocks.
      include_root_block: False leaves out the first convolution and pooling, with their strides of 4 together.
      reuse: True to use variables that exist; None or False to make them.
      scope: The variable scope, or its name; None for `resnet_v2`.

    Returns:
      The logits [batch, 1, 1, num_classes], or the last values, and a dictionary from the names of the layers to their
      outputs.

    >>> block = tf.contrib.slim.nets.resnet_v2.resnet_v2_block("block1", base_depth=2, num_units=1, stride=1)
    >>> net, ends = tf.contrib.slim.nets.resnet_v2.resnet_v2(tf.zeros([1, 32, 32, 3]), [block], num_classes=10)
    >>> net.shape.as_list()
    [1, 1, 1, 10]
    """
    return _network(
        True, inputs, blocks, num_classes, is_training, global_pool, output_stride, include_root_block, reuse, scope
    )


def _block(unit: Callable[..., Any], scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, unit, [{**sizes, "stride": 1}] * (num_units - 1) + [{**sizes, "stride": stride}])


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """A block of ``num_units`` of `bottleneck_v1`, of which the last has the stride.

    Args:
      scope: The name of the block.
      base_depth: The number of channels between the convolutions of a unit, a quarter of those of its output.
      num_units: The number of units.
      stride: How many times smaller the output of the block is.

    Returns:
      A `Block`.

    >>> block = tf.contrib.slim.nets.resnet_v1.resnet_v1_block("block1", base_depth=64, num_units=3, stride=2)
    >>> len(block.args)
    3
    """
    return _block(bottleneck_v1, scope, base_depth, num_units, stride)


def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """A block of ``num_units`` of `bottleneck_v2`, of which the last has the stride.

    Args:
      scope: The name of the block.
      base_depth: The number of channels between the convolutions of a unit, a quarter of those of its output.
      num_units: The number of units.
      stride: How many times smaller the output of the block is.

    Returns:
      A `Block`.

    >>> block = tf.contrib.slim.nets.resnet_v2.resnet_v2_block("block1", base_depth=64, num_units=3, stride=2)
    >>> len(block.args)
    3
    """
    return _block(bottleneck_v2, scope, base_depth, num_units, stride)


_RESNET = """A residual network of {layers} layers: the last values or logits, and what each layer gives.

Args:
  inputs: Images, float [batch, height, width, 3], of 224 x 224 pixels as a rule.
  num_classes: The number of classes; None for no logits.
  is_training: Whether to train, for the normalisation: a bool, or a bool scalar tensor.
  global_pool: True takes the mean over height and width before the logits.
  output_stride: How many times smaller the last picture is than the input, a multiple of 4; units then use larger
    rates in place of strides. None for 32.
  reuse: True to use variables that exist; None or False to make them.
  scope: The variable scope, or its name.

Returns:
  The logits [batch, 1, 1, num_classes], or the last values, and a dictionary from the names of the layers to their
  outputs.

Example: ``logits, ends = tf.contrib.slim.nets.{module}.{name}(images, num_classes=10, is_training=False)``
"""


def _of_layers(network: Callable[..., Any], block: Callable[..., Block], layers: int, units: Sequence[int]) -> Any:
    name = f"{network.__name__}_{layers}"

    def resnet(
        inputs: Any, num_classes: int | None = None, is_training: Any = True, global_pool: bool = True,
        output_stride: int | None = None, reuse: Any = None, scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:  # fmt: skip
        blocks = [block(f"block{i + 1}", 64 << i, count, 2 if i < 3 else 1) for i, count in enumerate(units)]
        return network(inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope)  # type: ignore[no-any-return]

    resnet.__name__ = resnet.__qualname__ = name
    resnet.__doc__ = _RESNET.format(layers=layers, module=network.__name__, name=name)
    resnet.default_image_size = 224  # type: ignore[attr-defined]
    return resnet


resnet_v1_50 = _of_layers(resnet_v1, resnet_v1_block, 50, (3, 4, 6, 3))
resnet_v1_101 = _of_layers(resnet_v1, resnet_v1_block, 101, (3, 4, 23, 3))
resnet_v1_152 = _of_layers(resnet_v1, resnet_v1_block, 152, (3, 8, 36, 3))
resnet_v1_200 = _of_layers(resnet_v1, resnet_v1_block, 200, (3, 24, 36, 3))
resnet_v2_50 = _of_layers(resnet_v2, resnet_v2_block, 50, (3, 4, 6, 3))
resnet_v2_101 = _of_layers(resnet_v2, resnet_v2_block, 101, (3, 4, 23, 3))
resnet_v2_152 = _of_layers(resnet_v2, resnet_v2_block, 152, (3, 8, 36, 3))
resnet_v2_200 = _of_layers(resnet_v2, resnet_v2_block, 200, (3, 24, 36, 3))
