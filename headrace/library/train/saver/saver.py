"""``tf.train.Saver``: saves the variables of a session, keeps the last few checkpoints, and restores them.

A checkpoint is durable when `Saver.save` returns, or later if it is written in the background (background.py); the file
``checkpoint`` names it only then.  A restore either takes over all variables or changes none: names, dtypes and shapes are
compared, and all tensors read and checked, before the first is assigned.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from headrace.core import errors, file
from headrace.core.checkpoint_def import V2, messages
from headrace.core.source import at, user_source
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.library import log
from headrace.library.compat import as_str_any, integral_types
from headrace.library.state.global_step import global_step as step_of
from headrace.library.train.saver import saveable as saving
from headrace.library.train.saver.background import Background
from headrace.library.train.saver.builder import BulkSaverBuilder
from headrace.library.train.saver.incremental import IncrementalSaverBuilder, Increments, checked_incremental
from headrace.library.train.saver.leftovers import remove_parts, remove_stale
from headrace.library.train.saver.meta_graph import add_meta_graph, export_meta_graph, naming
from headrace.library.train.saver.one_at_a_time import one_at_a_time
from headrace.library.train.saver.restore_check import assignments, check_restore
from headrace.library.train.saver.state_file import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    meta_graph_filename,
    remove_checkpoint,
    write_checkpoint_state,
)
from headrace.resources.stepping.saving import Saving

_GRACE: Final = 5.0  # seconds that a failed save waits for the files that other threads are writing


class SaveReport(NamedTuple):
    """What there is to say of a save."""

    path: str
    torn: tuple[str, ...]  # variables that other steps wrote, or may have written, while they were read


class Saver:
    """Saves and restores variables.

    ``var_list`` is a list of variables, which are saved under their own names, or a dict from other names; by default all global
    variables and saveable objects.  ``max_to_keep`` checkpoints are kept (0 or None: all), and one more for every
    ``keep_checkpoint_every_n_hours``.

    These are Headrace's own.  ``asynchronous``: `save` copies the variables, which takes their memory once more, and a thread
    writes them; `wait` waits for it.  ``consistent``: no step writes a saved variable while it is read; a step that does so
    already is waited for, ``consistent_wait_secs`` at most.  ``last_save`` says whether other steps wrote meanwhile.
    ``incremental``: every so many saves one is whole; of large variables the others have the rows that were written since the
    save before.  They are read together with those they build on, which are kept as long.
    ``local_dir``: a folder on a fast disk of each task, to which it writes first, and from which it restores what is there.

    Args:
      var_list: A list of variables and saveable objects, or a dict from names to them; None for all.
      reshape: Whether to restore a tensor of another shape with the same number of elements.
      sharded: Whether each device writes a file of its own.
      max_to_keep: How many checkpoints to keep; 0 or None for all.
      keep_checkpoint_every_n_hours: One checkpoint in so many hours is kept for good.
      name: A name scope for the nodes.
      restore_sequentially: Told to `builder`; Headrace's own reads one tensor after another in any case.
      saver_def: A SaverDef that names nodes of the graph, in place of new ones.
      builder: A `tf.train.BaseSaverBuilder` that makes the nodes; None for Headrace's own.
      defer_build: Whether to make the nodes at the first use or by `build`, not now.
      allow_empty: Whether a graph without variables is no error; saves then do nothing.
      write_version: The format: ``tf.train.SaverDef.V2`` or ``V1``.
      pad_step_number: Whether the step in file names has eight digits, with zeros in front.
      save_relative_paths: Whether the file ``checkpoint`` has paths relative to its folder, so that the folder can be moved.
      filename: The default path in the graph, used where the nodes are run without one; None for "model".
      asynchronous: Whether a thread writes the checkpoint while the training goes on.
      consistent: Whether no step may change a variable while the checkpoint is read.
      consistent_wait_secs: How long `consistent` waits for steps that run.
      incremental: The number of saves from one whole checkpoint to the next; None for whole ones only.
      local_dir: A folder on each task to write to first; with `asynchronous` only.

    >>> import tempfile
    >>> v = tf.Variable([1.0, 2.0], name='v')
    >>> saver = tf.train.Saver()
    >>> with tempfile.TemporaryDirectory() as folder, tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     path = saver.save(sess, f'{folder}/model', global_step=10)
    ...     sess.run(v.assign([0.0, 0.0]))
    ...     saver.restore(sess, path)
    ...     print(path.removeprefix(folder), sess.run(v))
    array([0., 0.], dtype=float32)
    /model-10 [1. 2.]
    """

    def __init__(
        self, var_list: Any = None, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
        saver_def: Any = None, builder: Any = None, defer_build: bool = False, allow_empty: bool = False,
        write_version: int = V2, pad_step_number: bool = False, save_relative_paths: bool = False,
        filename: str | None = None, *, asynchronous: bool = False, consistent: bool = False,
        consistent_wait_secs: float = 60.0, incremental: int | None = None, local_dir: str | None = None,
    ) -> None:  # fmt: skip
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or var_list=None. "
                + at()
            )
        if context.executing_eagerly() and var_list is None:
            raise RuntimeError(
                f"When eager execution is enabled, `var_list` must specify a list or dict of variables to save {at()}"
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def: Any = None if saver_def is None else _checked_def(saver_def)
        self._builder = builder
        self._is_built = False
        self._allow_empty = allow_empty
        self._is_empty = False
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._filename = filename
        self._save_relative_paths = save_relative_paths
        for option, value in (("asynchronous", asynchronous), ("consistent", consistent)):
            if not isinstance(value, bool):
                raise TypeError(f"{option} must be True or False, got {value!r} {at()}")
        if isinstance(consistent_wait_secs, bool) or not isinstance(consistent_wait_secs, (int, float)):
            raise TypeError(f"consistent_wait_secs must be a number of seconds, got {consistent_wait_secs!r} {at()}")
        self._increments = Increments(checked_incremental(incremental, saver_def, builder))
        if local_dir is not None:
            if not isinstance(local_dir, str) or not local_dir:
                raise TypeError(f"local_dir must be the path of a folder on each task, got {local_dir!r} {at()}")
            if not asynchronous:
                raise ValueError(
                    f"local_dir={local_dir!r} is for Saver(asynchronous=True), which writes there first {at()}"
                )
            if incremental is not None:
                raise ValueError(
                    f"local_dir={local_dir!r} and incremental={incremental} do not go together: choose one {at()}"
                )
        self._local_dir = local_dir
        self._consistent = consistent
        self._consistent_wait_secs = consistent_wait_secs
        self._asynchronous = asynchronous
        self._background = Background()
        self._failed: list[str] = []  # prefixes of saves whose shards may not be removed yet
        self.last_save: SaveReport | None = None
        self._confirm: Callable[[], None] | None = None
        self._last_checkpoints: list[tuple[str, float]] = []  # with the time of each
        self._checkpoints_to_be_deleted: list[tuple[str, float]] = []
        if not defer_build:
            self.build()
        if self.saver_def is not None:
            self._write_version = self.saver_def.version

    def build(self) -> None:
        """Builds the nodes that save and restore; only needed after ``defer_build=True``."""
        if self._is_built:
            return
        self._is_built = True
        if context.executing_eagerly():
            self._prepare_eagerly()
        elif self.saver_def is None:
            self._build_nodes()
        elif self._name:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(self.saver_def, field, f"{self._name}/{getattr(self.saver_def, field)}")
        if self.saver_def is not None:
            self._next_checkpoint_time = time.time() + self.saver_def.keep_checkpoint_every_n_hours * 3600

    def _build_nodes(self) -> None:
        if self._builder is None:
            builder_class = IncrementalSaverBuilder if self._increments.every > 1 else BulkSaverBuilder
            self._builder = builder_class(self._write_version)
        if self._write_version != V2:
            log.warning("Saver(write_version=SaverDef.V1): checkpoints are written in the V2 format; V1 is only read.")
        if self._var_list is None:
            self._var_list = saving.all_saveables()
        if not self._var_list:
            if not self._allow_empty:
                raise ValueError(f"No variables to save {at()}")
            self._is_empty = True
            return
        self.saver_def = self._builder.build(
            self._var_list, reshape=self._reshape, sharded=self._sharded, max_to_keep=self._max_to_keep,
            keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours, name=self._name,
            restore_sequentially=self._restore_sequentially, filename=self._filename,
        )  # fmt: skip

    def _prepare_eagerly(self) -> None:
        """There are no nodes: `save` and `restore` run the ops themselves."""
        self._builder = self._builder or BulkSaverBuilder(self._write_version)
        by_name = self._var_list if isinstance(self._var_list, dict) else saving.saveables_by_name(self._var_list)
        self._eager_saveables = saving.checked_saveables(by_name)
        self.saver_def = messages().SaverDef(
            max_to_keep=self._max_to_keep or 0, version=self._write_version,
            keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours,
        )  # fmt: skip

    # ---- as a message

    def as_saver_def(self) -> Any:
        """The SaverDef: the names of the nodes, and what to keep."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The SaverDef with names below ``export_scope``; None if the nodes are not there."""
        if export_scope is None or self.saver_def is None:
            return self.saver_def
        fields = ("filename_tensor_name", "save_tensor_name", "restore_op_name")
        if not all(getattr(self.saver_def, field).startswith(export_scope) for field in fields):
            return None
        stripped = messages().SaverDef()
        stripped.CopyFrom(self.saver_def)
        for field in fields:
            setattr(stripped, field, getattr(stripped, field).removeprefix(f"{export_scope.rstrip('/')}/"))
        return stripped

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """The saver of nodes that are in the graph already, maybe below ``import_scope``."""
        return Saver(saver_def=saver_def, name=import_scope)

    # ---- which checkpoints there are

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, the oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Sets the checkpoints that are kept; old, use `set_last_checkpoints_with_time`."""
        self.set_last_checkpoints_with_time([(path, float("inf")) for path in _checked_list(last_checkpoints)])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Sets the checkpoints that are kept: (path, time) of each, the oldest first."""
        self._last_checkpoints = _checked_list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over those of these checkpoints that still exist, after a restart."""
        recovered = []
        for path in checkpoint_paths:
            times = get_checkpoint_mtimes([path])
            if times:
                recovered.append((path, times[0]))
        self.set_last_checkpoints_with_time(recovered)

    def _remember(self, path: str) -> None:
        """Keeps the newest checkpoints, and those that they build on."""
        most = self.saver_def.max_to_keep
        if not most:
            return
        entries = [entry for entry in self._last_checkpoints if entry[0] != path] + [(path, time.time())]
        newest = [one for one, _ in entries[-most:]]
        in_use = {*newest, *self._increments.needed(newest)}
        self._last_checkpoints = [entry for entry in entries if entry[0] in in_use]
        self._checkpoints_to_be_deleted += [entry for entry in entries if entry[0] not in in_use]

    def _remove_old(self, meta_graph_suffix: str) -> None:
        old, self._checkpoints_to_be_deleted = self._checkpoints_to_be_deleted, []
        spared: set[str] = set()
        for path, saved_at in old:
            if saved_at > self._next_checkpoint_time:  # kept for good, with what it builds on
                self._next_checkpoint_time += self.saver_def.keep_checkpoint_every_n_hours * 3600
                spared |= {path, *self._increments.needed([path])}
        for path, _ in old[::-1]:  # none is left without what it builds on
            if path in spared:
                continue
            try:
                remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
            except (errors.OpError, OSError) as error:
                log.warning("Ignoring: %s", error)

    # ---- saving

    @one_at_a_time
    def save(
        self, sess: Any, save_path: Any, global_step: Any = None, latest_filename: str | None = None,
        meta_graph_suffix: str = "meta", write_meta_graph: bool = True, write_state: bool = True,
        strip_default_attrs: bool = False, save_debug_info: bool = False,
    ) -> str | None:  # fmt: skip
        """Saves the variables under ``save_path``, with ``-global_step`` after it, and gives the prefix of the files.

        When it returns, the checkpoint is on the disk.  A crash before that leaves the checkpoints there were.  An asynchronous
        saver waits for the checkpoint before, and returns when the variables are copied.
        """
        if not self._is_built:
            raise RuntimeError(f"`build()` should be called before save if defer_build==True {at()}")
        latest_filename = "checkpoint" if latest_filename is None else latest_filename
        if os.path.split(latest_filename)[0]:
            raise ValueError(f"'latest_filename' must not contain path components: {latest_filename!r} {at()}")
        if save_path is None or not _path_text(save_path):
            raise ValueError(f"no path specified: save_path is {save_path!r} {at()}")
        if not context.executing_eagerly():
            _check_session(sess)
        path = self._checkpoint_path(sess, _path_text(save_path), global_step, latest_filename)
        if self._is_empty:
            return None
        self._background.wait()
        self._remove_leftovers(_path_text(save_path))
        saving = Saving(self._asynchronous, self._consistent, self._consistent_wait_secs, self._local(path))
        with self._removed_if_it_fails(saving, path):
            prefix = self._run_save(sess, path, saving)
        self._report(SaveReport(prefix, saving.torn))
        latest = latest_filename if write_state else None
        finish = partial(self._finish_or_remove, saving, prefix, latest, meta_graph_suffix, self._confirm)
        has_graph = write_meta_graph and not context.executing_eagerly()
        if not self._asynchronous:
            finish(lambda: self._meta_graph(sess.graph, strip_default_attrs) if has_graph else None)
        else:
            with self._removed_if_it_fails(saving, prefix):
                meta_graph = self._meta_graph(sess.graph, strip_default_attrs) if has_graph else None
                self._background.start(prefix, user_source(), partial(finish, lambda: meta_graph))
        return prefix

    def _local(self, prefix: str) -> tuple[str, str] | None:
        return None if self._local_dir is None else (self._local_dir, prefix)

    @contextmanager
    def _confirmed_by(self, confirm: Callable[[], None]) -> Iterator[None]:
        """Saves inside call ``confirm`` before the file ``checkpoint`` is written; it raises if that must not be."""
        self._confirm = confirm
        try:
            yield
        finally:
            self._confirm = None

    def _run_save(self, sess: Any, path: str, saving: Saving) -> str:
        folder = os.path.dirname(path)
        try:
            with saving.entered():
                if context.executing_eagerly():
                    self._builder.save_op(path, self._eager_saveables)
                    return path
                feeds = {self.saver_def.filename_tensor_name: path, **self._increments.feeds(self._builder, path)}
                return as_str_any(sess.run(self.saver_def.save_tensor_name, feeds))
        except (errors.FailedPreconditionError, errors.NotFoundError):
            if folder and not file.exists(folder):
                raise ValueError(f"Parent directory of {path} doesn't exist, can't save. {at()}") from None
            raise

    @contextmanager
    def _removed_if_it_fails(self, saving: Saving, prefix: str) -> Iterator[None]:
        """If this fails, the shards that were written go.  Another task may be writing one still: the next save looks again."""
        try:
            yield
        except BaseException:
            saving.give_up(_GRACE)
            if self.saver_def.sharded:
                remove_parts(prefix)
                self._failed.append(prefix)
            raise

    def _remove_leftovers(self, path: str) -> None:
        if self.saver_def.sharded:
            while self._failed:
                remove_parts(self._failed.pop())
            remove_stale(path)

    def _finish_or_remove(self, saving: Saving, prefix: str, *rest: Any) -> None:
        with self._removed_if_it_fails(saving, prefix):
            self._finish(saving, prefix, *rest)

    def _finish(
        self,
        saving: Saving,
        prefix: str,
        latest_filename: str | None,
        suffix: str,
        confirm: Callable[[], None] | None,
        meta_graph: Callable[[], bytes | None],
    ) -> None:
        """Writes what is not written yet: the variables, the graph, and last the file ``checkpoint``, which says all is there."""
        saving.write_files()
        message = meta_graph()
        if message is not None:
            file.write_durably(meta_graph_filename(prefix, suffix), message)
        if confirm is not None:
            confirm()
        self._increments.done(prefix)
        if latest_filename is not None:
            self._remember(prefix)
            folder, checkpoints = os.path.dirname(prefix), self.last_checkpoints
            write_checkpoint_state(folder, prefix, checkpoints, latest_filename, self._save_relative_paths)
            self._remove_old(suffix)

    def _report(self, report: SaveReport) -> None:
        if report.torn:
            first = self.last_save is None or not self.last_save.torn
            names = ", ".join(report.torn[:5]) + (f" and {len(report.torn) - 5} more" if len(report.torn) > 5 else "")
            log.log(
                log.WARN if first else log.DEBUG,
                "the checkpoint %s may be torn: other steps wrote %s while it was saved. With Saver(consistent=True) they wait.",
                report.path, names,
            )  # fmt: skip
        self.last_save = report

    def wait(self) -> None:
        """Waits until the last checkpoint of an asynchronous saver is on the disk; raises what went wrong with it."""
        self._background.wait()

    def _meta_graph(self, graph: Graph, strip_default_attrs: bool) -> bytes | None:
        try:
            with graph.as_default():
                return self.export_meta_graph(strip_default_attrs=strip_default_attrs).SerializeToString()
        except ImportError as error:  # the checkpoint itself is there
            log.warning("the graph is not written beside the checkpoint: %s", error)
            return None

    def export_meta_graph(
        self, filename: Any = None, collection_list: Sequence[str] | None = None, as_text: bool = False,
        export_scope: str | None = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False, save_debug_info: bool = False,
    ) -> Any:  # fmt: skip
        """The default graph with its collections and this saver as a MetaGraphDef, written to ``filename`` if there is one."""
        return export_meta_graph(
            filename, saver_def=self.to_proto(export_scope), collection_list=collection_list, as_text=as_text,
            export_scope=export_scope, clear_devices=clear_devices, clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs, save_debug_info=save_debug_info,
        )  # fmt: skip

    def _checkpoint_path(self, sess: Any, path: str, global_step: Any, latest_filename: str) -> str:
        if global_step is None:
            if os.path.basename(path) == latest_filename and not self._sharded:
                raise ValueError(
                    f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{path}' {at()}"
                )
            return path
        if not isinstance(global_step, integral_types):
            global_step = step_of(sess, global_step)
        return f"{path}-{global_step:08d}" if self._pad_step_number else f"{path}-{global_step:d}"

    # ---- restoring

    def restore(self, sess: Any, save_path: Any) -> None:
        """Sets the variables to what the checkpoint has.  They need not be initialised before."""
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError(f"Can't load save_path when it is None. {at()}")
        if not self._is_built:
            raise RuntimeError(f"`build()` should be called before restore if defer_build==True {at()}")
        prefix = _path_text(save_path)
        self._background.join()
        self._increments.begin_anew()
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix} {at()}")
        if not context.executing_eagerly():
            _check_session(sess)
        log.info("Restoring parameters from %s", prefix)
        try:
            if context.executing_eagerly():
                self._restore_eagerly(prefix)
            else:
                check_restore(sess.graph, self.saver_def.restore_op_name, prefix)
                with Saving(local=self._local(prefix)).entered():
                    sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: prefix})
        except errors.NotFoundError as error:
            raise _with_reason(error, "a Variable name or other graph key that is missing") from None
        except errors.InvalidArgumentError as error:
            raise _with_reason(error, "a mismatch between the current graph and the graph") from None

    def _restore_variables(self, sess: Any, prefix: str, names: Sequence[str] | None) -> int:
        """Restores the variables whose operations have these names, and leaves the others alone; gives the number of those.

        Restores everything where nobody knows the names, and where it restores more than variables.
        """
        takers = None if names is None else assignments(sess.graph, self.saver_def.restore_op_name)
        if takers is None or self._is_empty:
            self.restore(sess, prefix)
            return 0
        self._increments.begin_anew()
        matching = [taker for name in names or () for taker in takers.get(name, ())]
        log.info("Restoring %d of %d variables from %s", len(matching), len(takers), prefix)
        check_restore(sess.graph, self.saver_def.restore_op_name, prefix)
        if matching:
            with Saving(local=self._local(prefix)).entered():
                sess.run(matching, {self.saver_def.filename_tensor_name: prefix})
        return len(takers.keys() - set(names or ()))

    def _restore_eagerly(self, prefix: str) -> None:
        saveables = self._eager_saveables
        tensors = iter(self._builder.bulk_restore(prefix, saveables, -1, self._restore_sequentially))
        restored = [[next(tensors) for _ in saveable.specs] for saveable in saveables]
        shapes = [[spec.tensor.shape for spec in saveable.specs] if self._reshape else None for saveable in saveables]
        for saveable, values in zip(saveables, restored, strict=True):
            shape = getattr(saveable.op, "shape", None)
            if shape is not None and not self._reshape and not shape.is_compatible_with(values[0].shape):
                raise errors.InvalidArgumentError(
                    None, None,
                    f"{saveable.name}: the variable has shape {shape}, the checkpoint {prefix} has shape {values[0].shape}",
                )  # fmt: skip
        for saveable, values, new_shapes in zip(saveables, restored, shapes, strict=True):
            saveable.restore(values, new_shapes)


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Adds a meta graph to the default graph; gives its saver, or one for all variables, or None if it has none.

    Args:
      meta_graph_or_file: A MetaGraphDef, or the path of a file that holds one.
      clear_devices: Whether to leave out on which devices nodes are.
      import_scope: A name scope for the nodes; None for none.
      **kwargs: ``input_map``, a dict from names of tensors in the message to tensors to use in their place.

    Returns:
      A `tf.train.Saver`, or None.

    Example: ``tf.train.import_meta_graph("/tmp/model/model.ckpt-1000.meta").restore(sess, "/tmp/model/model.ckpt-1000")``
    """
    with naming(meta_graph_or_file):
        meta_graph, scope, _ = add_meta_graph(meta_graph_or_file, clear_devices, import_scope, **kwargs)
        for data in meta_graph.collection_def[GraphKeys.SAVERS].bytes_list.value:
            context.get_default_graph().add_to_collection(
                GraphKeys.SAVERS, Saver.from_proto(messages().SaverDef.FromString(data), scope)
            )
        if meta_graph.HasField("saver_def"):
            return Saver(saver_def=meta_graph.saver_def, name=scope)
    if saving.all_saveables(import_scope):
        return Saver()
    log.info("Saver not created because there are no variables in the graph to restore")
    return None


