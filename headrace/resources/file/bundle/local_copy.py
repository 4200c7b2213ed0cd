"""Files of a checkpoint on a disk of the task that writes them: there first, then in the checkpoint's own folder.

    <folder>/shard-<digest>.data-..., .index           a shard that is not in the checkpoint yet
    <folder>/<digest of its folder>/model-30.index     the checkpoint's index, when it is whole
    <folder>/<digest of its folder>/model-30.data-...  those of its data files that were written here

A restore takes a data file from here if the index beside it is that of the checkpoint, byte by byte, and the sizes are equal.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

from headrace.core import errors, file
from headrace.resources.file.bundle.entry import data_name, index_name, shards_in_name
from headrace.resources.file.bundle.reader import BundleReader
from headrace.resources.file.bundle.removal import remove_data
from headrace.resources.file.bundle.writer import claimed, publish_index

KEPT: Final = 2  # checkpoints of one name whose files stay
_PIECE: Final = 1 << 22
_NUMBER: Final = re.compile(r"-\d+$")


class LocalCopy(NamedTuple):
    """``folder``: on the task's disk.  ``prefix``: that of the whole checkpoint."""

    folder: str
    prefix: str

    def check(self) -> None:
        """Raises if there is no such folder."""
        if not file.exists(self.folder):
            why = f"Saver(local_dir={self.folder!r}): there is no such folder on this task; make it on every task that saves"
            raise errors.NotFoundError(None, None, why)

    def shard(self, prefix: str) -> str:
        """The prefix under which a shard is written first."""
        return f"{self.folder}/shard-{_digest(prefix)}"

    @property
    def place(self) -> str:
        """The prefix of the files that stay."""
        folder, _, name = self.prefix.rpartition("/")
        return f"{self.folder}/{_digest(folder)}/{name}"

    def keep(self, shard: str) -> None:
        """Keeps a shard, which is in the checkpoint now, for restores; removes those of older checkpoints of that name."""
        whole, mine = BundleReader(self.prefix), BundleReader(shard)
        first = next((key for key, entry in mine.raw_entries.items() if not entry.slices), None)
        if first is not None:
            file.make_folder(self.place.rpartition("/")[0])
            number = whole.raw_entries[first].shard
            file.replace(data_name(shard, 0, mine.shards), data_name(self.place, number, whole.shards))
            file.write_durably(index_name(self.place), _bytes(index_name(self.prefix)))
        remove_bundle(shard)
        self._remove_old(whole.shards)

    def _remove_old(self, shards: int) -> None:
        """Other tasks may have the same folder, and remove the same files."""
        folder, _, name = self.place.rpartition("/")
        prefixes = [
            path.removesuffix(".index") for path in file.beginning_with(f"{folder}/") if path.endswith(".index")
        ]
        same = [one for one in prefixes if _NUMBER.sub("", one) == _NUMBER.sub("", f"{folder}/{name}")]
        for old in sorted(same, key=_changed_at)[:-KEPT]:
            remove_bundle(old)
        for path in file.beginning_with(f"{self.place}.data-"):
            if shards_in_name(path) != shards:  # of a checkpoint of the same name, before this one
                with contextlib.suppress(errors.OpError):
                    remove_data(path)

    def data(self, reader: BundleReader) -> dict[int, str]:
        """The data files of the checkpoint that are here, by number."""
        index = index_name(self.place)
        if reader.prefix != self.prefix or not file.exists(index) or _bytes(index) != _bytes(index_name(self.prefix)):
            return {}
        found = {n: data_name(self.place, n, reader.shards) for n in range(reader.shards)}
        return {
            n: path
            for n, path in found.items()
            if file.exists(path) and _size(path) == _size(data_name(self.prefix, n, reader.shards))
        }


def copy_bundle(source: str, prefix: str, check: Callable[[], None]) -> None:
    """Writes a bundle of one data file again, under another prefix.  ``check`` is called between pieces, and may raise."""
    reader = BundleReader(source)
    folder = prefix.rpartition("/")[0]
    if folder:
        file.make_folder(folder, parents=False)
    shards, path, opened = claimed(prefix)
    try:
        with opened, file.open_file(data_name(source, 0, reader.shards), "rb") as data:
            while piece := data.read(_PIECE):
                check()
                opened.write(piece)
            file.sync(opened)
        publish_index(prefix, reader.raw_entries, shards, reader.lineage)
    except BaseException as error:
        with contextlib.suppress(errors.OpError):
            file.remove(path)
        if isinstance(error, OSError):
            raise file.file_error(error, path) from None
        raise


def remove_bundle(prefix: str) -> None:
    """Removes the files of a bundle that are there."""
    file.remove_if_there(index_name(prefix))
    for path in file.beginning_with(f"{prefix}.data-"):
        with contextlib.suppress(errors.OpError):
            remove_data(path)


def _changed_at(prefix: str) -> float:
    with contextlib.suppress(errors.OpError):
        return file.changed_at(index_name(prefix))
    return 0.0  # another task has removed it


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _bytes(path: str) -> bytes:
    with file.open_file(path, "rb") as opened:
        return opened.read()


def _size(path: str) -> int:
    with file.open_file(path, "rb") as opened:
        return file.size_of(opened)
