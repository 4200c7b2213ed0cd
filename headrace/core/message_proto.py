"""Config objects as protocol buffers: what ``json_format``, ``text_format`` and ``SerializeToString`` need of them.

The messages behind them are TensorBoard's (`proto`), imported when one of these methods is first called: a session is configured
without them.  Fields that are ours alone (``ConfigProto.compile`` ...) are not in them.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from headrace.core.proto import protos
from headrace.core.source import at


def proto_class(qualified_name: str) -> Any:
    """The protocol buffer of this name, ``ConfigProto.Experimental`` say."""
    return functools.reduce(getattr, qualified_name.split("."), protos())


class _Descriptor:
    def __get__(self, instance: object, owner: type) -> Any:
        return proto_class(owner.__qualname__).DESCRIPTOR


class AsProto:
    """The half of a config object that is a protocol buffer; the other half is `message.Message`."""

    _field_types: ClassVar[dict[str, Any]] = {}
    DESCRIPTOR: ClassVar[Any] = _Descriptor()

    def set_fields(self) -> list[tuple[str, Any]]:
        """The (name, value) of every field that differs from its default."""
        raise NotImplementedError

    def as_proto(self) -> Any:
        """The protocol buffer with the same fields."""
        proto = proto_class(type(self).__qualname__)()
        for name, value in self.set_fields():
            if name in proto.DESCRIPTOR.fields_by_name:
                self._put(proto, name, value)
        return proto

    def _put(self, proto: Any, name: str, value: Any) -> None:
        field_type = self._field_types[name]
        if field_type.is_list:
            getattr(proto, name).extend([v.as_proto() if isinstance(v, AsProto) else v for v in value])
        elif field_type.is_dict:
            getattr(proto, name).update(value)
        elif field_type.is_message:
            getattr(proto, name).CopyFrom(value.as_proto())
        elif hasattr(value, "SerializeToString"):
            getattr(proto, name).ParseFromString(value.SerializeToString())
        elif field_type.accepts is Any:
            raise TypeError(f"{field_type.where} holds a {type(value).__name__}, which is not a protocol buffer {at()}")
        else:
            setattr(proto, name, value)

    def ListFields(self) -> list[tuple[Any, Any]]:
        """The (descriptor, value) of every field that differs from its default, in the order of their numbers."""
        fields: list[tuple[Any, Any]] = self.as_proto().ListFields()
        return fields

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        """The fields, encoded."""
        data: bytes = self.as_proto().SerializeToString(deterministic=deterministic)
        return data

    def ByteSize(self) -> int:
        """The length of the encoded fields."""
        return len(self.SerializeToString())

    def MergeFromString(self, serialized: bytes) -> int:
        """Takes over encoded fields."""
        self._take(proto_class(type(self).__qualname__).FromString(serialized))
        return len(serialized)

    def ParseFromString(self, serialized: bytes) -> int:
        """Becomes what the encoded fields say."""
        self.Clear()
        return self.MergeFromString(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> Any:
        """A new object with these encoded fields."""
        message = cls()
        message.MergeFromString(serialized)
        return message

    def Clear(self) -> None:
        """Sets every field back to its default."""
        raise NotImplementedError

    def _take(self, proto: Any) -> None:
        """Takes over the fields of a protocol buffer, except those that came after TF1."""
        for field, value in proto.ListFields():
            field_type = self._field_types.get(field.name)
            if field_type is None:
                continue
            if field_type.is_message:
                getattr(self, field.name)._take(value)
            elif field_type.is_list and field_type.items.is_message:
                for one in value:
                    getattr(self, field.name).add()._take(one)
            elif field_type.is_list:
                getattr(self, field.name).extend(value)
            elif field_type.is_dict:
                getattr(self, field.name).update(value)
            else:
                setattr(self, field.name, value)

    def SetInParent(self) -> None:
        """Nothing: fields that are messages are there from the start."""
