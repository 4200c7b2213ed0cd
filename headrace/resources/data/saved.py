"""A position as bytes, and back: JSON for what is plain, then the values, each an encoded TensorProto in a frame of its own."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import torch

from headrace.core.record import frame, read_records
from headrace.resources.calling.packed import pack, unpack
from headrace.resources.calling.value import as_tensor
from headrace.resources.data.optional import OptionalValue
from headrace.resources.data.source import Listed
from headrace.resources.data.sparse import SparseValue
from headrace.resources.data.stage import State

_PLAIN = (int, float, str, bool, type(None))


def encode(state: State) -> bytes:
    """The state as bytes."""
    values: list[bytes] = []
    text = json.dumps(_plain(state, values))
    return b"".join(map(frame, [text.encode(), *values]))


def _plain(item: Any, values: list[bytes]) -> Any:
    """The item as JSON has it; what is no plain item is added to the values."""
    if type(item) in _PLAIN:
        return item
    if isinstance(item, (list, tuple)):
        return [_plain(one, values) for one in item]
    if type(item) is dict:
        return {"dict": {key: _plain(one, values) for key, one in item.items()}}
    if isinstance(item, Listed):
        return {"dataset": _plain(item.elements, values)}
    if isinstance(item, SparseValue):
        return {"sparse": _plain([item.indices, item.values, item.shape], values)}
    if isinstance(item, OptionalValue):
        return {"optional": _plain(item.element, values)}
    if isinstance(item, (np.ndarray, np.generic)) and not item.dtype.hasobject:
        item = as_tensor(item)
    if not isinstance(item, (torch.Tensor, np.ndarray)):
        raise TypeError(f"a {type(item).__name__} cannot be saved")
    values.append(pack(item.cpu() if isinstance(item, torch.Tensor) else item))
    return {"value": len(values) - 1}


def decode(data: bytes) -> State:
    """The state again; ValueError if these are not such bytes."""
    text, *values = read_records(io.BytesIO(data), "a saved position")

    def read(item: Any) -> Any:
        if isinstance(item, list):
            return [read(one) for one in item]
        if not isinstance(item, dict):
            return item
        ((tag, content),) = item.items()
        if tag == "value":
            return unpack(values[content])
        if tag == "dict":
            return {key: read(one) for key, one in content.items()}
        parts = read(content)
        if tag == "optional":
            return OptionalValue(None if parts is None else tuple(parts))
        return SparseValue(*parts) if tag == "sparse" else Listed([tuple(element) for element in parts])

    return read(json.loads(text))
