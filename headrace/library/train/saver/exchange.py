"""Variables to and from safetensors files, and checkpoints to and from them.  Names stay as they are, slashes included."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.core import dtypes, errors
from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.library.compat import as_str_any
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable import Variable
from headrace.library.train.saver import saveable as saving
from headrace.library.train.saver.reader import checkpoint_prefix
from headrace.resources.file.bundle.opening import open_checkpoint
from headrace.resources.file.bundle.writer import BundleWriter, array_pieces
from headrace.resources.file.safetensors_file import SafetensorsFile, TensorEntry, check_dtype, write_safetensors


def save_safetensors(path: Any, source: Any, var_list: Any = None, metadata: Mapping[str, str] | None = None) -> None:
    """Writes a safetensors file: the variables of a session, or a dict of arrays.

    ``source`` is a Session, whose variables ``var_list`` are saved (a list, or a dict from other names; by default all global
    variables), or a dict from names to arrays.  The parts of a partitioned variable are joined.

    Args:
      path: The file to write.
      source: A session, or a dict from names to arrays.
      var_list: The variables of the session to save, a list or a dict from names; None for all global variables.
      metadata: A dict from strings to strings to keep in the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.io.save_safetensors(f'{folder}/model.safetensors', {'layer/w': [[1.0, 2.0]]}, metadata={'made by': 'me'})
    ...     print(tf.io.load_safetensors(f'{folder}/model.safetensors'))
    {'layer/w': array([[1., 2.]])}
    """
    if hasattr(source, "run"):
        arrays, types = _fetched(source, var_list)
    elif isinstance(source, Mapping):
        if var_list is not None:
            raise ValueError(f"var_list goes with a Session, not with a dict of arrays {at()}")
        arrays = {_checked_name(name): np.asarray(value) for name, value in source.items()}
        types = {name: _dtype_of(name, array) for name, array in arrays.items()}
    else:
        raise TypeError(f"save_safetensors takes a Session or a dict of arrays, got {source!r} {at()}")
    for key, value in (metadata or {}).items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(f"metadata must be a dict of strings, got {key!r}: {value!r} {at()}")
    for name, dtype in types.items():
        check_dtype(name, dtype)
    entries = {name: TensorEntry(types[name], array.shape) for name, array in arrays.items()}
    write_safetensors(_path_text(path), entries, lambda name: _stored(arrays[name], types[name]), metadata)


def load_safetensors(path: Any) -> dict[str, Any]:
    """The arrays of a safetensors file by name; bfloat16 comes as float32.

    Args:
      path: The file to read.

    Returns:
      A dict from names to numpy arrays.

    Example: ``weights = tf.io.load_safetensors("model.safetensors")["layer/w"]``
    """
    with SafetensorsFile(_path_text(path)) as opened:
        return {name: _plain(opened.read(name), entry.dtype) for name, entry in sorted(opened.entries.items())}


def safetensors_metadata(path: Any) -> dict[str, str]:
    """The metadata of a safetensors file; empty if it has none.

    Args:
      path: The file to read; only its header is read.

    Returns:
      A dict from strings to strings.

    Example: ``tf.io.safetensors_metadata("model.safetensors").get("format")``
    """
    with SafetensorsFile(_path_text(path)) as opened:
        return opened.metadata


def restore_safetensors(path: Any, session: Any, var_list: Any = None) -> None:
    """Sets variables to what a safetensors file has: all of ``var_list``, or none if a name, dtype or shape does not fit.

    ``var_list`` is a list of variables or a dict from names in the file; by default all global variables.  What else the file has
    is left alone.

    Args:
      path: The file to read.
      session: The session whose variables are set.
      var_list: A list of variables, or a dict from names in the file to variables; None for all global variables.

    Example: ``tf.io.restore_safetensors("model.safetensors", sess, {"layer/w": weights})``
    """
    feeds: dict[Any, Any] = {}
    initializers = []
    with SafetensorsFile(_path_text(path)) as opened:
        parts = _parts_by_name(var_list)
        for name, whole in parts.items():
            _check(opened, name, whole)
        for name, whole in parts.items():
            array = _plain(opened.read(name), opened.entries[name].dtype)
            for variable, index in whole:
                initializers.append(variable.initializer)
                feeds[variable.initializer.inputs[1]] = array[index]
    session.run(initializers, feeds)


def checkpoint_to_safetensors(checkpoint: Any, path: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Writes the tensors of a checkpoint (its prefix, or a folder with a latest one) to a safetensors file.

    Args:
      checkpoint: The prefix of a checkpoint, or a folder, of which the latest one is taken.
      path: The file to write.
      metadata: A dict from strings to strings to keep in the file.

    Example: ``tf.io.checkpoint_to_safetensors("/tmp/model/model.ckpt-1000", "model.safetensors")``
    """
    with open_checkpoint(checkpoint_prefix(checkpoint)) as opened:
        for name, entry in opened.entries.items():
            check_dtype(f"{opened.prefix}: {name}", entry.dtype)
        entries = {name: TensorEntry(entry.dtype, entry.shape) for name, entry in opened.entries.items()}
        write_safetensors(_path_text(path), entries, opened.read, metadata)


