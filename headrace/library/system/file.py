"""Files and folders of this machine under TF1's interface (``tf.gfile``), with TF1's errors.

A path may be text, bytes or a path object, and may begin with ``file://``.  Any other scheme (``gs://``, ``hdfs://``) is
refused with UnimplementedError: fetch such files first, or mount them.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from headrace.core import errors
from headrace.library.compat import as_bytes, as_str_any, as_text

_BY_ERRNO: dict[int | None, Callable[..., errors.OpError]] = {
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
    errno.EMFILE: errors.ResourceExhaustedError,
}


class FileStatistics(NamedTuple):
    """What `Stat` tells of a path."""

    length: int
    mtime_nsec: int
    is_directory: bool


def local_path(path: Any) -> str:
    """`path` as this machine's text path; UnimplementedError for one on another file system."""
    text = as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else as_text(path)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if scheme is None:
        return text
    if scheme[1] == "file":
        return text[len("file://") :]
    message = f"File system scheme '{scheme[1]}' not implemented (file: '{text}')"
    raise errors.UnimplementedError(None, None, message)


def _raised(error: OSError, path: str) -> errors.OpError:
    make = _BY_ERRNO.get(error.errno, errors.UnknownError)
    return make(None, None, f"{path}; {error.strerror or error}")


class GFile:
    """A file, opened when it is first read or written.

    Without ``b`` in the mode, reading gives text (UTF-8, line ends as they are in the file); writing takes either. Not
    safe for use by two threads at once.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name = name
        self._mode = mode
        self._path = local_path(name)
        self._plain = mode.replace("b", "")
        self._file: IO[bytes] | None = None
        if self._plain not in ("r", "w", "a", "r+", "w+", "a+"):
            message = "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            raise errors.InvalidArgumentError(None, None, f"{message} (each with or without 'b'): {mode!r}")

    @property
    def name(self) -> Any:
        """The name it was made with."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode it was made with."""
        return self._mode

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            try:
                self._file = open(self._path, f"{self._plain}b")  # noqa: SIM115 (closed by close)
            except OSError as error:
                raise _raised(error, self._path) from None
        return self._file

    def _readable(self) -> IO[bytes]:
        if self._plain in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        return self._opened()

    def _returned(self, data: bytes) -> Any:
        return data if "b" in self._mode else as_text(data)

    def size(self) -> int:
        """The file's length in bytes."""
        return Stat(self._path).length

    def write(self, file_content: Any) -> None:
        """Writes text or bytes."""
        if self._plain == "r":
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        self._opened().write(as_bytes(file_content))

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes, or all that is left; text unless the mode has ``b``."""
        file = self._readable()
        return self._returned(file.read(n))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves to a place in the file; `position` is the old name of `offset`."""
        place = position if offset is None else offset
        if place is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(None, None, f"Invalid whence argument: {whence}. Valid are 0, 1, or 2.")
        self._readable().seek(place, whence)

    def tell(self) -> int:
        """The place in the file, in bytes."""
        return self._opened().tell()

    def seekable(self) -> bool:
        """Always: these are local files."""
        return True

    def readline(self) -> Any:
        """The next line with its end, empty at the end of the file; carriage returns are dropped, as TF1 does."""
        return self._returned(self._readable().readline().replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """The lines that are left."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def next(self) -> Any:
        """The next line; StopIteration at the end."""
        return self.__next__()

    def flush(self) -> None:
        """Hands what was written to the system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Closes the file; using it again opens it anew."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


class FastGFile(GFile):
    """A `GFile`; TF1 once read it through another path."""


def Exists(filename: Any) -> bool:  # noqa: N802 (TensorFlow's name)
    """Whether there is such a file or folder."""
    return os.path.exists(local_path(filename))


def IsDirectory(dirname: Any) -> bool:  # noqa: N802 (TensorFlow's name)
    """Whether there is such a folder."""
    return os.path.isdir(local_path(dirname))


def Stat(filename: Any) -> FileStatistics:  # noqa: N802 (TensorFlow's name)
    """Length, time of the last change and kind of a path."""
    path = local_path(filename)
    try:
        found = os.stat(path)
    except OSError as error:
        raise _raised(error, path) from None
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(path))


