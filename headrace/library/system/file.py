"""Files and folders under TF1's interface (``tf.gfile``), with TF1's errors.

A path may be text, bytes or a path object, and may begin with ``file://``.  A path with another scheme (``s3://``, ``memory://``)
goes to `core.remote_file`; this module knows the files of this machine.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterator
from typing import IO, Any

from headrace.core import errors, remote_file
from headrace.core.file import file_error, file_errors, is_remote, open_file
from headrace.core.remote_file import FileStatistics
from headrace.library.compat import as_bytes, as_str_any, as_text


def path_text(path: Any) -> str:
    """`path` as text, without ``file://``."""
    text = as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else as_text(path)
    return text.removeprefix("file://")


class GFile:
    """A file, opened when it is first read or written.

    Reading and writing have a place each: reading starts at the beginning, writing appends to what has been written, in every
    mode.  What was written can be read after `flush`.  The first write empties the file unless the mode has ``a``.  Without ``b``
    in the mode, reading gives text (UTF-8, line ends as they are in the file); writing takes either.  Not thread-safe.

    Args:
      name: The path, text, bytes or a path object; also a URL of remote storage, such as "gs://bucket/file".
      mode: "r", "w", "a", "r+", "w+" or "a+", each with or without "b".

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tf.gfile.GFile(f'{folder}/notes.txt', 'w') as file:
    ...         file.write('first line')
    ...     tf.gfile.GFile(f'{folder}/notes.txt').read()
    'first line'
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name = name
        self._mode = mode
        self._path = path_text(name)
        self._plain = mode.replace("b", "")
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None
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

    def _to_read(self) -> IO[bytes]:
        if self._plain in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        if self._reader is None:
            self._reader = open_file(self._path, "rb")
        return self._reader

    def _to_write(self) -> IO[bytes]:
        if self._plain == "r":
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        if self._writer is None:
            self._writer = open_file(self._path, "ab" if "a" in self._plain else "wb")
        return self._writer

    def _returned(self, data: bytes) -> Any:
        return data if "b" in self._mode else as_text(data)

    def size(self) -> int:
        """The file's length in bytes."""
        return Stat(self._path).length

    def write(self, file_content: Any) -> None:
        """Writes text or bytes after what has been written."""
        writer = self._to_write()
        with file_errors(self._path):
            writer.write(as_bytes(file_content))

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes, or all that is left; text unless the mode has ``b``."""
        return self._returned(self._to_read().read(n))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves to a place to read from; `position` is the old name of `offset`."""
        file = self._to_read()
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        place = position if offset is None else offset
        if place is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(None, None, f"Invalid whence argument: {whence}. Valid are 0, 1, or 2.")
        size = self.size()
        place += (0, file.tell(), size)[whence]
        if place < 0:
            raise errors.InvalidArgumentError(None, None, f"Seeking to a negative position: {place}")
        file.seek(min(place, size))
        if place > size:
            raise errors.OutOfRangeError(None, None, "reached end of file")

    def tell(self) -> int:
        """The place to read from, in bytes; that to write to if the file is only written."""
        return (self._to_write() if self._plain in ("w", "a") else self._to_read()).tell()

    def seekable(self) -> bool:
        """Always."""
        return True

    def readline(self) -> Any:
        """The next line with its end, empty at the end of the file; carriage returns are dropped, as TF1 does."""
        return self._returned(self._to_read().readline().replace(b"\r", b""))

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
        if self._writer is not None:
            with file_errors(self._path):
                self._writer.flush()

    def close(self) -> None:
        """Closes the file; using it again reopens it."""
        files, self._reader, self._writer = (self._reader, self._writer), None, None
        with file_errors(self._path):
            for file in files:
                if file is not None:
                    file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_writer", None) is not None or getattr(self, "_reader", None) is not None:
            self.close()


class FastGFile(GFile):
    """A `GFile`; TF1 once read it through another path.

    Args:
      name: The path, text, bytes or a path object.
      mode: "r", "w", "a", "r+", "w+" or "a+", each with or without "b".

    Example: ``data = tf.gfile.FastGFile("image.jpg", "rb").read()``
    """


def Exists(filename: Any) -> bool:  # noqa: N802 (TensorFlow's name)
    """Whether there is such a file or folder.

    Args:
      filename: The path.

    Returns:
      True or False.

    >>> tf.gfile.Exists('/no/such/file')
    False
    """
    path = path_text(filename)
    return remote_file.Exists(path) if is_remote(path) else os.path.exists(path)


def IsDirectory(dirname: Any) -> bool:  # noqa: N802 (TensorFlow's name)
    """Whether there is such a folder.

    Args:
      dirname: The path.

    Returns:
      True or False.

    >>> tf.gfile.IsDirectory('/')
    True
    """
    path = path_text(dirname)
    return remote_file.IsDirectory(path) if is_remote(path) else os.path.isdir(path)


