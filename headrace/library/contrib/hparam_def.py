"""HParamDef: the protocol buffer of hyperparameters, as TensorFlow describes it.

It is in a pool of its own, where it does not clash with an installed TensorFlow's; protobuf is imported when it is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from headrace.core.source import at

_TYPES = {"Bytes": 12, "Float": 2, "Int64": 3, "Bool": 8}  # protobuf's numbers for types of fields
_OPTIONAL, _REPEATED, _MESSAGE = 1, 3, 11
_FIELDS = {"int64": (1, 4), "float": (2, 5), "bytes": (3, 6), "bool": (7, 8)}  # of one value, and of a list


@functools.cache
def hparam_def() -> Any:
    """The class of the message."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="headrace/hparam.proto", package="tensorflow", syntax="proto3")
    message = file.message_type.add(name="HParamDef")
    for title, number in _TYPES.items():
        message.nested_type.add(name=f"{title}List").field.add(
            name="value",
            number=1,
            type=number,
            label=_REPEATED,  # type: ignore[arg-type]
        )
    one = message.nested_type.add(name="HParamType")
    one.oneof_decl.add(name="kind")
    for title, (single, several) in _FIELDS.items():
        one.field.add(
            name=f"{title}_value",
            number=single,
            type=_TYPES[title.capitalize()],
            label=_OPTIONAL,
            oneof_index=0,  # type: ignore[arg-type]
        )
        one.field.add(
            name=f"{title}_list", number=several, type=_MESSAGE, label=_OPTIONAL, oneof_index=0,
            type_name=f".tensorflow.HParamDef.{title.capitalize()}List",
        )  # fmt: skip
    entry = message.nested_type.add(name="HparamEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=9, label=_OPTIONAL)
    entry.field.add(
        name="value", number=2, type=_MESSAGE, label=_OPTIONAL, type_name=".tensorflow.HParamDef.HParamType"
    )
    message.field.add(
        name="hparam", number=1, type=_MESSAGE, label=_REPEATED, type_name=".tensorflow.HParamDef.HparamEntry"
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.HParamDef"))


def to_message(values: Mapping[str, Any]) -> Any:
    """The values as an HParamDef; functions and None are left out."""
    message = hparam_def()()
    for name, value in values.items():
        if callable(value) or value is None:
            continue
        title = _title(name, value[0] if isinstance(value, list) else value)
        one = message.hparam[name]
        if isinstance(value, list):
            getattr(one, f"{title}_list").value.extend([_plain(item) for item in value])
        else:
            setattr(one, f"{title}_value", _plain(value))
    return message


def _title(name: str, value: Any) -> str:
    for title, types in (("bool", bool), ("int64", int), ("float", float), ("bytes", (str, bytes))):
        if isinstance(value, types):  # type: ignore[arg-type]
            return title
    raise ValueError(f"Unsupported hparam type: {name!r} is {value!r}; bool, int, float and str have a message {at()}")


def _plain(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def from_message(message: Any) -> dict[str, Any]:
    """The values of an HParamDef, TensorFlow's own or ours."""
    if not hasattr(message, "hparam"):
        raise TypeError(f"hparam_def must be an HParamDef message, got {message!r} {at()}")
    values: dict[str, Any] = {}
    for name, value in message.hparam.items():
        field = value.WhichOneof("kind")
        if field is None:
            raise ValueError(f"the message has no value for {name!r} {at()}")
        content = getattr(value, field)
        values[name] = [_text(v) for v in content.value] if field.endswith("_list") else _text(content)
    return values


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
