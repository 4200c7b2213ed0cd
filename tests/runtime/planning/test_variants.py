"""Variants of a plan: for the shapes that keep coming, and compiled ones, chosen without compiling."""

from types import SimpleNamespace

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.runtime.planning import tier, variants
from headrace.runtime.planning.variants import Variants

OFF = tf.ConfigProto(compile="off")


def plan_of(session, fetches, feeds):
    return session._master.plan(feeds, fetches, [])


def on_arrays(plan):
    return {n.type for program in plan.programs for n in program.on_arrays}


def chosen(session, y, x, value):
    plan = plan_of(session, [y], [x])
    return plan.variants.choose([value])[0]


def test_small_batches_run_on_arrays_after_a_while(interpreted):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.tanh(x * 2.0) + 1.0
    small, large = np.ones((2, 3), np.float32), np.ones((12000, 3), np.float32)
    wanted = interpreted.run(y, {x: small})
    for _ in range(variants.RUNS):
        np.testing.assert_allclose(interpreted.run(y, {x: small}), wanted, rtol=1e-6)
        interpreted.run(y, {x: large})
    assert on_arrays(chosen(interpreted, y, x, small)) >= {"Mul", "Tanh"}
    general = plan_of(interpreted, [y], [x])
    assert chosen(interpreted, y, x, large) is general and not on_arrays(general)
    np.testing.assert_allclose(interpreted.run(y, {x: 2 * small}), np.tanh(4 * small) + 1, rtol=1e-6)


def test_known_shapes_need_no_second_plan(interpreted):
    x = tf.placeholder(tf.float32, [2, 3])
    assert plan_of(interpreted, [x * 2.0], [x]).variants is None


def test_no_more_plans_than_a_few(interpreted):
    x = tf.placeholder(tf.float32, [None])
    y = tf.exp(x) * 3.0 - x
    for size in range(1, variants.PLANS + 3):
        for _ in range(variants.RUNS + 1):
            found = interpreted.run(y, {x: np.zeros(size, np.float32)})
        assert found.tolist() == [3.0] * size
    plans = plan_of(interpreted, [y], [x]).variants
    assert len(plans._plans) == variants.PLANS
    assert plans.choose([np.zeros(variants.PLANS + 2)]) == (plan_of(interpreted, [y], [x]), False)


def test_feeds_of_ever_new_shapes_are_forgotten(interpreted):
    x = tf.placeholder(tf.float32, [None])
    y = tf.exp(x) * 3.0
    for size in range(1, 40 * variants.PLANS):
        interpreted.run(y, {x: np.zeros(size, np.float32)})
    assert len(plan_of(interpreted, [y], [x]).variants._runs) <= 16 * variants.PLANS


def test_what_becomes_a_constant_is_not_lent(interpreted):
    """The number of rows is a constant of the second plan: changing the result must not change the next one."""
    x = tf.placeholder(tf.float32, [None, 3])
    rows = tf.cast(tf.shape(x)[0], tf.float32) + tf.zeros([2])
    total = tf.reduce_sum(tf.exp(x) * 2.0)
    value = np.zeros((4, 3), np.float32)
    for _ in range(variants.RUNS + 3):
        found, _ = interpreted.run([rows, total], {x: value})
        assert found.tolist() == [4.0, 4.0]
        found[0] = 99.0


@pytest.mark.parametrize("batch", [1, 5])
def test_training_agrees_with_tensors(batch, monkeypatch):
    def train():
        with tf.Graph().as_default():
            x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
            w, b = tf.Variable(np.full((4, 3), 0.1, np.float32)), tf.Variable(np.zeros(3, np.float32))
            logits = tf.matmul(tf.nn.relu(x), w) + b
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            step = tf.train.AdamOptimizer(0.1).minimize(loss)
            random = np.random.RandomState(0)
            feed = {x: random.randn(batch, 4).astype(np.float32), y: random.randint(0, 3, batch)}
            with initialized_session(config=OFF) as session:
                return [session.run([loss, step], feed)[0] for _ in range(variants.RUNS + 20)]

    found = train()
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")
    np.testing.assert_allclose(found, train(), rtol=1e-3, atol=1e-5)


def test_a_label_out_of_range_is_named_by_either_plan():
    y = tf.placeholder(tf.int32, [None])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.zeros([2, 3]) + tf.Variable(0.0))
    with initialized_session(config=OFF) as session:
        for _ in range(variants.RUNS + 2):
            session.run(loss, {y: [0, 1]})
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"label value of 3 .* valid range of \[0, 3\)"):
                session.run(loss, {y: [0, 3]})


def test_a_branch_that_does_not_fit_the_fed_shape_is_no_news(session, caplog):
    """A branch that guards against such shapes is not taken; the step runs as before, and nothing is logged."""
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.cond(tf.shape(x)[0] > 3, lambda: x[:4] + tf.ones([4, 2]), lambda: x * 3.0)
    for _ in range(variants.RUNS + 2):
        np.testing.assert_array_equal(session.run(y, {x: np.ones((2, 2))}), 3 * np.ones((2, 2)))
    assert not caplog.records


