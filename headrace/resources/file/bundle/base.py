"""Chains of bundles: one that has some rows only names its base, which lies beside it and has the others, or names a base too.

A bundle says which base it means by the base's id, so that another bundle of the same name is not taken for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from headrace.core import errors, file
from headrace.resources.file.bundle.entry import Entry, Lineage, index_name, read_header
from headrace.resources.file.bundle.reader import BundleReader
from headrace.resources.file.bundle.table import Table

T = TypeVar("T", BundleReader, Lineage)

LONGEST: Final = 100  # bundles in a chain: each one more is read to read a tensor


def held_bundle(prefix: str, elsewhere: Callable[[BundleReader], dict[int, str]] | None = None) -> BundleReader:
    """A bundle with all its data files open, and those of its bases.  Tries again if it is replaced while it is opened.

    ``elsewhere`` says which data files are read in the place of its own.
    """
    entries: dict[bytes, Entry] | None = None
    while True:
        reader = BundleReader(prefix)
        try:
            reader.elsewhere = {} if elsewhere is None else elsewhere(reader)
            _hold_chain(reader)
            return reader
        except errors.OpError:
            reader.close()
            if reader.raw_entries == entries:  # nobody replaces it: a data file is missing
                raise
            entries = reader.raw_entries


def bases_of(prefix: str) -> list[str]:
    """The prefixes of the bundles that this one needs, the nearest first."""
    seen, lineage = [prefix], lineage_of(prefix)
    while lineage.base:
        seen.append(_base_prefix(lineage, seen))
        lineage = _checked(lineage, seen, lineage_of)
    return seen[1:]


def lineage_of(prefix: str) -> Lineage:
    """What a bundle is known by and builds on; only the first block of its index is read."""
    path = index_name(prefix)
    with file.open_file(path, "rb") as opened:
        try:
            return read_header(Table(opened, path).get(b"") or b"").lineage
        except OSError as error:
            raise file.file_error(error, path) from None
        except ValueError as error:
            raise errors.DataLossError(None, None, f"{path}: the header is damaged: {error}") from None


def _hold_chain(reader: BundleReader) -> None:
    reader.hold()
    seen = [reader.prefix]
    while reader.lineage.base:
        seen.append(_base_prefix(reader.lineage, seen))
        reader.base = _checked(reader.lineage, seen, BundleReader)
        reader = reader.base
        reader.hold()


def _base_prefix(lineage: Lineage, seen: Sequence[str]) -> str:
    """The prefix of the base that the last of ``seen`` names; they are the bundles on the way to it."""
    name, says = lineage.base, _says(lineage, seen[-1])
    if "/" in name or "\\" in name or name in (".", ".."):
        raise errors.DataLossError(None, None, f"{says}, which is no name of a checkpoint in the same folder")
    folder, slash, _ = seen[-1].rpartition("/")
    prefix = f"{folder}{slash}{name}"
    if prefix in seen:
        raise errors.DataLossError(None, None, f"{says}, which builds on it: {' -> '.join([*seen, prefix])}")
    if len(seen) >= LONGEST:
        raise errors.DataLossError(None, None, f"{says}: {seen[0]} needs more than {LONGEST} checkpoints")
    return prefix


def _checked(lineage: Lineage, seen: Sequence[str], look: Callable[[str], T]) -> T:
    """What ``look`` finds at the last of ``seen``, the base that the one before it names."""
    says = _says(lineage, seen[-2])
    try:
        found = look(seen[-1])
    except errors.NotFoundError:
        raise errors.NotFoundError(None, None, f"{says}, but there is no {index_name(seen[-1])}") from None
    own_id = (found.lineage if isinstance(found, BundleReader) else found).own_id
    if not own_id or own_id != lineage.base_id:
        has = f"the id {own_id!r}" if own_id else "no id"
        raise errors.DataLossError(
            None, None,
            f"{says} with the id {lineage.base_id!r}, but {index_name(seen[-1])} has {has}: another checkpoint took its place",
        )  # fmt: skip
    return found


def _says(lineage: Lineage, prefix: str) -> str:
    return f"{index_name(prefix)} builds on the checkpoint {lineage.base!r}"