def Stat(filename: Any) -> FileStatistics:  # noqa: N802 (TensorFlow's name)
    """Length, time of the last change and whether the path is a folder.

    Args:
      filename: The path; NotFoundError if there is nothing.

    Returns:
      A named tuple with ``length``, ``mtime_nsec`` and ``is_directory``.

    >>> tf.gfile.Stat('/').is_directory
    True
    """
    path = path_text(filename)
    if is_remote(path):
        return remote_file.Stat(path)
    with file_errors(path):
        status = os.stat(path)
    return FileStatistics(status.st_size, status.st_mtime_ns, os.path.isdir(path))


def MkDir(dirname: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Makes a folder whose parent exists; no harm if it is there already.

    Args:
      dirname: The path of the new folder; NotFoundError if its parent is not there.

    Example: ``tf.gfile.MkDir("/tmp/model")``
    """
    path = path_text(dirname)
    if is_remote(path):
        return remote_file.MkDir(path)
    if os.path.exists(path):
        return
    with file_errors(path):
        os.mkdir(path)


def MakeDirs(dirname: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Makes a folder and those above it; no harm if they are there already.

    Args:
      dirname: The path of the folder; FailedPreconditionError if a file is in the way.

    Example: ``tf.gfile.MakeDirs("/tmp/models/first")``
    """
    path = path_text(dirname)
    if is_remote(path):
        return remote_file.MakeDirs(path)
    try:
        os.makedirs(path, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise errors.FailedPreconditionError(None, None, f"{path} is not a directory") from None
    except OSError as error:
        raise file_error(error, path) from None


def ListDirectory(dirname: Any) -> list[str]:  # noqa: N802 (TensorFlow's name)
    """The names in a folder, without ``.`` and ``..``, in order.

    Args:
      dirname: The folder; NotFoundError if there is no such folder.

    Returns:
      A list of names, without the path of the folder.

    Example: ``tf.gfile.ListDirectory("/tmp/model")``
    """
    path = path_text(dirname)
    if is_remote(path):
        return remote_file.ListDirectory(path)
    if not os.path.isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {path}")
    with file_errors(path):
        return sorted(os.listdir(path))


def Glob(filename: Any) -> list[str]:  # noqa: N802 (TensorFlow's name)
    """The paths that match a pattern, or any of a list of patterns, in order; ``*`` does not cross a ``/``.

    Args:
      filename: A pattern with ``*``, ``?`` or ``[...]``, or a list of patterns.

    Returns:
      A list of paths; empty if nothing matches.

    >>> tf.gfile.Glob('/no/such/folder/*.txt')
    []
    """
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    paths: list[str] = []
    for pattern in map(path_text, patterns):
        paths += remote_file.Glob(pattern) if is_remote(pattern) else sorted(glob.glob(pattern, include_hidden=True))
    return paths


def Remove(filename: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Removes a file.

    Args:
      filename: The path; NotFoundError if there is no such file.

    Example: ``tf.gfile.Remove("/tmp/model/old.txt")``
    """
    path = path_text(filename)
    if is_remote(path):
        return remote_file.Remove(path)
    with file_errors(path):
        os.remove(path)


def DeleteRecursively(dirname: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Removes a folder with all it holds, or a file.

    Args:
      dirname: The path; NotFoundError if there is nothing.

    Example: ``tf.gfile.DeleteRecursively("/tmp/model")``
    """
    path = path_text(dirname)
    if is_remote(path):
        return remote_file.DeleteRecursively(path)
    if not os.path.lexists(path):
        raise errors.NotFoundError(None, None, f"{path} not found")
    with file_errors(path):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:  # noqa: N802 (TensorFlow's name)
    """Renames or moves a file.

    Args:
      oldname: The present path.
      newname: The new path.
      overwrite: Whether to replace what is at `newname`; if False that is an AlreadyExistsError.

    Example: ``tf.gfile.Rename("/tmp/model/new.txt", "/tmp/model/notes.txt", overwrite=True)``
    """
    old, new = path_text(oldname), path_text(newname)
    _refuse_existing(new, overwrite)
    if is_remote(old) or is_remote(new):
        _copy_contents(old, new)
        return Remove(old)
    with file_errors(old):
        os.replace(old, new)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:  # noqa: N802 (TensorFlow's name)
    """Copies a file's contents.

    Args:
      oldpath: The file to copy.
      newpath: The path of the copy.
      overwrite: Whether to replace what is at `newpath`; if False that is an AlreadyExistsError.

    Example: ``tf.gfile.Copy("/tmp/model/notes.txt", "/tmp/notes.txt")``
    """
    old, new = path_text(oldpath), path_text(newpath)
    _refuse_existing(new, overwrite)
    if is_remote(old) or is_remote(new):
        return _copy_contents(old, new)
    with file_errors(old):
        shutil.copyfile(old, new)


def _copy_contents(old: str, new: str) -> None:
    with open_file(old, "rb") as source, open_file(new, "wb") as target:
        shutil.copyfileobj(source, target)


def _refuse_existing(path: str, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {path} (overwrite=True replaces it)")


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:  # noqa: N802 (TensorFlow's name)
    """Each folder from `top` down (or, not `in_order`, from the deepest up): its path, its folders, its files.

    Args:
      top: The folder to start at.
      in_order: Whether a folder comes before those in it; if False it comes after them.

    Returns:
      An iterator over tuples of a path, a list of names of folders and a list of names of files.

    >>> list(tf.gfile.Walk('/no/such/folder'))
    []
    """
    return walk(top, in_order)


# ---- tf.io.gfile: the same under TF2's argument names


def exists(path: Any) -> bool:
    """Whether there is such a file or folder.

    Args:
      path: The path, text, bytes or a path object.

    Returns:
      True or False.

    >>> tf.io.gfile.exists('/no/such/file')
    False
    """
    return Exists(path)


def isdir(path: Any) -> bool:
    """Whether there is such a folder.

    Args:
      path: The path, text, bytes or a path object.

    Returns:
      True or False.

    >>> tf.io.gfile.isdir('/')
    True
    """
    return IsDirectory(path)


def stat(path: Any) -> FileStatistics:
    """Length, time of the last change and whether the path is a folder.

    Args:
      path: The path; NotFoundError if there is nothing.

    Returns:
      A named tuple with ``length``, ``mtime_nsec`` and ``is_directory``.

    >>> tf.io.gfile.stat('/').is_directory
    True
    """
    return Stat(path)


def mkdir(path: Any) -> None:
    """Makes a folder whose parent exists.

    Args:
      path: The path of the new folder.

    Example: ``tf.io.gfile.mkdir("/tmp/model")``
    """
    MkDir(path)


def makedirs(path: Any) -> None:
    """Makes a folder and those above it.

    Args:
      path: The path of the folder; those above it are made too.

    Example: ``tf.io.gfile.makedirs("/tmp/models/first")``
    """
    MakeDirs(path)


def listdir(path: Any) -> list[str]:
    """The names in a folder.

    Args:
      path: The folder; NotFoundError if there is no such folder.

    Returns:
      A list of names, in order.

    Example: ``tf.io.gfile.listdir("/tmp/model")``
    """
    return ListDirectory(path)


def glob_(pattern: Any) -> list[str]:
    """The paths that match a pattern.

    Args:
      pattern: A pattern with ``*``, ``?`` or ``[...]``, or a list of patterns.

    Returns:
      A list of paths; empty if nothing matches.

    >>> tf.io.gfile.glob('/no/such/folder/*.txt')
    []
    """
    return Glob(pattern)


def remove(path: Any) -> None:
    """Removes a file.

    Args:
      path: The path; NotFoundError if there is no such file.

    Example: ``tf.io.gfile.remove("/tmp/model/old.txt")``
    """
    Remove(path)


def rmtree(path: Any) -> None:
    """Removes a folder with all it holds.

    Args:
      path: The folder; NotFoundError if there is nothing.

    Example: ``tf.io.gfile.rmtree("/tmp/model")``
    """
    DeleteRecursively(path)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Renames or moves a file.

    Args:
      src: The present path.
      dst: The new path.
      overwrite: Whether to replace what is at `dst`; if False that is an AlreadyExistsError.

    Example: ``tf.io.gfile.rename("/tmp/model/new.txt", "/tmp/model/notes.txt", overwrite=True)``
    """
    Rename(src, dst, overwrite)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file's contents.

    Args:
      src: The file to copy.
      dst: The path of the copy.
      overwrite: Whether to replace what is at `dst`; if False that is an AlreadyExistsError.

    Example: ``tf.io.gfile.copy("/tmp/model/notes.txt", "/tmp/notes.txt")``
    """
    Copy(src, dst, overwrite)


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[OSError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder from `top` down, or up to it: its path, its folders, its files.

    Args:
      top: The folder to start at.
      topdown: Whether a folder comes before those in it; if False it comes after them.
      onerror: A function to call with the OSError of a folder that cannot be listed; None to leave such folders out.

    Returns:
      An iterator over tuples of a path, a list of names of folders and a list of names of files.

    >>> list(tf.io.gfile.walk('/no/such/folder'))
    []
    """
    path = path_text(top)
    if is_remote(path):
        yield from remote_file.Walk(path, topdown)
        return
    for folder, folders, files in os.walk(path, topdown=topdown, onerror=onerror):
        folders.sort()
        yield folder, list(folders), sorted(files)