def test_shapes_are_known_in_bodies_too(monkeypatch):
    """The gradient of a loop asks for no shapes and undoes no broadcasting where the fed shapes tell that there was none."""
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "unroll")  # the loop would be gone
    x = tf.placeholder(tf.float32, [None, 3])
    rows = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x + y), (0, x))[1]
    (slope,) = tf.gradients(tf.reduce_sum(rows), [x])
    value = np.full((2, 3), 2.0, np.float32)
    with tf.Session(config=OFF) as session:
        for _ in range(variants.RUNS + 3):
            np.testing.assert_allclose(session.run(slope, {x: value}), np.full((2, 3), 81.0))  # of x (x + 1)^3
        plan = chosen(session, slope, x, value)
        left = {n.type for body in plan.programs[0].bodies for n in body.lines.values()}
        assert "Mul" in left and not left & {"Shape", "_SumToShape"}


class Maker:
    """Makes variants immediately, and notes for which shapes."""

    def __init__(self):
        self.made = []
        self.compiled = SimpleNamespace(regions=1)

    def compile(self, plan, shapes):
        self.made.append(shapes)
        return self.compiled

    def compile_many(self, plan, seen):
        self.made.append(("all", list(seen)))
        return SimpleNamespace(regions=1)


@pytest.fixture
def compiled_immediately(monkeypatch):
    monkeypatch.setattr(variants.queue, "submit", lambda job: job())
    monkeypatch.setattr(variants.queue, "prepare", lambda: None)


PLAN = SimpleNamespace(graph=SimpleNamespace(nodes=()), regions=0)
FEEDS = [np.zeros([2, 3])]


@pytest.mark.usefixtures("compiled_immediately")
class TestCompiled:
    def test_a_step_that_recurs_is_compiled_tried_and_kept_if_it_is_faster(self, monkeypatch):
        """What an accelerator is still doing counts: a run begins when it is idle and is over when it is idle again."""
        now, busy_until = [0.0], [0.0]

        def finish():
            now[0] = max(now[0], busy_until[0])

        monkeypatch.setattr(variants.time, "perf_counter", lambda: now[0])
        for seconds, is_kept in ((0.5, True), (2.0, False)):
            maker = Maker()
            steps = Variants(PLAN, maker, 0, "auto", finish)
            for _ in range(tier.RUNS + 2 * tier.TRIALS):
                busy_until[0] = now[0] + 100.0  # another step is under way
                plan, is_timed = steps.choose(FEEDS)
                assert is_timed
                busy_until[0] = now[0] + (seconds if plan is maker.compiled else 1.0)
                now[0] += 0.01
                steps.note(plan, FEEDS, 0.01)  # the call has returned
            assert maker.made == [((2, 3),)]
            assert steps.choose(FEEDS) == ((maker.compiled, False) if is_kept else (PLAN, True))
            assert steps.state == ("compiled" if is_kept else "interpreted")

    def test_other_shapes_are_interpreted_during_a_trial(self):
        steps = Variants(PLAN, Maker(), 0, "auto")
        for _ in range(tier.RUNS):
            steps.note(PLAN, FEEDS, 1.0)
        assert steps.choose([np.zeros([7])])[0] is PLAN is not steps.choose(FEEDS)[0]

    def test_many_shapes_get_one_plan_for_all(self):
        maker = Maker()
        steps = Variants(PLAN, maker, 0, "auto")
        for n in range(tier.MANY + 1):
            steps.note(PLAN, [np.zeros([n, 3])], 1.0)
        assert maker.made == [("all", [((n, 3),) for n in range(tier.MANY + 1)])]
        assert steps.choose([np.zeros([99, 3])]) == (steps.dynamic, False)

    def test_what_the_compiler_takes_no_part_of_is_not_tried(self):
        maker = Maker()
        maker.compiled = SimpleNamespace(regions=0)
        steps = Variants(PLAN, maker, 0, "auto")
        for _ in range(2 * tier.RUNS):
            steps.note(*steps.choose(FEEDS)[:1], FEEDS, 1.0)
        assert maker.made == [((2, 3),)] and steps.choose(FEEDS)[0] is PLAN and steps.state == "interpreted"

    def test_always_compiles_before_the_first_run_up_to_a_bound(self):
        maker = Maker()
        steps = Variants(PLAN, maker, 0, "always")
        assert all(steps.choose([np.zeros([n])]) == (maker.compiled, False) for n in range(tier.ARTIFACTS))
        assert steps.dynamic is None and len(maker.made) == tier.ARTIFACTS
        assert steps.choose([np.zeros([99])])[0] is steps.dynamic is not None  # then one for all
        assert steps.choose([np.zeros([98])])[0] is steps.dynamic and len(maker.made) == tier.ARTIFACTS + 1
