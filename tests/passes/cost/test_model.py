"""Seconds of nodes and transfers, estimated and measured."""

import pytest

import headrace as tf
from headrace.passes.cost.measured import Measured, key_of
from headrace.passes.cost.model import CostModel
from headrace.passes.cost.rates import BUS, HOST, NEAR, NETWORK, Link, Machine, Rates
from headrace.passes.cost.work import Work
from tests.passes.steps import step

TASK = "/job:{}/replica:0/task:{}/device:{}:0"
MACHINE = Machine(
    {"CPU": Rates({"float32": 100.0}, 10.0, 1.0), "GPU": Rates({"float32": 1000.0, "float16": 1e4}, 100.0, 2.0)},
    {NEAR: Link(1, 1000), BUS: Link(2, 100), HOST: Link(3, 10), NETWORK: Link(4, 1)},
    {"/job:worker/replica:0/task:0": "a", "/job:worker/replica:0/task:1": "a", "/job:ps/replica:0/task:0": "b"},
)


def product(dtype=tf.float32, rows=2):
    a, b = tf.placeholder(dtype, [rows, 5]), tf.placeholder(dtype, [5, 5])
    graph = step([tf.matmul(a, b)], [a, b])
    return next(n for n in graph.nodes if n.type == "MatMul")


def test_a_node_takes_its_launch_and_the_longer_of_computing_and_moving():
    assert MACHINE.rates_of("CPU").seconds(Work(2, 1000, 10, 10)) == 2 + 10
    assert MACHINE.rates_of("CPU").seconds(Work(2, 100, 500, 10)) == 2 + 51
    assert MACHINE.rates_of("GPU").seconds(Work(1, 1e4), "float16") == 2 + 1
    assert MACHINE.rates_of("XPU") is MACHINE.rates_of("CPU")
    model = CostModel(MACHINE)
    node = product()
    assert model.seconds(node, "CPU") == pytest.approx(1 + max(100 / 100, 4 * (10 + 25 + 10) / 10))
    assert model.seconds(node, "GPU") == pytest.approx(2 + 180 / 100)


@pytest.mark.parametrize(
    ("source", "destination", "kind"),
    [
        (("worker", 0, "CPU"), ("worker", 0, "GPU"), BUS),
        (("worker", 0, "CPU"), ("worker", 1, "GPU"), HOST),
        (("worker", 0, "CPU"), ("ps", 0, "CPU"), NETWORK),
    ],
)
def test_a_value_takes_the_link_between_two_devices(source, destination, kind):
    value = product().outputs[0]
    one, other = TASK.format(*source), TASK.format(*destination)
    assert MACHINE.kind(one, other) == kind
    assert CostModel(MACHINE).transfer(value, one, other) == MACHINE.links[kind].seconds(40)
    assert CostModel(MACHINE).transfer(value, one, one) == 0


def test_two_cpus_of_a_process_are_near():
    assert MACHINE.kind("/job:a/task:0/device:CPU:0", "/job:a/task:0/device:CPU:1") == NEAR


def test_what_was_measured_counts_for_equal_nodes_of_other_graphs():
    measured = Measured()
    measured.add("CPU", key_of(product()), 3.0)
    measured.add("CPU", key_of(product()), 5.0)
    with tf.Graph().as_default():
        model = CostModel(MACHINE, measured)
        assert model.seconds(product(), "CPU") == 4.0
        assert model.is_measured(product(), "CPU")
        assert not model.is_measured(product(), "GPU")
        assert model.seconds(product(rows=3), "CPU") != 4.0
        assert model.seconds(product(tf.float64), "CPU") != 4.0


def test_a_key_has_attributes_and_shapes_and_no_name():
    node = product()
    assert key_of(node) == "MatMul(float32[2,5], float32[5,5]; T=float32, transpose_a=False, transpose_b=False)"
    assert key_of(node, [(4, 5), (5, 5)]).startswith("MatMul(float32[4,5]")
    assert key_of(product(rows=None)) is None
    assert key_of(product(rows=None), [(2, 5), (5, 5)]) == key_of(node)


def test_rows_are_plain_data():
    measured = Measured()
    measured.add("CPU", "a", 2.0, 3)
    again = Measured.of_rows([list(row) for row in measured.rows()])
    again.merge(measured)
    assert list(again.rows()) == [("CPU", "a", 2.0, 6)]
    assert len(again) == 1
    for seconds, count in ((-1.0, 1), (float("nan"), 1), (1.0, 0)):
        with pytest.raises(ValueError, match="a cost is a time of 0 or more seconds"):
            measured.add("CPU", "a", seconds, count)
