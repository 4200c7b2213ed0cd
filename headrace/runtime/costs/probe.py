"""Probes: small programs that are made and called as steps make and call theirs, to learn what this machine takes for them.

A probe is the generated Python of a few nodes of one kind.  Its inputs are on the device before and its result stays there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Final

import torch

from headrace.core.config import ConfigProto
from headrace.core.dtypes import DType
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.passes.cost.model import CostModel
from headrace.passes.cost.work import NOTHING, Work
from headrace.passes.pipeline import Context, Options, Stage, make_placed_graph, rewrite_placed, run_stage
from headrace.resources.calling.dispatch import below_autograd
from headrace.resources.calling.value import torch_dtype
from headrace.runtime.code.codegen import Program, choose_arrays, generate
from headrace.runtime.host.device import LOCAL_TASK, waiting
from headrace.runtime.host.recorder import Recorder
from headrace.runtime.host.registered import RegisteredGraph, TracedGraph
from headrace.runtime.host.worker import LocalWorker

Clock = Callable[[], float]
Made = tuple[Sequence[Tensor], Sequence[Tensor]]  # what is fed, and what comes out
ROUNDS: Final = 5  # samples, of which the shortest counts: what else runs on the machine only makes them longer
SAMPLE: Final = 2e-3  # seconds of a sample


@dataclass(frozen=True, slots=True)
class Probe:
    """A program, what it is called with, and what its nodes have to do."""

    program: Program
    inputs: list[Any]
    work: Work
    finish: Callable[[], None] | None  # waits for the device; None for one that computes on the thread that calls it

    @property
    def nodes(self) -> int:
        """How many nodes run."""
        return len(self.program.lines)

    def seconds(self, budget: float, clock: Clock = perf_counter, waits: bool = True) -> float:
        """Of one call, device and all; ``waits=False``: only until the call returns."""
        with below_autograd():
            run, finish = partial(self.program.call, *self.inputs), self.finish or _nothing
            return shortest(run, finish, budget, clock, waits)


def _nothing() -> None:
    pass


def shortest(
    run: Callable[[], Any], finish: Callable[[], None], budget: float, clock: Clock = perf_counter, waits: bool = True
) -> float:
    """The shortest of some samples, for one call.  ``finish`` waits until all is done that was begun."""
    run()
    finish()
    begin = clock()
    run()
    finish()
    once = max(clock() - begin, 1e-7)
    calls = max(1, min(int(SAMPLE / once), 1000))
    rounds = max(2, min(int(budget / (calls * once)), ROUNDS))
    best = once
    for _ in range(rounds):
        finish()
        begin = clock()
        for _ in range(calls):
            run()
        if waits:
            finish()
        ended = clock()
        finish()
        best = min(best, (ended - begin) / calls)
    return best


class Bench:
    """Where probes are made: a worker with the threads that steps would have.  Close it after use."""

    def __init__(self, threads: int = 0) -> None:
        """``threads``: of a step's kernels; 0: as many as a session takes by itself."""
        self.worker = LocalWorker(ConfigProto(intra_op_parallelism_threads=threads))
        self.registered = RegisteredGraph(self.worker)

    def close(self) -> None:
        self.registered.close()
        self.worker.close()

    def device(self, device_type: str) -> str:
        """The first device of the type."""
        return f"{LOCAL_TASK}/device:{device_type}:0"

    def probe(
        self,
        device_type: str,
        make: Callable[[], Made],
        arrays: bool = False,
        numbers: int = 8,
        watch: Recorder | None = None,
    ) -> Probe:
        """A program of the nodes that ``make`` adds to the default graph, with random numbers for what is fed.

        ``arrays``: small values are held as arrays, as in steps.  ``numbers``: integers that are fed are below that.
        ``watch``: notes when each node ran.
        """
        device = self.device(device_type)
        graph = Graph()
        # A node's own state is kept by its name, and is on its device.
        with graph.as_default(), graph.device(device), graph.name_scope(device_type):
            feeds, fetches = make()
        options = Options(
            list(dict.fromkeys([device, *self.worker.device_names])),
            self.worker.evaluate,
            self.worker.has_kernel,
            simplify=False,
            rewrite=False,
        )
        placed = rewrite_placed(make_placed_graph(feeds, fetches, [], options), options)
        ordered = run_stage(Stage.ORDER, placed, Context(options))
        fed = {v.op for v in ordered.feeds}
        nodes = [n for n in ordered.nodes if n not in fed]
        binder = self.registered if watch is None else TracedGraph(self.registered, watch)
        small = choose_arrays(nodes, (), self.registered, ordered.feeds) if arrays else {}
        torch_device = self.worker.torch_device(device)
        places = None if arrays else dict.fromkeys(ordered.feeds, torch_device)
        program = generate(nodes, ordered.feeds, ordered.fetches, binder, "probe", places, arrays=small)
        costs, work = CostModel(), NOTHING
        for node in nodes:
            work += costs.work(node)
        inputs = [_drawn(v.shape.tuple or (), v.dtype, torch_device, numbers) for v in ordered.feeds]
        return Probe(program, inputs, work, waiting([torch_device]))


def _drawn(shape: Sequence[int | None], dtype: DType, torch_device: Any, numbers: int) -> Any:
    dims = [d or 0 for d in shape]
    generator = torch.Generator(torch_device)  # leaves the user's generator as it is
    if dtype.is_integer:
        return torch.randint(numbers, dims, dtype=torch_dtype(dtype), device=torch_device, generator=generator)
    return torch.rand(dims, device=torch_device, generator=generator).to(torch_dtype(dtype))
