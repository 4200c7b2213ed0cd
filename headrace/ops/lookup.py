"""Lookup tables: handles, initialisation from tensors and files, look-ups, changes.  Everything runs on the host."""

from __future__ import annotations

import math
import os

import numpy as np
import torch

from headrace.core import errors
from headrace.core.dtypes import ANY, DType, float32, float64, int32, int64, resource, string, variant
from headrace.core.file import open_to_read
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.ops.shared.string_array import array_of, on_host
from headrace.resources.calling.value import FROM_TORCH, TORCH_DTYPES
from headrace.resources.state.table import Table

_QUICK = (int64, int32, float32, float64)
_WHOLE = (int64, int32)
HELD = tuple(t for t in ANY if t not in (resource, variant))

# ---- handles

_HANDLE = (
    'container: string = "", shared_name: string = "", use_node_name_sharing: bool = False, key_dtype: type,'
    " value_dtype: type"
)


def _table(name, inputs="", options="", fixed=False):
    definition = op(
        f"{name}({inputs}; {_HANDLE}{options}) -> (table_handle: resource[0])",
        key_dtype=HELD, value_dtype=HELD, handle=True, stateful=True, host=True,
    )  # fmt: skip

    @definition.state
    def _(context):
        attrs = context.attrs
        shape = attrs.get("value_shape", TensorShape([])).tuple
        if shape is None or None in shape:
            raise errors.InvalidArgumentError(
                None, None, f"value_shape must be fully known, got {attrs['value_shape']}"
            )
        dtypes = attrs["key_dtype"], attrs["value_dtype"]
        table = context.resource(
            Table, lambda: Table(context.name, *dtypes, fixed, shape), by_node_name=attrs["use_node_name_sharing"]
        )
        if (table.key_dtype, table.value_dtype) != dtypes:
            raise errors.InvalidArgumentError(
                None, None,
                f"Conflicting key/value dtypes {dtypes[0].name}->{dtypes[1].name} with {table.key_dtype.name}->"
                f"{table.value_dtype.name} for table {attrs['shared_name'] or context.name}",
            )  # fmt: skip
        return table


_table("HashTableV2", fixed=True)
_table("MutableHashTableV2")
_table("MutableHashTableOfTensorsV2", options=", value_shape: shape = []")
_table(
    "MutableDenseHashTableV2", "empty_key: key_dtype[1-], deleted_key: key_dtype",
    ", value_shape: shape = [], initial_num_buckets: int = 131072, max_load_factor: float = 0.8",
)  # fmt: skip

# ---- between arrays and what tables hold


def _dtype(value):
    return string if isinstance(value, np.ndarray) else FROM_TORCH[value.dtype]


def _items(value, width=()):
    """The elements of an array in a list; those of shape ``width`` as tuples."""
    if not width:
        return value.tolist() if value.ndim == 1 else value.reshape(-1).tolist()
    count = math.prod(value.shape[: value.ndim - len(width)])
    rows = value.reshape(count, math.prod(width))
    return [tuple(row) for row in (rows if isinstance(rows, np.ndarray) else rows.tolist())]


def _array(items, dtype, shape):
    """The inverse of ``_items``."""
    flat = [v for item in items for v in item] if items and isinstance(items[0], tuple) else items
    if dtype is string:
        return array_of(flat, shape)
    if dtype in _QUICK:
        numbers = np.fromiter(flat, dtype.as_numpy_dtype, len(flat))
        tensor = torch.from_numpy(numbers)
        return tensor if len(shape) == 1 else tensor.reshape(shape)
    return torch.tensor(flat, dtype=TORCH_DTYPES[dtype]).reshape(shape)


# ---- filling

initialize = op(
    "InitializeTableV2(table_handle: resource, keys: Tkey, values: Tval) -> ()", Tkey=HELD, Tval=HELD, stateful=True,
    host=True,
)  # fmt: skip


@initialize.shape
def _(table_handle, keys, values):
    keys.with_rank(1).assert_is_compatible_with(values)
    return []


@initialize.kernel
def _(table_handle, keys, values):
    table_handle.check(_dtype(keys), _dtype(values))
    if tuple(keys.shape) != tuple(values.shape):
        raise ValueError(f"Keys and values must have the same shape, got {list(keys.shape)} and {list(values.shape)}")
    table_handle.initialize(_items(keys), _items(values))


WHOLE_LINE, LINE_NUMBER = -2, -1

from_file = op(
    "InitializeTableFromTextFileV2(table_handle: resource, filename: string; key_index: int, value_index: int,"
    ' vocab_size: int = -1, delimiter: string = "\\t", offset: int = 0) -> ()',
    stateful=True, host=True,
)  # fmt: skip


@from_file.shape
def _(table_handle, filename, key_index, value_index, vocab_size, delimiter, offset):
    filename.with_rank(0)
    if min(key_index, value_index) < WHOLE_LINE:
        raise ValueError(f"key_index and value_index must be at least -2, got {key_index} and {value_index}")
    if len(delimiter) != 1:
        raise ValueError(f"delimiter must be only 1 char, got {delimiter!r}")
    return []


