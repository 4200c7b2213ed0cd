"""TensorFlow's messages (GraphDef, Summary, Event and their kin), which TensorBoard ships: imported when needed.

Examples are not among them (``example``), nor is what configures a session (``config``), which needs no protobuf.
"""

from __future__ import annotations

import functools
import importlib
from types import SimpleNamespace
from typing import Any

_FILES = (
    "attr_value", "cluster", "config", "cost_graph", "event", "function", "graph", "histogram", "meta_graph", "node_def",
    "op_def", "rewriter_config", "step_stats", "summary", "tensor", "tensor_shape", "types", "variable", "versions",
)  # fmt: skip

_STRING, _INT32 = 9, 5  # protobuf's numbers for types of fields
_SERVER_FIELDS = {
    "cluster": "ClusterDef", "job_name": _STRING, "task_index": _INT32, "default_session_config": "ConfigProto",
    "protocol": _STRING,
}  # fmt: skip


@functools.cache
def protos() -> Any:
    """The message classes and the values of enumerations, as attributes."""
    try:
        modules = [importlib.import_module(f"tensorboard.compat.proto.{name}_pb2") for name in _FILES]
    except ImportError as error:
        raise ImportError(
            "GraphDef, Summary, Event and TensorFlow's other messages need TensorBoard, which defines them: "
            "pip install 'headrace[summary]'"
        ) from error
    names: dict[str, Any] = {}
    for module in modules:
        names.update({name: getattr(module, name) for name in module.DESCRIPTOR.message_types_by_name})
        for enumeration in module.DESCRIPTOR.enum_types_by_name.values():
            names.update({value.name: value.number for value in enumeration.values})
    return SimpleNamespace(**names, ServerDef=_server_def())


def _server_def() -> Any:
    """The message ServerDef, which TensorBoard does not ship."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="headrace/server_def.proto", package="headrace", syntax="proto3")
    file.dependency.extend(f"tensorboard/compat/proto/{name}.proto" for name in ("cluster", "config"))
    message = file.message_type.add(name="ServerDef")
    for number, (name, field_type) in enumerate(_SERVER_FIELDS.items(), 1):
        field = message.field.add(name=name, number=number, label=1)
        if isinstance(field_type, str):
            field.type, field.type_name = 11, f".tensorboard.{field_type}"
        else:
            field.type = field_type
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("headrace.ServerDef"))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(protos(), name)
