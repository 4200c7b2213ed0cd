"""contrib.layers for volumes [batch, depth, height, width, channels]: pools, a transposed convolution; pools of any rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.library.contrib import outputs as collecting
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.contrib.layers import XAVIER, channels
from headrace.library.layers.scoped import convolutional, pooling
from headrace.library.layers.scoped.thin import ZEROS
from headrace.library.network import activation, spatial
from headrace.library.scope import name_scope
from headrace.library.state.variable_scope import variable_scope

_VOLUMES = ("NDHWC", "NCDHW")


@add_arg_scope
def max_pool3d(
    inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NDHWC",
    outputs_collections: Any = None, scope: Any = None,
) -> Any:  # fmt: skip
    """The largest value of each window of volumes.

    Args:
      inputs: Volumes, [batch, depth, height, width, channels] or as `data_format` says.
      kernel_size: The size of the window: an int, or a list of three.
      stride: The step from one window to the next: an int, or a list of three.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" (channels last) or "NCDHW" (channels first).
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for a name made of the layer's.

    Returns:
      A tensor of the layout of `inputs`.

    >>> tf.contrib.layers.max_pool3d(tf.zeros([1, 8, 8, 8, 3]), kernel_size=2).shape.as_list()
    [1, 4, 4, 4, 3]
    """
    window = (kernel_size, stride, padding, data_format)
    return _pooled(pooling.MaxPooling3D, "MaxPool3D", inputs, *window, outputs_collections, scope)


@add_arg_scope
def avg_pool3d(
    inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NDHWC",
    outputs_collections: Any = None, scope: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window of volumes.

    Args:
      inputs: Volumes, [batch, depth, height, width, channels] or as `data_format` says.
      kernel_size: The size of the window: an int, or a list of three.
      stride: The step from one window to the next: an int, or a list of three.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" (channels last) or "NCDHW" (channels first).
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for a name made of the layer's.

    Returns:
      A tensor of the layout of `inputs`.

    >>> tf.contrib.layers.avg_pool3d(tf.zeros([1, 8, 8, 8, 3]), kernel_size=2).shape.as_list()
    [1, 4, 4, 4, 3]
    """
    window = (kernel_size, stride, padding, data_format)
    return _pooled(pooling.AveragePooling3D, "AvgPool3D", inputs, *window, outputs_collections, scope)


def _pooled(
    layer: Any, op: str, inputs: Any, size: Any, stride: Any, padding: str, data_format: str, collected: Any, scope: Any
) -> Any:
    layout = channels(data_format, _VOLUMES)
    with name_scope(getattr(scope, "name", scope), op, [inputs]) as sc:
        values = layer(size, stride, padding, layout, _scope=sc).apply(convert_to_tensor(inputs))
        return collecting.collect_named_outputs(collected, sc, values)


@add_arg_scope
def pool(
    inputs: Any, kernel_size: Sequence[int], pooling_type: str, padding: str = "VALID", data_format: str | None = None,
    dilation_rate: Any = 1, stride: Any = 1, outputs_collections: Any = None, scope: Any = None,
) -> Any:  # fmt: skip
    """The largest value or the mean of each window, over one to three axes.

    Args:
      inputs: A tensor with a batch, one to three axes, and channels.
      kernel_size: The size of the window: a list with one for each axis, or an int for all.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      data_format: The layout, such as "NHWC" or "NCHW"; None for channels last.
      dilation_rate: The distance of a window's elements: an int, or a list.
      stride: The step from one window to the next: an int, or a list.
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for a name made of the layer's.

    Returns:
      A tensor of the layout of `inputs`.

    >>> tf.contrib.layers.pool(tf.zeros([1, 8, 8, 3]), [2, 2], "AVG", stride=2).shape.as_list()
    [1, 4, 4, 3]
    """
    inputs = convert_to_tensor(inputs)
    if inputs.shape.ndims is None:
        raise ValueError(f"Rank of inputs must be known, got {inputs}")
    axes = inputs.shape.ndims - 2
    sizes, rates, steps = ([v] * axes if isinstance(v, int) else list(v) for v in (kernel_size, dilation_rate, stride))
    with name_scope(getattr(scope, "name", scope), f"{pooling_type.lower()}_pool", [inputs]) as sc:
        values = spatial.pool(inputs, sizes, pooling_type, padding, rates, steps, data_format=data_format)
        return collecting.collect_named_outputs(outputs_collections, sc, values)


@add_arg_scope
def convolution3d_transpose(
    inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME", data_format: str = "NDHWC",
    activation_fn: Any = activation.relu, normalizer_fn: Any = None, normalizer_params: Any = None,
    weights_initializer: Any = XAVIER, weights_regularizer: Any = None, biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None,
    outputs_collections: Any = None, trainable: bool = True, scope: Any = None,
) -> Any:  # fmt: skip
    """A transposed convolution over volumes.

    Args:
      inputs: Volumes, [batch, depth, height, width, channels] or as `data_format` says.
      num_outputs: The number of channels of the output.
      kernel_size: The size of the kernel: an int, or a list of three.
      stride: How many times larger the output is: an int, or a list of three.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" (channels last) or "NCDHW" (channels first).
      activation_fn: A function of the output, by default relu; None for none.
      normalizer_fn: A function that normalises, such as `tf.contrib.layers.batch_norm`, in place of biases; None for none.
      normalizer_params: A dictionary of further arguments of `normalizer_fn`.
      weights_initializer: What the weights start from.
      weights_regularizer: A function from the weights to a loss, which is collected; None for none.
      biases_initializer: What the biases start from; None for no biases.
      biases_regularizer: A function from the biases to a loss, which is collected; None for none.
      reuse: True to use variables that exist; None or False to make them.
      variables_collections: Collections for the variables: a list, or a dictionary with a list for each name of a variable.
      outputs_collections: The collections to add the output to; None for none.
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      scope: The variable scope, or its name; None for a name made of the layer's.

    Returns:
      A tensor of the layout of `inputs`, `stride` times as large, with `num_outputs` channels.

    >>> tf.contrib.layers.conv3d_transpose(tf.zeros([1, 4, 4, 4, 3]), 2, kernel_size=3, stride=2).shape.as_list()
    [1, 8, 8, 8, 2]
    """
    getter = collecting.model_variable_getter({"kernel": "weights", "bias": "biases"})
    with variable_scope(scope, "Conv3d_transpose", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        layer = convolutional.Conv3DTranspose(
            num_outputs, kernel_size, strides=stride, padding=padding, data_format=channels(data_format, _VOLUMES),
            use_bias=normalizer_fn is None and biases_initializer is not None, kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype,
            _scope=sc, _reuse=reuse,
        )  # fmt: skip
        values = layer.apply(inputs)
        collecting.add_variable(layer.kernel, variables_collections, "weights")
        collecting.add_variable(layer.bias, variables_collections, "biases")
        if normalizer_fn is not None:
            values = normalizer_fn(values, **(normalizer_params or {}))
        if activation_fn is not None:
            values = activation_fn(values)
        return collecting.collect_named_outputs(outputs_collections, sc.name, values)


conv3d_transpose = convolution3d_transpose
