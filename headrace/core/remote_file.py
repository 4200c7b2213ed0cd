"""Files on other file systems (``memory://``, ``s3://`` ...) through fsspec, under the names of ``tf.gfile``, with TF1's errors.

`file` and ``tf.gfile`` send every path with a scheme here; fsspec and the package for the scheme are imported when one is
first used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from headrace.core import errors

_BY_TYPE: tuple[tuple[type[OSError], Callable[..., errors.OpError]], ...] = (
    (FileNotFoundError, errors.NotFoundError),
    (FileExistsError, errors.AlreadyExistsError),
    (PermissionError, errors.PermissionDeniedError),
    (IsADirectoryError, errors.FailedPreconditionError),
    (NotADirectoryError, errors.FailedPreconditionError),
    (OSError, errors.UnknownError),
)


class FileStatistics(NamedTuple):
    """What `Stat` tells of a path."""

    length: int
    mtime_nsec: int
    is_directory: bool


def _system(url: str) -> tuple[Any, str]:
    """The file system of `url`, and the path there; UnimplementedError, with what to install, if there is none."""
    scheme = url.partition("://")[0]
    unknown = f"File system scheme '{scheme}' not implemented (file: '{url}')"
    try:
        from fsspec.core import url_to_fs
        from fsspec.registry import known_implementations
    except ImportError:
        message = f"{unknown}: it needs fsspec: pip install fsspec"
        raise errors.UnimplementedError(None, None, message) from None
    try:
        system, path = url_to_fs(url)
    except ImportError as error:
        package = error.name or known_implementations[scheme]["class"].partition(".")[0]
        raise errors.UnimplementedError(None, None, f"{unknown}: it needs {package}: pip install {package}") from None
    except ValueError as error:
        raise errors.UnimplementedError(None, None, f"{unknown}: {error}") from None
    return system, path


def _with_errors(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """Raises TF1's errors in place of those of `wrapped`, whose first argument is a URL."""

    @functools.wraps(wrapped)
    def call(url: str, *args: Any) -> Any:
        try:
            return wrapped(*_system(url), *args)
        except OSError as error:
            make = next(make for error_class, make in _BY_TYPE if isinstance(error, error_class))
            raise make(None, None, f"{url}; {error.strerror or error}") from None

    return call


def _url(system: Any, path: str) -> str:
    scheme = system.protocol if isinstance(system.protocol, str) else system.protocol[0]
    return f"{scheme}://{path.lstrip('/')}"


@_with_errors
def opened(system: Any, path: str, mode: str) -> IO[bytes]:
    """The file, opened for reading (``rb``), writing (``wb``), appending (``ab``) or making (``xb``)."""
    if mode == "xb":
        if system.exists(path):
            raise FileExistsError("File exists")
        mode = "wb"
    file: IO[bytes] = system.open(path, mode)
    return file


@_with_errors
def Exists(system: Any, path: str) -> bool:  # noqa: N802 (TensorFlow's name)
    """Whether there is such a file or folder."""
    return bool(system.exists(path))


@_with_errors
def IsDirectory(system: Any, path: str) -> bool:  # noqa: N802 (TensorFlow's name)
    """Whether there is such a folder."""
    return bool(system.isdir(path))


@_with_errors
def Stat(system: Any, path: str) -> FileStatistics:  # noqa: N802 (TensorFlow's name)
    """Length, time of the last change (zero if the system keeps none) and whether the path is a folder."""
    info = system.info(path)
    try:
        changed = int(system.modified(path).timestamp() * 1e9)
    except (NotImplementedError, OSError):
        changed = 0
    return FileStatistics(info["size"] or 0, changed, info["type"] == "directory")


@_with_errors
def MkDir(system: Any, path: str) -> None:  # noqa: N802 (TensorFlow's name)
    """Makes a folder; no harm if it is there already."""
    if not system.exists(path):
        system.mkdir(path, create_parents=False)


@_with_errors
def MakeDirs(system: Any, path: str) -> None:  # noqa: N802 (TensorFlow's name)
    """Makes a folder and those above it; no harm if they are there already."""
    system.makedirs(path, exist_ok=True)


@_with_errors
def ListDirectory(system: Any, path: str) -> list[str]:  # noqa: N802 (TensorFlow's name)
    """The names in a folder, in order."""
    if not system.isdir(path):
        raise FileNotFoundError("Could not find directory")
    return sorted(name.rstrip("/").rpartition("/")[2] for name in system.ls(path, detail=False))


@_with_errors
def Glob(system: Any, path: str) -> list[str]:  # noqa: N802 (TensorFlow's name)
    """The URLs that match a pattern, in order."""
    return [_url(system, one) for one in sorted(system.glob(path))]


@_with_errors
def Remove(system: Any, path: str) -> None:  # noqa: N802 (TensorFlow's name)
    """Removes a file."""
    if system.isdir(path):
        raise IsADirectoryError("Is a directory")
    system.rm_file(path)


@_with_errors
def Replace(system: Any, path: str, new: str) -> None:  # noqa: N802 (beside TensorFlow's names)
    """Gives a file another name on the same system, in the place of a file that has it."""
    target, new_path = _system(new)
    if target is not system:
        raise OSError(f"cannot rename it to {new}, which is on another file system")
    if system.exists(new_path):
        system.rm_file(new_path)
    system.mv(path, new_path)


@_with_errors
def DeleteRecursively(system: Any, path: str) -> None:  # noqa: N802 (TensorFlow's name)
    """Removes a folder with all it holds, or a file."""
    if not system.exists(path):
        raise FileNotFoundError("not found")
    system.rm(path, recursive=True)


@_with_errors
def Walk(system: Any, path: str, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:  # noqa: N802 (TensorFlow's name)
    """Each folder from `path` down, or up to it: its URL, its folders, its files."""
    folders = [(_url(system, at), sorted(below), sorted(files)) for at, below, files in system.walk(path)]
    return iter(folders if in_order else folders[::-1])
