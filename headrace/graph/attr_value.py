"""Attributes as AttrValue messages and back.  The signature of the op says which field of the message holds the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes, tensor_proto
from headrace.core.dtypes import DType
from headrace.core.proto import protos
from headrace.core.shape import TensorShape

_FIELDS = {"bool": "b", "int": "i", "float": "f", "string": "s", "type": "type", "shape": "shape", "tensor": "tensor"}
_WORDS = {"b": "bool", "i": "int", "f": "float", "s": "string", "type": "type", "shape": "shape", "tensor": "tensor"}
RESOURCE = dtypes.resource
LIMIT = 1 << 31  # bytes that protocol buffers can hold
# Where TensorFlow writes single numbers, and all bools and complex numbers: others are raw bytes.
_BY_VALUE = {
    "float32": "float_val", "float64": "double_val", "float16": "half_val", "bfloat16": "half_val", "int64": "int64_val",
    "uint32": "uint32_val", "uint64": "uint64_val", "bool": "bool_val", "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    **dict.fromkeys(
        ("int8", "int16", "int32", "uint8", "uint16", "qint8", "quint8", "qint16", "quint16", "qint32"), "int_val"
    ),
}  # fmt: skip


def encode(value: Any, kind: str) -> Any:
    """The value as an AttrValue.  ``kind`` is that of the signature; for "any" the type of the value decides."""
    attr_value = protos().AttrValue()
    if kind == "any":
        kind = _kind_of(value)
    if kind == "func":
        attr_value.func.name = value
    elif kind == "dict":
        attr_value.func.name = "dict"
        for key, item in value.items():
            attr_value.func.attr[key].CopyFrom(encode(item, "any"))
    elif kind.startswith("list("):
        field = _FIELDS[kind[5:-1]]
        attr_value.list.SetInParent()
        for item in value or ():
            _put(attr_value.list, field, item, True)
    elif value is None and kind == "shape":
        attr_value.shape.unknown_rank = True
    else:
        _put(attr_value, _FIELDS[kind], value, False)
    return attr_value


def _kind_of(value: Any) -> str:
    if isinstance(value, dict):
        return "dict"
    if isinstance(value, (list, tuple)):
        return f"list({_kind_of(value[0]) if len(value) else 'int'})"
    for types, kind in (((bool, np.bool_), "bool"), ((int, np.integer), "int"), ((float, np.floating), "float"),
                        ((str, bytes), "string"), (DType, "type"), (TensorShape, "shape"), (np.ndarray, "tensor")):  # fmt: skip
        if isinstance(value, types):
            return kind
    raise TypeError(f"{value!r} cannot be written into a GraphDef")


def _put(target: Any, field: str, value: Any, repeated: bool) -> None:
    if field == "s":
        value = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    elif field == "type":
        value = value.as_datatype_enum
    elif field in ("shape", "tensor"):
        message = getattr(target, field).add() if repeated else getattr(target, field)
        message.CopyFrom(TensorShape(value).as_proto() if field == "shape" else tensor(value))
        return
    if repeated:
        getattr(target, field).append(value)
    else:
        setattr(target, field, value)


def tensor(array: Any, dtype: DType | None = None, shape: Any = None) -> Any:
    """An array as a TensorProto; a constant of bfloat16 is held as float32.

    In a larger ``shape`` the last element stands for those that are missing.
    """
    element_type = dtype or (dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype))
    array = np.asarray(array)
    if element_type == dtypes.bfloat16 and array.dtype != np.uint16:
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32).reshape(array.shape)
        array = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if element_type == dtypes.string:
        items = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1)]
        array = np.array([*items, None], dtype=object)[:-1].reshape(array.shape)
    if array.nbytes >= LIMIT:
        raise ValueError(f"Cannot create a tensor proto whose content is larger than 2GB: it has {array.nbytes} bytes")
    field = _BY_VALUE.get(element_type.name)
    message = protos().TensorProto()
    if field is not None and (array.size == 1 or shape is not None or element_type.is_complex or element_type.is_bool):
        message.dtype = element_type.as_datatype_enum
        getattr(message, field).extend(_numbers(array, element_type))
    else:
        message.ParseFromString(tensor_proto.encode(array, element_type))
    message.tensor_shape.CopyFrom(TensorShape(array.shape if shape is None else shape).as_proto())
    return message


def _numbers(array: Any, dtype: DType) -> list[Any]:
    """The values of an array as the fields of a TensorProto hold them."""
    flat = array.reshape(-1)
    if flat.dtype.names:
        flat = flat.view(flat.dtype[0])
    if dtype.is_complex:
        flat = flat.view(np.float32 if dtype == dtypes.complex64 else np.float64)
    elif dtype == dtypes.float16:
        flat = flat.view(np.uint16)
    return list(flat.tolist())


# ---- decoding


def decode(value: Any, kind: str, name: str) -> Any:
    """The value of a node's attribute of this kind; ValueError if it holds another kind of value."""
    which = value.WhichOneof("value")
    if kind == "any":
        return _decode_any(value, which)
    expected = "func" if kind == "func" else "list" if kind.startswith("list(") else _FIELDS[kind]
    if which != expected and not (which is None and expected == "list"):
        received = "no value" if which is None else f"type '{_word(value, which)}'"
        raise ValueError(f"AttrValue had value with {received} when '{kind}' expected\n\t for attr '{name}'")
    if kind == "func":
        return value.func.name
    if expected == "list":
        field = _FIELDS[kind[5:-1]]
        if field != "type" or not len(value.list.type):
            others = [f for f in _FIELDS.values() if f != field and len(getattr(value.list, f))]
            if others:
                raise ValueError(
                    f"AttrValue had value with type 'list({_WORDS[others[0]]})' when '{kind}' expected\n\t for attr '{name}'"
                )
        return tuple(_get(item, field) for item in getattr(value.list, field))
    return _get(getattr(value, which), which)


def _word(value: Any, which: str) -> str:
    if which == "list":
        return f"list({next((w for f, w in _WORDS.items() if len(getattr(value.list, f))), 'int')})"
    return _WORDS.get(which, which)


def _decode_any(value: Any, which: str) -> Any:
    if which == "func":
        return {k: _decode_any(v, v.WhichOneof("value")) for k, v in value.func.attr.items()}
    if which == "list":
        for field in _WORDS:
            items = getattr(value.list, field)
            if len(items):
                return tuple(_get(v, field) for v in items)
        return ()
    return _get(getattr(value, which), which)


def _get(item: Any, field: str) -> Any:
    if field == "s":
        return item.decode("utf-8", "surrogateescape")
    if field == "type":
        return dtypes.as_dtype(item)
    if field == "shape":
        return TensorShape(item)
    if field == "tensor":
        return array(item)
    return item


def array(message: Any) -> Any:
    """The array in a TensorProto; bfloat16 as float32."""
    element_type, values = tensor_proto.decode(message.SerializeToString())
    if element_type == dtypes.bfloat16:
        values = (values.astype(np.uint32) << 16).view(np.float32).reshape(values.shape)
    return values
