"""RegisteredGraph: a session's graph on a worker: what its plans are bound to, the states of its nodes, its running steps.

The worker's containers outlive it, and other graphs may share what is in them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from headrace.core.errors import OpError
from headrace.core.registry import REGISTRY, Kernel
from headrace.core.source import UNKNOWN, Source, at
from headrace.graph.graph import Graph
from headrace.passes.step_graph import Node
from headrace.resources.calling.invoke import bind_attr, find_kernel
from headrace.resources.state.container import EVERYBODY, Containers
from headrace.resources.state.holder import Holder, Measure, holders_in
from headrace.resources.state.node_state import NodeStates
from headrace.resources.state.replicas.box import Boxes
from headrace.resources.stepping.step import Steps
from headrace.runtime.host.hooks import HookedPlace
from headrace.runtime.host.recorder import Recorder
from headrace.runtime.host.worker import LocalWorker

T = TypeVar("T")

_numbers: Final = itertools.count(EVERYBODY + 1)


@dataclass(frozen=True, slots=True)
class StateContext:
    """What an op's ``state`` rule may use."""

    name: str
    attrs: dict[str, Any]
    device: Any
    resources: Containers
    graph: Graph | None
    source: Source = UNKNOWN  # the user's line that made the node
    device_name: str = ""
    memory: Callable[[Any, bool], Any] | None = None  # what `Variable` takes its memory from; None: torch's
    owner: int = EVERYBODY  # of state that no other session may see
    node_states: NodeStates | None = None  # of all nodes of the graph; None where nodes keep none
    callable: Callable[[Any], Callable[..., Any]] | None = None  # plans a detached body
    submit: Callable[[Callable[[], Any]], None] | None = None  # runs a call on a thread that works ahead
    cores: int = 1
    boxes: Boxes | None = None  # by which sessions of several workers pass values on; None while ops run eagerly

    def resource(self, resource_class: type[T], make: Callable[[], T], by_node_name: bool = False) -> T:
        """What the node's container holds under the node's ``shared_name``, made if it is not there.

        A node without a ``shared_name`` is found by its own name if ``by_node_name``; otherwise it shares with no session.
        """
        container, shared_name = self.attrs["container"], self.attrs["shared_name"]
        owner = EVERYBODY if shared_name or by_node_name else self.owner
        return self.resources.get_or_create(
            container, shared_name or self.name, resource_class, make, self.device_name, owner
        )

    def own(self, resource_class: type[T], make: Callable[[], T]) -> T:
        """What the node's container holds for this session alone, made if it is not there; it ends with the session."""
        return self.resources.get_or_create(
            self.attrs["container"], self.name, resource_class, make, self.device_name, self.owner
        )


