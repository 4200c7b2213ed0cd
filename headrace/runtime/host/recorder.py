"""Recorder: when each node of a traced step ran, noted by code that was generated for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter_ns, time_ns
from typing import Any, NamedTuple

import torch

from headrace.passes.step_graph import Node
from headrace.resources.state.memory import COUNTED, bytes_in_use, resident_bytes

MEMORY_EVERY = 1_000_000  # nanoseconds: to ask for it takes as long as a small kernel


class Entry(NamedTuple):
    """One run of a node: when it began and ended, in nanoseconds of the clock, and on which thread.

    ``thread`` is `WAITING` for a node that has waited: what it waited for has happened elsewhere.
    """

    node: Node
    began: int
    ended: int
    thread: int
    stage: str = ""  # of a dataset, whose element the node took
    memory: tuple[str, int] | None = None  # whose, and how many bytes were in use afterwards


WAITING = 0


class Recorder:
    """What one traced step did.  Threads of the step may note at the same time; steps must not."""

    clock = staticmethod(perf_counter_ns)

    def __init__(self, torch_device: Callable[[str], Any]) -> None:
        self._torch_device = torch_device
        self.start()

    def start(self) -> None:
        """Forgets what was noted."""
        self.entries: list[Entry] = []
        self.threads = {WAITING: "waiting"}
        self._looked: dict[Any, int] = {}  # when the memory of a device was last asked for
        self.offset = time_ns() - perf_counter_ns()  # from the clock to the time of day

    def note(self, node: Node, began: int) -> None:
        """The node is over.  What it began on an accelerator is waited for, so that the time is its own."""
        device = self._torch_device(node.device)
        if device.type not in ("cpu", "meta"):
            torch.accelerator.synchronize(device)
        ended = perf_counter_ns()
        self.entries.append(Entry(node, began, ended, self._thread(), memory=self._memory(device, ended)))

    def _thread(self) -> int:
        thread = threading.get_ident() & 0xFFFFFFFF
        if thread not in self.threads:
            self.threads[thread] = threading.current_thread().name
        return thread

    def _memory(self, device: Any, now: int) -> tuple[str, int] | None:
        """What is in use of a device's memory, unless that was asked a moment ago; of the host, what the process takes."""
        if now - self._looked.get(device, 0) < MEMORY_EVERY:
            return None
        self._looked[device] = now
        if device.type in COUNTED:
            return str(device), bytes_in_use(device)
        resident = resident_bytes() if device.type == "cpu" else None
        return None if resident is None else ("host", resident)

    def until_done(self, node: Node, done: Callable[..., None]) -> Callable[..., None]:
        """What an asynchronous node calls when it is over, in place of ``done``."""
        began = perf_counter_ns()

        def over(result: Any, error: BaseException | None) -> None:
            self.entries.append(Entry(node, began, perf_counter_ns(), WAITING))
            done(result, error)

        def stage(title: str, stage_began: int, ended: int) -> None:
            self.entries.append(Entry(node, stage_began, ended, self._thread(), title))

        over.stage = stage  # type: ignore[attr-defined]  # told by iterators of datasets
        return over
