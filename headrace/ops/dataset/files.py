"""Datasets of records in files."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from headrace.core.dtypes import float32, float64, int32, int64, string
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import REGISTRY, op
from headrace.core.shape import TensorShape
from headrace.ops.dataset.declare import dataset, described
from headrace.resources.calling.invoke import find_kernel
from headrace.resources.data.files import CsvRecords, FixedLengthRecords, Lines, TFRecords
from headrace.resources.data.function import Map


def _files(signature, make):
    """Declares an op whose elements are strings; TensorFlow does not write their type and shape."""
    definition = op(f"{signature} -> (handle: variant)", host=True)
    definition.not_differentiable()
    definition.shape(lambda *arguments: ())

    @definition.kernel
    def _(*arguments, node):
        stage = described(make(*arguments), node, (string,), (TensorShape([]),))
        return stage


def _names(filenames):
    if filenames.ndim > 1:
        raise InvalidArgumentError(None, None, "`filenames` must be a scalar or a vector.")
    return list(np.ravel(filenames))


_TEXT = "filenames: string, compression_type: string, buffer_size: host int64"
_files(f"TextLineDataset({_TEXT})", lambda names, packing, size: Lines(_names(names), packing.item().decode()))
_files(f"TFRecordDataset({_TEXT})", lambda names, packing, size: TFRecords(_names(names), packing.item().decode()))
_files(
    "FixedLengthRecordDatasetV2(filenames: string, header_bytes: host int64, record_bytes: host int64, footer_bytes: host "
    "int64, buffer_size: host int64, compression_type: string)",
    lambda names, header, record, footer, size, packing: FixedLengthRecords(
        _names(names), packing.item().decode(), header, record, footer
    ),
)


@dataset(
    "CSVDataset(filenames: string, compression_type: string, buffer_size: host int64, header: host bool, field_delim: string, "
    "use_quote_delim: host bool, na_value: string, select_cols: host int64[1], record_defaults: list(output_types); "
    "output_shapes: list(shape) >= 1)",
    keeps=True,
    output_types=(float32, float64, int32, int64, string),
)
def _(
    filenames, compression_type, header, field_delim, use_quote_delim, na_value, select_cols, record_defaults
):  # fmt: skip
    delimiter = field_delim.item().decode()
    if len(delimiter) != 1:
        raise InvalidArgumentError(None, None, "field_delim should be only 1 char")
    if select_cols and len(select_cols) != len(record_defaults):
        raise InvalidArgumentError(None, None, "select_cols should match output size")
    if any(b <= a for a, b in pairwise(select_cols)) or any(c < 0 for c in select_cols):
        raise InvalidArgumentError(None, None, "select_cols should be strictly increasing indices")
    decode = find_kernel(REGISTRY.get("DecodeCSV"), "cpu", {}).call
    settings = (list(record_defaults), delimiter, use_quote_delim, na_value.item().decode(), list(select_cols))

    blank = np.array(delimiter.encode(), object)  # begins with a field that is empty

    def columns(record):
        try:
            if not record.item() and len(record_defaults) == 1 and not any(select_cols):
                return tuple(decode(blank, *settings[:-1], [0]))
            return tuple(decode(record, *settings))
        except ValueError as e:
            raise InvalidArgumentError(None, None, str(e)) from None

    packing = compression_type.item().decode()
    return Map(CsvRecords(_names(filenames), packing, header, delimiter.encode(), use_quote_delim), columns)
