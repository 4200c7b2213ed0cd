"""A part of an HDF5 file as an array that is read when it is asked for."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from headrace.library.keras.saving.hdf5_file import h5py_module


class HDF5Matrix:
    """Rows `start` to `end` of a dataset in an HDF5 file, which a model takes in place of an array.

    Needs h5py.

    Args:
      datapath: The path of the file.
      dataset: The name of the dataset in the file.
      start: The first row.
      end: The row behind the last one; None for all to the end.
      normalizer: A function that is called with what was read, and whose result is used; None for none.

    Example: ``x = tf.keras.utils.HDF5Matrix("data.h5", "images", start=0, end=1000)``
    """

    refs: ClassVar[dict[str, Any]] = {}  # open files by path: several matrices of one file share it

    def __init__(
        self, datapath: str, dataset: str, start: int = 0, end: int | None = None, normalizer: Any = None
    ) -> None:
        h5py = h5py_module()
        if datapath not in self.refs:
            self.refs[datapath] = h5py.File(datapath, "r")
        self.data = self.refs[datapath][dataset]
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            rows: Any = slice(start + self.start, stop + self.start, step)
        elif isinstance(key, int | np.integer):
            rows = self._row(int(key))
        else:
            numbers = np.asarray(key)
            if numbers.dtype == bool:
                numbers = np.flatnonzero(numbers)
            rows = [self._row(int(one)) for one in numbers]
        values = self._read(rows)
        return values if self.normalizer is None else self.normalizer(values)

    def _row(self, number: int) -> int:
        if not -len(self) <= number < len(self):
            raise IndexError(f"row {number} is not among the {len(self)} rows of this part of the dataset")
        return self.start + number % len(self)

    def _read(self, rows: Any) -> Any:
        """What is at the rows; a list may be in any order, which h5py refuses, and hold a row twice."""
        if not isinstance(rows, list):
            return self.data[rows]
        distinct, places = np.unique(np.asarray(rows, dtype=np.int64), return_inverse=True)
        return self.data[distinct.tolist()][places]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows of this part, and the shape of a row."""
        return (len(self), *self.data.shape[1:])

    @property
    def dtype(self) -> Any:
        """The type of the numbers in the file."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.data.shape)

    @property
    def size(self) -> int:
        """How many numbers this part has."""
        return int(np.prod(self.shape))
