"""contrib.layers without variables: maxout, gradients scaled, points in a disc, images as sequences of their columns."""

from __future__ import annotations

from typing import Any

from headrace.autodiff.custom import custom_gradient
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.contrib import outputs as collecting
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.control.dependency import identity
from headrace.library.numeric import math, reduction
from headrace.library.scope import name_scope
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Tensor:
    """The largest of each group of channels.

    Args:
      inputs: A tensor whose axis has a known size.
      num_units: How many groups there are; it divides the size.
      axis: The axis of the channels.
      scope: The variable scope, or its name; None for `MaxOut`.

    Returns:
      A tensor with `num_units` channels.

    >>> tf.Session().run(tf.contrib.layers.maxout([[1.0, 5.0, 2.0, 3.0]], num_units=2))
    array([[5., 3.]], dtype=float32)
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        inputs = convert_to_tensor(inputs)
        shape = inputs.shape.as_list()
        if shape[axis] is None or shape[axis] % num_units:
            raise ValueError(f"number of features({shape[axis]}) is not a multiple of num_units({num_units}) {at()}")
        groups = shape[axis] // num_units
        shape[axis] = num_units
        sizes = [array.shape(inputs)[i] if size is None else size for i, size in enumerate(shape)]
        outputs = reduction.reduce_max(array.reshape(inputs, array.stack([*sizes, groups])), -1)
        outputs.set_shape(shape)
        return outputs


def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Tensor:
    """The inputs; their gradient is multiplied.

    Args:
      inputs: A tensor.
      gradient_multiplier: By what the gradient is multiplied.

    Returns:
      A tensor like `inputs`.

    >>> x = tf.constant(3.0)
    >>> print(tf.Session().run(tf.gradients(tf.contrib.layers.scale_gradient(x, 0.5) * 4.0, x))[0])
    2.0
    """

    @custom_gradient
    def scaled(x: Any) -> Any:
        return identity(x), lambda grad: grad * math.cast(gradient_multiplier, grad.dtype)

    result: Tensor = scaled(convert_to_tensor(inputs))
    return result


def poincare_normalize(x: Any, axis: Any = 1, epsilon: float = 1e-5, name: str | None = None) -> Tensor:
    """Vectors shortened to lie inside the unit ball.

    Args:
      x: A tensor.
      axis: The axis, or axes, of the vectors.
      epsilon: By how much longer ones stay below 1.
      name: A name for the op.

    Returns:
      A tensor like `x`.

    >>> tf.Session().run(tf.contrib.layers.poincare_normalize([[0.0, 0.5], [3.0, 4.0]])).round(3)
    array([[0. , 0.5],
           [0.6, 0.8]], dtype=float32)
    """
    with name_scope(name, "poincare_normalize", [x]):
        x = convert_to_tensor(x)
        inverse = math.rsqrt(reduction.reduce_sum(math.square(x), axis, keepdims=True))
        return math.multiply(x, math.minimum((1.0 - epsilon) * inverse, 1.0))


@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "channels_last", outputs_collections: Any = None, scope: Any = None
) -> Tensor:
    """Images as sequences from left to right, one for each row of pixels.

    Args:
      inputs: Images, [batch, height, width, channels] or as `data_format` says.
      data_format: "channels_last" or "channels_first".
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for `ImagesToSequence`.

    Returns:
      A tensor [width, batch * height, channels].

    >>> tf.contrib.layers.images_to_sequence(tf.zeros([2, 3, 4, 5])).shape.as_list()
    [4, 6, 5]
    """
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"data_format must be 'channels_last' or 'channels_first', got {data_format!r} {at()}")
    with name_scope(getattr(scope, "name", scope), "ImagesToSequence", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        if data_format == "channels_first":
            inputs = array.transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.shape.as_list()
        sizes: Any = array.shape(inputs)
        rows = array.reshape(inputs, array.stack([sizes[0] * sizes[1], width or sizes[2], depth]))
        outputs = array.transpose(rows, [1, 0, 2])
        return collecting.collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def sequence_to_images(
    inputs: Any, height: int, output_data_format: str = "channels_last", outputs_collections: Any = None,
    scope: Any = None,
) -> Tensor:  # fmt: skip
    """The images whose rows are these sequences, the opposite of `images_to_sequence`.

    Args:
      inputs: A tensor [width, batch * height, channels].
      height: The height of the images.
      output_data_format: "channels_last" or "channels_first".
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for `SequenceToImages`.

    Returns:
      Images, [batch, height, width, channels] or as `output_data_format` says.

    >>> tf.contrib.layers.sequence_to_images(tf.zeros([4, 6, 5]), height=3).shape.as_list()
    [2, 3, 4, 5]
    """
    with name_scope(getattr(scope, "name", scope), "SequenceToImages", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        width, rows, depth = inputs.shape.as_list()
        shape = [width, -1 if rows is None else rows // height, height, depth]
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        outputs = array.transpose(array.reshape(inputs, shape), order)
        return collecting.collect_named_outputs(outputs_collections, sc, outputs)
