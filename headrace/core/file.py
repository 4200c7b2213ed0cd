"""The door to files: readers, writers, savers and tables open, replace, list and remove files here, with TensorFlow's errors.

A path of this machine, with or without ``file://``, goes straight to the operating system.  A path with another scheme
(``memory://``, ``s3://``) goes to fsspec (`remote_file`).

What must survive a crash is written under another name, synced, and renamed: `write_durably` does that for small files.
Renaming is atomic on this machine; on other file systems it is what fsspec's ``mv`` makes of it.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import io
import mmap
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, Final

from headrace.core import errors, remote_file

_BY_ERRNO: Final[dict[int | None, Callable[..., errors.OpError]]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
}

_WINDOW_BITS: Final = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}
_PIECE: Final = 1 << 16  # bytes of compressed data that are read together
_INFLATED: Final = 1 << 20  # bytes of what was compressed that are made together


def file_error(error: OSError, path: str) -> errors.OpError:
    """The error of the canonical code that fits ``error``."""
    make = _BY_ERRNO.get(error.errno, errors.UnknownError)
    return make(None, None, f"{path}; {error.strerror or error}")


@contextlib.contextmanager
def file_errors(path: str) -> Iterator[None]:
    """What the system says of a file inside the block becomes a `file_error`."""
    try:
        yield
    except OSError as error:
        raise file_error(error, path) from None


_SCHEME: Final = re.compile(r"(?!file://)[A-Za-z][A-Za-z0-9+.-]*://")


def is_remote(path: str) -> bool:
    """Whether the path is on another file system."""
    return _SCHEME.match(path) is not None


def open_file(path: str, mode: str, buffering: int = -1) -> IO[bytes]:
    """The file, opened to read (``rb``), write (``wb``), append (``ab``) or make (``xb``, which fails if there is one)."""
    if is_remote(path):
        file: IO[bytes] = remote_file.opened(path, mode)
        return file
    with file_errors(path):
        return open(path.removeprefix("file://"), mode, buffering)


def open_to_read(path: str, compression: str = "") -> IO[bytes]:
    """The file's bytes, or what they are the compressed form of: ``compression`` is "", "ZLIB" or "GZIP"."""
    file = open_file(path, "rb")
    return io.BufferedReader(_Inflated(file, path, _WINDOW_BITS[compression])) if compression else file


def size_of(file: IO[bytes]) -> int:
    """The bytes of an open file."""
    with contextlib.suppress(io.UnsupportedOperation, AttributeError):
        return os.fstat(file.fileno()).st_size
    return file.seek(0, os.SEEK_END)


def read_at(file: IO[bytes], offset: int, buffer: Any) -> int:
    """Reads bytes from a place of an open file without a buffer of its own; gives their number, 0 at the end.

    Several threads may do so in one file of this machine.
    """
    with contextlib.suppress(io.UnsupportedOperation, AttributeError):
        return os.preadv(file.fileno(), [buffer], offset)
    file.seek(offset)
    return int(file.readinto(buffer))  # type: ignore[attr-defined]


def mapped(file: IO[bytes]) -> mmap.mmap:
    """An open file of this machine as memory; changes are made to a copy.  It outlives the open file."""
    return mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def exists(path: str) -> bool:
    """Whether there is such a file or folder."""
    return bool(remote_file.Exists(path)) if is_remote(path) else os.path.exists(path.removeprefix("file://"))


def changed_at(path: str) -> float:
    """The time of the last change, in seconds since 1970."""
    if is_remote(path):
        return float(remote_file.Stat(path).mtime_nsec / 1e9)
    with file_errors(path):
        return os.stat(path.removeprefix("file://")).st_mtime


def make_folder(path: str, parents: bool = True) -> None:
    """Makes a folder where there is none; with ``parents``, those above it too."""
    if is_remote(path):
        remote_file.MakeDirs(path) if parents else remote_file.MkDir(path)
        return
    local = path.removeprefix("file://")
    with file_errors(path):
        if parents:
            os.makedirs(local or ".", exist_ok=True)
        elif local and not os.path.isdir(local):
            with contextlib.suppress(FileExistsError):  # another thread may make it too
                os.mkdir(local)
            sync_folder(path)


def matching(pattern: str) -> list[str]:
    """The paths that match a pattern, in order; ``*`` and ``?`` do not cross a ``/``."""
    if is_remote(pattern):
        return list(remote_file.Glob(pattern))
    return sorted(glob.glob(pattern.removeprefix("file://")))


