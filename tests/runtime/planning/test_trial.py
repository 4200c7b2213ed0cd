"""Which plan is kept, decided on made-up times: nothing is compiled here."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest

from headrace.runtime.planning import tier
from headrace.runtime.planning.tier import Tier
from headrace.runtime.planning.trial import RUNS, Trial

pytestmark = pytest.mark.usefixtures("archive_of_its_own")

FEEDS = [np.zeros([2, 3])]
KEY = ((2, 3),)


@pytest.fixture
def archive_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize(
    ("compiled", "interpreted", "faster"),
    [
        ([1.0] * 9, [2.0] * 9, True),
        ([5.23] * 9, [3.97] * 9, False),
        ([9.0, 9.0, 9.0, 1.0], [2.0, 2.0, 2.0, 2.0], True),  # the best counts: the first runs are cold
        ([2.0, 2.0, 2.0], [9.0, 9.0, 1.0], False),
        ([1.0] * 3, [1.0] * 3, False),
    ],
)
def test_the_best_of_each_plan_counts(compiled, interpreted, faster):
    trial = Trial(len(compiled))
    times = {True: iter(compiled), False: iter(interpreted)}
    over, turns = False, []
    while not over:
        turns.append(trial.compiled_next())
        over = trial.note(turns[-1], next(times[turns[-1]]))
    assert turns == [True, False] * len(compiled)
    assert trial.compiled_is_faster is faster


def make_tier(nodes=(), finish=None):
    """A tier of a step that compiles at once, and its two plans."""
    graph = SimpleNamespace(nodes=nodes, to_text=lambda: "a step")
    interpreted = SimpleNamespace(graph=graph, regions=0, fed_shapes=None)
    compiled = SimpleNamespace(regions=1, tier=None)
    steps = Tier(interpreted, "auto", lambda plan, shapes: compiled, lambda plan, seen: compiled, finish)
    return steps, interpreted, compiled


@pytest.mark.parametrize(("seconds", "kept"), [(0.5, "compiled"), (2.0, "interpreted")])
def test_the_faster_plan_is_kept(caplog, seconds, kept):
    steps, interpreted, compiled = make_tier()
    steps._install(KEY)
    with caplog.at_level(logging.INFO, "headrace.compile"):
        for _ in range(2 * RUNS):
            plan = steps.choose(FEEDS) or interpreted
            assert plan is interpreted or plan.tier is steps  # so that its runs are timed
            steps.note(plan, FEEDS, seconds if plan is compiled else 1.0)
    assert (steps.choose(FEEDS) is compiled) == (kept == "compiled") == steps.hot
    assert compiled.tier is None or kept == "interpreted"
    (line,) = caplog.messages
    assert f"keeps the {kept} plan of a step of 0 nodes: {seconds * 1e3:.3g} ms compiled, 1e+03 ms interpreted" == line


def test_other_shapes_are_interpreted_during_a_trial():
    steps, _, _ = make_tier()
    steps._install(KEY)
    assert steps.choose([np.zeros([7])]) is None


GPU = SimpleNamespace(device="/job:localhost/replica:0/task:0/device:GPU:0")


def test_what_nobody_can_wait_for_is_not_timed():
    steps, _, compiled = make_tier([GPU])
    steps._install(KEY)
    assert all(steps.choose(FEEDS) is compiled for _ in range(5))


@pytest.mark.parametrize(("seconds", "kept"), [(0.5, "compiled"), (2.0, "interpreted")])
def test_what_an_accelerator_is_still_doing_counts(monkeypatch, seconds, kept):
    """Each run of a trial begins when the accelerator is idle and is over when it is idle again."""
    now, busy_until = [0.0], [0.0]

    def finish():
        now[0] = max(now[0], busy_until[0])

    monkeypatch.setattr(tier.time, "perf_counter", lambda: now[0])
    steps, interpreted, compiled = make_tier([GPU], finish)
    steps._install(KEY)
    for _ in range(2 * RUNS):
        busy_until[0] = now[0] + 100.0  # another step is under way
        plan = steps.choose(FEEDS) or interpreted
        busy_until[0] = now[0] + (seconds if plan is compiled else 1.0)
        now[0] += 0.01
        steps.note(plan, FEEDS, 0.01)  # the call has returned
    assert steps.choose(FEEDS) is (compiled if kept == "compiled" else None)


def test_what_a_trial_showed_is_known_to_the_next_program(monkeypatch):
    """A step whose compiled plan was faster is asked for as soon as it recurs; one whose was slower has to save more."""
    kept = {}
    monkeypatch.setattr(tier.archive, "keep", lambda kind, name, content: kept.update({(kind, name): content}))
    monkeypatch.setattr(tier.archive, "find", lambda kind, name: kept.get((kind, name)))
    steps, _, compiled = make_tier()
    steps._install(KEY)
    for _ in range(2 * RUNS):
        plan = steps.choose(FEEDS) or steps._plan
        steps.note(plan, FEEDS, 0.1 if plan is compiled else 0.2)
    assert list(kept.values()) == [True]

    asked = []
    monkeypatch.setattr(tier.queue, "submit", asked.append)
    for faster, jobs in [(True, 1), (False, 0)]:
        kept = dict.fromkeys(kept, faster)
        asked.clear()
        steps, interpreted, _ = make_tier()
        cost = steps.worth.seconds
        for _ in range(tier.RUNS):
            assert not asked
            steps.note(interpreted, FEEDS, 1e-6)
        assert len(asked) == jobs
        assert steps.worth.seconds == (cost if faster else cost * tier.UNLIKELY)


def test_steps_that_have_cost_little_are_never_compiled(monkeypatch):
    steps, interpreted, _ = make_tier()
    monkeypatch.setattr(tier.queue, "submit", lambda job: pytest.fail("asked for"))
    for _ in range(tier.RUNS + 1):
        steps.note(interpreted, FEEDS, 1e-4)
    assert not steps._seen


@pytest.mark.parametrize(("idle", "expected"), [(6.7, (True, 6)), (30.0, (True, tier.COMPILERS)), (0.0, (False, 1))])
def test_kernels_for_an_accelerator_are_compiled_side_by_side_on_idle_cores(monkeypatch, idle, expected):
    process = SimpleNamespace()
    monkeypatch.setattr(tier.queue, "process", process)
    steps, _, _ = make_tier([GPU])
    monkeypatch.setattr(tier, "_idle_cores", SimpleNamespace(average=lambda: idle))
    steps._describe_machine()
    assert (process.on_idle_cores, process.compilers) == expected


@pytest.mark.parametrize(
    ("nodes", "idle", "started"),
    [
        ([GPU] * tier.LARGE, 6.0, 1),
        ([GPU] * (tier.LARGE - 1), 6.0, 0),  # too small to be worth a process before it recurs
        ([GPU] * tier.LARGE, 1.0, 0),
    ],
)
def test_a_large_step_for_an_accelerator_has_the_process_started_before_it_runs(monkeypatch, nodes, idle, started):
    calls = []
    monkeypatch.setattr(tier.queue, "prepare", lambda: calls.append(None))
    monkeypatch.setattr(tier.queue, "process", SimpleNamespace())
    monkeypatch.setattr(tier, "_idle_cores", SimpleNamespace(average=lambda: idle))
    make_tier(nodes)
    assert len(calls) == started
