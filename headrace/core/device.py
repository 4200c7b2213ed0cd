"""Device names: parsing, printing, merging and matching of `/job:J/replica:R/task:T/device:TYPE:INDEX`.

Any part may be missing; a partial name constrains only the parts it has (OSDI 2016, section 3.3). Owns names only:
which devices exist, and what runs on them, is the runtime's business.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = [
    "DeviceLike", "DeviceSpec", "canonical_name", "forget_device_type", "kernel_device", "merge_device", "register_device_type",
    "same_or_matches", "short",
]  # fmt: skip

_ACCEPTED = "such as '/job:worker/replica:0/task:1/device:GPU:0', '/gpu:0', '/device:CPU:*' or ''"

_JOB_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]*\Z")
_TASK = re.compile(r"/job:([^/\s]+)(?:/replica:\d+)?/task:(\d+)(?:/device:CPU:0\b)?")

# The types that may be written short, '/gpu:0' for '/device:GPU:0'.
_ALWAYS_SHORT = frozenset({"CPU", "GPU", "TPU", "MPS", "XPU"})
_SHORT_TYPES = set(_ALWAYS_SHORT)


# What kernels may be declared for: torch's device types, and the types of devices that are registered.
_TORCH_TYPES = {"cpu", "cuda", "meta", "mps", "xpu"}
_REGISTERED: set[str] = set()


def register_device_type(name: str, torch_type: str = "cpu") -> None:
    """Lets devices of type `name` be written short: '/name:0' for '/device:NAME:0', and have kernels of their own."""
    _SHORT_TYPES.add(name.upper())
    _REGISTERED.add(name.upper())
    _TORCH_TYPES.add(torch_type)
    _parse.cache_clear()


def forget_device_type(name: str) -> None:
    """No more kernels are declared for devices of type `name`, and its devices are not written short any more."""
    _REGISTERED.discard(name.upper())
    _SHORT_TYPES.difference_update({name.upper()} - _ALWAYS_SHORT)
    _parse.cache_clear()


def kernel_device(name: str) -> str:
    """What a kernel is declared for, in one form: a type of device in upper case, a torch device type as torch writes it."""
    if name in _TORCH_TYPES:
        return name
    if name.upper() in _REGISTERED:
        return name.upper()
    raise ValueError(
        f"device={name!r} is neither a registered type of device ({', '.join(sorted(_REGISTERED))}) nor a torch device type "
        f"({', '.join(sorted(_TORCH_TYPES))}); headrace.extend.register_device registers one"
    )


class DeviceSpec:
    """A possibly partial device name, in parts; None stands for a part that is not given.

    Mutable, as in TF1; compared and hashed by value, so do not change one that is a key. Merging always lets the
    argument win over the object it is merged into.

    Args:
      job: The name of the job, such as "worker".
      replica: The number of the replica.
      task: The number of the task.
      device_type: "CPU" or "GPU", or another type of device.
      device_index: The number of the device.

    >>> tf.DeviceSpec(job='worker', task=1, device_type='GPU', device_index=0).to_string()
    '/job:worker/task:1/device:GPU:0'
    """

    __slots__ = ("_device_index", "_device_type", "_job", "_replica", "_task")

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = device_type
        self.device_index = device_index

    @property
    def job(self) -> str | None:
        """The job name, such as "ps"."""
        return self._job

    @job.setter
    def job(self, value: str | None) -> None:
        if value is not None:
            value = str(value)
            if not _JOB_NAME.match(value):
                raise ValueError(
                    f"Malformed job name {value!r}: accepted is a letter, then letters, digits, '_', '-' or '.'"
                )
        self._job = value

    @property
    def replica(self) -> int | None:
        """The replica number."""
        return self._replica

    @replica.setter
    def replica(self, value: int | None) -> None:
        self._replica = _number("replica", value)

    @property
    def task(self) -> int | None:
        """The task number within the job."""
        return self._task

    @task.setter
    def task(self, value: int | None) -> None:
        self._task = _number("task", value)

    @property
    def device_type(self) -> str | None:
        """The type of device, in capitals if it is a known one: "CPU", "GPU"."""
        return self._device_type

    @device_type.setter
    def device_type(self, value: str | None) -> None:
        self._device_type = None if value is None else _type(str(value))

    @property
    def device_index(self) -> int | None:
        """The number of the device among those of its type in its task."""
        return self._device_index

    @device_index.setter
    def device_index(self, value: int | None) -> None:
        self._device_index = _number("device_index", value)

    @classmethod
    def from_string(cls, spec: str | None) -> DeviceSpec:
        """Parses a device name; ValueError when it is malformed."""
        return cls(*_parse(spec or ""))

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Replaces every part by those of the name `spec`; returns self."""
        self.job, self.replica, self.task, self.device_type, self.device_index = _parse(spec)
        return self

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes over every part that `dev` has."""
        self.job, self.replica, self.task, self.device_type, self.device_index = _merged(self.parts, dev.parts)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """A new spec: this one with every part that `dev` has taken over."""
        return DeviceSpec(*_merged(self.parts, dev.parts))

    def replace(self, **parts: Any) -> DeviceSpec:
        """A new spec with the given parts replaced."""
        old = dict(zip(_PART_NAMES, self.parts, strict=True))
        unknown = parts.keys() - old.keys()
        if unknown:
            raise TypeError(f"Unknown parts {sorted(unknown)}; a DeviceSpec has {', '.join(_PART_NAMES)}")
        return DeviceSpec(**{**old, **parts})

    @property
    def parts(self) -> Parts:
        """(job, replica, task, device_type, device_index)."""
        return (self._job, self._replica, self._task, self._device_type, self._device_index)

    def is_full(self) -> bool:
        """Whether every part is given, so that the name is of one device."""
        return None not in self.parts

    def to_string(self) -> str:
        """The canonical name; the empty string when no part is given."""
        return _format(self.parts)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        parts = (f"{n}={v!r}" for n, v in zip(_PART_NAMES, self.parts, strict=True) if v is not None)
        return f"DeviceSpec({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, DeviceSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)


Parts: TypeAlias = tuple[str | None, int | None, int | None, str | None, int | None]
DeviceLike: TypeAlias = "str | DeviceSpec | None"
_PART_NAMES = ("job", "replica", "task", "device_type", "device_index")


def _type(name: str) -> str:
    return name.upper() if name.upper() in _SHORT_TYPES else name


def _number(part: str, value: Any) -> int | None:
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise ValueError(f"The {part} of a device must be a number or None; received {value!r}") from None
    if number < 0:
        raise ValueError(f"The {part} of a device must not be negative; received {value!r}")
    return number


@functools.lru_cache(maxsize=4096)
def _parse(spec: str) -> Parts:
    if not isinstance(spec, str):
        raise TypeError(f"A device name must be a string {_ACCEPTED}; received {spec!r}")
    parts: dict[str, Any] = {}
    for piece in spec.split("/"):
        if piece:
            _parse_piece(piece, spec, parts)
    return (
        parts.get("job"),
        parts.get("replica"),
        parts.get("task"),
        parts.get("device_type"),
        parts.get("device_index"),
    )


def _parse_piece(piece: str, spec: str, parts: dict[str, Any]) -> None:
    key, *values = piece.split(":")
    if key == "job" and len(values) == 1:
        if values[0] != "*" and not _JOB_NAME.match(values[0]):
            raise ValueError(f"Malformed job name {values[0]!r} in device {spec!r}; accepted are names {_ACCEPTED}")
        parts["job"] = None if values[0] == "*" else values[0]
    elif key in ("replica", "task") and len(values) == 1:
        parts[key] = _index(key, values[0], spec)
    elif key == "device" and len(values) == 2 and values[0]:
        _parse_device(values[0], values[1], spec, parts)
    elif key.upper() in _SHORT_TYPES and len(values) <= 1:
        _parse_device(key, values[0] if values else "*", spec, parts)
    else:
        raise ValueError(f"Unknown attribute '{piece}' in device {spec!r}; accepted are names {_ACCEPTED}")


def _parse_device(device_type: str, index: str, spec: str, parts: dict[str, Any]) -> None:
    if "device_type" in parts:
        raise ValueError(f"Cannot specify multiple device types: {spec!r}")
    parts["device_type"] = None if device_type == "*" else _type(device_type)
    parts["device_index"] = _index("device index", index, spec)


def _index(part: str, text: str, spec: str) -> int | None:
    if text == "*":
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"The {part} in device {spec!r} must be a number or '*'; received {text!r}")
    return int(text)


def _format(parts: Parts) -> str:
    job, replica, task, device_type, device_index = parts
    text = "" if job is None else f"/job:{job}"
    if replica is not None:
        text += f"/replica:{replica}"
    if task is not None:
        text += f"/task:{task}"
    if device_type is not None or device_index is not None:
        index = "*" if device_index is None else device_index
        text += f"/device:{device_type or '*'}:{index}"
    return text


def _merged(under: Parts, over: Parts) -> Parts:
    job, replica, task, device_type, device_index = under
    return (
        job if over[0] is None else over[0],
        replica if over[1] is None else over[1],
        task if over[2] is None else over[2],
        device_type if over[3] is None else over[3],
        device_index if over[4] is None else over[4],
    )


def _parts(device: DeviceLike) -> Parts:
    if isinstance(device, DeviceSpec):
        return device.parts
    return _parse(device or "")


def canonical_name(device: DeviceLike) -> str:
    """The canonical form of a device name: '/gpu:0' becomes '/device:GPU:0'; None becomes ''."""
    return _format(_parts(device))


def task_of(device: str) -> str:
    """The task of a device: how its full name begins."""
    return device.rpartition("/device:")[0]


def type_of(device: str) -> str:
    """The type of a device, by its full name: CPU."""
    return device.rpartition("/device:")[2].partition(":")[0]


def short(text: str) -> str:
    """The text with tasks by their short names: /job:ps/replica:0/task:0 or /job:ps/task:0 -> ps 0."""
    return _TASK.sub(r"\1 \2", text)


def merge_device(spec: DeviceLike) -> Callable[[Any], str]:
    """A device function that fills the gaps of a node's own device with the parts of `spec`.

    What the node (anything with a `device`) already says wins, so inner `with tf.device(...)` blocks override outer
    ones part by part. `spec` is read once, now.
    """
    outer = _parts(spec)
    merged: dict[str, str] = {}  # device of the node -> result; few distinct devices, very many nodes

    def device_function(node: Any) -> str:
        inner = node.device or ""
        if not isinstance(inner, str):
            inner = inner.to_string()
        result = merged.get(inner)
        if result is None:
            result = merged[inner] = _format(_merged(outer, _parse(inner)))
        return result

    return device_function


def same_or_matches(partial: DeviceLike, full: DeviceLike) -> bool:
    """Whether the device `full` meets every constraint of `partial`; a part `full` lacks meets none."""
    return all(want is None or want == have for want, have in zip(_parts(partial), _parts(full), strict=True))
