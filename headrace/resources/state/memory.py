"""Memory of devices: how much there is, and how much is in use.

Torch counts what it allocates on accelerators; nobody counts on the host.  What variables take is known on every device.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch

from headrace.resources.state.container import Containers
from headrace.resources.state.variable import Variable

COUNTED: Final = ("cuda", "xpu")  # torch types whose allocators keep statistics


@dataclass(frozen=True, slots=True)
class DeviceStats:
    """Memory of one device, in bytes; None for what nobody counts."""

    bytes_limit: int | None  # what tensors may take
    bytes_in_use: int | None  # by all tensors of the process
    max_bytes_in_use: int | None  # the most since the process began
    variable_bytes: int  # by the variables that the session sees


def device_stats(name: str, torch_device: Any, resources: Containers) -> DeviceStats:
    """What the memory of the device is used for just now.  ``resources``: where the session's variables are."""
    counted = torch_device.type in COUNTED
    return DeviceStats(
        memory_limit(torch_device) or None,
        bytes_in_use(torch_device) if counted else None,
        max_bytes_in_use(torch_device) if counted else None,
        variable_bytes(name, resources),
    )


def bytes_in_use(torch_device: Any) -> int:
    return int(torch.accelerator.memory_allocated(torch_device))


def max_bytes_in_use(torch_device: Any) -> int:
    return int(torch.accelerator.max_memory_allocated(torch_device))


def variable_bytes(device_name: str, resources: Containers) -> int:
    """How much the variables on a device take; those that have no value yet take nothing."""
    values = [getattr(v, "value", None) for v in resources.all_of(Variable, device_name)]
    return sum(value.nbytes for value in values if value is not None)


def memory_limit(torch_device: Any) -> int:
    """How many bytes tensors on the device may take: a part of the memory where a limit is set; 0 if nobody knows."""
    if torch_device.type == "cpu":
        return host_memory()
    if torch_device.type == "cuda":
        fraction: float = torch.cuda.get_per_process_memory_fraction(torch_device)
        return int(torch.cuda.get_device_properties(torch_device).total_memory * fraction)
    if torch_device.type == "xpu":
        return int(torch.xpu.get_device_properties(torch_device).total_memory)
    if torch_device.type == "mps":
        return int(torch.mps.recommended_max_memory())
    return 0


def resident_bytes() -> int | None:
    """The memory of this process that is in the machine; None where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None


@cache
def host_memory() -> int:
    """The memory of this machine, or the part of it that its control group leaves to this process."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(Path(path).read_text()))
    return min(limits)
