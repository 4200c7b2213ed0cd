"""Incremental checkpoints: between whole ones, a saver writes of large variables the rows that were written since its last save.

A checkpoint that lacks rows *builds on* the one before, its *base*, in the same folder.  Whole is every N-th one, the first one
of a saver, the first one after a restore, and one whose base cannot be used: it is gone, was replaced, or is in another folder.

A save that fails leaves the last one that did not as the base of the next, and variables are asked what was written since that.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final

from headrace.core import dtypes, errors
from headrace.core.source import at
from headrace.graph import context, convert, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.library.compat import as_str_any
from headrace.library.tensor.creation import placeholder_with_default
from headrace.library.train.saver import saveable as saving
from headrace.library.train.saver.builder import BulkSaverBuilder
from headrace.library.train.saver.reader import checkpoint_prefix
from headrace.resources.file.bundle.base import LONGEST, bases_of, lineage_of
from headrace.resources.file.bundle.opening import open_checkpoint
from headrace.resources.file.bundle.writer import BundleWriter, array_pieces

SMALL: Final = 1 << 16  # bytes: smaller variables are always written whole


def checked_incremental(incremental: Any, saver_def: Any, builder: Any) -> int:
    """How many saves there are from one whole checkpoint to the next; 1 if all are whole."""
    if incremental is None:
        return 1
    if isinstance(incremental, bool) or not isinstance(incremental, int):
        raise TypeError(f"incremental must be a number of saves or None, got {incremental!r} {at()}")
    if not 1 <= incremental <= LONGEST:
        raise ValueError(f"incremental must be at least 1 and at most {LONGEST}, got {incremental} {at()}")
    given = [n for n, value in (("saver_def", saver_def), ("builder", builder)) if value is not None]
    if context.executing_eagerly():
        given.append("eager execution")
    if given and incremental > 1:
        raise ValueError(
            f"incremental={incremental} needs nodes that the saver builds itself; it has {given[0]} {at()}"
        )
    return incremental


class IncrementalSaverBuilder(BulkSaverBuilder):
    """Builds nodes that can leave rows out; what they are fed decides (`Increments`)."""

    def __init__(self, write_version: int) -> None:
        super().__init__(write_version)
        self._asker = uuid.uuid4().hex
        self.moments: list[Tensor] = []  # now, since, base

    def save_op(self, filename_tensor: Any, saveables: Sequence[saving.SaveableObject]) -> Operation:
        """The op that saves these objects; variables with rows first."""
        large = {id(saveable): ref for saveable in saveables if (ref := _large(saveable)) is not None}
        if not large:
            return super().save_op(filename_tensor, saveables)
        now, since, base = self._make_moments()
        ordered = sorted(saveables, key=lambda saveable: id(saveable) not in large)
        rows, whole, tensors = [], [], []
        for saveable in ordered[: len(large)]:
            some, every, value = self._taken(large[id(saveable)], since, now)
            rows.append(some)
            whole.append(every)
            tensors.append(value)
        specs = [spec for saveable in ordered for spec in saveable.specs]
        tensors += [convert.convert_to_tensor(spec.tensor) for spec in specs[len(large) :]]
        names, slices = [spec.name for spec in specs], [spec.slice_spec for spec in specs]
        return raw_ops._SaveRows(
            filename_tensor, now, since, base, names, slices, rows, whole, tensors, name="SaveRows"
        )

    def _make_moments(self) -> list[Tensor]:
        if not self.moments:
            with context.get_default_graph().device("CPU"):
                self.moments = [placeholder_with_default("", shape=(), name=name) for name in ("now", "since", "base")]
        return self.moments

    def _taken(self, ref: Tensor, since: Tensor, now: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Which rows of a variable were written, whether it is to be saved whole, and its value, which is read afterwards."""
        graph = context.get_default_graph()
        with graph.colocate_with(ref.op):
            if ref.dtype.is_ref_dtype:
                rows, whole = raw_ops._TakeTouched(ref, since, now, asker=self._asker, small=SMALL)
            else:
                rows, whole = raw_ops._TakeTouchedResource(ref, since, now, asker=self._asker, small=SMALL)
            with graph.control_dependencies([rows.op]):
                if ref.dtype.is_ref_dtype:
                    return rows, whole, raw_ops.Identity(ref)
                return rows, whole, raw_ops.ReadVariableOp(ref, dtype=ref.dtype.base_dtype)


