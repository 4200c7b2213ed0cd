"""SIGTERM while a session trains: the step that runs ends, the checkpoint is saved, the process ends with status 143.

A cluster takes a machine back by sending SIGTERM, and kills what still runs some seconds later.  Python runs the handler of a
signal between any two instructions of the main thread, where it cannot save: the step or the saver may be half way.  So the
handler only takes a note (`resources/stepping/interrupt.py` does so for Ctrl-C), and the sessions that save look at it after each
run.

The handler is there while a session of the main thread saves checkpoints, and only if nobody else handles SIGTERM: a program
that has a handler of its own, or ignores the signal, keeps that.  A second SIGTERM ends the process where it is.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

STATUS = 128 + signal.SIGTERM
"""The status a shell gives for a process that SIGTERM has ended."""


class Terminated(SystemExit):
    """Ends the process after SIGTERM, with its status; an outer session that sees it pass saves too."""

    def __init__(self) -> None:
        super().__init__(STATUS)


class _Notice:
    """The handler of SIGTERM, shared by the sessions that save; the first installs it, the last removes it."""

    def __init__(self) -> None:
        self._watchers = 0
        self.noted = False

    def watch(self) -> bool:
        """Begins to keep SIGTERM back; False if that is not for us to do."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if self._watchers == 0:
            if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
                return False
            self.noted = False
            signal.signal(signal.SIGTERM, self._note)
        self._watchers += 1
        return True

    def unwatch(self) -> None:
        """Ends what `watch` began; the last one puts the default back."""
        self._watchers -= 1
        if self._watchers == 0 and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) == self._note:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        self.noted = True


_notice = _Notice()


class TerminationWatch:
    """One session's share of the handler.  Without checkpoints to save it watches nothing."""

    def __init__(self, saves: bool) -> None:
        self._watching = saves and _notice.watch()

    @property
    def noted(self) -> bool:
        """Whether SIGTERM came since this session began."""
        return self._watching and _notice.noted

    @property
    def should_exit(self) -> bool:
        """Whether the thread that asks is the one to end the process."""
        return self.noted and threading.current_thread() is threading.main_thread()

    def end(self) -> None:
        """Gives the handler back; `noted` becomes false."""
        if self._watching:
            self._watching = False
            _notice.unwatch()
