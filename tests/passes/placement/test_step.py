"""Where the free nodes of a step go: what the user asks for is never broken, and what is moved says what it costs elsewhere."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passes.placement.policies import DEVICES, PREFIX, policy_of
from passes.steps import options, step

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.bodies import bodies_within
from headrace.passes.choose_device import parts_of
from headrace.passes.cost.measured import Measured, key_of
from headrace.passes.pipeline import make_placed_graph
from headrace.passes.place import place
from headrace.passes.placement.policy import HEURISTICS
from headrace.passes.placement.step import in_time
from headrace.passes.reason import MOVED, Reasons


def everywhere(node, device_type):
    return True


def placed(*fetches, policy=None, reasons=None, has_kernel=everywhere):
    """Node name -> short device name."""
    policy = policy or policy_of()
    devices = [site.name for site in policy.sites]
    graph = step(list(fetches), [], [], lambda g: place(g, devices, has_kernel, reasons=reasons, policy=policy))
    nodes = [n for one in (graph, *bodies_within(graph)) for n in one.nodes]
    return {n.name: n.device.removeprefix(PREFIX) for n in nodes}, graph


def towers(count=2, size=256):
    """Independent chains of products, and their sum."""
    ends = []
    for i in range(count):
        x = tf.ones([size, size], name=f"x{i}")
        for j in range(3):
            x = raw_ops.Exp(tf.matmul(x, x, name=f"product{i}_{j}"), name=f"exp{i}_{j}")
        ends.append(x)
    return tf.add_n(ends, name="sum")


@pytest.mark.parametrize("name", ["greedy", "look_ahead", "refine"])
def test_independent_chains_go_to_different_devices_each_as_a_whole(name):
    where, graph = placed(towers(), policy=policy_of(name))
    assert graph.moved
    ends = [{where[f"{kind}{i}_{j}"] for kind in ("product", "exp") for j in range(3)} for i in range(2)]
    assert ends in ([{"GPU:0"}, {"GPU:1"}], [{"GPU:1"}, {"GPU:0"}])


def test_without_a_gain_all_is_on_the_first_device():
    x = tf.ones([2, 2], name="x")
    where, graph = placed(tf.matmul(x, x, name="y"))
    assert not graph.moved and set(where.values()) == {"GPU:0"}
    slow = replace(
        policy_of().machine, links=dict.fromkeys(policy_of().machine.links, policy_of().machine.links["host"])
    )
    slow = replace(slow, links={k: type(v)(10.0, v.bandwidth) for k, v in slow.links.items()})
    where, graph = placed(towers(), policy=policy_of(machine=slow))
    assert not graph.moved and set(where.values()) == {"GPU:0"}


def test_a_forced_answer_is_taken_whatever_it_costs():
    x = tf.ones([2, 2], name="x")
    y = tf.matmul(x, x, name="y")
    where, _ = placed(tf.add_n([tf.matmul(y, y, name="z"), y]), policy=policy_of("round_robin", forced=True))
    assert len(set(where.values())) > 1


def test_devices_of_one_partition_are_one():
    one = replace(policy_of(), part_of=lambda device: "all")
    where, graph = placed(towers(), policy=one)
    assert not graph.moved and set(where.values()) == {"GPU:0"}


def test_a_moved_node_says_what_it_costs_elsewhere():
    reasons = Reasons()
    where, graph = placed(towers(), reasons=reasons)
    moved = {n.name: reasons.of_node[n] for n in graph.nodes if reasons.of_node[n].cause == MOVED}
    assert moved.keys() == {name for name, device in where.items() if device == "GPU:1" and "/" not in name}
    text = next(iter(moved.values())).text
    assert text.startswith("placed by greedy: ")
    assert "here, the step" in text and "; on /device:GPU:0 " in text and "/device:CPU:0" in text


@pytest.mark.parametrize(("seconds", "text"), [(2.0, "2 s"), (0.0125, "12.5 ms"), (3e-6, "3 us"), (0.0, "0 us")])
def test_times_in_words(seconds, text):
    assert in_time(seconds) == text


def test_random_nodes_and_what_waits_stay():
    draw = tf.random_uniform([256, 256], name="draw")
    x = tf.matmul(draw, draw, name="product")
    y = tf.py_func(lambda a: a, [x], tf.float32, name="function")
    where, _ = placed(tf.add_n([towers(), y, x]), policy=policy_of("round_robin", forced=True))
    assert where["draw/RandomUniform"] == "GPU:0" and where["function"] == "CPU:0"


def test_a_loop_goes_as_a_whole():
    def body(i, x):
        return i + 1, tf.matmul(x, x)

    loops = [tf.while_loop(lambda i, x: i < 5, body, [0, tf.ones([64, 64])])[1] for _ in range(2)]
    policy = policy_of()
    chosen = options(devices=DEVICES, has_kernel=everywhere, policy=policy)
    graph = make_placed_graph([], [tf.add_n(loops)], [], chosen)
    holders = [n for n in graph.nodes if "body" in n.attrs]
    homes = [{n.device for n in h.attrs["body"].nodes if n.type == "MatMul"} | {h.device} for h in holders]
    assert len(homes) == 2 and all(len(one) == 1 for one in homes) and homes[0] != homes[1]


def test_measured_costs_change_where_nodes_go():
    """By its work a node is faster on a GPU; it was measured to be slower there."""
    x = tf.ones([64, 64], name="x")
    y = tf.matmul(x, x, name="y")
    assert placed(y)[0]["y"] == "GPU:0"
    measured = Measured()
    key = key_of(next(n for n in placed(y)[1].nodes if n.name == "y"))
    measured.add("GPU", key, 1.0)
    measured.add("CPU", key, 0.001)
    assert placed(y, policy=policy_of(measured=lambda: measured))[0]["y"] == "CPU:0"


WISHES = ("", "/gpu:0", "/gpu:1", "/cpu:0", "/device:GPU:*", "/job:localhost")


@st.composite
def programs(draw):
    """Products with wishes, colocations and kernels that only some devices have."""
    steps = draw(st.lists(st.tuples(st.sampled_from(WISHES), st.booleans(), st.integers(0, 4)), min_size=1, max_size=8))
    return draw(st.sampled_from(sorted(HEURISTICS))), steps, draw(st.sampled_from((0, 1 << 20)))


@given(programs())
@settings(max_examples=60, deadline=None)
def test_what_is_asked_for_is_never_broken(program):
    name, steps, memory = program
    with tf.Graph().as_default():
        values, leaders = [tf.ones([64, 64], name="x")], {}
        for i, (wish, colocated, which) in enumerate(steps):
            before = values[which % len(values)]
            if colocated and i:
                with tf.colocate_with(before):
                    values.append(raw_ops.Exp(before, name=f"n{i}"))
                leaders[f"n{i}"] = before.op.name
            else:
                with tf.device(wish):
                    values.append(tf.matmul(before, values[0], name=f"n{i}"))
        policy = policy_of(name, memory=memory, forced=True)
        only_cpu = {"n2"}
        where, graph = placed(
            tf.add_n(values),
            policy=policy,
            has_kernel=lambda n, kind: kind == "CPU" or n.name not in only_cpu or n.device != "",
        )
        for node in graph.nodes:
            if node.origin.device:
                assert all(
                    w is None or w == h
                    for w, h in zip(parts_of(node.origin.device), parts_of(node.device), strict=True)
                )
        for follower, leader in leaders.items():
            if leader != "x":
                assert where[follower] == where[leader]


def test_a_function_that_calls_itself_and_its_variable_stay_together():
    v = tf.get_variable("v", initializer=1.5, use_resource=True)

    @tf.function
    def power(x, n):
        return tf.cond(n < 1, lambda: tf.exp(x), lambda: v * power(x, n - 1))

    y = power(tf.constant(2.0), tf.constant(2)) + power(tf.constant(1.0), tf.constant(1))
    slope = tf.gradients(y, v)[0]
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0}, placement="round_robin", compile="off")
    with tf.Session(config=config) as session:
        policy = replace(session._master.planner.policy, forced=True)
        session._master.planner.policy = session._master.planner.whole.policy = policy
        session.run(v.initializer)
        e = 2.718281828
        assert session.run(y) == pytest.approx(1.5**2 * e**2 + 1.5 * e, rel=1e-5)
        assert session.run(slope) == pytest.approx(2 * 1.5 * e**2 + e, rel=1e-5)
