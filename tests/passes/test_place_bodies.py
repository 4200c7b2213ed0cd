"""Placement across the borders of bodies: what is captured, looped, lifted, stashed, and what follows others."""

import pytest
from passes.steps import options
from running import initialized_session

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.bodies import bodies_within
from headrace.passes.instantiate import drop_inputs
from headrace.passes.pipeline import make_placed_graph, make_step_graph

PREFIX = "/job:localhost/replica:0/task:0/device:"
TWO = [PREFIX + "CPU:0", PREFIX + "CPU:1"]


def graphs(*fetches, feeds=(), make=make_placed_graph, devices=TWO, **changed):  # type: ignore[no-untyped-def]
    """The placed graph of a step, then its bodies."""
    targets = [f for f in fetches if isinstance(f, tf.Operation)]
    tensors = [f for f in fetches if isinstance(f, tf.Tensor)]
    graph = make(list(feeds), tensors, targets, options(devices=devices, **changed))
    return [graph, *bodies_within(graph)]


def devices_by_type(*fetches, **keywords):  # type: ignore[no-untyped-def]
    """Node type -> the short names of the devices of such nodes, in the step and its bodies."""
    found: dict[str, set[str]] = {}
    for graph in graphs(*fetches, **keywords):
        for node in graph.nodes:
            assert node.device.startswith("/job:"), (node, node.device)
            found.setdefault(node.type, set()).add(node.device.rpartition("device:")[2])
    return found


def on(device, function, *arguments):  # type: ignore[no-untyped-def]
    with tf.device(device):
        return function(*arguments)


def loop(body, *variables):  # type: ignore[no-untyped-def]
    return tf.while_loop(lambda i, *_: i < 3, lambda i, *v: (i + 1, *body(i, *v)), [0, *variables])[1:]


@pytest.mark.parametrize("resource", [False, True])
def test_a_body_uses_a_variable_where_it_is(resource: bool) -> None:
    v = on("/cpu:1", lambda: tf.Variable([1.0, 2.0], use_resource=resource))

    def body(i, a):  # type: ignore[no-untyped-def]
        with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
            return [tf.exp(a) + v.read_value()]

    where = devices_by_type(*loop(body, tf.zeros([2])))
    assert where["VariableV2"] == where["AssignAdd"] == where["_Read"] == {"CPU:1"}
    assert where["Exp"] == {"CPU:0"}


def test_the_only_device_gets_the_nodes_of_bodies_too() -> None:
    v = tf.Variable([1.0, 2.0])
    where = devices_by_type(*loop(lambda i, a: [tf.exp(a) + v], tf.zeros([2])), devices=TWO[:1])
    assert where["Exp"] == where["VariableV2"] == {"CPU:0"}
    assert set.union(*where.values()) == {"CPU:0"}


def test_through_two_borders() -> None:
    v = on("/cpu:1", lambda: tf.Variable(1.0))

    def body(i, a):  # type: ignore[no-untyped-def]
        return [tf.cond(a > 2.0, lambda: tf.assign_add(v, a), lambda: tf.assign_sub(v, a))]

    where = devices_by_type(*loop(body, tf.constant(0.0)))
    assert where["AssignAdd"] == where["AssignSub"] == {"CPU:1"}


def test_what_a_condition_and_a_body_capture_may_be_on_different_devices() -> None:
    a, b = on("/cpu:0", tf.Variable, 1.0), on("/cpu:1", tf.Variable, 1.0)
    y = tf.while_loop(lambda i: i + a.read_value() < 9.0, lambda i: i + tf.assign_add(b, 1.0), [0.0])
    reads = {
        n.name.split("/")[-1]: n.device[-1] for g in graphs(y) for n in g.nodes if n.type in ("_Read", "AssignAdd")
    }
    assert {n.device[-1] for g in graphs(y) for n in g.nodes if n.type == "AssignAdd"} == {"1"}
    assert set(reads.values()) == {"0", "1"}


def test_arrays_stay_where_they_were_made() -> None:
    array = on("/cpu:1", lambda: tf.TensorArray(tf.float32, 3, clear_after_read=False))

    def write(i, array):  # type: ignore[no-untyped-def]
        return [array.write(i, on("/cpu:0", tf.exp, tf.cast(i, tf.float32)))]

    (array,) = loop(write, array)
    y = loop(lambda i, a: [a + on("/cpu:0", array.read, i)], tf.constant(0.0))
    where = devices_by_type(*y)
    for op in ("TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3"):
        assert where[op] == {"CPU:1"}
    assert where["Exp"] == {"CPU:0"}


