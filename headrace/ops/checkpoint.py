"""Checkpoints: saving tensors to files and restoring them (OSDI 4.3).

All ops that save write TensorFlow's V2 bundle, those of the V1 format too; V1 files are read.

The ops wait for the disk, so they run on a thread of the worker's pool.  Saving copies a few megabytes at a time out of a
variable's buffer, then checks and writes that copy: a step that changes the variable meanwhile can tear the values, not the file.
Where writing is left for later (resources/stepping/saving.py), all of a variable is copied, and the file is made from the copy.
A restore reads and checks all its tensors before it gives any.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import torch

from headrace.core import dtypes as types
from headrace.core.dtypes import ANY, string
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.ops.shared.string_array import array_of
from headrace.resources.file.bundle.checkpoint import Checkpoint
from headrace.resources.file.bundle.entry import Lineage
from headrace.resources.file.bundle.extents import Extents, parse_shape_and_slice
from headrace.resources.file.bundle.local_copy import LocalCopy, copy_bundle, remove_bundle
from headrace.resources.file.bundle.merge import merge_bundles
from headrace.resources.file.bundle.opening import open_checkpoint
from headrace.resources.file.bundle.writer import BundleWriter, array_pieces
from headrace.resources.stepping.saving import COPY, KEEP, MERGE, SHARDS, copy_of, current, deferring, one_file

_PIECE = 1 << 22  # bytes that are copied, checked and written together
_MANY = 1 << 25  # bytes that are worth the threads to read them
_READERS = 4
_SAVED = tuple(dtype for dtype in ANY if dtype not in (types.resource, types.variant))
_NO_LINEAGE = Lineage()
_TRAITS = {"stateful": True, "host": True, "blocking": True}

# ---- saving

save_v2 = op(
    "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: list(dtypes)) -> ()",
    dtypes=_SAVED, transfers=True, saves=True, **_TRAITS,
)  # fmt: skip
save = op(
    "Save(filename: string, tensor_names: string, data: list(T)) -> ()", T=_SAVED, transfers=True, saves=True, **_TRAITS
)
save_slices = op(
    "SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: list(T)) -> ()",
    T=_SAVED, transfers=True, saves=True, **_TRAITS,
)  # fmt: skip


save_rows = op(
    "_SaveRows(prefix: string, now: string, since: string, base: string, tensor_names: string, shape_and_slices: string, "
    "rows: N*int64, whole: N*bool, tensors: list(dtypes)) -> ()",
    dtypes=_SAVED, transfers=True, saves=True, **_TRAITS,
)  # fmt: skip


def _save_shape(prefix, tensor_names, *rest):
    prefix.with_rank(0)
    tensor_names.merge_with([len(rest[-1])])
    if len(rest) == 2:
        rest[0].merge_with([len(rest[-1])])
    return []


save_v2.shape(_save_shape)
save.shape(_save_shape)
save_slices.shape(_save_shape)
save_rows.shape(
    lambda prefix, now, since, base, names, slices, rows, whole, tensors: _save_shape(prefix, names, slices, tensors)
)


@save_v2.kernel
def _(prefix, tensor_names, shape_and_slices, tensors, *, node):
    _save(prefix, tensor_names, shape_and_slices, tensors, node.attrs["dtypes"])


@save.kernel
def _(filename, tensor_names, data, *, node):
    """Writes a V2 bundle whose prefix is ``filename``."""
    _save(filename, tensor_names, np.full(len(data), b"", object), data, node.attrs["T"])


@save_slices.kernel
def _(filename, tensor_names, shapes_and_slices, data, *, node):
    """Writes a V2 bundle whose prefix is ``filename``."""
    _save(filename, tensor_names, shapes_and_slices, data, node.attrs["T"])


@save_rows.kernel
def _(prefix, now, since, base, tensor_names, shape_and_slices, rows, whole, tensors, *, node):
    """Writes a bundle called ``now``; of the first tensors, where they are not ``whole``, only these rows.

    Their others are in the bundle ``base`` of the same folder, which is called ``since``.
    """
    lineage = Lineage(*(one.item().decode() for one in (now, base, since)))
    chosen = [None if every else some for some, every in zip(rows, whole, strict=True)]
    _save(prefix, tensor_names, shape_and_slices, tensors, node.attrs["dtypes"], chosen, lineage)


class _Saved(NamedTuple):
    """What is written under one name: all of a tensor, or these rows of one of that shape."""

    name: str
    part: tuple[tuple[int, ...], Extents] | None
    dtype: Any
    shape: tuple[int, ...]
    rows: Any
    values: Any

    @property
    def place(self):
        return self.name, () if self.part is None else self.part


def _save(prefix, names, slices, tensors, dtypes, chosen=(), lineage=_NO_LINEAGE):
    specs = [_parsed(spec) for spec in slices]
    texts = [name.decode() for name in names]
    for name, tensor, spec in zip(texts, tensors, specs, strict=True):
        _check_part(name, tuple(tensor.shape), spec)
    later = deferring()
    saved = []
    for name, spec, dtype, tensor, rows in zip_longest(texts, specs, dtypes, tensors, chosen):
        values = tensor if rows is None else tensor.index_select(0, rows.to(tensor.device))
        values = values if later is None else copy_of(values)
        saved.append(
            _Saved(name, spec, dtype.base_dtype, tuple(tensor.shape), None if rows is None else rows.cpu(), values)
        )
    saved.sort(key=lambda one: one.place)
    if later is None:
        _write(_path(prefix), saved, _pieces, lineage)
    elif later.local is None:
        later.defer(SHARDS, partial(_write, _path(prefix), saved, _stable_pieces, lineage))
    else:
        local = LocalCopy(*later.local)
        local.check()
        shard = local.shard(_path(prefix))
        later.defer(SHARDS, partial(_write, shard, saved, _stable_pieces, lineage), partial(remove_bundle, shard))
        later.defer(COPY, partial(_copy, shard, _path(prefix)))
        later.defer(KEEP, partial(local.keep, shard))


def _copy(shard, path):
    with one_file() as check:
        copy_bundle(shard, path, check)


def _write(path, saved, pieces, lineage):
    with one_file() as check, BundleWriter(path, lineage) as writer:
        for one in saved:
            check()
            if one.dtype == string:
                writer.add_strings(one.name, np.asarray(one.values), one.part)
                continue
            values = _while(check, pieces(one.values))
            if one.rows is None:
                writer.add(one.name, one.dtype, one.shape, values, one.part)
            else:
                writer.add_rows(one.name, one.dtype, one.shape, one.rows.numpy(), values, one.part)
        check()


def _while(check, pieces):
    for piece in pieces:
        check()
        yield piece


def _parsed(spec: bytes) -> tuple[tuple[int, ...], Extents] | None:
    return parse_shape_and_slice(spec.decode()) if spec else None


def _check_part(name, shape, part):
    if part is None:
        return
    lengths = tuple(size if length < 0 else length for size, (_, length) in zip(*part, strict=True))
    if lengths != shape:
        raise InvalidArgumentError(
            None, None,
            f"Slice in shape_and_slice specification does not match the shape of the tensor to save: {name} has shape "
            f"{list(shape)}, its slice {list(lengths)}",
        )  # fmt: skip


def _stable_pieces(tensor):
    """The bytes of a tensor on the host that nobody changes."""
    return array_pieces(tensor.reshape(-1).view(torch.uint8).numpy(), _PIECE)


def _pieces(tensor):
    """The bytes of a tensor, copied piece by piece into the same memory."""
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
    staging = np.empty(min(_PIECE, flat.numel()), np.uint8)
    target = torch.from_numpy(staging)
    for at in range(0, flat.numel(), _PIECE):
        piece = flat[at : at + _PIECE]
        target[: len(piece)].copy_(piece)
        yield staging[: len(piece)]


# ---- restoring

restore_v2 = op(
    "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string; dtypes: list(type)) -> (tensors: list(dtypes))",
    dtypes=_SAVED, **_TRAITS,
)  # fmt: skip
restore = op(
    "Restore(file_pattern: string, tensor_name: string; dt: type, preferred_shard: int = -1) -> (tensor: dt)",
    dt=_SAVED, **_TRAITS,
)  # fmt: skip
restore_slice = op(
    "RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string; dt: type, preferred_shard: int = -1)"
    " -> (tensor: dt)",
    dt=_SAVED, **_TRAITS,
)  # fmt: skip

for one in (restore_v2, restore, restore_slice):
    one.not_differentiable()


@restore_v2.shape
def _(prefix, tensor_names, shape_and_slices, dtypes):
    prefix.with_rank(0)
    tensor_names.merge_with(shape_and_slices).merge_with([len(dtypes)])
    return [None] * len(dtypes)


restore.shape(lambda file_pattern, tensor_name, dt, preferred_shard: None)
restore_slice.shape(lambda file_pattern, tensor_name, shape_and_slice, dt, preferred_shard: None)


@restore_v2.kernel
def _(prefix, tensor_names, shape_and_slices, dtypes, *, node):
    return _restored(prefix, tensor_names, shape_and_slices, node.attrs["dtypes"], node.attrs.get("_copied", False))


@restore.kernel
def _(file_pattern, tensor_name, dt, preferred_shard, *, node):
    return _restored(file_pattern, [tensor_name.item()], [b""], [node.attrs["dt"]])[0]


@restore_slice.kernel
def _(file_pattern, tensor_name, shape_and_slice, dt, preferred_shard, *, node):
    return _restored(file_pattern, [tensor_name.item()], [shape_and_slice.item()], [node.attrs["dt"]])[0]


def _restored(prefix, names, slices, dtypes, copied=False):
    """The tensors, in the order of their names; what is wrong with any of them is said before a byte of the data is read.

    Those that are ``copied`` into variables and then let go take no memory of their own: the file is mapped.
    """
    keys = [
        (name.decode(), _parsed(spec), dtype.base_dtype)
        for name, spec, dtype in zip(names, slices, dtypes, strict=True)
    ]
    local = None if current.saving is None else current.saving.local
    with open_checkpoint(_path(prefix), None if local is None else LocalCopy(*local)) as checkpoint:
        for name, part, dtype in keys:
            _check_entry(checkpoint, name, part, dtype)
        order = sorted(range(len(keys)), key=lambda i: _place(checkpoint, keys[i][0]))
        values = dict(zip(order, _values(checkpoint, [keys[i] for i in order], copied), strict=True))
    return [values[i] for i in range(len(keys))]


def _values(checkpoint: Checkpoint, keys, copied):
    """The tensors; large files are read by several threads, since copying out of the system's cache keeps one core busy."""
    size = sum(checkpoint.entry(name).size for name, _, _ in keys)
    if size < _MANY or not checkpoint.is_parallel:
        return [_value(checkpoint, copied, *one) for one in keys]
    with ThreadPoolExecutor(_READERS, "restore") as pool:
        return list(pool.map(lambda one: _value(checkpoint, copied, *one), keys))


