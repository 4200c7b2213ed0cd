"""Settings that must be in the environment before torch is loaded; importing this module makes them.

OpenMP's workers spin at the end of every parallel loop.  Alone on the machine that saves a wake-up; beside other processes
it burns the time they and we need.  A short spin keeps most of the first and little of the second.
"""

from __future__ import annotations

import os
import sys

SPIN = "10000"  # turns of the waiting loop, some tens of microseconds


def prepare() -> None:
    """Chooses how OpenMP waits, unless the user did, or torch is loaded already."""
    if "torch" in sys.modules or "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        return
    os.environ["GOMP_SPINCOUNT"] = SPIN
    os.environ.setdefault("KMP_BLOCKTIME", "1")  # milliseconds, for builds with LLVM's or Intel's OpenMP


prepare()
