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
    """The largest sum of image and filter, [height, width, channels], over each window.

    Args:
      input: A tensor of real numbers, [batch, height, width, channels].
      filter: A tensor [height, width, channels] of the type of `input`.
      strides: The step of the window, [1, rows, columns, 1].
      rates: The distance of the filter's elements, [1, rows, columns, 1].
      padding: "SAME" or "VALID".
      name: A name for the op.
      filters: Another name of `filter`; give one of them.
      dilations: Another name of `rates`; give one of them.

    Returns:
      A tensor of the type of `input`, [batch, rows, columns, channels].

    >>> x = tf.reshape([1.0, 5.0, 2.0], [1, 1, 3, 1])
    >>> y = tf.nn.dilation2d(x, tf.zeros([1, 2, 1]), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    >>> tf.Session().run(y).flatten().tolist()
    [5.0, 5.0]
    """
    filter = either("filters", filters, "filter", filter)
    rates = either("dilations", dilations, "rates", rates)
    return raw_ops.Dilation2D(input, filter, strides, rates, padding, name=name)


def erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Tensor:
    """The smallest difference of image and kernel over each window: dilation of the negative, by the turned kernel.

    Args:
      value: A tensor of real numbers, [batch, height, width, channels].
      kernel: A tensor [height, width, channels] of the type of `value`.
      strides: The step of the window, [1, rows, columns, 1].
      rates: The distance of the kernel's elements, [1, rows, columns, 1].
      padding: "SAME" or "VALID".
      name: A name for the op.

    Returns:
      A tensor of the type of `value`, [batch, rows, columns, channels].

    >>> x = tf.reshape([1.0, 5.0, 2.0], [1, 1, 3, 1])
    >>> y = tf.nn.erosion2d(x, tf.zeros([1, 2, 1]), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    >>> tf.Session().run(y).flatten().tolist()
    [1.0, 2.0]
    """
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        grown = raw_ops.Dilation2D(math.negative(value), array.reverse_v2(kernel, [0, 1]), strides, rates, padding)
        return math.negative(grown, name=scope)