def safetensors_to_checkpoint(path: Any, checkpoint: Any) -> str:
    """Writes the tensors of a safetensors file to a checkpoint, which a Saver restores; gives its prefix.

    Args:
      path: The file to read.
      checkpoint: The prefix of the checkpoint to write.

    Returns:
      The prefix, a string.

    Example: ``saver.restore(sess, tf.io.safetensors_to_checkpoint("model.safetensors", "/tmp/model/model.ckpt"))``
    """
    prefix = _path_text(checkpoint)
    with SafetensorsFile(_path_text(path)) as opened, BundleWriter(prefix) as writer:
        for name, entry in sorted(opened.entries.items()):
            writer.add(name, entry.dtype, entry.shape, array_pieces(opened.read(name)))
    return prefix


# ---- variables

Holders = list[tuple[Variable, tuple[slice, ...]]]  # the variables that hold a tensor, each with its place in it


def _parts_by_name(var_list: Any) -> dict[str, Holders]:
    if var_list is None:
        var_list = saving.all_saveables()
    by_name = var_list if isinstance(var_list, Mapping) else saving.saveables_by_name(var_list)
    return {_checked_name(name): _parts(name, value) for name, value in by_name.items()}


def _parts(name: str, value: Any) -> Holders:
    parts = list(value) if isinstance(value, (list, tuple, PartitionedVariable)) else [value]
    placed: Holders = []
    for part in parts:
        if not isinstance(part, Variable):
            raise TypeError(f"{name}: only variables go to safetensors files, got {part!r} {at()}")
        info = part._get_save_slice_info() if isinstance(value, (list, tuple, PartitionedVariable)) else None
        index = (
            () if info is None else
            tuple(slice(start, start + size) for start, size in zip(info.var_offset, info.var_shape, strict=True))
        )  # fmt: skip
        placed.append((part, index))
    return placed


def _full_shape(whole: Holders) -> Any:
    info = whole[0][0]._get_save_slice_info() if whole[0][1] else None
    return whole[0][0].shape.as_list() if info is None else list(info.full_shape)


def _fetched(session: Any, var_list: Any) -> tuple[dict[str, Any], dict[str, DType]]:
    """The values of the variables, all of one step, and their dtypes."""
    parts = _parts_by_name(var_list)
    types = {name: whole[0][0].dtype.base_dtype for name, whole in parts.items()}
    for name, dtype in types.items():
        check_dtype(name, dtype)
    values = session.run({name: [variable for variable, _ in whole] for name, whole in parts.items()})
    return {name: _joined(whole, values[name]) for name, whole in parts.items()}, types


def _joined(whole: Holders, values: list[Any]) -> Any:
    if not whole[0][1]:
        return np.asarray(values[0])
    array = np.empty(_full_shape(whole), values[0].dtype)
    for (_, index), value in zip(whole, values, strict=True):
        array[index] = value
    return array


def _check(opened: SafetensorsFile, name: str, whole: Holders) -> None:
    entry = opened.entries.get(name)
    variable = whole[0][0]
    if entry is None:
        opened.read(name)  # says which names there are
        return
    dtype, shape = variable.dtype.base_dtype, _full_shape(whole) if variable.shape.rank is not None else None
    if entry.dtype != dtype or (shape is not None and list(entry.shape) != shape):
        raise errors.InvalidArgumentError(
            None, None,
            f"{name}: the graph expects {dtype.name} {shape} (made at {variable.op.source}), the file {opened.path} has "
            f"{entry.dtype.name} {list(entry.shape)}",
        )  # fmt: skip


# ---- arrays


def _dtype_of(name: str, array: Any) -> DType:
    if array.dtype.kind in "OSU":
        raise ValueError(f"{name}: safetensors has no strings; a checkpoint of a Saver has them {at()}")
    try:
        return dtypes.as_dtype(array.dtype)
    except TypeError:
        raise ValueError(f"{name}: safetensors has no numbers of numpy's dtype {array.dtype} {at()}") from None


def _stored(array: Any, dtype: DType) -> Any:
    """The array as files have it: the upper halves of the bits for bfloat16, whose values Python sees as float32."""
    if dtype != dtypes.bfloat16 or array.dtype == np.uint16:
        return array
    return (np.ascontiguousarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _plain(array: Any, dtype: DType) -> Any:
    return (array.astype(np.uint32) << 16).view(np.float32) if dtype == dtypes.bfloat16 else array


def _checked_name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the names of tensors must be strings, got {name!r} {at()}")
    return name


def _path_text(path: Any) -> str:
    return as_str_any(os.fspath(path) if hasattr(path, "__fspath__") else path)
