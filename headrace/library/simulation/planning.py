"""Plans a program's step for a cluster that is not there: the real passes, placement, partitions and strands, as plain data.

A program for one machine is placed as `tf.train.replica_device_setter` would: variables and tables on servers, in turn, the rest
on the worker.  One for a cluster keeps its devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from headrace.core.config import ConfigProto
from headrace.core.device import DeviceSpec, task_of
from headrace.core.errors import InvalidArgumentError
from headrace.core.process import no_collection
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.simulation.job import RELEASE, UPDATE, WORKER, Message, Partition, Piece, Steps, Strand
from headrace.library.train.replica.device_setter import replica_device_setter
from headrace.library.train.replica.replicas_optimizer import _Updater
from headrace.passes.choose_device import Chooser
from headrace.passes.cost.model import CostModel, may_be_array
from headrace.passes.cost.rates import Machine
from headrace.passes.cost.use import use_of
from headrace.passes.cost.work import size_of
from headrace.passes.match import Ops
from headrace.passes.partition.cut import Cutting
from headrace.passes.partition.partition import Partition as Cut
from headrace.passes.partition.partition import partition
from headrace.passes.pipeline import Context, Options, Stage, rewrite_placed, run_stage
from headrace.passes.specialise import may_wait, specialise
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.passes.whole_graph import WholeGraph
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.planning.plan import Request

SEND, RECV = Ops("_SendMany"), Ops("_RecvMany")
ARRIVES, NEXT, MADE = Ops("_ReplicaArrives"), Ops("_NextUpdate"), Ops("_UpdateIsMade")
MEANS = Ops("_MeanOfTensors", "_MeanOfRows")
MINE: Final = "/job:worker/replica:0/task:0"
_WORKERS: Final = ("worker", "chief", "master")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a program: what it feeds, with the shapes of the values, and what it fetches and runs."""

    feeds: tuple[tuple[Tensor, tuple[int, ...] | None], ...]
    fetches: tuple[Tensor, ...]
    targets: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """A step for a number of servers.  ``state``: bytes of the variables on each; ``gradients``: that a worker sends to each."""

    steps: Steps
    state: tuple[float, ...]
    gradients: tuple[float, ...]


class Planning:
    """Plans steps of one graph for clusters with several numbers of servers.  Changes devices in the graph while it does."""

    def __init__(
        self, graph: Graph, machine: Machine, config: ConfigProto | None = None, accelerator: str = "",
        options: Callable[[], Options] | None = None,
    ) -> None:  # fmt: skip
        """``accelerator``: of each worker, such as "GPU".  ``options``: of the session's planner; else the usual ones."""
        self.graph, self._machine = graph, machine
        self._config = ConfigProto() if config is None else config
        self._accelerator = accelerator
        self._worker = LocalWorker(ConfigProto())
        self._options = options

    def close(self) -> None:
        self._worker.close()

    def plan(self, asked: Asked, servers: int) -> Planned:
        """The step for so many servers; for 0 all of it is on the worker."""
        with no_collection(), self.placed_for(servers):
            options = self._options_for(servers)
            request = Request(tuple(tensor for tensor, _ in asked.feeds), asked.fetches, asked.targets)
            graph = request.placed(options)
            shapes = [
                value.shape.tuple if shape is None else shape
                for value, (_, shape) in zip(graph.feeds, asked.feeds, strict=True)
            ]  # fmt: skip
            if all(shape is not None for shape in shapes):
                specialise(graph, [tuple(shape or ()) for shape in shapes])
            cutting = Cutting(
                self._config.gather_transfers, lossy=self._config.lossy_transfers, late=self._config.late_transfers
            )
            state = _state(graph, servers)
            parts = partition(graph, lambda device: f"{task_of(device)}/device:CPU:0", cutting)
            steps = _steps(parts, options, CostModel(self._machine))
        return Planned(steps, state, _to_servers(steps, servers))

    def _options_for(self, servers: int) -> Options:
        names = [f"{MINE}/device:CPU:0"]
        if self._accelerator:
            names.insert(0, f"{MINE}/device:{self._accelerator}:0")
        names += [f"/job:ps/replica:0/task:{k}/device:CPU:0" for k in range(servers)]
        worker = self._worker
        chooser = Chooser(tuple(names), worker.has_kernel, True)
        whole = WholeGraph(self.graph, chooser, True, {})  # what was built for other clusters is in the graph too
        usual = Options(names, worker.evaluate, worker.has_kernel) if self._options is None else self._options()
        return replace(usual, devices=names, soft_placement=True, whole=whole, after_each=None)

    @contextmanager
    def placed_for(self, servers: int) -> Iterator[None]:
        """Inside, nodes ask for devices of the cluster."""
        before = {op: op.device for op in self.graph.get_operations()}
        put = replica_device_setter(servers, worker_device=MINE) or _on_worker
        first = _changed_together(self.graph)
        try:
            for op, device in before.items():
                spec = DeviceSpec.from_string(device)
                if spec.job in _WORKERS:
                    op._set_device(spec.replace(job="worker", replica=0, task=0).to_string())
                elif spec.job is None and set(op.colocation) <= {f"loc:@{op.name}"}:
                    beside = first.get(op, op)
                    op._set_device(put(op) if beside is op else beside.device)
            yield
        finally:
            for op, device in before.items():
                op._set_device(device)


