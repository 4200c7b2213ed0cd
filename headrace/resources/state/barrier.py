"""Barriers: values that belong together arrive component by component and leave when they are complete.

`BarrierMachine` decides, without threads; `Barrier` is the lock around it.  Complete elements stand in a queue ordered
by the call that brought their key first, so whoever takes waits as at a queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace.core.errors import CancelledError, InvalidArgumentError, OpError, OutOfRangeError
from headrace.resources.calling.batch import stack
from headrace.resources.calling.value import Value
from headrace.resources.state.queue.machine import Close, Offer, QueueMachine, Take
from headrace.resources.state.queue.store import Element, PriorityStore
from headrace.resources.stepping.attempt import Attempt, Driver, Ended
from headrace.resources.stepping.waiting import Done, Wait

FIRST_INDEX = -(2**63)


class Insert(Offer):
    """Gives the keys their values of one component; the elements it completes are what it offers to the queue."""

    __slots__ = ("component_index", "keys", "values")

    def __init__(self, component_index: int, keys: Sequence[bytes], values: Sequence[Value], done: Done) -> None:
        super().__init__([], done)
        self.component_index, self.keys, self.values = component_index, keys, values


class TakeMany(Take):
    """Takes `count` complete elements; with `up_to`, fewer if the barrier is closed and has fewer."""

    __slots__ = ("wait_for_incomplete",)

    def __init__(self, count: int, up_to: bool, wait_for_incomplete: bool, done: Done) -> None:
        super().__init__(count, done, up_to)
        self.wait_for_incomplete = wait_for_incomplete


class _Partial:
    """The components of a key that have come, and the number of the call that brought the first."""

    __slots__ = ("components", "index")

    def __init__(self, index: int) -> None:
        self.index = index
        self.components: dict[int, Value] = {}


class BarrierMachine:
    """Keys that wait for components, and a queue of elements `(index, key, component 0, component 1, ...)`.

    Not thread-safe.  The queue is closed when the barrier is and no key can become complete any more.
    """

    def __init__(self, components: int, name: str) -> None:
        self.components = components
        self.title = f"Barrier '{name}'"
        self.queue = QueueMachine(PriorityStore(), -1, self.title)
        self.incomplete: dict[bytes, _Partial] = {}
        self.closed = False
        self.cancelled = False
        self._index = FIRST_INDEX

    def insert(self, attempt: Insert) -> Ended:
        """All keys are refused or none is; TensorFlow keeps those before the first it refuses."""
        error = self._objection(attempt)
        if error is not None:
            return [attempt.end(error)]
        attempt.elements = self._insert(attempt)
        ended = self.queue.offer(attempt)
        if self.closed and not self.incomplete:
            ended += self.queue.shut()
        return ended

    def _insert(self, attempt: Insert) -> list[Element]:
        """The elements that have become complete."""
        complete = []
        index = self._index
        for key, value in zip(attempt.keys, attempt.values, strict=True):
            partial = self.incomplete.get(key)
            if partial is None:
                partial = self.incomplete[key] = _Partial(index)
                self._index = index + 1  # keys that come in one call have one index
            partial.components[attempt.component_index] = value
            if len(partial.components) == self.components:
                del self.incomplete[key]
                complete.append((partial.index, key, *(partial.components[i] for i in range(self.components))))
        return complete

    def _objection(self, attempt: Insert) -> OpError | None:
        if self.cancelled or (self.closed and attempt.keys and not self.incomplete):
            return CancelledError(None, None, f"{self.title} is closed; {len(attempt.keys)} keys were inserted.")
        # What would be incomplete if the keys before were in: a key may come again after it was completed.
        pending = {key: set(self.incomplete[key].components) for key in attempt.keys if key in self.incomplete}
        for key in attempt.keys:
            if self.closed and key not in pending:
                return CancelledError(
                    None, None,
                    f"{self.title} is closed, but attempted to insert a brand new key: {_text(key)}. Number of incomplete "
                    f"keys, which may still get components: {len(self.incomplete)}.",
                )  # fmt: skip
            components = pending.setdefault(key, set())
            if attempt.component_index in components:
                message = (
                    f"Key {_text(key)} already has a value for component {attempt.component_index} in {self.title}"
                )
                return InvalidArgumentError(None, None, message)
            components.add(attempt.component_index)
            if len(components) == self.components:
                del pending[key]
        return None

    def take(self, attempt: TakeMany) -> Ended:
        if self.closed:
            total = len(self.queue.store)
            if attempt.wait_for_incomplete or not attempt.up_to:
                total += len(self.incomplete)
            if not total or (total < attempt.count and not attempt.up_to):
                return [attempt.end(OutOfRangeError(
                    None, None,
                    f"{self.title} is closed and has insufficient elements (requested {attempt.count}, total size {total})",
                ))]  # fmt: skip
            attempt.count = min(attempt.count, total)
        return self.queue.take(attempt)

    def close(self, attempt: Close) -> Ended:
        """Closing again is refused, unless the first did not cancel and this one does."""
        if self.closed and (self.cancelled or not attempt.cancel_pending):
            return [attempt.end(CancelledError(None, None, f"{self.title} is already closed."))]
        self.closed = True
        self.cancelled = attempt.cancel_pending
        if self.cancelled:
            self.incomplete.clear()
        return [attempt.end(), *(self._serve_fewer() if self.incomplete else self.queue.shut())]

    def _serve_fewer(self) -> Ended:
        """Who waits for more and may take fewer gets what is there: what is missing may depend on what is done with it."""
        first = next(iter(self.queue.takers), None)
        waits = isinstance(first, TakeMany) and first.wait_for_incomplete
        return [] if waits else self.queue.serve_fewer()

    def cancel(self, attempt: Attempt, error: Exception) -> Ended:
        return self.queue.cancel(attempt, error)

    def describe(self, attempt: Attempt) -> str:
        count = attempt.count if isinstance(attempt, Take) else 0
        gathered = (
            f" and {len(attempt.gathered)} of them gathered" if isinstance(attempt, Take) and attempt.gathered else ""
        )
        return f"{self.contents()}, {count} {'is' if count == 1 else 'are'} asked for{gathered}"

    def contents(self) -> str:
        """How many keys there are, in words."""
        closed = " and is closed" if self.closed else ""
        return (
            f"{self.title} has {len(self.queue.store)} complete and {len(self.incomplete)} incomplete elements{closed}"
        )


class Barrier(Driver):
    """Thread-safe, never blocks: a call that cannot end now returns a `Wait`, and ends by calling `done` outside the lock."""

    _machine: BarrierMachine

    def __init__(self, name: str, dtypes: Sequence[Any], shapes: Sequence[Any], made_at: str = "") -> None:
        super().__init__(BarrierMachine(len(dtypes), name), made_at)
        self.name, self.dtypes, self.shapes = name, tuple(dtypes), tuple(shapes)

    def insert_many(
        self, component_index: int, keys: Sequence[bytes], values: Sequence[Value], done: Done
    ) -> Wait | None:
        """Gives each key its value of a component.  Never waits."""
        return self._begin(self._machine.insert, Insert(component_index, keys, values, done))

    def take_many(
        self, n: int, done: Done, allow_small_batch: bool = False, wait_for_incomplete: bool = False
    ) -> Wait | None:
        """Takes `n` complete elements `(index, key, *components)`; ends with a list of them.

        From a closed barrier `allow_small_batch` takes those that are complete, at least one;
        with `wait_for_incomplete`, which TensorFlow ignores, also those that may still become complete.
        """
        return self._begin(self._machine.take, TakeMany(n, allow_small_batch, wait_for_incomplete, done))

    def close(self, cancel_pending: bool, done: Done) -> Wait | None:
        """Refuses new keys; with `cancel_pending` also drops incomplete ones."""
        return self._begin(self._machine.close, Close(cancel_pending, done))

    def ready_size(self) -> int:
        with self._lock:
            return len(self._machine.queue.store)

    def incomplete_size(self) -> int:
        with self._lock:
            return len(self._machine.incomplete)

    def describe(self) -> str:
        """How full the barrier is, and who waits at it."""
        return f"{self._machine.contents()}; {len(self._machine.queue.takers)} wait to take"


def batch_of(elements: Sequence[Element]) -> tuple[Value, ...]:
    """Elements of a barrier as values: indices (int64), keys (strings), then each component stacked."""
    indices = torch.tensor([element[0] for element in elements], dtype=torch.int64)
    keys = np.array([element[1] for element in elements], object)
    return (indices, keys, *stack([element[2:] for element in elements]))


def _text(key: Any) -> str:
    return key.decode(errors="replace") if isinstance(key, bytes) else str(key)
