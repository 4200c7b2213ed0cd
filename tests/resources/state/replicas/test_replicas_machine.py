"""The aggregator alone: tables of events, and random schedules of workers that come, compute, wait, fail and go."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.resources.state.replicas import machine as m
from headrace.resources.state.replicas.machine import Aggregator, Rule, best_number


class World:
    """Workers around an aggregator.  Each is away, computing, or waiting; each would lead when it is there."""

    def __init__(self, rule: Rule, known: int = 0) -> None:
        """``known``: how many there were before, as those that join say."""
        self.aggregator = Aggregator(rule, patience=2.0)
        self.rule, self.known = rule, known
        self.now = 0.0
        self.computing: dict[int, int] = {}  # the step that a member computes
        self.waiting: dict[int, int] = {}  # the step that it has computed
        self.leading: set[int] = set()
        self.update: m.Update | None = None
        self.begun: m.Update | None = None
        self.tickets: set[int] = set()
        self.updates: list[tuple[int, ...]] = []
        self.wake: float | None = None
        self._numbers = 0

    def tell(self, event: m.Event) -> None:
        for one in self.aggregator.take(event, self.now):
            if isinstance(one, m.Release):
                assert one.member in self.waiting, "released without having arrived"
                del self.waiting[one.member]
                self.computing[one.member] = one.step
                self._check_near(one)
            elif isinstance(one, m.Lead):
                assert not self.leading, "two lead"
                self.leading.add(one.member)
                self.tell(m.Ready(one.member))
            elif isinstance(one, m.Update):
                self._check_update(one)
            else:
                self.wake = self.now + one.seconds if one.seconds < inf else None

    def _check_near(self, release: m.Release) -> None:
        bound = self.rule.staleness
        if not self.rule.gathers and bound >= 0 and self.aggregator.complete:
            slowest = min(member.step for member in self.aggregator.members.values())
            assert release.step - slowest <= bound

    def _check_update(self, update: m.Update) -> None:
        assert self.update is None, "two updates at the same time"
        assert update.by in self.leading
        assert update.counted
        if self.begun is not None and self.begun.ticket == update.ticket:
            assert update.counted == self.begun.counted
        else:
            assert update.ticket not in self.tickets, "two updates have one ticket"
            assert set(update.counted) <= set(update.present)
            assert all(self.waiting[member] == self.aggregator.updates for member in update.counted)
            if self.rule.needed == 0:
                assert set(update.counted) == set(self.aggregator.members)
        self.tickets.add(update.ticket)
        self.update, self.begun = update, None

    # ---- what may happen

    def join(self) -> None:
        self._numbers += 1
        member = self._numbers
        self.tell(m.Join(member, f"worker {member}", self.known))
        self.computing[member] = self.aggregator.members[member].step
        self.tell(m.Stand(member))

    def arrive(self, member: int) -> None:
        self.waiting[member] = self.computing.pop(member)
        self.tell(m.Arrive(member, self.waiting[member]))

    def leave(self, member: int) -> None:
        self.computing.pop(member, None)
        self.waiting.pop(member, None)
        self.leading.discard(member)
        if self.update is not None and self.update.by == member:
            self.begun, self.update = self.update, None
        self.tell(m.Leave(member))

    def withdraw(self, member: int) -> None:
        """Its step is cancelled; it runs another one."""
        if self.update is None or member not in self.update.counted:
            self.computing[member] = self.waiting.pop(member)
            self.tell(m.Withdraw(member))

    def finish_update(self) -> None:
        assert self.update is not None
        update, self.update = self.update, None
        self.updates.append(update.counted)
        self.tell(m.Updated(update.ticket))
        if update.by in self.leading:
            self.tell(m.Ready(update.by))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        if self.wake is not None and self.now >= self.wake:
            self.wake = None
            self.tell(m.Tick())

    def calm_down(self) -> None:
        """All that can happen without anybody coming or going."""
        for _ in range(1000):
            if self.update is not None:
                self.finish_update()
            elif self.computing and any(step < self.target for step in self.computing.values()):
                self.arrive(min(self.computing, key=lambda one: (self.computing[one], one)))
            elif self.wake is not None:
                self.pass_time(self.wake - self.now)
            else:
                return
        raise AssertionError("it does not come to rest")

    target = 0


RULES = st.one_of(
    st.builds(Rule, workers=st.integers(1, 4), staleness=st.integers(-1, 3)),
    st.builds(
        Rule, workers=st.integers(1, 4), gathers=st.just(True), needed=st.integers(-1, 3),
        grace=st.sampled_from([0.0, 0.0, 1.0]),
    ),
)  # fmt: skip
EVENTS = st.lists(st.tuples(st.sampled_from("jjaaaaaauuuulwt"), st.integers(0, 3)), max_size=120)


@settings(max_examples=300)
@given(RULES, st.sampled_from([0, 0, 2, 4]), EVENTS)
def test_any_schedule(rule: Rule, known: int, events: list[tuple[str, int]]) -> None:
    """At the beginning of a job all must come; where it goes on, as they know, whoever is there."""
    world = World(rule, known)
    for what, which in events:
        if what == "j" and len(world.aggregator.members) < 5:
            world.join()
        elif what == "a" and world.computing:
            world.arrive(sorted(world.computing)[which % len(world.computing)])
        elif what == "u" and world.update is not None:
            world.finish_update()
        elif what == "l" and world.aggregator.members:
            world.leave(sorted(world.aggregator.members)[which % len(world.aggregator.members)])
        elif what == "w" and world.waiting and rule.gathers:
            world.withdraw(sorted(world.waiting)[which % len(world.waiting)])
        elif what == "t":
            world.pass_time(0.3 * (which + 1))
    while len(world.aggregator.members) < (1 if known else rule.workers):
        world.join()
    world.target = max([world.aggregator.updates, *world.computing.values(), *world.waiting.values()]) + 3
    world.calm_down()
    assert all(step >= world.target for step in world.computing.values()), "somebody waits for ever"
    _check_counts(world)


def _check_counts(world: World) -> None:
    aggregator = world.aggregator
    assert sum(aggregator.staleness.values()) == sum(tally.counted for tally in aggregator.tallies.values())
    if world.rule.gathers:
        assert len(world.updates) == aggregator.updates
        assert set(aggregator.staleness) <= {0}
    else:
        assert sum(aggregator.staleness.values()) == aggregator.updates


def play(rule: Rule, script: str) -> tuple[list[str], dict[str, Any]]:
    """Members are letters: "a" arrives, "-a" leaves, "+a" joins, "." makes the update, "1.5" lets that many seconds pass."""
    aggregator, steps, updates = Aggregator(rule), dict[str, int](), []
    handed: list[m.Update] = []
    now = 0.0

    def tell(event: m.Event) -> None:
        for one in aggregator.take(event, now):
            if isinstance(one, m.Release):
                steps[chr(one.member)] = one.step
            elif isinstance(one, m.Lead):
                tell(m.Ready(one.member))
            elif isinstance(one, m.Update):
                handed.append(one)

    for word in script.split():
        if word == ".":
            update = handed.pop()
            updates.append("".join(map(chr, update.counted)))
            tell(m.Updated(update.ticket))
            tell(m.Ready(update.by))
        elif word[0] == "+":
            tell(m.Join(ord(word[1]), word[1]))
            steps[word[1]] = aggregator.members[ord(word[1])].step
            tell(m.Stand(ord(word[1])))
        elif word[0] == "-":
            tell(m.Leave(ord(word[1])))
            del steps[word[1]]
        elif word[0].isdigit():
            now += float(word)
            tell(m.Tick())
        else:
            step, steps[word] = steps[word], -1
            tell(m.Arrive(ord(word), step))
    waiting = "".join(sorted(name for name, step in steps.items() if step < 0))
    late = {name: tally.late for name, tally in aggregator.tallies.items() if tally.late}
    return updates, {"waiting": waiting, "late": late, "ready": bool(handed)}


SYNC, BACKUP = Rule(2, gathers=True), Rule(3, gathers=True, needed=2)
QUORUM = Rule(3, gathers=True, needed=2, grace=1.0)


@pytest.mark.parametrize(
    ("rule", "script", "updates", "rest"),
    [
        (SYNC, "+a a", [], {"waiting": "a", "late": {}, "ready": False}),  # b has not come yet
        (SYNC, "+a +b a b .", ["ab"], {"waiting": "", "late": {}, "ready": False}),
        (SYNC, "+a +b b a . a b .", ["ab", "ab"], {"waiting": "", "late": {}, "ready": False}),  # always in one order
        (SYNC, "+a +b a -b .", ["a"], {"waiting": "", "late": {}, "ready": False}),
        (SYNC, "+a +b a -b . +b a b .", ["a", "ab"], {"waiting": "", "late": {}, "ready": False}),
        (SYNC, "+a +b +c a b c .", ["abc"], {"waiting": "", "late": {}, "ready": False}),
        (Rule(2, gathers=True, elastic=False), "+a +b a -b", [], {"waiting": "a", "late": {}, "ready": False}),
        (BACKUP, "+a +b +c a b . c", ["ab"], {"waiting": "", "late": {"c": 1}, "ready": False}),
        (BACKUP, "+a +b +c a b c .", ["ab"], {"waiting": "", "late": {"c": 1}, "ready": False}),
        (BACKUP, "+a +b +c a b . c a b .", ["ab", "ab"], {"waiting": "", "late": {"c": 1}, "ready": False}),
        (BACKUP, "+a +b +c a b . c c a .", ["ab", "ac"], {"waiting": "", "late": {"c": 1}, "ready": False}),
        (BACKUP, "+a +b +c a -b -c .", ["a"], {"waiting": "", "late": {}, "ready": False}),
        (QUORUM, "+a +b +c a b", [], {"waiting": "ab", "late": {}, "ready": False}),
        (QUORUM, "+a +b +c a b 0.5 c .", ["abc"], {"waiting": "", "late": {}, "ready": False}),
        (QUORUM, "+a +b +c a b 1.5 .", ["ab"], {"waiting": "", "late": {}, "ready": False}),
        (Rule(2, staleness=1), "+a +b a a", [], {"waiting": "a", "late": {}, "ready": False}),
        (Rule(2, staleness=1), "+a +b a a b", [], {"waiting": "", "late": {}, "ready": False}),
        (Rule(2, staleness=1), "+a +b a a -b", [], {"waiting": "", "late": {}, "ready": False}),
        (Rule(2, staleness=0), "+a a", [], {"waiting": "a", "late": {}, "ready": False}),
        (Rule(1), "+a a a a a", [], {"waiting": "", "late": {}, "ready": False}),
    ],
)  # fmt: skip
def test_tables(rule: Rule, script: str, updates: list[str], rest: dict[str, Any]) -> None:
    assert play(rule, script) == (updates, rest)


@pytest.mark.parametrize(("elastic", "known", "awaited"), [(True, 2, 2), (True, 5, 3), (True, 0, 3), (False, 2, 3)])
def test_members_know_how_many_they_were(elastic: bool, known: int, awaited: int) -> None:
    aggregator = Aggregator(Rule(3, gathers=True, elastic=elastic))
    for member in (1, 2, 3):
        aggregator.take(m.Join(member, f"w{member}", known), 0.0)
        assert aggregator.complete == (member >= awaited)


@pytest.mark.parametrize("rule", [Rule(3, gathers=True), Rule(3, staleness=0)], ids=["gathers", "stale"])
def test_a_member_that_was_lost_with_the_aggregator_is_not_waited_for(rule: Rule) -> None:
    """There were three, and two come: the second two seconds after the first, within its patience."""
    aggregator = Aggregator(rule, patience=5.0)
    assert m.Wake(5.0) in aggregator.take(m.Join(1, "w1", 3), 0.0)
    for event in (m.Stand(1), m.Ready(1), m.Arrive(1, 0)):
        aggregator.take(event, 1.0)
    assert m.Wake(5.0) in aggregator.take(m.Join(2, "w2", 3), 2.0)
    aggregator.take(m.Arrive(2, 0), 3.0)
    assert aggregator.take(m.Tick(), 6.9) == [] and "2 of 3 workers have joined; the others" in aggregator.describe()
    told = aggregator.take(m.Tick(), 7.0)
    assert told == ([m.Update(1, 0, (1, 2), (1, 2))] if rule.gathers else [m.Release(1, 1), m.Release(2, 1)])


def test_nobody_is_hurried_at_the_beginning_or_without_elastic() -> None:
    for rule, known in ((Rule(2, gathers=True), 0), (Rule(2, gathers=True, elastic=False), 2)):
        aggregator = Aggregator(rule, patience=5.0)
        assert aggregator.take(m.Join(1, "w1", known), 0.0) == []
        aggregator.take(m.Tick(), 1e9)
        assert not aggregator.complete


def test_patience_begins_anew_when_all_have_left() -> None:
    aggregator = Aggregator(Rule(2, gathers=True), patience=5.0)
    aggregator.take(m.Join(1, "w1", 2), 0.0)
    assert aggregator.take(m.Leave(1), 1.0) == [m.Wake(inf)]
    aggregator.take(m.Tick(), 9.0)
    assert not aggregator.complete
    aggregator.take(m.Join(2, "w2", 0), 10.0)  # it has never trained, and waits for the others as at the beginning
    aggregator.take(m.Tick(), 20.0)
    assert not aggregator.complete
    assert aggregator.take(m.Join(3, "w1", 2), 21.0)[0] == m.Wake(inf)
    assert aggregator.complete


def test_the_next_in_line_makes_the_update_of_one_that_is_lost() -> None:
    aggregator = Aggregator(Rule(3, gathers=True), tickets=40)
    for member in (1, 2, 3):
        aggregator.take(m.Join(member, f"w{member}"), 0.0)
        aggregator.take(m.Stand(member), 0.0)
    aggregator.take(m.Ready(1), 0.0)
    aggregator.take(m.Arrive(1, 0), 1.0)
    aggregator.take(m.Arrive(2, 0), 1.0)
    assert aggregator.take(m.Arrive(3, 0), 1.0) == [m.Update(1, 40, (1, 2, 3), (1, 2, 3))]
    assert aggregator.take(m.Leave(1), 2.0) == [m.Lead(2)]
    assert aggregator.unfinished
    assert aggregator.take(m.Ready(2), 2.0) == [m.Update(2, 40, (1, 2, 3), (2, 3))]  # of the same, with the same ticket
    assert not aggregator.unfinished
    assert aggregator.take(m.Updated(40), 3.0) == [m.Release(2, 1), m.Release(3, 1)]
    assert aggregator.take(m.Updated(40), 3.0) == []
    assert aggregator.repeated == 1


def test_an_update_is_given_up_when_all_who_were_there_have_left() -> None:
    """They join anew after the loss of a server, where their gradients were."""
    aggregator = Aggregator(Rule(2, gathers=True), tickets=40)
    for member in (1, 2):
        aggregator.take(m.Join(member, f"w{member}"), 0.0)
        aggregator.take(m.Stand(member), 0.0)
    for event in (m.Ready(1), m.Arrive(1, 0), m.Arrive(2, 0)):
        aggregator.take(event, 1.0)
    aggregator.take(m.Join(3, "w1"), 2.0)
    aggregator.take(m.Leave(1), 2.0)
    assert aggregator.unfinished
    aggregator.take(m.Join(4, "w2"), 2.0)
    aggregator.take(m.Leave(3), 2.0)
    aggregator.take(m.Leave(2), 2.0)
    assert not aggregator.unfinished
    aggregator.take(m.Ready(4), 3.0)
    assert aggregator.take(m.Arrive(4, 0), 3.0) == [m.Update(4, 41, (4,), (4,))]


@pytest.mark.parametrize(
    ("times", "best"),
    [
        ([], -1),
        ([[1.0], []], -1),
        ([[1.0], [1.0], [1.0]], 3),
        ([[1.0], [1.0], [4.0]], 2),
        ([[1.0, 1.0], [1.0, 9.0], [9.0, 1.0]], 2),  # another one is slow each time
        ([[1.0], [1.4], [1.4]], 3),
    ],
)
def test_best_number(times: list[list[float]], best: int) -> None:
    assert best_number(times) == best


def test_backups_follow_the_times() -> None:
    world = World(Rule(3, gathers=True, needed=-1))
    for _ in range(3):
        world.join()
    sizes: Counter[int] = Counter()
    for _ in range(m.LOOK_EVERY + 10):
        for member in (1, 2):
            world.now += 0.01
            if member in world.computing:
                world.arrive(member)
        if world.update is None and 3 in world.computing:
            world.now += 1.0
            world.arrive(3)
        if world.update is not None:
            sizes[len(world.update.counted)] += 1
            world.finish_update()
    assert sizes[3] == m.LOOK_EVERY and sizes[2] >= 9


def test_slow_workers_are_named() -> None:
    aggregator = Aggregator(Rule(3))
    for member in (1, 2, 3):
        aggregator.take(m.Join(member, f"w{member}"), 0.0)
    for member, at in ((1, 1.0), (2, 1.1), (1, 2.0), (2, 2.1), (1, 3.0), (2, 3.1), (1, 4.0), (2, 4.1), (3, 4.4)):
        aggregator.take(m.Arrive(member, 0), at)
    assert aggregator.slow(4.5) == [("w3", pytest.approx(4.4))]
