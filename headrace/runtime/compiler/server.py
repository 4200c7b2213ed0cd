"""The process that compiles regions for another one: ``python -m headrace.runtime.compiler.server <pid of the other>``.

Reads one region a line from its standard input, as JSON, and answers with one line each: the compiled code, or why there is none.
It works at low priority, and ends, with every compiler it has started, when its input
is closed or the other process is gone.

Code for a GPU is run once before it is sent: that tunes its kernels, and shows that it works without the compiler.  It gets a
part of the memory that is free, and gives it back.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

import torch

from headrace.core import process
from headrace.core.registry import Kernel
from headrace.passes.step_graph import Node
from headrace.resources.calling.invoke import find_kernel
from headrace.runtime.compiler.compile import CannotCompile, compile_traced, trace_region
from headrace.runtime.compiler.own_folder import point_compiler
from headrace.runtime.compiler.region_json import decode
from headrace.runtime.compiler.torch_door.generated_module import put, take
from headrace.runtime.compiler.torch_door.launching import NeedsCompiler
from headrace.runtime.compiler.torch_door.lowering import Lowered, import_compiler
from headrace.runtime.compiler.tried import LARGEST, NotTried, see_same, size
from headrace.runtime.host import device as devices
from headrace.runtime.host.recorder import Recorder

NICE = 10  # beside a step that keeps two cores busy it gets a tenth of one; where no core is ever idle, less would be nothing
CHUNK: Final = 1 << 20  # bytes read at a time
LOOK = 1.0  # seconds between looks at whether the other process lives
SHARE: Final = 0.25  # of the free memory of a GPU, for a run of what was compiled
INPUTS: Final = 4  # times as much memory as the inputs take is needed for that run


class OnlyTheAsker(Exception):
    """What this process cannot compile, though the asking one can; carries the reason."""


def main(parent: int) -> None:
    """Answers until the input ends."""
    os.nice(NICE)
    requests, answers = _own_pipes()
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, parent, lines), daemon=True).start()
    while True:
        request = json.loads(lines.get())
        with process.no_collection():
            said = answer(request)
        answers.write(json.dumps(said).encode("ascii") + b"\n")
        answers.flush()
        if said.get("ends"):
            _end()


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes from and to the other process, out of reach of libraries that print and of copies of this process.

    A copy that outlived this process with a pipe in its hands would leave the other one waiting for an answer.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)

    def let_go() -> None:
        os.close(requests.fileno())
        os.close(answers.fileno())

    os.register_at_fork(after_in_child=let_go)
    return requests, answers


def _read(requests: IO[bytes], parent: int, lines: queue.SimpleQueue[bytes]) -> None:
    """Passes requests on.  Ends the process when the input ends, whatever the compiler is doing."""
    # Not ``readline``: it would take a second line into its buffer, of which select knows nothing.
    begun: list[bytes] = []  # pieces of a line whose end has not come
    while True:
        if select.select([requests], [], [], LOOK)[0]:
            came = os.read(requests.fileno(), CHUNK)
            if not came:
                _end()
            *ends, rest = came.split(b"\n")
            for end in ends:
                lines.put(b"".join([*begun, end]))
                begun = []
            begun.append(rest)
        elif os.getppid() != parent:  # a copy of the other process may still hold the pipe open
            _end()


def _end() -> None:
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGTERM)  # a C++ compiler at work too; it removes its temporary files
    os._exit(0)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """``code``, or the ``error`` for which this stays as it is, or the ``need`` for the asking process to compile it.

    Code for a GPU that cannot leave this process is an error: the asking one could compile it, but its steps would stand still
    meanwhile.  An empty request only has the compiler imported.
    """
    try:
        if not request:
            point_compiler()
            import_compiler()
            return {}
        laps = Laps()
        return {"code": _compiled(request, laps), "laps": laps.seconds}
    except (OnlyTheAsker, NotTried, torch.OutOfMemoryError) as e:
        return {"need": _first_line(e), "ends": _gpu_is_lost()}
    except NeedsCompiler as e:
        if request["device"] == "cpu":
            return {"need": _first_line(e)}
        return {"error": f"the compiled code cannot leave its process: {_first_line(e)}", "ends": _gpu_is_lost()}
    except Exception as e:  # noqa: BLE001 - whatever the compiler says, the asking process logs it
        first = _first_line(e)
        return {
            "error": first if isinstance(e, CannotCompile) else f"{type(e).__name__}: {first}", "ends": _gpu_is_lost()
        }  # fmt: skip


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _gpu_is_lost() -> bool:
    """Whether a kernel failed on the GPU: after that it does nothing more for this process."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def _compiled(request: dict[str, Any], laps: Laps) -> dict[str, Any]:
    devices.ask_deterministic(request["deterministic"])
    region, strides = decode(request["region"])
    binder = ServerBinder(request["threads"], torch.device(request["device"]))
    with laps("import"):
        point_compiler()
        import_compiler()
    with laps("context"):
        if binder.device.type == "cuda":
            _prepare_gpu(binder.device, request)
    with laps("trace"):
        traced = trace_region(region, binder, strides)
    fakes = traced[1]
    if binder.device.type == "cuda":
        _see_that_it_fits(fakes, binder.device)
    with laps("compile"):
        artifact = compile_traced(traced, region, binder, strides, request["title"])
    with laps("try"):
        return _loose(artifact, fakes, binder.device)


