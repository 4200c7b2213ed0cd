"""tf.keras.models.save_model and load_model."""

from __future__ import annotations

import os
from typing import Any

from headrace.core.source import at
from headrace.library.keras.saving import hdf5_file, hdf5_model


def save_model(
    model: Any, filepath: Any, overwrite: bool = True, include_optimizer: bool = True, save_format: str | None = None,
    signatures: Any = None, options: Any = None,
) -> None:  # fmt: skip
    """Saves a whole model as an HDF5 file: how it is made, how it trains, its weights and the state of its optimizer.

    Args:
      model: A model made of layers' outputs, or a `tf.keras.Sequential`.
      filepath: The path of the file, or an open ``h5py.File``.
      overwrite: Whether a file that is there is replaced; if not, the user is asked.
      include_optimizer: Whether the optimizer and its state are saved too.
      save_format: "h5" or None; Keras's SavedModels ("tf") are not supported.
      signatures: Of a SavedModel; must be None.
      options: Of a SavedModel; must be None.

    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.h5")
    >>> tf.keras.models.save_model(model, path)
    >>> tf.keras.models.load_model(path).count_params()
    8
    """
    if save_format not in (None, "h5", "hdf5", "keras") or signatures is not None or options is not None:
        raise NotImplementedError(
            f"save_model(save_format={save_format!r}) is not supported: a whole model is saved as HDF5, save_format='h5'. For "
            f"serving, export it by tf.saved_model.simple_save {at()}"
        )
    if not getattr(model, "_is_graph_network", False):
        raise NotImplementedError(
            "Saving the model to HDF5 format requires the model to be a Functional model or a Sequential model that is built. It "
            f"does not work for a subclassed model, whose `call` is Python code: use `save_weights` for {model.name!r} {at()}"
        )
    if not hdf5_file.is_open_file(filepath) and not may_write(filepath, overwrite):
        return
    with hdf5_file.opened(filepath, "w") as file:
        hdf5_model.write_model(file, model, include_optimizer)


def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:  # noqa: A002 - Keras's name
    """A model that `save_model` saved, here or in Keras.

    The file is data only: code in it, such as the bytecode of a ``Lambda`` layer, is never run.

    Args:
      filepath: The path of an HDF5 file, or an open ``h5py.File``.
      custom_objects: The user's own classes and functions by the names that the file has for them.
      compile: Whether the model is compiled as it was, with the state of its optimizer.

    Returns:
      A model.

    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), name="same")])
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.h5")
    >>> model.save(path)
    >>> tf.keras.models.load_model(path).layers[0].name
    'same'
    """
    if not hdf5_file.is_open_file(filepath) and os.path.isdir(filepath):
        raise NotImplementedError(
            f"{os.fspath(filepath)!r} is a folder: Keras's SavedModels are not supported. Save the model as HDF5 in Keras "
            f"(save_format='h5'), or load the graph by tf.saved_model.load {at()}"
        )
    with hdf5_file.opened(filepath, "r") as file:
        return hdf5_model.read_model(file, custom_objects, compile)


def may_write(path: Any, overwrite: bool) -> bool:
    """Whether a file may be written: it is not there, it may be replaced, or the user says yes."""
    path = os.fspath(path)
    if overwrite or not os.path.isfile(path):
        return True
    answer = ""
    while answer not in ("y", "n"):
        answer = input(f"[WARNING] {path} already exists - overwrite? [y/n] ").strip().lower()
    return answer == "y"
