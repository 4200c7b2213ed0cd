"""Waits: the nodes of one running step that were begun and are not over, and the queue at which its thread waits for them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from types import TracebackType
from typing import Any, Final

from headrace.core.errors import CancelledError, DeadlineExceededError, OpError
from headrace.core.wording import cause
from headrace.passes.step_graph import Node
from headrace.resources.calling.dispatch import below_autograd
from headrace.resources.calling.invoke import flat_outputs
from headrace.resources.stepping.saving import carried
from headrace.resources.stepping.step import Awaited, Event, Step, Waiting, end_of, give_up
from headrace.resources.stepping.waiting import Later
from headrace.runtime.code.codegen import Program
from headrace.runtime.code.failure import blame, node_error, raisable
from headrace.runtime.host.pool import Pool
from headrace.runtime.host.writers import Entrance

log = logging.getLogger("headrace.step")

ENTRANCE: Final = "entrance"  # the token of a step that asks whether it may write
GRACE: Final = 1.0  # seconds that a failed step leaves its Python functions to return


class Waits:
    """Used by one thread at a time.  Left with an error, it ends everything that waits."""

    def __init__(self, step: Step, pool: Pool, events: SimpleQueue[Event] | None = None) -> None:
        self.step = step
        self._pool = pool
        self._events = step.events(events)
        self._begun: dict[int, tuple[Any, Node, Program, Sequence[Any]]] = {}
        self._blocked: set[int] = set()
        self._bodies: set[int] = set()  # those of the blocked ones that are conditionals or loops
        self._count = 0

    def __len__(self) -> int:
        return len(self._begun)

    def __enter__(self) -> Waits:
        return self

    def __exit__(self, error_class: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close(error)

    def close(self, error: BaseException | None) -> None:
        """Nothing begins or waits any more."""
        if error is not None:
            self.cancel(error)
        self.step.forget(self._events)

    def begin(self, token: Any, node: Node, program: Program, inputs: Sequence[Any]) -> None:
        """Begins an asynchronous node, or calls a blocking one on a thread of the pool.  `next` gives ``token`` in the end."""
        if not node.op_def.traits.asynchronous:
            call: Callable[[], Any] = (
                partial(self._run_body, program, inputs) if program.bodies else partial(program.call, *inputs)
            )
            self.call(token, node, program, carried(call), self._pool.submit)
            return
        number, events = self._note(token, node, program, inputs), self._events

        def done(result: Any, error: BaseException | None) -> None:
            events.put((number, result, error))

        try:
            wait = program.call(*inputs, done, self.step)
        except Exception as e:
            del self._begun[number]
            raise raisable(e, program)  # noqa: B904 - it has its cause
        if wait is not None:
            self.step.waits[number] = Waiting(node, wait)

    def ask(self, token: Any, node: Node, program: Program, entrance: Entrance) -> bool:
        """Asks whether the step may write variables.  If not, `next` gives ``token`` when it may; ``node`` is one that does."""
        number, events = self._note(token, node, program, ()), self._events
        if entrance.enter(lambda result, error: events.put((number, (), error))):
            del self._begun[number]
            return True
        if entrance.wait is not None:
            self.step.waits[number] = Awaited(None, entrance.wait)
        return False

    def _run_body(self, program: Program, inputs: Sequence[Any]) -> Any:
        # What waits inside belongs to the step, which ends it.
        with self.step.entered():
            return program.call(*inputs)

    def call(
        self,
        token: Any,
        node: Node,
        program: Program,
        call: Callable[[], Any],
        submit: Callable[[Callable[[], Any]], None],
    ) -> None:
        """Calls something on the thread to which ``submit`` gives it."""
        number, events = self._note(token, node, program, ()), self._events

        def run() -> None:
            try:
                with below_autograd():
                    result = call()
            except BaseException as e:  # noqa: BLE001 - the step's thread raises it
                events.put((number, None, e))
            else:
                events.put((number, result, None))

        if node.op_def.traits.blocking or program.bodies:
            self._blocked.add(number)
        if program.bodies:
            self._bodies.add(number)
        self.step.waits[number] = Waiting(node, None)
        submit(run)

    def _note(self, token: Any, node: Node, program: Program, inputs: Sequence[Any]) -> int:
        self._count += 1
        self._begun[self._count] = (token, node, program, inputs)
        return self._count

    def next(self, patience: float = inf, since: float | None = None) -> tuple[Any, Sequence[Any]]:
        """Waits for a node to be over: its token and all its outputs.  Its error is raised, with its name and line.

        ``patience``: seconds after which the token is None.  ``since``: when the waiting began, if not now.
        """
        try:
            number, result, error = self.step.next(self._events, patience, since)
            if number is None:
                return None, ()
        except OpError as e:
            event = self._end_of_the_only(e)
            if event is None:
                raise
            number, result, error = event
        token, node, program, inputs = self._over(number)
        if error is None and isinstance(result, Later):
            try:
                result = result.call()
            except Exception as e:  # noqa: BLE001 - an error of the node like others
                error = e
        if error is not None:
            raise self._node_error(error, node, program, inputs) from cause(error)
        if token is ENTRANCE:
            return token, ()
        return token, flat_outputs(node.op_def, result) if node.op_def.traits.asynchronous else result

    def _end_of_the_only(self, reason: OpError) -> Event | None:
        """Ends the node that waits, if there is one only; its event if it was over before the step."""
        if len(self._begun) != 1:
            return None
        number = next(iter(self._begun))
        waiting = self.step.waits.get(number)
        if self._blocked:
            if number not in self._bodies or len(self.step.waits) == 1:  # a Python function does not end soon
                return None
            self._end_bodies(reason)
        return end_of(number, None if waiting is None else waiting.wait, reason, self._events)

    def _over(self, number: int) -> tuple[Any, Node, Program, Sequence[Any]]:
        self.step.waits.pop(number, None)
        self._blocked.discard(number)
        self._bodies.discard(number)
        return self._begun.pop(number)

    def _node_error(self, error: BaseException, node: Node, program: Program, inputs: Sequence[Any]) -> BaseException:
        if not node.op_def.traits.asynchronous:
            return node_error(error, program)
        parameters = program.call.__code__.co_varnames
        return blame(node, error, program, dict(zip(parameters, inputs, strict=False)))

    def _end_bodies(self, reason: BaseException) -> None:
        """Cancels the step, so that the threads that run bodies stop."""
        if self._bodies:
            end = (
                reason if isinstance(reason, OpError) else CancelledError(None, None, f"the step was ended: {reason!r}")
            )
            self.step.cancel(end)

    def cancel(self, reason: BaseException) -> None:
        """Ends everything that waits.  Python functions get a moment to return, unless nobody is to wait for them."""
        patient = (
            self.step.error is None and isinstance(reason, OpError) and not isinstance(reason, DeadlineExceededError)
        )
        self._end_bodies(reason)
        waits = self.step.waits
        for number in list(waits if self._bodies else self._begun):
            waiting = waits.pop(number, None)
            if waiting is not None:
                give_up(waiting.wait, reason)
        if not patient:
            self._blocked -= self._bodies  # their threads find the step cancelled
        end = monotonic() + (GRACE if patient else 0.0)
        while self._blocked:
            try:
                self._blocked.discard(self._events.get(True, max(end - monotonic(), 0.0))[0])
            except Empty:
                log.warning("%d Python functions of a failed step are still running", len(self._blocked))
                break
        self._begun.clear()
