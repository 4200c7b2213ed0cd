"""The base of config objects: a `Message` has named fields whose values are checked when they are set.

Owns the checks, the error messages, which end with the user's line, and the helpers that protocol buffers have (CopyFrom,
MergeFrom, HasField ...); encoding and descriptors are in `message_proto`.
Knows no particular message; those are in `config`.

A message class lists its fields as annotations with defaults; the annotation decides what may be assigned:

    bool, int, float, str, an IntEnum     checked and converted on assignment
    Literal[...]                          one of the values listed
    another message                       there from the start: `config.gpu_options.allow_growth = True`
    list[X], dict[str, int]               checked containers
    Any                                   not looked at
"""

from __future__ import annotations

import copy
import difflib
import enum
import numbers
import typing
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, Literal, SupportsIndex, TypeVar, dataclass_transform

import numpy as np

from headrace.core.message_proto import AsProto, proto_class
from headrace.core.source import at

__all__ = ["MapField", "Message", "RepeatedField", "nested"]

T = TypeVar("T")


class _FieldType:
    """What a field accepts: `convert` checks a value, `default` makes a fresh one."""

    def __init__(self, owner: str, name: str, accepts: Any, initial: Any = None, is_element: bool = False) -> None:
        self.where = f"{owner}.{name}"
        self.accepts = accepts
        self.initial = initial
        self.is_element = is_element
        self.is_message = isinstance(accepts, type) and issubclass(accepts, Message)
        self.is_list = typing.get_origin(accepts) is list
        self.is_dict = typing.get_origin(accepts) is dict
        if self.is_list:
            self.items = _FieldType(owner, f"{name}[]", typing.get_args(accepts)[0], is_element=True)
        if self.is_dict:
            key, value = typing.get_args(accepts)
            self.keys = _FieldType(owner, f"{name} key", key, is_element=True)
            self.items = _FieldType(owner, f"{name}[]", value, is_element=True)

    def __deepcopy__(self, memo: object) -> _FieldType:
        return self  # shared by all objects of a class and never changed

    def default(self) -> Any:
        if self.is_message:
            return self.accepts()
        if self.is_list:
            return RepeatedField(self.items)
        if self.is_dict:
            return MapField(self.keys, self.items)
        return self.initial

    def convert(self, value: Any) -> Any:
        if self.accepts is Any:
            return value
        if value is None and not self.is_element:
            return self.default()  # None leaves a field unset, as in protocol buffers
        if self.is_message:
            return self._message(value)
        if self.is_list:
            if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
                return RepeatedField(self.items, value)
            raise self._wrong(value, "a sequence")
        if self.is_dict:
            if isinstance(value, Mapping):
                return MapField(self.keys, self.items, value)
            raise self._wrong(value, "a mapping")
        if typing.get_origin(self.accepts) is Literal:
            return self._choice(value)
        return self._enum(value) if issubclass(self.accepts, enum.IntEnum) else self._scalar(value)

    def _message(self, value: Any) -> Any:
        if isinstance(value, self.accepts):
            return copy.deepcopy(value)
        if isinstance(value, Mapping):
            return self.accepts(**value)
        raise self._wrong(value, f"{self.accepts.__name__} or a mapping of its fields")

    def _choice(self, value: Any) -> Any:
        choices = typing.get_args(self.accepts)
        if value not in choices:
            raise ValueError(f"{self.where} received {value!r}; accepted are {', '.join(map(repr, choices))} {at()}")
        return value

    def _enum(self, value: Any) -> Any:
        try:
            return self.accepts[value] if isinstance(value, str) else self.accepts(value)
        except (KeyError, ValueError):
            names = ", ".join(f"{m.name}={m.value}" for m in self.accepts)
            raise ValueError(f"{self.where} received {value!r}; accepted are {names} {at()}") from None

    def _scalar(self, value: Any) -> Any:
        integral = isinstance(value, (numbers.Integral, np.bool_))
        if self.accepts in (bool, int) and integral:
            return self.accepts(value)
        if self.accepts is float and (integral or isinstance(value, (numbers.Real, np.floating))):
            return float(value)
        if self.accepts is str and isinstance(value, (str, bytes)):
            return value if isinstance(value, str) else value.decode()
        raise self._wrong(value, self.accepts.__name__)

    def _wrong(self, value: Any, accepted: str) -> TypeError:
        received = f"{value!r} of type {type(value).__name__}"
        return TypeError(f"{self.where} received {received}; accepted is {accepted} {at()}")