def _changed_together(graph: Graph) -> dict[Operation, Operation]:
    """Variables that one node changes must be on one server, such as slots that nobody has colocated: of each the first."""
    first: dict[Operation, Operation] = {}
    for op in graph.get_operations():
        if op.op_def.traits.writes:
            states = [tensor.op for tensor in op.inputs if tensor.op.op_def.traits.handle]
            for other in states[1:]:
                first.setdefault(other, first.get(states[0], states[0]))
    return first


def _on_worker(op: Operation) -> str:
    return str(DeviceSpec.from_string(MINE).make_merged_spec(DeviceSpec.from_string(op.device)).to_string())


def update_of(graph: Graph) -> Asked | None:
    """What the one that leads the replicas of this graph runs for an update; None where nobody does."""
    for runner in graph.get_collection(GraphKeys.QUEUE_RUNNERS):
        if isinstance(runner, _Updater):
            (made,) = runner.enqueue_ops
            return Asked((), (), (made,))
    return None


def servers_of(graph: Graph) -> int:
    """How many servers the nodes of a graph name."""
    specs = [DeviceSpec.from_string(op.device) for op in graph.get_operations() if "ps" in op.device]
    return max((1 + (spec.task or 0) for spec in specs if spec.job == "ps"), default=0)


# ---- a cut step as plain data


def _steps(parts: Sequence[Cut], options: Options, costs: CostModel) -> Steps:
    planned = []
    for part in parts:
        graph = run_stage(Stage.LOWER, rewrite_placed(part.graph, options), Context(options))
        planned.append((part, _strands(graph, options), _live(graph)))
    messages: list[Message] = []
    numbers: dict[str, int] = {}
    index = {part.name: i for i, part in enumerate(parts)}
    for part, strands, _ in planned:
        for node in (node for strand in strands for node in strand.nodes):
            if node in SEND:
                numbers[node.attrs["key"]] = len(messages)
                size = float(sum(map(size_of, node.inputs)))
                carried = sum(1 for value in node.inputs if size_of(value))
                messages.append(Message(index[part.name], index[node.attrs["destination"]], size, carried))
    partitions = [
        Partition(_task(part.name), tuple(_strand(one, numbers, costs) for one in strands), live)
        for part, strands, live in planned
    ]
    return Steps(tuple(partitions), tuple(messages))


@dataclass(frozen=True, slots=True)
class _Nodes:
    """A strand as the runtime would run it: its nodes in their order, and the strands before it."""

    nodes: Sequence[Node]
    after: Sequence[int]
    waits: bool


def _strands(graph: StepGraph, options: Options) -> list[_Nodes]:
    context = Context(options)
    if not any(map(may_wait, graph.nodes)):
        graph = run_stage(Stage.ORDER, run_stage(Stage.FUSE, graph, context), context)
        return [_Nodes(graph.nodes, (), False)]
    run_stage(Stage.CUT, graph, context)
    strands = []
    for strand in context.strands:
        after = sorted(strand.after)
        if strand.waits:
            strands.append(_Nodes(strand.nodes, after, True))
        else:
            inner = run_stage(Stage.ORDER, run_stage(Stage.FUSE, strand.graph(), context), context)
            strands.append(_Nodes(inner.nodes, after, False))
    return strands


