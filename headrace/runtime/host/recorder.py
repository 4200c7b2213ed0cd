"""Recorder: when each node of a traced step ran, noted by code that was generated for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter_ns, time_ns
from typing import Any, NamedTuple

import torch

from headrace.passes.step_graph import Node


class Entry(NamedTuple):
    """One run of a node: when it began and ended, in nanoseconds of the clock, and on which thread."""

    node: Node
    began: int
    ended: int
    thread: int
    stage: str = ""  # of a dataset, whose element the node took


class Recorder:
    """What one traced step did.  Threads of the step may note at the same time; steps must not."""

    clock = staticmethod(perf_counter_ns)

    def __init__(self, torch_device: Callable[[str], Any]) -> None:
        self._torch_device = torch_device
        self.start()

    def start(self) -> None:
        """Forgets what was noted."""
        self.entries: list[Entry] = []
        self.offset = time_ns() - perf_counter_ns()  # from the clock to the time of day

    def note(self, node: Node, began: int) -> None:
        """The node is over.  What it began on an accelerator is waited for, so that the time is its own."""
        device = self._torch_device(node.device)
        if device.type not in ("cpu", "meta"):
            torch.accelerator.synchronize(device)
        self.entries.append(Entry(node, began, perf_counter_ns(), threading.get_ident()))

    def until_done(self, node: Node, done: Callable[..., None]) -> Callable[..., None]:
        """What an asynchronous node calls when it is over, in place of ``done``."""
        began = perf_counter_ns()

        def over(result: Any, error: BaseException | None) -> None:
            self.entries.append(Entry(node, began, perf_counter_ns(), threading.get_ident()))
            done(result, error)

        def stage(title: str, stage_began: int, ended: int) -> None:
            self.entries.append(Entry(node, stage_began, ended, threading.get_ident(), title))

        over.stage = stage  # type: ignore[attr-defined]  # told by iterators of datasets
        return over
