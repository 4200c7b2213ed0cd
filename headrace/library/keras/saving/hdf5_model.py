"""A whole model in an HDF5 file: its configuration, how it trains, its weights and the state of its optimizer."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library import log
from headrace.library.keras import losses
from headrace.library.keras.engine.graph_config import to_json
from headrace.library.keras.metrics import named as metrics
from headrace.library.keras.optimizers.named import deserialize as deserialize_optimizer
from headrace.library.keras.optimizers.tf_optimizer import TFOptimizer
from headrace.library.keras.saving import hdf5_file, hdf5_weights
from headrace.library.keras.saving.later_keras import as_before
from headrace.library.layers.named_object import CustomObjectScope
from headrace.library.layers.registry import deserialize

_ARGUMENTS = ("loss", "metrics", "weighted_metrics", "sample_weight_mode", "loss_weights")  # of compile


def write_model(file: Any, model: Any, include_optimizer: bool) -> None:
    """Writes a model into an open file, which should be empty."""
    metadata = {"model_config": {"class_name": type(model).__name__, "config": model.get_config()}}
    training = training_config(model) if include_optimizer else None
    if training is not None:
        metadata["training_config"] = training
    file.attrs["keras_version"] = hdf5_weights.KERAS_VERSION.encode()
    file.attrs["backend"] = b"tensorflow"
    for key, value in metadata.items():
        file.attrs[key] = to_json(value).encode()
    hdf5_weights.write_layers(file.create_group("model_weights"), model.layers)
    if training is not None:
        hdf5_weights.write_optimizer(file, model.optimizer)


def read_model(file: Any, custom_objects: Any, compile: bool) -> Any:  # noqa: A002 - Keras's name
    """The model in an open file, compiled as it was if ``compile`` is True."""
    config = hdf5_file.read_json(file, "model_config")
    if not isinstance(config, dict):
        raise ValueError(f"No model found in config file {file.file.filename!r}: does it hold weights only? {at()}")
    model = deserialize(as_before(config), custom_objects=custom_objects)
    hdf5_weights.read_layers(hdf5_file.subgroup(file, "model_weights"), model.layers)
    if compile:
        _compile(file, model, custom_objects or {})
    return model


def training_config(model: Any) -> dict[str, Any] | None:
    """How a model was compiled, as plain data; None if it was not, or by an optimizer that cannot be stored."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return None
    if isinstance(optimizer, TFOptimizer):
        log.warning(
            "The state and the settings of an optimizer of tf.train cannot be saved with the model: compile it with one of "
            "tf.keras.optimizers for that."
        )
        return None
    return {
        **{name: model._settings.arguments[name] for name in _ARGUMENTS},
        "optimizer_config": {"class_name": type(optimizer).__name__, "config": optimizer.get_config()},
    }


def _compile(file: Any, model: Any, custom_objects: Any) -> None:
    training = hdf5_file.read_json(file, "training_config")
    if not isinstance(training, dict):
        log.warning("No training configuration found in save file: the model was *not* compiled. Compile it manually.")
        return
    training = as_before(training)
    optimizer = deserialize_optimizer(training["optimizer_config"], custom_objects)
    arguments = {name: training.get(name) for name in _ARGUMENTS}
    with CustomObjectScope(custom_objects):
        for name, made in (("loss", losses), ("metrics", metrics), ("weighted_metrics", metrics)):
            arguments[name] = _restored(arguments[name], made.deserialize)
        model.compile(optimizer, **arguments)
    if "optimizer_weights" not in file:
        return
    model.optimizer.create_weights(model.trainable_weights)
    try:
        hdf5_weights.read_optimizer(file, model.optimizer)
    except ValueError as e:
        log.warning("Error in loading the saved optimizer state. As a result, your model is starting with a freshly initialized "
                    "optimizer: %s", e)  # fmt: skip


def _restored(value: Any, deserialize: Any) -> Any:
    """Losses or metrics in a structure, made of their configurations; names stay names, which ``compile`` knows."""
    if isinstance(value, dict) and value.keys() >= {"class_name", "config"}:
        return deserialize(value)
    if isinstance(value, dict):
        return {key: _restored(one, deserialize) for key, one in value.items()}
    if isinstance(value, list):
        return [_restored(one, deserialize) for one in value]
    return value
