"""Files beside a program (``tf.resource_loader``)."""

from __future__ import annotations

import os
import sys


def _beside(depth: int) -> str:
    name = sys._getframe(depth + 1).f_globals.get("__file__") or sys.argv[0]
    return os.path.dirname(os.path.abspath(name))


def get_data_files_path() -> str:
    """The folder of the calling module."""
    return _beside(1)


def get_path_to_datafile(path: str) -> str:
    """`path`, taken from the folder of the calling module."""
    return os.path.join(_beside(1), path)


def get_root_dir_with_all_resources() -> str:
    """The folder of the calling module: programs are not packed into one archive."""
    return _beside(1)


def load_resource(path: str) -> bytes:
    """The bytes of a file, found from the folder of the calling module; OSError if it cannot be read."""
    with open(os.path.join(_beside(1), path), "rb") as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """`path`: the system reads ahead by itself."""
    return path
