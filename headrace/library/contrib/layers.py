"""contrib.layers: functions of TF1's first generation of layers, on the same layers as ``tf.layers``.

Their variables are called "weights" and "biases", go to MODEL_VARIABLES, and their arguments can be set by ``arg_scope``.
Scopes are named "fully_connected", "Conv", "SeparableConv2d", "MaxPool2D"... and numbered.
"""

from __future__ import annotations

from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.library.contrib import outputs as collecting
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.contrib.variables import model_variable
from headrace.library.layers.scoped import convolutional, core, pooling
from headrace.library.layers.scoped.convolutional import SeparableConv2D
from headrace.library.layers.scoped.thin import ZEROS
from headrace.library.network import activation
from headrace.library.network.activation import bias_add as nn_bias_add
from headrace.library.network.spatial import depthwise_conv2d
from headrace.library.scope import name_scope
from headrace.library.state.initializers import xavier_initializer
from headrace.library.state.variable_scope import variable_scope

XAVIER = xavier_initializer()
_RENAMED = {
    "kernel": "weights", "bias": "biases", "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}  # fmt: skip


def channels(data_format: str | None, allowed: tuple[str, ...] = ("NHWC", "NCHW")) -> str:
    """TF1's layout letters as the words of the newer layers."""
    if data_format is not None and data_format not in allowed:
        raise ValueError(f"data_format has to be either {' or '.join(allowed)}, got {data_format!r}")
    return "channels_first" if data_format is not None and data_format.startswith("NC") else "channels_last"


def _pair(value: Any, what: str) -> tuple[int, int]:
    """Height and width from one number or two."""
    numbers = (value, value) if isinstance(value, int) else tuple(int(v) for v in value)
    if len(numbers) == 1:
        numbers *= 2
    if len(numbers) != 2:
        raise ValueError(f"{what} must be an integer or a list of two, got {value!r}")
    return numbers[0], numbers[1]


def _finish(
    values: Any, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any, outputs_collections: Any, scope: Any
) -> Any:
    if normalizer_fn is not None:
        values = normalizer_fn(values, **(normalizer_params or {}))
    if activation_fn is not None:
        values = activation_fn(values)
    return collecting.collect_named_outputs(outputs_collections, scope.name, values)


def _add_weights(layer: Any, variables_collections: Any) -> None:
    collecting.add_variable(layer.kernel, variables_collections, "weights")
    collecting.add_variable(layer.bias, variables_collections, "biases")


@add_arg_scope
def fully_connected(
    inputs: Any, num_outputs: int, activation_fn: Any = activation.relu, normalizer_fn: Any = None,
    normalizer_params: Any = None, weights_initializer: Any = XAVIER, weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS, biases_regularizer: Any = None, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, scope: Any = None,
) -> Any:  # fmt: skip
    """A fully connected layer, by default with relu; with a normalizer it has no biases.

    Args:
      inputs: A tensor [batch, ..., size] of known size.
      num_outputs: The number of outputs of each example.
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
      A tensor [..., num_outputs].

    >>> tf.contrib.layers.fully_connected(tf.zeros([2, 3]), 4).shape.as_list()
    [2, 4]
    """
    if not isinstance(num_outputs, int) and not hasattr(num_outputs, "__index__"):
        raise ValueError(f"num_outputs type should be one of int, got {type(num_outputs)}.")
    getter = collecting.model_variable_getter(_RENAMED)
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        layer = core.Dense(
            int(num_outputs), use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable,
            name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc, _reuse=reuse,
        )  # fmt: skip
        values = layer.apply(inputs)
        _add_weights(layer, variables_collections)
        return _finish(values, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc)


@add_arg_scope
def convolution(
    inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME",
    data_format: str | None = None, rate: Any = 1, activation_fn: Any = activation.relu, normalizer_fn: Any = None,
    normalizer_params: Any = None, weights_initializer: Any = XAVIER, weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS, biases_regularizer: Any = None, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, scope: Any = None,
    conv_dims: int | None = None,
) -> Any:  # fmt: skip
    """A convolution over as many axes as the inputs have besides batch and channels: one, two or three.

    Args:
      inputs: A tensor with a batch, one to three axes, and channels.
      num_outputs: The number of channels of the output.
      kernel_size: The size of the kernel: an int, or a list with one for each axis.
      stride: The step from one place of the kernel to the next: an int, or a list with one for each axis.
      padding: "SAME" or "VALID".
      data_format: The layout: "NWC", "NHWC" or "NDHWC" (channels last), "NCW", "NCHW" or "NCDHW" (channels first);
        None for channels last.
      rate: The distance of the kernel's elements, 1 for no gaps: an int, or a list with one for each axis.
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
      conv_dims: The number of axes, if it is to be checked; None for any.

    Returns:
      A tensor of the layout of `inputs`, with `num_outputs` channels.

    >>> tf.contrib.layers.convolution(tf.zeros([1, 8, 8, 3]), 16, kernel_size=3, stride=2).shape.as_list()
    [1, 4, 4, 16]
    """
    layout = channels(data_format, ("NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW"))
    getter = collecting.model_variable_getter(_RENAMED)
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        layer_classes = {3: convolutional.Conv1D, 4: convolutional.Conv2D, 5: convolutional.Conv3D}
        if rank not in layer_classes:
            raise ValueError("Convolution not supported for input with rank", rank)
        layer = layer_classes[rank](
            num_outputs, kernel_size, strides=stride, padding=padding, data_format=layout, dilation_rate=rate,
            use_bias=normalizer_fn is None and biases_initializer is not None, kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype,
            _scope=sc, _reuse=reuse,
        )  # fmt: skip
        values = layer.apply(inputs)
        _add_weights(layer, variables_collections)
        return _finish(values, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc)


_CONVOLUTION = """A convolution over {axes}.

Args:
  inputs: A tensor with a batch, {axes}, and channels.
  num_outputs: The number of channels of the output.
  kernel_size: The size of the kernel: an int, or a list with one for each axis.
  stride: The step from one place of the kernel to the next: an int, or a list with one for each axis.
  padding: "SAME" or "VALID".
  data_format: The layout: "{last}" (channels last) or "{first}" (channels first); None for channels last.
  rate: The distance of the kernel's elements, 1 for no gaps: an int, or a list with one for each axis.
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
  A tensor of the layout of `inputs`, with `num_outputs` channels.

>>> tf.contrib.layers.conv{dims}d(tf.zeros({shape}), 16, kernel_size=3).shape.as_list()
{result}
"""
_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def _convolution(dims: int) -> Any:
    def convolution_layer(
        inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME",
        data_format: str | None = None, rate: Any = 1, activation_fn: Any = activation.relu,
        normalizer_fn: Any = None, normalizer_params: Any = None, weights_initializer: Any = XAVIER,
        weights_regularizer: Any = None, biases_initializer: Any = ZEROS, biases_regularizer: Any = None,
        reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True,
        scope: Any = None,
    ) -> Any:  # fmt: skip
        return convolution(
            inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
            normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
            variables_collections, outputs_collections, trainable, scope, conv_dims=dims,
        )  # fmt: skip

    convolution_layer.__name__ = convolution_layer.__qualname__ = f"convolution{dims}d"
    last, first = _LAYOUTS[dims]
    convolution_layer.__doc__ = _CONVOLUTION.format(
        axes=f"{dims} ax{'e' if dims > 1 else 'i'}s", dims=dims, last=last, first=first, shape=[1, *[8] * dims, 3],
        result=[1, *[8] * dims, 16],
    )  # fmt: skip
    return add_arg_scope(convolution_layer)


convolution1d = _convolution(1)
convolution2d = _convolution(2)
convolution3d = _convolution(3)
conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d


@add_arg_scope
def convolution2d_transpose(
    inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME",
    data_format: str = "NHWC", activation_fn: Any = activation.relu, normalizer_fn: Any = None,
    normalizer_params: Any = None, weights_initializer: Any = XAVIER, weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS, biases_regularizer: Any = None, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True, scope: Any = None,
) -> Any:  # fmt: skip
    """A transposed convolution over images.

    Args:
      inputs: Images, [batch, height, width, channels] or as `data_format` says.
      num_outputs: The number of channels of the output.
      kernel_size: The size of the kernel: an int, or a list [height, width].
      stride: How many times larger the output is: an int, or a list [height, width].
      padding: "SAME" or "VALID".
      data_format: "NHWC" (channels last) or "NCHW" (channels first).
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

    >>> tf.contrib.layers.conv2d_transpose(tf.zeros([1, 4, 4, 3]), 16, kernel_size=3, stride=2).shape.as_list()
    [1, 8, 8, 16]
    """
    layout = channels(data_format)
    getter = collecting.model_variable_getter(_RENAMED)
    with variable_scope(scope, "Conv2d_transpose", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        layer = convolutional.Conv2DTranspose(
            num_outputs, kernel_size, strides=stride, padding=padding, data_format=layout,
            use_bias=normalizer_fn is None and biases_initializer is not None, kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype,
            _scope=sc, _reuse=reuse,
        )  # fmt: skip
        values = layer.apply(inputs)
        _add_weights(layer, variables_collections)
        return _finish(values, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc)


conv2d_transpose = convolution2d_transpose


@add_arg_scope
def separable_convolution2d(
    inputs: Any, num_outputs: int | None, kernel_size: Any, depth_multiplier: int = 1, stride: Any = 1,
    padding: str = "SAME", data_format: str = "NHWC", rate: Any = 1, activation_fn: Any = activation.relu,
    normalizer_fn: Any = None, normalizer_params: Any = None, weights_initializer: Any = XAVIER,
    pointwise_initializer: Any = None, weights_regularizer: Any = None, biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None,
    outputs_collections: Any = None, trainable: bool = True, scope: Any = None,
) -> Any:  # fmt: skip
    """A separable convolution over images; with ``num_outputs`` None, the depthwise part alone.

    Args:
      inputs: Images, [batch, height, width, channels] or as `data_format` says.
      num_outputs: The number of channels of the output; None for those of the depthwise part alone.
      kernel_size: The size of the kernel: an int, or a list [height, width].
      depth_multiplier: The number of depthwise filters of each channel.
      stride: The step from one place of the kernel to the next: an int, or a list [height, width].
      padding: "SAME" or "VALID".
      data_format: "NHWC" (channels last) or "NCHW" (channels first).
      rate: The distance of the kernel's elements, 1 for no gaps: an int, or a list [height, width].
      activation_fn: A function of the output, by default relu; None for none.
      normalizer_fn: A function that normalises, such as `tf.contrib.layers.batch_norm`, in place of biases; None for none.
      normalizer_params: A dictionary of further arguments of `normalizer_fn`.
      weights_initializer: What the depthwise weights start from.
      pointwise_initializer: What the pointwise weights start from; None for `weights_initializer`.
      weights_regularizer: A function from weights to a loss, for both kinds of weights; None for none.
      biases_initializer: What the biases start from; None for no biases.
      biases_regularizer: A function from the biases to a loss, which is collected; None for none.
      reuse: True to use variables that exist; None or False to make them.
      variables_collections: Collections for the variables: a list, or a dictionary with a list for each name of a variable.
      outputs_collections: The collections to add the output to; None for none.
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      scope: The variable scope, or its name; None for a name made of the layer's.

    Returns:
      A tensor of the layout of `inputs`.

    >>> tf.contrib.layers.separable_conv2d(tf.zeros([1, 8, 8, 3]), 16, kernel_size=3, depth_multiplier=2).shape.as_list()
    [1, 8, 8, 16]
    """
    layout = channels(data_format)
    getter = collecting.model_variable_getter(_RENAMED)
    with variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        if num_outputs is None:
            values = _depthwise(
                inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate, normalizer_fn is None,
                weights_initializer, weights_regularizer, biases_initializer, biases_regularizer,
                variables_collections, trainable,
            )  # fmt: skip
        else:
            layer = SeparableConv2D(
                num_outputs, kernel_size, strides=stride, padding=padding, data_format=layout,
                dilation_rate=_pair(rate, "rate"), depth_multiplier=depth_multiplier,
                use_bias=normalizer_fn is None and biases_initializer is not None,
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer, bias_initializer=biases_initializer,
                depthwise_regularizer=weights_regularizer, pointwise_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name,
                dtype=inputs.dtype.base_dtype, _scope=sc, _reuse=reuse,
            )  # fmt: skip
            values = layer.apply(inputs)
            collecting.add_variable(layer.depthwise_kernel, variables_collections, "weights")
            collecting.add_variable(layer.pointwise_kernel, variables_collections, "weights")
            collecting.add_variable(layer.bias, variables_collections, "biases")
        return _finish(values, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc)


def _depthwise(
    inputs: Any, kernel_size: Any, depth_multiplier: int, stride: Any, padding: str, data_format: str, rate: Any,
    with_bias: bool, weights_initializer: Any, weights_regularizer: Any, biases_initializer: Any,
    biases_regularizer: Any, variables_collections: Any, trainable: bool,
) -> Any:  # fmt: skip
    first = data_format == "NCHW"
    depth = inputs.shape.as_list()[1 if first else 3]
    dtype = inputs.dtype.base_dtype
    kernel = model_variable(
        "depthwise_weights", shape=[*_pair(kernel_size, "kernel_size"), depth, depth_multiplier], dtype=dtype,
        initializer=weights_initializer, regularizer=weights_regularizer, trainable=trainable,
        collections=collecting.variable_collections(variables_collections, "weights"),
    )  # fmt: skip
    strides = _pair(stride, "stride")
    values = depthwise_conv2d(
        inputs, kernel, [1, 1, *strides] if first else [1, *strides, 1], padding, rate=_pair(rate, "rate"),
        data_format=data_format,
    )  # fmt: skip
    if with_bias and biases_initializer is not None:
        biases = model_variable(
            "biases", shape=[depth * depth_multiplier], dtype=dtype, initializer=biases_initializer,
            regularizer=biases_regularizer, trainable=trainable,
            collections=collecting.variable_collections(variables_collections, "biases"),
        )  # fmt: skip
        values = nn_bias_add(values, biases, data_format=data_format)
    return values


separable_conv2d = separable_convolution2d


@add_arg_scope
def bias_add(
    inputs: Any, activation_fn: Any = None, initializer: Any = ZEROS, regularizer: Any = None, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True,
    data_format: str = "NHWC", scope: Any = None,
) -> Any:  # fmt: skip
    """Adds a variable "biases" along the channels.

    Args:
      inputs: A tensor of at least two axes, with a known number of channels.
      activation_fn: A function of the output; None for none.
      initializer: What the biases start from.
      regularizer: A function from the biases to a loss, which is collected; None for none.
      reuse: True to use variables that exist; None or False to make them.
      variables_collections: Collections for the variables: a list, or a dictionary with a list for each name of a variable.
      outputs_collections: The collections to add the output to; None for none.
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      data_format: "NHWC" (channels last) or "NCHW" (channels first).
      scope: The variable scope, or its name; None for a name made of the layer's.

    Returns:
      A tensor of the shape of `inputs`.

    >>> tf.contrib.layers.bias_add(tf.zeros([2, 3])).shape.as_list()
    [2, 3]
    """
    channels(data_format)
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        axis = 1 if data_format == "NCHW" else -1
        biases = model_variable(
            "biases", shape=[inputs.shape.as_list()[axis]], dtype=inputs.dtype.base_dtype, initializer=initializer,
            regularizer=regularizer, trainable=trainable,
            collections=collecting.variable_collections(variables_collections, "biases"),
        )  # fmt: skip
        values = nn_bias_add(inputs, biases, data_format=data_format)
        return _finish(values, None, None, activation_fn, outputs_collections, sc)


# ---- without variables


@add_arg_scope
def max_pool2d(
    inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NHWC",
    outputs_collections: Any = None, scope: Any = None,
) -> Any:  # fmt: skip
    """The largest value of each window.

    Args:
      inputs: Images, [batch, height, width, channels] or as `data_format` says.
      kernel_size: The size of the window: an int, or a list [height, width].
      stride: The step from one window to the next: an int, or a list [height, width].
      padding: "SAME" or "VALID".
      data_format: "NHWC" (channels last) or "NCHW" (channels first).
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for a name made of the layer's.

    Returns:
      A tensor of the layout of `inputs`.

    >>> tf.contrib.layers.max_pool2d(tf.zeros([1, 8, 8, 3]), kernel_size=2).shape.as_list()
    [1, 4, 4, 3]
    """
    window = (kernel_size, stride, padding, data_format)
    return _pooled(pooling.MaxPooling2D, "MaxPool2D", inputs, *window, outputs_collections, scope)


@add_arg_scope
def avg_pool2d(
    inputs: Any, kernel_size: Any, stride: Any = 2, padding: str = "VALID", data_format: str = "NHWC",
    outputs_collections: Any = None, scope: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window.

    Args:
      inputs: Images, [batch, height, width, channels] or as `data_format` says.
      kernel_size: The size of the window: an int, or a list [height, width].
      stride: The step from one window to the next: an int, or a list [height, width].
      padding: "SAME" or "VALID".
      data_format: "NHWC" (channels last) or "NCHW" (channels first).
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for a name made of the layer's.

    Returns:
      A tensor of the layout of `inputs`.

    >>> tf.contrib.layers.avg_pool2d(tf.zeros([1, 8, 8, 3]), kernel_size=2).shape.as_list()
    [1, 4, 4, 3]
    """
    window = (kernel_size, stride, padding, data_format)
    return _pooled(pooling.AveragePooling2D, "AvgPool2D", inputs, *window, outputs_collections, scope)


def _pooled(
    layer: Any, op: str, inputs: Any, size: Any, stride: Any, padding: str, data_format: str, collected: Any, scope: Any
) -> Any:
    layout = channels(data_format)
    with name_scope(_scope_name(scope), op, [inputs]) as sc:
        made = layer(_pair(size, "kernel_size"), _pair(stride, "stride"), padding, layout, _scope=sc)
        return collecting.collect_named_outputs(collected, sc, made.apply(inputs))


def _scope_name(scope: Any) -> Any:
    return getattr(scope, "name", scope)


@add_arg_scope
def dropout(
    inputs: Any, keep_prob: Any = 0.5, noise_shape: Any = None, is_training: Any = True,
    outputs_collections: Any = None, scope: Any = None, seed: int | None = None,
) -> Any:  # fmt: skip
    """Dropout that keeps each element with probability ``keep_prob`` while training.

    Args:
      inputs: A tensor of floats.
      keep_prob: The probability to keep an element, a number or a scalar tensor.
      noise_shape: The shape of the choices, which broadcasts to that of `inputs`; None for one choice for each element.
      is_training: Whether to drop: a bool, or a bool scalar tensor.
      outputs_collections: The collections to add the output to; None for none.
      scope: The variable scope, or its name; None for a name made of the layer's.
      seed: The seed of the choices.

    Returns:
      A tensor of the shape of `inputs`: kept elements are divided by `keep_prob`.

    >>> tf.Session().run(tf.contrib.layers.dropout([1.0, 2.0], is_training=False))
    array([1., 2.], dtype=float32)
    """
    with variable_scope(scope, "Dropout", [inputs]) as sc:
        layer = core.Dropout(1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc)
        values = layer.apply(convert_to_tensor(inputs), training=is_training)
        return collecting.collect_named_outputs(outputs_collections, sc.name, values)


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    """[batch, ...] -> [batch, product of the rest].

    Args:
      inputs: A tensor of at least two axes.
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for `Flatten`.

    Returns:
      A tensor [batch, size].

    >>> tf.contrib.layers.flatten(tf.zeros([2, 3, 4])).shape.as_list()
    [2, 12]
    """
    with name_scope(_scope_name(scope), "Flatten", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        return collecting.collect_named_outputs(outputs_collections, sc, core.flatten(inputs))
