"""The safetensors format, read and written: a JSON header with name, dtype, shape and place of each tensor, then their bytes.

The safetensors package is not used: it writes neither durably nor to other file systems, and it has no bfloat16 without torch.
The format has no checksums: what is verified is that header, shapes and the size of the file fit together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from headrace.core import dtypes, errors, file
from headrace.core.dtypes import DType
from headrace.resources.file.bundle.entry import stored_dtype

_NAMES = {
    dtypes.bool: "BOOL", dtypes.uint8: "U8", dtypes.int8: "I8", dtypes.uint16: "U16", dtypes.int16: "I16",
    dtypes.float16: "F16", dtypes.bfloat16: "BF16", dtypes.uint32: "U32", dtypes.int32: "I32", dtypes.float32: "F32",
    dtypes.uint64: "U64", dtypes.int64: "I64", dtypes.float64: "F64", dtypes.complex64: "C64",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_METADATA = "__metadata__"
_MOST_HEADER = 100_000_000  # bytes, as in other readers
_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor of a file; ``offset`` counts from the first byte after the header."""

    dtype: DType
    shape: tuple[int, ...]
    offset: int = 0

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return math.prod(self.shape) * stored_dtype(self.dtype).itemsize


def check_dtype(name: str, dtype: DType) -> None:
    """ValueError if the format has no such dtype."""
    if dtype not in _NAMES:
        accepted = ", ".join(one.name for one in _NAMES)
        raise ValueError(f"{name}: safetensors has no dtype {dtype.name}; it has {accepted}")


# ---- writing


def write_safetensors(
    path: str, entries: Mapping[str, TensorEntry], read: Callable[[str], Any], metadata: Mapping[str, str] | None = None
) -> None:
    """Makes or replaces a file durably: after a crash it is the old one or the new one.  ``read`` gives the array of a name.

    Arrays are as stored: bits (uint16) for bfloat16.  They are asked for one after another.
    """
    order = sorted(entries, key=lambda name: (-stored_dtype(entries[name].dtype).itemsize, name))  # so all are aligned
    header = _header(order, entries, metadata)
    temporary = file.temporary_name(path)
    try:
        with file.open_file(temporary, "wb") as opened:
            opened.write(header)
            for name in order:
                array = np.ascontiguousarray(read(name))
                opened.write(array.reshape(-1).view(np.uint8).data)
            file.sync(opened)
        file.replace(temporary, path)
        file.sync_folder(path)
    except OSError as error:
        raise file.file_error(error, path) from None
    finally:
        file.remove_if_there(temporary)


def _header(order: list[str], entries: Mapping[str, TensorEntry], metadata: Mapping[str, str] | None) -> bytes:
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    offset = 0
    for name in order:
        entry = entries[name]
        end = offset + entry.size
        header[name] = {"dtype": _NAMES[entry.dtype], "shape": list(entry.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


# ---- reading


class SafetensorsFile:
    """An open file; a context manager that closes it.  Not thread-safe."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: dict[str, TensorEntry] = {}
        self.metadata: dict[str, str] = {}
        self._file: IO[bytes] = file.open_file(path, "rb", 0)
        try:
            self._begin = self._read_header()
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError):
                raise file.file_error(error, path) from None
            raise

    def __enter__(self) -> SafetensorsFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def read(self, name: str) -> Any:
        """The array as stored: bits (uint16) for bfloat16.  NotFoundError if there is none of this name."""
        entry = self.entries.get(name)
        if entry is None:
            raise errors.NotFoundError(None, None, f"{self.path} has no tensor {name}; it has {self._some_names()}")
        try:
            array = np.empty(entry.shape, stored_dtype(entry.dtype))
        except ValueError as error:  # an empty tensor can have a size that no array has
            raise self._damaged(f"{name} has shape {list(entry.shape)}: {error}") from None
        flat = array.reshape(-1).view(np.uint8)
        self._fill(self._begin + entry.offset, flat.data, name)
        if entry.dtype == dtypes.bool and flat.size and flat.max() > 1:
            raise self._damaged(f"{name} has values that are no bools")
        return array

    def _some_names(self) -> str:
        names = list(self.entries)
        return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "") or "none"

    def _fill(self, offset: int, view: memoryview, what: str) -> None:
        try:
            while view:
                count = file.read_at(self._file, offset, view)
                if not count:
                    raise self._damaged(f"it ends within {what}")
                view, offset = view[count:], offset + count
        except OSError as error:
            raise file.file_error(error, self.path) from None

    def _read_header(self) -> int:
        """Reads all entries; gives the place of the first byte after the header."""
        size = file.size_of(self._file)
        if size < 8:
            raise self._damaged(f"it has {size} bytes, the length of the header takes 8")
        length = int.from_bytes(self._bytes(0, 8), "little")
        if length > min(size - 8, _MOST_HEADER):
            raise self._damaged(f"the header should have {length} bytes, the file has {size}")
        try:
            header = json.loads(self._bytes(8, length).decode())
            self._take(header, size - 8 - length)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self._damaged(f"the header is damaged: {error!r}") from None
        return 8 + length

    def _bytes(self, offset: int, size: int) -> bytes:
        data = bytearray(size)
        self._fill(offset, memoryview(data), "the header")
        return bytes(data)

    def _take(self, header: dict[str, Any], size: int) -> None:
        self.metadata = {str(key): str(value) for key, value in header.pop(_METADATA, {}).items()}
        end = 0
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            start, stop = entry["data_offsets"]
            shape = tuple(entry["shape"])
            if not all(isinstance(number, int) for number in (start, stop, *shape)):
                raise ValueError(f"{name} has a shape or a place that is not a whole number")
            if entry["dtype"] not in _DTYPES:
                raise errors.UnimplementedError(
                    None, None, f"{self.path}: {name} has the dtype {entry['dtype']}; accepted are {', '.join(_DTYPES)}"
                )
            self.entries[name] = TensorEntry(_DTYPES[entry["dtype"]], shape, start)
            if any(length < 0 for length in shape) or stop - start != self.entries[name].size:
                raise ValueError(
                    f"{name} has {stop - start} bytes, {entry['dtype']} {list(shape)} takes another number"
                )
            if start != end:
                raise ValueError(f"{name} begins at {start}, the tensor before it ends at {end}")
            end = stop
        if end != size:
            raise ValueError(f"the tensors take {end} bytes, the file has {size}")

    def _damaged(self, problem: str) -> errors.DataLossError:
        return errors.DataLossError(None, None, f"{self.path} is not a valid safetensors file: {problem}")
