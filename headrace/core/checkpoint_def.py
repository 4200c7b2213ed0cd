"""SaverDef and CheckpointState: the protocol buffers of savers and of the file ``checkpoint``.

The descriptions are TensorFlow's, so that each can read what the other has encoded.  The messages are in a pool of their own,
where they do not clash with those of an installed TensorFlow; protobuf is imported when one is first asked for.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

NAMES = ("CheckpointState", "SaverDef")
LEGACY, V1, V2 = 0, 1, 2
_DOUBLE, _FLOAT, _INT32, _BOOL, _STRING, _ENUM = 1, 2, 5, 8, 9, 14  # protobuf's numbers for types of fields
_OPTIONAL, _REPEATED = 1, 3
# Each in the order of their numbers, from 1.
_FIELDS = {
    "SaverDef": {
        "filename_tensor_name": (_STRING, _OPTIONAL),
        "save_tensor_name": (_STRING, _OPTIONAL),
        "restore_op_name": (_STRING, _OPTIONAL),
        "max_to_keep": (_INT32, _OPTIONAL),
        "sharded": (_BOOL, _OPTIONAL),
        "keep_checkpoint_every_n_hours": (_FLOAT, _OPTIONAL),
        "version": (_ENUM, _OPTIONAL),
    },
    "CheckpointState": {
        "model_checkpoint_path": (_STRING, _OPTIONAL),
        "all_model_checkpoint_paths": (_STRING, _REPEATED),
        "all_model_checkpoint_timestamps": (_DOUBLE, _REPEATED),
        "last_preserved_timestamp": (_DOUBLE, _OPTIONAL),
    },
}


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return getattr(messages(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def messages() -> Any:
    """The message classes, as attributes."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="headrace/checkpoint.proto", package="tensorflow", syntax="proto3")
    for message_name, fields in _FIELDS.items():
        message = file.message_type.add(name=message_name)
        for number, (name, (field_type, label)) in enumerate(fields.items(), 1):
            field = message.field.add(name=name, number=number, type=field_type, label=label)
            if field_type == _ENUM:
                field.type_name = ".tensorflow.SaverDef.CheckpointFormatVersion"
    versions = file.message_type[0].enum_type.add(name="CheckpointFormatVersion")
    for name, number in (("LEGACY", LEGACY), ("V1", V1), ("V2", V2)):
        versions.value.add(name=name, number=number)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = {}
    for message_name in _FIELDS:
        message_class = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{message_name}"))
        message_class.__module__ = __name__  # where pickle finds it
        classes[message_name] = message_class
    return SimpleNamespace(**classes)
