"""How the elements of a collection become messages in a meta graph, and elements again: functions that programs register."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core.source import at


class ProtoFunctions(NamedTuple):
    """The message class of a collection, and the functions to it and from it."""

    proto_type: Any
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


_NONE = ProtoFunctions(None, None, None)
_registered: dict[Any, ProtoFunctions] = {}


def register_proto_function(
    collection_name: Any, proto_type: Any = None, to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """Says how a collection is written to meta graphs and read from them.

    Args:
      collection_name: The key of the collection; it is registered once.
      proto_type: The class of the messages.
      to_proto: A function ``(element, export_scope=None)`` that gives a message, or None to leave the element out.
      from_proto: A function ``(message, import_scope=None)`` that gives an element.
    """
    for name, function in (("to_proto", to_proto), ("from_proto", from_proto)):
        if function and not callable(function):
            raise TypeError(f"{name} must be callable, got {function!r} {at()}")
    if collection_name in _registered:
        raise KeyError(
            f"Registering two proto functions for the collection {collection_name!r}: "
            f"{_registered[collection_name]} is already there {at()}"
        )
    _registered[collection_name] = ProtoFunctions(proto_type, to_proto, from_proto)


def registered_functions(collection_name: Any) -> ProtoFunctions:
    """What was registered for a collection; its fields are None if nothing was."""
    return _registered.get(collection_name, _NONE)


def get_collection_proto_type(collection_name: Any) -> Any:
    """The class of a collection's messages; None if none is registered."""
    return registered_functions(collection_name).proto_type


def get_to_proto_function(collection_name: Any) -> Callable[..., Any] | None:
    """The function from an element of a collection to its message; None if none is registered."""
    return registered_functions(collection_name).to_proto


def get_from_proto_function(collection_name: Any) -> Callable[..., Any] | None:
    """The function from a message of a collection to an element; None if none is registered."""
    return registered_functions(collection_name).from_proto
