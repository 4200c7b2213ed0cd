"""Collections of named layer outputs ("end points"), and where a layer's variables are added."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library.state.partitioned_variable import PartitionedVariable

_ALIASES_KEY = ("__tensor_aliases",)


def _aliases() -> dict[Any, list[str]]:
    stores = context.get_default_graph().get_collection_ref(_ALIASES_KEY)
    if not stores:
        stores.append({})
    return stores[0]


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Gives a tensor one more name.

    Args:
      tensor: A tensor.
      alias: The further name; a slash at its end is left out.

    Returns:
      The tensor.

    >>> x = tf.contrib.slim.utils.append_tensor_alias(tf.constant(1.0, name="x"), "start")
    >>> tf.contrib.slim.utils.get_tensor_aliases(x)
    ['start']
    """
    names = _aliases().setdefault(tensor, [])
    names.append(alias.removesuffix("/"))
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The names given to a tensor, or else its own.

    Args:
      tensor: A tensor.

    Returns:
      A list of names.

    >>> tf.contrib.slim.utils.get_tensor_aliases(tf.constant(1.0, name="x"))
    ['x']
    """
    return _aliases().get(tensor) or [_short_name(tensor)]


def _short_name(tensor: Any) -> str:
    name: str = tensor.name
    return name[:-2] if name.endswith(":0") else name


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Adds a layer's output to collections under the layer's name; gives it back.

    Args:
      collections: The name of a collection, or a list of them; None or empty adds the output to none.
      alias: The name of the layer.
      outputs: The tensor.

    Returns:
      `outputs`.

    >>> x = tf.contrib.slim.utils.collect_named_outputs("ends", "layer1", tf.constant(1.0))
    >>> tf.get_collection("ends") == [x]
    True
    """
    if collections:
        append_tensor_alias(outputs, alias)
        context.get_default_graph().add_to_collections(collections, outputs)
    return outputs


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> OrderedDict[str, Any]:
    """The tensors of a collection by their names: slim's end points.

    Args:
      collection: The name of the collection.
      clear_collection: True empties the collection.

    Returns:
      An OrderedDict from names to tensors.

    >>> x = tf.contrib.slim.utils.collect_named_outputs("ends", "layer1", tf.constant(1.0))
    >>> list(tf.contrib.slim.utils.convert_collection_to_dict("ends"))
    ['layer1']
    """
    graph = context.get_default_graph()
    aliased = OrderedDict((alias, t) for t in graph.get_collection(collection) for alias in get_tensor_aliases(t))
    if clear_collection:
        graph.clear_collection(collection)
    return aliased


def variable_collections(collections: Any, name: str) -> list[str]:
    """The collections for the variables called ``name``: of a dictionary its entry, of a list all."""
    if isinstance(collections, dict):
        return list(collections.get(name) or ())
    return list(collections or ())


def add_variable(variable: Any, collections: Any, name: str) -> None:
    """Adds a layer's variable (or its shards) to the collections asked for, once each."""
    graph = context.get_default_graph()
    if variable is None:
        return
    for collection in variable_collections(collections, name):
        for part in list(variable) if isinstance(variable, PartitionedVariable) else [variable]:
            if part not in graph.get_collection(collection):
                graph.add_to_collection(collection, part)


def model_variable_getter(rename: dict[str, str] | None = None) -> Callable[..., Any]:
    """A custom getter that makes model variables and changes the last part of their names."""

    def getter(getter: Callable[..., Any], name: str, **kwargs: Any) -> Any:
        scope, _, last = name.rpartition("/")
        last = (rename or {}).get(last, last)
        collections = list(kwargs.pop("collections", None) or [GraphKeys.GLOBAL_VARIABLES])
        if GraphKeys.MODEL_VARIABLES not in collections:
            collections.append(GraphKeys.MODEL_VARIABLES)
        return getter(name=f"{scope}/{last}" if scope else last, collections=collections, **kwargs)

    return getter
