"""Writing checkpoints on a thread while training goes on: one at a time for each saver.

Nothing is lost in silence: the error of a write is logged, and raised by the saver's next `save`, or by `wait`, with the line of
the save.  A program that ends, also by Ctrl-C or an exception, waits for what is being written, and says so.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

from headrace.core import errors
from headrace.core.source import Source
from headrace.library import log

SAY_AFTER = 1.0  # seconds of waiting after which a saver says that it waits


class Write:
    """One checkpoint on its way to the disk."""

    def __init__(self, prefix: str, source: Source, work: Callable[[], None]) -> None:
        self.prefix, self.source = prefix, source
        self.error: BaseException | None = None
        self.begun_at = time.monotonic()
        self._work = work
        # A daemon, so that the program's end reaches `_finish_all`, which says what it waits for.
        self._thread = threading.Thread(target=self._run, name=f"headrace-checkpoint-{prefix}", daemon=True)

    def start(self) -> None:
        _running.add(self)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised by the next call of the saver
            self.error = error
            log.error("%s", self.what_went_wrong().message)
        finally:
            self._work = _nothing  # the copies may go
            _running.discard(self)

    def join(self) -> None:
        """Waits until it is over; says so if that takes a while."""
        self._thread.join(SAY_AFTER)
        if self._thread.is_alive():
            seconds = time.monotonic() - self.begun_at
            log.warning("waiting for the checkpoint %s, which is being written for %.1f s", self.prefix, seconds)
            self._thread.join()

    def what_went_wrong(self) -> errors.OpError:
        """The error, with the line of the save."""
        error = self.error
        message = error.message if isinstance(error, errors.OpError) else f"{type(error).__name__}: {error}"
        text = f"the checkpoint {self.prefix}, saved at {self.source}, was not written: {message}"
        if isinstance(error, errors.OpError):
            return type(error)(None, None, text)  # type: ignore[call-arg]
        return errors.InternalError(None, None, text)


def _nothing() -> None:
    pass


class Background:
    """The writes of one saver.  Used by one thread at a time."""

    def __init__(self) -> None:
        self._write: Write | None = None

    def start(self, prefix: str, source: Source, work: Callable[[], None]) -> None:
        """Begins to write; `wait` must have been called for what came before."""
        self._write = Write(prefix, source, work)
        self._write.start()

    def join(self) -> None:
        """Waits for the write under way; its error stays for `wait`."""
        if self._write is not None:
            self._write.join()

    def wait(self) -> None:
        """Waits for the write under way, and raises its error, once."""
        write = self._write
        if write is None:
            return
        write.join()
        self._write = None
        if write.error is not None:
            raise write.what_went_wrong() from write.error


_running: set[Write] = set()


@atexit.register
def _finish_all() -> None:
    for write in list(_running):
        log.warning("the program ends when the checkpoint %s is written", write.prefix)
        write.join()
