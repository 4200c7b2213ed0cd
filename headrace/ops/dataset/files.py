"""Datasets of records in files."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import string
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.ops.dataset.declare import described
from headrace.resources.data.files import FixedLengthRecords, Lines, TFRecords


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
