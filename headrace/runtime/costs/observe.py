"""Measured costs from steps that have run: the seconds of each node, by what it is, so that they hold for other graphs too.

A trace notes much of each node, which takes longer than a small kernel.  `Stopwatch` notes the time alone.  On a device that
works beside the thread that calls it, what the thread takes and what the device takes are two figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from statistics import median
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

import torch

from headrace.core.device import type_of
from headrace.passes.bodies import held_bodies
from headrace.passes.cost.measured import Measured, key_of
from headrace.passes.cost.model import CALL
from headrace.passes.step_graph import Node, Value
from headrace.runtime.costs.probe import Bench
from headrace.runtime.costs.programs import chain
from headrace.runtime.host.recorder import Entry, Recorder

Shape = tuple[int, ...]
Clock = Callable[[], int]
NODES: Final = 64
SMALL: Final = 16  # elements of their values
ROUNDS: Final = 50
PAUSES: Final = 100


class Span(NamedTuple):
    """One run of a node, in nanoseconds: when it began, when the call returned, when the device was through."""

    node: Node
    began: int
    returned: int
    ended: int
    shapes: Sequence[Shape | None]  # of its outputs


class Stopwatch(Recorder):
    """A recorder that notes no more than times and shapes.  Nodes that wait are left out: they wait for others."""

    def __init__(self, torch_device: Callable[[str], Any], clock: Clock = perf_counter_ns) -> None:
        """``clock``: gives nanoseconds; ``time.thread_time_ns`` leaves out what other processes take, on one thread."""
        self.clock = clock  # generated code asks the recorder for it
        super().__init__(torch_device)

    def start(self) -> None:
        super().start()
        self.spans: list[Span] = []
        self._beside: dict[str, Any] = {}  # the accelerator of a node's device, or None

    def note(self, node: Node, began: int, outputs: Sequence[Any] = (), inputs: Sequence[Any] = ()) -> None:
        returned = ended = self.clock()
        device = node.device
        if device not in self._beside:
            found = self._torch_device(device)
            self._beside[device] = None if found.type in ("cpu", "meta") else found
        beside = self._beside[device]
        if beside is not None:
            torch.accelerator.synchronize(beside)
            ended = self.clock()
        self.spans.append(Span(node, began, returned, ended, [getattr(value, "shape", None) for value in outputs]))


@cache
def excess(clock: Clock = perf_counter_ns) -> float:
    """Nanoseconds by which a stopwatch makes a node longer: small ones in a row, with it and without."""
    bench, watch = Bench(1), Stopwatch(lambda name: torch.device("cpu"), clock)
    try:
        make = partial(chain, NODES, [SMALL])
        plain, timed = bench.probe("CPU", make, True), bench.probe("CPU", make, True, watch=watch)
        alone, spans = [], []
        for _ in range(ROUNDS):
            begin = clock()
            plain.program.call(*plain.inputs)
            alone.append(clock() - begin)
            watch.start()
            timed.program.call(*timed.inputs)
            spans.append(sum(span.returned - span.began for span in watch.spans))
    finally:
        bench.close()
    return max(median(spans) - median(alone), 0.0) / NODES


def pause(torch_device: Any) -> float:
    """Nanoseconds that waiting for an accelerator takes which has nothing to do."""
    torch.accelerator.synchronize(torch_device)
    best = float("inf")
    for _ in range(PAUSES):
        begin = perf_counter_ns()
        torch.accelerator.synchronize(torch_device)
        best = min(best, perf_counter_ns() - begin)
    return best


def of_spans(
    runs: Sequence[Sequence[Span]],
    feeds: Mapping[Value, Shape],
    pauses: Mapping[str, float],
    host: str,
    look: float = 0.0,
) -> Measured:
    """What some runs of the same nodes tell.  Of a node the median run counts, what was freed after it included.

    ``pauses``: by the type of a device that works beside the thread, what waiting for it takes.  ``host``: the type of device of
    nodes without one.  ``look``: what the stopwatch adds to a node (`excess`).
    """
    measured = Measured()
    times: dict[Node, list[tuple[float, float]]] = {}
    shapes: dict[Value, Shape] = dict(feeds)
    for spans in runs:
        between = _between(spans)
        for number, span in enumerate(spans):
            node = span.node
            following = spans[number + 1].began if number + 1 < len(spans) else span.ended + between
            freeing = max(following - span.ended - between, 0)
            called = max(span.returned - span.began - look, 0.0)
            beside = pauses.get(type_of(node.device))
            if beside is None:
                times.setdefault(node, []).append((called + freeing, 0.0))
            else:
                device = max(span.ended - span.returned - beside - look, 0.0)
                times.setdefault(node, []).append((device, called + freeing))
            shapes.update(_known(node, span.shapes))
    for node, each in times.items():
        key = key_of(node, [shapes.get(value) for value in node.inputs])
        if key is None or held_bodies(node):
            continue
        device_type = type_of(node.device) or host
        measured.add(device_type, key, median(working for working, _ in each) / 1e9, len(each))
        if device_type in pauses:
            measured.add(device_type + CALL, key, median(calling for _, calling in each) / 1e9, len(each))
    return measured


def _between(spans: Sequence[Span]) -> int:
    """Nanoseconds from one span to the next where nothing is freed.  Spans of a body lie inside that of its holder."""
    gaps = (b.began - a.ended for a, b in zip(spans, spans[1:], strict=False))
    return min((gap for gap in gaps if gap >= 0), default=0)


def of_entries(entries: Iterable[Entry], host: str) -> Measured:
    """What the entries of a traced step tell, which is a little more than its nodes take without a trace."""
    measured = Measured()
    shapes: dict[Value, Shape] = {}
    for entry in entries:
        node = entry.node
        if entry.stage or node.op_def.traits.waits or held_bodies(node):
            continue
        key = key_of(node, [shapes.get(value) for value in node.inputs])
        if key is not None:
            measured.add(type_of(node.device) or host, key, (entry.ended - entry.began) / 1e9)
        shapes.update(_known(node, [None if one is None else one[0] for one in entry.outputs]))
    return measured


def of_statistics(runs: Sequence[Any], nodes: Mapping[str, Node], feeds: Mapping[Value, Shape]) -> Measured:
    """What the StepStats of some traced runs tell, of a step over tasks for example.  Of a node the median run counts.

    ``nodes``: those of the step before it was cut, by name.  What only cut steps have, such as messages, is left out.
    """
    measured = Measured()
    shapes: dict[Value, Shape] = dict(feeds)
    times: dict[tuple[str, str], list[int]] = {}  # by type of device and name
    for stats in runs:
        for device in stats.dev_stats:
            for seen in device.node_stats:
                node = nodes.get(seen.node_name)
                if node is None or node.op_def.traits.waits or held_bodies(node):
                    continue
                times.setdefault((type_of(device.device), node.name), []).append(seen.all_end_rel_nanos)
                shapes.update(_known(node, [_dimensions(one.tensor_description.shape) for one in seen.output]))
    for (device_type, name), each in times.items():
        node = nodes[name]
        key = key_of(node, [shapes.get(value) for value in node.inputs])
        if key is not None:
            measured.add(device_type, key, median(each) / 1e9, len(each))
    return measured


def _dimensions(message: Any) -> Shape | None:
    """Of a TensorShapeProto; None unless all are known."""
    sizes = tuple(dimension.size for dimension in message.dim)
    return None if message.unknown_rank or any(size < 0 for size in sizes) else sizes


def _known(node: Node, shapes: Sequence[Shape | None]) -> dict[Value, Shape]:
    """The shapes of a node's outputs, where all of them were seen."""
    if len(shapes) != len(node.outputs):
        return {}
    return {value: tuple(shape) for value, shape in zip(node.outputs, shapes, strict=True) if shape is not None}
