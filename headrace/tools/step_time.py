"""Times a program's step on this machine: as the program runs it, or by itself where that would need a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from typing import Any, Final

from headrace.client.session import Session
from headrace.core.config import ConfigProto
from headrace.core.device import DeviceSpec
from headrace.graph.body import ancestors
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.importer import import_graph_def
from headrace.graph.operation import Operation
from headrace.library.control.dependency import group
from headrace.library.simulation.job import computing
from headrace.library.simulation.modes import Applied, instead
from headrace.library.simulation.planning import Asked, Planning
from headrace.library.state.variables import variables_initializer
from headrace.library.system.graph_util import extract_sub_graph

WARM, MOST_RUNS, MOST_SECONDS = 3, 12, 2.0  # of a step that is timed
LARGEST: Final = 1 << 32  # bytes of variables: what is larger is not made on this machine
PATIENCE: Final = 20.0  # seconds for one step: one that waits for others never ends


def median_time(call: Callable[[], Any]) -> float:
    """Seconds of a step."""
    for _ in range(WARM):
        call()
    times: list[float] = []
    while len(times) < MOST_RUNS and sum(times) < MOST_SECONDS:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return median(times)


def alone(
    planning: Planning, asked: Asked, feeds: Mapping[Any, Any], applied: Sequence[Applied]
) -> tuple[float, float]:
    """Seconds of the step of one worker that has all variables itself, and waits for nobody: measured, and by its costs.

    Its gradients go to the wrapped optimizer.  Variables are made anew, in a session of its own.
    """
    graph = planning.graph
    with _all_here(graph):
        request = asked
        with graph.as_default():
            for one in applied:
                if hasattr(one.optimizer, "_opt"):
                    plain = one.optimizer._opt.apply_gradients(one.pairs, one.global_step)
                    request = instead(request, {getattr(one.result, "op", one.result)}, getattr(plain, "op", plain))
            local = graph.get_collection(GraphKeys.LOCAL_VARIABLES)
            first = group(
                variables_initializer(graph.get_collection(GraphKeys.GLOBAL_VARIABLES)),
                *(variable.initializer for variable in local if not _joins(variable.initializer)),
                *graph.get_collection(GraphKeys.TABLE_INITIALIZERS),
            )
        with ThreadPoolExecutor(1) as thread:  # only requests of the main thread are the program's
            seconds = thread.submit(_run, graph, first, request, feeds).result()
        return seconds, computing(planning.plan(request, 0).steps)


def _run(graph: Graph, first: Operation, request: Asked, feeds: Mapping[Any, Any]) -> float:
    """In a graph that has only what the step needs: the rest may name tasks that are not there."""
    names = [
        first.name,
        *(tensor.op.name for tensor in (*request.fetches, *feeds)),
        *(op.name for op in request.targets),
    ]
    definition = extract_sub_graph(graph.as_graph_def(), names)
    for node in definition.node:
        node.attr.pop("_class", None)
    config = ConfigProto(operation_timeout_in_ms=int(1000 * PATIENCE), allow_soft_placement=True)
    with Graph().as_default() as own:
        import_graph_def(definition, name="")
        with Session("", own, config) as session:
            session.run(first.name)
            fetches = [tensor.name for tensor in request.fetches] + [op.name for op in request.targets]
            step = session.make_callable(fetches, [tensor.name for tensor in feeds])
            return median_time(lambda: step(*feeds.values()))


def _joins(initializer: Operation) -> bool:
    """Whether it would wait for other workers."""
    return any(op.type == "_JoinReplicas" for op in ancestors([initializer]))


@contextmanager
def _all_here(graph: Graph) -> Iterator[None]:
    """Inside, nodes ask for no task, and what is built later may be changed; after it the graph's nodes are as before."""
    finalized = graph.finalized
    graph._unsafe_unfinalize()
    before = {op: (op.device, list(op._control_inputs)) for op in graph.get_operations()}
    for op, (device, _) in before.items():
        spec = DeviceSpec.from_string(device)
        op._set_device(spec.replace(job=None, replica=None, task=None).to_string())
    try:
        yield
    finally:
        for op, (device, inputs) in before.items():
            op._set_device(device)
            op._control_inputs = inputs
        graph._mutated()
        if finalized:
            graph.finalize()
