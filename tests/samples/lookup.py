"""Samples of the ops on lookup tables."""

from pathlib import Path

import numpy as np
from sample_forms import plain as s
from sample_forms import wrong

from headrace.core import dtypes
from headrace.core.errors import FailedPreconditionError, NotFoundError, UnimplementedError
from headrace.graph import raw_ops
from headrace.library.testing.opcheck import Sample

S, I64, F = dtypes.string, dtypes.int64, dtypes.float32
WORDS = np.array([b"a", b"bc", b"d"], object)
IDS = np.array([1, 2, 3], np.int64)
HERE = np.array(str(Path(__file__)).encode(), object)
_TYPES = {"key_dtype": S, "value_dtype": I64}


def fixed():
    return raw_ops.HashTableV2(key_dtype=S, value_dtype=I64)


def mutable():
    return raw_ops.MutableHashTableV2(key_dtype=S, value_dtype=I64)


def vectors():
    return raw_ops.MutableHashTableOfTensorsV2(key_dtype=I64, value_dtype=F, value_shape=[2])


def strings():
    return raw_ops.HashTableV2(key_dtype=I64, value_dtype=S)


ROWS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
_CHANGES = [
    s(mutable, WORDS, IDS),
    s(vectors, IDS, ROWS),
    wrong(mutable, IDS, IDS),
    wrong(mutable, WORDS, IDS[:2]),
]

SAMPLES: dict[str, list[Sample]] = {
    "HashTableV2": [s(**_TYPES), s(key_dtype=I64, value_dtype=S, shared_name="shared")],
    "MutableHashTableV2": [s(**_TYPES)],
    "MutableHashTableOfTensorsV2": [s(**_TYPES, value_shape=[2])],
    "MutableDenseHashTableV2": [s(np.int64(-1), np.int64(-2), key_dtype=I64, value_dtype=F)],
    "InitializeTableV2": [
        s(fixed, WORDS, IDS),
        s(strings, IDS, WORDS),
        wrong(fixed, IDS, IDS),
        wrong(fixed, WORDS, IDS[:2], error=ValueError),
        wrong(fixed, WORDS[[0, 0]], IDS[:2], error=FailedPreconditionError),
    ],
    "InitializeTableFromTextFileV2": [
        s(fixed, HERE, key_index=-2, value_index=-1, vocab_size=1),
        s(strings, HERE, key_index=-1, value_index=0, delimiter=" "),
        wrong(fixed, np.array(b"/nowhere", object), key_index=-2, value_index=-1, error=NotFoundError),
        wrong(fixed, HERE, key_index=0, value_index=50, vocab_size=1),
        wrong(fixed, HERE, key_index=-2, value_index=-1, vocab_size=100000),
        wrong(fixed, HERE, key_index=-3, value_index=-1, error=ValueError),
    ],
    "LookupTableFindV2": [
        s(mutable, WORDS, np.int64(-1)),
        s(mutable, WORDS.reshape(3, 1)[:0], np.int64(-1)),
        s(mutable, WORDS, IDS),
        s(vectors, IDS.reshape(1, 3), np.float32([7, 8])),
        wrong(fixed, WORDS, np.int64(-1), error=FailedPreconditionError),
        wrong(mutable, IDS, np.int64(-1)),
        wrong(vectors, IDS, np.float32([7, 8, 9])),
    ],
    "LookupTableSizeV2": [s(mutable), s(fixed)],
    "LookupTableExportV2": [s(mutable, Tkeys=S, Tvalues=I64), s(vectors, Tkeys=I64, Tvalues=F)],
    "LookupTableInsertV2": [*_CHANGES, wrong(fixed, WORDS, IDS, error=UnimplementedError)],
    "LookupTableImportV2": [*_CHANGES, s(fixed, WORDS, IDS)],
    "LookupTableRemoveV2": [s(mutable, WORDS), wrong(fixed, WORDS, error=UnimplementedError)],
}