class RegisteredGraph:
    """Thread-safe.  Lives as long as its session."""

    def __init__(self, worker: LocalWorker, timeout: float = 0.0, isolated: bool = False) -> None:
        """``timeout``: seconds that a step may take; 0: as long as it likes.  ``isolated``: shares no state with others."""
        self.worker = worker
        self.resources = Containers() if isolated else worker.resources
        self.threads = worker.threads
        self.gate = worker.gate
        self.pool = worker.pool
        self.writers = worker.writers
        self.steps = Steps(timeout)
        self.recorder: Recorder | None = None
        self.plan_body: Callable[[Any], Callable[..., Any]] | None = None  # the planner's, if it has one
        self.owner = next(_numbers)
        self._lock = threading.RLock()
        self._states = NodeStates()  # of nodes that hold their state themselves, such as random ones
        self._handles: dict[str, Any] = {}  # of nodes that stand for something in a container
        self._constants: dict[tuple[int, Any, Any], tuple[Any, Any]] = {}
        self._generation = self.resources.generation
        self._closed = False
        worker.enter_session(self)

    @property
    def arrays(self) -> bool:
        return self.worker.arrays

    def torch_device(self, name: str) -> Any:
        return self.worker.torch_device(name)

    def place(self, name: str) -> Any:
        """Where values of the device are: its torch device, or a place of their own if it has hooks."""
        return self.worker.hooked.get(name) or self.torch_device(name)

    def kernel(self, node: Node, kernel_type: str) -> Kernel:
        return self.worker.kernel(node, kernel_type)

    def constant(self, node: Node, place: Any) -> Any:
        """A constant on a device; the array is shared with the graph where the device allows."""
        array = node.attrs["value"]
        key = (id(array), node.attrs["dtype"], place)
        with self._lock:
            shared = self._constants.get(key)
            if shared is None:
                hooked = isinstance(place, HookedPlace)
                torch_device = self.torch_device("") if hooked else place
                kernel = find_kernel(REGISTRY.get("Const"), torch_device.type, node.attrs)
                value = kernel.call(array, bind_attr(node.attrs["dtype"]), device=torch_device)
                if hooked:
                    with _blaming(node):
                        value = place.from_host(value)
                shared = self._constants[key] = (array, value)
            return shared[1]

    def callable(self, body: Any) -> Callable[..., Any]:
        """A detached body as a function of run-time values, which any thread may call."""
        if self.plan_body is None:
            raise RuntimeError(f"Attempted to use a closed Session. {at()}")
        return self.plan_body(body)

    def state(self, node: Node) -> Any:
        """The node's state, made on first use and shared by all plans; containers are asked again after a reset."""
        with self._lock:
            if self._generation != self.resources.generation:
                self._handles.clear()
                self._generation = self.resources.generation
            if not (node.op_def.traits.handle or "shared_name" in node.attrs):
                return self._states.get_or_make(node.name, lambda: self.make_state(node, self._states.resume))
            if node.name not in self._handles:
                self._handles[node.name] = self.make_state(node)
            return self._handles[node.name]

    def restart(self, node: Node) -> None:
        """Lets the node's own state begin like a new one."""
        self._states.restart(node.name, lambda: self.make_state(node))

    def make_state(self, node: Node, resume: Callable[[str, Any], None] | None = None) -> Any:
        """A new state of a node."""
        rule = node.op_def.state_fn
        if rule is None:
            raise TypeError(f"op {node.type} keeps state but has no state rule")
        graph = node.origin.graph if node.origin is not None else None
        device = self.torch_device(node.device)
        context = StateContext(
            node.name, node.attrs, device, self.resources, graph, node.source, node.device,
            getattr(self.place(node.device), "memory", None), self.owner, self._states, self.callable,
            self.worker.ahead.submit, self.worker.cores, self.worker.boxes,
        )  # fmt: skip
        with _blaming(node):
            state = rule(context)
            if resume is not None:
                resume(node.name, state)
            return state

    def holders(self) -> list[Holder]:
        """Who holds memory here for this session: what is in containers, then states of nodes, then constants of plans."""
        measure = Measure()
        found = list(holders_in(self.resources, self.owner, measure))
        with self._lock:
            states, constants = self._states.all(), list(self._constants.items())
        task = f"{self.worker.task}"
        found += [Holder(type(state).__name__, name, task, measure.of(state)) for name, state in states.items()]
        by_place: dict[str, int] = {}
        for (_, _, place), (_, value) in constants:
            by_place[str(place)] = by_place.get(str(place), 0) + measure.of(value)
        return found + [Holder("Constants", f"on {place}", task, size) for place, size in by_place.items()]

    def close(self) -> None:
        """Ends all steps and forgets the states of nodes; what is in containers stays the worker's."""
        self.steps.close()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._states.end()
            self._handles.clear()
            self._constants.clear()
            self.plan_body = None
        self.resources.forget(self.owner)
        self.writers.forget(self.owner)
        self.worker.leave_session(self)


@contextmanager
def _blaming(node: Node) -> Iterator[None]:
    """Errors of TF1's tree name the node."""
    try:
        yield
    except OpError as e:
        where = f"[[node {node.name} ({node.type}) made at {node.source}]]"
        raise type(e)(None, node.origin, f"{e.message}\n\t {where}") from e  # type: ignore[call-arg]


class TracedGraph(RegisteredGraph):
    """A registered graph as plans of traced steps see it: all is the graph's own, but code generated for it notes times."""

    def __init__(self, graph: RegisteredGraph, recorder: Recorder | None = None) -> None:
        """``recorder``: what notes; None: one that notes all that a trace has."""
        self._graph = graph
        self.recorder: Recorder = recorder or Recorder(graph.torch_device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def constant(self, node: Node, place: Any) -> Any:
        return self._graph.constant(node, place)

    def state(self, node: Node) -> Any:
        return self._graph.state(node)
