"""Examples: TF1's Example and SequenceExample as plain Python objects, and their wire format.

Owns the message classes (``tf.train.Example`` ...) and ``read_features``, which takes an encoded message apart without
building objects.  Does not know files (``record``) nor how features become tensors (the parsing ops).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, SupportsIndex

import numpy as np

from headrace.core import wire

KINDS = ("bytes_list", "float_list", "int64_list")  # by field number, from 1


class _Values(list[Any]):
    """A list that converts and checks what is put into it."""

    def __init__(self, convert: Callable[[Any], Any], values: Iterable[Any] = ()) -> None:
        self._convert = convert
        super().__init__(map(convert, values))

    def append(self, value: Any) -> None:
        super().append(self._convert(value))

    def extend(self, values: Iterable[Any]) -> None:
        super().extend(list(map(self._convert, values)))

    def insert(self, index: SupportsIndex, value: Any) -> None:
        super().insert(index, self._convert(value))

    def __iadd__(self, values: Iterable[Any]) -> _Values:  # type: ignore[misc]
        self.extend(values)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        several = isinstance(index, slice)
        super().__setitem__(index, list(map(self._convert, value)) if several else self._convert(value))

    def __reduce__(self) -> Any:
        return list, (list(self),)


class _Message:
    """What the messages here share with protocol buffers."""

    __slots__ = ()

    def _encode(self) -> bytes:
        raise NotImplementedError

    def _merge(self, data: bytes) -> None:
        raise NotImplementedError

    def _lines(self, indent: str) -> Iterator[str]:
        raise NotImplementedError

    def Clear(self) -> None:
        self.__init__()  # type: ignore[misc]

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        return self._encode()

    def MergeFromString(self, serialized: bytes) -> int:
        try:
            self._merge(bytes(serialized))
        except ValueError as e:
            raise ValueError(f"Error parsing message: {e}") from None
        return len(serialized)

    def ParseFromString(self, serialized: bytes) -> int:
        self.Clear()
        return self.MergeFromString(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> Any:
        made = cls()
        made.MergeFromString(serialized)
        return made

    def CopyFrom(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(f"Expected a {type(self).__name__}, got {type(other).__name__}")
        if other is not self:
            self.ParseFromString(other.SerializeToString())

    def MergeFrom(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(f"Expected a {type(self).__name__}, got {type(other).__name__}")
        self._merge(other.SerializeToString())

    def ByteSize(self) -> int:
        return len(self._encode())

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> Any:
        """What makes two messages equal."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The text format of protocol buffers."""
        return "".join(f"{line}\n" for line in self._lines(""))

    __repr__ = __str__


# ---- values


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return bytes(value)
    raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: bytes")


def _float(value: Any) -> float:
    if isinstance(value, (numbers.Real, np.floating, np.integer, np.bool_)):
        with np.errstate(over="ignore"):
            return float(np.float32(value))
    raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: int, float")


def _int64(value: Any) -> int:
    if not isinstance(value, (numbers.Integral, np.bool_)):
        raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: int")
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"Value out of range: {number}")
    return number


class _List(_Message):
    """The values of one feature."""

    __slots__ = ("_value",)

    def __init__(self, value: Iterable[Any] = ()) -> None:
        self._value = _Values(_CONVERT[self._kind], value)

    @property
    def value(self) -> _Values:
        return self._value

    def _content(self) -> Any:
        return list(self._value)

    def _merge(self, data: bytes) -> None:
        found = decode_values(self._kind, data)
        list.extend(self._value, found if isinstance(found, list) else found.tolist())

    def _show(self, value: Any) -> str:
        return str(value)

    def _lines(self, indent: str) -> Iterator[str]:
        return (f"{indent}value: {self._show(v)}" for v in self._value)

    _kind: ClassVar[str]


class BytesList(_List):
    __slots__ = ()
    _kind = "bytes_list"

    def _encode(self) -> bytes:
        return b"".join(wire.field(1, v) for v in self._value)

    def _show(self, value: bytes) -> str:
        return f'"{escape(value)}"'


class FloatList(_List):
    __slots__ = ()
    _kind = "float_list"

    def _encode(self) -> bytes:
        return wire.field(1, np.array(self._value, "<f4").tobytes()) if self._value else b""

    def _show(self, value: float) -> str:
        return str(float(str(np.float32(value))))  # as few digits as tell the 32-bit number


class Int64List(_List):
    __slots__ = ()
    _kind = "int64_list"

    def _encode(self) -> bytes:
        return wire.field(1, wire.pack_int64(self._value)) if self._value else b""


_CONVERT: dict[str, Callable[[Any], Any]] = {"bytes_list": _bytes, "float_list": _float, "int64_list": _int64}
_LISTS: dict[str, type[_List]] = {"bytes_list": BytesList, "float_list": FloatList, "int64_list": Int64List}
_PLAIN = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'", ord("\\"): "\\\\"}


