"""Files of this machine, opened for reading: plain or compressed, with TensorFlow's errors."""

from __future__ import annotations

import errno
import io
import zlib
from collections.abc import Callable
from typing import IO, Any, Final

from headrace.core import errors

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
    errno.EMFILE: errors.ResourceExhaustedError,
}

_WINDOW_BITS: Final = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}
_PIECE: Final = 1 << 16  # bytes of compressed data that are read together


def file_error(error: OSError, path: str) -> errors.OpError:
    """The error of the canonical code that fits ``error``."""
    make = _BY_ERRNO.get(error.errno, errors.UnknownError)
    return make(None, None, f"{path}; {error.strerror or error}")


def local_path(path: str) -> str:
    """The path without ``file://``; UnimplementedError if it names another file system, which only ``tf.gfile`` reaches."""
    path = path.removeprefix("file://")
    if "://" in path:
        raise errors.UnimplementedError(
            None, None, f"{path} is not on this machine's file system; tf.gfile opens other schemes"
        )
    return path


def open_to_read(path: str, compression: str = "") -> IO[bytes]:
    """The file's bytes, or what they are the compressed form of: ``compression`` is "", "ZLIB" or "GZIP"."""
    local = local_path(path)
    try:
        file = open(local, "rb")  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise file_error(error, path) from None
    return io.BufferedReader(_Inflated(file, path, _WINDOW_BITS[compression])) if compression else file


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
            packed = self._inflate.unused_data or self._file.read(_PIECE)
            if not packed:
                return 0
            if self._inflate.eof:  # a file may hold several compressed parts, one after another
                self._inflate = zlib.decompressobj(self._window_bits)
            try:
                self._data = memoryview(self._inflate.decompress(packed))
            except zlib.error as error:
                message = f"{self._path}: the compressed data is damaged: {error}"
                raise errors.DataLossError(None, None, message) from None
        count = min(len(buffer), len(self._data))
        buffer[:count] = self._data[:count]
        self._data = self._data[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
