"""Recorder: when each node of a traced step ran and what it allocated, noted by code that was generated for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns, time_ns
from typing import Any, NamedTuple

import numpy as np
import torch

from headrace.passes.step_graph import Node
from headrace.resources.calling.invoke import flat_outputs
from headrace.resources.state.memory import COUNTED, bytes_in_use, resident_bytes
from headrace.resources.state.variable import Variable
from headrace.resources.stepping.waiting import Later

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
    outputs: Sequence[tuple[tuple[int, ...], int] | None] = ()  # shape and bytes; None: no tensor or array
    allocated: int = 0  # bytes of outputs that are not the memory of inputs
    in_use: tuple[str, int] | None = None  # whose memory, and how many bytes were in use afterwards


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

    def note(self, node: Node, began: int, outputs: Sequence[Any] = (), inputs: Sequence[Any] = ()) -> None:
        """The node is over.  What it began on an accelerator is waited for, so that the time is its own.

        ``inputs`` are all that its kernel was given: also state, constants, and values that are not tensors.
        """
        device = self._torch_device(node.device)
        if device.type not in ("cpu", "meta"):
            torch.accelerator.synchronize(device)
        ended = perf_counter_ns()
        self._add(node, began, ended, self._thread(), outputs, inputs, self._in_use(device, ended))

    def _add(
        self, node: Node, began: int, ended: int, thread: int, outputs: Sequence[Any], inputs: Sequence[Any] = (),
        in_use: tuple[str, int] | None = None,
    ) -> None:  # fmt: skip
        sizes, allocated = [_size(value) for value in outputs], _allocated(outputs, inputs)
        self.entries.append(Entry(node, began, ended, thread, "", sizes, allocated, in_use))

    def _thread(self) -> int:
        thread = threading.get_ident() & 0xFFFFFFFF
        if thread not in self.threads:
            self.threads[thread] = threading.current_thread().name
        return thread

    def _in_use(self, device: Any, now: int) -> tuple[str, int] | None:
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
            ended, later = perf_counter_ns(), error is not None or isinstance(result, Later)
            outputs = () if later else flat_outputs(node.op_def, result)
            self._add(node, began, ended, WAITING, outputs)
            done(result, error)

        def stage(title: str, stage_began: int, ended: int) -> None:
            self.entries.append(Entry(node, stage_began, ended, self._thread(), title))

        over.stage = stage  # type: ignore[attr-defined]  # told by iterators of datasets
        return over


def _size(value: Any) -> tuple[tuple[int, ...], int] | None:
    return (tuple(value.shape), value.nbytes) if isinstance(value, torch.Tensor | np.ndarray) else None


def _allocated(outputs: Iterable[Any], inputs: Iterable[Any]) -> int:
    """How many bytes the memory of the outputs has, without memory of inputs that they share."""
    there = [_memory(value) for value in inputs]
    total = 0
    for begin, end in map(_memory, outputs):
        if not any(begin < other_end and other_begin < end for other_begin, other_end in there):
            there.append((begin, end))
            total += end - begin
    return total


def _memory(value: Any) -> tuple[int, int]:
    """The addresses between which the numbers of a tensor, an array or a variable are; for others none."""
    if isinstance(value, Variable):
        value = getattr(value, "value", None)
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    if isinstance(value, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        return value.ctypes.data, value.ctypes.data + value.nbytes
    return 0, 0
