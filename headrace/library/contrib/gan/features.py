"""What models are improved with: pools of generated data, conditions, clipped variables."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.contrib.composition import linear
from headrace.library.contrib.layers import flatten
from headrace.library.contrib.sign_optimizer import VariableClippingOptimizer
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import identity
from headrace.library.network.embedding import embedding_lookup
from headrace.library.numeric import math, reduction
from headrace.library.numeric.random import random_uniform
from headrace.library.queue.kinds import RandomShuffleQueue
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.variable_scope import get_variable
from headrace.library.tensor import array


def tensor_pool(
    input_values: Any, pool_size: int = 50, pooling_probability: Any = 0.5, name: str = "tensor_pool"
) -> Any:
    """Gives the values, or older ones of a pool in which they take the place (Shrivastava et al., 2017).

    Args:
      input_values: A tensor, or a structure of tensors, such as generated data and the inputs of the generator.
      pool_size: How many values the pool holds; while it has fewer, the values are given as they are. 0 for no pool.
      pooling_probability: The probability to give values of the pool, a number or a scalar tensor.
      name: A name for the ops.

    Returns:
      Tensors in the structure of `input_values`.

    >>> x = tf.contrib.gan.features.tensor_pool(tf.zeros([8, 4]), pool_size=10)
    >>> x.shape.as_list()
    [8, 4]
    """
    if pool_size < 0:
        raise ValueError(f"pool_size is negative: {pool_size} {at()}")
    if pool_size == 0:
        return input_values
    values = [convert_to_tensor(value) for value in nest.flatten(input_values)]
    types = [value.dtype.base_dtype for value in values]
    with name_scope(f"{name}_pool_queue", values=values):
        pool = RandomShuffleQueue(int(pool_size), 0, types)

    def added() -> list[Any]:
        with control_dependencies([pool.enqueue(values)]):
            return [identity(value) for value in values]

    def exchanged() -> list[Any]:
        taken = pool.dequeue()
        older = list(taken) if isinstance(taken, (list, tuple)) else [taken]
        with control_dependencies(older), control_dependencies([pool.enqueue(values)]):
            chance = math.less(random_uniform([]), pooling_probability)
            return _listed(cond(chance, lambda: [identity(v) for v in older], lambda: [identity(v) for v in values]))

    with name_scope(f"{name}_population", values=values):
        outputs = _listed(cond(math.less(pool.size(), pool_size), added, exchanged))
    for output, value in zip(outputs, values, strict=True):
        output.set_shape(value.shape)
    return nest.pack_sequence_as(input_values, outputs)


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def condition_tensor(tensor: Any, conditioning: Any) -> Any:
    """Adds a linear map of a condition to a tensor, whatever their shapes.

    Args:
      tensor: A tensor [batch, ...] whose other dimensions are known.
      conditioning: The condition, a tensor [batch, ...].

    Returns:
      A tensor of the shape of `tensor`.

    >>> x = tf.contrib.gan.features.condition_tensor(tf.zeros([2, 4, 4, 3]), tf.ones([2, 5]))
    >>> x.shape.as_list()
    [2, 4, 4, 3]
    """
    tensor, conditioning = convert_to_tensor(tensor), convert_to_tensor(conditioning)
    if tensor.shape.ndims is None or None in tensor.shape.as_list()[1:]:
        raise ValueError(f"The dimensions of tensor must be known but for the batch, got {tensor} {at()}")
    if conditioning.shape.ndims is None or conditioning.shape.ndims < 2:
        raise ValueError(f"conditioning must be at least 2D, but saw shape: {conditioning.shape} {at()}")
    mapped = linear(flatten(conditioning), tensor.shape[1:].num_elements())
    return tensor + array.reshape(mapped, array.shape(tensor))


def condition_tensor_from_onehot(tensor: Any, one_hot_labels: Any, embedding_size: int = 256) -> Any:
    """Adds a linear map of an embedding of classes to a tensor.

    Args:
      tensor: A tensor [batch, ...] whose other dimensions are known.
      one_hot_labels: The classes, [batch, classes].
      embedding_size: The width of the embedding.

    Returns:
      A tensor of the shape of `tensor`.

    >>> x = tf.contrib.gan.features.condition_tensor_from_onehot(tf.zeros([2, 8]), tf.one_hot([1, 0], 10), 4)
    >>> x.shape.as_list()
    [2, 8]
    """
    one_hot_labels = convert_to_tensor(one_hot_labels)
    if one_hot_labels.shape.ndims != 2 or one_hot_labels.shape.as_list()[1] is None:
        raise ValueError(f"one_hot_labels must be [batch, classes] with known classes, got {one_hot_labels} {at()}")
    table = get_variable("embedding", [one_hot_labels.shape.as_list()[1], embedding_size], dtypes.float32)
    rows = embedding_lookup(table, reduction.argmax(one_hot_labels, axis=1), name="token_to_embedding")
    return condition_tensor(tensor, rows)


def clip_variables(optimizer: Any, variables: Any, weight_clip: float) -> Any:
    """The optimizer, which also keeps each element of variables within a bound.

    Args:
      optimizer: A `tf.train.Optimizer`.
      variables: A list of variables.
      weight_clip: The bound, above 0.

    Returns:
      A `tf.train.Optimizer`.

    >>> v = tf.Variable([1.0])
    >>> optimizer = tf.contrib.gan.features.clip_variables(tf.train.GradientDescentOptimizer(0.1), [v], 0.01)
    """
    if weight_clip <= 0:
        raise ValueError(f"weight_clip must be positive, got {weight_clip} {at()}")
    return VariableClippingOptimizer(optimizer, {variable: [] for variable in variables}, max_norm=weight_clip)


def clip_discriminator_weights(optimizer: Any, model: Any, weight_clip: float) -> Any:
    """The optimizer, which also keeps each element of the discriminator's variables within a bound.

    Args:
      optimizer: A `tf.train.Optimizer`.
      model: The model, as `tf.contrib.gan.gan_model` and kin give it.
      weight_clip: The bound, above 0.

    Returns:
      A `tf.train.Optimizer`.

    Example: ``tf.contrib.gan.features.clip_discriminator_weights(tf.train.RMSPropOptimizer(5e-5), model, 0.01)``
    """
    return clip_variables(optimizer, model.discriminator_variables, weight_clip)
