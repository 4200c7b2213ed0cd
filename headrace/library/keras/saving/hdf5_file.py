"""HDF5 files as Keras uses them: opened, written, and read with care, for they come from others.

The one door to h5py.  A file is data only: links to other files and data kept outside of it are refused, and a dataset is read
only after its shape is known to be the expected one, so that a small file cannot fill the memory.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from headrace.core.source import at

_MOST_ATTRIBUTE_BYTES = 64512  # what the header of an object can hold
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ENDINGS = (".h5", ".hdf5", ".keras")


def h5py_module() -> Any:
    """The package h5py."""
    try:
        import h5py
    except ImportError:
        raise ImportError(f"HDF5 files need h5py: pip install h5py {at()}") from None
    return h5py


def names_hdf5(path: Any) -> bool:
    """Whether a path has the ending of an HDF5 file."""
    return os.fspath(path).endswith(_ENDINGS)


def is_hdf5(path: Any) -> bool:
    """Whether there is a file at the path that begins as HDF5 files do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_SIGNATURE)) == _SIGNATURE
    except OSError:
        return False


def is_open_file(value: Any) -> bool:
    """Whether this is an open file or a group of h5py's; without h5py nothing is."""
    return type(value).__module__.partition(".")[0] == "h5py" and hasattr(value, "create_group")


@contextmanager
def opened(path: Any, mode: str) -> Iterator[Any]:
    """The file at a path, ``"r"`` or ``"w"``; an open file of the user's stays open.

    A file that is written has its name only when it is whole.
    """
    if is_open_file(path):
        yield path
        return
    h5py = h5py_module()
    path = os.fspath(path)
    if mode == "r":
        if not is_hdf5(path):
            there = "is no HDF5 file" if os.path.exists(path) else "does not exist"
            raise OSError(f"Unable to open {path!r}: it {there} {at()}")
        with h5py.File(path, "r") as file:
            yield file
        return
    unfinished = f"{path}.unfinished-{os.getpid()}"
    try:
        with h5py.File(unfinished, "w") as file:
            yield file
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)


# ---- writing


def write_names(group: Any, key: str, names: Sequence[str]) -> None:
    """Writes names as an attribute, in pieces ``key0``, ``key1``, ... where one is too small."""
    encoded = [name.encode() for name in names]
    too_long = [name for name in encoded if len(name) > _MOST_ATTRIBUTE_BYTES]
    if too_long:
        raise RuntimeError(
            f"a name of {len(too_long[0])} bytes does not fit in an HDF5 file: {too_long[0][:50]!r}... {at()}"
        )
    widest = max(map(len, encoded), default=1)
    pieces = max(math.ceil(len(encoded) * widest / _MOST_ATTRIBUTE_BYTES), 1)
    if pieces == 1:
        group.attrs[key] = encoded
        return
    each = _MOST_ATTRIBUTE_BYTES // widest
    for i, begin in enumerate(range(0, len(encoded), each)):
        group.attrs[f"{key}{i}"] = encoded[begin : begin + each]


def write_arrays(group: Any, names: Sequence[str], values: Sequence[Any]) -> None:
    """Writes arrays, and their names in order as the attribute ``weight_names``."""
    write_names(group, "weight_names", names)
    for name, value in zip(names, values, strict=True):
        array = np.asarray(value)
        group.create_dataset(name, array.shape, dtype=array.dtype)[...] = array


# ---- reading


def read_names(group: Any, key: str) -> list[str]:
    """The names of an attribute, also one in pieces; none if there is no such attribute."""
    if key in group.attrs:
        return _texts(group, key)
    names: list[str] = []
    piece = 0
    while f"{key}{piece}" in group.attrs:
        names += _texts(group, f"{key}{piece}")
        piece += 1
    return names


def _texts(group: Any, key: str) -> list[str]:
    values = np.asarray(group.attrs[key])
    if values.size == 0:
        return []
    if values.ndim != 1:
        raise _broken(group, f"attribute {key!r} is no list of names")
    return [as_text(value, group, key) for value in values]


def as_text(value: Any, group: Any, key: str) -> str:
    """Text that an attribute holds, as bytes or as a string."""
    try:
        if isinstance(value, str):
            value = value.encode()  # h5py leaves bytes that are not UTF-8 as half characters
        if isinstance(value, bytes):
            return value.decode()
    except UnicodeError:
        raise _broken(group, f"attribute {key!r} is not in UTF-8") from None
    raise _broken(group, f"attribute {key!r} holds {value!r}, and no text")


def read_json(group: Any, key: str) -> Any:
    """What an attribute in JSON says; None if there is no such attribute."""
    value = group.attrs.get(key)
    if value is None:
        return None
    try:
        return json.loads(as_text(value, group, key))
    except (ValueError, RecursionError) as e:
        raise _broken(group, f"attribute {key!r} is no JSON: {e}") from None


def subgroup(group: Any, name: str) -> Any:
    """The group of this name in a group."""
    found = _linked(group, name)
    if not hasattr(found, "create_group"):
        raise _broken(group, f"{name!r} is no group")
    return found


def dataset(group: Any, name: str) -> Any:
    """The dataset of this name, whose shape and dtype are known and whose numbers are not read yet."""
    found = _linked(group, name)
    if not hasattr(found, "shape") or found.shape is None:
        raise _broken(group, f"{name!r} is no array")
    if found.is_virtual or found.external:
        raise _broken(group, f"the numbers of {name!r} are in another file")
    if found.dtype.kind not in "fiubc" and not (found.dtype.kind == "V" and found.dtype.itemsize == 2):
        raise _broken(group, f"{name!r} holds no numbers but {found.dtype}")
    return found


def _linked(group: Any, name: str) -> Any:
    """What a path names in a group; only plain links are followed."""
    h5py = h5py_module()
    here = group
    for part in name.strip("/").split("/"):
        link = here.get(part, getlink=True) if part and hasattr(here, "create_group") else None
        if link is None:
            raise _broken(group, f"there is no {name!r}")
        if not isinstance(link, h5py.HardLink):
            raise _broken(group, f"{name!r} is a link to elsewhere")
        here = here[part]
    return here


def _broken(group: Any, what: str) -> ValueError:
    return ValueError(f"the file {group.file.filename!r} is not as Keras writes it: in {group.name!r}, {what} {at()}")
