"""Elements on a device: copied there as soon as they are computed, and dealt out to several devices in turn."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any

from headrace.core.errors import UnimplementedError
from headrace.resources.calling.batch import Element, whole
from headrace.resources.calling.copies import to_device_ahead
from headrace.resources.data.outcome import Outcome
from headrace.resources.data.stage import Cursor, OneCursor, OneInput, Run, Stage, State, Submit


class CopyToDevice(OneInput):
    """The elements on a device, once they are there.  Strings and sparse values stay on the host."""

    def __init__(self, input: Stage, device: Any) -> None:
        super().__init__(input)
        self.device = None if device.type == "cpu" else device

    @property
    def shares(self) -> bool:
        return self.device is None and self.input.shares

    def begin(self, run: Run) -> Cursor:
        return _CopyCursor(self, run)


class _CopyCursor(OneCursor):
    def next(self) -> Element | None:
        element, device = self.input.next(), self.stage.device
        if element is None or device is None:
            return element
        return tuple([to_device_ahead(value, device) if hasattr(value, "to") else value for value in whole(element)])


class Deal:
    """A run whose elements go to several shards in turn.  Thread-safe; whoever needs an element gets it for the others too.

    A shard waits while another has ``most`` elements that nobody takes.
    """

    def __init__(self, stage: Stage, shards: int, most: int, submit: Submit, cores: int) -> None:
        self._run = Run(stage, submit, cores)
        self.close = weakref.finalize(self, self._run.close)
        self._most = most
        self._changed = threading.Condition()
        self._buffers: list[deque[Outcome]] = [deque() for _ in range(shards)]
        self._turn = 0  # whose turn it is
        self._ended = self._busy = False
        self._shares = stage.shares
        self._run.at_close(self, Deal.wake)

    @property
    def shares(self) -> bool:
        return self._shares

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def ready(self, shard: int) -> bool:
        return bool(self._buffers[shard]) or self._ended

    def take(self, shard: int, run: Run) -> Element | None:
        """The next element of a shard, for a cursor of ``run``."""
        while True:
            with self._changed:
                while not self.ready(shard) and (self._busy or len(self._buffers[self._turn]) >= self._most):
                    run.check_open()
                    self._run.check_open()
                    self._changed.wait()
                if self._buffers[shard]:
                    self._changed.notify_all()
                    return self._buffers[shard].popleft().get()
                if self._ended:
                    return None
                self._busy = True
            outcome = Outcome.of(self._run.cursor.next)
            with self._changed:
                self._busy = False
                if outcome.error is None and outcome.element is None:
                    self._ended = True
                else:
                    self._buffers[self._turn].append(outcome)
                    self._turn = (self._turn + 1) % len(self._buffers)
                self._changed.notify_all()


class Dealt(Stage):
    """The elements of one shard."""

    blocks = True

    def __init__(self, deal: Deal, shard: int) -> None:
        self.deal, self.shard = deal, shard

    @property
    def shares(self) -> bool:
        return self.deal.shares

    def begin(self, run: Run) -> Cursor:
        return _DealtCursor(self, run)


class _DealtCursor(Cursor):
    def __init__(self, stage: Dealt, run: Run) -> None:
        self._deal, self._shard, self._run = stage.deal, stage.shard, run
        run.at_close(self, lambda cursor: cursor._deal.wake())

    def ready(self) -> bool:
        return self._deal.ready(self._shard)

    def next(self) -> Element | None:
        return self._deal.take(self._shard, self._run)

    def save(self) -> State:
        raise _no_position()

    def restore(self, state: State) -> None:
        raise _no_position()


def _no_position() -> UnimplementedError:
    return UnimplementedError(
        None, None,
        "the position of a MultiDeviceIterator cannot be saved or restored: its devices take from one dataset at different "
        "times. Save the position of an iterator of the dataset, and deal out its elements in the step",
    )  # fmt: skip
