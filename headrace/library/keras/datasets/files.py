"""Where the files of data sets are, and what they hold.  Nothing is downloaded: the error says which file to put where."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import numpy as np

from headrace.library.keras.datasets.plain_pickle import read_pickle

FOLDER = os.path.join("~", ".keras", "datasets")
ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def data_path(path: str, origin: str) -> str:
    """The path of a data set's file or folder, which must be there.

    Args:
      path: Its path, or its name in ``~/.keras/datasets``.
      origin: Where it comes from, for the error.

    Returns:
      The path; FileNotFoundError if it does not exist.

    Example: ``data_path("mnist.npz", ORIGIN + "mnist.npz")``
    """
    own = os.path.join(os.path.expanduser(FOLDER), path)
    for candidate in (own, path):
        if os.path.exists(candidate):
            return candidate
    raise FileNotFoundError(f"{own} does not exist, and nothing is downloaded: put {origin} there, or pass its path")


def read_npz(path: str, names: tuple[str, ...]) -> list[np.ndarray]:
    """Arrays of a file that ``numpy.savez`` has written; those of lists are read without running what the file says.

    Args:
      path: The path of the file.
      names: The names of the arrays.

    Returns:
      The arrays, in the order of the names; ValueError if one is missing or damaged.

    Example: ``x, y = read_npz("boston_housing.npz", ("x", "y"))``
    """
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not a file that numpy.savez has written: it is no zip archive")
    with zipfile.ZipFile(path) as archive:
        if missing := [name for name in names if f"{name}.npy" not in archive.namelist()]:
            raise ValueError(f"{path} has no array {missing[0]!r}; it has {', '.join(archive.namelist())}")
        return [_read_array(archive, name, path) for name in names]


def _read_array(archive: zipfile.ZipFile, name: str, path: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        if dtype.hasobject:
            array = read_pickle(file.read(), f"{path}: {name}")
            if not isinstance(array, np.ndarray) or array.shape != shape:
                raise ValueError(f"{path}: {name} is not an array of shape {shape}")
            return array
    with archive.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def read_json(path: str) -> Any:
    """What a JSON file holds.

    Args:
      path: The path of the file.

    Returns:
      A dict or a list.

    Example: ``read_json("imdb_word_index.json")``
    """
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def shuffled(seed: int, *arrays: np.ndarray) -> list[np.ndarray]:
    """Arrays in one random order, which the seed decides.

    Args:
      seed: The seed.
      *arrays: Arrays of one length.

    Returns:
      The arrays.

    >>> from headrace.library.keras.datasets.files import shuffled
    >>> shuffled(0, np.arange(4), np.arange(4))
    [array([2, 3, 1, 0]), array([2, 3, 1, 0])]
    """
    order = np.arange(len(arrays[0]))
    np.random.RandomState(seed).shuffle(order)
    return [array[order] for array in arrays]
