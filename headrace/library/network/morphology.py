"""Grey-scale dilation and erosion of images (tf.nn)."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.argument import either
from headrace.library.numeric import math
from headrace.library.scope import name_scope
from headrace.library.tensor import array


def dilation2d(
    input: Any, filter: Any = None, strides: Any = None, rates: Any = None, padding: str | None = None,
    name: str | None = None, filters: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """The largest sum of image and filter, [height, width, channels], over each window."""
    filter = either("filters", filters, "filter", filter)
    rates = either("dilations", dilations, "rates", rates)
    return raw_ops.Dilation2D(input, filter, strides, rates, padding, name=name)


def erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Tensor:
    """The smallest difference of image and kernel over each window: dilation of the negative, by the turned kernel."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        grown = raw_ops.Dilation2D(math.negative(value), array.reverse_v2(kernel, [0, 1]), strides, rates, padding)
        return math.negative(grown, name=scope)
