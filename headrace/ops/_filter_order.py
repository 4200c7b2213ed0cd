"""The order in memory of a variable that convolutions read as their filter, on CUDA.

cuDNN wants the input channels of a filter next to each other; TF1's filters [height, width, in, out] have the output channels
there, and kept so they are turned around three times in every training step.  So the buffer of such a variable is laid out
as cuDNN wants it from the start.  Its shape and values are TF1's all the same.
"""

from __future__ import annotations

from typing import Any

FILTER_INPUT = {"Conv2D": 1, "Conv2DBackpropInput": 1}
PASS_ON = ("Identity", "Cast")
OUTPUT_CHANNELS_FIRST = (3, 0, 1, 2)


def buffer_order(graph: Any, name: str, device: Any) -> tuple[int, ...] | None:
    """The axes from the outermost to the innermost; None for the usual order."""
    operation = None if device.type != "cuda" or graph is None else graph._by_name.get(name)
    if operation is None:
        return None
    tensor = operation.outputs[0]
    return OUTPUT_CHANNELS_FIRST if _is_filter(tensor) or _goes_with_filter(tensor) else None


def _is_filter(tensor: Any) -> bool:
    for consumer in tensor.consumers():
        position = FILTER_INPUT.get(consumer.type)
        if position is not None and consumer.inputs[position] is tensor:
            return True
        if consumer.type in PASS_ON and _is_filter(consumer.outputs[0]):
            return True
    return False


def _goes_with_filter(tensor: Any) -> bool:
    """Whether this is the slot of an optimizer that updates a filter: both are best laid out alike."""
    return tensor.shape.ndims == 4 and any(
        consumer.op_def.traits.writes and any(other is not tensor and _is_filter(other) for other in consumer.inputs)
        for consumer in tensor.consumers()
    )
