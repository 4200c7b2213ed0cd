"""The inputs and outputs of a model that says neither before it has seen data: a class of layers with a `call` of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.backend.config import floatx
from headrace.library.backend.keras_tensor import placeholder
from headrace.library.backend.phase import learning_phase
from headrace.library.keras.training.arrays import as_array


def input_dtype(array: Any) -> Any:
    """What an array is fed as: floats as `floatx`, all else as it is."""
    return np.dtype(floatx()) if array.dtype.kind == "f" else array.dtype


def find_ends(model: Any, x: Any) -> None:
    """Calls the model on data like ``x``, which says how many outputs it has, and names inputs and outputs."""
    data = [as_array(a) for a in nest.flatten(x)] if isinstance(x, (dict, tuple)) or _holds_arrays(x) else [as_array(x)]
    structure = x if isinstance(x, dict) or (isinstance(x, (list, tuple)) and _holds_arrays(x)) else 0
    names = [f"input_{i + 1}" for i in range(len(data))]
    if isinstance(x, dict):
        names = [str(key) for key in sorted(x)]
    shown = [_column(a) for a in data]
    if context.executing_eagerly():
        tensors = [convert_to_tensor(np.asarray(a[:1], input_dtype(a))) for a in shown]
        training: Any = False
    else:
        tensors = [
            placeholder((None, *a.shape[1:]), dtype=dtypes.as_dtype(input_dtype(a)), name=name)
            for a, name in zip(shown, names, strict=True)
        ]
        training = learning_phase()
    given = {"training": training} if takes_training(model) else {}
    outputs = model(_packed(structure, tensors), **given)
    _keep(model, structure, tensors, names, nest.flatten(outputs))


def _keep(model: Any, structure: Any, tensors: list[Any], names: list[str], outputs: list[Any]) -> None:
    if not outputs:
        raise ValueError(f"{type(model).__name__}.call returned no output to train {at()}")
    model.inputs, model.outputs = tensors, outputs
    model.input_names = names
    model.output_names = [f"output_{i + 1}" for i in range(len(outputs))]
    object.__setattr__(model, "_training_structure", _packed(structure, tensors))


def _packed(structure: Any, tensors: list[Any]) -> Any:
    return tensors[0] if isinstance(structure, int) else nest.pack_sequence_as(structure, tensors)


def _holds_arrays(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and bool(x) and hasattr(x[0], "shape")


def _column(array: Any) -> Any:
    return array[:, None] if array.ndim == 1 else array


def takes_training(model: Any) -> bool:
    """Whether the model's `call` has an argument `training`."""
    return "training" in model._call_names or model._takes_any
