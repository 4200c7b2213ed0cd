"""A chain whose functions are called in other processes: more cores than one interpreter can use.

The chain stays here, and so does its whole position.  Where it maps, it takes some elements ahead and has the function called
for them elsewhere, a group at a time; results come in their order.
"""

from __future__ import annotations

import importlib
import threading
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Protocol

from headrace.core.errors import OpError, OutOfRangeError
from headrace.resources.calling.batch import Element
from headrace.resources.data.ahead import Call, ParallelMap
from headrace.resources.data.function import Calling, CallingCursor, Map
from headrace.resources.data.outcome import Outcome
from headrace.resources.data.stage import Cursor, OneInput, Run, Stage, State, at_element

SECONDS: Final = 0.01  # that the calls of a group should take: a message costs a small part of that
MOST: Final = 256  # elements of a group


class Elsewhere(Protocol):
    """Processes that call functions.  Thread-safe."""

    count: int

    def check(self, stage: Calling) -> float:
        """Refuses a stage whose function cannot be called there; the seconds that the last call has taken, or 0."""

    def stream(self) -> int:
        """A number for the elements of one cursor; the same elements have the same one in each run."""

    def call(self, stage: Calling, elements: Sequence[Element], place: tuple[int, int]) -> tuple[list[Outcome], float]:
        """The results of the stage's function for some elements, and the seconds that one took.

        ``place``: the stream of the elements, and where the first of them is in it.
        """


class Processes(OneInput):
    """The same elements: what the chain before maps is computed by so many processes of this host."""

    blocks = True
    is_setting = True

    def __init__(self, input: Stage, count: int) -> None:
        super().__init__(input)
        self.device = input.device
        self.count = count

    def begin(self, run: Run) -> Cursor:
        elsewhere = run.shared(self, lambda: self._started(run))
        return self.input.begin(run.under(elsewhere=partial(_GroupedCursor, elsewhere)))

    def _started(self, run: Run) -> Any:
        # The cluster's own modules have the messages and the shared memory; they are imported when they are first needed.
        importlib.import_module("headrace.cluster.transport").need_libraries()
        module = importlib.import_module("headrace.cluster.data.processes")
        processes = module.DataProcesses(self.count)
        for stage in self.input.within():
            if isinstance(stage, (Map, ParallelMap)):
                processes.check(stage)
        run.at_close(processes, module.DataProcesses.close)
        return processes


class _GroupedCursor(CallingCursor):
    """Goes through a stage that maps, in groups of elements."""

    def __init__(self, elsewhere: Elsewhere, stage: Calling, run: Run) -> None:
        super().__init__(stage, run)
        self._elsewhere = elsewhere
        self._size = _fitting(elsewhere.check(stage))  # of the next group
        self._stream = elsewhere.stream()
        self._changed = threading.Condition()
        self._groups: deque[Call] = deque()
        self._results: deque[Outcome] = deque()
        self._ended = False
        run.at_close(self, _GroupedCursor._wake)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def ready(self) -> bool:
        return bool(self._results)

    def next(self) -> Element | None:
        self.run.check_open()
        if not self._results:
            self._begin_groups()
            if not self._groups:
                return None
            outcome = self._groups[0].result(self.run)
            self._groups.popleft()
            self._results.extend(outcome.get() or ())
            self._begin_groups()
        try:
            return self._results.popleft().get()
        except OutOfRangeError:
            return None

    def _begin_groups(self) -> None:
        """Two groups for each process: one that it computes, and the next."""
        while not self._ended and len(self._groups) < 2 * self._elsewhere.count:
            elements: list[Element] = []
            last = Outcome()
            first = self.index
            while len(elements) < self._size:
                last = Outcome.of(self.take)
                if last.element is None:
                    break
                elements.append(last.element)
            if elements:
                self._add(elements, first)
            if last.error is not None:
                self._groups.append(Call(partial(tuple, [last]), self._changed))
                self._groups[-1].run()
            elif last.element is None:
                self._ended = True

    def _add(self, elements: list[Element], first: int) -> None:
        self._groups.append(Call(lambda: self._computed(elements, first), self._changed))
        self.run.submit(self._groups[-1].run)

    def _computed(self, elements: list[Element], first: int) -> tuple[Outcome, ...]:
        outcomes, seconds = self._elsewhere.call(self.stage, elements, (self._stream, first))
        for i, outcome in enumerate(outcomes):
            if isinstance(outcome.error, OpError):
                outcome.error = at_element(outcome.error, first + i, self.stage)
        self._size = max(self._size // 2, min(_fitting(seconds), 2 * self._size))
        return tuple(outcomes)

    def save(self) -> State:
        for group in self._groups:
            self._results.extend(group.result(self.run).get() or ())
        self._groups.clear()
        results = [outcome.save() for outcome in self._results]
        return [self.input.save(), [self.index, self._ended, self._stream, results]]

    def move(self, position: State) -> None:
        self.index, self._ended, self._stream, results = position
        self._results.extend(map(Outcome.restored, results))


def _fitting(seconds: float) -> int:
    """How many elements are a group, where one takes so long; 0: that is not known."""
    return max(1, min(int(SECONDS / seconds), MOST)) if seconds else 1
