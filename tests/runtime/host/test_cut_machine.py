"""Cuts over several tasks under random schedules: no step is torn, each save ends, and everybody gets to write."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import CancelledError, DeadlineExceededError, OpError
from headrace.resources.stepping.rendezvous import Rendezvous
from headrace.resources.stepping.step import Step, Steps
from headrace.runtime.host.cut import cut
from headrace.runtime.host.cut_machine import Beginning
from headrace.runtime.host.writers import WorkerSide, Writers
from headrace.runtime.session.steps_here import StepsHere

GRAPH = SimpleNamespace(nodes=[])


class Variable(NamedTuple):
    name: str


class Partition(NamedTuple):
    """A registered partition: one of ``here`` that its steps have on a task."""

    writers: tuple[str, ...]
    writes: frozenset[Variable]
    here: int = 1
    plan: Any = SimpleNamespace(graph=GRAPH)


class Task:
    """A task: its variables hold the steps that have written them."""

    def __init__(self, name: str, clients: int) -> None:
        self.name = name
        self.variable = Variable(name)
        self.other = Variable(f"{name} other")
        self.writers = Writers(name)
        self.partitions: list[dict[int, Partition]] = [{} for _ in range(clients)]
        self.sessions = [
            StepsHere(name, f"session {i}", Rendezvous(), self.partitions[i], None) for i in range(clients)
        ]
        for session in self.sessions:
            self.writers.add_partitions(session)
        self.written: set[int] = set()


class World:
    """Clients whose steps write on several tasks, and savers; what happens next is drawn."""

    def __init__(self, draw: random.Random, tasks: int, clients: int, savers: int, consistent: bool = True) -> None:
        self.draw, self.consistent = draw, consistent
        self.tasks = [Task(f"/job:ps/task:{i}", clients) for i in range(tasks)]
        self.numbers = iter(range(1, 10**6))
        self.clients = [Client(self, i) for i in range(clients)]
        self.savers = [Saver(self, i) for i in range(savers)]
        self.queues: dict[Any, deque[Callable[[], None]]] = {}  # messages, in order between two ends

    def send(self, sender: Any, task: Task, call: Callable[[], None]) -> None:
        self.queues.setdefault((sender, task.name), deque()).append(call)

    def moves(self) -> list[Callable[[], None]]:
        deliveries = [queue.popleft for queue in self.queues.values() if queue]
        delivered = [lambda take=take: take()() for take in deliveries]
        return [*delivered, *(move for one in (*self.clients, *self.savers) for move in one.moves())]

    def run(self) -> None:
        while moves := self.moves():
            self.draw.choice(moves)()


class Client:
    """Runs steps one after the other; some of their parts come late, and each ends when it likes."""

    def __init__(self, world: World, index: int) -> None:
        self.world, self.index = world, index
        self.left = world.draw.randint(1, 6)  # steps
        self.current: int | None = None
        self.unfinished: set[str] = set()
        self.enders: list[tuple[str | None, Callable[[], None]]] = []  # each with the part that it waits for
        self.ended: dict[str, list[int]] = {}

    def moves(self) -> list[Callable[[], None]]:
        ends = [end for after, end in self.enders if after not in self.unfinished]
        return [*ends, *([self.begin] if self.current is None and self.left else [])]

    def begin(self) -> None:
        world = self.world
        self.left -= 1
        number = self.current = next(world.numbers)
        tasks = world.draw.sample(world.tasks, world.draw.randint(1, len(world.tasks)))
        names = tuple(sorted(task.name for task in tasks))
        self.unfinished = set(names)
        order = None
        for task in tasks:
            others = world.draw.random() < 0.2  # it writes there, but nothing that is saved
            partition = Partition(names, frozenset({task.other if others else task.variable}))
            done = world.draw.random() < 0.3
            world.send(self, task, lambda task=task, one=partition, after=order: self.arrive(task, number, one, after))
            order = task.name if done else None  # the next part ends only after this one

    def arrive(self, task: Task, number: int, partition: Partition, after: str | None) -> None:
        here, step = task.sessions[self.index], Step()
        for ended in self.ended.pop(task.name, []):
            here.end(ended)
            task.writers.look((here.session, ended))
        here.heard(number)  # it runs one step at a time
        task.writers.look_at_session(here.session)
        task.partitions[self.index][number] = partition
        here.enter(number, number, step)

        def end() -> None:
            self.enders.remove((after, end))
            if task.variable in partition.writes:
                task.written.add(number)
            here.leave(number, number, step)
            task.writers.look((here.session, number))
            self.unfinished.discard(task.name)
            self.ended.setdefault(task.name, []).append(number)
            if not self.unfinished:
                self.current = None

        beginning = Beginning(
            (here.session, number), partition.writes, None, lambda result, error: self.enders.append((after, end))
        )
        here.ask(number, number, beginning)
        task.writers.look((here.session, number))
        task.writers.begin(beginning)


class Saver:
    """Saves twice: asks the tasks what `cut` asks them, in its order."""

    def __init__(self, world: World, index: int) -> None:
        self.world, self.index = world, index
        self.saves = 0
        self.reads: list[dict[str, set[int]]] = []
        self.torn: list[list[str]] = []
        self.next: list[Callable[[], None]] = [self.open]

    def moves(self) -> list[Callable[[], None]]:
        return list(self.next)

    def open(self) -> None:
        self.saves += 1
        self.number = 1000 * (self.index + 1) + self.saves
        draw = self.world.draw
        chosen = draw.sample(self.world.tasks, draw.randint(1, len(self.world.tasks)))
        self.sides = sorted(((task, self.side(task)) for task in chosen), key=lambda pair: pair[0].name)
        self.begun: dict[Any, Any] = {}
        self.read_now: dict[str, set[int]] = {}
        self.found: list[str] = []
        self.next = []
        if self.world.consistent:
            turn, first = WorkerSide(self.world.tasks[0].writers, frozenset, self.index), self.world.tasks[0]
            self.turn = lambda told: turn.release(-self.number, [], told)
            self.ask(first, lambda told: turn.open(-self.number, True, told), lambda _: self.open_side(0))
        else:
            self.open_side(0)

    def side(self, task: Task) -> WorkerSide:
        return WorkerSide(task.writers, lambda: frozenset({task.variable}), self.index)

    def ask(self, task: Task, call: Callable[[Any], None], then: Callable[[Any], None]) -> None:
        def told(result: Any, error: BaseException | None) -> None:
            assert error is None, error

            def go_on() -> None:
                self.next.remove(go_on)
                then(result)

            self.next.append(go_on)

        self.world.send(self, task, lambda: call(told))

    def open_side(self, at: int) -> None:
        if at == len(self.sides):
            self.let()
            return
        task, side = self.sides[at]

        def opened(begun: Any) -> None:
            self.begun.update((one.key, one) for one in begun)
            self.open_side(at + 1)

        self.ask(task, lambda told: side.open(self.number, self.world.consistent, told), opened)

    def let(self) -> None:
        self.left: list[Any] = []
        missing = [len(self.sides)]

        def over(left: Any) -> None:
            self.left += left
            missing[0] -= 1
            if not missing[0]:
                self.read()

        for task, side in self.sides:
            keys = [one.key for one in self.begun.values() if task.name in one.tasks]
            self.ask(
                task, lambda told, side=side, keys=keys: side.let(self.number, keys, self.world.consistent, told), over
            )

    def read(self) -> None:
        missing = [len(self.sides)]
        for task, _ in self.sides:

            def take(told: Any, task: Task = task) -> None:
                self.read_now[task.name] = set(task.written)
                told((), None)

            def taken(_: Any) -> None:
                missing[0] -= 1
                if not missing[0]:
                    self.release()

            self.ask(task, take, taken)

    def release(self) -> None:
        missing = [len(self.sides)]

        def released(outcome: Any) -> None:
            self.found += outcome.torn
            missing[0] -= 1
            if not missing[0]:
                self.reads.append(self.read_now)
                self.torn.append(sorted(self.found))
                if self.world.consistent:
                    self.ask(self.world.tasks[0], self.turn, lambda _: self.end())
                else:
                    self.end()

        for task, side in self.sides:
            self.ask(task, lambda told, side=side: side.release(self.number, self.left, told), released)

    def end(self) -> None:
        self.next = [self.open] if self.saves < 2 else []


def torn_steps(world: World, read: dict[str, set[int]]) -> set[int]:
    """The steps that a save has caught on some of the tasks that they write, and not on others."""
    final = {task.name: task.written for task in world.tasks}
    steps = set().union(*read.values())
    return {step for step in steps if any(step in final[name] and step not in read[name] for name in read)}


@given(st.randoms(use_true_random=False))
def test_no_step_is_torn_and_nobody_waits_for_ever(draw: random.Random) -> None:
    world = World(draw, tasks=draw.randint(1, 4), clients=draw.randint(1, 4), savers=draw.randint(1, 3))
    world.run()
    assert all(client.current is None and not client.left for client in world.clients)
    for saver in world.savers:
        assert len(saver.reads) == 2
        assert not any(saver.torn)
        for read in saver.reads:
            assert not torn_steps(world, read)
    assert not any(task.writers.watched for task in world.tasks)


def test_a_save_that_does_not_hold_says_what_is_torn() -> None:
    """Every torn one is noticed; some of them are torn, and some of them are not."""
    torn = whole = 0
    for seed in range(300):
        world = World(random.Random(seed), tasks=3, clients=3, savers=1, consistent=False)
        world.run()
        for read, told in zip(world.savers[0].reads, world.savers[0].torn, strict=True):
            found = torn_steps(world, read)
            assert not found or told
            torn += bool(found)
            whole += not told
    assert torn > 20 and whole > 20


# ---- what a cut does about its tasks


class FakeSide:
    """A task that answers, or does not."""

    def __init__(self, task: str, answers: bool = True, error: OpError | None = None) -> None:
        self.task, self.answers, self.error = task, answers, error
        self.heard: list[str] = []

    def open(self, cut: int, holds: bool, done: Any) -> None:
        self.heard.append("open")
        if self.error is not None:
            done(None, self.error)
        elif self.answers:
            done([], None)

    def let(self, cut: int, keys: Any, waits: bool, done: Any) -> None:
        self.heard.append("let")
        done([], None)

    def release(self, cut: int, torn: Any, done: Any) -> None:
        self.heard.append("release")


def test_a_task_that_fails_or_is_silent_ends_the_cut_everywhere() -> None:
    for last in (FakeSide("c", error=CancelledError(None, None, "gone")), FakeSide("c", answers=False)):
        sides = [last, FakeSide("b"), FakeSide("a")]
        with pytest.raises(OpError) as raised, cut(sides, Steps(), 0.05):
            raise AssertionError("nothing is read")
        assert type(raised.value) is (CancelledError if last.error else DeadlineExceededError)
        assert [side.heard for side in sides] == [["open", "release"]] * 3


def test_an_error_inside_ends_the_cut() -> None:
    sides = [FakeSide("a"), FakeSide("b")]
    with pytest.raises(KeyError), cut(sides, Steps(), 1.0):
        raise KeyError
    assert [side.heard for side in sides] == [["open", "let", "release"]] * 2


def test_the_end_of_a_session_ends_its_watch() -> None:
    """What it held begins, and the next save gets its turn."""
    task, told = Task("/job:ps/task:0", 1), []
    watched = lambda: frozenset({task.variable})  # noqa: E731
    WorkerSide(task.writers, watched, 1).open(1, True, lambda result, error: told.append("first"))
    WorkerSide(task.writers, watched, 2).open(2, True, lambda result, error: told.append("second"))
    step = Beginning(("x", 1), frozenset({task.variable}), None, lambda result, error: told.append("step"))
    task.writers.begin(step)
    assert told == ["first"]
    task.writers.forget(1)
    assert told == ["first", "second"]
    task.writers.forget(2)
    assert told == ["first", "second", "step"] and not task.writers.watched
