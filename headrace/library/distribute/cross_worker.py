"""Sums over workers, each of which builds a graph of its own: `tf.distribute.experimental.MultiWorkerMirroredStrategy`'s.

The graphs meet in queues.  Each tensor belongs to one worker, which takes it from all others, adds up, and sends the sum back; so
a worker sends and receives every tensor about twice, however many workers there are.  Terms are added in the order of the
workers, so that all get the same bits.  What workers build in the same order finds each other; they must run the same program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.core.device import DeviceSpec
from headrace.graph import context, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.control.replica import ReduceOp
from headrace.library.distribute.cross_device_ops import CrossDeviceOps, combined, divided, spread
from headrace.library.queue.kinds import FIFOQueue
from headrace.library.scope import control_dependencies, device

_CAPACITY = 2  # one element under way, and one that is taken


@contextmanager
def _on(name: str) -> Iterator[None]:
    """Nodes made inside are on the device, whatever they would be colocated with, as initial values are with variables."""
    with context.get_default_graph().colocate_with(None, ignore_existing=True), device(name):
        yield


class Workers:
    """The workers of a training, and which of them this process is."""

    def __init__(self, devices: Sequence[str], own: int, name: str) -> None:
        self.devices = tuple(devices)  # the CPU of each worker
        self.own = own
        self.name = name
        self._meetings = 0

    @property
    def others(self) -> list[int]:
        """The numbers of the other workers."""
        return [number for number in range(len(self.devices)) if number != self.own]

    def meeting(self) -> str:
        """A name for what all workers build next."""
        self._meetings += 1
        return f"{self.name}/{self._meetings}"

    def send(self, name: str, receiver: int, tensors: Sequence[Tensor]) -> Operation:
        """What gives another worker the tensors."""
        queue = self._queue(name, self.own, receiver, tensors)
        with _on(self.devices[receiver]):
            sent: Operation = queue.enqueue(list(tensors))
        return sent

    def receive(self, name: str, sender: int, like: Sequence[Tensor]) -> list[Tensor]:
        """What another worker gives this one: tensors of the same types, and of the same shapes as far as these are known."""
        queue = self._queue(name, sender, self.own, like)
        with _on(self.devices[self.own]):
            taken = queue.dequeue()
        taken = list(taken) if isinstance(taken, (list, tuple)) else [taken]
        for tensor, one in zip(taken, like, strict=True):
            tensor.set_shape(one.shape)
        return taken

    def _queue(self, name: str, sender: int, receiver: int, like: Sequence[Tensor]) -> FIFOQueue:
        shared = f"{name}/from_{sender}_to_{receiver}"
        with _on(self.devices[receiver]):
            return FIFOQueue(_CAPACITY, [one.dtype.base_dtype for one in like], shared_name=shared, name="meet")


def sums(workers: Workers, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The sum of each tensor over all workers."""
    if len(workers.devices) == 1 or not tensors:
        return list(tensors)
    name = workers.meeting()
    owned = _owners(tensors, len(workers.devices))
    mine = [tensors[i] for i in owned[workers.own]]
    sent = [workers.send(f"{name}/terms", to, [tensors[i] for i in owned[to]]) for to in workers.others if owned[to]]
    totals: dict[int, Tensor] = {}
    if mine:
        added = _added(workers, f"{name}/terms", mine)
        sent += [workers.send(f"{name}/sums", to, added) for to in workers.others]
        totals |= dict(zip(owned[workers.own], added, strict=True))
    for worker in workers.others:
        if owned[worker]:
            theirs = [tensors[i] for i in owned[worker]]
            totals |= dict(zip(owned[worker], workers.receive(f"{name}/sums", worker, theirs), strict=True))
    with control_dependencies(sent):
        return [raw_ops.Identity(totals[i]) for i in range(len(tensors))]


def _added(workers: Workers, name: str, mine: list[Tensor]) -> list[Tensor]:
    """The sums of the tensors that belong to this worker."""
    terms = {worker: workers.receive(name, worker, mine) for worker in workers.others}
    terms[workers.own] = mine
    in_order = [terms[worker] for worker in range(len(workers.devices))]
    with _on(workers.devices[workers.own]):
        return [raw_ops.AddN(list(parts)) for parts in zip(*in_order, strict=True)]


def _owners(tensors: Sequence[Tensor], workers: int) -> list[list[int]]:
    """Which tensors belong to each worker, so that all have about the same number of elements."""
    loads = [0] * workers
    owned: list[list[int]] = [[] for _ in range(workers)]
    for number in sorted(range(len(tensors)), key=lambda i: (-(tensors[i].shape.num_elements() or 0), i)):
        least = loads.index(min(loads))
        owned[least].append(number)
        loads[least] += tensors[number].shape.num_elements() or 1
    return [sorted(numbers) for numbers in owned]


def gathered(workers: Workers, slices: IndexedSlices) -> IndexedSlices:
    """The slices of all workers behind one another, which is their sum."""
    if len(workers.devices) == 1:
        return slices
    name = workers.meeting()
    mine = [slices.values, slices.indices]
    sent = [workers.send(name, worker, mine) for worker in workers.others]
    rows = [raw_ops.PlaceholderWithDefault(one, shape=[None, *one.shape.as_list()[1:]]) for one in mine]
    parts = {worker: workers.receive(name, worker, rows) for worker in workers.others} | {workers.own: mine}
    in_order = [parts[worker] for worker in range(len(workers.devices))]
    with control_dependencies(sent), _on(workers.devices[workers.own]):
        values, indices = (raw_ops.ConcatV2([part[i] for part in in_order], 0) for i in range(2))
    return IndexedSlices(values, indices, slices.dense_shape)


def first_workers(workers: Workers, value: Tensor, name: str) -> Tensor:
    """The value of the first worker, for all of them."""
    meeting = f"{workers.name}/begin/{name}"
    if workers.own:
        return workers.receive(meeting, 0, [value])[0]
    with control_dependencies([workers.send(meeting, worker, [value]) for worker in workers.others]):
        copied: Tensor = raw_ops.Identity(value)
    return copied


class CrossWorkerReduce(CrossDeviceOps):
    """Combines values on the devices of this worker, then with those of the other workers."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean over the replicas of all workers."""
        return self.batch_reduce_implementation(reduce_op, [(per_replica_value, destinations)])[0]

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """The sums or means over the replicas of all workers; all dense values travel together."""
        pairs = list(value_destination_pairs)
        own = [combined(ReduceOp.SUM, values, devices[0]) for values, devices in pairs]
        dense = iter(sums(self._workers, [one for one in own if isinstance(one, Tensor)]))
        totals = [next(dense) if isinstance(one, Tensor) else gathered(self._workers, one) for one in own]
        if reduce_op is ReduceOp.MEAN:
            replicas = [len(values) * len(self._workers.devices) for values, _ in pairs]
            totals = [divided(total, count) for total, count in zip(totals, replicas, strict=True)]
        return [spread(total, devices) for total, (_, devices) in zip(totals, pairs, strict=True)]


def cpu_of_task(job: str, index: int) -> str:
    """The name of the CPU of a task."""
    return DeviceSpec(job=job, task=index, device_type="CPU", device_index=0).to_string()