def test_an_array_that_asks_for_nothing_is_where_it_is_used_first() -> None:
    array = tf.TensorArray(tf.float32, 3)
    array = on("/cpu:1", lambda: array.write(0, 1.0))
    where = devices_by_type(on("/cpu:0", array.read, 0))
    assert where["TensorArrayV3"] == where["TensorArrayWriteV3"] == where["TensorArrayReadV3"] == {"CPU:1"}


@pytest.mark.parametrize(("device", "expected"), [(None, {"CPU:0"}), ("/cpu:1", {"CPU:0", "CPU:1"})])
def test_stashes_are_where_their_values_are(device: str | None, expected: set[str]) -> None:
    x = tf.placeholder(tf.float32, [2])

    def body(i, a):  # type: ignore[no-untyped-def]
        inner = tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, tf.sin(b) * a), [0, a])[1]
        return [on(device, tf.tanh, inner)]

    (slope,) = tf.gradients(loop(body, x)[0], x)
    where = devices_by_type(slope, feeds=[x])
    stashes = [where[op] for op in where if "Stash" in op]
    assert len(stashes) >= 3 and all(devices == expected for devices in stashes)


def test_a_holder_goes_where_all_of_its_bodies_are() -> None:
    x = tf.placeholder(tf.float32, [2])
    p = on("/cpu:0", tf.greater, tf.reduce_sum(x), 0.0)
    y = tf.cond(p, lambda: on("/cpu:1", tf.exp, x), lambda: on("/cpu:1", tf.sin, x))
    where = devices_by_type(y, feeds=[x])
    assert where["StatelessIf"] == {"CPU:1"} and where["Greater"] == {"CPU:0"}
    mixed = tf.cond(p, lambda: on("/cpu:1", tf.exp, x), lambda: on("/cpu:0", tf.sin, x))
    assert devices_by_type(mixed, feeds=[x])["StatelessIf"] == {"CPU:0"}


def test_a_recursive_function_is_placed_once() -> None:
    @tf.function
    def power(x, n):  # type: ignore[no-untyped-def]
        return tf.cond(n < 1, lambda: tf.exp(x), lambda: x * power(x, n - 1))

    with tf.device("/cpu:1"):
        y = power(tf.constant(2.0), tf.constant(3))
    where = devices_by_type(y)
    assert where["Exp"] == where["Mul"] == {"CPU:1"}
    names = [n.name for g in graphs(y) for n in g.nodes if n.type == "Exp"]
    assert len(names) == 1
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(y) == pytest.approx(8 * 7.389056, rel=1e-5)


def test_the_device_of_a_call_reaches_the_loops_of_its_function() -> None:
    @tf.function
    def twice(x):  # type: ignore[no-untyped-def]
        return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.exp(a) + on("/cpu:0", tf.sin, a)), [0, x])[1]

    x = tf.placeholder(tf.float32, [])
    both = [on("/cpu:1", twice, x), on("/cpu:0", twice, x)]
    first, second = (devices_by_type(y, feeds=[x]) for y in both)
    assert first["Exp"] == {"CPU:1"} and first["Sin"] == {"CPU:0"}
    assert second["Exp"] == second["Sin"] == {"CPU:0"}
    assert devices_by_type(*both, feeds=[x])["Exp"] == {"CPU:0", "CPU:1"}


@pytest.mark.parametrize("resource", [False, True])
def test_a_variable_made_in_a_body_keeps_the_device(resource: bool) -> None:
    def body(i, a):  # type: ignore[no-untyped-def]
        with tf.device("/cpu:1"):
            v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=resource)
        return [a + v]

    y = loop(body, tf.zeros([2]))
    assert devices_by_type(*y)["VariableV2"] == {"CPU:1"}
    assert tf.global_variables()[0].device == "/device:CPU:1"
    with initialized_session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(y)[0].tolist() == [3.0, 3.0]


def test_a_variable_made_in_a_function_keeps_the_device() -> None:
    made = []

    @tf.function
    def f(x):  # type: ignore[no-untyped-def]
        if not made:
            with tf.device("/cpu:1"):
                made.append(tf.get_variable("v", [], initializer=tf.ones_initializer()))
        return x + made[0]

    with tf.device("/cpu:0"):
        f(tf.constant(1.0))
    assert made[0].device == "/device:CPU:1"


def test_a_queue_made_in_a_branch_keeps_the_device() -> None:
    def enqueue():  # type: ignore[no-untyped-def]
        with tf.device("/cpu:1"):
            queue = tf.FIFOQueue(3, tf.float32, shapes=[[]], name="q")
        with tf.control_dependencies([queue.enqueue(1.0)]):
            return tf.constant(1.0)

    y = tf.cond(tf.placeholder_with_default(True, []), enqueue, lambda: tf.constant(0.0))
    where = devices_by_type(y)
    assert where["FIFOQueueV2"] == where["QueueEnqueueV2"] == {"CPU:1"}


