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
    with pytest.raises(InvalidArgumentError, match=r"Cannot colocate b \(made at .*test_place.py:\d+\)"):
        placed(b)
    assert placed(b, soft=True) == {"a": "GPU:1", "b": "GPU:1"}


def test_contradicting_makers() -> None:
    with tf.device("/gpu:1"):
        v = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="v")
    with tf.device("/gpu:0"):
        m = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="m")
    update = raw_ops.ApplyMomentum(v, m, 0.1, [1.0, 2.0], 0.9, name="update")
    with pytest.raises(
        InvalidArgumentError, match="Cannot colocate m .*asks for /device:GPU:0.* ask for /device:GPU:1"
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


def test_strings_live_on_the_host() -> None:
    with tf.device("/gpu:0"):
        names = tf.constant(["a", "b", "c"], name="names")
        picked = raw_ops.GatherV2(names, tf.constant([1, 2], name="which"), 0, name="picked")
    where = placed(picked)
    assert where["names"] == where["picked"] == "CPU:0" and where["which"] == "GPU:0"