def _check_entry(checkpoint: Checkpoint, name, part, dtype):
    entry = checkpoint.entry(name)
    if entry.dtype != dtype:
        raise InvalidArgumentError(
            None, None,
            f"tensor_name = {name}; expected dtype {dtype.name} does not equal original dtype {entry.dtype.name} in checkpoint "
            f"{checkpoint.prefix}",
        )  # fmt: skip
    if part is not None and part[0] != entry.shape:
        raise InvalidArgumentError(
            None, None,
            f"tensor_name = {name}; shape in shape_and_slice spec {list(part[0])} does not match the shape stored in "
            f"checkpoint {checkpoint.prefix}: {list(entry.shape)}",
        )  # fmt: skip


def _place(checkpoint: Checkpoint, name):
    entry = checkpoint.entry(name)
    return entry.shard, entry.offset


def _value(checkpoint: Checkpoint, copied, name, part, dtype):
    array = checkpoint.map(name) if copied and part is None else None
    if array is None:
        array = checkpoint.read(name) if part is None else checkpoint.read_slice(name, part[1])
    if dtype == string:
        return array
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == types.bfloat16 else tensor


# ---- shards

merge = op(
    "MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string; delete_old_dirs: bool = True,"
    " allow_missing_files: bool = False) -> ()",
    saves=True, **_TRAITS,
)  # fmt: skip


