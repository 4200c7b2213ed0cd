"""When a step is compiled and which plan is kept, decided on made-up times: nothing is compiled here."""

import pytest

import headrace as tf
from headrace.runtime.planning import tier
from headrace.runtime.planning.tier import Do, Tier, Trial, compile_mode

KEY = ((2, 3),)


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
        turns.append(trial.new_next())
        over = trial.note(turns[-1], next(times[turns[-1]]))
    assert turns == [True, False] * len(compiled)
    assert (trial.best[True] < trial.best[False]) is faster


def test_shapes_that_recur_are_compiled_once():
    machine = Tier()
    said = [machine.ran(KEY) for _ in range(3 * tier.RUNS)]
    assert said.index(Do.PREPARE) == tier.RECURS - 1 and said.index(Do.COMPILE) == tier.RUNS - 1
    assert said.count(Do.NOTHING) == len(said) - 2


def test_rare_shapes_stay_interpreted():
    machine = Tier()
    assert {machine.ran(((n,),)) for n in range(tier.MANY)} == {Do.NOTHING}


def test_many_shapes_get_one_plan_for_all():
    machine = Tier()
    said = [machine.ran(((n,),)) for n in range(2 * tier.MANY)]
    assert said.index(Do.COMPILE_MANY) == tier.MANY and said.count(Do.COMPILE_MANY) == 1


def test_no_more_plans_than_a_few():
    machine = Tier()
    said = [machine.ran(((n,),)) for n in range(tier.ARTIFACTS + 3) for _ in range(tier.RUNS)]
    assert said.count(Do.COMPILE) == tier.ARTIFACTS


def test_ever_new_shapes_are_not_remembered_for_ever():
    machine = Tier()
    for n in range(2 * tier.COUNTED):
        machine.ran(((n,),))
    assert len(machine.seen) == tier.COUNTED


@pytest.mark.parametrize(("seconds", "end"), [(0.5, Do.KEEP), (2.0, Do.DROP)])
def test_the_faster_plan_is_kept(seconds, end):
    machine = Tier()
    machine.compiled(KEY)
    said = []
    while machine.trials:
        compiled = machine.trials[KEY].new_next()
        said.append(machine.tried(KEY, compiled, seconds if compiled else 1.0))
    assert len(said) == 2 * tier.TRIALS and said[-1] is end and set(said[:-1]) == {Do.NOTHING}
    assert machine.tried(KEY, True, 1.0) is Do.NOTHING  # a run that was under way when the trial ended


def test_mode(monkeypatch):
    monkeypatch.delenv("HEADRACE_COMPILE", raising=False)
    assert compile_mode(tf.ConfigProto()) == "auto"
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    assert compile_mode(config) == "always"
    monkeypatch.setenv("HEADRACE_COMPILE", "off")
    assert compile_mode(config) == "off"
    monkeypatch.setenv("HEADRACE_COMPILE", "fast")
    with pytest.raises(ValueError, match="auto, off, always, got 'fast'"):
        compile_mode(config)
