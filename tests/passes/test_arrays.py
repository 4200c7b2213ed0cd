"""Which nodes run on numpy arrays: those that save more than turning tensors into arrays and back costs."""

import headrace as tf
from headrace.passes.arrays import on_arrays, tensor_inputs

from .steps import piped

NATIVE = {tf.float32, tf.int32, tf.bool}


def chosen(fetches, feeds=(), escaping=False, on_cpu=lambda node: True):
    graph = piped(fetches, feeds)
    nodes = [n for n in graph.nodes if n not in {v.op for v in graph.feeds}]
    return sorted(n.name for n in on_arrays(nodes, graph.fetches if escaping else (), NATIVE, on_cpu))


def variable(*shape, dtype=tf.float32, name="v"):
    return tf.get_variable(name, shape, dtype, tf.zeros_initializer())


def test_small_values_of_variables_and_constants_are_arrays():
    v = variable(4, 4)
    assert chosen([tf.add(tf.multiply(v, 2.0, "twice"), v, "more")]) == ["more", "twice"]


def test_large_values_stay_tensors():
    batch, larger = variable(128, 255), variable(128, 256, name="larger")
    assert chosen([tf.multiply(batch, 2.0, "small"), tf.multiply(larger, 2.0, "large")]) == ["small"]


def test_work_that_torch_does_faster_stays_with_tensors():
    few, many = variable(16, 32), variable(16, 33, name="many")
    assert chosen([tf.sigmoid(few, "few"), tf.sigmoid(many, "many_more")]) == ["few"]
    a, b = variable(64, 64, name="a"), variable(65, 64, name="b")
    small = tf.matmul(a, a, name="small", transpose_b=True)
    assert chosen([small, tf.matmul(a, b, name="large", transpose_b=True)]) == ["small"]


def test_rows_of_a_large_variable_are_gathered_as_arrays():
    table = variable(20000, 128)
    rows = tf.gather(table, [3, 1, 19999], name="rows")
    assert chosen([tf.add(rows, 1.0, "more"), tf.reduce_sum(table, name="all")]) == ["more", "rows"]


def test_rows_of_a_large_computed_value_are_gathered_as_tensors():
    twice = variable(20000, 128) * 2.0
    assert chosen([tf.gather(twice, [3, 1, 19999])]) == []


def test_unknown_shapes_and_other_dtypes_stay_tensors():
    x = tf.placeholder(tf.float32, [None, 4])
    half = variable(4, dtype=tf.float16)
    assert chosen([tf.multiply(x, x), tf.multiply(half, half)], [x]) == []


def test_only_nodes_on_the_cpu():
    v = variable(4)
    assert chosen([tf.multiply(v, v)], on_cpu=lambda node: False) == []


def test_one_node_between_tensors_is_not_worth_turning_them():
    x = tf.placeholder(tf.float32, [4])
    assert chosen([tf.negative(x)], [x], escaping=True) == []


def test_many_nodes_are():
    x = tf.placeholder(tf.float32, [4])
    y = x
    for i in range(5):
        y = tf.tanh(tf.square(y, f"s{i}"), f"t{i}")
    assert len(chosen([y], [x], escaping=True)) == 10


def test_what_a_tensor_kernel_takes_counts_as_turned():
    v = variable(4)
    drawn = tf.random_shuffle(tf.negative(v, "alone"), seed=1)
    assert chosen([drawn]) == ["alone"]  # saves and costs 2.0
    x = tf.placeholder(tf.float32, [4])
    both = tf.random_shuffle(tf.add(x, v, "between"), seed=1)
    assert chosen([both], [x]) == []  # costs 5.5


def test_identities_between_do_not_matter():
    v = variable(4)
    y = tf.identity(tf.negative(tf.identity(v), "a"))
    assert chosen([tf.add(y, y, "b")]) == ["a", "b"]


def test_host_inputs_and_refs_are_not_turned():
    v = variable(4)
    graph = piped([tf.reshape(v, [2, 2]), tf.assign_add(v, v)])
    by_type = {n.type: n for n in graph.nodes}
    assert [i.op.type for i in tensor_inputs(by_type["Reshape"])] == ["_Read"]
    assert [i.op.type for i in tensor_inputs(by_type["AssignAdd"])] == ["_Read"]
