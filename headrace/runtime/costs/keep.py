"""What was measured of this machine, on disk beside compiled code: plain JSON, a file for each host, set of devices and threads.

A file is read only if this user wrote it (``own_folder``), and every number in it is looked at: one that cannot be is as good as
none, and the machine is measured again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

import torch

from headrace.core.file_lock import FileLock
from headrace.passes.cost.rates import BUS, HOST, NEAR, NETWORK, Link, Machine, Rates
from headrace.runtime.compiler import own_folder
from headrace.runtime.compiler.own_folder import UnsafeFolder, open_own
from headrace.runtime.host.device import local_devices

log = logging.getLogger("headrace.costs")
VERSION: Final = 2  # of the form of the file, and of what is measured how
LARGEST: Final = 1 << 20  # bytes of a file
PATIENCE: Final = 60.0  # seconds that another process has to measure, which takes ten
PAUSE: Final = 0.1


def folder() -> Path:
    """Where the files are.  Raises UnsafeFolder if other users may write there."""
    return own_folder.folder() / "headrace" / "costs"


def describe(threads: int) -> dict[str, Any]:
    """What the figures hold for."""
    return {
        "version": VERSION, "host": platform.node(), "processor": own_folder.processor(), "devices": _devices(),
        "torch": torch.__version__, "threads": threads,
    }  # fmt: skip


def _devices() -> list[str]:
    return [f"{d.device_type} {_model(d.torch_device)}" for d in local_devices() if d.torch_device.type != "meta"]


def _model(torch_device: Any) -> str:
    return torch.cuda.get_device_name(torch_device) if torch_device.type == "cuda" else str(torch_device.type)


def name_of(threads: int) -> str:
    """The name of the file for these devices and threads."""
    return hashlib.sha256(json.dumps(describe(threads), sort_keys=True).encode()).hexdigest()[:32]


def find(name: str) -> Machine | None:
    """What was kept under the name; None if nothing was, or what is there cannot be used, which a line in the log says."""
    try:
        path = folder() / f"{name}.json"
        with open(open_own(path), "rb") as file:
            text = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except (OSError, UnsafeFolder) as e:
        log.warning("the measured costs of this machine are not read and it is measured again: %s", e)
        return None
    try:
        return of_json(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as e:
        log.warning("%s does not hold costs of a machine, which is measured again: %s: %s", path, type(e).__name__, e)
        return None


def keep(name: str, machine: Machine, about: Mapping[str, Any] | None = None) -> None:
    """Keeps what was measured; without a place to write, nothing is kept.  ``about``: said in the file, for people."""
    with contextlib.suppress(OSError, UnsafeFolder):
        place = folder()
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = place / f"{name}.{os.getpid()}"
        unfinished.write_text(json.dumps({"about": dict(about or {}), **to_json(machine)}, indent=1))
        os.replace(unfinished, place / f"{name}.json")


@contextlib.contextmanager
def alone(name: str) -> Iterator[bool]:
    """Inside, no other process measures for this name: two at a time would make each other slow.  Whether we had to wait for one.

    One that takes too long is not waited for, and without a place to write nobody is.
    """
    lock, waited = None, False
    try:
        place = folder()
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(str(place / f"{name}.lock"))
        until = monotonic() + PATIENCE
        while not lock.acquire() and monotonic() < until:
            waited = True
            sleep(PAUSE)
    except (OSError, UnsafeFolder) as e:
        log.debug("whether another process measures this machine is not known: %s", e)
    try:
        yield waited
    finally:
        if lock is not None:
            lock.release()


# ---- as JSON values


def to_json(machine: Machine) -> dict[str, Any]:
    """The figures as plain data."""
    return {
        "rates": {
            name: {
                **{field: dict(getattr(rates, field)) for field in _MAPPINGS},
                **{field: getattr(rates, field) for field in _PLAIN},
            }
            for name, rates in machine.rates.items()
        },
        "links": {
            name: {"latency": link.latency, "bandwidth": link.bandwidth} for name, link in machine.links.items()
        },
        "step": machine.step,
    }  # fmt: skip


def of_json(data: Any) -> Machine:
    """The inverse of `to_json`.  Raises ValueError, TypeError, KeyError or AttributeError for anything else."""
    rates = {
        str(name): Rates(
            _speeds(one["flops"]),
            _number(one["bandwidth"]),
            _number(one["launch"]),
            int(_number(one["memory"])),
            _speeds(one["bandwidths"]),
            _speeds(one["launches"]),
            _number(one["array"]),
            _speeds(one["arrays"]),
            _number(one["queued"]),
            _speeds(one["array_bandwidths"]),
            _number(one["single"]),
        )  # fmt: skip
        for name, one in data["rates"].items()
    }
    links = {
        name: Link(_number(data["links"][name]["latency"]), _speed(data["links"][name]["bandwidth"])) for name in _LINKS
    }
    if "CPU" not in rates or any("float32" not in one.flops or not one.bandwidth for one in rates.values()):
        raise ValueError("a device has no speed in float32, or there is no CPU")
    return Machine(rates, links, step=_number(data["step"]))


_PLAIN: Final = ("bandwidth", "launch", "memory", "array", "queued", "single")
_MAPPINGS: Final = ("flops", "bandwidths", "launches", "arrays", "array_bandwidths")
_LINKS: Final = (NEAR, BUS, HOST, NETWORK)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"a cost is a finite number of 0 or more, not {value!r}")
    return float(value)


def _speed(value: Any) -> float:
    if _number(value) == 0:
        raise ValueError("a speed and a launch are more than 0")
    return float(value)


def _speeds(values: Any) -> dict[str, float]:
    return {str(name): _speed(value) for name, value in values.items()}
