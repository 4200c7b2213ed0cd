"""Values that outlive a step in their session: keeping one under a handle, getting it back, deleting it."""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import ANY
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.resources.calling.value import FROM_TORCH
from headrace.resources.state.session_tensor import SessionTensors

# `transfers`: the value is kept where it is, though a handle is a string and strings are on the host.
_TRAITS = {"stateful": True, "opaque": True}
keep = op("GetSessionHandle(value: T) -> (handle: string[0])", T=ANY, transfers=True, **_TRAITS)
keep_v2 = op("GetSessionHandleV2(value: T) -> (handle: resource[0])", T=ANY, transfers=True, **_TRAITS)
get = op("GetSessionTensor(handle: host string; dtype: type) -> (value: dtype)", dtype=ANY, view=True, **_TRAITS)
delete = op("DeleteSessionTensor(handle: host string) -> ()", **_TRAITS)

for one in (keep, keep_v2, get, delete):
    one.not_differentiable()
    one.state(lambda context: SessionTensors.of(context.resources, context.owner))

get.shape(lambda handle, dtype: None)


@keep.kernel
@keep_v2.kernel
def _(value, *, state, node):
    """Keeps a copy: the value may be the buffer of a variable, or memory of the user's array."""
    copy = value.clone() if isinstance(value, torch.Tensor) else value.copy()
    return np.array(state.add(node.name, node.inputs[0].op.device, copy).encode(), dtype=object)


@get.kernel
def _(handle, dtype, *, state, device):
    name = handle.item().decode()
    try:
        value = state.get(name)
    except KeyError:
        raise InvalidArgumentError(
            None,
            None,
            f"The tensor with handle '{name}' is not in the session store: it was deleted, or is of another session",
        ) from None
    if not isinstance(value, torch.Tensor):
        return value
    if value.dtype != dtype:
        stored, requested = (FROM_TORCH[d].name for d in (value.dtype, dtype))
        raise InvalidArgumentError(None, None, f"The tensor with handle '{name}' is {stored}, not {requested}")
    return value.to(device)


@delete.kernel
def _(handle, *, state):
    name = handle.item().decode()
    try:
        state.delete(name)
    except KeyError:
        raise InvalidArgumentError(
            None, None, f"Failed to delete a tensor with handle '{name}' in the session store"
        ) from None
