"""What a task says of itself when it is asked for its status: plain data, for ``headrace top`` and for programs.

Counts only ever rise while the task lives; who wants a rate asks twice.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from time import monotonic
from typing import Any

from headrace.cluster.transport.interface import LinkStatistics, Transport
from headrace.resources.state.iterator import Iterator
from headrace.resources.state.memory import device_stats, resident_bytes
from headrace.resources.state.queue.queue import Queue
from headrace.resources.state.replicas.replicas import Replicas
from headrace.resources.stepping.step import Waiting
from headrace.runtime.host.worker import LocalWorker


def worker_status(worker: LocalWorker) -> dict[str, Any]:
    """The steps, devices and shared state of a worker.  Iterators that are asked note where their time goes for a while."""
    sessions = worker.sessions()
    stores = {id(store): store for store in [worker.resources, *(session.resources for session in sessions)]}
    return {
        "sessions": len(sessions),
        "steps_done": worker.steps_done,
        "steps": [
            {"number": step.number, "seconds": step.seconds, "waits": [_wait(one) for one in step.waits]}
            for session in sessions
            for step in session.steps.status()
        ],
        "queues": [
            _queue(container, device, queue)
            for store in stores.values()
            for container, device, queue in store.everything_of(Queue)
        ],
        "replicas": [
            {"name": replicas.name, "container": container, "device": device, **replicas.counts()}
            for store in stores.values()
            for container, device, replicas in store.everything_of(Replicas)
        ],
        "iterators": [
            {"device": device, **iterator.report()}
            for store in stores.values()
            for _, device, iterator in store.everything_of(Iterator)
        ],
        "devices": [_device(worker, device) for device in worker.devices],
    }


def process_status(begun_at: float) -> dict[str, Any]:
    """The process: where it is, since when, and how much memory it takes."""
    return {
        "host": socket.gethostname(), "process": os.getpid(), "uptime": monotonic() - begun_at,
        "resident_bytes": resident_bytes(),
    }  # fmt: skip


def transport_status(
    endpoint: Transport | None, addresses: Mapping[str, str], asker: str, refused: Mapping[str, int]
) -> dict[str, Any]:
    """The links by peer, without that of ``asker``, and what was refused.  Peers that are tasks have the task's name.

    ``refused``: what others than the endpoint have refused.
    """
    if endpoint is None:
        return {"links": [], "refused": {}}
    tasks = {address: task for task, address in addresses.items()}
    links: dict[str, LinkStatistics] = {}
    for name, statistics in endpoint.links().items():
        if name != asker:
            address = name.partition("#")[0]  # what connected here is numbered
            peer = tasks.get(address, address)
            links[peer] = links.get(peer, LinkStatistics()) + statistics
    refusals = {reason: count for reason, count in {**endpoint.refused(), **refused}.items() if count}
    return {"links": [_link(peer, one) for peer, one in links.items()], "refused": refusals}


def _wait(waiting: Waiting) -> dict[str, Any]:
    node = waiting.node
    return {
        "node": "" if node is None else node.name,
        "op": "" if node is None else node.type,
        "made_at": "" if node is None else str(node.source),
        "for": waiting.reason,
    }


def _queue(container: str, device: str, queue: Queue) -> dict[str, Any]:
    adders, takers = queue.waiting()
    return {
        "name": queue.name, "kind": queue.class_name, "container": container, "device": device, "size": queue.size(),
        "capacity": queue.capacity, "closed": queue.is_closed, "waiting_to_add": adders, "waiting_to_take": takers,
    }  # fmt: skip


def _device(worker: LocalWorker, device: Any) -> dict[str, Any]:
    stats = device_stats(device.name, device.torch_device, worker.resources)
    return {
        "name": device.name, "type": device.device_type, "bytes_limit": stats.bytes_limit,
        "bytes_in_use": stats.bytes_in_use, "variable_bytes": stats.variable_bytes,
    }  # fmt: skip


def _link(peer: str, statistics: LinkStatistics) -> dict[str, Any]:
    return {
        "peer": peer, "sent_bytes": statistics.sent_bytes, "sent_messages": statistics.sent_messages,
        "received_bytes": statistics.received_bytes, "received_messages": statistics.received_messages,
        "shared_bytes": statistics.shared_bytes,
    }  # fmt: skip
