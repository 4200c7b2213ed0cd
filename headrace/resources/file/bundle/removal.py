"""Removing data files without waiting until the disk has freed them, which can take longer than writing them took."""

from __future__ import annotations

import os
import threading
from typing import IO

from headrace.core import errors, file

_LARGE = 1 << 26  # bytes from which freeing them is left to a thread


def remove_data(path: str) -> None:
    """Removes a file.  Its name is gone when this returns; the blocks of a large one are freed by a thread."""
    opened = _opened(path)
    try:
        file.remove(path)
    except BaseException:
        if opened is not None:
            opened.close()
        raise
    if opened is None:
        return
    if opened.seek(0, os.SEEK_END) < _LARGE:
        opened.close()
    else:  # the last one to close an unlinked file waits until its blocks are free
        threading.Thread(target=opened.close, name="free_blocks", daemon=True).start()


def _opened(path: str) -> IO[bytes] | None:
    """The file, held open; None on other file systems, and where it may be removed but not read."""
    if file.is_remote(path):
        return None
    try:
        return file.open_file(path, "rb", 0)
    except errors.OpError:
        return None
