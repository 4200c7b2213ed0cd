"""``tf.config``: the devices that later sessions use, out of those this machine has.

Owns the lists and the checks; what a session makes of them is in `runtime.host.defaults`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.core.errors import UnimplementedError
from headrace.core.source import at
from headrace.library.system.session_setting import check_not_initialized
from headrace.runtime.host import defaults
from headrace.runtime.host.device import physical_devices


class PhysicalDevice(NamedTuple):
    """A device that this machine has: its name, such as "/physical_device:GPU:0", and its type.

    Example: ``(cpu,) = tf.config.experimental.list_physical_devices("CPU")``
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that a session has: its name, such as "/device:GPU:0", and its type.

    Example: ``tf.config.experimental.list_logical_devices("GPU")[0].name``
    """

    name: str
    device_type: str


class VirtualDeviceConfiguration(NamedTuple):
    """One of the logical devices that a physical device is for sessions.

    Args:
      memory_limit: The memory of a GPU in megabytes; None for a CPU.

    >>> (cpu,) = tf.config.experimental.list_physical_devices("CPU")
    >>> two = [tf.config.experimental.VirtualDeviceConfiguration()] * 2
    >>> tf.config.experimental.set_virtual_device_configuration(cpu, two)
    >>> with tf.Session() as sess:
    ...     print([device.name[-5:] for device in sess.list_devices() if device.device_type == "CPU"])
    ['CPU:0', 'CPU:1']
    """

    memory_limit: int | None = None


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that this machine has.

    Args:
      device_type: "CPU", "GPU" or another type; None for all.

    Returns:
      A list of pairs of a name and a type.

    >>> tf.config.experimental.list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return [_physical(t, i) for t, i in physical_devices() if device_type in (None, t)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that a session without a configuration of its own has.  Afterwards they cannot be set any more.

    Args:
      device_type: "CPU", "GPU" or another type; None for all.

    Returns:
      A list of pairs of a name and a type.

    >>> tf.config.experimental.list_logical_devices("CPU")
    [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    return [
        LogicalDevice(name[name.index("/device:") :], name.split(":")[-2])
        for name in experimental_list_devices()
        if device_type in (None, name.split(":")[-2])
    ]


def experimental_list_devices() -> list[str]:
    """The full names of the devices of a session without a configuration of its own.  Afterwards they cannot be set any more.

    Returns:
      A list of names.

    >>> "/job:localhost/replica:0/task:0/device:CPU:0" in tf.config.experimental_list_devices()
    True
    """
    devices = defaults.default_devices()
    defaults.settings().initialized = True
    return [device.name for device in sorted(devices, key=lambda d: d.device_type != "CPU")]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The physical devices that sessions use; all of them at first.

    Args:
      device_type: "CPU", "GPU" or another type; None for all.

    Returns:
      A list of pairs of a name and a type.

    >>> tf.config.experimental.get_visible_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    types = dict.fromkeys(t for t, _ in physical_devices() if device_type in (None, t))
    return [_physical(t, i) for t in types for i in defaults.settings().seen(t)]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Sets which physical devices sessions made from now on use, and in which order: the first GPU is their "/gpu:0".

    Args:
      devices: A physical device, or a list of some.
      device_type: The type of all of them, which leaves devices of other types as they are; None to choose among all.

    >>> gpus = tf.config.experimental.list_physical_devices("GPU")
    >>> tf.config.experimental.set_visible_devices(gpus[1:], "GPU")
    >>> tf.config.experimental.get_visible_devices("GPU") == gpus[1:]
    True
    """
    chosen = [devices] if isinstance(devices, PhysicalDevice) or not isinstance(devices, (list, tuple)) else devices
    types = dict.fromkeys(t for t, _ in physical_devices()) if device_type is None else {device_type: None}
    visible: dict[str, list[int]] = {t: [] for t in types}
    for device in chosen:
        its_type, index = _known(device)
        if its_type not in visible:
            raise ValueError(f"Unrecognized device: {device!r} is not of type {device_type!r} {at()}")
        if index in visible[its_type]:
            raise ValueError(f"set_visible_devices: {device!r} is in the list twice {at()}")
        visible[its_type].append(index)
    if not visible.get("CPU", [0]):
        raise ValueError(
            f"set_visible_devices({devices!r}) leaves no CPU, and feeds, fetches and host ops need one. To choose among the GPUs "
            f"alone, pass their type: set_visible_devices(gpus, 'GPU') {at()}"
        )
    for its_type, indices in visible.items():
        if its_type not in ("CPU", "GPU") and indices != list(range(len(indices))):
            raise ValueError(
                f"set_visible_devices: of type {its_type} the devices {indices} were received; accepted are the first ones, in "
                f"their order. Only GPUs can be chosen freely {at()}"
            )
    if visible != {its_type: defaults.settings().seen(its_type) for its_type in visible}:
        check_not_initialized("Visible devices")
        defaults.settings().visible.update(visible)


