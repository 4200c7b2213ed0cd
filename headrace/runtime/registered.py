"""RegisteredGraph: a session's graph on a worker: what its plans are bound to, the states of its nodes, its running steps.

The worker's containers outlive it, and other graphs may share what is in them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import OpError
from headrace.core.registry import Kernel
from headrace.core.source import UNKNOWN, Source
from headrace.graph.graph import Graph
from headrace.passes.step_graph import Node
from headrace.resources.container import Containers
from headrace.resources.step import Steps
from headrace.runtime.worker import LocalWorker


@dataclass(frozen=True, slots=True)
class StateContext:
    """What an op's ``state`` rule may use."""

    name: str
    attrs: dict[str, Any]
    device: Any
    resources: Containers
    graph: Graph | None
    source: Source = UNKNOWN  # the user's line that made the node


class RegisteredGraph:
    """Thread-safe.  Lives as long as its session."""

    def __init__(self, worker: LocalWorker, timeout: float = 0.0) -> None:
        """``timeout``: seconds that a step may take; 0: as long as it likes."""
        self.worker = worker
        self.resources = worker.resources
        self.threads = worker.threads
        self.gate = worker.gate
        self.pool = worker.pool
        self.steps = Steps(timeout)
        self._lock = threading.RLock()
        self._states: dict[str, Any] = {}
        self._generation = self.resources.generation

    @property
    def arrays(self) -> bool:
        return self.worker.arrays

    def torch_device(self, name: str) -> Any:
        return self.worker.torch_device(name)

    def kernel(self, node: Node, kernel_type: str) -> Kernel:
        return self.worker.kernel(node, kernel_type)

    def constant(self, node: Node, torch_device: Any) -> Any:
        return self.worker.constant(node, torch_device)

    def state(self, node: Node) -> Any:
        """The node's state in this session, made on first use and shared by all plans."""
        with self._lock:
            if self._generation != self.resources.generation:
                self._states.clear()
                self._generation = self.resources.generation
            if node.name not in self._states:
                rule = node.op_def.state_fn
                if rule is None:
                    raise TypeError(f"op {node.type} keeps state but has no state rule")
                graph = node.origin.graph if node.origin is not None else None
                device = self.torch_device(node.device)
                context = StateContext(node.name, node.attrs, device, self.resources, graph, node.source)
                try:
                    self._states[node.name] = rule(context)
                except OpError as e:
                    where = f"[[node {node.name} ({node.type}) made at {node.source}]]"
                    raise type(e)(None, node.origin, f"{e.message}\n\t {where}") from e  # type: ignore[call-arg]
            return self._states[node.name]

    def close(self) -> None:
        """Ends all steps and forgets the states of nodes; what is in containers stays the worker's."""
        self.steps.close()
        with self._lock:
            self._states.clear()