def MkDir(dirname: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Makes a folder whose parent exists; no harm if it is there already."""
    path = local_path(dirname)
    if os.path.exists(path):
        return
    try:
        os.mkdir(path)
    except OSError as error:
        raise _raised(error, path) from None


def MakeDirs(dirname: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Makes a folder and those above it; no harm if they are there already."""
    path = local_path(dirname)
    try:
        os.makedirs(path, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise errors.FailedPreconditionError(None, None, f"{path} is not a directory") from None
    except OSError as error:
        raise _raised(error, path) from None


def ListDirectory(dirname: Any) -> list[str]:  # noqa: N802 (TensorFlow's name)
    """The names in a folder, without ``.`` and ``..``, in order."""
    path = local_path(dirname)
    if not os.path.isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {path}")
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        raise _raised(error, path) from None


def Glob(filename: Any) -> list[str]:  # noqa: N802 (TensorFlow's name)
    """The paths that match a pattern, or any of a list of patterns, in order; ``*`` does not cross a ``/``."""
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return [path for pattern in patterns for path in sorted(glob.glob(local_path(pattern), include_hidden=True))]


def Remove(filename: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Removes a file."""
    path = local_path(filename)
    try:
        os.remove(path)
    except OSError as error:
        raise _raised(error, path) from None


def DeleteRecursively(dirname: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Removes a folder with all it holds, or a file."""
    path = local_path(dirname)
    if not os.path.lexists(path):
        raise errors.NotFoundError(None, None, f"{path} not found")
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)
    except OSError as error:
        raise _raised(error, path) from None


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:  # noqa: N802 (TensorFlow's name)
    """Renames or moves a file."""
    old, new = local_path(oldname), local_path(newname)
    _refuse_existing(new, overwrite)
    try:
        os.replace(old, new)
    except OSError as error:
        raise _raised(error, old) from None


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:  # noqa: N802 (TensorFlow's name)
    """Copies a file's contents."""
    old, new = local_path(oldpath), local_path(newpath)
    _refuse_existing(new, overwrite)
    try:
        shutil.copyfile(old, new)
    except OSError as error:
        raise _raised(error, old) from None


def _refuse_existing(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {path} (overwrite=True replaces it)")


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:  # noqa: N802 (TensorFlow's name)
    """Each folder from `top` down (or, not `in_order`, from the deepest up): its path, its folders, its files."""
    for folder, folders, files in os.walk(local_path(top), topdown=in_order):
        folders.sort()
        yield folder, list(folders), sorted(files)


# ---- tf.io.gfile: the same under TF2's argument names


def exists(path: Any) -> bool:
    """Whether there is such a file or folder."""
    return Exists(path)


def isdir(path: Any) -> bool:
    """Whether there is such a folder."""
    return IsDirectory(path)


def stat(path: Any) -> FileStatistics:
    """Length, time of the last change and kind of a path."""
    return Stat(path)


def mkdir(path: Any) -> None:
    """Makes a folder whose parent exists."""
    MkDir(path)


def makedirs(path: Any) -> None:
    """Makes a folder and those above it."""
    MakeDirs(path)


def listdir(path: Any) -> list[str]:
    """The names in a folder."""
    return ListDirectory(path)


def glob_(pattern: Any) -> list[str]:
    """The paths that match a pattern."""
    return Glob(pattern)


def remove(path: Any) -> None:
    """Removes a file."""
    Remove(path)


def rmtree(path: Any) -> None:
    """Removes a folder with all it holds."""
    DeleteRecursively(path)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Renames or moves a file."""
    Rename(src, dst, overwrite)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file's contents."""
    Copy(src, dst, overwrite)


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[OSError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder from `top` down, or up to it: its path, its folders, its files."""
    for folder, folders, files in os.walk(local_path(top), topdown=topdown, onerror=onerror):
        folders.sort()
        yield folder, list(folders), sorted(files)
