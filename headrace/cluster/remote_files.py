"""What the saves of a step have left to be written on a task in another process (`resources.stepping.saving.Elsewhere`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from headrace.cluster.request import Drop, Write, asked, lost_receiver
from headrace.cluster.transport.interface import Peer
from headrace.core.errors import OpError
from headrace.resources.stepping.saving import Saving

log = logging.getLogger("headrace.cluster")

SAY_AFTER: Final = 1.0  # seconds after which the end of a session says what it waits for


class RemoteFiles:
    """Thread-safe."""

    def __init__(self, peer: Peer, session: str, task: str, step: int) -> None:
        self._peer, self._task = peer, task
        self.session, self.step = session, step
        with _changed:
            _unwritten.add(self)

    @staticmethod
    def leave(saving: Saving, peer: Peer, session: str, task: str, step: int) -> None:
        """Tells a save that the task will have something to write, once for each step."""
        if not any(isinstance(one, RemoteFiles) and one.is_of(peer, step) for one in saving.elsewhere):
            saving.elsewhere.append(RemoteFiles(peer, session, task, step))

    def is_of(self, peer: Peer, step: int) -> bool:
        return self._peer is peer and self.step == step

    def write(self, stage: int) -> Callable[[], None]:
        answer = asked(self._peer, Write(self.session, self.step, stage))

        def wait() -> None:
            try:
                answer()
            except OpError as e:
                raise (lost_receiver(self._task, e) if e is self._peer.lost else e) from None

        return wait

    def end(self, given_up: bool) -> None:
        if given_up:
            self._peer.push(Drop.method, Drop(self.session, self.step), [])
        with _changed:
            _unwritten.discard(self)
            _changed.notify_all()


def wait_for_files(session: str | None = None) -> None:
    """Waits until the tasks have written what they were left by this session, or by all: it would go with the session."""

    def is_written() -> bool:
        return not any(session in (None, one.session) for one in _unwritten)

    with _changed:
        if not _changed.wait_for(is_written, SAY_AFTER):
            log.warning("a session ends when the tasks have written what it saves")
            _changed.wait_for(is_written)


_unwritten: Final[set[RemoteFiles]] = set()
_changed: Final = threading.Condition()
