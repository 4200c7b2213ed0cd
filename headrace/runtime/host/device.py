"""Devices: what runs kernels.  A device type registers itself by name; the CPU and torch's own are always there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch

from headrace.core import process
from headrace.core.config import ConfigProto, GPUOptions
from headrace.core.device import canonical_name, forget_device_type, register_device_type, same_or_matches, task_of
from headrace.core.errors import InvalidArgumentError
from headrace.core.source import at
from headrace.resources.calling.value import is_null
from headrace.runtime.host.precision import HALVES, asked_precision


@dataclass(frozen=True, slots=True)
class LaunchedNode:
    """The node whose kernel a launch hook is to run."""

    name: str
    op: str  # its type, such as "MatMul"
    source: str  # the user's line that made it
    device: Device


@dataclass(frozen=True, slots=True)
class DeviceHooks:
    """What a device type does itself; None: torch does it.  Several threads may call a hook at the same time.

    ``allocate(shape, dtype, device)`` returns new memory of the device: a contiguous tensor, whatever is in it.
    ``copy(source, target, source_device, target_device)`` fills ``target`` and returns None.  A device is None for the host; one
    of the two is this device.  Both tensors are contiguous, of one shape and dtype.  What is copied to the host must be there
    when the hook returns.
    ``launch(run, node)`` returns what ``run()``, the kernel, returns, or other outputs like these.
    """

    allocate: Callable[[tuple[int, ...], torch.dtype, Device], torch.Tensor] | None = None
    copy: Callable[[torch.Tensor, torch.Tensor, Device | None, Device | None], None] | None = None
    launch: Callable[[Callable[[], Any], LaunchedNode], Any] | None = None

    def __post_init__(self) -> None:
        for name in ("allocate", "copy", "launch"):
            hook = getattr(self, name)
            if hook is not None and not callable(hook):
                raise TypeError(f"DeviceHooks.{name} must be a function or None, got {hook!r} {at()}")

    def __bool__(self) -> bool:
        return any(hook is not None for hook in (self.allocate, self.copy, self.launch))


@dataclass(frozen=True, slots=True)
class Device:
    """One place to run kernels: its full name, its type, and the torch device behind it."""

    name: str
    device_type: str
    torch_device: Any
    memory_limit: int = 0  # in bytes, as configured; 0: all there is
    threads: int = 0  # of its kernels, as configured; 0: a share of the session's (LocalWorker.thread_budgets)
    hooks: DeviceHooks | None = None  # of its type, if it brings some (runtime/host/hooks.py)

    @property
    def is_null(self) -> bool:
        """Whether kernels that would only compute are not run (runtime/host/null.py)."""
        return is_null(self.torch_device)

    @property
    def kernel_type(self) -> str:
        """The torch device type, under which most kernels are declared; those for ``device_type`` win over them."""
        torch_type: str = self.torch_device.type
        return torch_type


@dataclass(frozen=True, slots=True)
class DeviceType:
    """How to find and count the devices of one type.  ``priority``: the largest is preferred for nodes that ask for no device."""

    name: str
    torch_type: str
    count: Callable[[], int]
    priority: int
    null: bool = False
    hooks: DeviceHooks | None = None

    def torch_device(self, index: int) -> Any:
        """The torch device behind the device of this index.  The devices of the null type share theirs: it has no index."""
        return (
            torch.device(self.torch_type)
            if self.null or self.torch_type == "cpu"
            else torch.device(self.torch_type, index)
        )


_types: dict[str, DeviceType] = {}


def register_device(
    name: str, torch_type: str, count: Callable[[], int] | int = 1, priority: int = 0, hooks: DeviceHooks | None = None
) -> None:
    """Makes ``/device:NAME:i`` usable; ``torch_type`` is the torch device type its tensors live on.

    ``torch_type`` "meta" is an accelerator without hardware: shapes flow, values do not.
    ``count`` says how many there are (asked again by each session).  Nodes that ask for no device go to the type of
    highest ``priority``; the CPU's is 0.
    ``hooks`` are functions of the type's own that allocate its memory, copy to and from it, and run kernels.
    """
    if hooks is not None and not isinstance(hooks, DeviceHooks):
        raise TypeError(f"hooks of device type {name!r} must be a DeviceHooks or None, got {hooks!r} {at()}")
    if hooks and torch_type == "meta":
        raise ValueError(
            f"device type {name!r} brings hooks, but tensors of torch type 'meta' have no memory to allocate or copy {at()}"
        )
    number = count if callable(count) else lambda: count
    _register(DeviceType(name.upper(), torch_type, number, priority, hooks=hooks or None))


def register_null_device(name: str = "NULL", count: Callable[[], int] | int = 1, priority: int = -1) -> None:
    """Makes ``/device:NULL:i`` usable, which computes nothing: what comes from it is zeros of the right shape.

    A step on it takes the time that the runtime takes.
    """
    _register(DeviceType(name.upper(), "meta", count if callable(count) else lambda: count, priority, null=True))


def _register(device_type: DeviceType) -> None:
    key = device_type.name
    if not key.isidentifier():
        raise ValueError(f"a device type is named by letters, digits and '_', got {key!r}")
    if key in _types:
        raise ValueError(f"device type {key!r} is registered already (torch type {_types[key].torch_type!r})")
    torch.device(device_type.torch_type)  # raises for a type torch does not know
    _types[key] = device_type
    register_device_type(key, device_type.torch_type)


def unregister_device(name: str) -> None:
    """Forgets a device type; sessions that already use it keep it."""
    if name.upper() == "CPU":
        raise ValueError("the CPU cannot be unregistered: feeds, fetches and host ops need it")
    _types.pop(name.upper(), None)
    forget_device_type(name)


def device_types() -> list[str]:
    return sorted(_types)


register_device("CPU", "cpu", lambda: 1, priority=0)
register_device("GPU", "cuda", torch.cuda.device_count, priority=100)
register_device("MPS", "mps", lambda: int(torch.backends.mps.is_available()), priority=90)
register_device("XPU", "xpu", lambda: torch.xpu.device_count() if hasattr(torch, "xpu") else 0, priority=90)


LOCAL_TASK: Final = "/job:localhost/replica:0/task:0"


def physical_devices() -> list[tuple[str, int]]:
    """The type and the index of each device there is, the CPU first, then preferred ones first."""
    types = sorted(_types.values(), key=lambda t: (t.name != "CPU", -t.priority))
    return [(t.name, i) for t in types for i in range(t.count())]


def local_devices(
    device_count: dict[str, int] | None = None, prefix: str = LOCAL_TASK, visible: str = ""
) -> list[Device]:
    """The devices of this process, preferred ones first.  ``device_count`` limits a type, or gives several CPUs.

    ``visible``: the indices of the GPUs to use, in this order, as ``GPUOptions.visible_device_list`` has them; "" is all.
    """
    counts = {k.upper(): v for k, v in (device_count or {}).items()}
    for name in counts:
        if name not in _types:
            raise ValueError(f"device_count names unknown device type {name!r}; known: {', '.join(device_types())}")
    devices: list[Device] = []
    for device_type in sorted(_types.values(), key=lambda t: -t.priority):
        present = device_type.count()
        indices = _visible(visible, present) if device_type.name == "GPU" else range(present)
        present = len(indices)
        number = counts.get(device_type.name, present)
        if device_type.torch_type != "cpu":
            number = min(number, present)
        elif device_type.name == "CPU":
            number = max(number, 1)
        for i in range(number):
            name = f"{prefix}/device:{device_type.name}:{i}"
            index = indices[i] if i < present else i
            devices.append(Device(name, device_type.name, device_type.torch_device(index), hooks=device_type.hooks))
    return devices


def _visible(listed: str, present: int) -> Sequence[int]:
    """The GPUs of a ``visible_device_list``, such as "2,0"."""
    if not present or not listed.strip():  # without GPUs TensorFlow does not look at the list
        return range(present)
    pieces = [piece.strip() for piece in listed.split(",")]
    wrong = [p for p in pieces if not (p.isascii() and p.isdigit() and int(p) < present)]
    if wrong or len(set(pieces)) < len(pieces):
        what = f"has {wrong[0]!r}, which is no GPU" if wrong else "names a GPU twice"
        raise InvalidArgumentError(
            None, None,
            f"GPUOptions.visible_device_list = {listed!r} {what}; accepted are different numbers below {present}, the number of "
            f"GPUs there are, with commas between them {at()}",
        )  # fmt: skip
    return [int(piece) for piece in pieces]


def visible_devices(devices: Sequence[Device], filters: Sequence[str]) -> list[Device]:
    """The devices that match one of the filters, ``ConfigProto.device_filters``; all of them if there is no filter."""
    allowed = checked_filters(filters)
    visible = [d for d in devices if not allowed or any(same_or_matches(name, d.name) for name in allowed)]
    if not any(d.device_type == "CPU" for d in visible):
        raise InvalidArgumentError(
            None, None,
            f"ConfigProto.device_filters = {list(filters)} leaves no CPU, and feeds, fetches and host ops need one. The devices "
            f"are {', '.join(d.name for d in devices)}; a filter is a part of such a name, like '/job:worker/task:0' {at()}",
        )  # fmt: skip
    return visible


def checked_filters(filters: Sequence[str]) -> list[str]:
    """``ConfigProto.device_filters`` as the names of devices are written; an error if one is no part of such a name."""
    try:
        return [canonical_name(name) for name in filters]
    except ValueError as e:
        raise InvalidArgumentError(None, None, f"ConfigProto.device_filters: {e} {at()}") from None


def part_of(devices: Sequence[Device], mode: str) -> Callable[[str], str]:
    """The partition of a device, by its name: each device is one, but the first CPU of a task goes with its only accelerator.

    Devices of one type with hooks count as one accelerator: its copy hook takes values from one to another directly.
    ``mode`` "always" cuts between all of these as well.  Devices without values are never cut off.
    """
    accelerators: dict[str, dict[str, list[str]]] = {}
    for device in devices:
        if device.torch_device.type != "cpu" or device.hooks is not None:
            one = device.name if device.hooks is None or mode == "always" else device.device_type
            accelerators.setdefault(task_of(device.name), {}).setdefault(one, []).append(device.name)
    names = {d.name: d.name for d in devices}
    for task, there in accelerators.items():
        for together in there.values():
            beside_cpu = len(there) == 1 and mode != "always"
            names.update(dict.fromkeys(together, f"{task}/device:CPU:0" if beside_cpu else together[0]))
    for device in devices:
        if device.torch_device.type == "meta":  # there are no values to send
            names[device.name] = f"{task_of(device.name)}/device:CPU:0"
    return lambda device: names.get(device, device)


def configured(devices: Sequence[Device], config: ConfigProto) -> list[Device]:
    """The devices with the budgets and limits that the config gives them."""
    threads = _thread_budgets(devices, config.device_threads)
    limits = _memory_limits(devices, config.gpu_options.experimental.virtual_devices)
    return [replace(d, threads=threads.get(d.name, 0), memory_limit=limits.get(d.name, 0)) for d in devices]


def _thread_budgets(devices: Sequence[Device], requested: Mapping[str, int]) -> dict[str, int]:
    """``ConfigProto.device_threads``: the threads of CPUs by their full or partial names; the last that fits counts."""
    cpus = [d.name for d in devices if d.torch_device.type == "cpu"]
    budgets: dict[str, int] = {}
    for name, threads in requested.items():
        fitting = [cpu for cpu in cpus if same_or_matches(name, cpu)]
        if not fitting:
            raise ValueError(
                f"ConfigProto.device_threads names {name!r}, which is none of this session's CPUs: {', '.join(cpus)}"
            )
        if threads < 1:
            raise ValueError(f"ConfigProto.device_threads gives {name!r} {threads} threads; accepted are 1 and more")
        budgets.update(dict.fromkeys(fitting, threads))
    return budgets


def _memory_limits(
    devices: Sequence[Device], virtual: Sequence[GPUOptions.Experimental.VirtualDevices]
) -> dict[str, int]:
    """``GPUOptions.Experimental.virtual_devices``: a limit for each GPU.  Torch limits a whole GPU, so none is split."""
    gpus = [d.name for d in devices if d.torch_device.type == "cuda"]
    limits: dict[str, int] = {}
    for name, split in zip(gpus, virtual, strict=False):
        if len(split.memory_limit_mb) > 1 or split.priority:
            raise ValueError(
                f"gpu_options.experimental.virtual_devices splits {name} into {len(split.memory_limit_mb)} devices with "
                f"priorities {list(split.priority)}; accepted is one memory_limit_mb for each GPU, without a "
                "priority, because torch limits the memory of a whole GPU"
            )
        if split.memory_limit_mb:
            limits[name] = int(split.memory_limit_mb[0] * 2**20)
    return limits


_asked = [False]  # whether a session's config asked for determinism


def deterministic() -> bool:
    """Bit-identical reruns, and no rewrite that changes rounding: ``HEADRACE_DETERMINISTIC``, else what a config asked for."""
    setting = os.environ.get("HEADRACE_DETERMINISTIC", "")
    if setting not in ("", "0", "1"):
        raise ValueError(f"HEADRACE_DETERMINISTIC must be 1 or 0, got {setting!r}")
    return setting == "1" or (not setting and _asked[0])


def checks_numbers() -> bool:
    """Whether every step stops where a number becomes NaN or infinite: ``HEADRACE_CHECK_NUMERICS``."""
    setting = os.environ.get("HEADRACE_CHECK_NUMERICS", "")
    if setting not in ("", "0", "1"):
        raise ValueError(f"HEADRACE_CHECK_NUMERICS must be 1 or 0, got {setting!r}")
    return setting == "1"


def ask_deterministic(on: bool) -> None:
    """Says whether determinism is asked for where the environment says nothing."""
    _asked[0] = on


def configure(devices: Sequence[Device], config: ConfigProto) -> None:
    """Applies what a session's config says about the devices.  These are settings of the process, as they are in torch.

    float32 products on CUDA use TF32 by default, as TensorFlow's do; precision "highest" keeps full float32.
    """
    _asked[0] = _asked[0] or config.deterministic
    if deterministic():
        process.be_deterministic(torch)
    precision = asked_precision(config)
    if precision in HALVES:
        precision = "high"  # of what stays in 32 bits
    if not any(d.torch_device.type == "cuda" for d in devices):
        return
    asked = "HEADRACE_PRECISION" in os.environ or precision != ConfigProto().precision
    benchmark = not deterministic()  # trying algorithms may choose another one next time
    process.set_precision(torch, precision, benchmark=benchmark, asked=asked)
    for device in devices:
        if device.torch_device.type == "cuda":
            _limit_memory(device, config.gpu_options.per_process_gpu_memory_fraction)


def _limit_memory(device: Device, fraction: float) -> None:
    """Keeps torch's allocator below the device's own limit, or else below this fraction of the memory; 0: no limit."""
    if device.memory_limit:
        fraction = min(1.0, device.memory_limit / torch.cuda.get_device_properties(device.torch_device).total_memory)
    if 0 < fraction <= 1:
        torch.cuda.set_per_process_memory_fraction(fraction, device.torch_device)


def waiting(torch_devices: Sequence[Any]) -> Callable[[], None] | None:
    """A function that waits until accelerators have done all that was asked of them; None if none of these devices is one."""
    accelerators = {d for d in torch_devices if d.type not in ("cpu", "meta")}

    def wait() -> None:
        for device in accelerators:
            torch.accelerator.synchronize(device)

    return wait if accelerators else None


def is_gpu_available(types: Sequence[str] = ("GPU", "MPS", "XPU")) -> bool:
    return any(t in _types and _types[t].count() > 0 for t in types)


def built_with(toolkit: str) -> bool:
    """Whether torch was built for "cuda" or "hip"; a device need not be present."""
    return getattr(torch.version, toolkit, None) is not None


def cuda_capability() -> tuple[int, int]:
    """The highest compute capability among the CUDA devices; (0, 0) without one."""
    capabilities = [torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())]
    return max(capabilities, default=(0, 0))