@merge.shape
def _(checkpoint_prefixes, destination_prefix, delete_old_dirs, allow_missing_files):
    checkpoint_prefixes.with_rank(1)
    destination_prefix.with_rank(0)
    return []


@merge.kernel
def _(checkpoint_prefixes, destination_prefix, delete_old_dirs, allow_missing_files):
    prefixes = [os.fsdecode(prefix) for prefix in checkpoint_prefixes]
    merge_all = partial(merge_bundles, prefixes, _path(destination_prefix), delete_old_dirs, allow_missing_files)
    later = deferring()
    if later is None:
        merge_all()
    else:
        later.defer(MERGE, merge_all)


def _path(value):
    return os.fsdecode(value.item())


sharded_filename = op(
    "ShardedFilename(basename: string[0], shard: int32[0], num_shards: int32[0]) -> (filename: string[0])",
    host=True,
    lenient=True,
)


@sharded_filename.kernel
def _(basename, shard, num_shards):
    return array_of([b"%b-%05d-of-%05d" % (basename.item(), int(shard), int(num_shards))], ())


sharded_filespec = op(
    "ShardedFilespec(basename: string[0], num_shards: int32[0]) -> (filename: string[0])", host=True, lenient=True
)


@sharded_filespec.kernel
def _(basename, num_shards):
    return array_of([b"%b-?????-of-%05d" % (basename.item(), int(num_shards))], ())
