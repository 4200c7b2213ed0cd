"""The weights of layers, and the state of an optimizer, in a group of an HDF5 file: Keras's layout, version 2.

A group has a group for each layer, in which each variable is a dataset under its own name; attributes keep the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.library import log
from headrace.library.backend.session import batch_get_value, batch_set_value
from headrace.library.keras.saving import hdf5_file

KERAS_VERSION = "2.2.4-tf"  # TensorFlow 1.15's


def write_layers(group: Any, layers: Sequence[Any]) -> None:
    """Writes the weights of layers."""
    hdf5_file.write_names(group, "layer_names", [layer.name for layer in layers])
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = KERAS_VERSION.encode()
    values = iter(batch_get_value([weight for layer in layers for weight in _weights(layer)]))
    for layer in layers:
        weights = _weights(layer)
        own = group.create_group(layer.name)
        hdf5_file.write_arrays(own, [weight.name for weight in weights], [next(values) for _ in weights])


def read_layers(group: Any, layers: Sequence[Any]) -> None:
    """Sets the weights of layers to those of a file that has as many layers with weights, in this order."""
    _check_version(group)
    mine = [layer for layer in layers if _weights(layer)]
    saved = [name for name in hdf5_file.read_names(group, "layer_names") if _names(group, name)]
    if len(saved) != len(mine):
        raise ValueError(
            f"You are trying to load a weight file containing {len(saved)} layers into a model with {len(mine)} layers: "
            f"{_some(saved)} into {_some([layer.name for layer in mine])} {at()}"
        )
    pairs: list[tuple[Any, Any]] = []
    for k, (layer, name) in enumerate(zip(mine, saved, strict=True)):
        weights, names = _weights(layer), _names(group, name)
        if len(weights) != len(names):
            raise ValueError(
                f'Layer #{k} (named "{layer.name}" in the current model) was found to correspond to layer {name} in the save '
                f"file. However the new layer {layer.name} expects {len(weights)} weights, but the saved weights have "
                f"{len(names)} elements {at()}"
            )
        pairs += _pairs(hdf5_file.subgroup(group, name), names, weights, layer.name)
    batch_set_value(pairs)


def read_layers_by_name(group: Any, layers: Sequence[Any], skip_mismatch: bool = False) -> None:
    """Sets the weights of those layers whose names are in the file.

    ``skip_mismatch`` passes over layers whose number or shapes of weights differ, with a warning.
    """
    _check_version(group)
    for name in hdf5_file.read_names(group, "layer_names"):
        names = _names(group, name)
        for layer in (layer for layer in layers if layer.name == name):
            try:
                pairs = _layer_by_name(hdf5_file.subgroup(group, name), names, layer)
            except _Mismatch as e:
                if not skip_mismatch:
                    raise
                log.warning("Skipping loading of weights for layer %s: %s", name, e)
                continue
            batch_set_value(pairs)


def write_optimizer(file: Any, optimizer: Any) -> None:
    """Writes the state of an optimizer; nothing if it has none."""
    weights = optimizer.weights
    if weights:
        group = file.create_group("optimizer_weights")
        hdf5_file.write_arrays(group, [weight.name for weight in weights], batch_get_value(weights))


def read_optimizer(file: Any, optimizer: Any) -> None:
    """Sets the state of an optimizer, whose variables have been made, to that in a file."""
    group = hdf5_file.subgroup(file, "optimizer_weights")
    names = hdf5_file.read_names(group, "weight_names")
    weights = optimizer.weights
    if len(names) != len(weights):
        raise ValueError(f"the file has {len(names)} variables of the optimizer, which has {len(weights)} {at()}")
    batch_set_value(_pairs(group, names, weights, "optimizer"))


class _Mismatch(ValueError):
    """The weights of a layer are not those of the file; ``skip_mismatch`` passes over it."""


def _pairs(group: Any, names: Sequence[str], weights: Sequence[Any], owner: str) -> list[tuple[Any, Any]]:
    """Variables and their new values."""
    pairs = []
    for weight, name in zip(weights, names, strict=True):
        found = hdf5_file.dataset(group, name)
        if not weight.shape.is_compatible_with(found.shape):
            raise _Mismatch(
                f'Layer "{owner}" has weight {weight.name} with shape {weight.shape}, but the saved weight {name} has shape '
                f"{found.shape} {at()}"
            )
        pairs.append((weight, np.asarray(found)))
    return pairs


def _layer_by_name(group: Any, names: Sequence[str], layer: Any) -> list[tuple[Any, Any]]:
    weights = _weights(layer)
    if len(weights) != len(names):
        raise _Mismatch(
            f'Layer "{layer.name}" expects {len(weights)} weight(s), but the saved weights have {len(names)} element(s) {at()}'
        )
    return _pairs(group, names, weights, layer.name)


def _weights(layer: Any) -> list[Any]:
    """The weights in the order of the file: those that training changes, then the others, whether frozen or not."""
    return list(layer.trainable_weights) + list(layer.non_trainable_weights)


def _names(group: Any, layer_name: str) -> list[str]:
    return hdf5_file.read_names(hdf5_file.subgroup(group, layer_name), "weight_names")


def _check_version(group: Any) -> None:
    """Keras 1 kept other kernels for the same layers."""
    version = group.attrs.get("keras_version", b"1")
    text = hdf5_file.as_text(version, group, "keras_version")
    if not text.startswith(("2.", "3.")):
        raise ValueError(
            f"the weights were written by Keras {text}, whose kernels have other shapes: save them by Keras 2 first {at()}"
        )
    backend = hdf5_file.as_text(group.attrs.get("backend", b"tensorflow"), group, "backend")
    if backend != "tensorflow":
        raise ValueError(
            f"the weights were written by Keras on {backend!r}, whose kernels are flipped: use TensorFlow's {at()}"
        )


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