def _column(line, number, index, delimiter, dtype, path):
    if index == LINE_NUMBER:
        return number
    text = line
    if index != WHOLE_LINE:
        columns = line.split(delimiter)
        if index >= len(columns):
            raise ValueError(
                f"Invalid number of columns in {path} line {number} ({line.decode('utf-8', 'replace')}) : expected at least "
                f"{index + 1} got {len(columns)}"
            )
        text = columns[index]
    if dtype is string:
        return text
    try:
        return int(text) if dtype.is_integer else float(text)
    except ValueError:
        raise ValueError(
            f"Field {text.decode('utf-8', 'replace')} in line {number} is not a valid {dtype.name}."
        ) from None


@from_file.kernel
def _(table_handle, filename, key_index, value_index, vocab_size, delimiter, offset):
    path = os.fsdecode(filename[()])
    with open_to_read(path) as file:
        lines = [line.rstrip(b"\r\n") for line in file][offset:]
    if vocab_size >= 0:
        if len(lines) < vocab_size:
            raise ValueError(f"Invalid vocab_size in {path}: expected {vocab_size} but got {len(lines)}")
        lines = lines[:vocab_size]
    pairs = [
        (
            _column(line, i, key_index, delimiter.encode(), table_handle.key_dtype, path),
            _column(line, i, value_index, delimiter.encode(), table_handle.value_dtype, path),
        )
        for i, line in enumerate(lines)
    ]
    table_handle.initialize([k for k, _ in pairs], [v for _, v in pairs])


# ---- looking up

find = op(
    "LookupTableFindV2(table_handle: resource, keys: Tin, default_value: Tout) -> (values: Tout)",
    Tin=HELD, Tout=HELD, stateful=True, reads=True, host=True,
)  # fmt: skip
find.not_differentiable()


@find.shape
def _(table_handle, keys, default_value):
    return keys if default_value.ndims == 0 else None  # else it is a vector, or there is one default for each key


@find.kernel
def _(table_handle, keys, default_value):
    key_dtype, dtype = _dtype(keys), _dtype(default_value)
    table_handle.check(key_dtype, dtype)
    width = table_handle.value_shape
    if not width and not default_value.ndim:  # the usual case, and a quick one
        default = default_value.item()
        if key_dtype is not string and key_dtype in _WHOLE and dtype in _QUICK:
            values = table_handle.find_numbers(keys.numpy(), default)
            if values is not None:
                return torch.from_numpy(values)
        return _array(table_handle.find(_items(keys), default), dtype, keys.shape)
    shape = (*keys.shape, *width)
    if tuple(default_value.shape) == width:
        default = _items(default_value, width)[0]
    elif tuple(default_value.shape) == shape:
        default = _items(default_value, width)
    else:
        raise ValueError(
            f"Expected shape {list(width)} or {list(shape)} for default value, got {list(default_value.shape)}"
        )
    return _array(table_handle.find(_items(keys), default), dtype, shape)


size = op("LookupTableSizeV2(table_handle: resource) -> (size: int64[0])", stateful=True, reads=True, host=True)
on_host(size, lambda table_handle: np.array(len(table_handle)))

export = op(
    "LookupTableExportV2(table_handle: resource; Tkeys: type, Tvalues: type) -> (keys: Tkeys, values: Tvalues)",
    Tkeys=HELD, Tvalues=HELD, stateful=True, reads=True, host=True, dynamic_shape=True,
)  # fmt: skip
export.not_differentiable()
export.shape(lambda table_handle, Tkeys, Tvalues: [(None,), None])


def _plain(dtype):
    return dtype if isinstance(dtype, DType) else FROM_TORCH[dtype]


@export.kernel
def _(table_handle, Tkeys, Tvalues):
    key_dtype, value_dtype = _plain(Tkeys), _plain(Tvalues)
    table_handle.check(key_dtype, value_dtype)
    keys, values = table_handle.export()
    shape = (len(keys), *table_handle.value_shape)
    return _array(keys, key_dtype, (len(keys),)), _array(values, value_dtype, shape)


# ---- changing


def _change(name, change):
    definition = op(
        f"{name}(table_handle: resource, keys: Tin, values: Tout) -> ()", Tin=HELD, Tout=HELD, stateful=True, host=True
    )

    @definition.kernel
    def _(table_handle, keys, values):
        table_handle.check(_dtype(keys), _dtype(values))
        width = table_handle.value_shape
        if tuple(values.shape) != (*keys.shape, *width):
            raise ValueError(f"Expected shape {[*keys.shape, *width]} for value, got {list(values.shape)}")
        change(table_handle, _items(keys), _items(values, width))


def _import(table, keys, values):
    (table.initialize if table.fixed else table.replace)(keys, values)


_change("LookupTableInsertV2", Table.insert)
_change("LookupTableImportV2", _import)

remove = op("LookupTableRemoveV2(table_handle: resource, keys: Tin) -> ()", Tin=HELD, stateful=True, host=True)
remove.kernel(lambda table_handle, keys: table_handle.remove(_items(keys)))
