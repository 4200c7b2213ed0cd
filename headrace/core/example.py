"""Examples: TF1's Example and SequenceExample as protocol buffers, and reading what encoded ones hold.

Owns the description of the messages (``tf.train.Example`` ...), from which protobuf makes the classes when one is first asked
for.  Does not know files (``record``) nor how features become tensors (the parsing ops).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

KINDS = ("bytes_list", "float_list", "int64_list")  # by field number, from 1
_BYTES, _FLOAT, _INT64, _STRING, _MESSAGE = 12, 2, 3, 9, 11  # protobuf's numbers for types of fields
_OPTIONAL, _REPEATED = 1, 3
_FEW = 64  # fewer numbers go faster through a list; more, through protobuf's buffer
_DTYPES = {"float_list": np.float32, "int64_list": np.int64}

# The fields of each message in the order of their numbers: (name, type), a list of it, or a map to it from strings.
_MESSAGES: dict[str, dict[str, Any]] = {
    "BytesList": {"value": [_BYTES]},
    "FloatList": {"value": [_FLOAT]},
    "Int64List": {"value": [_INT64]},
    "Feature": {"bytes_list": "BytesList", "float_list": "FloatList", "int64_list": "Int64List"},
    "Features": {"feature": {str: "Feature"}},
    "FeatureList": {"feature": ["Feature"]},
    "FeatureLists": {"feature_list": {str: "FeatureList"}},
    "Example": {"features": "Features"},
    "SequenceExample": {"context": "Features", "feature_lists": "FeatureLists"},
}


NAMES = frozenset(_MESSAGES)  # of the message classes


def __getattr__(name: str) -> Any:
    if name in _MESSAGES:
        return messages()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def messages() -> dict[str, Any]:
    """The message classes by name.  They are in a pool of their own, so that an installed TensorFlow's do not clash with them."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError("tf.train.Example and its kin need protobuf: pip install protobuf") from error
    file = descriptor_pb2.FileDescriptorProto(name="headrace/example.proto", package="tensorflow", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, field_type) in enumerate(fields.items(), 1):
            _add_field(message, field, number, field_type)
        if name == "Feature":
            message.oneof_decl.add(name="kind")
            for one in message.field:
                one.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{n}")) for n in _MESSAGES}
    for one in classes.values():
        one.__module__ = __name__  # where pickle finds it
    return classes


def _add_field(message: Any, name: str, number: int, field_type: Any) -> None:
    label = _REPEATED if isinstance(field_type, (list, dict)) else _OPTIONAL
    if isinstance(field_type, dict):
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _add_field(entry, "key", 1, _STRING)
        _add_field(entry, "value", 2, field_type[str])
        field_type = f"{message.name}.{entry.name}"
    elif isinstance(field_type, list):
        (field_type,) = field_type
    field = message.field.add(name=name, number=number, label=label)
    if isinstance(field_type, str):
        field.type, field.type_name = _MESSAGE, f".tensorflow.{field_type}"
    else:
        field.type = field_type


# ---- reading


def _decoded(name: str, data: bytes) -> Any:
    """The message in ``data``; ValueError if there is none."""
    decode, decode_error = _decoder(name)
    try:
        return decode(data)
    except decode_error as error:
        raise ValueError(str(error)) from None


@functools.cache
def _decoder(name: str) -> tuple[Callable[[bytes], Any], type[Exception]]:
    from google.protobuf.message import DecodeError

    return messages()[name].FromString, DecodeError


def read_all_features(batch: Sequence[bytes]) -> list[Mapping[str, Any]]:
    """The features of encoded Examples, each by name."""
    decode, decode_error = _decoder("Example")
    try:
        return [decode(data).features.feature for data in batch]
    except decode_error as error:
        raise ValueError(str(error)) from None


def read_features(data: bytes) -> Mapping[str, Any]:
    """The features of an encoded Example, or of the context of a SequenceExample, by name."""
    features: Mapping[str, Any] = _decoded("Example", data).features.feature
    return features


def read_feature_lists(data: bytes) -> dict[str, Any]:
    """The features of each step of an encoded SequenceExample, by name."""
    lists = _decoded("SequenceExample", data).feature_lists.feature_list
    return {name: steps.feature for name, steps in lists.items()}


def read_feature(feature: Any) -> tuple[str | None, Any]:
    """(kind, values) of one feature, an array or a list of bytes; (None, ()) if it holds none."""
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None, ()
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        return kind, list(values)
    return kind, np.array(values[:] if len(values) < _FEW else values, _DTYPES[kind])


def from_json(text: bytes) -> bytes:
    """The encoded Example that protobuf's JSON stands for; ValueError if it is none."""
    example = messages()["Example"]()
    from google.protobuf import json_format

    try:
        encoded: bytes = json_format.Parse(text, example).SerializeToString(deterministic=True)
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    return encoded
