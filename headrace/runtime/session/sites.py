"""Sites: the devices of a session as a placement policy sees them, and what it is told of costs."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.device import task_of
from headrace.passes.cost.rates import Machine
from headrace.passes.placement.problem import Site
from headrace.resources.state.memory import memory_limit
from headrace.runtime.host.device import Device
from headrace.runtime.host.worker import LocalWorker


def sites_of(worker: LocalWorker, devices: Sequence[Device], machine: Machine) -> list[Site]:
    """``devices``: of the session, those of other tasks among them."""
    cpus = {d.name for d in devices if d.device_type == "CPU" and task_of(d.name) == worker.task}
    together = worker.thread_budgets(cpus)
    sites = []
    for device in devices:
        mine = task_of(device.name) == worker.task
        if device.device_type != "CPU":
            limit = device.memory_limit or (memory_limit(device.torch_device) if mine else 0)
            known = device.device_type in machine.rates
            sites.append(
                Site(device.name, device.device_type, limit or known * machine.rates_of(device.device_type).memory)
            )
        elif mine:
            budget = worker.thread_budgets([device.name])[device.name]
            alone = machine.rates_of("CPU").share(budget, worker.threads)
            sites.append(Site(device.name, "CPU", 0, alone, together[device.name] / worker.threads))
        else:
            beside = sum(d.device_type == "CPU" and task_of(d.name) == task_of(device.name) for d in devices)
            sites.append(Site(device.name, "CPU", 0, 1.0, 1.0 / beside))
    return sites
