"""The file ``checkpoint``: which checkpoints a folder has, and which is the latest.  It is written last, after what it names.

Also what is done with the files of one checkpoint: whether there are any, how old they are, removing them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from headrace.core import errors, file
from headrace.core.checkpoint_def import V1, V2, messages
from headrace.core.source import at
from headrace.library import log
from headrace.library.compat import as_str_any, as_text
from headrace.resources.file.bundle.removal import remove_data

_DATA = re.compile(r"\.data-\d{5,}-of-\d{5,}")


def _path_text(path: Any) -> str:
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else as_text(path)


def _state_path(folder: str, latest_filename: str | None) -> str:
    return os.path.join(folder, "checkpoint" if latest_filename is None else latest_filename)


def generate_checkpoint_state_proto(
    save_dir: Any, model_checkpoint_path: Any, all_model_checkpoint_paths: Sequence[Any] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None, last_preserved_timestamp: float | None = None,
) -> Any:  # fmt: skip
    """The CheckpointState of a folder; paths are made relative to it if it is relative itself.

    Args:
      save_dir: The folder of the checkpoints.
      model_checkpoint_path: The prefix of the latest checkpoint.
      all_model_checkpoint_paths: The prefixes of all that are kept, oldest first; the latest one is added.
      all_model_checkpoint_timestamps: When each was written, in seconds since 1970; None to say nothing of it.
      last_preserved_timestamp: When the last one that is kept for good was written.

    Returns:
      A CheckpointState.

    >>> tf.train.generate_checkpoint_state_proto('/tmp/model', '/tmp/model/model.ckpt-2').all_model_checkpoint_paths
    ['/tmp/model/model.ckpt-2']
    """
    folder, latest = _path_text(save_dir), _path_text(model_checkpoint_path)
    paths = [_path_text(path) for path in all_model_checkpoint_paths or ()]
    if not paths or paths[-1] != latest:
        paths.append(latest)
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(paths):
        raise ValueError(
            f"Checkpoint timestamps, if provided, must match checkpoint paths (got paths {paths} and timestamps {times}) {at()}"
        )
    if not os.path.isabs(folder) and not file.is_remote(folder):
        paths = [_relative(path, folder) for path in paths]
        latest = _relative(latest, folder)
    return messages().CheckpointState(
        model_checkpoint_path=latest, all_model_checkpoint_paths=paths, all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp or 0.0,
    )  # fmt: skip


def _relative(path: str, folder: str) -> str:
    """The path relative to a relative folder; absolute paths stay."""
    return path if os.path.isabs(path) or file.is_remote(path) else os.path.relpath(path, folder)


def update_checkpoint_state(
    save_dir: Any, model_checkpoint_path: Any, all_model_checkpoint_paths: Sequence[Any] | None = None,
    latest_filename: str | None = None, all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:  # fmt: skip
    """Writes the file ``checkpoint``: a reader sees the old contents or the new ones.

    Args:
      save_dir: The folder of the checkpoints.
      model_checkpoint_path: The prefix of the latest checkpoint.
      all_model_checkpoint_paths: The prefixes of all that are kept, oldest first; the latest one is added.
      latest_filename: The name of the file; None for "checkpoint".
      all_model_checkpoint_timestamps: When each was written, in seconds since 1970; None to say nothing of it.
      last_preserved_timestamp: When the last one that is kept for good was written.

    Example: ``tf.train.update_checkpoint_state("/tmp/model", "/tmp/model/model.ckpt-1000")``
    """
    write_checkpoint_state(
        save_dir, model_checkpoint_path, all_model_checkpoint_paths, latest_filename, False,
        all_model_checkpoint_timestamps, last_preserved_timestamp,
    )  # fmt: skip


def write_checkpoint_state(
    save_dir: Any, model_checkpoint_path: Any, all_model_checkpoint_paths: Sequence[Any] | None = None,
    latest_filename: str | None = None, save_relative_paths: bool = False,
    all_model_checkpoint_timestamps: Sequence[float] | None = None, last_preserved_timestamp: float | None = None,
) -> None:  # fmt: skip
    """Writes the file ``checkpoint``; with ``save_relative_paths`` the folder can be moved as a whole."""
    from google.protobuf import text_format

    folder, latest = _path_text(save_dir), _path_text(model_checkpoint_path)
    path = _state_path(folder, latest_filename)
    paths = [_path_text(one) for one in all_model_checkpoint_paths or ()]
    if save_relative_paths:
        latest = _below(latest, folder)
        paths = [_below(one, folder) for one in paths]
    state = generate_checkpoint_state_proto(
        folder, latest, paths, all_model_checkpoint_timestamps, last_preserved_timestamp
    )
    if path == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{latest}' conflicts with path used for checkpoint state.  Please use a different save path. {at()}"
        )
    file.write_durably(path, text_format.MessageToString(state).encode())


def _below(path: str, folder: str) -> str:
    """An absolute path relative to the folder."""
    if file.is_remote(path):
        return path.removeprefix(folder.rstrip("/") + "/")
    return os.path.relpath(path, folder) if os.path.isabs(path) else path


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """The CheckpointState of a folder, with paths that can be opened from here; None if there is none that can be read.

    Args:
      checkpoint_dir: The folder of the checkpoints.
      latest_filename: The name of the file that lists them; None for "checkpoint".

    Returns:
      A CheckpointState with ``model_checkpoint_path`` and ``all_model_checkpoint_paths``, or None.

    Example: ``tf.train.get_checkpoint_state("/tmp/model").all_model_checkpoint_paths``
    """
    from google.protobuf import text_format

    folder = _path_text(checkpoint_dir)
    path = _state_path(folder, latest_filename)
    if not file.exists(path):
        return None
    state = messages().CheckpointState()
    try:
        with file.open_to_read(path) as opened:
            text_format.Merge(opened.read().decode(), state)
    except (errors.OpError, text_format.ParseError, UnicodeDecodeError, RecursionError, OSError, Warning) as error:
        # A warning is Python's, of an unknown escape sequence, where warnings are errors.
        log.warning("%s: %s", type(error).__name__, error)
        log.warning("%s: Checkpoint ignored", path)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder} {at()}")
    state.model_checkpoint_path = _absolute(state.model_checkpoint_path, folder)
    for i, one in enumerate(state.all_model_checkpoint_paths):
        state.all_model_checkpoint_paths[i] = _absolute(one, folder)
    return state


def _absolute(path: str, folder: str) -> str:
    return path if os.path.isabs(path) or file.is_remote(path) else os.path.join(folder, path)


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The prefix of the latest checkpoint of a folder; None if there is none.

    Args:
      checkpoint_dir: The folder of the checkpoints.
      latest_filename: The name of the file that lists them; None for "checkpoint".

    Returns:
      A prefix for `tf.train.Saver.restore`, or None.

    Example: ``saver.restore(sess, tf.train.latest_checkpoint("/tmp/model"))``
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path: str = state.model_checkpoint_path
    if checkpoint_exists(path):
        return path
    log.error("Couldn't match files for checkpoint %s", path)
    return None


# ---- the files of one checkpoint


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Whether there is a checkpoint with this prefix, of V2 or V1.

    Args:
      checkpoint_prefix: The prefix, as `tf.train.Saver.save` returns it.

    Returns:
      True or False.

    >>> tf.train.checkpoint_exists('/no/such/folder/model.ckpt')
    False
    """
    prefix = _path_text(checkpoint_prefix)
    return file.exists(f"{prefix}.index") or file.exists(prefix) or bool(file.matching(prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[Any]) -> list[float]:
    """When each checkpoint was written, in seconds since 1970; those that are gone are left out.

    Args:
      checkpoint_prefixes: A list of prefixes.

    Returns:
      A list of numbers.

    >>> tf.train.get_checkpoint_mtimes(['/no/such/folder/model.ckpt'])
    []
    """
    times = []
    for prefix in map(_path_text, checkpoint_prefixes):
        paths = [p for p in (f"{prefix}.index", prefix) if file.exists(p)] or file.matching(prefix)
        if paths:
            times.append(file.changed_at(paths[0]))
    return times


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """The file of the graph beside a checkpoint; ``-?????-of-00002`` of a sharded V1 checkpoint is left out."""
    return f"{re.sub('-[?0-9]+-of-[?0-9]+$', '', checkpoint_filename)}.{meta_graph_suffix}"


def remove_checkpoint(
    checkpoint_prefix: Any, checkpoint_format_version: int = V2, meta_graph_suffix: str = "meta"
) -> None:
    """Removes the files of a checkpoint, the index first: what is left after a crash is no checkpoint.

    Args:
      checkpoint_prefix: The prefix, as `tf.train.Saver.save` returns it.
      checkpoint_format_version: ``tf.train.SaverDef.V1`` to remove the files of that format too.
      meta_graph_suffix: How the file of the meta graph ends.

    Example: ``tf.train.remove_checkpoint("/tmp/model/model.ckpt-1000")``
    """
    prefix = _path_text(checkpoint_prefix)
    for path in (meta_graph_filename(prefix, meta_graph_suffix), f"{prefix}.index"):
        if file.exists(path):
            file.remove(path)
        file.remove_unfinished(path)
    data = [p for p in file.beginning_with(f"{prefix}.data-") if _DATA.fullmatch(p[len(prefix) :])]
    if checkpoint_format_version == V1:
        data += [prefix] if file.exists(prefix) else file.matching(prefix)
    if data:
        file.sync_folder(prefix)  # an index that comes back after a crash must not lack its data
    for path in data:
        remove_data(path)
