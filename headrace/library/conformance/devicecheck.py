"""devicecheck: does a device type do what every device must?

Each check is a small program, built and run as a user's would be, through a graph and a Session; `device_programs` has them.
All failures are collected and raised together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.core.config import ConfigProto
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.library.conformance.bench import Bench, Skip
from headrace.library.conformance.device_programs import CHECKS
from headrace.runtime.host.device import device_types, local_devices


class DeviceCheckError(AssertionError):
    """A device type does not do what every device must; the message lists every check that failed."""

    def __init__(self, report: DeviceReport) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass
class DeviceReport:
    """What devicecheck found: the names of the checks that passed, and why others were skipped or failed."""

    device_type: str
    passed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"device type {self.device_type}: {len(self.passed)} checks passed, {len(self.failed)} failed"]
        lines += [f"  failed   {name}: {why}" for name, why in self.failed.items()]
        lines += [f"  skipped  {name}: {why}" for name, why in self.skipped.items()]
        return "\n".join(lines)


def devicecheck(device_type: str, *, config: ConfigProto | None = None, rtol: float = 1e-4) -> DeviceReport:
    """Runs every check on a registered device type; raises DeviceCheckError listing those that fail.

    ``config`` is the sessions' configuration: ``ConfigProto(device_count={"CPU": 2})`` checks virtual CPUs.  ``rtol`` is how far
    results may be from the CPU's.  The report names the checks that were skipped, and why: those that need values on a device
    without any, those that need two devices where there is one.
    """
    config = ConfigProto() if config is None else config
    key = device_type.upper()
    if key not in device_types():
        raise ValueError(f"there is no device type {device_type!r}; registered are {', '.join(device_types())} {at()}")
    devices = [d for d in local_devices(dict(config.device_count)) if d.device_type == key]
    if not devices:
        raise ValueError(f"there is no device of type {key} on this machine {at()}")
    bench = Bench(devices, config, rtol)
    report = DeviceReport(key)
    for name, check in CHECKS.items():
        try:
            with Graph().as_default():
                check(bench)
        except Skip as e:
            report.skipped[name] = str(e)
        except Exception as e:  # noqa: BLE001 - every failure is reported
            report.failed[name] = f"{type(e).__name__}: {e}"
        else:
            report.passed.append(name)
    if report.failed:
        raise DeviceCheckError(report)
    return report
