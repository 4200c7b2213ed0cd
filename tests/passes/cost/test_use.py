"""How nodes use a device, and what that makes of their work."""

import pytest

import headrace as tf
from headrace.passes.cost.model import CostModel
from headrace.passes.cost.rates import USUAL, Machine, Rates
from headrace.passes.cost.use import CONVOLUTION, PLAIN, POOLING, PRODUCT, RANDOM, ROWS, SUM, is_free_view, use_of
from headrace.passes.cost.work import NOTHING, Work, work_of
from tests.passes.steps import piped, step


def nodes(fetches, feeds, *types, train=()):
    found = {n.type: n for n in piped(fetches, feeds, train).nodes}
    return [found[one] for one in types]


def test_each_use_has_its_ops():
    x = tf.placeholder(tf.float32, [2, 8, 8, 3])
    y = tf.nn.max_pool(tf.nn.conv2d(x, tf.ones([3, 3, 3, 4]), 1, "SAME"), 2, 2, "SAME")
    z = tf.reduce_sum(tf.matmul(tf.reshape(tf.exp(y) + tf.random.uniform([4]), [2, 64]), tf.ones([64, 5])), 1)
    found = {n.type: use_of(n) for n in step([z], [x]).nodes}
    wanted = {
        "Conv2D": CONVOLUTION, "MaxPool": POOLING, "MatMul": PRODUCT, "Sum": SUM, "RandomUniform": RANDOM, "AddV2": PLAIN,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


def test_rows_of_a_table_count_and_not_the_table():
    table = tf.get_variable("table", [1000, 16])
    numbers = tf.placeholder(tf.int32, [5])
    loss = tf.reduce_sum(tf.gather(table, numbers))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    gather, scatter = nodes([loss], [numbers], "GatherV2", "ScatterSub", train=[train])
    assert use_of(gather) == use_of(scatter) == ROWS
    assert work_of(gather).read <= 5 * 16 * 4 + 5 * 4 + 16
    assert 5 * 16 * 4 <= work_of(scatter).read < 4 * 5 * 16 * 4


def test_an_update_reads_and_writes_its_variable():
    v = tf.get_variable("v", [100])
    x = tf.placeholder(tf.float32, [100])
    update = tf.assign_sub(v, x).op
    (node,) = nodes([], [x], "AssignSub", train=[update])
    assert work_of(node).written >= 400
    assert work_of(node).read >= 800


def test_a_product_that_is_accumulated_counts_as_one():
    x, labels = tf.placeholder(tf.float32, [4, 500]), tf.placeholder(tf.float32, [4, 600])
    w = tf.get_variable("w", [500, 600])
    loss = tf.nn.l2_loss(tf.matmul(x, w) - labels)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    (node,) = nodes([loss], [x, labels], "_ApplyProduct", train=[train])
    assert work_of(node).flops == 2 * 4 * 500 * 600
    assert work_of(node).written == 4 * 500 * 600


def test_a_sum_of_one_and_a_shape_are_free_and_a_sum_of_two_is_not():
    x = tf.placeholder(tf.float32, [8])
    graph = step([tf.add_n([x, x]), tf.reshape(x, [2, 4]), tf.cast(x, tf.float64)], [x])
    assert {n.type: is_free_view(n) for n in graph.nodes if n.type in ("AddN", "Reshape", "Cast")} == {
        "AddN": False, "Reshape": True, "Cast": False,
    }  # fmt: skip


def test_a_group_and_a_read_are_nothing():
    v = tf.get_variable("v", [8])
    both = tf.group(tf.assign_add(v, tf.ones([8])))
    graph = piped([tf.exp(v)], [], [both])
    assert [work_of(n) for n in graph.nodes if n.type in ("NoOp", "_Read")] == [NOTHING, NOTHING]


def test_rates_may_differ_by_use_and_small_values_may_be_arrays():
    rates = Rates(
        {"float32": 100.0, "float32 convolution": 50.0}, 10.0, 1.0, bandwidths={POOLING: 5.0}, launches={POOLING: 3.0},
        array=0.5, arrays={SUM: 0.7},
    )  # fmt: skip
    assert rates.seconds(Work(1, 100), "float32", CONVOLUTION) == 1 + 2
    assert rates.seconds(Work(1, 0, 10, 10), "float32", POOLING) == 3 + 4
    assert rates.seconds(Work(1), on_array=True) == 0.5
    assert rates.seconds(Work(1), use=SUM, on_array=True) == 0.7
    x, large = tf.placeholder(tf.float32, [8]), tf.placeholder(tf.float32, [1 << 20])
    small, big = (step([tf.sqrt(one)], [one]).nodes[-1] for one in (x, large))
    model = CostModel(Machine({"CPU": rates}, USUAL.links))
    assert model.seconds(small, "CPU") == pytest.approx(0.5 + 6.4)
    assert model.seconds(big, "CPU") > 1.0


def test_a_device_beside_the_thread_has_two_times():
    rates = Rates({"float32": 100.0}, 10.0, 4.0, queued=1.0)
    assert rates.calling(Work(1, 1000)) == 4.0
    assert rates.working(Work(1, 1000)) == 1 + 10
    assert rates.seconds(Work(1, 1000)) == 11
    assert rates.seconds(Work(1, 10)) == 4


def test_a_loop_takes_its_body_as_often_as_it_runs():
    x = tf.placeholder(tf.float32, [100, 100])
    loop = tf.while_loop(lambda i, v: i < 7, lambda i, v: (i + 1, tf.matmul(v, v)), [0, x])
    (node,) = [n for n in piped([loop[1]], [x]).nodes if "body" in n.attrs]
    machine = Machine({"CPU": Rates({"float32": 1.0}, float("inf"), 0.0)}, USUAL.links)
    assert CostModel(machine).seconds(node, "CPU") >= 7 * 2 * 100**3


def test_a_function_that_calls_itself_counts_once():
    @tf.function
    def factorial(n):
        return tf.cond(n < 2.0, lambda: 1.0, lambda: n * factorial(n - 1.0))

    x = tf.placeholder(tf.float32, [])
    graph = piped([factorial(x)], [x])
    assert 0 < sum(CostModel().seconds(n, "CPU") for n in graph.nodes) < 1
