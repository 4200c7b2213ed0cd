"""Partial: one partial run of a session: what was promised, and what has been fed and fetched so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.runtime.drive.plans import DividedPlan, StepPlan
from headrace.runtime.session.partial import PartialRun


def checked_feeds(feeds: Sequence[Tensor]) -> Sequence[Tensor]:
    """What partial_run_setup is told will be fed: each tensor once."""
    for i, tensor in enumerate(feeds):
        if tensor in feeds[:i]:
            raise InvalidArgumentError(None, None, f"The feed {tensor.name} is in the list of feeds twice. {at()}")
    return feeds


class Partial:
    """Thread-safe.  A call that is refused changes nothing; one that fails ends the run."""

    def __init__(
        self, run: PartialRun, plan: StepPlan, feeds: Sequence[Tensor], give: Mapping[Tensor, Callable[[Any], Any]]
    ) -> None:
        """``give``: what turns the value of each promised fetch into what the user gets."""
        self._run = run
        assert isinstance(plan, DividedPlan)
        self._needs = plan.needs
        self._feeds = {tensor: i for i, tensor in enumerate(feeds)}
        self._fetches = {tensor: i for i, tensor in enumerate(give)}
        self._give = give
        self._fed: set[Tensor] = set()
        self._fetched: set[Tensor] = set()
        self._calls = 0  # under way
        self.ended = False
        self._lock = threading.Lock()

    def run(self, values: Sequence[tuple[Tensor, Any]], fetches: Sequence[Tensor]) -> list[Any]:
        """Feeds values and waits for fetches.  The call that leaves nothing to be fed or fetched waits for the end of the run."""
        tensors = list(dict.fromkeys(fetches))
        with self._lock:
            self._check([tensor for tensor, _ in values], tensors)
            self._fed.update(tensor for tensor, _ in values)
            self._fetched.update(tensors)
            self._calls += 1
        try:
            positions = [self._fetches[tensor] for tensor in tensors]
            results = self._run.run({self._feeds[tensor]: value for tensor, value in values}, positions)
        except BaseException:
            self.ended = True
            raise
        finally:
            with self._lock:
                self._calls -= 1
                done = len(self._fed) == len(self._feeds) and len(self._fetched) == len(self._fetches)
                last = done and not self._calls and not self.ended
                self.ended = self.ended or last
        if last:
            self._run.finish()
        given = {tensor: self._give[tensor](results[self._fetches[tensor]]) for tensor in tensors}
        return [given[tensor] for tensor in fetches]

    def _check(self, feeds: Sequence[Tensor], fetches: Sequence[Tensor]) -> None:
        for role, past, tensors, promised, before in (
            ("feed", "fed", feeds, self._feeds, self._fed),
            ("fetch", "fetched", fetches, self._fetches, self._fetched),
        ):
            for tensor in tensors:
                if tensor not in promised:
                    raise _refusal(f"The {role} {tensor.name} was not specified in partial_run_setup.")
                if tensor in before:
                    raise _refusal(f"The {role} {tensor.name} has already been {past}.")
        fed = self._fed.union(feeds)
        for tensor in fetches:
            needs = self._needs[self._fetches[tensor]]
            missing = [one.name for one, i in self._feeds.items() if needs >> i & 1 and one not in fed]
            if missing:
                raise _refusal(
                    f"Fetch {tensor.name} can't be computed from the feeds that have been fed so far; not fed yet: "
                    f"{', '.join(missing)}."
                )


def _refusal(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, f"{text} {at()}")
