"""The one list of passes: what it says is what runs."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from passes.steps import options

import headrace as tf
from headrace.passes.pipeline import OPTIONAL, PIPELINE, ROUTES, Context, Stage, run_stage
from headrace.passes.step_graph import StepGraph

STAGES_OF_A_STEP = (Stage.GRAPH, Stage.PLACE, Stage.READ, Stage.REWRITE, Stage.FUSE, Stage.LOWER, Stage.ORDER)
ASKED_FOR = ("check_numbers", "mixed_precision", "observe")  # only when they are asked for
PASSES_OF_A_STEP = [p.name for p in PIPELINE if p.stage in STAGES_OF_A_STEP and p.name not in ASKED_FOR]


def _names(session, fetch, feed):  # type: ignore[no-untyped-def]
    """The passes that the step goes through, in order."""
    seen: list[str] = []
    session._master.after_each_pass = lambda name, graph: seen.append(name)
    session.run(fetch, feed)
    return seen


def _run(monkeypatch, off: str):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        return _names(session, tf.exp(x) * 2.0, {x: np.ones((2, 3))})


def test_an_interpreted_step_takes_its_stages_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(monkeypatch, "") == PASSES_OF_A_STEP


@pytest.mark.parametrize("name", sorted({p.name for p in PIPELINE if p.optional and p.stage in STAGES_OF_A_STEP}))
def test_each_optional_pass_can_be_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(monkeypatch, name) == [one for one in PASSES_OF_A_STEP if one != name]


def test_numbers_are_checked_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CHECK_NUMERICS", "1")
    assert "check_numbers" in _run(monkeypatch, "")


def test_a_step_without_optimisation_takes_only_what_it_needs() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    level = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1))
    with tf.Session(config=tf.ConfigProto(compile="off", graph_options=level)) as session:
        assert not set(_names(session, -x, {x: [1.0, 2.0]})) & OPTIONAL


@pytest.mark.parametrize("off", ["", "cse"])
def test_what_a_compiler_is_given_leaves_out_the_same(off: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        made_for_compiler = replace(session._master.planner.options(), interpreted=False)
        compiled: list[str] = []
        own = {
            "compile_bodies": lambda g: compiled.append("bodies"),
            "compile_regions": lambda g: compiled.append("regions"),
        }
        seen: list[str] = []
        graph = session._master.plan([x], [-x], []).graph
        context = Context(replace(made_for_compiler, after_each=lambda name, graph: seen.append(name)))
        run_stage(Stage.FOLD, graph, context)
        run_stage(Stage.COMPILE, graph, context, own)
    assert seen == [p.name for p in PIPELINE if p.stage in (Stage.FOLD, Stage.COMPILE) and p.name != off]
    assert compiled == ["bodies", "regions"]
    assert not made_for_compiler.interpreted


def test_optional_is_what_only_makes_steps_faster() -> None:
    assert {"fold", "simplify", "cse", "defer_sums", "fuse_updates", "arrays"} <= OPTIONAL
    assert not {"prune", "place", "insert_reads", "cut", "protect_reads", "generate"} & OPTIONAL


def test_a_pass_of_the_runtime_must_be_handed_in() -> None:
    with pytest.raises(KeyError, match="generate"):
        run_stage(Stage.CODE, StepGraph([], [], [], []), Context(options()), {"arrays": lambda g: None})


def test_options_that_are_needed_are_asked_for() -> None:
    with pytest.raises(ValueError, match="depend on options"):
        run_stage(Stage.FOLD, StepGraph([], [], [], []), Context())


def _waiting(x: tf.Tensor) -> tf.Tensor:
    return tf.py_func(lambda v: v, [tf.exp(x)], tf.float32) * 2.0


def _primitives(x: tf.Tensor) -> tf.Tensor:
    return tf.raw_ops.Switch(data=tf.exp(x), pred=tf.reduce_sum(x) > 0.0)[1] * 2.0


@pytest.mark.parametrize(
    ("kind", "build", "plan"),
    [
        ("one program", tf.exp, lambda planner, plan: plan),
        ("nodes wait", _waiting, lambda planner, plan: plan),
        ("primitives", _primitives, lambda planner, plan: plan),
        ("for the shapes of its feeds", tf.exp, lambda planner, plan: planner.plan_for(plan, ((2,),))),
        ("compiled", tf.exp, lambda planner, plan: planner.compile(plan, ((2,),))),
    ],
)
def test_a_step_takes_the_route_of_its_kind(kind, build, plan, monkeypatch):  # type: ignore[no-untyped-def]
    """What the runtime does after the last pass (FRAMES, CODE) is not seen here."""
    x = tf.placeholder(tf.float32, [None], name="x")
    y = build(x)
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        planner = session._master.planner
        seen: list[Stage] = []
        settings = replace(planner.options(), before_each=lambda one, graph: seen.append(one.stage))
        monkeypatch.setattr(planner, "options", lambda blueprint=None: settings)
        general = session._master.plan([x], [y], [])
        if kind not in ("one program", "nodes wait", "primitives"):
            seen.clear()
        plan(planner, general)
    route = [stage for stage in dict.fromkeys(ROUTES[kind]) if stage not in (Stage.FRAMES, Stage.CODE)]
    left_out = {Stage.UNROLL, Stage.FUSE} if kind == "primitives" else {Stage.UNROLL}  # no loop; nothing optional
    assert list(dict.fromkeys(seen)) == [stage for stage in route if stage not in left_out]


# Passes that the tests know by what they do: where.
TESTED_BY_EFFECT = {
    "copy_escaping_reads": "passes/test_state_order.py",
    "copy_written_reads": "runtime/drive/test_framed.py",
    "late_reads": "passes/test_late_read.py",
    "move_waits": "runtime/compiler/test_compile.py",
    "order_reads": "passes/test_state_order.py",
    "share_transpose": "passes/test_products.py",
    "take_turns": "library/control/test_critical_section.py",
    "tie_holders": "passes/test_raise_primitives.py",
    "trim_stashes": "autodiff/test_control_flow.py",
    "write_early": "passes/test_state_order.py",
}


def test_every_pass_has_a_test() -> None:
    tests = Path(__file__).parent.parent
    text = "".join(
        path.read_text()
        for room in ("passes", "runtime")
        for path in (tests / room).rglob("test_*.py")
        if path != Path(__file__)
    )
    own = {"check_numbers", "compile_bodies", "compile_regions"}  # in this file
    untested = {p.name for p in PIPELINE if not re.search(rf"\b{p.name}\b", text)} - own
    assert untested == set(TESTED_BY_EFFECT), "name a new pass in a test of tests/passes, or in this table"
    assert [file for file in TESTED_BY_EFFECT.values() if not (tests / file).exists()] == []


def _dead(graph: StepGraph) -> list[str]:
    """The nodes that neither a fetch, a target nor a feed needs."""
    before = list(graph.nodes)
    graph.sweep()
    swept, graph.nodes = set(graph.nodes), before
    return [node.name for node in before if node not in swept]


def test_no_pass_leaves_dead_nodes() -> None:
    """A pass that takes nodes out of use sweeps them: passes after it would look at them, and place and run them."""
    x = tf.placeholder(tf.float32, [None, 4, 4, 3], name="x")
    hidden = tf.layers.batch_normalization(tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu), training=True)
    rows = tf.reshape(tf.layers.dense(tf.layers.flatten(hidden), 6, activation=tf.tanh), [-1, 2, 3])
    states, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(5), rows, dtype=tf.float32)

    def turn(i, a):  # type: ignore[no-untyped-def]
        return i + 1, tf.cond(tf.reduce_sum(a) > 0, lambda: a * 2.0, lambda: a - 1.0)

    loss = tf.reduce_mean(tf.square(tf.while_loop(lambda i, a: i < 3, turn, [0, states])[1]))
    train = tf.train.AdamOptimizer().minimize(loss, global_step=tf.train.get_or_create_global_step())
    dead: dict[str, list[str]] = {}
    seen: set[str] = set()

    def look(name: str, graph: StepGraph) -> None:
        seen.add(name)
        if found := _dead(graph):
            dead[name] = found

    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        session._master.after_each_pass = look
        session.run(tf.global_variables_initializer())
        session.run([train, loss], {x: np.ones((2, 4, 4, 3))})
    assert dead == {} and {"fold", "trim_stashes", "sum_products", "fuse_updates"} <= seen


def test_a_dead_node_is_noticed() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    found: list[list[str]] = []

    def look(name: str, graph: StepGraph) -> None:
        fetches, graph.fetches = graph.fetches, []
        found.append(_dead(graph))
        graph.fetches = fetches

    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        session._master.after_each_pass = look
        session.run(tf.exp(x, name="y"), {x: [1.0, 2.0]})
    assert found and all("y" in names for names in found)
