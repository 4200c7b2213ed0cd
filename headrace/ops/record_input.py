"""RecordInput: a node that yields records of files, a batch each time it runs."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.resources.state.record_input import RecordInput
from headrace.resources.stepping.waiting import Later

COMPRESSIONS = ("", "ZLIB", "GZIP")

record_input = op(
    "RecordInput(; file_pattern: string, file_random_seed: int = 301, file_shuffle_shift_ratio: float = 0.0, "
    "file_buffer_size: int = 10000, file_parallelism: int = 16, batch_size: int = 32, "
    'compression_type: string = "") -> (records: string)',
    asynchronous=True, stateful=True, host=True,
)  # fmt: skip


@record_input.shape
def _(pattern, seed, shift_ratio, buffer_size, parallelism, batch_size, compression_type):
    return (batch_size,)


@record_input.state
def _(context):
    attrs = context.attrs
    for key in ("file_buffer_size", "file_parallelism", "batch_size"):
        if attrs[key] < 1:
            raise InvalidArgumentError(None, None, f"{key} of RecordInput must be 1 or more, got {attrs[key]}")
    ratio, compression = attrs["file_shuffle_shift_ratio"], attrs["compression_type"]
    if not 0 <= ratio < 1:
        raise InvalidArgumentError(None, None, f"file_shuffle_shift_ratio must be at least 0 and below 1, got {ratio}")
    if compression not in COMPRESSIONS:
        raise InvalidArgumentError(
            None, None, f"compression_type must be one of {', '.join(map(repr, COMPRESSIONS))}, got {compression!r}"
        )
    return RecordInput(
        context.name, attrs["file_pattern"], attrs["file_buffer_size"], attrs["file_parallelism"], ratio,
        attrs["file_random_seed"], compression, str(context.source),
    )  # fmt: skip


@record_input.begin
def _(pattern, seed, shift_ratio, buffer_size, parallelism, batch_size, compression_type, *, done, state):
    def over(records, error):
        done(None if error is not None else Later(lambda: _array(records)), error)

    return state.take(batch_size, over)


def _array(records):
    array = np.empty(len(records), object)
    array[:] = records
    return array
