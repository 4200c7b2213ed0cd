"""Every setting of the whole process that Headrace changes, with the reason, and the one switch that leaves them all alone.

    when                           what                                               for how long
    import                         OpenMP's spin (GOMP_SPINCOUNT, KMP_BLOCKTIME)      for good, if torch is not loaded yet
    import                         malloc keeps freed memory up to 16 MiB             for good
    import                         torch's allocator keeps freed memory for a second  for good, if torch is not loaded yet
    import                         no garbage collection                              until it is done, if torch is not loaded yet
    import                         what was imported is left out of later collections for good, if torch is not loaded yet
    import                         uncaught errors are shown without Headrace's frames for good, if nobody else shows them
    planning, tf.gradients         no garbage collection                              until it is done
    compiling in the program       no garbage collection                              until it is done
    a compiler runs                shorter turns of Python's threads                  until it is done
    the first compilation          where torch's compiler keeps its code              for good, whatever the switch says
    the first compilation          inductor's notes to its developers are dropped     for good
    Session.run                    torch's thread count of the calling thread         until another step or the program sets it
    a function that calls itself   Python's recursion limit                           until it returns
    a session with a GPU           torch's float32 precision, how cuDNN chooses       for good
    a session asks for determinism torch's deterministic algorithms                   for good

``HEADRACE_PROCESS_SETTINGS=off`` leaves every one of them as the program has it, apart from a precision or determinism that
the program itself asks for, and from the folder of compiled code.  Nothing else in the package may set any.  Importing this
module makes the first three and the sixth.

Functions that change torch get the module as an argument: ``core`` does not import it.  docs/process.md is the user's page.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import numpy as np

from headrace.core import traceback_filter

SWITCH: Final = "HEADRACE_PROCESS_SETTINGS"
SPIN: Final = "10000"  # turns of OpenMP's waiting loop, some tens of microseconds
KEPT: Final = 1 << 24  # bytes; never written, so never fetched from the system
# A step gives up the interpreter at every kernel and gets it back after a turn of the compiler at the latest.  Fifty small
# kernels beside a thread that only counts took 2.7 times as long with Python's own 5 ms, and as long as alone with this.
TURN: Final = 2e-4
# cuDNN puts its likely algorithms first.  On an H200 trying three of them instead of torch's ten took a first step of AlexNet
# from 1.64 to 0.89 s and one of VGG from 4.69 to 1.17 s, and later steps were as fast.
TRIALS: Final = 3
COMPILER_LOGGERS: Final = ("torch._inductor.scheduler", "torch._inductor.standalone_compile")


@cache
def enabled() -> bool:
    """Whether settings of the process may be changed; the environment is asked once."""
    value = os.environ.get(SWITCH, "on")
    if value not in ("on", "off"):
        raise ValueError(f"{SWITCH} must be on or off, got {value!r}")
    return value == "on"


# ---- at import


def prepare() -> None:
    """What must happen before torch is loaded and before the first step."""
    if enabled():
        shorten_spin()
        keep_memory()
        traceback_filter.install()


def shorten_spin() -> None:
    """Chooses how OpenMP's threads wait, unless the user did, or torch is loaded already.

    They spin at the end of every parallel loop.  On an idle machine that saves a wake-up; beside other processes it burns
    the time that they and we need.  A short spin keeps most of the first and little of the second.
    """
    if "torch" in sys.modules or "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        return
    os.environ["GOMP_SPINCOUNT"] = SPIN
    os.environ.setdefault("KMP_BLOCKTIME", "1")  # milliseconds, for builds with LLVM's or Intel's OpenMP


def keep_memory() -> None:
    """Lets the allocators keep freed memory for the next step, which would fetch it from the system again, page by page.

    glibc's malloc returns pieces of 128 KiB and more until one of 16 MiB was freed; fetching 192 KiB takes 39 us (measured).
    Torch's allocator on 64-bit Arm, mimalloc, returns what was free for 10 ms: LeNet takes 178 ms a step with it, 163 without.
    """
    np.empty(KEPT, np.uint8)
    if "torch" not in sys.modules:  # torch reads it when it is loaded
        os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")  # milliseconds


@contextmanager
def importing() -> Iterator[None]:
    """The garbage collector rests while torch and the package are imported, and never looks at them again.

    They make two hundred thousand objects that live to the end.  The collector went through all of them several times while they
    were imported (0.35 s), whenever a program filled its oldest generation (0.15 s), and again when the process ended (0.55 s).
    """
    if "torch" in sys.modules or not enabled() or not gc.isenabled():
        yield
        return
    with no_collection():
        yield
        gc.freeze()  # while it rests: as soon as it may, it goes through all that was made meanwhile


# ---- while something runs

_lock = threading.Lock()
_pauses = 0


@contextmanager
def no_collection() -> Iterator[None]:
    """The garbage collector rests, unless the program has it off anyway; nested and concurrent uses end with the last.

    Building gradients, planning and compiling make many objects that live on, and few cycles.  The collector would go through
    everything there is, torch's modules included, several times: a third of the time of planning, an eighth of compiling.
    """
    global _pauses
    with _lock:
        ours = enabled() and (_pauses > 0 or gc.isenabled())
        if ours:
            _pauses += 1
            gc.disable()
    try:
        yield
    finally:
        if ours:
            with _lock:
                _pauses -= 1
                if not _pauses:
                    gc.enable()


@contextmanager
def short_turns() -> Iterator[None]:
    """Python's threads take turns of 0.2 ms at most, so that a step beside a compiler's thread does not wait long for its own."""
    before = sys.getswitchinterval()
    if enabled():
        sys.setswitchinterval(min(before, TURN))
    try:
        yield
    finally:
        if enabled():
            sys.setswitchinterval(before)


@cache
def quieten_compiler() -> None:
    """Drops inductor's advice to its own developers, which a user can do nothing about."""
    if not enabled():
        return
    warnings.filterwarnings("ignore", message=r"\s*Online softmax is disabled", category=UserWarning)
    warnings.filterwarnings("ignore", message=r"Torchinductor does not support code generation for complex operators")
    scheduler, compiling = map(logging.getLogger, COMPILER_LOGGERS)
    scheduler.addFilter(lambda r: "Error in codegen for" not in str(r.msg))
    compiling.setLevel(logging.ERROR)


def set_cache_folder(folder: str) -> None:
    """Where torch's compiler keeps code that it will run later.

    Left alone, it sets this itself, to a folder whose name others can guess: whatever the switch says, code of others is not run.
    """
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder


def set_recursion_limit(frames: int) -> None:
    """How many calls Python allows inside one another; a level of a function that calls itself takes three."""
    if enabled():
        sys.setrecursionlimit(frames)


# ---- torch


def set_threads(torch: Any, threads: int) -> None:
    """How many threads torch's kernels use when this thread calls them: one for small steps, a share of the cores for others."""
    if enabled():
        torch.set_num_threads(threads)


def set_precision(torch: Any, precision: str, *, benchmark: bool, asked: bool) -> None:
    """How CUDA multiplies float32 (TF32 by default, as in TensorFlow), and whether cuDNN tries some of its algorithms.

    What the program has ``asked`` for is done whatever the switch says.
    """
    if enabled() or asked:
        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.allow_tf32 = precision != "highest"
        torch.backends.cudnn.benchmark = benchmark
        torch.backends.cudnn.benchmark_limit = TRIALS


def be_deterministic(torch: Any) -> None:
    """Bit-identical reruns: torch chooses deterministic algorithms and warns where it has none.  Done on request only."""
    torch.use_deterministic_algorithms(True, warn_only=True)


prepare()
