"""Samples of tensors as strings."""

import numpy as np
from sample_forms import plain as s
from sample_forms import words, wrong

from headrace.core import dtypes
from headrace.core.tensor_proto import encode
from headrace.library.testing.opcheck import Sample

F = np.array([[1.5, 2.0], [0.25, 3.0]], np.float32)
W = np.array([b"a", b"", b"\xff"], object)
I = np.array([[0, 0], [0, 2], [2, 1]], np.int64)  # noqa: E741
SHAPE = np.array([3, 4], np.int64)
V = np.array([1, 2, 3], np.int32)


PARTS = (encode(I, dtypes.int64), encode(W, dtypes.string), encode(SHAPE, dtypes.int64))
OTHER = (encode(I[:1], dtypes.int64), encode(W[:1], dtypes.string), encode(SHAPE + 1, dtypes.int64))
FLAT = (encode(I[:1, :1], dtypes.int64), encode(W[:1], dtypes.string), encode(SHAPE[:1], dtypes.int64))
_KINDS = (np.float16, np.float32, np.float64, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.complex64, np.bool_)
# The form with one field of values, the last of which stands for the rest: float32 [3] of 1.5, 2, 2.
SHORT = b"\x08\x01\x12\x04\x12\x02\x08\x03\x2a\x08\x00\x00\xc0\x3f\x00\x00\x00\x40"

SAMPLES: dict[str, list[Sample]] = {
    "SerializeTensor": [*[s(F.astype(kind)) for kind in _KINDS], s(W), s(F[:0]), s(np.int64(3))],
    "ParseTensor": [
        *[
            s(words(encode(F.astype(kind), dtypes.as_dtype(kind)), shape=()), out_type=dtypes.as_dtype(kind))
            for kind in _KINDS
        ],
        s(words(encode(W, dtypes.string), shape=()), out_type=dtypes.string),
        s(words(encode(W, dtypes.string, raw_strings=True), shape=()), out_type=dtypes.string),
        s(words(SHORT, shape=()), out_type=dtypes.float32),
        wrong(words(SHORT, shape=()), out_type=dtypes.int32),
        wrong(words(b"\xff\xff", shape=()), out_type=dtypes.int32),
        wrong(words(SHORT), out_type=dtypes.float32),
    ],
    "SerializeSparse": [s(I, V, SHAPE), s(I, W, SHAPE), s(I[:0], V[:0], SHAPE)],
    "SerializeManySparse": [s(I, V, SHAPE), s(I, W, SHAPE), wrong(I[:, :1], V, SHAPE[:1])],
    "DeserializeManySparse": [
        s(words(*PARTS, *OTHER, shape=(2, 3)), dtype=dtypes.string),
        wrong(words(*PARTS, *FLAT, shape=(2, 3)), dtype=dtypes.string),
        wrong(words(*PARTS, shape=(1, 3)), dtype=dtypes.int32),
        wrong(words(*PARTS), dtype=dtypes.string, error=ValueError),
    ],
    "DeserializeSparse": [
        s(words(*PARTS), dtype=dtypes.string),
        s(words(*PARTS, *OTHER, shape=(2, 1, 3)), dtype=dtypes.string),
        wrong(words(*PARTS[:2]), dtype=dtypes.string, error=ValueError),
    ],
}
