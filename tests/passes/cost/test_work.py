"""What nodes compute and move."""

import pytest

import headrace as tf
from headrace.passes.cost.work import ASSUMED, ITERATIONS, NOTHING, Work, client_bodies, elements, size_of, work_of
from tests.passes.steps import piped, step


def node_of(tensor, kind, **options):
    (node,) = [n for n in step([tensor], **options).nodes if n.type == kind]
    return node


def test_a_product_counts_two_operations_for_each_pair():
    a, b = tf.placeholder(tf.float32, [4, 5]), tf.placeholder(tf.float32, [5, 6])
    node = node_of(tf.matmul(a, b), "MatMul", feeds=[a, b])
    assert work_of(node) == Work(1.0, 2 * 4 * 5 * 6, 4 * (4 * 5 + 5 * 6), 4 * 4 * 6)


def test_an_op_without_a_formula_counts_one_operation_for_each_element():
    a = tf.placeholder(tf.float64, [3, 7])
    assert work_of(node_of(tf.cumsum(a), "Cumsum", feeds=[a])) == Work(1.0, 21.0, 21 * 8 + 4, 21 * 8)


def test_rows_that_are_moved_part_by_part_call_a_kernel_for_each():
    x, parts = tf.placeholder(tf.float32, [8, 3]), tf.placeholder(tf.int32, [8])
    split = tf.dynamic_partition(x, parts, 3)
    assert work_of(node_of(split[0], "DynamicPartition", feeds=[x, parts])).calls == 4
    places = tf.dynamic_partition(tf.range(8), parts, 3)
    joined = tf.dynamic_stitch(places, split)
    assert work_of(node_of(joined, "DynamicStitch", feeds=[x, parts])).calls == 4


def test_what_is_not_known_is_assumed():
    a = tf.placeholder(tf.float32, [None, 3])
    node = node_of(tf.exp(a), "Exp", feeds=[a])
    assert elements(node.outputs[0]) == 3 * ASSUMED
    assert size_of(node.outputs[0]) == 12 * ASSUMED
    assert elements(node_of(tf.exp(tf.placeholder(tf.float32)), "Exp").outputs[0]) == ASSUMED


def test_constants_feeds_and_handles_are_no_work_and_views_only_a_call():
    v = tf.get_variable("v", [8])
    a = tf.placeholder(tf.float32, [8])
    graph = step([tf.reshape(a + v, [2, 4])], [a])
    free = [n for n in graph.nodes if n.op_def.traits.feed or n.op_def.traits.constant or n.op_def.traits.handle]
    assert [work_of(n) for n in free] == [NOTHING] * 3
    assert [work_of(n) for n in graph.nodes if n.type == "Reshape"] == [Work(1.0)]
    assert [size_of(n.outputs[0]) for n in free if n.op_def.traits.handle] == [0]


def test_a_loop_is_its_body_many_times_and_a_conditional_its_larger_branch():
    a = tf.placeholder(tf.float32, [10])
    loop = tf.while_loop(lambda i, x: i < tf.cast(a[0], tf.int32), lambda i, x: (i + 1, tf.exp(x)), [0, a])
    (node,) = [n for n in piped([loop[1]], [a]).nodes if "body" in n.attrs]
    assert work_of(node).flops >= 10 * ITERATIONS
    branch = tf.cond(a[0] > 0, lambda: tf.matmul(a[None], a[:, None]), lambda: a[None, :1])
    (node,) = [n for n in piped([branch], [a]).nodes if "then_branch" in n.attrs]
    assert work_of(node).flops == pytest.approx(20)


def test_work_adds_up():
    assert Work(1, 2, 3, 4) + Work(1, 1, 1, 1).times(2) == Work(3, 4, 5, 6)


def test_bodies_of_the_clients_graph_count_before_they_are_instantiated():
    x = tf.placeholder(tf.float32, [8, 8])
    loop = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.matmul(y, y)), [0, x])[1]
    holder = loop.op
    while not client_bodies(holder):
        holder = holder.inputs[0].op
    assert work_of(holder).flops >= ITERATIONS * 2 * 8**3


def test_a_function_that_calls_itself_counts_once():
    @tf.function
    def power(n, y):
        return tf.cond(n > 0, lambda: tf.matmul(power(n - 1, y), y), lambda: y)

    y = power(tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [8, 8]))
    total = sum(work_of(op).flops for op in y.graph.get_operations())
    assert 0 < total < 100 * 2 * 8**3
