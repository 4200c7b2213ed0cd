"""What is known while layers are being called: which layer, with which inputs, whether it trains."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One call of a layer, inside which other layers may be called."""

    layer: Any = None
    inputs: Any = None
    training: Any = None
    in_keras_graph: bool = False

    @property
    def in_call(self) -> bool:
        """Whether some layer is being called."""
        return self.layer is not None

    @property
    def frozen(self) -> bool:
        """Whether the layer that is being called does not train."""
        return self.layer is not None and not self.layer.trainable


_OUTSIDE = LayerCall()
_current: contextvars.ContextVar[LayerCall] = contextvars.ContextVar("headrace_layer_call", default=_OUTSIDE)

call_context = _current.get


@contextmanager
def entered(layer: Any, inputs: Any, training: Any, in_keras_graph: bool) -> Iterator[LayerCall]:
    """The block in which a layer is called."""
    outer = _current.get()
    call = LayerCall(layer, inputs, training, outer.in_keras_graph or in_keras_graph)
    token = _current.set(call)
    try:
        yield outer
    finally:
        _current.reset(token)
