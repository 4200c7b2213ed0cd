"""contrib.learn.datasets.base: small data sets from files of comma-separated values."""

from __future__ import annotations

import csv
import io
import os
from typing import Any, NamedTuple

import numpy as np

from headrace.core import file
from headrace.core.source import at
from headrace.library.compat import as_str_any


class Dataset(NamedTuple):
    """Features, one row for each example, and what is to be predicted."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """The parts of a data set."""

    train: Any
    validation: Any
    test: Any


def load_csv_with_header(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """Reads a file whose first line says how many examples and features there are.

    Args:
      filename: The path of the file.
      target_dtype: The numpy type of what is to be predicted.
      features_dtype: The numpy type of the features.
      target_column: The number of the column to be predicted; -1 for the last.

    Returns:
      A `Dataset` with the arrays `data` [examples, features] and `target` [examples].

    Example: ``tf.contrib.learn.datasets.base.load_csv_with_header("iris_training.csv", np.int32, np.float32)``
    """
    rows = _rows(filename)
    if len(rows[0]) < 2 or not all(field.strip().isdigit() for field in rows[0][:2]):
        raise ValueError(
            f"{filename}: the first line must begin with the numbers of examples and features, got {rows[0]} {at()}"
        )
    examples, features = int(rows[0][0]), int(rows[0][1])
    if len(rows) - 1 != examples:
        raise ValueError(f"{filename}: the first line says {examples} examples, but {len(rows) - 1} follow {at()}")
    dataset = _dataset(filename, rows[1:], target_dtype, features_dtype, target_column)
    if dataset.data.shape[1] != features:
        raise ValueError(
            f"{filename}: the first line says {features} features, but rows have {dataset.data.shape[1]} {at()}"
        )
    return dataset


def load_csv_without_header(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """Reads a file of which every line is an example.

    Args:
      filename: The path of the file.
      target_dtype: The numpy type of what is to be predicted.
      features_dtype: The numpy type of the features.
      target_column: The number of the column to be predicted; -1 for the last.

    Returns:
      A `Dataset` with the arrays `data` [examples, features] and `target` [examples].

    Example: ``tf.contrib.learn.datasets.base.load_csv_without_header("boston.csv", np.float32, np.float32)``
    """
    return _dataset(filename, _rows(filename), target_dtype, features_dtype, target_column)


def _rows(filename: Any) -> list[list[str]]:
    with file.open_to_read(as_str_any(filename)) as stream:
        text = stream.read().decode()
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    if not rows:
        raise ValueError(f"{filename} is empty {at()}")
    return rows


def _dataset(filename: Any, rows: list[list[str]], target_dtype: Any, features_dtype: Any, column: int) -> Dataset:
    targets, features = [], []
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ValueError(f"{filename}: example {number} has {len(row)} fields, the first one {len(rows[0])} {at()}")
        fields = list(row)
        targets.append(fields.pop(column))
        features.append(fields)
    data = np.asarray(features, dtype=features_dtype)
    if np.issubdtype(np.dtype(target_dtype), np.integer):
        return Dataset(data, np.asarray([int(float(t)) for t in targets], dtype=target_dtype))
    return Dataset(data, np.asarray(targets, dtype=target_dtype))


def maybe_download(filename: str, work_directory: Any, source_url: str) -> str:
    """The path of a file of a data set; nothing is downloaded: a file that is not there is an error that says where to put it.

    Args:
      filename: The name of the file.
      work_directory: The folder; it is made.
      source_url: Where the file can be had.

    Returns:
      The path.

    Example: ``path = tf.contrib.learn.datasets.base.maybe_download("iris.csv", "data", "https://example.org/iris.csv")``
    """
    path = os.path.join(work_directory, filename)
    if not os.path.exists(path):
        os.makedirs(work_directory, exist_ok=True)
        raise FileNotFoundError(
            f"{path} does not exist, and nothing is downloaded: put the file from {source_url} there {at()}"
        )
    return path
