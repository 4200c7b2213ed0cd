"""QueueRunnerDef: the protocol buffer that names the nodes of a queue runner.  TensorBoard does not ship it, so it is made here.

The description is TensorFlow's, so that each can read what the other has encoded.  The message is in a pool of its own, where it
does not clash with that of an installed TensorFlow.
"""

from __future__ import annotations

import functools
from typing import Any

from headrace.core import errors

_STRING, _ENUM = 9, 14  # protobuf's numbers for types of fields
_OPTIONAL, _REPEATED = 1, 3
# In the order of their numbers, from 1.
_FIELDS = {
    "queue_name": (_STRING, _OPTIONAL),
    "enqueue_op_name": (_STRING, _REPEATED),
    "close_op_name": (_STRING, _OPTIONAL),
    "cancel_op_name": (_STRING, _OPTIONAL),
    "queue_closed_exception_types": (_ENUM, _REPEATED),
}
_CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "QueueRunnerDef":
        return queue_runner_def_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def queue_runner_def_class() -> Any:
    """The message class; protobuf is imported when it is first asked for."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    codes = descriptor_pb2.FileDescriptorProto(
        name="headrace/error_codes.proto", package="tensorflow.error", syntax="proto3"
    )
    enumeration = codes.enum_type.add(name="Code")
    for name in _CODES:
        enumeration.value.add(name=name, number=getattr(errors, name))
    file = descriptor_pb2.FileDescriptorProto(
        name="headrace/queue_runner.proto", package="tensorflow", syntax="proto3", dependency=[codes.name]
    )
    message = file.message_type.add(name="QueueRunnerDef")
    for number, (name, (field_type, label)) in enumerate(_FIELDS.items(), 1):
        field = message.field.add(name=name, number=number, type=field_type, label=label)
        if field_type == _ENUM:
            field.type_name = ".tensorflow.error.Code"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(codes)
    pool.Add(file)
    message_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.QueueRunnerDef"))
    message_class.__module__ = __name__  # where pickle finds it
    return message_class
