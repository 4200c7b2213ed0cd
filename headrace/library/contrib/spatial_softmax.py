"""contrib.layers.spatial_softmax: where in an image each channel is strongest, as coordinates."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.contrib.layers import channels
from headrace.library.contrib.outputs import variable_collections
from headrace.library.contrib.variables import model_variable
from headrace.library.network import softmax as nn_softmax
from headrace.library.numeric import reduction
from headrace.library.scope import name_scope
from headrace.library.state.initializers import Constant
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation


def spatial_softmax(
    features: Any, temperature: float | None = None, name: str | None = None, variables_collections: Any = None,
    trainable: bool = True, data_format: str = "NHWC",
) -> Tensor:  # fmt: skip
    """The mean position of each channel under a softmax over the image: feature points (Finn et al., 2016).

    Positions go from -1 (top, left) to 1 (bottom, right).

    Args:
      features: Images, [batch, height, width, channels] or as `data_format` says; the number of channels must be known.
      temperature: What the variable "temperature" starts from, which divides the features; None for 1.
      name: The variable scope; None for "spatial_softmax".
      variables_collections: Collections for the variable: a list, or a dictionary with a list for "temperature".
      trainable: Whether the temperature is trained.
      data_format: "NHWC" (channels last) or "NCHW" (channels first).

    Returns:
      A tensor [batch, 2 * channels]: of each channel the position from top to bottom, then that from left to right.

    >>> image = tf.one_hot([[0, 0], [0, 1]], 2) * 1000.0
    >>> points = tf.contrib.layers.spatial_softmax([image])
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(points).round(2)
    array([[-0.33, -0.33,  1.  ,  1.  ]], dtype=float32)
    """
    first = channels(data_format) == "channels_first"
    with variable_scope(name, "spatial_softmax"):
        features = convert_to_tensor(features)
        count = features.shape.as_list()[1 if first else 3]
        if count is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined. Found `None`."
            )
        with name_scope("spatial_softmax_op", values=[features]):
            shape: Any = array.shape(features)
            height, width = (shape[2], shape[3]) if first else (shape[1], shape[2])
            ends = raw_ops.LinSpace(-1.0, 1.0, height), raw_ops.LinSpace(-1.0, 1.0, width)
            pixels = height * width
            rows, columns = (array.reshape(p, [pixels]) for p in creation.meshgrid(*ends, indexing="ij"))
            scale = model_variable(
                "temperature", shape=(), dtype=dtypes.float32,
                initializer=Constant(1.0 if temperature is None else temperature), trainable=trainable,
                collections=variable_collections(variables_collections, "temperature") if trainable else None,
            )  # fmt: skip
            if not first:
                features = array.transpose(features, [0, 3, 1, 2])
            attention = nn_softmax.softmax(array.reshape(features, [-1, pixels]) / scale)
            means = [reduction.reduce_sum(attention * p, axis=1, keepdims=True) for p in (rows, columns)]
            points = array.reshape(array.concat(means, 1), [-1, 2 * count])
            points.set_shape([features.shape.as_list()[0], 2 * count])
            return points
