"""Samples of the ops on readers."""

import numpy as np
from sample_forms import plain as s
from sample_forms import wrong

from headrace.core import dtypes
from headrace.core.errors import OutOfRangeError, UnimplementedError
from headrace.graph import raw_ops
from headrace.library.scope import control_dependencies
from headrace.library.testing.opcheck import Sample

NAMES = np.array([b"one", b"two", b"three"], object)
STATE = np.array(b'\x08\x01\x10\x01\x18\x01"\x03one', object)


def identity():
    return raw_ops.IdentityReaderV2()


def lines():
    return raw_ops.TextLineReaderV2()


def names(close=False):
    """The handle of a queue, once it holds three names, or is closed and empty."""
    handle = raw_ops.FIFOQueueV2(component_types=[dtypes.string], shapes=[[]])
    change = raw_ops.QueueCloseV2(handle) if close else raw_ops.QueueEnqueueManyV2(handle, [NAMES])
    with control_dependencies([change]):
        return raw_ops._ChooseHandle(0, [handle])


def used():
    """The handle of a reader that has read one name."""
    reader = identity()
    with control_dependencies([raw_ops.ReaderReadV2(reader, names())[0]]):
        return raw_ops._ChooseHandle(0, [reader])


def numbers():
    return raw_ops.FIFOQueueV2(component_types=[dtypes.int32])


def empty():
    return names(close=True)


SAMPLES: dict[str, list[Sample]] = {
    "_ReaderPosition": [s(lines), s(used)],
    "_MoveReader": [s(identity, np.array(b"one", object), np.int64([1, 1, 1, -1]))],
    "IdentityReaderV2": [s(), s(shared_name="shared")],
    "WholeFileReaderV2": [s()],
    "TextLineReaderV2": [s(), s(skip_header_lines=2), wrong(skip_header_lines=-1)],
    "FixedLengthRecordReaderV2": [
        s(record_bytes=3),
        s(record_bytes=3, header_bytes=1, footer_bytes=1, hop_bytes=2, encoding="GZIP"),
        wrong(record_bytes=0),
        wrong(record_bytes=3, hop_bytes=-1),
        wrong(record_bytes=3, encoding="ZIP"),
    ],
    "TFRecordReaderV2": [s(), s(compression_type="ZLIB"), wrong(compression_type="ZIP")],
    "ReaderReadV2": [s(identity, names), wrong(identity, numbers), wrong(identity, empty, error=OutOfRangeError)],
    "ReaderReadUpToV2": [
        s(identity, names, np.int64(2)),
        s(identity, names, np.int64(0)),
        wrong(identity, names, np.int64(-1)),
        wrong(identity, empty, np.int64(1), error=OutOfRangeError),
    ],
    "ReaderNumRecordsProducedV2": [s(identity), s(used)],
    "ReaderNumWorkUnitsCompletedV2": [s(identity), s(used)],
    "ReaderSerializeStateV2": [s(identity), s(used), wrong(lines, error=UnimplementedError)],
    "ReaderRestoreStateV2": [
        s(identity, STATE),
        wrong(identity, np.array(b"junk", object)),
        wrong(lines, STATE, error=UnimplementedError),
    ],
    "ReaderResetV2": [s(identity), s(used)],
}
