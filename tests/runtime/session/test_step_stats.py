"""Traced steps: every node with its time, the same results, and nothing of it in steps that are not traced."""

import json
import math
import threading
import time

import numpy as np
import pytest
from resources.calls import run_threads
from running import initialized_session

import headrace as tf
from headrace.profiler import Timeline
from headrace.runtime.session.causality import shift

FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made, tf.device("/cpu:0"):
        yield made


def traced(session, fetches, feed=None, options=FULL):
    metadata = tf.RunMetadata()
    result = session.run(fetches, feed, options=options, run_metadata=metadata)
    return result, metadata.step_stats


def labels(stats):
    return {n.node_name: n.timeline_label for d in stats.dev_stats for n in d.node_stats}


def test_a_training_step_tells_the_time_of_each_node():
    x = tf.placeholder(tf.float32, [None, 3], "x")
    w = tf.Variable(tf.ones([3, 2]), name="w")
    product = tf.matmul(x, w, name="product")
    loss = tf.reduce_mean(tf.square(product), name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with initialized_session() as session:
        before = time.time() * 1e6
        (value, _), stats = traced(session, [loss, train], {x: np.ones([4, 3])})
        after = time.time() * 1e6
        assert value == 9.0
        assert session.run(w)[0, 0] == pytest.approx(0.7)  # trained once
        (device,) = stats.dev_stats
        assert device.device == "/job:localhost/replica:0/task:0/device:CPU:0"
        assert labels(stats)["product"] == "product = MatMul(x, w/read)"
        assert labels(stats)["loss"].startswith("loss = Mean(Square")
        assert any("ApplyGradientDescent" in label for label in labels(stats).values())
        node = next(n for n in device.node_stats if n.node_name == "product")
        assert (node.output[0].tensor_description.dtype, node.output[0].slot) == (1, 0)
        assert [d.size for d in node.output[0].tensor_description.shape.dim] == [4, 2]
        begins = [n.all_start_micros for n in device.node_stats]
        assert begins == sorted(begins)
        assert before - 1e3 <= begins[0] and begins[-1] + device.node_stats[-1].all_end_rel_micros <= after + 1e3
        for n in device.node_stats:
            assert n.all_start_micros == n.all_start_nanos // 1000
            assert n.all_end_rel_micros == math.ceil(n.all_end_rel_nanos / 1000) > 0
        trace = json.loads(Timeline(stats).generate_chrome_trace_format())["traceEvents"]
        assert {e["args"]["name"] for e in trace if e["ph"] == "X"} == set(labels(stats))


def allocated(stats):
    """The bytes that each node allocated, where it allocated any."""
    return {
        n.node_name: m.total_bytes for d in stats.dev_stats for n in d.node_stats for m in n.memory if m.total_bytes
    }


def test_a_node_allocates_its_outputs_unless_they_are_memory_of_its_inputs():
    x = tf.placeholder(tf.float32, [None, 50], "x")
    w = tf.Variable(tf.ones([50, 20]), name="w")
    product = tf.matmul(x, w, name="product")
    flat = tf.reshape(product, [-1], name="flat")
    parts = tf.unstack(tf.exp(product, name="exp"), 20, axis=1, name="parts")
    step = tf.assign_sub(w, tf.ones([50, 20]) * tf.reduce_sum(flat), name="update")
    with initialized_session() as session:
        _, stats = traced(session, [flat, parts, step], {x: np.ones([100, 50])})
    bytes_of = allocated(stats)
    assert (bytes_of["product"], bytes_of["exp"], bytes_of["Sum"], bytes_of["mul"]) == (8000, 8000, 4, 4000)
    assert bytes_of.keys() & {"flat", "parts", "w/read", "update"} == set()
    (node,) = [n for d in stats.dev_stats for n in d.node_stats if n.node_name == "product"]
    allocation = node.output[0].tensor_description.allocation_description
    assert (allocation.requested_bytes, allocation.allocator_name, node.memory[0].allocator_name) == (
        8000,
        "CPU:0",
        "CPU:0",
    )


def test_a_node_that_waits_allocates_what_it_gets(session):
    queue = tf.FIFOQueue(1, [tf.float32])
    value, enqueue = queue.dequeue(name="wait"), queue.enqueue([tf.ones([30])])
    session.run(enqueue)
    _, stats = traced(session, value)
    assert allocated(stats)["wait"] == 120


def interval(stats, name):
    """When the node began and ended, in nanoseconds of the time of day."""
    (node,) = [n for d in stats.dev_stats for n in d.node_stats if n.node_name == name]
    return node.all_start_nanos, node.all_start_nanos + node.all_end_rel_nanos


SLACK = 1_000_000  # nanoseconds: the two clocks are read one after the other


def test_the_time_of_a_node_is_that_of_its_kernel(session):
    inside = []
    called = tf.py_func(lambda v: inside.append(time.time_ns()) or v, [tf.constant(1.0)], tf.float32, name="called")
    _, stats = traced(session, called + 1.0)
    began, ended = interval(stats, "called")
    assert began - SLACK <= inside[0] <= ended + SLACK
    assert interval(stats, "add")[0] >= ended


def test_nodes_that_wait_are_timed_until_they_are_over(session):
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    value, enqueue = queue.dequeue(name="wait") * 2.0, queue.enqueue([5.0])
    results = []
    step = threading.Thread(target=lambda: results.append(traced(session, value)))
    step.start()
    while not session.waiting():
        step.join(0.001)
    filled = time.time_ns()
    session.run(enqueue)
    step.join(30)
    ((got, stats),) = results
    began, ended = interval(stats, "wait")
    assert got == 10
    assert began < filled < ended + SLACK


@pytest.mark.parametrize("control_flow", ["", "lowered"])
def test_nodes_of_a_loop_are_there_once_for_each_iteration(control_flow):
    _, total = tf.while_loop(lambda i, s: i < 4, lambda i, s: [i + 1, tf.multiply(s, 2.0, name="double")], [0, 1.0])
    with tf.Session(config=tf.ConfigProto(control_flow=control_flow) if control_flow else None) as session:
        got, stats = traced(session, total)
        assert got == 16
        runs = [n.node_name for d in stats.dev_stats for n in d.node_stats]
        assert runs.count("while/double") == 4


def test_random_streams_and_state_are_those_of_steps_that_are_not_traced():
    def draws(options):
        with tf.Graph().as_default(), tf.Session() as session:
            x, count = tf.random_uniform([2], seed=3), tf.Variable(0)
            step = tf.group(tf.assign_add(count, 1))
            session.run(count.initializer)
            values = [session.run([x, step], options=o, run_metadata=tf.RunMetadata())[0] for o in options]
            return np.array(values), session.run(count)

    plain, mixed = draws([None] * 4), draws([None, FULL, FULL, None])
    np.testing.assert_array_equal(plain[0], mixed[0])
    assert plain[1] == mixed[1] == 4


def test_steps_that_are_not_traced_have_no_clock_in_their_code(session):
    x = tf.placeholder(tf.float32, [2], "x")
    y = tf.exp(x) * 2.0
    session.run(y, {x: [0, 0]})
    traced(session, y, {x: [0, 0]})
    (plan,) = session._master._plans.values()
    assert "clock" not in plan.programs[0].source
    assert "clock" in plan.traced.plan.programs[0].source
    assert traced(session, y, {x: [0, 0]})[0].tolist() == [2, 2]
    assert len(session._master._plans) == 1


def test_what_is_not_asked_for_is_not_there():
    y = tf.constant(1.0) + tf.placeholder_with_default(2.0, [])
    with tf.Session() as session:
        metadata = tf.RunMetadata()
        session.run(y, run_metadata=metadata)
        session.run(y, options=FULL)
        session.run(y, options=tf.RunOptions(), run_metadata=metadata)
        assert metadata.step_stats is None
    with pytest.raises(RuntimeError, match="closed Session"):
        traced(session, y)


def test_errors_name_the_node_and_time_limits_hold(session):
    x = tf.placeholder(tf.float32, None)
    bad = tf.matmul(x, x, name="bad")
    waits = tf.FIFOQueue(1, [tf.float32]).dequeue()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[\[node bad \("):
        traced(session, bad, {x: np.ones([2, 3])})
    assert traced(session, bad, {x: np.ones([1, 1])})[0] == 1
    limited = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=50)
    with pytest.raises(tf.errors.DeadlineExceededError):
        traced(session, waits, options=limited)


def test_traced_steps_of_several_threads_do_not_mix(session):
    x = tf.placeholder(tf.float32, [], "x")
    y = tf.exp(x, name="y") + 1.0
    results = []
    count = len(list(labels(traced(session, y, {x: 0})[1])))

    def run():
        for _ in range(20):
            stats = traced(session, y, {x: 0})[1]
            results.append(sum(len(d.node_stats) for d in stats.dev_stats))

    run_threads(*[run] * 4)
    assert results == [count] * 80


def test_the_writer_takes_a_traced_step(tmp_path):
    y = tf.placeholder_with_default(1.0, [], "x") * 2.0
    with tf.Session() as session, tf.summary.FileWriter(tmp_path) as writer:
        metadata = tf.RunMetadata()
        session.run(y, options=FULL, run_metadata=metadata)
        writer.add_run_metadata(metadata, "step 1", 1)
    (path,) = tmp_path.iterdir()
    (event,) = [e for e in tf.train.summary_iterator(path) if e.HasField("tagged_run_metadata")]
    read = tf.RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
    assert labels(read.step_stats) == labels(metadata.step_stats)


def linear():
    x = tf.placeholder(tf.float32, [None, 3], "x")
    w = tf.Variable(tf.ones([3, 2]), name="w")
    return x, tf.reduce_sum(tf.matmul(x, w, name="product"), name="y")


def test_partition_graphs_are_what_the_step_runs():
    x, y = linear()
    asked = tf.RunOptions(output_partition_graphs=True)
    with initialized_session() as session:
        metadata = tf.RunMetadata()
        for _ in range(2):  # the second replaces the first
            session.run(y, {x: [[1, 2, 3]]}, options=asked, run_metadata=metadata)
        (graph_def,) = metadata.partition_graphs
        assert metadata.step_stats is None
        nodes = {n.name: n for n in graph_def.node}
        assert nodes["product"].op == "MatMul" and nodes["y"].input[0] == "product"
        assert nodes["product"].attr["T"].type == tf.float32.as_datatype_enum
        assert {n.device for n in graph_def.node} == {"/job:localhost/replica:0/task:0/device:CPU:0"}
        assert all(i.lstrip("^").partition(":")[0] in nodes for n in graph_def.node for i in n.input)
        assert tf.RunMetadata.FromString(metadata.SerializeToString()).partition_graphs[0] == graph_def


def test_a_session_that_builds_a_cost_model_gives_cost_graphs():
    x, y = linear()
    queue = tf.FIFOQueue(2, [tf.float32], name="queue")
    waits = tf.add(queue.dequeue(name="taken"), y, name="waits")
    called = tf.py_func(lambda v: v, [waits], tf.float32, name="called")
    with initialized_session(config=tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=1))) as session:
        session.run(queue.enqueue(1.0))
        metadata = tf.RunMetadata()
        assert session.run(called, {x: [[1, 2, 3]]}, run_metadata=metadata) == 13.0
    costs = {n.name: n for n in metadata.cost_graph.node}
    by_id = {n.id: n.name for n in metadata.cost_graph.node}
    assert [by_id[i.preceding_node] for i in costs["waits"].input_info] == ["taken", "y"]
    assert costs["product"].compute_cost > 0 and costs["called"].is_final and not costs["waits"].is_final
    assert (costs["y"].output_info[0].size, costs["y"].output_info[0].alias_input_port) == (4, -1)
    assert labels(metadata.step_stats).keys() >= {"product", "y", "taken", "waits", "called"}


def test_a_callable_can_be_traced():
    x, y = linear()
    with initialized_session() as session:
        metadata = tf.RunMetadata()
        call = session.make_callable(y, [x], accept_options=True)
        assert call([[1, 2, 3]], options=FULL, run_metadata=metadata) == 12.0
        assert "product" in labels(metadata.step_stats)
        with pytest.raises(TypeError, match="no keyword arguments"):
            session.make_callable(y, [x])([[1, 2, 3]], options=FULL)


def test_a_trace_is_shifted_as_a_whole():
    x = tf.placeholder(tf.float32, [])
    y = tf.exp(x, name="y")
    with tf.Session() as session:
        _, stats = traced(session, y, {x: 1.0})
    before, _ = interval(stats, "y")
    shift(stats, -5_000_000)
    node = next(n for d in stats.dev_stats for n in d.node_stats if n.node_name == "y")
    assert node.all_start_nanos == node.scheduled_nanos == before - 5_000_000
    assert node.all_start_micros == node.all_start_nanos // 1000
