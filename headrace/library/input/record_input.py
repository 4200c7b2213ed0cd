"""RecordInput: batches of records of files, in random order."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.compat import path_to_str
from headrace.library.scope import name_scope
from headrace.library.tensor.array import reshape, split
from headrace.library.text.record import TFRecordOptions


class RecordInput:
    """Reads TFRecord files ahead, on threads that end with the session, and yields their records in random order.

    Every epoch gives every record once, from the files in another order.  Nothing is yielded until the buffer is half
    full or the epoch is over.
    """

    def __init__(
        self, file_pattern: Any, batch_size: int = 1, buffer_size: int = 1, parallelism: int = 1, shift_ratio: float = 0,
        seed: int = 0, name: str | None = None, batches: int | None = None, compression_type: Any = None,
    ) -> None:  # fmt: skip
        """``shift_ratio``: the share of the files by which their order is rotated.  ``batches``: how many batches a step gets."""
        self._file_pattern = path_to_str(file_pattern)
        self._batches = batches
        self._batch_size = batch_size * (batches or 1)
        self._buffer_size = buffer_size
        self._parallelism = parallelism
        self._shift_ratio = shift_ratio
        self._seed = seed
        self._name = name
        self._compression_type = TFRecordOptions.get_compression_type_string(compression_type)

    def get_yield_op(self) -> Any:
        """A batch of records, a vector; with ``batches`` a list of batches, each a list of scalars."""
        records: Tensor = raw_ops.RecordInput(
            file_pattern=self._file_pattern, file_random_seed=self._seed, file_shuffle_shift_ratio=self._shift_ratio,
            file_buffer_size=self._buffer_size, file_parallelism=self._parallelism, batch_size=self._batch_size,
            compression_type=self._compression_type, name=self._name,
        )  # fmt: skip
        if self._batches is None:
            return records
        with name_scope(self._name):
            single = [reshape(one, []) for one in split(records, self._batch_size, 0)]
        return [single[i :: self._batches] for i in range(self._batches)]
