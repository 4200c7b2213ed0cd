"""What a placed step over several partitions takes."""

import pytest
from passes.placement.policies import DEVICES, MACHINE, PREFIX, policy_of
from passes.steps import options

import headrace as tf
from headrace.passes.cost.measured import Measured, key_of
from headrace.passes.cost.model import CostModel
from headrace.passes.pipeline import make_placed_graph
from headrace.passes.placement.predict import divided_cost


def placed(*fetches):
    feeds = [op.outputs[0] for op in tf.get_default_graph().get_operations() if op.type == "Placeholder"]
    return make_placed_graph(feeds, list(fetches), [], options(devices=DEVICES, has_kernel=lambda node, kind: True))


def product(device, name):
    with tf.device(device):
        x = tf.placeholder(tf.float32, [256, 256], name=f"x_{name}")
        return tf.matmul(x, x, name=name)


def test_nodes_side_by_side_count_once_and_transfers_count():
    costs, sites = CostModel(MACHINE), policy_of().sites
    alone = divided_cost(placed(product("/gpu:0", "a")), sites, costs)
    apart = divided_cost(placed(product("/gpu:0", "b"), product("/gpu:1", "c")), sites, costs)
    one_after_the_other = divided_cost(placed(product("/gpu:0", "d"), product("/gpu:0", "e")), sites, costs)
    assert apart.seconds == pytest.approx(alone.seconds, rel=1e-3)
    assert one_after_the_other.seconds == pytest.approx(2 * alone.seconds, rel=1e-3)
    assert apart.working == {"GPU": pytest.approx(one_after_the_other.working["GPU"], rel=1e-6)}
    y = product("/gpu:0", "f")
    with tf.device("/gpu:1"):
        z = tf.matmul(y, y, name="g")
    crossing = MACHINE.link(PREFIX + "GPU:0", PREFIX + "GPU:1").seconds(256 * 256 * 4)
    assert divided_cost(placed(z), sites, costs).seconds == pytest.approx(2 * alone.seconds + crossing, rel=1e-3)


def test_measured_nodes_count_as_measured():
    graph, measured = placed(product("/gpu:0", "a"), product("/cpu:0", "b")), Measured()
    measured.add("GPU", key_of(next(n for n in graph.nodes if n.name == "a")), 5.0)
    cost = divided_cost(graph, policy_of().sites, CostModel(MACHINE, measured))
    assert cost.seconds == pytest.approx(5.0) and 0.9 < cost.measured < 1.0