def beginning_with(prefix: str) -> list[str]:
    """The paths of the files in the folder of ``prefix`` that begin with it, in order; none if there is no such folder."""
    folder, _, start = prefix.rpartition("/")
    if is_remote(prefix):
        names = remote_file.ListDirectory(folder) if remote_file.IsDirectory(folder) else []
    else:
        try:
            names = os.listdir(folder.removeprefix("file://") or ("/" if prefix.startswith("/") else "."))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise file_error(error, folder) from None
    before = prefix[: len(prefix) - len(start)]
    return sorted(before + name for name in names if name.startswith(start))


def remove(path: str) -> None:
    """Removes a file."""
    if is_remote(path):
        remote_file.Remove(path)
        return
    with file_errors(path):
        os.remove(path.removeprefix("file://"))


def remove_empty_folder(path: str) -> None:
    """Removes a folder if it is empty."""
    if is_remote(path):
        if remote_file.IsDirectory(path) and not remote_file.ListDirectory(path):
            remote_file.DeleteRecursively(path)
        return
    with contextlib.suppress(OSError):
        os.rmdir(path.removeprefix("file://"))


# ---- what must survive a crash


def sync(file: IO[bytes]) -> None:
    """Waits until what was written is on the disk; files of other systems are theirs to keep."""
    file.flush()
    with contextlib.suppress(io.UnsupportedOperation, AttributeError):
        os.fsync(file.fileno())


def write_back(file: IO[bytes], offset: int, size: int) -> None:
    """Lets the disk begin with bytes that were written, and frees the memory of those that it has finished.

    So `sync` has little left to wait for, and a large file does not push others out of the system's cache.
    """
    with contextlib.suppress(io.UnsupportedOperation, AttributeError, OSError):  # a hint, which not every system takes
        os.posix_fadvise(file.fileno(), offset, size, os.POSIX_FADV_DONTNEED)


def sync_folder(path: str) -> None:
    """Waits until the names in the folder of the file ``path`` are on the disk."""
    if is_remote(path):
        return
    with file_errors(path):
        folder = os.open(os.path.dirname(path.removeprefix("file://")) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot sync a folder
            raise file_error(error, path) from None
    finally:
        os.close(folder)


def replace(old: str, new: str) -> None:
    """Gives the file ``old`` the name ``new``, in the place of a file that has it.  `sync_folder` makes it last."""
    if is_remote(old) or is_remote(new):
        remote_file.Replace(old, new)
        return
    with file_errors(new):
        os.replace(old.removeprefix("file://"), new.removeprefix("file://"))


def temporary_name(path: str) -> str:
    """A name beside ``path`` that nobody else uses."""
    return f"{temporary_prefix(path)}{secrets.randbits(63)}"


def temporary_prefix(path: str) -> str:
    """What the temporary names of ``path`` begin with."""
    return f"{path}.tempstate"


def write_durably(path: str, data: bytes) -> None:
    """Makes or replaces a file.  After a crash at any moment it holds the old bytes or the new ones, all of them."""
    temporary = temporary_name(path)
    try:
        with open_file(temporary, "wb") as file:
            file.write(data)
            sync(file)
        replace(temporary, path)
    except OSError as error:
        remove_if_there(temporary)
        raise file_error(error, path) from None
    except errors.OpError:
        remove_if_there(temporary)
        raise
    sync_folder(path)


def remove_unfinished(path: str) -> None:
    """Removes what crashes have left of attempts to write ``path``; for the only one who writes it."""
    for leftover in beginning_with(temporary_prefix(path)):
        remove_if_there(leftover)


def remove_if_there(path: str) -> None:
    """Removes a file; no harm if it cannot be removed."""
    with contextlib.suppress(errors.OpError):
        remove(path)


class _Inflated(io.RawIOBase):
    """A compressed file that reads as what was compressed.  A file that is cut off ends there, as one still being written."""

    def __init__(self, file: IO[bytes], path: str, window_bits: int) -> None:
        self._file = file
        self._path = path
        self._window_bits = window_bits
        self._inflate = zlib.decompressobj(window_bits)
        self._data = memoryview(b"")  # inflated and not yet read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._data:
            packed = self._inflate.unconsumed_tail or self._inflate.unused_data or self._file.read(_PIECE)
            if packed and self._inflate.eof:  # a file may hold several compressed parts, one after another
                self._inflate = zlib.decompressobj(self._window_bits)
            try:
                self._data = memoryview(self._inflate.decompress(packed, _INFLATED))
            except zlib.error as error:
                message = f"{self._path}: the compressed data is damaged: {error}"
                raise errors.DataLossError(None, None, message) from None
            if not packed and not self._data:
                return 0
        count = min(len(buffer), len(self._data))
        buffer[:count] = self._data[:count]
        self._data = self._data[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
