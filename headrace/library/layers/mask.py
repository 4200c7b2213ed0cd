"""Masks: which steps of a tensor count.  A layer hands on the masks of its inputs as ``tensor._keras_mask``."""

from __future__ import annotations

from typing import Any

from headrace.library import nest


def collected(layer: Any, inputs: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The masks of the inputs of a call: those that were passed, else those that the inputs carry; None if there are none."""
    if layer._passed("mask", args, kwargs):
        return layer._argument("mask", args, kwargs)
    if all(getattr(t, "_keras_mask", None) is None for t in nest.flatten(inputs)):
        return None
    return nest.map_structure(lambda t: getattr(t, "_keras_mask", None), inputs)


def set_masks(layer: Any, inputs: Any, outputs: Any, input_masks: Any) -> None:
    """Gives the outputs of a call their masks."""
    flat = nest.flatten(outputs)
    if layer._compute_output_and_mask_jointly or all(getattr(t, "_keras_mask", None) is not None for t in flat):
        return
    if not layer.supports_masking and hasattr(layer.compute_mask, "_is_default"):
        return
    output_masks = layer.compute_mask(inputs, input_masks)
    every = [None] * len(flat) if output_masks is None else nest.flatten(output_masks)
    for tensor, mask in zip(flat, every, strict=False):
        if mask is not None or getattr(tensor, "_keras_mask", None) is not None:
            tensor._keras_mask = mask
