"""Placement: wishes, partial names, colocation, soft placement, and the errors that name the node."""

import pytest
from passes.steps import step

import headrace as tf
from headrace.core.errors import InvalidArgumentError
from headrace.graph import raw_ops
from headrace.passes.place import place

PREFIX = "/job:localhost/replica:0/task:0/device:"
DEVICES = [PREFIX + "GPU:0", PREFIX + "GPU:1", PREFIX + "CPU:0"]


def everywhere(node, device_type):  # type: ignore[no-untyped-def]
    return True


def placed(*fetches, has_kernel=everywhere, soft=False, devices=DEVICES):  # type: ignore[no-untyped-def]
    """Node name -> short device name."""
    targets = [f for f in fetches if isinstance(f, tf.Operation)]
    tensors = [f for f in fetches if isinstance(f, tf.Tensor)]
    graph = step(tensors, [], targets, lambda g: place(g, devices, has_kernel, soft))
    return {n.name: n.device.removeprefix(PREFIX) for n in graph.nodes}


def test_the_first_device_is_the_default() -> None:
    assert placed(tf.constant(1.0, name="a")) == {"a": "GPU:0"}


def test_the_only_device_gets_every_node() -> None:
    text = tf.constant("a", name="text")
    a = tf.constant(1.0, name="a")
    with tf.colocate_with(a):
        b = raw_ops.Neg(a, name="b")
    graph = step([b, text], [], [], lambda g: place(g, DEVICES[2:], everywhere))
    assert {n.name: n.device for n in graph.nodes} == dict.fromkeys(["text", "a", "b"], DEVICES[2])
    assert {n.colocation for n in graph.nodes} == {()}


def test_the_only_device_must_be_the_one_asked_for_and_have_the_kernels() -> None:
    with tf.device("/gpu:0"):
        a = tf.constant(1.0, name="a")
    with pytest.raises(InvalidArgumentError, match="explicitly assigned to /device:GPU:0 but no such device"):
        placed(a, devices=DEVICES[2:])
    assert placed(a, devices=DEVICES[2:], soft=True) == {"a": "CPU:0"}
    with pytest.raises(InvalidArgumentError, match="op Neg has no kernel"):
        placed(raw_ops.Neg(tf.constant(1.0)), devices=DEVICES[2:], has_kernel=lambda node, kind: node.type != "Neg")


@pytest.mark.parametrize(
    ("wish", "device"),
    [
        ("/device:CPU:0", "CPU:0"),
        ("/cpu:0", "CPU:0"),
        ("/gpu:1", "GPU:1"),
        ("/device:GPU:*", "GPU:0"),
        ("/job:localhost", "GPU:0"),
        ("/job:localhost/device:CPU:0", "CPU:0"),
        (PREFIX + "GPU:1", "GPU:1"),
        ("", "GPU:0"),
    ],
)
def test_wishes(wish: str, device: str) -> None:
    with tf.device(wish):
        a = tf.constant(1.0, name="a")
    assert placed(a) == {"a": device}


def test_a_node_goes_where_its_kernel_is() -> None:
    a = raw_ops.Neg(tf.constant(1.0, name="c"), name="a")
    where = placed(a, has_kernel=lambda node, kind: kind == "CPU" or node.type == "Const")
    assert where == {"c": "CPU:0", "a": "CPU:0"}  # a constant is where its users are


def test_what_uses_a_handle_is_placed_with_it() -> None:
    with tf.device("/gpu:1"):
        v = raw_ops.VariableV2(shape=[], dtype=tf.float32, name="v")
    add = raw_ops.AssignAdd(v, 1.0, name="add")
    where = placed(add)
    assert where["v"] == where["add"] == where["add/value"] == "GPU:1"


def test_colocation() -> None:
    with tf.device("/gpu:1"):
        a = tf.constant(1.0, name="a")
    with tf.colocate_with(a):
        b = tf.constant(2.0, name="b")
    with tf.colocate_with(b):
        c = raw_ops.Neg(b, name="c")
    assert placed(c, a) == {"a": "GPU:1", "b": "GPU:1", "c": "GPU:1"}


def test_colocation_is_a_group_without_its_leader_too() -> None:
    leader = tf.constant(1.0, name="leader")
    with tf.colocate_with(leader):
        a = tf.constant(1.0, name="a")
        b = raw_ops.Neg(tf.constant(2.0, name="two"), name="b")
    only_b_on_cpu = placed(a, b, has_kernel=lambda node, kind: kind == "CPU" or node.name != "b")
    assert only_b_on_cpu["a"] == only_b_on_cpu["b"] == "CPU:0"


