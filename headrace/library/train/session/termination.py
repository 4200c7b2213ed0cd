"""SIGTERM while a monitored session runs: the step ends, the hooks end, the session is closed, the process exits with 143.

Python runs the handler of a signal between any two instructions of the main thread, where nothing can be ended: the step or the
saver may be half way.  So the handler takes a note (`resources/stepping/interrupt.py` does so for Ctrl-C), and the sessions look
at it after each run.  A session that is still being made has nothing to end: there the handler ends the process where it is.

The step has `leave_seconds`.  Then a thread, which the handler has started, says what it waits for and cancels it.  A program
that is between two steps is ended where it is.  Where the main thread does not come back from that in `LAST_SECONDS`, the process
exits without it.  Hooks that end take as long as they need: they save.

The handler is there while a monitored session of the main thread is open, and only if nobody else handles SIGTERM: a program that
has a handler of its own, or ignores the signal, keeps that.  A second SIGTERM ends the process where it is.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import FrameType
from typing import Any, Final

from headrace.core.errors import CancelledError
from headrace.core.leaving import STATUS, Terminated, is_free, leave_seconds
from headrace.library import log

LAST_SECONDS: Final = 5.0  # for what does not react


class Doing(Enum):
    """What the main thread does."""

    OTHER = "the program's own code"
    MAKING = "making the session"
    STEP = "the step"
    HOOKS = "the end of the hooks"
    CLOSING = "the end of the session"


class _Notice:
    """The handler of SIGTERM, shared by the sessions; the first installs it, the last removes it."""

    def __init__(self) -> None:
        self._watches: list[TerminationWatch] = []
        self._over = threading.Event()
        self._seconds = 0.0
        self._raises = False  # the next signal is our own
        self.noted = self.late = False
        self.doing = Doing.OTHER

    def watch(self, watch: TerminationWatch) -> bool:
        """Begins to keep SIGTERM back; False if that is not for us to do."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if not self._watches:
            if not is_free():
                return False
            self._seconds = leave_seconds()
            self._over = threading.Event()
            self.noted = self.late = self._raises = False
            signal.signal(signal.SIGTERM, self._note)
        self._watches.append(watch)
        return True

    def unwatch(self, watch: TerminationWatch) -> None:
        """Ends what `watch` began; the last one puts the default back."""
        self._watches.remove(watch)
        if not self._watches:
            self._over.set()
            if threading.current_thread() is threading.main_thread():
                if signal.getsignal(signal.SIGTERM) == self._note:
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._raises:
            self._raises = False
            if self.doing is Doing.OTHER:
                raise Terminated
            return
        if self.noted:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        self.noted = True
        _thread.start_new_thread(self._hurry, (self._over,))  # threading's takes a lock that this thread may hold
        if self.doing is Doing.MAKING:
            raise Terminated

    def _hurry(self, over: threading.Event) -> None:
        """Ends what has not ended in time."""
        if over.wait(self._seconds):
            return
        self.late = True
        if self.doing is Doing.STEP:
            for watch in list(self._watches):
                watch.cancel_steps(self._seconds)
        elif self.doing is Doing.OTHER:
            log.warning(
                "SIGTERM: the program has not come to its next step in %g s, and ends where it is.", self._seconds
            )
            self._raises = True
            os.kill(os.getpid(), signal.SIGTERM)
        while not over.wait(LAST_SECONDS):
            if self.doing not in (Doing.HOOKS, Doing.OTHER):
                log.warning(
                    "SIGTERM: %s does not end; the process exits without it. It is at\n%s", self.doing.value, _place()
                )
                os._exit(STATUS)


def _place() -> str:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return "nothing" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"


_notice = _Notice()


@contextmanager
def doing(what: Doing) -> Iterator[None]:
    """The main thread does this inside.  Other threads may pass."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    outer, _notice.doing = _notice.doing, what
    try:
        if what is Doing.MAKING and _notice.noted and _notice._watches:
            raise Terminated
        yield
    finally:
        _notice.doing = outer


class TerminationWatch:
    """One session's share of the handler.  ``session`` gives the session below, None if there is none now."""

    def __init__(self, session: Callable[[], Any]) -> None:
        self._session = session
        self._watching = _notice.watch(self)

    @property
    def noted(self) -> bool:
        """Whether SIGTERM came since this session began."""
        return self._watching and _notice.noted

    @property
    def should_exit(self) -> bool:
        """Whether the thread that asks is the one to end the process."""
        return self.noted and threading.current_thread() is threading.main_thread()

    @property
    def gave_up(self) -> bool:
        """Whether the thread that asks ends the process, without what was cancelled."""
        return self.should_exit and _notice.late

    def cancel_steps(self, seconds: float) -> None:
        """Says what the steps of the session wait for, and ends them and those to come."""
        session = self._session()
        if session is None:
            return
        waits = session.waiting() or "it waits for nothing that is known here"
        log.warning("SIGTERM: the step has not ended in %g s, and is cancelled:\n%s", seconds, waits)
        session._lose(CancelledError(None, None, f"SIGTERM came, and the step has not ended in {seconds:g} s"))

    def end(self) -> None:
        """Gives the handler back; `noted` becomes false."""
        if self._watching:
            self._watching = False
            _notice.unwatch(self)
