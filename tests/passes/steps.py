"""Helpers of the pass tests: the step graph of a small program, and its text after some passes."""

from collections.abc import Callable, Sequence

from headrace.core.config import ConfigProto
from headrace.graph.operation import Operation, Tensor
from headrace.graph.verify import verify_graph
from headrace.passes.pipeline import Context, Options, Stage, make_step_graph, run_stage
from headrace.passes.prune import prune
from headrace.passes.step_graph import StepGraph
from headrace.runtime.host.worker import LocalWorker

Pass = Callable[[StepGraph], StepGraph]
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def step(
    fetches: Sequence[Tensor] = (), feeds: Sequence[Tensor] = (), targets: Sequence[Operation] = (), *passes: Pass
) -> StepGraph:
    """Prunes, then applies the passes; the graph is verified after each."""
    graph = prune(feeds, fetches, targets)
    verify_graph(graph)
    for one in passes:
        graph = one(graph)
        verify_graph(graph)
    return graph


def lines(graph: StepGraph) -> list[str]:
    """The text form with the devices left out, one line a node."""
    return [" ".join(line.replace(f" @{CPU}", "").split()) for line in graph.to_text().splitlines()]


def options(**changed: object) -> Options:
    worker = LocalWorker(ConfigProto())
    given = {"devices": worker.device_names, "evaluate": worker.evaluate, "has_kernel": worker.has_kernel, **changed}
    return Options(**given)  # type: ignore[arg-type]


def piped(
    fetches: Sequence[Tensor] = (), feeds: Sequence[Tensor] = (), targets: Sequence[Operation] = (), **changed: object
) -> StepGraph:
    """The passes of a step in which nothing waits, verified after each."""
    checked = options(after_each=lambda name, graph: verify_graph(graph), **changed)
    return run_stage(Stage.FUSE, make_step_graph(feeds, fetches, targets, checked), Context(checked))
