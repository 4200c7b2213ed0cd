"""The account of a soak: which elements were put into queues, which came out, and whether that can be."""

import itertools
import threading
from collections import Counter


class Account:
    """Elements are numbers, used once each.  Thread-safe."""

    def __init__(self, first):
        self._numbers = itertools.count(first)
        self._lock = threading.Lock()
        self._added = set()
        self._refused = set()
        self._partly = []  # batches of which any beginning may have been added
        self._taken = Counter()
        self._lost = 0  # how many elements may have gone with steps that failed half-way

    def number(self):
        """A number for a new element."""
        return next(self._numbers)

    @property
    def next(self):
        """A number that no element has."""
        return next(self._numbers)

    def added(self, numbers, outcome):
        """A step that adds the elements, in order, has ended in this way."""
        with self._lock:
            if outcome == "done":
                self._added.update(numbers)
            elif outcome == "interrupted" or len(numbers) > 1:
                self._partly.append(numbers)
            else:
                self._refused.update(numbers)

    def taken(self, numbers):
        with self._lock:
            self._taken.update(numbers)

    def may_have_lost(self, count):
        """A step that takes that many elements was ended after it may have taken them."""
        with self._lock:
            self._lost += count

    def problems(self):
        """What cannot be, in words, once the queues are empty."""
        taken = set(self._taken)
        possible = self._added.union(*self._partly)
        missing = self._added - taken
        for batch in self._partly:
            last = max((i for i, number in enumerate(batch) if number in taken), default=-1)
            missing.update(number for number in batch[: last + 1] if number not in taken)
        problems = []
        if doubled := [number for number, count in self._taken.items() if count > 1]:
            problems.append(f"came out twice: {sorted(doubled)}")
        if refused := self._refused & taken:
            problems.append(f"came out although the step that adds it failed: {sorted(refused)}")
        if unknown := taken - possible - self._refused:
            problems.append(f"came out but was never put in: {sorted(unknown)}")
        if len(missing) > self._lost:
            problems.append(f"{len(missing)} did not come out, at most {self._lost} may be lost: {sorted(missing)}")
        return problems
