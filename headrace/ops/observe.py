"""The two ops of an observed step (passes/observe.py): one keeps a copy of a value, one gives all copies as strings."""

from __future__ import annotations

import time

import numpy as np

from headrace.core.dtypes import ANY, as_dtype, string
from headrace.core.registry import op
from headrace.core.tensor_proto import encode
from headrace.ops.shared.summarise import to_array
from headrace.resources.state.observed import keep, take

_TRAITS = {"stateful": True, "opaque": True, "host": True}

observe = op(
    "_Observe(value: T; key: string, tensor: string, what: string, line: string, device: string) -> ()",
    T=ANY, takes_arrays=True, **_TRAITS,
)  # fmt: skip
observe.not_differentiable()
observe.shape(lambda value, **attrs: [])


@observe.kernel
def _(value, key, tensor, what, line, device):
    array = to_array(value)
    dtype = string if array.dtype == object else as_dtype(array.dtype)
    keep(key, (tensor, what, line, device, f"{time.time() * 1e6:.0f}", encode(array, dtype)))


observed = op("_Observed(; key: string) -> (rows: string)", **_TRAITS)
observed.not_differentiable()
observed.shape(lambda key: [(None, None)])


@observed.kernel
def _(key):
    rows = [[part.encode() if isinstance(part, str) else part for part in row] for row in take(key)]
    result = np.empty((len(rows), 6), dtype=object)
    for i, row in enumerate(rows):
        result[i] = row
    return result
