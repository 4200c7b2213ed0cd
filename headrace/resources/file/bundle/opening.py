"""Opening a checkpoint by its prefix: a bundle if there is an index, else the V1 files that the prefix names."""

from __future__ import annotations

from headrace.core import errors, file
from headrace.resources.file.bundle.base import held_bundle
from headrace.resources.file.bundle.checkpoint import Checkpoint
from headrace.resources.file.bundle.entry import index_name
from headrace.resources.file.bundle.local_copy import LocalCopy
from headrace.resources.file.bundle.v1 import V1Reader


def open_checkpoint(prefix: str, local: LocalCopy | None = None) -> Checkpoint:
    """The checkpoint, open for reading; of V1, ``prefix`` may be a pattern.  NotFoundError if there is none.

    ``local``: where files of it may be that are read first.
    """
    if file.exists(index_name(prefix)):
        return held_bundle(prefix, None if local is None else local.data)
    paths = [prefix] if file.exists(prefix) else file.matching(prefix)
    if not paths:
        message = f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {prefix}"
        raise errors.NotFoundError(None, None, message)
    return V1Reader(prefix, paths)
