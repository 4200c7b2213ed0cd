"""contrib.layers' small functions: repeat, stack, softmax, one_hot_encoding, embed_sequence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph.convert import convert_to_tensor
from headrace.library.contrib import outputs as collecting
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.contrib.layers import fully_connected
from headrace.library.contrib.variables import model_variable
from headrace.library.network import activation
from headrace.library.network import softmax as nn_softmax
from headrace.library.network.embedding import embedding_lookup
from headrace.library.numeric import math
from headrace.library.scope import name_scope
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather, unique


def _layer_name(layer: Any, default: str) -> str:
    named = layer if hasattr(layer, "__name__") else getattr(layer, "func", None)  # a partial has none of its own
    return str(getattr(named, "__name__", default))


@add_arg_scope
def repeat(inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The layer applied several times: ``repeat(x, 3, conv2d, 64, [3, 3], scope="conv1")`` makes conv1/conv1_1...

    Args:
      inputs: The tensor that the first layer gets.
      repetitions: How often the layer is applied.
      layer: A function that makes a layer, such as `tf.contrib.layers.conv2d`, with an argument `scope`.
      *args: Further arguments of `layer`, after its inputs.
      **kwargs: Further arguments of `layer`; `scope` is the variable scope around all layers.

    Returns:
      What the last layer gives.

    >>> net = tf.contrib.layers.repeat(tf.zeros([1, 8, 8, 3]), 2, tf.contrib.layers.conv2d, 4, [3, 3], scope="conv1")
    >>> [v.op.name for v in tf.trainable_variables()]
    ['conv1/conv1_1/weights', 'conv1/conv1_1/biases', 'conv1/conv1_2/weights', 'conv1/conv1_2/biases']
    """
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        values = convert_to_tensor(inputs)
        prefix = scope or _layer_name(layer, "repeat")
        for i in range(repetitions):
            kwargs["scope"] = f"{prefix}_{i + 1}"
            values = layer(values, *args, **kwargs)
        return values


@add_arg_scope
def stack(inputs: Any, layer: Callable[..., Any], stack_args: Sequence[Any], **kwargs: Any) -> Any:
    """The layer applied once for each element of ``stack_args``: ``stack(x, fully_connected, [32, 64], scope="fc")``.

    Args:
      inputs: The tensor that the first layer gets.
      layer: A function that makes a layer, such as `tf.contrib.layers.fully_connected`, with an argument `scope`.
      stack_args: A list with the arguments of each layer after its inputs: a value, or a list of values.
      **kwargs: Further arguments of all layers; `scope` is the variable scope around them.

    Returns:
      What the last layer gives.

    >>> tf.contrib.layers.stack(tf.zeros([2, 3]), tf.contrib.layers.fully_connected, [8, 4], scope="fc").shape.as_list()
    [2, 4]
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise TypeError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        values = convert_to_tensor(inputs)
        prefix = scope or _layer_name(layer, "stack")
        for i, layer_args in enumerate(stack_args):
            kwargs["scope"] = f"{prefix}_{i + 1}"
            values = layer(values, *(layer_args if isinstance(layer_args, (list, tuple)) else [layer_args]), **kwargs)
        return values


@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Any:
    """The softmax over the last axis of a tensor of any rank.

    Args:
      logits: A tensor of floats whose last axis has a known size.
      scope: The variable scope, or its name; None for `softmax`.

    Returns:
      A tensor of the type and shape of `logits`.

    >>> tf.Session().run(tf.contrib.layers.softmax([[0.0, 0.0]]))
    array([[0.5, 0.5]], dtype=float32)
    """
    with variable_scope(scope, "softmax", [logits]):
        logits = convert_to_tensor(logits)
        width = logits.shape.as_list()[-1]
        flat = array.reshape(logits, [-1, width])
        values = array.reshape(nn_softmax.softmax(flat), array.shape(logits))
        values.set_shape(logits.shape)
        return values


@add_arg_scope
def one_hot_encoding(
    labels: Any, num_classes: int, on_value: float = 1.0, off_value: float = 0.0, outputs_collections: Any = None,
    scope: Any = None,
) -> Any:  # fmt: skip
    """Class numbers as rows with a single one.

    Args:
      labels: The numbers of classes, an integer tensor.
      num_classes: The number of classes.
      on_value: The value at the class.
      off_value: The value elsewhere.
      outputs_collections: The collections to add the output to; None for none.
      scope: The name scope of the ops; None for `OneHotEncoding`.

    Returns:
      A float32 tensor with one more axis than `labels`.

    >>> tf.Session().run(tf.contrib.layers.one_hot_encoding([2, 0], num_classes=3))
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        labels = convert_to_tensor(labels)
        if labels.dtype == dtypes.int32:
            labels = math.cast(labels, dtypes.int64)
        values = creation.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collecting.collect_named_outputs(outputs_collections, sc, values)