def escape(value: bytes) -> str:
    """Bytes as the text format writes them."""
    return "".join(_PLAIN.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in value)


def decode_values(kind: str, data: bytes) -> Any:
    """The values in an encoded list: a list of bytes, or an array; packed or not."""
    if kind == "float_list" and data[:1] == b"\n" and len(data) > 1 and data[1] == len(data) - 2 < 0x80:
        return np.frombuffer(data, "<f4", offset=2)  # the usual: one packed run
    found: list[Any] = []
    for number, wire_type, payload in wire.fields(data):
        if number != 1:
            continue
        if kind == "bytes_list":
            found.append(payload)
        elif kind == "float_list":
            found.append(np.frombuffer(payload, "<f4"))
        else:
            one = wire_type == wire.VARINT
            found.append(np.array([payload], np.uint64).astype(np.int64) if one else wire.unpack_int64(payload))
    if kind == "bytes_list":
        return found
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else np.zeros(0, np.float32 if kind == "float_list" else np.int64)


# ---- features


class Feature(_Message):
    """One of three lists; touching one (``feature.int64_list.value.append(1)``) makes it the one."""

    __slots__ = ("_held", "_kind")

    def __init__(self, bytes_list: Any = None, float_list: Any = None, int64_list: Any = None) -> None:
        self._kind: str | None = None
        self._held: dict[str, _List] = {}
        for kind, given in zip(KINDS, (bytes_list, float_list, int64_list), strict=True):
            if given is not None:
                self._set(kind, given)

    def _set(self, kind: str, given: Any) -> None:
        if isinstance(given, Mapping):
            given = _LISTS[kind](**given)
        if not isinstance(given, _LISTS[kind]):
            raise TypeError(f"Feature.{kind} must be a {_LISTS[kind].__name__}, got {type(given).__name__}")
        self._kind, self._held = kind, {kind: _LISTS[kind]()}
        self._held[kind].CopyFrom(given)

    def _get(self, kind: str) -> _List:
        return self._held.setdefault(kind, _LISTS[kind]())

    bytes_list = property(lambda self: self._get("bytes_list"))
    float_list = property(lambda self: self._get("float_list"))
    int64_list = property(lambda self: self._get("int64_list"))

    def WhichOneof(self, oneof_group: str = "kind") -> str | None:
        """The name of the list that is set."""
        filled = [kind for kind, held in self._held.items() if held.value]
        return filled[-1] if filled else self._kind

    def HasField(self, field_name: str) -> bool:
        return self.WhichOneof() == field_name

    def _content(self) -> Any:
        kind = self.WhichOneof()
        return kind, list(self._held[kind].value) if kind else None

    def _encode(self) -> bytes:
        kind = self.WhichOneof()
        return wire.field(KINDS.index(kind) + 1, self._held[kind]._encode()) if kind else b""

    def _merge(self, data: bytes) -> None:
        for number, _, payload in wire.fields(data):
            if 1 <= number <= len(KINDS):
                kind = KINDS[number - 1]
                if self._kind != kind:
                    self._held = {}
                self._kind = kind
                self._get(kind)._merge(payload)

    def _lines(self, indent: str) -> Iterator[str]:
        kind = self.WhichOneof()
        if kind:
            yield from _block(kind, self._held[kind], indent)


def _block(name: str, message: _Message, indent: str) -> Iterator[str]:
    yield f"{indent}{name} {{"
    yield from message._lines(indent + "  ")
    yield f"{indent}}}"


