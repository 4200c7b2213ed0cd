"""What a placement policy is told of the devices of a session."""

from dataclasses import replace

import torch

import headrace as tf
from headrace.core.device import task_of
from headrace.passes.cost.rates import USUAL
from headrace.runtime.host.device import Device
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.session.sites import sites_of


def test_virtual_cpus_share_the_cores_unless_they_have_their_own():
    shared = LocalWorker(tf.ConfigProto(device_count={"CPU": 2, "GPU": 0}, intra_op_parallelism_threads=4))
    assert [(s.alone, s.together) for s in sites_of(shared, shared.devices, USUAL)] == [(1.0, 0.5)] * 2
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0}, intra_op_parallelism_threads=4)
    config.device_threads["/cpu:0"] = config.device_threads["/cpu:1"] = 1
    own = LocalWorker(config)
    assert [(s.alone, s.together) for s in sites_of(own, own.devices, USUAL)] == [(0.25, 0.25)] * 2
    for worker in (shared, own):
        worker.close()


def test_devices_of_other_tasks_and_memory():
    worker = LocalWorker(tf.ConfigProto(device_count={"CPU": 1, "GPU": 0}))
    there = "/job:ps/replica:0/task:0/device:"
    others = [Device(f"{there}CPU:{i}", "CPU", torch.device("cpu")) for i in range(2)]
    gpu = Device(f"{there}GPU:0", "GPU", torch.device("cuda", 0))
    sites = sites_of(worker, [*worker.devices, *others, gpu, replace(gpu, memory_limit=7)], USUAL)
    assert [(s.together, s.memory) for s in sites[1:3]] == [(0.5, 0)] * 2
    assert [s.memory for s in sites[3:]] == [USUAL.rates["GPU"].memory, 7]
    assert task_of(sites[0].name) == worker.task
    worker.close()


def test_one_thread_has_more_than_its_share_where_cores_are_shared():
    """Two CPUs of one thread each promise little on a core that both threads share."""
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0}, intra_op_parallelism_threads=2)
    config.device_threads["/cpu:0"] = config.device_threads["/cpu:1"] = 1
    worker = LocalWorker(config)
    measured = replace(USUAL, rates={"CPU": replace(USUAL.rates["CPU"], single=0.9)})
    assert [(s.alone, s.together) for s in sites_of(worker, worker.devices, measured)] == [(0.9, 0.5)] * 2
    worker.close()