def embed_sequence(
    ids: Any, vocab_size: int | None = None, embed_dim: int | None = None, unique: bool = False,
    initializer: Any = None, regularizer: Any = None, trainable: bool = True, scope: Any = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """Rows of a new variable "embeddings" [vocab_size, embed_dim], one for each id.

    Args:
      ids: An int32 or int64 tensor of ids.
      vocab_size: The number of rows of the embedding; None only with `reuse`.
      embed_dim: The width of a row; None only with `reuse`.
      unique: True looks up each different id once.
      initializer: What the embedding starts from; None for the initializer of the variable scope.
      regularizer: A function from the embedding to a loss, which is collected; None for none.
      trainable: False keeps the embedding out of `tf.trainable_variables()`.
      scope: The variable scope, or its name; None for `EmbedSequence`.
      reuse: True to use an embedding that exists.

    Returns:
      A tensor of the shape of `ids` with one more axis, of size `embed_dim`.

    >>> tf.contrib.layers.embed_sequence([[1, 2, 2]], vocab_size=10, embed_dim=4).shape.as_list()
    [1, 3, 4]
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing. Got {vocab_size}, {embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if not (reuse and (vocab_size is None or embed_dim is None)) else None
        embeddings = model_variable(
            "embeddings", shape=shape, initializer=initializer, regularizer=regularizer, trainable=trainable
        )
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return embedding_lookup(embeddings, ids)


def embedding_lookup_unique(params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None) -> Any:
    """``embedding_lookup`` that looks up each different id once.

    Args:
      params: The table of embeddings [ids, size], or a list of its shards.
      ids: An int32 or int64 tensor of ids.
      partition_strategy: How rows are divided between shards: "mod" or "div".
      name: The name scope of the ops.

    Returns:
      A tensor of the shape of `ids` with one more axis.

    >>> table = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.Session().run(tf.contrib.layers.embedding_lookup_unique(table, [1, 1, 0]))
    array([[3., 4.],
           [3., 4.],
           [1., 2.]], dtype=float32)
    """
    with name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = convert_to_tensor(ids)
        different, places = unique(array.reshape(ids, [-1]))
        rows = gather(embedding_lookup(params, different, partition_strategy), places)
        sizes: Any = array.shape(ids)
        return array.reshape(rows, array.concat([sizes, array.shape(rows)[1:]], 0))  # type: ignore[index]


_ACTIVATED = """A fully connected layer, `tf.contrib.layers.fully_connected`, {then}.

Args:
  inputs: A tensor of rank 2 or more; the last axis is connected.
  num_outputs: The size of the last axis of the result.
  activation_fn: What is applied to the result, in place of this layer's own; None for nothing.
  normalizer_fn: What is applied before, in place of biases, such as `tf.contrib.layers.batch_norm`; None for biases.
  normalizer_params: The arguments of `normalizer_fn`, a dict.
  weights_initializer: The initializer of the weights.
  weights_regularizer: A function from the weights to a loss, which is collected; None for none.
  biases_initializer: The initializer of the biases; None for no biases.
  biases_regularizer: A function from the biases to a loss, which is collected; None for none.
  reuse: Whether to use variables that exist; only with `scope`.
  variables_collections: Further collections of the variables: a list, or a dict for "weights" and "biases".
  outputs_collections: The collections to which the result is added.
  trainable: Whether the variables are in `tf.trainable_variables()`.
  scope: The variable scope, or its name; None for `fully_connected`.

Returns:
  A tensor of the shape of `inputs`, with `num_outputs` as its last axis.

Example: ``tf.contrib.layers.{name}(inputs, 64)``"""


def _activated(name: str, then: str, activation_fn: Any) -> functools.partial[Any]:
    layer = functools.partial(fully_connected, activation_fn=activation_fn)
    layer.__doc__ = _ACTIVATED.format(name=name, then=then)
    return layer


linear = _activated("linear", "without an activation", None)
relu = _activated("relu", "with relu", activation.relu)
relu6 = _activated("relu6", "with relu6", activation.relu6)
elu = _activated("elu", "with elu", activation.elu)
