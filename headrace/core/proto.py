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
    "op_def", "rewriter_config", "step_stats", "summary", "tensor", "tensor_shape", "tfprof_log", "types", "variable", "versions",
)  # fmt: skip

_STRING, _INT32, _INT64, _MESSAGE = 9, 5, 3, 11  # protobuf's numbers for types of fields
_OPTIONAL, _REPEATED = 1, 3
# Messages that TensorBoard does not ship: their fields in the order of their numbers, from 1.  A name is that of a message.
_OTHERS: dict[str, dict[str, tuple[int | str, int]]] = {
    "ServerDef": {
        "cluster": ("ClusterDef", _OPTIONAL), "job_name": (_STRING, _OPTIONAL), "task_index": (_INT32, _OPTIONAL),
        "default_session_config": ("ConfigProto", _OPTIONAL), "protocol": (_STRING, _OPTIONAL),
    },
    "SavedModel": {"saved_model_schema_version": (_INT64, _OPTIONAL), "meta_graphs": ("MetaGraphDef", _REPEATED)},
}  # fmt: skip


@functools.cache
def protos() -> Any:
    """The message classes and the values of enumerations, as attributes.

    Returns:
      A namespace with a class for each message.

    >>> from headrace.core.proto import protos
    >>> protos().GraphDef.__name__
    'GraphDef'
    """
    try:
        modules = [importlib.import_module(f"tensorboard.compat.proto.{name}_pb2") for name in _FILES]
    except ImportError as error:
        raise ImportError(
            "GraphDef, Summary, Event and TensorFlow's other messages need TensorBoard, which defines them: "
            "pip install tensorboard"
        ) from error
    names: dict[str, Any] = {}
    for module in modules:
        names.update({name: getattr(module, name) for name in module.DESCRIPTOR.message_types_by_name})
        for enumeration in module.DESCRIPTOR.enum_types_by_name.values():
            names.update({value.name: value.number for value in enumeration.values})
    return SimpleNamespace(**names, **_others())


def _others() -> dict[str, Any]:
    """The messages that TensorBoard does not ship."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="headrace/others.proto", package="headrace", syntax="proto3")
    file.dependency.extend(f"tensorboard/compat/proto/{name}.proto" for name in ("cluster", "config", "meta_graph"))
    for message_name, fields in _OTHERS.items():
        message = file.message_type.add(name=message_name)
        for number, (name, (field_type, label)) in enumerate(fields.items(), 1):
            field = message.field.add(name=name, number=number, label=label)
            if isinstance(field_type, str):
                field.type, field.type_name = _MESSAGE, f".tensorboard.{field_type}"
            else:
                field.type = field_type
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    find = pool.FindMessageTypeByName
    return {name: message_factory.GetMessageClass(find(f"headrace.{name}")) for name in _OTHERS}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(protos(), name)
