"""`headrace.train.lossy_transfers`: float32 values that may travel between devices as 16 bits (white paper 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.graph.added_attr import LOSSY
from headrace.graph.context import get_default_graph


@contextmanager
def lossy_transfers() -> Iterator[None]:
    """What the nodes made inside compute crosses to other devices as the upper 16 bits of each float32.

    The others are zero on arrival: truncation, not rounding, so a value loses less than 1/128 of it.  Values of other types,
    and values that stay on their device, are whole.  `ConfigProto(lossy_transfers=True)` says it of all nodes.

    Returns:
      A context manager.

    >>> with tf.device("/cpu:0"), tf.train.lossy_transfers():
    ...     weights = tf.get_variable("weights", [10, 10])
    """
    with get_default_graph()._adding(lambda op_type: {LOSSY: True}):
        yield


def make_lossy(grads_and_vars: Iterable[tuple[Any, Any]]) -> None:
    """Says of gradients, and of what is read of their variables, that they may travel as 16 bits."""
    for gradient, variable in grads_and_vars:
        if gradient is not None:
            getattr(gradient, "values", gradient).op._set_attr(LOSSY, True)  # rows have indices, which stay whole
            variable.op._set_attr(LOSSY, True)
