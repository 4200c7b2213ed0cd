"""Attributes that scopes of a graph add to the nodes made inside them (``Graph._attr_scope``, ``Graph._kernel_label_map``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import attr_value

AddedAttrs: TypeAlias = Callable[[str], dict[str, Any]]
"""From the type of a node to its added attributes; None takes away what an outer scope adds."""


LOSSY = "_lossy_transfer"  # of nodes whose results may cross to other devices as 16 bits


def added(scopes: Sequence[AddedAttrs], op_type: str) -> dict[str, Any]:
    """What all scopes together add to a node of this type."""
    attrs: dict[str, Any] = {}
    for scope in scopes:
        attrs.update(scope(op_type))
    return {name: value for name, value in attrs.items() if value is not None}


def checked_attr_scope(attr_map: Any) -> AddedAttrs:
    """The attributes of a dictionary of AttrValues, or of functions that make one for a NodeDef."""
    if not isinstance(attr_map, dict):
        raise TypeError(
            f"attr_map must be a dictionary mapping strings to AttrValue protocol buffers, got {attr_map!r} {at()}"
        )
    message = protos().AttrValue
    for name, value in attr_map.items():
        if not isinstance(name, str) or not (value is None or isinstance(value, message) or callable(value)):
            raise TypeError(
                f"attr_map maps strings to AttrValues, or functions that emit them, got {name!r}: {value!r} {at()}"
            )

    def scope(op_type: str) -> dict[str, Any]:
        node_def = protos().NodeDef(op=op_type)
        values = {name: value(node_def) if callable(value) else value for name, value in attr_map.items()}
        return {name: v if v is None else attr_value.decode(v, "any", name) for name, v in values.items()}

    return scope


def checked_kernel_labels(labels: Any) -> AddedAttrs:
    """The attribute ``_kernel`` by the type of a node."""
    if not isinstance(labels, dict) or not all(isinstance(text, str) for item in labels.items() for text in item):
        raise TypeError(
            f"op_to_kernel_label_map must be a dictionary mapping strings to strings, got {labels!r} {at()}"
        )
    return lambda op_type: {"_kernel": labels[op_type]} if op_type in labels else {}
