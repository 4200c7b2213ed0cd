"""The nodes of a saver: one Save for each device, so that each task writes its own shard, and one Restore.

    save/Const   save/SaveV2   save/control_dependency   save/RestoreV2   save/Assign*   save/restore_all

A restore reads and checks all tensors before the first is assigned: every assignment waits for every Restore node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.checkpoint_def import V1, V2, messages
from headrace.core.device import canonical_name
from headrace.core.source import at
from headrace.graph import context, convert, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.dependency import group, with_dependencies
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.tensor.creation import placeholder_with_default
from headrace.library.train.saver import saveable as saving
from headrace.library.train.saver.saveable import SaveableObject as Saveable
from headrace.library.train.saver.saveable import cpu_of

Shards = Sequence[tuple[str, list[Saveable]]]  # by device


class BaseSaverBuilder:
    """Builds the nodes; subclass it to save or restore by other ops.  It restores each tensor by a node of its own.

    Args:
      write_version: The format of the checkpoints: ``tf.train.SaverDef.V2`` or ``V1``.

    >>> v = tf.Variable(1.0)
    >>> saver = tf.train.Saver(builder=tf.train.BaseSaverBuilder())
    """

    SaveSpec = saving.SaveSpec
    SaveableObject = saving.SaveableObject
    VariableSaveable = saving.ReferenceVariableSaveable
    ResourceVariableSaveable = saving.ResourceVariableSaveable

    def __init__(self, write_version: int = V2) -> None:
        self._write_version = write_version

    # ---- what subclasses may replace

    def save_op(self, filename_tensor: Any, saveables: Sequence[Saveable]) -> Operation:
        """The op that saves these objects under ``filename_tensor``."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        names, slices = [spec.name for spec in specs], [spec.slice_spec for spec in specs]
        tensors = [convert.convert_to_tensor(spec.tensor) for spec in specs]
        if self._write_version == V1:
            return raw_ops.SaveSlices(filename_tensor, names, slices, tensors, name="save")
        if self._write_version == V2:
            return raw_ops.SaveV2(filename_tensor, names, slices, tensors)
        raise RuntimeError(f"Unexpected write_version: {self._write_version}; SaverDef.V1 and SaverDef.V2 are accepted")

    def bulk_restore(
        self,
        filename_tensor: Any,
        saveables: Sequence[Saveable],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """The tensors of all these objects, read from ``filename_tensor``."""
        tensors: list[Tensor] = []
        for saveable in saveables:
            with context.get_default_graph().device(cpu_of(saveable.device) if saveable.device else None):
                tensors.extend(self.restore_op(filename_tensor, saveable, preferred_shard))
        return tensors

    def restore_op(self, filename_tensor: Any, saveable: Saveable, preferred_shard: int) -> list[Tensor]:
        """The tensors of one object, read from ``filename_tensor``."""
        return [
            raw_ops.RestoreV2(filename_tensor, [spec.name], [spec.slice_spec], dtypes=[spec.dtype.base_dtype])[0]
            for spec in saveable.specs
        ]

    def sharded_filename(self, filename_tensor: Any, shard: int, num_shards: Any) -> Tensor:
        """The name of one shard."""
        return raw_ops.ShardedFilename(filename_tensor, shard, num_shards)

    # ---- building

    def build(
        self, names_to_saveables: Any, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
        filename: str | None = "model",
    ) -> Any:  # fmt: skip
        """Builds the nodes and gives the SaverDef that names them."""
        if not isinstance(names_to_saveables, dict):
            names_to_saveables = saving.saveables_by_name(names_to_saveables)
        saveables = saving.checked_saveables(names_to_saveables)
        with saving.scope_of(name, saveables):
            filename_tensor = placeholder_with_default(filename or "model", shape=(), name="filename")
            filename_tensor = placeholder_with_default(filename_tensor, shape=(), name="Const")
            shards = _by_device(saveables) if sharded else [("", saveables)]
            if sharded:
                save_tensor = self._save_shards(filename_tensor, shards)
            else:
                save_tensor = self._save(filename_tensor, saveables)
            restore_op = self._restore(filename_tensor, shards, sharded, restore_sequentially, reshape)
        _keep_concatenations()
        return messages().SaverDef(
            filename_tensor_name=filename_tensor.name, save_tensor_name=save_tensor.name, restore_op_name=restore_op.name,
            max_to_keep=max_to_keep or 0, sharded=sharded, keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )  # fmt: skip

    def _save(self, filename_tensor: Any, saveables: Sequence[Saveable]) -> Tensor:
        return with_dependencies([self.save_op(filename_tensor, saveables)], filename_tensor)

    def _save_shards(self, prefix: Tensor, shards: Shards) -> Tensor:
        """Each device writes a bundle of its own in a temporary folder; then they are merged."""
        graph = context.get_default_graph()
        with graph.device("CPU"):
            on_s3 = raw_ops.StaticRegexFullMatch(prefix, pattern="^s3://.*")
            suffix = raw_ops.Select(on_s3, convert.constant(".part"), convert.constant("_temp/part"))
            temporary = raw_ops.StringJoin([prefix, suffix])
        count = convert.constant(len(shards), name="num_shards")
        prefixes, saves = [], []
        for number, (device, saveables) in enumerate(shards):
            with graph.device(cpu_of(device)):
                prefixes.append(self.sharded_filename(temporary, number, count))
                saves.append(self._save(prefixes[-1], saveables))
        with graph.control_dependencies([save.op for save in saves]), graph.device(cpu_of(shards[-1][0])):
            merged = raw_ops.MergeV2Checkpoints(prefixes, prefix, delete_old_dirs=True)
            with graph.control_dependencies([merged]):
                return raw_ops.Identity(prefix)

    def _restore(
        self, filename_tensor: Any, shards: Shards, sharded: bool, restore_sequentially: bool, reshape: bool
    ) -> Operation:
        graph = context.get_default_graph()
        tensors = []
        for number, (device, saveables) in enumerate(shards):
            with graph.device(device or None):
                shard = number if sharded else -1
                tensors.append(self.bulk_restore(filename_tensor, saveables, shard, restore_sequentially))
        reads = list(dict.fromkeys(tensor.op for shard_tensors in tensors for tensor in shard_tensors))
        waits = reads if len(reads) > 1 else []
        takers: list[list[Any]] = []  # of each shard
        for first in (True, False):  # what may refuse its tensors, then variables
            taken: list[list[Any]] = []
            for (device, saveables), shard_tensors in zip(shards, tensors, strict=True):
                with graph.device(device or None), graph.control_dependencies(waits):
                    taken.append(_takers(saveables, shard_tensors, reshape, first))
            waits = [*waits, *(op for ops in taken for op in ops)] if first else waits
            takers = [before + now for before, now in zip(takers or [[]] * len(shards), taken, strict=True)]
        restores = []
        for (device, _), ops in zip(shards, takers, strict=True):
            with graph.device(device or None):
                restores.append(group(*ops, name="restore_shard" if sharded else "restore_all"))
        return group(*restores, name="restore_all") if sharded else restores[0]


class BulkSaverBuilder(BaseSaverBuilder):
    """Restores all tensors of a device by one node."""

    def bulk_restore(
        self,
        filename_tensor: Any,
        saveables: Sequence[Saveable],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """The tensors of all these objects; one node reads them one after another, so it is sequential in any case."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        with context.get_default_graph().device("cpu:0"):
            tensors = list(
                raw_ops.RestoreV2(
                    filename_tensor, [spec.name for spec in specs], [spec.slice_spec for spec in specs],
                    dtypes=[spec.dtype.base_dtype for spec in specs],
                )
            )  # fmt: skip
        if not context.executing_eagerly() and all(type(saveable) in saving.VARIABLES for saveable in saveables):
            tensors[0].op._set_attr("_copied", True)  # by assignments, so they may be memory of the file itself
        return tensors


def _takers(saveables: Sequence[Saveable], tensors: Sequence[Tensor], reshape: bool, first: bool) -> list[Any]:
    """The ops by which those that are ``restored_first``, or the others, take over their tensors."""
    takers, at_tensor = [], 0
    for saveable in saveables:
        count = len(saveable.specs)
        if saveable.restored_first == first:
            shapes = [_shape_of(spec.tensor) for spec in saveable.specs] if reshape else None
            takers.append(saveable.restore(tensors[at_tensor : at_tensor + count], shapes))
        at_tensor += count
    return takers


def _shape_of(tensor: Any) -> Any:
    shape = tensor.get_shape()
    return shape if shape.is_fully_defined() else raw_ops.Shape(tensor)


def _by_device(saveables: Sequence[Saveable]) -> Shards:
    shards: dict[str, list[Saveable]] = {}
    for saveable in saveables:
        devices = {canonical_name(spec.device) for spec in saveable.specs}
        if len(devices) != 1:
            raise ValueError(f"All tensors of a saveable object must be on the same device: {saveable.name} {at()}")
        shards.setdefault(devices.pop(), []).append(saveable)
    return sorted(shards.items())


def _keep_concatenations() -> None:
    """Makes the node that a partitioned variable in a collection is found by, where nobody has asked for its value yet."""
    graph = context.get_default_graph()
    for key in graph.get_all_collection_keys():
        for element in graph.get_collection(key):
            if isinstance(element, PartitionedVariable) and element.name not in graph._by_name:
                element.as_tensor()