def _large(saveable: saving.SaveableObject) -> Tensor | None:
    """The handle of a variable that may have so many bytes that it is not always saved whole."""
    if type(saveable) not in saving.VARIABLES:
        return None
    (spec,) = saveable.specs
    dtype, shape = spec.dtype.base_dtype, saveable.op.shape
    if dtype == dtypes.string or shape.ndims == 0:
        return None
    if shape.is_fully_defined() and shape.num_elements() * dtype.size < SMALL:
        return None
    return saveable.handle  # type: ignore[attr-defined, no-any-return]


class Increments:
    """What the saves of one saver build on.  Used by one thread at a time."""

    def __init__(self, every: int) -> None:
        self.every = every
        self._chain: list[
            tuple[str, str]
        ] = []  # prefix and id of the last whole checkpoint and of those that build on it
        self._now = ""
        self._bases: dict[str, frozenset[str]] = {}  # what checkpoints build on

    def feeds(self, builder: Any, prefix: str) -> dict[Tensor, str]:
        """What a save of this prefix is fed with: its own id, and what it builds on."""
        moments = builder.moments if isinstance(builder, IncrementalSaverBuilder) else ()
        if not moments:
            return {}
        self._now = uuid.uuid4().hex
        base, since = self._chain[-1] if self._may_build(prefix) else ("", "")
        return dict(zip(moments, (self._now, since, os.path.basename(base)), strict=True))

    def _may_build(self, prefix: str) -> bool:
        if not 0 < len(self._chain) < self.every:
            return False
        folder = os.path.dirname(prefix)
        if any(base == prefix or os.path.dirname(base) != folder for base, _ in self._chain):
            return False
        try:
            return all(lineage_of(base).own_id == known for base, known in self._chain)
        except (errors.OpError, OSError):
            return False

    def done(self, prefix: str) -> None:
        """The checkpoint that was last begun is there."""
        self._bases.pop(prefix, None)
        if not self._now:
            self._bases[prefix] = frozenset()
        elif self.needed([prefix]):
            self._chain.append((prefix, self._now))
        else:
            self._chain = [(prefix, self._now)]

    def begin_anew(self) -> None:
        """The next checkpoint is whole."""
        self._chain = []

    def needed(self, prefixes: Iterable[str]) -> set[str]:
        """What these checkpoints build on."""
        found: set[str] = set()
        for prefix in prefixes:
            if prefix not in self._bases:
                try:
                    self._bases[prefix] = frozenset(bases_of(prefix))
                except (errors.OpError, OSError):  # V1, gone, or damaged: nothing can be read by it
                    self._bases[prefix] = frozenset()
            found |= self._bases[prefix]
        return found


def merge_checkpoint(ckpt_dir_or_file: Any, to: Any) -> str:
    """Writes one whole checkpoint of a checkpoint, or the latest of a folder, and of all that it builds on; gives its prefix.

    TensorFlow reads it, as it reads every whole one.

    Args:
      ckpt_dir_or_file: The prefix of a checkpoint, or a folder, of which the latest one is taken.
      to: The prefix of the checkpoint to write; another one than those that are read.

    Returns:
      `to`, a string.

    Example: ``tf.train.merge_checkpoint("/tmp/model", to="/tmp/model/whole.ckpt")``
    """
    prefix, target = checkpoint_prefix(ckpt_dir_or_file), as_str_any(os.fspath(to))
    with open_checkpoint(prefix) as opened:
        if target in (prefix, *bases_of(prefix)):
            raise ValueError(f"{target} is read to make the whole checkpoint, which needs another name {at()}")
        with BundleWriter(target) as writer:
            for name, entry in sorted(opened.entries.items()):
                if entry.dtype == dtypes.string:
                    writer.add_strings(name, opened.read(name))
                else:
                    writer.add(name, entry.dtype, entry.shape, array_pieces(opened.read(name)))
    return target
