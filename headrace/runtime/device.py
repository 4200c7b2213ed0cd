"""Devices: what runs kernels.  A device type registers itself by name; the CPU and torch's own are always there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from headrace.core import process
from headrace.core.config import ConfigProto
from headrace.core.device import canonical_name, register_device_type, same_or_matches
from headrace.core.errors import InvalidArgumentError
from headrace.core.source import at


@dataclass(frozen=True, slots=True)
class Device:
    """One place to run kernels: its full name, its type, and the torch device behind it."""

    name: str
    device_type: str
    torch_device: Any
    memory_limit: int = 0

    @property
    def kernel_type(self) -> str:
        """The name kernels are registered under."""
        torch_type: str = self.torch_device.type
        return torch_type


@dataclass(frozen=True, slots=True)
class DeviceType:
    """How to find and count the devices of one type.  ``priority``: the largest is preferred for nodes that ask for no device."""

    name: str
    torch_type: str
    count: Callable[[], int]
    priority: int


_types: dict[str, DeviceType] = {}


def register_device(name: str, torch_type: str, count: Callable[[], int] | int = 1, priority: int = 0) -> None:
    """Makes ``/device:NAME:i`` usable; ``torch_type`` is the torch device type its tensors live on.

    ``count`` says how many there are (asked anew by each session).  Nodes that ask for no device go to the type of
    highest ``priority``; the CPU's is 0.
    """
    key = name.upper()
    if not key.isidentifier():
        raise ValueError(f"a device type is named by letters, digits and '_', got {name!r}")
    if key in _types:
        raise ValueError(f"device type {key!r} is registered already (torch type {_types[key].torch_type!r})")
    torch.device(torch_type)  # raises for a type torch does not know
    number = count if callable(count) else lambda: count
    _types[key] = DeviceType(key, torch_type, number, priority)
    register_device_type(key)


def unregister_device(name: str) -> None:
    """Forgets a device type; sessions that already use it keep it."""
    if name.upper() == "CPU":
        raise ValueError("the CPU cannot be unregistered: feeds, fetches and host ops need it")
    _types.pop(name.upper(), None)


def device_types() -> list[str]:
    return sorted(_types)


register_device("CPU", "cpu", lambda: 1, priority=0)
register_device("GPU", "cuda", torch.cuda.device_count, priority=100)
register_device("MPS", "mps", lambda: int(torch.backends.mps.is_available()), priority=90)
register_device("XPU", "xpu", lambda: torch.xpu.device_count() if hasattr(torch, "xpu") else 0, priority=90)


LOCAL_TASK: Final = "/job:localhost/replica:0/task:0"


def local_devices(device_count: dict[str, int] | None = None, prefix: str = LOCAL_TASK) -> list[Device]:
    """The devices of this process, preferred ones first.  ``device_count`` limits a type, or gives several CPUs."""
    wanted = {k.upper(): v for k, v in (device_count or {}).items()}
    for name in wanted:
        if name not in _types:
            raise ValueError(f"device_count names unknown device type {name!r}; known: {', '.join(device_types())}")
    devices: list[Device] = []
    for device_type in sorted(_types.values(), key=lambda t: -t.priority):
        present = device_type.count()
        number = wanted.get(device_type.name, present)
        if device_type.torch_type != "cpu":
            number = min(number, present)
        elif device_type.name == "CPU":
            number = max(number, 1)
        for i in range(number):
            torch_device = (
                torch.device("cpu") if device_type.torch_type == "cpu" else torch.device(device_type.torch_type, i)
            )
            devices.append(Device(f"{prefix}/device:{device_type.name}:{i}", device_type.name, torch_device))
    return devices


def visible_devices(devices: Sequence[Device], filters: Sequence[str]) -> list[Device]:
    """The devices that match one of the filters, ``ConfigProto.device_filters``; all of them if there is no filter."""
    try:
        wanted = [canonical_name(name) for name in filters]
    except ValueError as e:
        raise InvalidArgumentError(None, None, f"ConfigProto.device_filters: {e} {at()}") from None
    visible = [d for d in devices if not wanted or any(same_or_matches(name, d.name) for name in wanted)]
    if not any(d.device_type == "CPU" for d in visible):
        raise InvalidArgumentError(
            None, None,
            f"ConfigProto.device_filters = {list(filters)} leaves no CPU, and feeds, fetches and host ops need one. The devices "
            f"are {', '.join(d.name for d in devices)}; a filter is a part of such a name, like '/job:worker/task:0' {at()}",
        )  # fmt: skip
    return visible


def part_of(devices: Sequence[Device], mode: str) -> Callable[[str], str]:
    """The partition of a device, by its name: each device is one, but the first CPU of a task goes with its only accelerator.

    ``mode`` "always" cuts between these two as well.
    """
    accelerators: dict[str, list[str]] = {}
    for device in devices:
        if device.torch_device.type != "cpu":
            accelerators.setdefault(device.name.rpartition("/")[0], []).append(device.name)
    names = {d.name: d.name for d in devices}
    if mode != "always":
        for task, there in accelerators.items():
            if len(there) == 1:
                names[there[0]] = f"{task}/device:CPU:0"
    return lambda device: names.get(device, device)


_asked = [False]  # whether a session's config asked for determinism


def deterministic() -> bool:
    """Bit-identical reruns, and no rewrite that changes rounding: ``HEADRACE_DETERMINISTIC``, else what a config asked for."""
    setting = os.environ.get("HEADRACE_DETERMINISTIC", "")
    if setting not in ("", "0", "1"):
        raise ValueError(f"HEADRACE_DETERMINISTIC must be 1 or 0, got {setting!r}")
    return setting == "1" or (not setting and _asked[0])


def ask_deterministic(wanted: bool) -> None:
    """Says whether determinism is asked for where the environment says nothing."""
    _asked[0] = wanted


def configure(devices: Sequence[Device], config: ConfigProto) -> None:
    """Applies what a session's config says about the devices.  These are settings of the process, as they are in torch.

    float32 products on CUDA use TF32 by default, as TensorFlow's do; precision "highest" keeps full float32.
    """
    _asked[0] = _asked[0] or config.deterministic
    if deterministic():
        process.be_deterministic(torch)
    precision = os.environ.get("HEADRACE_PRECISION", config.precision)
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"HEADRACE_PRECISION must be highest, high or medium, got {precision!r}")
    if not any(d.torch_device.type == "cuda" for d in devices):
        return
    asked = "HEADRACE_PRECISION" in os.environ or precision != ConfigProto().precision
    benchmark = not deterministic()  # trying algorithms may choose another one next time
    process.set_precision(torch, precision, benchmark=benchmark, asked=asked)
    fraction = config.gpu_options.per_process_gpu_memory_fraction
    if 0 < fraction <= 1:
        for device in devices:
            if device.torch_device.type == "cuda":
                torch.cuda.set_per_process_memory_fraction(fraction, device.torch_device)


def is_gpu_available(types: Sequence[str] = ("GPU", "MPS", "XPU")) -> bool:
    return any(t in _types and _types[t].count() > 0 for t in types)


def built_with(toolkit: str) -> bool:
    """Whether torch was built for "cuda" or "hip"; a device need not be present."""
    return getattr(torch.version, toolkit, None) is not None


def cuda_capability() -> tuple[int, int]:
    """The highest compute capability among the CUDA devices; (0, 0) without one."""
    capabilities = [torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())]
    return max(capabilities, default=(0, 0))