def test_the_maker_of_a_handle_wins_over_its_users() -> None:
    with tf.device("/gpu:1"):
        v = raw_ops.VariableV2(shape=[], dtype=tf.float32, name="v")
    with tf.device("/gpu:0"):
        add = raw_ops.AssignAdd(v, 1.0, name="add")
    where = placed(add)
    assert where["v"] == where["add"] == "GPU:1" and where["add/value"] == "GPU:0"


def test_contradicting_wishes_of_a_group() -> None:
    with tf.device("/gpu:1"):
        a = tf.constant(1.0, name="a")
    with tf.colocate_with(a):
        b = raw_ops.Neg(a, name="b")
    b.op._set_device("/device:GPU:0")
    with pytest.raises(InvalidArgumentError, match=r"Cannot colocate nodes b \(made at .*test_place.py:\d+\)"):
        placed(b)
    assert placed(b, soft=True) == {"a": "GPU:0", "b": "GPU:0"}  # both ask for a GPU


def test_contradicting_makers() -> None:
    with tf.device("/gpu:1"):
        v = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="v")
    with tf.device("/gpu:0"):
        m = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="m")
    update = raw_ops.ApplyMomentum(v, m, 0.1, [1.0, 2.0], 0.9, name="update")
    with pytest.raises(
        InvalidArgumentError, match="Cannot colocate nodes m .*incompatible ids: '/device:GPU:0' and '/device:GPU:1'"
    ):
        placed(update)


def test_no_such_device() -> None:
    with tf.device("/gpu:7"):
        a = tf.constant(1.0, name="a")
    with pytest.raises(InvalidArgumentError) as caught:
        placed(a)
    text = str(caught.value)
    assert "Cannot assign a device for operation a (made at" in text
    assert "/device:GPU:7" in text and PREFIX + "CPU:0" in text and "allow_soft_placement" in text
    assert caught.value.op is a.op
    assert placed(a, soft=True) == {"a": "CPU:0"}


def test_no_such_device_is_told_at_the_first_step() -> None:
    with tf.device("/gpu:7"):
        there = tf.random_uniform([2])
    here = tf.constant(2.0) + 1.0
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match="Cannot assign a device"):
                session.run(here)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(here) == 3.0
    only_steps = tf.ConfigProto(graph_options=tf.GraphOptions(place_pruned_graph=True))
    for session in (tf.Session(config=only_steps), tf.InteractiveSession()):
        assert session.run(here) == 3.0
        with pytest.raises(InvalidArgumentError, match="Cannot assign a device"):
            session.run(there + here)
        session.close()


@pytest.mark.parametrize("name", ["/device:fooBar:3", "/job:Worker/device:MyDev:0"])
def test_device_types_that_are_not_known_keep_their_case(name: str) -> None:
    with tf.device(name):
        assert tf.constant(1.0).device == name
    with tf.device("/gPu:0"):
        assert tf.constant(1.0).device == "/device:GPU:0"


def test_no_kernel_anywhere() -> None:
    a = raw_ops.Neg(tf.constant(1.0), name="a")
    with pytest.raises(InvalidArgumentError, match="op Neg has no kernel for types {'T': 'float32'}"):
        placed(a, has_kernel=lambda node, kind: node.type != "Neg")


def test_session_reports_placement_errors() -> None:
    with tf.device("/device:GPU:99"):
        a = raw_ops.Neg(tf.constant(1.0))
    with tf.Session() as session, pytest.raises(InvalidArgumentError, match="Cannot assign a device"):
        session.run(a)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(a) == -1.0


TASKS = [
    f"/job:worker/replica:0/task:{task}/device:{name}" for task in range(2) for name in ("GPU:0", "CPU:0", "CPU:1")
]  # fmt: skip


@pytest.mark.parametrize(
    ("wish", "device"),
    [
        ("/job:worker/task:1", "task:1/device:CPU:0"),
        ("/job:worker/task:1/gpu:0", "task:1/device:CPU:0"),
        ("/job:worker/task:1/cpu:1", "task:1/device:CPU:1"),
        ("/cpu:1", "task:0/device:CPU:1"),
        ("/gpu:0", "task:0/device:CPU:0"),
        ("", "task:0/device:CPU:0"),
    ],
)
def test_the_host_is_that_of_the_task(wish: str, device: str) -> None:
    with tf.device(wish):
        names = tf.constant(["a", "b"], name="names")
        joined = tf.string_join([names, names], name="joined")
    where = placed(joined, devices=TASKS)
    assert where["names"] == where["joined"] == f"/job:worker/replica:0/{device}"


