"""How much memory the device of a node has and uses (tf.contrib.memory_stats)."""

from __future__ import annotations

import torch

from headrace.core.registry import op
from headrace.resources.state.memory import COUNTED, bytes_in_use, max_bytes_in_use, memory_limit, variable_bytes

_TRAITS = {"stateful": True, "reads": True, "opaque": True, "host_output": True}
in_use = op("BytesInUse() -> (out: int64[0])", **_TRAITS)
at_most = op("MaxBytesInUse() -> (out: int64[0])", **_TRAITS)
limit = op("BytesLimit() -> (out: int64[0])", **_TRAITS)

in_use.state(lambda context: (context.device_name, context.resources))


@in_use.kernel
def _(*, state, device):
    """Where torch does not count, the variables are what is known."""
    return torch.tensor(bytes_in_use(device) if device.type in COUNTED else variable_bytes(*state))


for _type in COUNTED:

    @at_most.kernel(device=_type)
    def _(*, device):
        return torch.tensor(max_bytes_in_use(device))


limit.kernel(lambda *, device: torch.tensor(memory_limit(device)))
