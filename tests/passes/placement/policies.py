"""A policy for the tests: devices whose links and rates are round numbers, each a partition."""

from headrace.passes.cost.rates import BUS, HOST, NEAR, NETWORK, Link, Machine, Rates
from headrace.passes.placement.policy import Policy
from headrace.passes.placement.problem import Site

PREFIX = "/job:localhost/replica:0/task:0/device:"
DEVICES = [PREFIX + "GPU:0", PREFIX + "GPU:1", PREFIX + "CPU:0"]
TASKS = [f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in range(2)]
FAST = Link(1e-6, 1e12)
MACHINE = Machine(
    {"CPU": Rates({"float32": 1e9}, 1e12, 1e-9), "GPU": Rates({"float32": 1e10}, 1e12, 1e-9)},
    dict.fromkeys((NEAR, BUS, HOST, NETWORK), FAST),
)


def policy_of(name="greedy", devices=DEVICES, memory=0, machine=MACHINE, **more):
    """``memory``: bytes of each device."""
    sites = [Site(d, d.rpartition("/device:")[2].partition(":")[0], memory) for d in devices]
    return Policy(name, sites, lambda device: device, machine, **more)
