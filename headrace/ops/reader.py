"""Readers: handles, reading, counts, states.  Everything runs on the host."""

from __future__ import annotations

from functools import partial

import torch

from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.ops.shared.string_array import array_of, scalar_of
from headrace.resources.state.reader.reader import Reader
from headrace.resources.state.reader.records import FixedLengthRecords, Lines, TFRecords, UnitItself, WholeFile

_COMPRESSIONS = ("", "ZLIB", "GZIP")
_SHARING = 'container: string = "", shared_name: string = ""'

# ---- handles


def _reader(name, records, attrs=_SHARING, single=False):
    """Declares a reader; `records(**attrs)` gives the function that opens a work unit."""
    definition = op(f"{name}V2(; {attrs}) -> (reader_handle: resource[0])", handle=True, stateful=True, host=True)
    definition.state(partial(_made, name, records, single))


def _made(name, records, single, context):
    shared_name = context.attrs["shared_name"] or context.name
    open_unit = records(**{k: v for k, v in context.attrs.items() if k not in ("container", "shared_name")})

    def make():
        return Reader(name, shared_name, open_unit, single, str(context.source))

    return context.resource(Reader, make)


def _lines(skip_header_lines):
    _check_not_negative(skip_header_lines=skip_header_lines)
    return partial(Lines, skip_header_lines=skip_header_lines)


def _fixed_length(record_bytes, header_bytes, footer_bytes, hop_bytes, encoding=""):
    if record_bytes <= 0:
        raise InvalidArgumentError(None, None, f"record_bytes must be > 0, got {record_bytes}")
    _check_not_negative(header_bytes=header_bytes, footer_bytes=footer_bytes, hop_bytes=hop_bytes)
    return partial(
        FixedLengthRecords, compression=_checked(encoding, "encoding"), record_bytes=record_bytes,
        header_bytes=header_bytes, footer_bytes=footer_bytes, hop_bytes=hop_bytes or record_bytes,
    )  # fmt: skip


def _check_not_negative(**numbers):
    for name, number in numbers.items():
        if number < 0:
            raise InvalidArgumentError(None, None, f"{name} must be >= 0, got {number}")


def _checked(compression, name):
    if compression not in _COMPRESSIONS:
        accepted = ", ".join(map(repr, _COMPRESSIONS))
        raise InvalidArgumentError(None, None, f"{name} must be one of {accepted}, got {compression!r}")
    return compression


_reader("WholeFileReader", lambda: WholeFile, single=True)
_reader("IdentityReader", lambda: UnitItself, single=True)
_reader("TextLineReader", _lines, f"skip_header_lines: int = 0, {_SHARING}")
_reader(
    "FixedLengthRecordReader", _fixed_length,
    f"record_bytes: int, header_bytes: int = 0, footer_bytes: int = 0, hop_bytes: int = 0, {_SHARING},"
    ' encoding: string = ""',
)  # fmt: skip
_reader(
    "TFRecordReader",
    lambda compression_type: partial(TFRecords, compression=_checked(compression_type, "compression_type")),
    f'{_SHARING}, compression_type: string = ""',
)

# ---- reading

read = op(
    "ReaderReadV2(reader_handle: resource, queue_handle: resource) -> (key: string, value: string)",
    stateful=True, host=True, asynchronous=True,
)  # fmt: skip
read.shape(lambda reader_handle, queue_handle: ((), ()))


@read.begin
def _(reader_handle, queue_handle, *, done):
    def tell(records, error):
        done(None if error is not None else tuple(map(scalar_of, records[0])), error)

    return reader_handle.read(queue_handle, 1, tell)


read_up_to = op(
    "ReaderReadUpToV2(reader_handle: resource, queue_handle: resource, num_records: int64)"
    " -> (keys: string, values: string)",
    stateful=True, host=True, asynchronous=True,
)  # fmt: skip


@read_up_to.shape
def _(reader_handle, queue_handle, num_records):
    num_records.with_rank(0)
    return (None,), (None,)


@read_up_to.begin
def _(reader_handle, queue_handle, num_records, *, done):
    def tell(records, error):
        done(None if error is not None else tuple(array_of([r[i] for r in records]) for i in (0, 1)), error)

    return reader_handle.read(queue_handle, int(num_records), tell)


# ---- counts and states


def _count(name, output, count):
    definition = op(f"{name}(reader_handle: resource) -> ({output}: int64[0])", stateful=True, host=True, reads=True)
    definition.kernel(lambda reader_handle: torch.tensor(count(reader_handle)))


_count("ReaderNumRecordsProducedV2", "records_produced", lambda reader: reader.records_produced)
_count("ReaderNumWorkUnitsCompletedV2", "units_completed", lambda reader: reader.units_completed)

serialize_state = op(
    "ReaderSerializeStateV2(reader_handle: resource) -> (state: string[0])", stateful=True, host=True, reads=True
)
serialize_state.kernel(lambda reader_handle: scalar_of(reader_handle.serialized()))

restore_state = op("ReaderRestoreStateV2(reader_handle: resource, state: string) -> ()", stateful=True, host=True)


@restore_state.shape
def _(reader_handle, state):
    state.with_rank(0)
    return []


restore_state.kernel(lambda reader_handle, state: reader_handle.restore(state[()]))

reset = op("ReaderResetV2(reader_handle: resource) -> ()", stateful=True, host=True)
reset.kernel(lambda reader_handle: reader_handle.reset())

# ---- the place of any reader, which TensorFlow's states know of two only

position = op(
    "_ReaderPosition(reader_handle: resource) -> (unit: string, counts: int64)", stateful=True, reads=True, host=True
)
position.shape(lambda reader_handle: ((), (4,)))


@position.kernel
def _(reader_handle):
    unit, counts = reader_handle.position()
    return scalar_of(unit), torch.tensor(counts)


move = op("_MoveReader(reader_handle: resource, unit: string, counts: int64) -> ()", stateful=True, host=True)


@move.shape
def _(reader_handle, unit, counts):
    unit.with_rank(0)
    counts.merge_with([4])
    return []


move.kernel(lambda reader_handle, unit, counts: reader_handle.move(unit.item(), counts.tolist()))
