"""The methods of a model that put it, or its weights, into files and take weights from them."""

from __future__ import annotations

import os
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.library.keras.saving import checkpoint, hdf5_file, hdf5_weights, model_file

_FORMATS = {"tensorflow": "tf", "tf": "tf", "hdf5": "h5", "h5": "h5", "keras": "h5"}


class Savable:
    """A model with layers and weights that can be saved."""

    layers: Any
    weights: Any
    name: Any
    built: bool

    def save(
        self, filepath: Any, overwrite: bool = True, include_optimizer: bool = True, save_format: str | None = None,
        signatures: Any = None, options: Any = None,
    ) -> None:  # fmt: skip
        """Saves the whole model as an HDF5 file; see `tf.keras.models.save_model`.

        Args:
          filepath: The path of the file, or an open ``h5py.File``.
          overwrite: Whether a file that is there is replaced; if not, the user is asked.
          include_optimizer: Whether the optimizer and its state are saved too.
          save_format: "h5" or None.
          signatures: Of a SavedModel; must be None.
          options: Of a SavedModel; must be None.

        Example: ``model.save("model.h5")``
        """
        model_file.save_model(self, filepath, overwrite, include_optimizer, save_format, signatures, options)

    def save_weights(self, filepath: Any, overwrite: bool = True, save_format: str | None = None) -> None:
        """Saves the values of all variables: as an HDF5 file, or as a checkpoint of TensorFlow.

        Args:
          filepath: The path of the file, or what the names of the checkpoint's files begin with.
          overwrite: Whether files that are there are replaced; if not, the user is asked.
          save_format: "h5" or "tf"; None for "h5" if the path ends with ".h5", ".hdf5" or ".keras", else "tf".

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "weights")
        >>> model.save_weights(path)
        >>> [name for name, _ in tf.train.list_variables(path) if "kernel" in name]
        ['layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE']
        """
        self._check_has_variables("save_weights")
        is_hdf5 = hdf5_file.names_hdf5(filepath)
        chosen = _FORMATS.get(str(save_format).lower()) if save_format is not None else ("h5" if is_hdf5 else "tf")
        if chosen is None:
            raise ValueError(f"save_format must be 'h5', 'tf' or None, got {save_format!r} {at()}")
        if chosen == "tf" and is_hdf5:
            raise ValueError(
                f'save_weights got save_format="tf"/"tensorflow", but the filepath ("{os.fspath(filepath)}") looks like an HDF5 '
                f'file. Omit the ".h5"/".keras" when saving in TensorFlow format {at()}'
            )
        written = os.fspath(filepath) if chosen == "h5" else f"{os.fspath(filepath)}.index"
        if not model_file.may_write(written, overwrite):
            return
        if chosen == "tf":
            checkpoint.write(self, os.fspath(filepath))
            return
        with hdf5_file.opened(filepath, "w") as file:
            hdf5_weights.write_layers(file, self.layers)

    def load_weights(self, filepath: Any, by_name: bool = False, skip_mismatch: bool = False) -> Any:
        """Sets the variables to values that `save_weights` or `save` saved, here or in Keras.

        Where ops run eagerly, a model that has not made its variables yet takes those of a checkpoint when it makes them.

        Args:
          filepath: The path of an HDF5 file, or of a checkpoint of TensorFlow.
          by_name: True takes the layers by name, and leaves those as they are that the file lacks; HDF5 only.
          skip_mismatch: With `by_name`: passes over layers whose weights have other shapes.

        Returns:
          For a checkpoint of TensorFlow what `tf.train.Checkpoint.restore` returns, which can check what was found; else None.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.h5")
        >>> model.save_weights(path)
        >>> model.load_weights(path)
        """
        if skip_mismatch and not by_name:
            raise ValueError(
                f"When calling model.load_weights, skip_mismatch can only be set to True when by_name is True {at()}"
            )
        later = context.executing_eagerly() and checkpoint.is_checkpoint(filepath)
        if not later:
            self._check_has_variables("load_weights")
        if checkpoint.is_checkpoint(filepath):
            if by_name:
                raise NotImplementedError(
                    "Weights may only be loaded based on topology into Models when loading TensorFlow-formatted weights "
                    f"(got by_name=True to load_weights) {at()}"
                )
            return checkpoint.read(self, os.fspath(filepath))
        with hdf5_file.opened(filepath, "r") as file:
            group = file if "layer_names" in file.attrs or "model_weights" not in file else file["model_weights"]
            if by_name:
                hdf5_weights.read_layers_by_name(group, self.layers, skip_mismatch)
            else:
                hdf5_weights.read_layers(group, self.layers)
        return None

    def _check_has_variables(self, method: str) -> None:
        if not self.built:
            raise ValueError(
                f"{method}: the model {self.name!r} has not created its variables yet. Call it on some input, or `build` it with "
                f"an input shape, first {at()}"
            )
