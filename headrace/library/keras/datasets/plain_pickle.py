"""Reads numbers, texts, lists, dicts and numpy arrays out of a pickle, and nothing else: no code of the file is run.

Keras's data sets of texts and the CIFAR batches are pickles.  Python's own reader calls any function that a file names.  This
one has a table of the instructions that data is made of, and knows four names, those that numpy's arrays are written with;
anything else is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

_CORE: Final = ("numpy.core.multiarray", "numpy._core.multiarray")
_CODES: Final = "biufO"  # of arrays that are read: numbers, or lists
_INT1, _INT2, _MARK, _STOP = b"KM(."  # by far the most frequent instructions, and the last one


@dataclass(slots=True)
class _Name:
    """A name that the file mentions, to be called or to be an argument."""

    module: str
    name: str


@dataclass(slots=True)
class _Type:
    """A dtype, whose byte order comes later."""

    text: str
    order: Any = "="


@dataclass(slots=True)
class _Array:
    """An array, whose contents come later."""

    value: Any = None


def read_pickle(data: bytes, what: str) -> Any:
    """The object in a pickle of plain data.

    Args:
      data: The pickle, of protocol 2 or newer.
      what: What the data is called in messages.

    Returns:
      A number, text, list, dict or array; ValueError if the pickle holds anything else or ends too early.

    >>> from headrace.library.keras.datasets.plain_pickle import read_pickle
    >>> read_pickle(b"\\x80\\x02]q\\x00(K\\x01K\\x02e.", "a list")
    [1, 2]
    """
    try:
        return _plain(_Reader(data).read())
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"{what} is not plain data, or damaged: {error!r}") from None
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, _Name | _Type):
        raise ValueError(f"expected data, found {value}")
    return value


class _Reader:
    """The machine that a pickle is a program for: a stack, and a memo of objects that are used again."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []  # the stacks below marks
        self.memo: dict[int, Any] = {}

    def read(self) -> Any:
        data = self.data
        while True:
            code = data[self.at]
            self.at += 1
            if code == _INT1:
                self.stack.append(data[self.at])
                self.at += 1
            elif code == _INT2:
                self.stack.append(data[self.at] | data[self.at + 1] << 8)
                self.at += 2
            elif code == _MARK:
                self.outer.append(self.stack)
                self.stack = []
            elif code == _STOP:
                return self.stack.pop()
            elif code in _INSTRUCTIONS:
                _INSTRUCTIONS[code](self)
            else:
                raise ValueError(f"instruction {bytes([code])!r} at byte {self.at - 1} is none that plain data has")

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(f"it ends at byte {len(self.data)}, within a value")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        end = self.data.index(b"\n", self.at)
        text = self.data[self.at : end].decode()
        self.at = end + 1
        return text

    def items(self) -> list[Any]:
        """What lies above the last mark."""
        found, self.stack = self.stack, self.outer.pop()
        return found

    def last(self, count: int) -> list[Any]:
        found = self.stack[-count:]
        if len(found) != count:
            raise ValueError("it takes more values than there are")
        del self.stack[-count:]
        return found

    def call(self) -> None:
        function, arguments = self.last(2)
        if not isinstance(function, _Name):
            raise ValueError(f"it calls {function!r}")
        if function.module in _CORE and function.name == "_reconstruct":
            self.stack.append(_Array())
        elif (function.module, function.name) == ("numpy", "dtype"):
            self.stack.append(_Type(str(arguments[0])))
        elif (function.module, function.name) == ("_codecs", "encode"):
            self.stack.append(arguments[0].encode("latin1"))
        else:
            raise ValueError(f"it calls {function.module}.{function.name}, which is not data")

    def fill(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, _Type):
            target.order = state[1] if state[1] in ("<", ">") else "="
        elif isinstance(target, _Array):
            target.value = _array(*state[1:])
        else:
            raise ValueError(f"it sets the state of {target!r}")

    def global_name(self, module: str, name: str) -> None:
        self.stack.append(_Name(module, name))

    def append(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, list):
            raise ValueError(f"it appends to a {type(target).__name__}")
        target.extend(values)

    def set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise ValueError(f"it sets items of a {type(target).__name__}")
        target.update(zip(values[::2], values[1::2], strict=True))


