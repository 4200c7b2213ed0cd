"""Looking into checkpoints from Python, without a graph: ``NewCheckpointReader``, ``list_variables``, ``load_variable``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from headrace.core import dtypes, errors
from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.library.compat import as_str_any
from headrace.library.train.saver.state_file import latest_checkpoint
from headrace.resources.file.bundle.checkpoint import Checkpoint
from headrace.resources.file.bundle.opening import open_checkpoint
from headrace.resources.file.bundle.reader import BundleReader


class CheckpointReader:
    """The names, dtypes, shapes and values of a checkpoint.

    The index is read once; the files of the values are open only while a value is read.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._index: BundleReader | None = None  # a closed one, which opens its files again where they are needed
        with self._open() as checkpoint:
            self._entries = dict(checkpoint.entries)

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of this name."""
        return tensor_str in self._entries

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes by name."""
        return {name: list(entry.shape) for name, entry in self._entries.items()}

    def get_shape(self, tensor_str: str) -> list[int]:
        """The shape of one tensor."""
        return list(self._entries[tensor_str].shape)

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The dtypes by name."""
        return {name: entry.dtype for name, entry in self._entries.items()}

    def get_tensor(self, tensor_str: str) -> Any:
        """The value; bfloat16 comes as float32."""
        dtype, array = self._read(tensor_str)
        if dtype == dtypes.bfloat16:
            array = (array.astype(np.uint32) << 16).view(np.float32)
        elif dtype.is_quantized:
            array = array.view(dtype.as_numpy_dtype)
        return array if array.ndim else array[()]

    def _open(self) -> Checkpoint:
        checkpoint = open_checkpoint(self._prefix)
        self._index = checkpoint if isinstance(checkpoint, BundleReader) else None
        return checkpoint

    def _read(self, name: str) -> tuple[DType, Any]:
        if self._index is not None:
            try:
                with self._index as checkpoint:
                    return checkpoint.entry(name).dtype, checkpoint.read(name)
            except errors.OpError:  # another checkpoint has taken its place, or it is damaged
                self._index = None
        with self._open() as checkpoint:
            return checkpoint.entry(name).dtype, checkpoint.read(name)

    def debug_string(self) -> bytes:
        """One line for each tensor: name, dtype, shape."""
        lines = [f"{name} (DT_{entry.dtype.name.upper()}) {list(entry.shape)}" for name, entry in self._entries.items()]
        return "\n".join(lines).encode()


def NewCheckpointReader(filepattern: Any) -> CheckpointReader:  # noqa: N802 (TensorFlow's name)
    """A reader of the checkpoint with this prefix; of V1, it may be a pattern.

    Args:
      filepattern: The prefix of the checkpoint, as `tf.train.Saver.save` returns it.

    Returns:
      A reader with ``get_tensor(name)``, ``has_tensor(name)`` and ``get_variable_to_shape_map()``.

    Example: ``tf.train.NewCheckpointReader("/tmp/model/model.ckpt-1000").get_tensor("dense/kernel")``
    """
    return CheckpointReader(_path_text(filepattern))


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of the checkpoint with this prefix, or of the latest one in this folder.

    Args:
      ckpt_dir_or_file: The prefix of a checkpoint, or a folder, of which the latest one is taken.

    Returns:
      A reader with ``get_tensor(name)``, ``has_tensor(name)`` and ``get_variable_to_shape_map()``.

    Example: ``tf.train.load_checkpoint("/tmp/model").has_tensor("dense/kernel")``
    """
    return NewCheckpointReader(checkpoint_prefix(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """The value of a variable in a checkpoint.

    Args:
      ckpt_dir_or_file: The prefix of a checkpoint, or a folder, of which the latest one is taken.
      name: The name of the variable, with or without ``:0``.

    Returns:
      A numpy array.

    Example: ``kernel = tf.train.load_variable("/tmp/model", "dense/kernel")``
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """The name and shape of every variable in a checkpoint, in the order of the names.

    Args:
      ckpt_dir_or_file: The prefix of a checkpoint, or a folder, of which the latest one is taken.

    Returns:
      A list of pairs of a name and a shape, which is a list of integers.

    Example: ``for name, shape in tf.train.list_variables("/tmp/model"): print(name, shape)``
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def checkpoint_prefix(ckpt_dir_or_file: Any) -> str:
    """The prefix itself, or that of the latest checkpoint of a folder; ValueError if it has none."""
    path = _path_text(ckpt_dir_or_file)
    if not os.path.isdir(path) and not path.endswith("/"):
        return path
    latest = latest_checkpoint(path)
    if latest is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path} {at()}")
    return latest


def _path_text(path: Any) -> str:
    return as_str_any(os.fspath(path) if hasattr(path, "__fspath__") else path)
