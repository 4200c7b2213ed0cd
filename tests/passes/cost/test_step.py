"""A step's seconds: the thread that calls and the device that works beside it; compiled steps."""

import pytest

import headrace as tf
from headrace.passes.cost.fuse import FusedCosts
from headrace.passes.cost.measured import Measured, key_of
from headrace.passes.cost.model import CALL, CostModel
from headrace.passes.cost.rates import BUS, HOST, NEAR, NETWORK, Link, Machine, Rates
from headrace.passes.cost.step import step_cost
from tests.passes.steps import step

LINK = Link(0.5, float("inf"))
CPU = Rates({"float32": 1.0}, float("inf"), 1.0)
GPU = Rates({"float32": 1.0}, 10.0, 10.0, queued=1.0)
MACHINE = Machine({"CPU": CPU, "GPU": GPU}, dict.fromkeys((NEAR, BUS, HOST, NETWORK), LINK), step=100.0)
DEVICE = "/job:localhost/replica:0/task:0/device:{}:0"


def placed(fetches, feeds, device):
    graph = step(fetches, feeds)
    for node in graph.nodes:
        node.device = DEVICE.format(device)
    return graph


def product(size=2, count=1):
    x = tf.placeholder(tf.float32, [size, size])
    y = x
    for _ in range(count):
        y = tf.matmul(y, x)
    return x, y


def test_on_a_cpu_nodes_follow_each_other():
    x, y = product(2, 3)
    graph = placed([y], [x], "CPU")
    cost = step_cost(graph.nodes, CostModel(MACHINE), graph.feeds, graph.fetches)
    assert cost.seconds == cost.calling == 100 + 3 * (1 + 16)
    assert cost.working == {"CPU": 3 * 17}
    assert cost.measured == 0


@pytest.mark.parametrize(
    ("size", "seconds"),
    [
        (1, 100 + 1.0 + 3 * 10 + (1 + 2)),  # begins them one by one; the device is through with each before the next
        (10, 100 + 1.0 + 10 + 3 * (1 + 2000)),  # gets behind: the thread has begun all before the first is over
    ],
)
def test_an_accelerator_works_beside_the_thread(size, seconds):
    x, y = product(size, 3)
    graph = placed([y], [x], "GPU")
    cost = step_cost(graph.nodes, CostModel(MACHINE), graph.feeds, graph.fetches)
    assert cost.seconds == pytest.approx(seconds)
    assert cost.calling == 100 + 2 * 0.5 + 3 * 10  # a feed goes there and a fetch comes back


def test_measured_nodes_count_as_they_were_measured():
    x, y = product(10, 2)
    graph = placed([y], [x], "GPU")
    measured = Measured()
    key = key_of(graph.nodes[-1])
    measured.add("GPU", key, 7.0)
    measured.add("GPU" + CALL, key, 3.0)
    model = CostModel(MACHINE, measured)
    assert model.seconds(graph.nodes[-1], "GPU") == 7.0
    cost = step_cost(graph.nodes, model, graph.feeds, graph.fetches)
    assert cost.seconds == 100 + 1 + 3 + 7 + 7
    assert cost.measured == 1.0


def test_a_compiled_step_is_begun_once_and_fuses_what_is_between_products():
    x = tf.placeholder(tf.float32, [10, 10])
    y = tf.exp(tf.matmul(x, x) + 1.0) * 2.0
    z = tf.sqrt(tf.matmul(y, x)) * 3.0
    graph = placed([z], [x], "GPU")
    model = CostModel(MACHINE)
    fused = FusedCosts(graph.nodes, graph.fetches, model)
    taken = {n.type + str(i): s for i, n in enumerate(graph.nodes) if (s := fused.seconds(n))}
    kernels = [s for name, s in taken.items() if not name.startswith("MatMul")]
    assert len(kernels) == 2
    assert len(taken) == 4
    for seconds in kernels:  # reads a matrix and a constant, and writes a matrix
        assert 1 + 2 * 40 < seconds <= 1 + 2 * 40 + 0.8
    cost = step_cost(graph.nodes, model, graph.feeds, graph.fetches, compiled=True)
    assert cost.calling == 100 + 2 * 0.5 + 10
    assert cost.seconds == pytest.approx(cost.calling + sum(taken.values()))
    plain = step_cost(graph.nodes, model, graph.feeds, graph.fetches)
    assert plain.working["GPU"] > cost.working["GPU"]


def test_fused_nodes_on_both_sides_of_a_product_are_two_kernels():
    x = tf.placeholder(tf.float32, [4, 4])
    before = tf.exp(x)
    after = tf.matmul(before, x) + before  # the sum waits for the product
    graph = placed([after], [x], "GPU")
    fused = FusedCosts(graph.nodes, graph.fetches, CostModel(MACHINE))
    assert [n.type for n in graph.nodes if fused.seconds(n)] == ["Exp", "MatMul", "AddV2"]
