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
    """The layer applied several times: ``repeat(x, 3, conv2d, 64, [3, 3], scope="conv1")`` makes conv1/conv1_1..."""
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
    """The layer applied once for each element of ``stack_args``: ``stack(x, fully_connected, [32, 64], scope="fc")``."""
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
    """The softmax over the last axis of a tensor of any rank."""
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
    """Class numbers as rows with a single one."""
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
    """Rows of a new variable "embeddings" [vocab_size, embed_dim], one for each id."""
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
    """``embedding_lookup`` that looks up each different id once."""
    with name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = convert_to_tensor(ids)
        different, places = unique(array.reshape(ids, [-1]))
        rows = gather(embedding_lookup(params, different, partition_strategy), places)
        sizes: Any = array.shape(ids)
        return array.reshape(rows, array.concat([sizes, array.shape(rows)[1:]], 0))  # type: ignore[index]


linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=activation.relu)
relu6 = functools.partial(fully_connected, activation_fn=activation.relu6)
elu = functools.partial(fully_connected, activation_fn=activation.elu)
