"""Sessions with ``ConfigProto(placement=...)``: the same results, state in one place, the faster plan kept."""

from dataclasses import replace

import numpy as np
import pytest
from passes.placement.policies import MACHINE

import headrace as tf
from headrace import extend
from headrace.runtime.session.contest import PAIRS, WARM

RUNS = 2 * (WARM + PAIRS)  # of a trial

POLICIES = ("first", "greedy", "look_ahead", "refine", "round_robin")


def config(policy, **more):
    one = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0}, compile="off", placement=policy, **more)
    one.device_threads["/cpu:0"] = one.device_threads["/cpu:1"] = 1
    return one


def network():
    """Two towers with a loop and a conditional, and their training."""
    x = tf.placeholder(tf.float32, [32, 64], name="x")
    ends = []
    for i in range(2):
        w = tf.get_variable(f"w{i}", initializer=tf.fill([64, 64], 0.01 * (i + 1)))
        hidden = tf.tanh(tf.matmul(x, w, name=f"product{i}"))
        _, hidden = tf.while_loop(lambda j, h: j < 3, lambda j, h, w=w: (j + 1, tf.tanh(tf.matmul(h, w))), [0, hidden])
        hidden = tf.cond(tf.reduce_sum(hidden) > 0.0, lambda h=hidden: h * 2.0, lambda h=hidden: h)
        ends.append(tf.reduce_mean(hidden))
    loss = tf.add_n(ends, name="loss")
    return x, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def trained(policy, steps=RUNS + 2, machine=MACHINE, tell=None):
    """The losses of some steps, and the variables after them."""
    with tf.Graph().as_default():
        x, loss, train = network()
        with tf.Session(config=config(policy)) as session:
            session._master.use_costs(machine)
            session.run(tf.global_variables_initializer())
            value = np.linspace(0, 1, 2048, dtype=np.float32).reshape(32, 64)
            losses = [session.run([train, loss], {x: value})[1] for _ in range(steps)]
            if tell is not None:
                tell(session, x, loss, train)
            return losses, session.run(tf.trainable_variables())


@pytest.mark.parametrize("policy", POLICIES[1:])
def test_results_are_the_same_wherever_nodes_are(policy):
    losses, variables = trained(policy)
    expected, values = trained("first")
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(variables, values, rtol=1e-5)


def test_nodes_are_moved_and_say_why_and_variables_stay_among_devices_that_share_cores():
    seen = {}

    def tell(session, x, loss, train):
        step = session.explain([loss, train], feeds=[x])
        seen.update({n.name: n for n in step.nodes})
        again = session.explain(tf.global_variables_initializer())
        seen["homes"] = {n.name: n.device for n in again.nodes if n.op == "VariableV2"}

    trained("refine", steps=1, tell=tell)
    moved = {name: n.why for name, n in seen.items() if name != "homes" and n.cause == "moved"}
    assert any(" here, the step " in why for why in moved.values())
    assert moved.keys() & {"product0", "product1"} and not moved.keys() & {"w0", "w1"}
    assert seen["homes"] == {name: seen[name].device for name in ("w0", "w1")}


def test_the_first_runs_say_which_plan_stays(caplog):
    def tell(session, x, loss, train):
        plan = session._master.plan([x], [loss], [train])
        assert session._master.chosen(plan) is plan.rivals.chosen and all(plan.rivals.times.values())
        both = plan.rivals._plans
        assert len(both[True].borrowed) == len(both[False].borrowed) == len(plan.fetches)

    with caplog.at_level("INFO", "headrace.place"):
        trained("round_robin", tell=tell)
    lines = [r.getMessage() for r in caplog.records if r.name == "headrace.place"]
    assert any(line.startswith("keeps the nodes of a step of ") for line in lines)


def test_without_a_policy_and_with_one_device_there_is_nothing_to_decide():
    for one in (config("first"), tf.ConfigProto(device_count={"CPU": 1, "GPU": 0}, placement="greedy")):
        with tf.Graph().as_default(), tf.Session(config=one) as session:
            assert session._master.planner.policy is None
            assert session.run(tf.constant(1.0) + 1.0) == 2.0
    with pytest.raises((TypeError, ValueError), match="placement"):
        tf.ConfigProto(placement="best")


def test_traces_partial_runs_and_partition_graphs_of_moved_steps():
    with tf.Graph().as_default():
        x, loss, train = network()
        with tf.Session(config=config("refine")) as session:
            session._master.use_costs(MACHINE)
            session.run(tf.global_variables_initializer())
            value = np.ones((32, 64), np.float32)
            told = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
            session.run([loss, train], {x: value}, options, told)
            assert len(told.partition_graphs) == 2 and len(told.step_stats.dev_stats) == 2
            handle = session.partial_run_setup([loss], [x])
            assert session.partial_run(handle, loss, {x: value}) == pytest.approx(session.run(loss, {x: value}))
            session.run(train, {x: value})


def test_colocated_nodes_without_state_are_moved_with_each_other():
    """A group without state is placed by each step, where it is on trial; the variables stay."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [32, 64])
        ends = [tf.reduce_mean(tf.matmul(x, tf.get_variable(f"w{i}", [64, 64]))) for i in range(2)]
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        train = optimizer.minimize(tf.add_n(ends), colocate_gradients_with_ops=True)
        with tf.Session(config=config("round_robin")) as session:
            session._master.use_costs(MACHINE)
            policy = replace(session._master.planner.policy, forced=True)
            session._master.planner.policy = session._master.planner.whole.policy = policy
            nodes = session.explain(train, feeds=[x]).nodes
            where = {n.name: n.device[-1] for n in nodes}
            assert {n.device[-1] for n in nodes if n.op == "VariableV2"} == {"0"}
            products = {name: device for name, device in where.items() if name in ("MatMul", "MatMul_1")}
            slopes = {
                name: d for name, d in where.items() if name.startswith("gradients/MatMul") and "/MatMul" in name[10:]
            }
            assert "1" in {*products.values(), *slopes.values()}
            for name, device in slopes.items():
                assert where.get(name.split("/")[1].removesuffix("_grad"), device) == device


@pytest.mark.parametrize("null", [True, False])
def test_a_policy_moves_nothing_to_devices_without_values(null):
    if null:
        extend.register_null_device("SHAM")
    else:
        extend.register_device("SHAM", "meta", count=1, priority=-1)
    try:
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [4, 64])
            y = tf.add_n([tf.matmul(x, tf.ones([64, 64]) * i) for i in range(1, 9)])
        with tf.Session(graph=graph, config=config("round_robin")) as session:
            policy = replace(session._master.planner.policy, forced=True)
            session._master.planner.policy = session._master.planner.whole.policy = policy
            where = {node.device.rpartition("/device:")[2] for node in session.explain(y, feeds=[x]).nodes}
            assert where == {"CPU:0", "CPU:1"}
            np.testing.assert_allclose(session.run(y, {x: np.ones([4, 64])}), np.full([4, 64], 64.0 * 36))
    finally:
        extend.unregister_device("SHAM")
