"""Files beside a program (``tf.resource_loader``)."""

from __future__ import annotations

import os
import sys


def _beside(depth: int) -> str:
    name = sys._getframe(depth + 1).f_globals.get("__file__") or sys.argv[0]
    return os.path.dirname(os.path.abspath(name))


def get_data_files_path() -> str:
    """The folder of the calling module.

    Returns:
      The path of the folder.

    Example: ``os.path.join(tf.resource_loader.get_data_files_path(), "vocabulary.txt")``
    """
    return _beside(1)


def get_path_to_datafile(path: str) -> str:
    """`path`, taken from the folder of the calling module.

    Args:
      path: A path relative to that folder.

    Returns:
      The whole path; whether the file is there is not checked.

    Example: ``tf.resource_loader.get_path_to_datafile("testdata/vocabulary.txt")``
    """
    return os.path.join(_beside(1), path)


def get_root_dir_with_all_resources() -> str:
    """The folder of the calling module: programs are not packed into one archive.

    Returns:
      The path of the folder.

    Example: ``os.path.join(tf.resource_loader.get_root_dir_with_all_resources(), "testdata")``
    """
    return _beside(1)


def load_resource(path: str) -> bytes:
    """The bytes of a file, found from the folder of the calling module; OSError if it cannot be read.

    Args:
      path: A path relative to that folder.

    Returns:
      The contents of the file, as bytes.

    Example: ``tf.resource_loader.load_resource("testdata/vocabulary.txt")``
    """
    with open(os.path.join(_beside(1), path), "rb") as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """`path`: the system reads ahead by itself.

    Args:
      path: The path of a file.
      readahead: How much TensorFlow would read ahead; not used.

    Returns:
      `path`.

    >>> tf.resource_loader.readahead_file_path('/tmp/data')
    '/tmp/data'
    """
    return path
