"""Touched rows: which rows (along the first axis) of a variable were written since somebody last asked.

Nothing is noted before the first question.  Each *asker*, a saver or a copy in another task's memory, has marks of its own.

An asker counts from moments that it names: ``take(asker, since, now)`` gives the rows written since the moment ``since`` and
calls this moment ``now``.  So nothing has to be confirmed or given back: whoever could not use what it took asks again with the
same ``since``.  All rows are the answer to a moment that the variable does not know: that of a task that was started again, say.

No row is missed, but one may come twice: an update first writes and then marks, an asker first takes and then reads.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import torch

MOST_ASKERS: Final = 4  # of one variable; one who comes back after that many others gets all rows

Marks = torch.Tensor | None  # a bool for each row; None: all rows


class _Asker:
    """What one asker has taken, and what was written since."""

    __slots__ = ("marks", "now", "since", "taken")

    def __init__(self, since: str, taken: Marks, now: str, marks: Marks) -> None:
        self.since, self.taken = since, taken  # the moment before the last, and what was written between the two
        self.now, self.marks = now, marks  # the last moment, and what was written after it


class TouchedRows:
    """The marks of one variable.  Thread-safe."""

    __slots__ = ("_askers", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._askers: dict[str, _Asker] = {}  # the one that asked last is at the end

    def mark(self, rows: Any) -> None:
        """Rows with these numbers were written, or perhaps: a number that no row has failed in the update."""
        with self._lock:
            for asker in self._askers.values():
                if asker.marks is not None:
                    try:
                        asker.marks.index_fill_(0, rows.reshape(-1).long().to(asker.marks.device), True)
                    except (IndexError, RuntimeError):
                        asker.marks = None

    def mark_all(self) -> None:
        """Any row may have been written."""
        with self._lock:
            for asker in self._askers.values():
                asker.marks = None

    def take(self, asker: str, since: str, now: str, count: int, device: Any) -> Any:
        """The numbers of the rows written since ``since``, in order; None for all of the ``count`` rows."""
        with self._lock:
            known = self._askers.pop(asker, None)
            touched: Marks = None
            if known is not None and since == known.now:
                touched = known.marks
            elif known is not None and since == known.since:
                touched = _either(known.taken, known.marks)
            if touched is not None and len(touched) != count:
                touched = None
            self._askers[asker] = _Asker(since, touched, now, torch.zeros(count, dtype=torch.bool, device=device))
            while len(self._askers) > MOST_ASKERS:
                del self._askers[next(iter(self._askers))]
        return None if touched is None else touched.nonzero().reshape(-1)

    def forget(self, asker: str) -> bool:
        """Drops the marks of an asker; whether there are others."""
        with self._lock:
            self._askers.pop(asker, None)
            return bool(self._askers)


def _either(one: Marks, other: Marks) -> Marks:
    return None if one is None or other is None or one.shape != other.shape else one | other