def _array(shape: tuple[int, ...], dtype: _Type, is_fortran: bool, content: Any) -> np.ndarray:
    element = np.dtype(dtype.text).newbyteorder(dtype.order)
    if element.kind not in _CODES:
        raise ValueError(f"it holds an array of {element}, which is neither numbers nor lists")
    if element.kind == "O":
        array = object_array(content)
    else:
        array = np.frombuffer(content if isinstance(content, bytes) else content.encode("latin1"), element)
    return array.reshape(shape, order="F" if is_fortran else "C")


def object_array(items: list[Any]) -> np.ndarray:
    """An array whose elements are the items, also where these are lists of one length.

    Args:
      items: A list.

    Returns:
      An array of objects.

    >>> from headrace.library.keras.datasets.plain_pickle import object_array
    >>> object_array([[1, 2], [3, 4]]).shape
    (2,)
    """
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = item
    return array


def _push(value: Callable[[_Reader], Any]) -> Callable[[_Reader], None]:
    def instruction(reader: _Reader) -> None:
        made = value(reader)  # before the stack is looked up: taking what is above a mark changes which stack it is
        reader.stack.append(made)

    return instruction


def _sized(form: str) -> Callable[[_Reader], bytes]:
    return lambda reader: reader.take(reader.number(form))


def _remember(form: str) -> Callable[[_Reader], None]:
    def instruction(reader: _Reader) -> None:
        reader.memo[reader.number(form)] = reader.stack[-1]

    return instruction


def _memoize(reader: _Reader) -> None:
    reader.memo[len(reader.memo)] = reader.stack[-1]


def _tuple(count: int) -> Callable[[_Reader], None]:
    return _push(lambda reader: tuple(reader.last(count)))


_INSTRUCTIONS: Final[dict[int, Callable[[_Reader], Any]]] = {
    ord(code): instruction
    for code, instruction in {
        "\x80": lambda reader: reader.take(1),  # the protocol
        "\x95": lambda reader: reader.take(8),  # the size of a frame
        "N": _push(lambda reader: None),
        "\x88": _push(lambda reader: True),
        "\x89": _push(lambda reader: False),
        "J": _push(lambda reader: reader.number("<i")),
        "\x8a": _push(lambda reader: int.from_bytes(reader.take(reader.number("<B")), "little", signed=True)),
        "G": _push(lambda reader: reader.number(">d")),
        "U": _push(_sized("<B")),
        "T": _push(_sized("<i")),
        "C": _push(_sized("<B")),
        "B": _push(_sized("<I")),
        "\x8e": _push(_sized("<Q")),
        "X": _push(lambda reader: reader.take(reader.number("<I")).decode()),
        "\x8c": _push(lambda reader: reader.take(reader.number("<B")).decode()),
        "]": _push(lambda reader: []),
        "l": _push(lambda reader: reader.items()),
        "a": lambda reader: reader.append(reader.last(1)),
        "e": lambda reader: reader.append(reader.items()),
        ")": _push(lambda reader: ()),
        "t": _push(lambda reader: tuple(reader.items())),
        "\x85": _tuple(1),
        "\x86": _tuple(2),
        "\x87": _tuple(3),
        "}": _push(lambda reader: {}),
        "s": lambda reader: reader.set_items(reader.last(2)),
        "u": lambda reader: reader.set_items(reader.items()),
        "q": _remember("<B"),
        "r": _remember("<I"),
        "\x94": _memoize,
        "h": _push(lambda reader: reader.memo[reader.number("<B")]),
        "j": _push(lambda reader: reader.memo[reader.number("<I")]),
        "c": lambda reader: reader.global_name(reader.line(), reader.line()),
        "\x93": lambda reader: reader.global_name(*reader.last(2)),
        "R": _Reader.call,
        "b": _Reader.fill,
    }.items()
}
