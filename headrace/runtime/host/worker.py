"""LocalWorker: owns this process's devices, the state that outlives sessions, and the threads for what blocks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from math import inf
from time import monotonic
from typing import Any

from headrace.core.config import ConfigProto
from headrace.core.errors import OpError
from headrace.core.leaving import SLEEP
from headrace.core.registry import Kernel, OpDef
from headrace.graph.infer import group_inputs
from headrace.passes.pipeline import passes_off
from headrace.passes.step_graph import Node
from headrace.resources.calling.invoke import find_kernel, invoke_on_arrays
from headrace.resources.state.container import Containers
from headrace.resources.state.replicas.box import Boxes
from headrace.resources.stepping.rendezvous import Rendezvous
from headrace.runtime.host.device import LOCAL_TASK, Device, configure, configured, local_devices
from headrace.runtime.host.gate import Gate
from headrace.runtime.host.hooks import HookedPlace
from headrace.runtime.host.null import null_kernel
from headrace.runtime.host.pool import Pool
from headrace.runtime.host.refusal import shapes_refused
from headrace.runtime.host.threads import default_threads, divide_threads
from headrace.runtime.host.writers import Writers


class LocalWorker:
    """Thread-safe.  Lives as long as its session, or as the server that several sessions name as their target."""

    def __init__(self, config: ConfigProto, task: str = LOCAL_TASK, sharing: int = 1) -> None:
        """``config``: sessions that share the worker merge theirs into it.  ``task``: how the names of its devices begin.

        ``sharing``: the tasks of its cluster that share the cores of this host, with this one.
        """
        self.config = config
        self.task = task
        there = local_devices(dict(config.device_count), task, config.gpu_options.visible_device_list)
        self.devices: list[Device] = configured(there, config)
        configure(self.devices, config)
        self.threads = config.intra_op_parallelism_threads or default_threads(sharing)
        self.cores = max(self.threads, sum(d.threads for d in self.devices))  # those that concurrent steps share
        together = config.inter_op_parallelism_threads
        self.gate = Gate(together) if together > 0 else None
        self._simplify = config.graph_options.optimizer_options.opt_level >= 0
        self.resources = Containers()
        self.rendezvous = Rendezvous()
        self.pool = Pool()
        self.lane = Pool(most=1)  # for what only the interpreter computes: more threads would fight for its lock
        self.ahead = Pool("headrace-ahead-", most=max(16, 2 * self.cores))  # for datasets
        self.boxes = Boxes(task, self.pool.submit)
        self.writers = Writers(task)
        self.step_tracer: Any = (
            None  # a `runtime.session.step_tracer.StepTracer` while somebody wants steps to be traced
        )
        self._by_name = {d.name: d for d in self.devices}
        self.hooked = {d.name: HookedPlace(d) for d in self.devices if d.hooks is not None}
        self._host = next(d for d in self.devices if d.device_type == "CPU")
        self._sessions: set[Any] = set()  # those that are open: registered graphs
        self._had_session = False
        self._failure: OpError | None = None
        self._steps_done = 0
        self._counting = threading.Lock()
        self._session_left = threading.Condition()

    # ---- sessions

    def enter_session(self, session: Any) -> None:
        """Notes that a session runs its steps here: ``session`` is its registered graph."""
        with self._session_left:
            self._sessions.add(session)
            self._had_session = True
            self._session_left.notify_all()

    def leave_session(self, session: Any) -> None:
        """Notes that a session is closed."""
        with self._session_left:
            self._sessions.discard(session)
            self._session_left.notify_all()

    def wait_for_sessions(self, seconds: float | None = 0.0) -> None:
        """Returns when there was a session and none has been open for that many seconds; None: never.

        Raises the error of a worker that `fail` has ended.
        """
        with self._session_left:
            while True:
                self._wait_until(lambda: seconds is not None and self._had_session and not self._sessions)
                if not self._wait_until(lambda: bool(self._sessions), seconds):
                    return

    def wait_until(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Waits for a condition that changes when a session begins or ends, for a time at most; whether it holds."""
        with self._session_left:
            return self._wait_until(condition, seconds)

    def _wait_until(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        left = inf if seconds is None else seconds
        end = monotonic() + left
        while not (
            came := self._session_left.wait_for(lambda: self._failure is not None or condition(), min(left, SLEEP))
        ):
            if (left := end - monotonic()) <= 0:
                break
        if self._failure is not None:
            raise self._failure
        return came

    def fail(self, error: OpError) -> None:
        """Nobody can reach the worker any more: ends waits for sessions with the error."""
        with self._session_left:
            self._failure = error
            self._session_left.notify_all()

    def sessions(self) -> list[Any]:
        """The registered graphs of the sessions that are open."""
        with self._session_left:
            return list(self._sessions)

    def note_step(self) -> None:
        """Notes that a step is over here, or what this worker had to do in it."""
        with self._counting:
            self._steps_done += 1

    @property
    def steps_done(self) -> int:
        """How many steps have ended here, with or without an error."""
        return self._steps_done

    # ---- devices

    @property
    def device_names(self) -> list[str]:
        return [d.name for d in self.devices]

    def device(self, name: str) -> Device:
        return self._by_name[name] if name else self._host

    def thread_budgets(self, names: Collection[str]) -> dict[str, int]:
        """How many threads the kernels of each device may use in a step that uses these devices together.

        The CPUs among them divide the session's threads; what an accelerator leaves to the host may use all of them.
        """
        budgets = {d.name: self.threads for d in self.devices if d.name in names}
        cpus = [d for d in self.devices if d.name in names and d.torch_device.type == "cpu"]
        divided = divide_threads([d.threads for d in cpus], self.threads)
        budgets.update(zip([d.name for d in cpus], divided, strict=True))
        return budgets

    def thread_limit(self, names: Collection[str], beside: Collection[str] = ()) -> int:
        """How many threads kernels may use in a program that runs the nodes of these devices in turn.

        ``beside``: the devices that other programs of the step use at the same time.
        """
        budgets = self.thread_budgets({*names, *beside})
        cpus = [budgets[d.name] for d in self.devices if d.name in names and d.torch_device.type == "cpu"]
        return sum(cpus) or self.threads

    # ---- what generated code binds to

    @property
    def arrays(self) -> bool:
        return self._simplify and "arrays" not in passes_off()

    def torch_device(self, name: str) -> Any:
        return self.device(name).torch_device

    def kernel(self, node: Node, kernel_type: str) -> Kernel:
        if kernel_type == "meta" and self.device(node.device).is_null:
            return null_kernel(node) or find_kernel(node.op_def, kernel_type, node.attrs)
        device = self._by_name.get(node.device)
        there = device is not None and device.kernel_type == kernel_type  # rather than on the host
        return find_kernel(node.op_def, kernel_type, node.attrs, device.device_type if device and there else "")

    def has_kernel(self, node: Node, device_type: str) -> bool:
        op_def = node.op_def
        if op_def.traits.handle or op_def.traits.feed or op_def.kernels.inline is not None:
            return True
        kernels = op_def.kernels.by_device
        if kernels and kernels[-1].is_general:  # of most ops: no need to ask what the others accept
            return True
        kernel_type = next((d.kernel_type for d in self.devices if d.device_type == device_type), device_type.lower())
        return op_def.find_kernel(kernel_type, node.attrs, name=device_type) is not None

    @staticmethod
    def evaluate(op_def: OpDef, arrays: Any, attrs: dict[str, Any]) -> Any:
        """Constant folding's evaluator: None when the kernel cannot run while planning."""
        kernel = op_def.find_kernel("cpu", attrs)
        if kernel is None or kernel.wants_state or kernel.wants_node:
            return None
        try:
            if op_def.traits.lenient and shapes_refused(op_def, attrs, group_inputs(op_def, arrays, attrs)) is not None:
                return None
            return invoke_on_arrays(op_def, arrays, attrs)
        except Exception:  # noqa: BLE001 - the error belongs to the run, where it names the node
            return None

    def close(self) -> None:
        self.resources.clear()
        self.pool.close()
        self.lane.close()
        self.ahead.close()
