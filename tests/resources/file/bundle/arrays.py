"""Writing and reading arrays as bundles, for the tests."""

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.resources.file.bundle.opening import open_checkpoint
from headrace.resources.file.bundle.writer import BundleWriter, array_pieces


def write(prefix: str, arrays: dict[str, Any]) -> None:
    with BundleWriter(prefix) as writer:
        for name, array in arrays.items():
            add(writer, name, array)


def add(writer: BundleWriter, name: str, array: Any, part: Any = None) -> None:
    if array.dtype == object:
        writer.add_strings(name, array, part)
    else:
        writer.add(name, dtypes.as_dtype(array.dtype), array.shape, array_pieces(array), part)


def read(prefix: str) -> dict[str, Any]:
    with open_checkpoint(prefix) as checkpoint:
        return {name: checkpoint.read(name) for name in checkpoint.entries}


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert sorted(one) == sorted(other)
    for name, array in one.items():
        assert array.dtype == other[name].dtype, name
        np.testing.assert_array_equal(array, other[name], name)
