"""Compiling in the background: the queue of what to compile, its thread, and the process that does the work.

The thread only passes regions to the process and loads what comes back, so that steps go on undisturbed.  What only the program
can do is compiled on the thread itself, one short turn after another: ops of the user's own, one plan for many shapes, devices
other than CUDA's and those over torch's CPU, a GPU that the process cannot use.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import torch

from headrace.core import process
from headrace.passes.region import Region
from headrace.runtime.code.codegen import Binder
from headrace.runtime.compiler import archive
from headrace.runtime.compiler import compile as in_process
from headrace.runtime.compiler.compile import Call, CannotCompile, as_call, compile_region, is_on_cpu, strides
from headrace.runtime.compiler.process import CompileProcess, Died
from headrace.runtime.compiler.region_json import CannotSend, encode
from headrace.runtime.compiler.torch_door.generated_module import put
from headrace.runtime.compiler.torch_door.launching import NeedsCompiler
from headrace.runtime.host.device import deterministic

log = logging.getLogger("headrace.compile")

KEEP = 20.0  # seconds that the process waits for more to do
BLINK = 0.5  # seconds that the interpreter's exit may wait for the thread

Job = Callable[[], None]


class CompileQueue:
    """Compiles one thing at a time on a thread of its own, which ends some time after there is nothing left to do."""

    def __init__(self) -> None:
        self.process = CompileProcess()
        self._changed = threading.Condition()
        self._jobs: list[Job] = []
        self._busy = False
        self._resting = False
        self._stopped = False
        self._thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        with self._changed:
            if self._stopped:
                return
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="headrace-compile", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                with process.short_turns():
                    job()
            except Exception:  # noqa: BLE001 - a failed compilation must never hurt the step
                log.warning("compilation failed; the step stays interpreted", exc_info=True)

    def _next(self) -> Job | None:
        """The next job; None if there was none for a while and the thread should end."""
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            keep = KEEP if self.process.running else 0.0
            self._changed.wait_for(lambda: self._jobs or self._resting or self._stopped, keep)
            if self._jobs:
                self._busy = True
                return self._jobs.pop(0)
            self.process.close()
            self._thread = None
            return None

    def prepare(self) -> None:
        """Has the process started and the compiler imported, since something will be submitted soon."""
        if self.process.can_run() and not self.process.running:
            self.submit(self.process.prepare)

    def wait(self, timeout: float | None = None) -> None:
        """Waits until everything submitted so far is done (for tests and benchmarks)."""
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None or not (self._jobs or self._busy), timeout)

    def rest(self) -> None:
        """Finishes what was submitted, then ends the thread and the process without delay.  More may be submitted afterwards."""
        with self._changed:
            thread, self._resting = self._thread, True
            self._changed.notify_all()
        if thread is not None:
            thread.join()
        self._resting = False

    def stop(self) -> None:
        """Drops what waits, ends the process, interrupts the thread, and takes nothing more.

        For the interpreter's exit, which ends a thread wherever it is: torch's C++ answers that by aborting the process.
        A thread that waits for a C++ compiler is left to its wait, where it does no harm.
        """
        with self._changed:
            self._stopped = True
            self._jobs.clear()
            thread = self._thread
            self._changed.notify_all()
        self.process.stop()
        if thread is None or not thread.is_alive():
            return
        report = sys.unraisablehook  # the exit may come in the middle of a weak reference's callback
        sys.unraisablehook = lambda what: None if what.exc_type is SystemExit else report(what)
        end = time.monotonic() + BLINK
        while thread.is_alive() and time.monotonic() < end:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
            thread.join(0.05)  # code that swallowed the exit is interrupted again


queue = CompileQueue()
atexit.register(queue.stop)


_of_the_original: list[CompileProcess] = []


def _in_a_copy() -> None:
    """Starts afresh in a copy of this process: it has no such thread, and the compiling process is not its own."""
    _of_the_original.append(queue.process)
    queue.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_in_a_copy)


def compile_in_background(region: Region, binder: Binder) -> Call | None:
    """The region's function, compiled by the process if it can, else here; none for the CPU.  For the queue's thread."""
    if is_on_cpu(region):
        return None
    if not _can_be_sent(binder.torch_device(region.device)) or not queue.process.can_run():
        return compile_region(region, binder)
    try:
        parts = _ask(region, binder)
        return _loaded(parts, region, binder)
    except (CannotSend, NeedsCompiler) as e:
        log.info(
            "compiles %d nodes from %s on a thread of this process: %s", len(region.nodes), region.nodes[0].name, e
        )
        return compile_region(region, binder)


def _loaded(parts: dict[str, Any], region: Region, binder: Binder) -> Call:
    """The code that the process sent.  If it cannot be loaded, a step on a GPU stays as it is: compiling here would stop it."""
    try:
        code = put(parts)
    except NeedsCompiler as e:
        if binder.torch_device(region.device).type == "cpu":
            raise
        raise CannotCompile(f"the compiled code cannot be loaded: {e}") from e
    return as_call(lambda *tensors: code(list(tensors)), region, binder)


def describe(region: Region, binder: Binder) -> dict[str, Any]:
    """All that the region's code depends on, as JSON values.  Raises CannotSend if only this process can compile it."""
    device = binder.torch_device(region.device)
    content = {
        "region": encode(region, binder, strides(region, binder)), "threads": binder.threads,
        "deterministic": deterministic(), "device": str(device),
    }  # fmt: skip
    if device.type == "cuda":
        content["gpu"] = torch.cuda.get_device_properties(device).name
        content["precision"] = torch.get_float32_matmul_precision()
    return content


def _can_be_sent(device: torch.device) -> bool:
    """Whether the process compiles for such a device."""
    return device.type == "cpu" or (device.type == "cuda" and torch.version.hip is None)


def _ask(region: Region, binder: Binder) -> dict[str, Any]:
    """The region's compiled code: as it was kept for such a region, or from the process."""
    request = describe(region, binder)
    name = archive.key(request)
    with archive.alone(name):  # tasks of one host compile the same at the same time
        code = archive.find(name)
        if code is None:
            code = _answered({**request, "title": in_process.title()})
            archive.keep(name, code)
    return code


def _answered(request: dict[str, Any]) -> dict[str, Any]:
    """The code from the process."""
    try:
        answer = queue.process.ask(request)
    except Died as e:
        raise CannotCompile(str(e)) from e
    if "error" in answer:
        raise CannotCompile(answer["error"])
    if "need" in answer:
        raise NeedsCompiler(answer["need"])
    log.debug("the compiling process took %s", answer.get("laps"))
    compiled: dict[str, Any] = answer["code"]
    return compiled