class _Map(dict[str, Any]):
    """Messages by name; looking up a name that is not there adds it, as protocol buffers do."""

    def __init__(self, kind: type[_Message], given: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._kind = kind
        for key, value in (given or {}).items():
            self[key].CopyFrom(value if isinstance(value, _Message) else kind(**value))

    def __missing__(self, key: Any) -> Any:
        name = key.decode() if isinstance(key, bytes) else key
        if not isinstance(name, str):
            raise TypeError(f"{key!r} has type {type(key).__name__}, but expected one of: bytes, str")
        made = self._kind()
        super().__setitem__(name, made)
        return made

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ValueError(f"May not set values directly, call my_map[key].CopyFrom({type(value).__name__})")

    def get_or_create(self, key: str) -> Any:
        return self[key]

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class _Mapping(_Message):
    """A message whose only field is a map from names to messages."""

    __slots__ = ("_map",)
    _field: ClassVar[str]
    _item: ClassVar[type[_Message]]

    def _encode(self) -> bytes:
        return b"".join(
            wire.field(1, wire.field(1, key.encode()) + wire.field(2, value._encode()))
            for key, value in self._map.items()
        )

    _map: _Map

    def _content(self) -> Any:
        return dict(self._map)

    def _merge(self, data: bytes) -> None:
        for key, payload in entries(data):
            self._map.pop(key, None)
            self._map[key]._merge(payload)

    def _lines(self, indent: str) -> Iterator[str]:
        for key in sorted(self._map):
            yield f"{indent}{self._field} {{"
            yield f'{indent}  key: "{escape(key.encode())}"'
            yield from _block("value", self._map[key], indent + "  ")
            yield f"{indent}}}"


def entries(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The names of an encoded map of messages, each with its encoded message."""
    for number, _, entry in wire.fields(data):
        if number != 1:
            continue
        key, value = b"", b""
        for part, _, payload in wire.fields(entry):
            if part == 1:
                key = payload
            elif part == 2:
                value = payload
        yield key.decode("utf-8", "surrogateescape"), value


class Features(_Mapping):
    """Features by name."""

    __slots__ = ()
    _field, _item = "feature", Feature

    def __init__(self, feature: Mapping[str, Any] | None = None) -> None:
        self._map = _Map(Feature, feature)

    feature = property(lambda self: self._map)


class FeatureList(_Message):
    """The features of the steps of a sequence."""

    __slots__ = ("_feature",)

    def __init__(self, feature: Iterable[Any] = ()) -> None:
        self._feature = _Repeated(feature)

    @property
    def feature(self) -> _Repeated:
        return self._feature

    def _content(self) -> Any:
        return list(self._feature)

    def _encode(self) -> bytes:
        return b"".join(wire.field(1, f._encode()) for f in self._feature)

    def _merge(self, data: bytes) -> None:
        for number, _, payload in wire.fields(data):
            if number == 1:
                self._feature.add()._merge(payload)

    def _lines(self, indent: str) -> Iterator[str]:
        for feature in self._feature:
            yield from _block("feature", feature, indent)


class _Repeated(list[Any]):
    """Features one after another; what is put in is copied."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(values)

    def add(self, **fields: Any) -> Feature:
        made = Feature(**fields)
        super().append(made)
        return made

    def append(self, value: Any) -> None:
        self.add().CopyFrom(value)

    def extend(self, values: Iterable[Any]) -> None:
        for value in values:
            self.append(value)


class FeatureLists(_Mapping):
    """Lists of features by name."""

    __slots__ = ()
    _field, _item = "feature_list", FeatureList

    def __init__(self, feature_list: Mapping[str, Any] | None = None) -> None:
        self._map = _Map(FeatureList, feature_list)

    feature_list = property(lambda self: self._map)


class _Whole(_Message):
    """A message made of other messages."""

    __slots__ = ()
    _parts: ClassVar[tuple[str, ...]]  # by field number, from 1

    def _content(self) -> Any:
        return [getattr(self, name) for name in self._parts]

    def _encode(self) -> bytes:
        parts = [(i, getattr(self, name)._encode()) for i, name in enumerate(self._parts, 1)]
        return b"".join(wire.field(i, part) for i, part in parts if part)

    def _merge(self, data: bytes) -> None:
        for number, _, payload in wire.fields(data):
            if 1 <= number <= len(self._parts):
                getattr(self, self._parts[number - 1])._merge(payload)

    def HasField(self, field_name: str) -> bool:
        return bool(getattr(self, field_name)._map)

    def _lines(self, indent: str) -> Iterator[str]:
        for name in self._parts:
            if self.HasField(name):
                yield from _block(name, getattr(self, name), indent)


class Example(_Whole):
    """``Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[1]))}))``"""

    __slots__ = ("features",)
    _parts = ("features",)

    def __init__(self, features: Features | None = None) -> None:
        self.features = _copied(Features, features)


class SequenceExample(_Whole):
    """Features of the whole sequence (``context``) and, for each step, lists of features."""

    __slots__ = ("context", "feature_lists")
    _parts = ("context", "feature_lists")

    def __init__(self, context: Features | None = None, feature_lists: FeatureLists | None = None) -> None:
        self.context = _copied(Features, context)
        self.feature_lists = _copied(FeatureLists, feature_lists)


def _copied(kind: type[Any], given: Any) -> Any:
    made = kind()
    if given is not None:
        made.CopyFrom(given if isinstance(given, _Message) else kind(**given))
    return made


# ---- without objects


def read_features(data: bytes, number: int = 1) -> dict[str, bytes]:
    """The encoded features of an encoded Example (or of a SequenceExample's context), by name."""
    found: dict[str, bytes] = {}
    for n, _, payload in wire.fields(data):
        if n == number:
            found.update(entries(payload))
    return found


def read_feature(data: bytes) -> tuple[str | None, Any]:
    """(kind, values) of one encoded feature; (None, ()) if it holds none."""
    held: list[bytes] = []
    kind = None
    for number, _, payload in wire.fields(data):
        if 1 <= number <= len(KINDS):
            if kind != KINDS[number - 1]:
                kind, held = KINDS[number - 1], []
            held.append(payload)
    return (None, ()) if kind is None else (kind, decode_values(kind, b"".join(held)))