def _with_reason(error: errors.OpError, reason: str) -> errors.OpError:
    message = (
        f"Restoring from checkpoint failed. This is most likely due to {reason} from the checkpoint. Please ensure that you "
        f"have not altered the graph expected based on the checkpoint. Original error:\n\n{error.message}"
    )
    return type(error)(error.node_def, error.op, message)  # type: ignore[call-arg]


def _path_text(path: Any) -> str:
    return as_str_any(os.fspath(path) if hasattr(path, "__fspath__") else path)


def _check_session(sess: Any) -> None:
    if not (hasattr(sess, "run") and hasattr(sess, "graph")):
        raise TypeError(f"'sess' must be a Session; {sess!r} {at()}")


def _checked_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise AssertionError(f"the last checkpoints must be a list, got {value!r} {at()}")
    return value


def _checked_def(saver_def: Any) -> Any:
    """A SaverDef of our own, from ours or TensorFlow's."""
    if not hasattr(saver_def, "save_tensor_name") or not hasattr(saver_def, "SerializeToString"):
        raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {saver_def!r} {at()}")
    for field in ("save_tensor_name", "restore_op_name"):
        if not getattr(saver_def, field):
            raise ValueError(f"saver_def must specify the {field}: {saver_def} {at()}")
    return messages().SaverDef.FromString(saver_def.SerializeToString())