def test_rewritten_bodies_are_on_devices_too() -> None:
    x = tf.placeholder(tf.float32, [4, 5, 3])
    with tf.device("/cpu:1"):
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(8), x, dtype=tf.float32)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(outputs), colocate_gradients_with_ops=True)
    where = devices_by_type(step, outputs, feeds=[x], make=make_step_graph)
    assert where["BatchMatMulV2"] == where["_AddProduct"] == {"CPU:1"}  # the passes for loops found their patterns
    assert where["_JoinRows"] == where["_PushRow"] == where["_PopStash"] == {"CPU:1"}
    assert [op for op, devices in where.items() if "CPU:0" in devices and op not in ("_Feed", "Const")] == []


def test_gradients_in_bodies_are_colocated() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = loop(lambda i, a: [on("/cpu:0", tf.tanh, on("/cpu:1", tf.sigmoid, a))], x)
    (slope,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
    where = devices_by_type(slope, feeds=[x])
    assert where["SigmoidGrad"] == {"CPU:1"} and where["TanhGrad"] == {"CPU:0"}


def test_the_shape_of_a_value_is_taken_where_it_is() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = on("/cpu:1", tf.exp, x)
    where = devices_by_type(tf.shape(y), feeds=[x])
    assert where["Shape"] == {"CPU:1"}


def test_a_constant_is_where_its_users_are() -> None:
    shared, alone = tf.constant([3.0], name="shared"), tf.constant([2.0], name="alone")
    x = tf.placeholder(tf.float32, [1])
    y = on("/cpu:1", lambda: x + shared + alone), x * shared
    places = {n.name: n.device[-1] for n in graphs(*y, feeds=[x])[0].nodes}
    assert places["alone"] == "1" and places["shared"] == "0"


def test_a_feed_may_ask_for_a_device_that_is_not_there() -> None:
    x = on("/gpu:7", tf.placeholder, tf.float32, [1])
    assert devices_by_type(on("/cpu:1", tf.exp, x), feeds=[x]) == {"_Feed": {"CPU:0"}, "Exp": {"CPU:1"}}


def test_what_a_rewritten_body_does_not_use_is_not_passed() -> None:
    x = tf.placeholder(tf.float32, [2])
    y, p = tf.exp(x), tf.reduce_sum(x) > 0.0
    holder = graphs(tf.cond(p, lambda: x + y, lambda: x * y), feeds=[x])[0]
    node = next(n for n in holder.nodes if n.type == "StatelessIf")
    for body in bodies_within(holder):
        (work,) = (n for n in body.nodes if n.type in ("AddV2", "Add", "Mul"))
        work.inputs = [work.inputs[0], work.inputs[0]]
    drop_inputs(holder)
    assert len(node.inputs) == 2 and all(len(b.feeds) == len(b.host_feeds) == 1 for b in bodies_within(holder))
    assert "Exp" not in {n.type for n in holder.nodes}


# ---- reads


@pytest.mark.parametrize("resource", [False, True])
def test_a_cached_value_is_a_copy_after_the_read(resource: bool) -> None:
    with tf.device("/cpu:0"):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), caching_device="/cpu:1", use_resource=resource)
    y = on("/cpu:1", lambda: v + 1.0)
    where = devices_by_type(y)
    assert where["_Read"] == {"CPU:0"} and where["Identity"] == {"CPU:1"}


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("take", [tf.identity, lambda v: v.read_value()])
def test_a_value_asked_for_elsewhere_is_a_copy_after_the_read(resource: bool, take) -> None:  # type: ignore[no-untyped-def]
    v = on("/cpu:0", lambda: tf.Variable([1.0, 2.0], use_resource=resource))
    with tf.control_dependencies([tf.assign(v, [3.0, 4.0])]):
        copy = on("/cpu:1", take, v)
    where = devices_by_type(copy)
    assert where["_Read"] == where["Assign"] == {"CPU:0"} and where["Identity"] == {"CPU:1"}
    with initialized_session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(copy).tolist() == [3.0, 4.0]


def test_rows_of_a_variable_are_taken_where_it_is() -> None:
    v = on("/cpu:1", lambda: tf.Variable([[1.0], [2.0]], use_resource=True))
    with tf.device("/cpu:0"):
        rows = raw_ops.ResourceGather(v.handle, [1], dtype=tf.float32)
    where = devices_by_type(rows)
    assert where["GatherV2"] == where["_Read"] == {"CPU:1"}
