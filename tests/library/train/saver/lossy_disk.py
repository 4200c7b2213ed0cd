"""A disk that loses power: records what goes through the door to files, and builds the states that a crash can leave.

What a `sync` has not confirmed may be lost, each piece on its own: a piece of a file is there or is zeros, or the file ends
before it; a name that was made, changed or removed has its old or its new state.  Only a rename is atomic.  Real file systems
lose less.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.core import file


@dataclass(frozen=True)
class Write:
    """Bytes at a place of a file."""

    inode: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Sync:
    """All writes of a file so far are kept."""

    inode: int


@dataclass(frozen=True)
class Name:
    """A name is made (``old`` is None), changed from ``old``, or removed (``inode`` is None)."""

    path: str
    inode: int | None
    old: str | None = None


@dataclass(frozen=True)
class SyncFolder:
    """All names of a folder so far are kept."""

    folder: str


@dataclass(frozen=True)
class Mark:
    """What the program knew at this moment."""

    note: Any


Operation = Write | Sync | Name | SyncFolder | Mark


class Recorder:
    """The operations, in order, below one folder.  `recording` replaces the functions of the door while it is open."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.operations: list[Operation] = []
        self._inodes: dict[str, int] = {}  # by path
        self._count = 0

    def mark(self, note: Any) -> None:
        self.operations.append(Mark(note))

    @contextlib.contextmanager
    def recording(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        with patch.context() as inner:
            for name in ("open_file", "sync", "sync_folder", "replace", "remove"):
                inner.setattr(file, name, getattr(self, f"_{name}")(getattr(file, name)))
            yield

    def _below(self, path: str) -> str:
        return os.path.relpath(path, self._root)

    def _open_file(self, real: Any) -> Any:
        def open_file(path: str, mode: str, buffering: int = -1) -> Any:
            opened = real(path, mode, buffering)
            if mode == "rb":
                return opened
            assert mode in ("wb", "xb"), f"the disk does not know the mode {mode}"
            self._count += 1
            self._inodes[self._below(path)] = self._count
            self.operations.append(Name(self._below(path), self._count))
            return _Noted(opened, self._count, self.operations)

        return open_file

    def _sync(self, real: Any) -> Any:
        def sync(opened: Any) -> None:
            opened.flush()
            self.operations.append(Sync(opened.inode))

        return sync

    def _sync_folder(self, real: Any) -> Any:
        def sync_folder(path: str) -> None:
            self.operations.append(SyncFolder(os.path.dirname(self._below(path))))

        return sync_folder

    def _replace(self, real: Any) -> Any:
        def replace(old: str, new: str) -> None:
            real(old, new)
            inode = self._inodes[self._below(new)] = self._inodes.pop(self._below(old))
            self.operations.append(Name(self._below(new), inode, self._below(old)))

        return replace

    def _remove(self, real: Any) -> Any:
        def remove(path: str) -> None:
            real(path)
            self._inodes.pop(self._below(path))
            self.operations.append(Name(self._below(path), None))

        return remove


class _Noted:
    """An open file that notes what is written to it."""

    def __init__(self, opened: Any, inode: int, operations: list[Operation]) -> None:
        self._opened, self.inode, self._operations = opened, inode, operations
        self._offset = 0

    def write(self, piece: Any) -> int:
        data = bytes(piece)
        self._operations.append(Write(self.inode, self._offset, data))
        self._offset += len(data)
        return int(self._opened.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def __enter__(self) -> _Noted:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()


def unconfirmed(operations: Sequence[Operation]) -> list[int]:
    """The operations that may be lost if the power fails after the last of these: their places."""
    synced_files: set[int] = set()
    synced_folders: set[str] = set()
    places = []
    for place in range(len(operations) - 1, -1, -1):
        match operations[place]:
            case Sync(inode):
                synced_files.add(inode)
            case SyncFolder(folder):
                synced_folders.add(folder)
            case Write(inode) if inode not in synced_files:
                places.append(place)
            case Name(path, _, old):
                folders = {os.path.dirname(p) for p in (path, old) if p is not None}
                if not folders & synced_folders:
                    places.append(place)
    return places[::-1]


def left(operations: Sequence[Operation], lost: set[int], zeros: bool) -> dict[str, bytes]:
    """The files that are left when all ``operations`` happened and those at the places ``lost`` were lost.

    With ``zeros``, a file is as long as it was although its last bytes are lost.
    """
    names: dict[str, int] = {}
    contents: dict[int, bytearray] = {}
    for place, operation in enumerate(operations):
        match operation:
            case Write(inode, offset, data):
                content = contents.setdefault(inode, bytearray())
                if place not in lost or zeros:
                    content.extend(bytes(max(offset + len(data) - len(content), 0)))
                if place not in lost:
                    content[offset : offset + len(data)] = data
            case Name(path, inode, old) if place not in lost:
                if old is not None:
                    names.pop(old, None)
                if inode is None:
                    names.pop(path, None)
                else:
                    names[path] = inode
    return {path: bytes(contents.get(inode, b"")) for path, inode in names.items()}
