"""Calls of resources that wait: how each ended, and a blocking form for threads."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

LIMIT_S = 20.0


class Call:
    """One call: `begin(done)` begins it.  Fails the test if it ends twice, or returns None before it has ended."""

    def __init__(self, begin: Callable[[Any], Any]) -> None:
        self.outcomes: list[Any] = []
        self.wait = begin(self._done)
        assert self.wait is not None or self.outcomes, "no Wait, and not ended"

    def _done(self, result: Any, error: BaseException | None) -> None:
        assert error is None or result is None
        self.outcomes.append(result if error is None else error)
        assert len(self.outcomes) == 1, "ended twice"

    @property
    def waits(self) -> bool:
        return not self.outcomes

    @property
    def result(self) -> Any:
        (outcome,) = self.outcomes
        assert not isinstance(outcome, BaseException), outcome
        return outcome

    @property
    def error(self) -> BaseException:
        (outcome,) = self.outcomes
        assert isinstance(outcome, BaseException)
        return outcome


def blocking(begin: Callable[[Any], Any]) -> Any:
    """Waits for the call on this thread; its result, or raises its error."""
    ended: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    begin(lambda result, error: ended.put((result, error)))
    result, error = ended.get(timeout=LIMIT_S)
    assert ended.empty(), "ended twice"
    if error is not None:
        raise error
    return result


def poll(condition: Callable[[], Any]) -> None:
    """Waits until the condition holds."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "the condition never holds"
        time.sleep(0.0005)


def run_threads(*tasks: Callable[[], Any], limit_s: float = LIMIT_S) -> None:
    """Runs the tasks on threads that start together; raises what one of them raises."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(tasks))

    def guarded(task: Callable[[], None]) -> None:
        try:
            start.wait(limit_s)
            task()
        except BaseException as error:  # noqa: BLE001, told to the test
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit_s)
    if failures:
        raise failures[0]
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