def _loose(artifact: Any, fakes: list[Any], device: torch.device) -> dict[str, Any]:
    """The code of the artifact, which was seen to work by itself."""
    if not isinstance(artifact, Lowered):
        raise NeedsCompiler("the artifact has an unknown form")
    taken: dict[str, Any] = {}

    def loose(inputs: list[Any]) -> Any:
        taken.update(take(artifact.code))  # not before: only now are its kernels tuned
        return put(taken)(inputs)

    with _some_memory(device) as most:
        see_same(artifact.code, loose, fakes, most)
    return taken


def _prepare_gpu(device: torch.device, request: dict[str, Any]) -> None:
    """Sees that this process can use the GPU of the asking one."""
    try:
        name = torch.cuda.get_device_properties(device).name
        torch.cuda.set_device(device)  # else the first GPU would be used beside it
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as e:
        raise OnlyTheAsker(f"the compiling process cannot use {device}: {_first_line(e)}") from e
    if name != request["gpu"]:
        raise OnlyTheAsker(f"the compiling process sees {name} as {device}, not {request['gpu']}")
    process.set_precision(torch, request["precision"], benchmark=torch.backends.cudnn.benchmark, asked=True)


def _see_that_it_fits(fakes: list[Any], device: torch.device) -> None:
    """Sees, before anything is compiled, that there will be memory for a run of it."""
    free, _ = torch.cuda.mem_get_info(device)
    if INPUTS * size(fakes) > SHARE * free:
        raise OnlyTheAsker(
            f"its inputs take {size(fakes)} of {free} bytes that are free on {device}, too many for a try"
        )


@contextmanager
def _some_memory(device: torch.device) -> Iterator[int]:
    """Meanwhile this process may take a part of the device's free memory; how many bytes."""
    if device.type == "cpu":
        yield LARGEST
        return
    free, total = torch.cuda.mem_get_info(device)
    torch.cuda.set_per_process_memory_fraction(SHARE * free / total, device)
    try:
        yield int(SHARE * free)
    finally:
        torch.cuda.empty_cache()


class Laps:
    """How long the parts of a compilation took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began


class ServerBinder:
    """Binds kernels for tracing; nothing runs here, so there are neither states nor constants."""

    arrays = False
    recorder: Recorder | None = None

    def __init__(self, threads: int, device: torch.device) -> None:
        self.threads = threads
        self.device = device

    def kernel(self, node: Node, kernel_type: str) -> Kernel:
        return find_kernel(node.op_def, kernel_type, node.attrs)

    def state(self, node: Node) -> Any:
        raise CannotCompile(f"{node.name} ({node.type}) keeps state of its own")

    def constant(self, node: Node, torch_device: Any) -> Any:
        raise CannotCompile(f"constant {node.name} is not an input of its region")

    def torch_device(self, name: str) -> Any:
        return self.device

    place = torch_device


if __name__ == "__main__":
    main(int(sys.argv[1]))
