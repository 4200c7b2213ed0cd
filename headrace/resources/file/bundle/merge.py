"""Merging bundles: what several Save ops wrote, each its own shard, becomes one bundle.  Data files are renamed, not copied."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from headrace.core import errors, file
from headrace.resources.file.bundle.entry import Entry, Lineage, data_name, index_name
from headrace.resources.file.bundle.reader import BundleReader
from headrace.resources.file.bundle.writer import free_count, publish_index


def merge_bundles(
    prefixes: Sequence[str], destination: str, delete_old_folders: bool = True, allow_missing: bool = False
) -> None:
    """Makes one bundle of several.  Slices of one tensor may come from any of them; the same tensor twice is an error.

    All indexes are read and compared before the first file is renamed.  The merged index is written last.
    """
    merged: dict[bytes, Entry] = {}
    lineage = Lineage()
    moves: list[str] = []
    if allow_missing:
        prefixes = [prefix for prefix in prefixes if file.exists(index_name(prefix))]
        if not prefixes:
            raise errors.NotFoundError(None, None, f"there is no checkpoint to merge into {destination}")
    for prefix in prefixes:
        reader = BundleReader(prefix)
        entries, shards = reader.raw_entries, reader.shards
        lineage = _same_lineage(lineage, reader.lineage, destination)
        numbers = {}
        for shard in sorted({entry.shard for entry in entries.values() if not entry.slices}):
            numbers[shard] = len(moves)
            moves.append(data_name(prefix, shard, shards))
        for key, entry in entries.items():
            placed = entry if entry.slices else replace(entry, shard=numbers[entry.shard])
            merged[key] = _joined(merged[key], placed, key, prefix) if key in merged else placed
    folder = destination.rpartition("/")[0]
    if folder:
        file.make_folder(folder, parents=False)
    count = free_count(destination, max(len(moves), 1))
    try:
        for shard, path in enumerate(moves):
            file.replace(path, data_name(destination, shard, count))
        publish_index(destination, merged, count, lineage)
    except BaseException:
        if not _is_published(destination, count):
            for shard in range(len(moves)):
                file.remove_if_there(data_name(destination, shard, count))
        raise
    for prefix in prefixes:
        with contextlib.suppress(errors.OpError):
            file.remove(index_name(prefix))
        if delete_old_folders:
            file.remove_empty_folder(prefix.rpartition("/")[0])


def _is_published(prefix: str, count: int) -> bool:
    """Whether there is an index that speaks of that many data files."""
    try:
        return BundleReader(prefix).shards == count
    except (errors.OpError, OSError):
        return False


def _joined(one: Entry, other: Entry, key: bytes, prefix: str) -> Entry:
    """The entry of a tensor whose slices are in several bundles."""
    name = key.decode("utf-8", "replace")
    if not (one.slices and other.slices):
        raise errors.InvalidArgumentError(None, None, f"{prefix}: the tensor {name} is in another bundle too")
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        raise errors.InvalidArgumentError(
            None, None,
            f"{prefix}: the slices of {name} do not belong together: {one.dtype.name} {list(one.shape)} and "
            f"{other.dtype.name} {list(other.shape)}",
        )  # fmt: skip
    return replace(one, slices=one.slices + other.slices)


def _same_lineage(one: Lineage, other: Lineage, destination: str) -> Lineage:
    """That of the whole: of several, one may have no base, or nothing at all."""
    longer, shorter = sorted((one, other), key=lambda lineage: (lineage.base, lineage.own_id), reverse=True)
    if shorter not in (longer, Lineage(longer.own_id), Lineage()):
        raise errors.InvalidArgumentError(
            None, None, f"the bundles to merge into {destination} do not belong together: {one} and {other}"
        )
    return longer