class RepeatedField(list[T], Generic[T]):
    """A list that checks what is put into it."""

    def __init__(self, items: _FieldType, values: Iterable[Any] = ()) -> None:
        self._items = items
        super().__init__(items.convert(v) for v in values)

    def add(self, **fields: Any) -> T:
        """Appends a new message with these fields and returns it."""
        if not self._items.is_message:
            raise TypeError(f"{self._items.where} holds no messages: use append() {at()}")
        super().append(self._items.accepts(**fields))
        return self[-1]

    def append(self, value: Any) -> None:
        super().append(self._items.convert(value))

    def extend(self, values: Iterable[Any]) -> None:
        super().extend([self._items.convert(v) for v in values])

    def insert(self, index: SupportsIndex, value: Any) -> None:
        super().insert(index, self._items.convert(value))

    def __iadd__(self, values: Iterable[Any]) -> RepeatedField[T]:  # type: ignore[override,misc]
        self.extend(values)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        several = isinstance(index, slice)
        super().__setitem__(index, [self._items.convert(v) for v in value] if several else self._items.convert(value))

    def __reduce__(self) -> tuple[Any, ...]:
        return RepeatedField, (self._items, list(self))


class MapField(dict[str, T], Generic[T]):
    """A dict that checks what is put into it."""

    def __init__(self, keys: _FieldType, items: _FieldType, values: Mapping[Any, Any] | None = None) -> None:
        self._keys = keys
        self._items = items
        super().__init__()
        self.update(values or {})

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(self._keys.convert(key), self._items.convert(value))

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def GetEntryClass(self) -> Any:
        """The message of one key and its value, which text_format reads."""
        owner, _, name = self._keys.where.removesuffix(" key").rpartition(".")
        return getattr(proto_class(owner)(), name).GetEntryClass()

    def __ior__(self, values: Any) -> MapField[T]:  # type: ignore[override,misc]
        self.update(values)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return MapField, (self._keys, self._items, dict(self))


def nested() -> Any:
    """The default of a field that is a message, list or dict: a fresh empty one in every object."""
    return None


@dataclass_transform(kw_only_default=True)
class Message(AsProto):
    """The base of all config objects: named fields with checked values, and the helpers of a protocol buffer.

    Assigning a message, list or dict copies it. Equal when all fields are equal; mutable, so not hashable.
    """

    _field_types: ClassVar[dict[str, _FieldType]] = {}

    def __init_subclass__(cls) -> None:
        hints = typing.get_type_hints(cls, localns=dict(vars(cls)))
        cls._field_types = {
            name: _FieldType(cls.__qualname__, name, accepts, cls.__dict__.get(name))
            for name, accepts in hints.items()
            if typing.get_origin(accepts) is not ClassVar
        }
        for name in cls._field_types:
            delattr(cls, name)  # the defaults live in the field types

    def __init__(self, **fields: Any) -> None:
        for name, field_type in self._field_types.items():
            object.__setattr__(self, name, field_type.default())
        for name, value in fields.items():
            self._field_type(name, ValueError)
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, self._field_type(name, AttributeError).convert(value))

    @classmethod
    def _field_type(cls, name: str, error: type[Exception]) -> _FieldType:
        field_type = cls._field_types.get(name)
        if field_type is None:
            close = difflib.get_close_matches(name, cls._field_types, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise error(
                f"{cls.__qualname__} has no field {name!r}.{hint} Its fields: {', '.join(cls._field_types)} {at()}"
            )
        return field_type

    def HasField(self, name: str) -> bool:
        """Whether the field differs from its default."""
        field_type = self._field_type(name, ValueError)
        return bool(getattr(self, name) != field_type.default())

    def set_fields(self) -> list[tuple[str, Any]]:
        """The (name, value) of every field that differs from its default."""
        return [(name, getattr(self, name)) for name in self._field_types if self.HasField(name)]

    def ClearField(self, name: str) -> None:
        """Sets one field back to its default."""
        object.__setattr__(self, name, self._field_type(name, ValueError).default())

    def Clear(self) -> None:
        """Sets every field back to its default."""
        for name in self._field_types:
            self.ClearField(name)

    def MergeFrom(self, other: Message) -> None:
        """Takes over the fields set in `other`; messages merge, lists are appended, dicts updated."""
        self._check_same(other)
        for name, value in other.set_fields():
            field_type, mine = self._field_types[name], getattr(self, name)
            if field_type.is_message:
                mine.MergeFrom(value)
            elif field_type.is_list:
                mine.extend(value)
            elif field_type.is_dict:
                mine.update(value)
            else:
                setattr(self, name, value)

    def CopyFrom(self, other: Message) -> None:
        """Becomes equal to `other`."""
        self._check_same(other)
        if other is not self:
            self.Clear()
            self.MergeFrom(other)

    def _check_same(self, other: Message) -> None:
        if type(other) is not type(self):
            received = f"{other!r} of type {type(other).__name__}"
            raise TypeError(f"Expected a {type(self).__qualname__}; received {received} {at()}")

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{n}={v!r}' for n, v in self.set_fields())})"
