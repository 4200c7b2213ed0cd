"""Queues of every kind against a plain model: any sequence of calls ends, or waits, as in the model."""

from functools import partial

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from resources.calls import Call

from headrace.core.errors import AbortedError
from headrace.core.random_words import RandomWords
from headrace.resources.state.queue.queue import Queue
from headrace.resources.state.queue.store import FifoStore, PriorityStore, ShuffleStore

SEEDS = 5, 6
KEPT = 2


class Model:
    """One element moves at a time, in from the first that adds until it must wait, then out to the first that takes."""

    def __init__(self, kind, capacity):
        self.kind, self.capacity, self.words = kind, capacity, RandomWords.seeded(*SEEDS)
        self.content, self.closed = [], False
        self.adders, self.takers = [], []  # dicts of a call's number and what is left to do
        self.outcomes = {}

    def run(self):
        changed = True
        while changed:
            changed = False
            for move in (self._add, self._take):
                while move():
                    changed = True

    def _add(self):
        if not self.adders:
            return False
        first = self.adders[0]
        if self.closed:
            self._end(self.adders, "CancelledError")
        elif "close" in first:
            self.closed = True
            self._end(self.adders, None)
        elif 0 <= self.capacity <= len(self.content):
            return False
        else:
            self.content.append(first["elements"].pop(0))
            if not first["elements"]:
                self._end(self.adders, None)
        return True

    def _take(self):
        if not self.takers:
            return False
        first = self.takers[0]
        wanted = first["count"] - len(first["got"])
        if self.closed and wanted > len(self.content):
            self.give_back(first)
            if first["up_to"] and self.content:
                first["count"] = len(self.content)
            else:
                self._end(self.takers, "OutOfRangeError")
            return True
        if len(self.content) <= (KEPT if self.kind == "shuffle" and not self.closed else 0):
            return False
        first["got"].append(self.content.pop(self._next()))
        if wanted == 1:
            self._end(self.takers, first["got"][0] if first["one"] else first["got"])
        return True

    def _next(self):
        if self.kind == "fifo":
            return 0
        if self.kind == "priority":
            return self.content.index(min(self.content, key=lambda element: element[0]))
        index = self.words.draw(1)[0] % len(self.content)
        self.content[index], self.content[-1] = self.content[-1], self.content[index]
        return -1

    def give_back(self, taker):
        got, taker["got"] = taker["got"], []
        self.content = self.content + got if self.kind == "shuffle" else got + self.content

    def _end(self, line, outcome):
        self.outcomes[line.pop(0)["call"]] = outcome

    def cancel(self, number):
        for taker in [taker for taker in self.takers if taker["call"] == number]:
            self.give_back(taker)
        self.takers = [taker for taker in self.takers if taker["call"] != number]
        self.adders = [adder for adder in self.adders if adder["call"] != number]
        self.outcomes[number] = "AbortedError"


class QueueAgainstModel(RuleBasedStateMachine):
    @initialize(kind=st.sampled_from(["fifo", "shuffle", "priority"]), capacity=st.sampled_from([1, 2, 3, 7, -1]))
    def make(self, kind, capacity):
        store = {"fifo": FifoStore, "shuffle": partial(ShuffleStore, KEPT, *SEEDS), "priority": PriorityStore}[kind]()
        self.queue = Queue(kind, "q", store, capacity, (), ())
        self.model = Model(kind, capacity)
        self.calls = []
        self.numbers = iter(range(10**6))

    def _call(self, begin, line=None, **wish):
        if line is not None:
            line.append({"call": len(self.calls), **wish})
        self.calls.append(Call(begin))
        self.model.run()

    @rule(priority=st.integers(0, 2))
    def enqueue(self, priority):
        element = (priority, next(self.numbers))
        self._call(partial(self.queue.enqueue, element), self.model.adders, elements=[element])

    @rule(priorities=st.lists(st.integers(0, 2), max_size=6))
    def enqueue_many(self, priorities):
        elements = [(priority, next(self.numbers)) for priority in priorities]
        if not elements:
            self.model.outcomes[len(self.calls)] = None
        line = self.model.adders if elements else None
        self._call(partial(self.queue.enqueue_many, list(elements)), line, elements=elements)

    @rule()
    def dequeue(self):
        self._call(self.queue.dequeue, self.model.takers, count=1, up_to=False, one=True, got=[])

    @rule(n=st.integers(0, 6), up_to=st.booleans())
    def dequeue_many(self, n, up_to):
        if not n:
            self.model.outcomes[len(self.calls)] = []
        begin = partial(self.queue.dequeue_up_to if up_to else self.queue.dequeue_many, n)
        self._call(begin, self.model.takers if n else None, count=n, up_to=up_to, one=False, got=[])

    @rule(which=st.integers(0, 11))
    def close(self, which):
        """Rarely, so that most sequences go on for a while."""
        if which == 0:
            self._call(partial(self.queue.close, False), self.model.adders, close=True)
        elif which == 1:
            self.model.closed = True
            self.model.outcomes[len(self.calls)] = None
            self._call(partial(self.queue.close, True))

    @rule(data=st.data())
    def cancel(self, data):
        waiting = [number for number, call in enumerate(self.calls) if call.waits]
        if waiting:
            number = data.draw(st.sampled_from(waiting))
            self.calls[number].wait.cancel(AbortedError(None, None, "cancelled"))
            self.model.cancel(number)
            self.model.run()

    @invariant()
    def agrees(self):
        if not hasattr(self, "queue"):
            return
        for number, call in enumerate(self.calls):
            outcomes = [type(o).__name__ if isinstance(o, Exception) else o for o in call.outcomes]
            assert outcomes == ([self.model.outcomes[number]] if number in self.model.outcomes else [])
            assert not call.waits or call.wait.describe()
        assert self.queue.size() == len(self.model.content)
        assert self.queue.is_closed == self.model.closed


TestQueueAgainstModel = QueueAgainstModel.TestCase
TestQueueAgainstModel.settings = settings(max_examples=150, stateful_step_count=30)
