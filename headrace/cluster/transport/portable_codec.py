"""A step graph as bytes and tensors, and back: how a partition reaches another process.

Python objects (the function of a ``py_func``) mean nothing there and are refused by the node's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from headrace.cluster.transport.codec import Buffer, MalformedError
from headrace.cluster.transport.interface import RemoteNode
from headrace.core.errors import InvalidArgumentError
from headrace.passes.portable import Portable


class _Plain(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    graphs: list[dict[str, Any]]
    sources: list[tuple[str, int, str]]
    arrays: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Plain)


def encode_portable(data: Portable) -> tuple[bytes, list[Any]]:
    """The graph as bytes, and its arrays, to be sent as tensors."""
    if data.objects:
        node, attr = next(_holders(data))
        filename, line, _ = data.sources[node["source"]]
        raise InvalidArgumentError(
            None, RemoteNode(node["name"]),
            f"node {node['name']!r} cannot run on another task, {node['device'] or 'any'}: its attribute {attr!r} is a Python "
            f"object ({type(data.objects[0]).__name__}). What calls Python (tf.py_func) stays on the client's task, and a client "
            f"that is no task of the cluster has none\n\t [[node {node['name']} ({node['op']}) made at {filename}:{line}]]",
        )  # fmt: skip
    try:
        return _encoder.encode(_Plain(data.graphs, data.sources, len(data.arrays))), list(data.arrays)
    except (TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as e:
        raise InvalidArgumentError(None, None, f"the graph cannot be sent to another task: {e}") from None


def decode_portable(text: Buffer, arrays: Sequence[Any]) -> Portable:
    """The graph of the bytes, with the arrays that came as tensors."""
    try:
        plain = _decoder.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as e:
        raise MalformedError(f"the graph is not what encode_portable writes: {e}") from None
    if plain.arrays != len(arrays):
        raise MalformedError(f"a graph with {plain.arrays} arrays came with {len(arrays)}")
    return Portable(plain.graphs, plain.sources, list(arrays))


def _holders(data: Portable) -> Iterator[tuple[dict[str, Any], str]]:
    """The nodes and attributes that hold an object."""
    for graph in data.graphs:
        for node in graph["nodes"]:
            for name, value in node["attrs"]:
                if _holds_object(value):
                    yield node, name


def _holds_object(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    if len(value) == 2 and value[0] == "object":
        return True
    return any(_holds_object(one) for one in value)
