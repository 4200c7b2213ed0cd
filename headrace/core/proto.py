"""TensorFlow's messages (GraphDef, TensorProto and their kin), which TensorBoard ships as protocol buffers: imported when needed.

Examples are not among them (``example``), nor is what configures a session (``config``), which needs no protobuf.
"""

from __future__ import annotations

import functools
import importlib
from types import SimpleNamespace
from typing import Any

_FILES = (
    "attr_value", "config", "function", "graph", "node_def", "op_def", "rewriter_config", "tensor", "tensor_shape", "types",
    "versions",
)  # fmt: skip


@functools.cache
def protos() -> Any:
    """The message classes and the values of enumerations, as attributes."""
    try:
        modules = [importlib.import_module(f"tensorboard.compat.proto.{name}_pb2") for name in _FILES]
    except ImportError as error:
        raise ImportError(
            "GraphDef and the other graph messages need TensorBoard, which defines them: pip install 'headrace[summary]'"
        ) from error
    names: dict[str, Any] = {}
    for module in modules:
        names.update({name: getattr(module, name) for name in module.DESCRIPTOR.message_types_by_name})
        for enumeration in module.DESCRIPTOR.enum_types_by_name.values():
            names.update({value.name: value.number for value in enumeration.values})
    return SimpleNamespace(**names)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(protos(), name)
