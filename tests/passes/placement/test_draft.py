"""Nodes as a problem: sizes, costs, chains."""

import pytest
from passes.placement.policies import policy_of
from passes.steps import step

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.placement.draft import sent_bytes, state_bytes


def drafted(*fetches, lasts=(), **how):
    """The problem of a step in which each node is a unit of its own that may be everywhere; and the nodes' units by name."""
    draft = policy_of().draft()
    graph = step(list(fetches))
    for node in graph.nodes:
        draft.put(node, draft.unit((0, 1, 2), node.name in lasts))
    problem = draft.problem(**how)
    return problem, {node.name: draft.unit_of(node) for node in graph.nodes}


def test_bytes_of_values_and_of_state():
    v = raw_ops.VariableV2(shape=[3, 4], dtype=tf.float32, name="v")
    handle = tf.get_variable("r", [5], use_resource=True).handle
    assert (state_bytes(v.op), sent_bytes(v)) == (48, 48)
    assert (state_bytes(handle.op), sent_bytes(handle)) == (20, 20)
    assert state_bytes(tf.FIFOQueue(1, tf.float32, shapes=[[]]).queue_ref.op) == 0
    assert sent_bytes(tf.placeholder(tf.float64, [2, 2])) == 32


def test_the_first_user_of_a_node_joins_it_as_long_as_the_chain_is_short():
    x = tf.fill([64, 64], 1.0, name="x")
    chains = []
    for i in range(16):
        y = x
        for j in range(3):
            y = raw_ops.Exp(y, name=f"e{i}_{j}")
        chains.append(y)
    problem, unit = drafted(tf.add_n(chains, name="sum"))
    for i in range(16):
        assert len({unit[f"e{i}_{j}"] for j in range(3)}) == 1
    assert len(set(unit.values())) > 8
    _, apart = drafted(*chains, join=False)
    assert len(set(apart.values())) == len(apart)


def test_state_and_nodes_that_may_be_elsewhere_are_joined_to_nothing():
    v = raw_ops.VariableV2(shape=[64, 64], dtype=tf.float32, name="v")
    y = raw_ops.Exp(raw_ops.Identity(v, name="read"), name="y")
    _, unit = drafted(y, lasts=("v", "read"))
    assert unit["y"] not in (unit["v"], unit["read"])


def test_what_runs_too_seldom_costs_nothing():
    x = tf.fill([64, 64], 1.0, name="x")
    draft = policy_of().draft()
    graph = step([tf.matmul(x, x)])
    for node in graph.nodes:
        draft.put(node, draft.unit((0, 1)))
    assert max(map(max, draft.problem().work)) > 0
    assert max(map(max, draft.problem(set(graph.nodes)).work)) == 0


def test_costs_are_by_type_of_device_and_links_by_name():
    x = tf.fill([64, 64], 1.0, name="x")
    problem, _ = drafted(tf.matmul(x, x), join=False)
    work = problem.work[-1]
    assert work[0] == work[1] == pytest.approx(2 * 64**3 / 1e10) and work[2] == pytest.approx(10 * work[0])
    assert problem.launch[-1] == [1e-9] * 3
    assert problem.latency[0] == [0.0, 1e-6, 1e-6] and problem.pace[0][0] == 0.0


def test_a_unit_is_where_those_may_be_that_go_with_it():
    draft = policy_of().draft()
    x = step([tf.constant(1.0)]).nodes[0]
    unit = draft.unit((0, 1, 2))
    draft.put(x, unit)
    draft.join(unit, (2, 1))
    draft.join(unit, (0,))  # nothing in common: as before
    assert draft.is_free and list(draft.problem().feasible[0]) == [1, 2]
