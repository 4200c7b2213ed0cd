"""What this machine has to compute on, as TF1's ``device_lib`` lists it."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.resources.state.memory import memory_limit
from headrace.runtime.host.device import local_devices


class LocalDevice(NamedTuple):
    """A device: its full name, its type, and its memory in bytes."""

    name: str
    device_type: str
    memory_limit: int
    physical_device_desc: str


def list_local_devices(session_config: Any = None) -> list[LocalDevice]:
    """The devices a local session has; `session_config` makes no difference."""
    devices = []
    for device in local_devices():
        name = device.name[device.name.index("/device:") :]
        limit = memory_limit(device.torch_device)
        devices.append(LocalDevice(name, device.device_type, limit, f"device: {device.torch_device}"))
    return devices
