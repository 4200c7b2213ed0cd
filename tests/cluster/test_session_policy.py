"""A policy over the tasks of a cluster: nodes and variables reach other tasks, and later sessions find the variables there."""

from collections.abc import Iterator

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster
from passes.placement.policies import MACHINE

import headrace as tf

pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=1) as one:
        yield one


def test_nodes_reach_another_task_and_state_is_found_again(cluster: LocalCluster) -> None:
    x = tf.placeholder(tf.float32, [2, 512])
    ends = [tf.matmul(tf.matmul(x, w, name=f"product{i}"), w) for i, w in enumerate(variables())]
    y = tf.add_n(ends)
    config = tf.ConfigProto(placement="round_robin", device_count={"GPU": 0})
    value = np.ones((2, 512), np.float32)
    found = []
    for rates in (None, MACHINE):  # what a session has measured does not decide where state is
        with tf.Session(cluster.target("worker", 0), config=config) as session:
            if rates is not None:
                session._master.use_costs(rates)
            policy = session._master.planner.policy
            assert policy is not None and policy.lasting is not None
            if rates is None:
                session.run(tf.global_variables_initializer())
            for _ in range(3):
                np.testing.assert_allclose(
                    session.run(y, {x: value}), np.full((2, 512), 3 * 512 * 512 * 1e-4), rtol=1e-4
                )
            nodes = session.explain(y, feeds=[x]).nodes
            found.append({n.name: n.device for n in nodes if n.op == "VariableV2"})
    assert found[0] == found[1]
    assert len({d.partition("/device")[0] for n in nodes for d in [n.device]}) == 2


def variables():
    return [tf.get_variable(f"w{i}", initializer=tf.fill([512, 512], 0.01)) for i in range(3)]
