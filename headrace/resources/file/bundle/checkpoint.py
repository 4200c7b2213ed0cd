"""A checkpoint that is open for reading, whatever its format: tensors by name, read whole or in slices.

A tensor may be kept whole or as slices, and read whole or as slices; the two need not agree.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes, errors
from headrace.core.dtypes import DType
from headrace.resources.file.bundle.entry import Entry, stored_dtype
from headrace.resources.file.bundle.extents import Extents, extents_text, index_of, placed, shared


class Checkpoint:
    """The base of the readers; a context manager that closes its files.  Thread-safe where ``is_parallel`` says so.

    Arrays are as stored: bits (uint16) for bfloat16, plain integers for quantized numbers, bytes objects for strings.
    """

    is_parallel = False  # whether several threads may read

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.entries: dict[str, Entry] = {}  # by name, in order

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files."""
        raise NotImplementedError

    def _read_whole(self, name: str, entry: Entry) -> Any:
        """A tensor that is kept whole."""
        raise NotImplementedError

    def _read_piece(self, name: str, dtype: DType, piece: Extents, shape: tuple[int, ...]) -> Any:
        """A slice as it is kept."""
        raise NotImplementedError

    def entry(self, name: str) -> Entry:
        """What there is under this name; NotFoundError if nothing."""
        entry = self.entries.get(name)
        if entry is None:
            raise errors.NotFoundError(None, None, f"Key {name} not found in checkpoint {self.prefix}")
        return entry

    def read(self, name: str) -> Any:
        """All of a tensor."""
        entry = self.entry(name)
        return self._read_whole(name, entry) if not entry.slices else self.read_slice(name, _whole(entry.shape))

    def map(self, name: str) -> Any:
        """All of a tensor, checked, as memory that the system reads from the file again if need be; None where that cannot be.

        It is for those who copy it and let it go: the process dies if another one cuts the file off meanwhile.
        """
        return None

    def check_files(self) -> None:
        """An error if a data file is missing or too short; no value is read.  A format of one file has nothing to check."""

    def read_slice(self, name: str, extents: Extents) -> Any:
        """Part of a tensor."""
        entry = self.entry(name)
        place = placed(extents, entry.shape)
        if not entry.slices:
            array = self._read_whole(name, entry)
            return array if place == _whole(entry.shape) else array[index_of(place, _whole(entry.shape))].copy()
        return self._assembled(name, entry, place)

    def _assembled(self, name: str, entry: Entry, extents: Extents) -> Any:
        """Part of a tensor, from those of its slices that have a share in it."""
        stored = object if entry.dtype == dtypes.string else stored_dtype(entry.dtype)
        size = math.prod(length for _, length in extents)
        shares = []
        for piece in dict.fromkeys(entry.slices):
            place = placed(piece, entry.shape)
            common = shared(place, extents)
            if common is not None:
                shares.append((piece, place, common))
        filled = sum(math.prod(length for _, length in common) for *_, common in shares)
        if filled != size:
            raise errors.InvalidArgumentError(
                None, None,
                f"the slices of {name} in checkpoint {self.prefix} have {filled} of the {size} elements of the slice "
                f"{extents_text(extents)} of shape {list(entry.shape)}",
            )  # fmt: skip
        result = None
        for piece, place, common in shares:
            array = self._read_piece(name, entry.dtype, piece, tuple(length for _, length in place))
            if result is None:  # not before the first slice was there: a damaged index asks for much
                result = np.empty([length for _, length in extents], stored)
            result[index_of(common, extents)] = array[index_of(common, place)]
        return np.empty([length for _, length in extents], stored) if result is None else result


def _whole(shape: tuple[int, ...]) -> Extents:
    return tuple((0, size) for size in shape)