def test_what_runs_on_the_host_is_in_the_task_of_its_group() -> None:
    with tf.device("/job:worker/task:1/gpu:0"):
        queue = tf.FIFOQueue(3, tf.float32, shapes=[[]], name="queue")
    enqueue = queue.enqueue(1.0, name="enqueue")
    where = placed(enqueue, devices=TASKS)
    assert where["queue"] == where["enqueue"] == "/job:worker/replica:0/task:1/device:CPU:0"


def test_soft_placement_keeps_to_the_task() -> None:
    with tf.device("/job:worker/task:1/gpu:7"):
        a = raw_ops.Neg(tf.constant(1.0), name="a")
    with tf.device("/job:worker/task:1/gpu:0"):
        b = raw_ops.Exp(tf.constant(1.0), name="b")
    where = placed(a, b, soft=True, devices=TASKS, has_kernel=lambda node, kind: kind == "CPU" or node.type != "Exp")
    assert where["a"] == where["b"] == "/job:worker/replica:0/task:1/device:CPU:0"


def test_a_task_that_is_not_there_is_an_error_even_when_soft() -> None:
    with tf.device("/job:ps/task:0/cpu:0"):
        a = tf.constant(1.0, name="a")
    with pytest.raises(
        InvalidArgumentError, match="assigned to /job:ps/task:0/device:CPU:0 but the session has no such task"
    ):
        placed(a, soft=True)


def test_no_kernel_on_the_device_asked_for() -> None:
    with tf.device("/gpu:0"):
        a = raw_ops.Neg(tf.constant(1.0), name="a")
    with pytest.raises(InvalidArgumentError, match="op Neg has no kernel for types {'T': 'float32'} on GPU"):
        placed(a, has_kernel=lambda node, kind: kind == "CPU" or node.type != "Neg")


def test_a_device_that_is_not_there_matters_only_where_it_is_needed() -> None:
    with tf.device("/gpu:7"):
        raw_ops.Neg(tf.constant(1.0), name="unused")
    assert placed(tf.constant(1.0, name="a")) == {"a": "GPU:0"}


def _queue() -> list[object]:
    queue = tf.PaddingFIFOQueue(3, [tf.float32], shapes=[[]])
    return [queue.enqueue(1.0), queue.dequeue(), queue.size()]


def _table() -> list[object]:
    table = raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    return [
        raw_ops.LookupTableInsertV2(table, ["a"], tf.constant([1], tf.int64)),
        raw_ops.LookupTableFindV2(table, ["a"], tf.constant(0, tf.int64)),
    ]


def _reader() -> list[object]:
    return [tf.TextLineReader().num_records_produced()]


def _accumulator() -> list[object]:
    sums = tf.ConditionalAccumulator(tf.float32, [])
    return [sums.apply_grad(1.0), sums.take_grad(1), sums.num_accumulated()]


def _mutex() -> list[object]:
    lock = raw_ops.MutexLock(raw_ops.MutexV2())
    return [raw_ops.ConsumeMutexLock(lock)]


@pytest.mark.parametrize("make", [_queue, _table, _reader, _accumulator, _mutex])
def test_what_uses_a_resource_is_placed_with_it(make) -> None:  # type: ignore[no-untyped-def]
    two = [PREFIX + "CPU:0", PREFIX + "CPU:1"]
    with tf.device("/cpu:1"):
        ops = make()
    for op in ops[1:]:  # the maker of the handle wins
        getattr(op, "op", op)._set_device("/device:CPU:0")
    where = placed(*ops, devices=two)
    names = [getattr(op, "op", op).name for op in ops]
    assert {where[name] for name in names} == {"CPU:1"}


def test_strings_live_on_the_host() -> None:
    with tf.device("/gpu:0"):
        names = tf.constant(["a", "b", "c"], name="names")
        picked = raw_ops.GatherV2(names, tf.constant([1, 2], name="which"), 0, name="picked")
    where = placed(picked)
    assert where["names"] == where["picked"] == "CPU:0" and where["which"] == "GPU:0"
