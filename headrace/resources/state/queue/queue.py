"""The queue that ops and threads share: a `QueueMachine` behind a lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import string
from headrace.resources.calling.batch import rows_of, stack, whole
from headrace.resources.calling.value import TORCH_DTYPES
from headrace.resources.state.movable import Contents, Movable
from headrace.resources.state.queue.machine import Close, Offer, QueueMachine, Take, TakeOne
from headrace.resources.state.queue.store import Element, Store
from headrace.resources.stepping.attempt import Driver, finish
from headrace.resources.stepping.waiting import Done, Wait


class Queue(Driver, Movable):
    """A bounded queue of elements.  Thread-safe, never blocks: a call that cannot end now returns a `Wait`.

    Every call ends by calling `done` exactly once, outside the lock.  Calls that add end with None, `dequeue` with an
    element, `dequeue_many` and `dequeue_up_to` with a list of elements.  `dtypes` and `shapes` are the components',
    kept for those who check them; the queue itself does not look into elements.
    """

    _machine: QueueMachine

    def __init__(
        self, class_name: str, name: str, store: Store, capacity: int, dtypes: Sequence[Any], shapes: Sequence[Any],
        made_at: str = "",
    ) -> None:  # fmt: skip
        """`class_name` is TensorFlow's name of the class, such as "FIFOQueue"; a negative `capacity` means no limit."""
        super().__init__(QueueMachine(store, capacity, f"{class_name} '{name}'"), made_at)
        self.class_name, self.name, self.capacity = class_name, name, capacity
        self.dtypes, self.shapes = tuple(dtypes), tuple(shapes)
        self._units: list[bytes] | None = None  # that readers have finished; None until somebody asks

    def enqueue(self, element: Element, done: Done) -> Wait | None:
        with self._lock:
            added = self._machine.put_now(element)
        if not added:
            return self._begin(self._machine.offer, Offer((element,), done))
        done(None, None)
        return None

    def enqueue_many(self, elements: Sequence[Element], done: Done) -> Wait | None:
        """Adds all, in order; where there is less room, piece by piece as elements are taken."""
        return self._begin(self._machine.offer, Offer(elements, done))

    def dequeue(self, done: Done) -> Wait | None:
        with self._lock:
            element = self._machine.take_now()
        if element is None:
            return self._begin(self._machine.take, TakeOne(done))
        done(element, None)
        return None

    def dequeue_many(self, n: int, done: Done) -> Wait | None:
        return self._begin(self._machine.take, Take(n, done))

    def dequeue_up_to(self, n: int, done: Done) -> Wait | None:
        """Takes `n` elements, or what is left of a closed queue."""
        return self._begin(self._machine.take, Take(n, done, up_to=True))

    def finish_unit(self, unit: bytes) -> None:
        """A reader has read to its end what it got from here."""
        with self._lock:
            if self._units is not None:
                self._units.append(unit)

    def finished_units(self) -> list[bytes]:
        """What readers have finished since this was asked last; nothing the first time."""
        with self._lock:
            units, self._units = self._units or [], []
        return units

    def close(self, cancel_pending: bool, done: Done) -> Wait | None:
        """Refuses later enqueues; with `cancel_pending` also those that wait, else it waits for them."""
        return self._begin(self._machine.close, Close(cancel_pending, done))

    def size(self) -> int:
        """How many elements there are, without those that a waiting `dequeue_many` has gathered."""
        with self._lock:
            return len(self._machine.store)

    def state(self) -> tuple[list[Element], list[int], bool]:
        """The elements, what else decides their order, and whether the queue is closed, as if nobody waited at it."""
        with self._lock:
            machine = self._machine
            return machine.elements(), machine.store.position(), machine.closed

    def restore(self, elements: Sequence[Element], position: Sequence[int], closed: bool) -> None:
        """Goes on from what `state` gave, instead of what the queue holds."""
        with self._lock:
            ended = self._machine.replace(elements, position, closed)
        finish(ended)

    def packed(self) -> Contents | None:
        """Component by component: a batch where the shapes are equal, else one tensor for each element."""
        if any(dtype.base_dtype not in TORCH_DTYPES and dtype.base_dtype != string for dtype in self.dtypes):
            return None  # variants stay in their process
        elements, position, closed = self.state()
        tensors: list[Any] = []
        batched = []
        for values in zip(*map(whole, elements), strict=True):
            batched.append(len({tuple(value.shape) for value in values}) == 1)
            tensors += stack([(value,) for value in values]) if batched[-1] else values
        return {"count": len(elements), "position": position, "closed": closed, "batched": batched}, tensors

    def unpack(self, data: dict[str, Any], tensors: Sequence[Any]) -> None:
        rest, columns = list(tensors), []
        for batched in data["batched"]:
            size = 1 if batched else data["count"]
            column, rest = rest[:size], rest[size:]
            columns.append(rows_of(column[0]) if batched else column)
        self.restore(list(zip(*columns, strict=True)), data["position"], data["closed"])

    def waiting(self) -> tuple[int, int]:
        """How many calls wait to add, and how many wait to take."""
        with self._lock:
            return len(self._machine.adders), len(self._machine.takers)

    @property
    def is_closed(self) -> bool:
        return self._machine.closed

    def describe(self) -> str:
        """How full the queue is, and who waits at it."""
        machine = self._machine
        return f"{machine.contents()}; {len(machine.adders)} wait to add, {len(machine.takers)} wait to take"
