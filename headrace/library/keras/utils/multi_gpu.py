"""tf.keras.utils.multi_gpu_model: one batch cut into parts, a part for each GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.library.keras.engine.clone import clone_model
from headrace.library.keras.engine.model import Model
from headrace.library.layers.lambda_layer import Lambda
from headrace.library.layers.merge import Concatenate
from headrace.library.scope import device, name_scope
from headrace.library.tensor import array
from headrace.runtime.host.defaults import default_devices


def _names() -> list[str]:
    """The devices that a model can be spread over."""
    gpus = [one.name.rpartition(":")[2] for one in default_devices() if one.device_type == "GPU"]
    return [f"/gpu:{number}" for number in gpus]


def multi_gpu_model(model: Any, gpus: Any = None, cpu_merge: bool = True, cpu_relocation: bool = False) -> Any:
    """A model that computes on several GPUs: each takes its part of the batch, with the same weights.

    Args:
      model: A model, whose weights the new one shares: save this one.
      gpus: How many GPUs, two or more, or a list of their numbers; None for all.
      cpu_merge: Whether the outputs are put together on the CPU.
      cpu_relocation: Whether the model's weights are made anew on the CPU.

    Returns:
      A model with the inputs and outputs of `model`.

    Example: ``parallel = tf.keras.utils.multi_gpu_model(model, gpus=2)``
    """
    there = _names()
    if gpus is None:
        gpus = len(there)
    numbers = list(gpus) if isinstance(gpus, (list, tuple)) else list(range(int(gpus)))
    if len(numbers) <= 1:
        raise ValueError(
            f"For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. Received: `gpus={gpus}` {at()}"
        )
    names = [f"/gpu:{number}" for number in numbers]
    if missing := [name for name in names if name not in there]:
        raise ValueError(
            f"To call `multi_gpu_model` with `gpus={gpus}`, we expect the following devices to be available: {names}. "
            f"However this machine only has: {there}, and lacks {missing}. Try reducing `gpus` {at()}"
        )
    if cpu_relocation:
        with device("/cpu:0"):
            model = clone_model(model)
    outputs: list[list[Any]] = [[] for _ in model.outputs]
    for part, name in enumerate(names):
        with device(name), name_scope(f"replica_{numbers[part]}"):
            inputs = [_part_of(x, part, len(names)) for x in model.inputs]
            made = model(inputs if len(inputs) > 1 else inputs[0])
            for one, found in zip(outputs, made if isinstance(made, list) else [made], strict=True):
                one.append(found)
    with device("/cpu:0" if cpu_merge else names[0]):
        merged = [Concatenate(axis=0, name=n)(v) for n, v in zip(model.output_names, outputs, strict=True)]
    return Model(model.inputs, merged)


def _part_of(tensor: Any, part: int, parts: int) -> Any:
    def cut(x: Any) -> Any:
        size: Any = array.shape(x)[0] // parts  # type: ignore[index]
        return x[part * size :] if part == parts - 1 else x[part * size : (part + 1) * size]

    return Lambda(cut, output_shape=_rest(tensor))(tensor)


def _rest(tensor: Any) -> Sequence[Any]:
    return tuple(tensor.shape.as_list()[1:])
