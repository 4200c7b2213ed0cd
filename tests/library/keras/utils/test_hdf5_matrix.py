"""Parts of HDF5 files, with something in the place of h5py that refuses what h5py refuses."""

import sys
import types

import numpy as np
import pytest

import headrace as tf

DATA = np.arange(20.0).reshape(10, 2)


class Dataset:
    shape, dtype = DATA.shape, DATA.dtype

    def __getitem__(self, rows):
        assert not isinstance(rows, list) or (all(b > a for a, b in zip(rows, rows[1:], strict=False)))  # as h5py wants
        return DATA[rows]


@pytest.fixture
def matrix(monkeypatch):
    opened = []
    fake = types.SimpleNamespace(File=lambda path, mode: opened.append((path, mode)) or {"x": Dataset()})
    monkeypatch.setitem(sys.modules, "h5py", fake)
    monkeypatch.setattr(tf.keras.utils.HDF5Matrix, "refs", {})

    def make(**options):
        return tf.keras.utils.HDF5Matrix("data.h5", "x", **options)

    make.opened = opened
    return make


def test_rows_of_a_part(matrix):
    part = matrix(start=2, end=8)
    assert (len(part), part.shape, part.ndim, part.size, part.dtype) == (6, (6, 2), 2, 12, np.float64)
    for key in (0, -1, slice(1, 3), slice(None), slice(-2, None), [3, 0, 3], np.arange(6) % 2 == 0):
        np.testing.assert_array_equal(part[key], DATA[2:8][key])
    with pytest.raises(IndexError, match="row 6 is not among the 6 rows"):
        part[[1, 6]]


def test_the_file_is_opened_once_and_read_normalized(matrix):
    matrix()
    assert matrix(normalizer=lambda x: x * 2)[3].tolist() == [12, 14]
    assert matrix.opened == [("data.h5", "r")]


def test_h5py_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="HDF5 files need h5py: pip install h5py"):
        tf.keras.utils.HDF5Matrix("data.h5", "x")
