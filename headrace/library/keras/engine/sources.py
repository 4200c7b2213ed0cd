"""get_source_inputs: the inputs that a tensor of a model comes from."""

from __future__ import annotations

from typing import Any

from headrace.library import nest
from headrace.library.layers.history import add_missing_history
from headrace.library.layers.node import Node
from headrace.library.layers.tracking import unique


def get_source_inputs(tensor: Any, layer: Any = None, node_index: int | None = None) -> Any:
    """The inputs that a tensor comes from.

    Args:
      tensor: A tensor that a layer made.
      layer: The layer to begin with; None for the one that made the tensor.
      node_index: Which call of the layer made it; None for that of the tensor.

    Returns:
      A list of tensors made by `tf.keras.Input`; the tensor itself if no layer made it.

    >>> x = tf.keras.Input([2], name="x")
    >>> [t.name for t in tf.keras.utils.get_source_inputs(x * 2.0 + 1.0)]
    ['x:0']
    """
    add_missing_history([tensor], in_call=True)
    if not hasattr(tensor, "_keras_history"):
        return tensor
    if layer is None or node_index:
        layer, node_index, _ = tensor._keras_history
    if not layer._inbound_nodes:
        return [tensor]
    found: list[Any] = []
    seen: set[Node] = set()
    waiting = [layer._inbound_nodes[node_index or 0]]
    while waiting:
        node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        if node.is_input:
            found.extend(nest.flatten(node.input_tensors))
        waiting[:0] = node.parents
    return unique(found)