def get_memory_growth(device: PhysicalDevice) -> bool | None:
    """Whether a GPU's memory is taken as it is needed, as `set_memory_growth` has set it.

    Args:
      device: A physical GPU.

    Returns:
      True or False; None if it was not set.

    Example: ``tf.config.experimental.get_memory_growth(gpu)``
    """
    return defaults.settings().growth.get(_gpu("get_memory_growth", device))


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Sets ``GPUOptions.allow_growth`` for sessions made from now on.

    Memory of GPUs is always taken as it is needed, so there is nothing to turn on; a limit is set by
    `set_virtual_device_configuration`.

    Args:
      device: A physical GPU.
      enable: True or False.

    Example: ``tf.config.experimental.set_memory_growth(gpu, True)``
    """
    key, now = _gpu("set_memory_growth", device), defaults.settings()
    if enable not in (True, False):
        raise ValueError(f"set_memory_growth: enable must be True or False, got {enable!r} {at()}")
    if key in now.virtual:
        raise ValueError(f"Cannot set memory growth on {device!r} when virtual devices are configured {at()}")
    if now.growth.get(key) is not enable:
        check_not_initialized("Physical devices")
        now.growth[key] = bool(enable)


def get_virtual_device_configuration(device: PhysicalDevice) -> list[VirtualDeviceConfiguration] | None:
    """What `set_virtual_device_configuration` has set for a physical device.

    Args:
      device: A physical device.

    Returns:
      A list of `VirtualDeviceConfiguration`; None if it was not set.

    >>> (cpu,) = tf.config.experimental.list_physical_devices("CPU")
    >>> tf.config.experimental.get_virtual_device_configuration(cpu) is None
    True
    """
    limits = defaults.settings().virtual.get(_known(device))
    return None if limits is None else [VirtualDeviceConfiguration(limit) for limit in limits]


def set_virtual_device_configuration(
    device: PhysicalDevice, virtual_devices: Sequence[VirtualDeviceConfiguration]
) -> None:
    """Makes a CPU several devices, or limits the memory of a GPU, for sessions made from now on.

    Args:
      device: A physical device.
      virtual_devices: A list of `VirtualDeviceConfiguration`: of a CPU several, without a limit; of a GPU one, with a limit.

    >>> (cpu,) = tf.config.experimental.list_physical_devices("CPU")
    >>> three = [tf.config.experimental.VirtualDeviceConfiguration()] * 3
    >>> tf.config.experimental.set_virtual_device_configuration(cpu, three)
    >>> len(tf.config.experimental.get_virtual_device_configuration(cpu))
    3
    """
    device_type, index = _known(device)
    wrong = not isinstance(virtual_devices, (list, tuple)) or not virtual_devices
    if wrong or not all(isinstance(one, VirtualDeviceConfiguration) for one in virtual_devices):
        raise TypeError(
            "set_virtual_device_configuration: virtual_devices must be a list of "
            f"tf.config.experimental.VirtualDeviceConfiguration, got {virtual_devices!r} {at()}"
        )
    limits = [one.memory_limit for one in virtual_devices]
    _check_virtual(device_type, device, limits)
    if defaults.settings().virtual.get((device_type, index)) != limits:
        check_not_initialized("Virtual devices")
        defaults.settings().virtual[device_type, index] = limits


def _check_virtual(device_type: str, device: Any, limits: Sequence[Any]) -> None:
    if device_type == "CPU":
        if any(limit is not None for limit in limits):
            raise ValueError(f"Setting memory limit on CPU virtual devices is not supported, got {limits} {at()}")
    elif device_type != "GPU":
        raise ValueError(f"Virtual devices are not supported for {device_type}; received {device!r} {at()}")
    elif any(isinstance(limit, bool) or not isinstance(limit, int) or limit < 1 for limit in limits):
        raise ValueError(f"Setting memory limit is required for GPU virtual devices, in megabytes; got {limits} {at()}")
    elif len(limits) > 1:
        raise UnimplementedError(
            None, None,
            f"{device!r} cannot be split into {len(limits)} devices: torch limits the memory of a whole GPU. Accepted is a list "
            f"of one VirtualDeviceConfiguration(memory_limit=...). To try a program on several devices, split a CPU {at()}",
        )  # fmt: skip


def _physical(device_type: str, index: int) -> PhysicalDevice:
    return PhysicalDevice(f"/physical_device:{device_type}:{index}", device_type)


def _known(device: Any) -> tuple[str, int]:
    for device_type, index in physical_devices():
        if device == _physical(device_type, index):
            return device_type, index
    names = ", ".join(_physical(t, i).name for t, i in physical_devices())
    raise ValueError(
        f"Unrecognized device: {device!r}; accepted is what tf.config.experimental.list_physical_devices() gives: {names} {at()}"
    )


def _gpu(what: str, device: Any) -> tuple[str, int]:
    device_type, index = _known(device)
    if device_type != "GPU":
        raise ValueError(f"{what}: memory growth is a setting of GPUs, got {device!r} {at()}")
    return device_type, index