def _strand(strand: _Nodes, numbers: dict[str, int], costs: CostModel) -> Strand:
    pieces: list[Piece] = []
    interpreter = kernels = moves = gathered = 0.0
    takes: tuple[int, ...] = ()
    waits = ""
    for node in strand.nodes:
        if node in RECV:
            takes = tuple(numbers[key] for key in node.attrs["keys"])
        elif node in ARRIVES or node in NEXT:
            waits = RELEASE if node in ARRIVES else UPDATE
        elif node in SEND or node in MADE:
            send = (numbers[node.attrs["key"]],) if node in SEND else ()
            nothing = not (interpreter or kernels or moves or gathered)
            if nothing and pieces and send and not pieces[-1].tells:
                pieces[-1] = replace(pieces[-1], sends=(*pieces[-1].sends, *send))
            else:
                pieces.append(Piece(interpreter, kernels, moves, gathered, send, node in MADE))
            interpreter = kernels = moves = gathered = 0.0
        else:
            launch, compute, move = _seconds(node, costs)
            interpreter += launch
            if node in MEANS:
                gathered += move + compute
            else:
                kernels, moves = kernels + compute, moves + move
    if interpreter or kernels or moves or gathered:
        pieces.append(Piece(interpreter, kernels, moves, gathered))
    return Strand(tuple(pieces), tuple(strand.after), takes, waits)


def _seconds(node: Node, costs: CostModel) -> tuple[float, float, float]:
    """Of the interpreter, of computing, of moving bytes."""
    device_type = DeviceSpec.from_string(node.device).device_type or "CPU"
    total, work = costs.seconds(node, device_type), costs.work(node)
    rates = costs.machine.rates_of(device_type)
    launch = min(total, rates.calling(work, use_of(node), may_be_array(node)))
    if device_type != "CPU" or work.flops / rates.flops["float32"] > (work.read + work.written) / rates.bandwidth:
        return launch, total - launch, 0.0
    return launch, 0.0, total - launch


def _task(name: str) -> int:
    spec = DeviceSpec.from_string(name)
    if spec.job == "worker":
        return WORKER
    if spec.job != "ps":
        raise InvalidArgumentError(
            None, None, f"a step runs on {name}, which is neither its worker nor a server (job ps)"
        )
    return spec.task or 0


def _live(graph: StepGraph) -> float:
    """The most bytes of values that are there at a time, in the order of the nodes."""
    last: dict[Value, int] = {}
    for i, node in enumerate(graph.nodes):
        for value in node.inputs:
            last[value] = i
    ends: dict[int, float] = {}
    now = most = 0.0
    for i, node in enumerate(graph.nodes):
        traits = node.op_def.traits
        if not (traits.view or traits.identity or traits.reads_buffer or traits.handle):
            for value in node.outputs:
                size = size_of(value)
                now += size
                ends[last.get(value, i)] = ends.get(last.get(value, i), 0.0) + size
        most = max(most, now)
        now -= ends.pop(i, 0.0)
    return most


def _state(graph: StepGraph, servers: int) -> tuple[float, ...]:
    """Bytes of the variables that a step uses, on each server."""
    sizes = [0.0] * servers
    for node in graph.nodes:
        spec = DeviceSpec.from_string(node.device)
        if node.op_def.traits.handle and spec.job == "ps" and "dtype" in node.attrs:
            dims = getattr(node.attrs.get("shape"), "tuple", None)
            if dims is not None and None not in dims:
                sizes[spec.task or 0] += prod(dims) * node.attrs["dtype"].size
    return tuple(sizes)


def _to_servers(steps: Steps, servers: int) -> tuple[float, ...]:
    sizes = [0.0] * servers
    tasks = [part.task for part in steps.partitions]
    for message in steps.messages:
        if tasks[message.source] == WORKER and tasks[message.destination] != WORKER:
            sizes[tasks[message.destination]] += message.size
    return tuple(sizes)
