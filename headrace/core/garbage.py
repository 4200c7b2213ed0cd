"""No garbage collection while gradients are built and steps are planned: many objects that live on, and next to no cycles.

The collector would go through everything there is, torch's modules included, several times: a third of the time of planning.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0


@contextmanager
def no_collection() -> Iterator[None]:
    """The collector rests, unless the program has it off anyway; nested and concurrent uses end with the last."""
    global _pauses
    with _lock:
        ours = _pauses > 0 or gc.isenabled()
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
