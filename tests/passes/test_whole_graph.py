"""State has one home for the life of a graph.  The devices are those that TensorFlow 2.21 gives the same programs."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.choose_device import Chooser
from headrace.passes.whole_graph import WholeGraph

NAMES = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(4)]


def four(soft: bool = False, **options: Any) -> tf.ConfigProto:
    return tf.ConfigProto(device_count={"CPU": 4}, allow_soft_placement=soft, compile="off", **options)


def where(session: tf.Session, *fetches: Any) -> dict[str, str]:
    """The numbers of the CPUs on which a step has its nodes."""
    return {n.name: n.device[-1] for n in session.explain(list(fetches)).nodes}


def colocate(tensor: tf.Tensor, with_name: str, device: str = "") -> tf.Tensor:
    """As a node of an imported graph is: colocated, and with a device of its own."""
    tensor.op._set_attr("_class", [f"loc:@{with_name}".encode()])
    if device:
        tensor.op._set_device(device)
    return tensor


def fresh(name: str) -> tf.Tensor:
    made: tf.Tensor = raw_ops.RandomUniform([2], dtype=tf.float32, name=name)
    return made


@pytest.mark.parametrize("soft", [False, True])
def test_a_variable_is_where_its_users_ask_for_in_every_step(soft: bool) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.device("/cpu:2"):
        up = v.assign_add(1.0)
    with tf.device("/cpu:3"):
        down = v.assign_sub(1.0)  # the first one is heard
    with tf.Session(config=four(soft)) as session:
        assert where(session, v.initializer)["v"] == "2"
        session.run(v.initializer)
        assert session.run(up) == 2.0 and session.run(down) == 1.0 and session.run(v.read_value()) == 1.0
        assert {where(session, x)["v"] for x in (up, down, v.read_value())} == {"2"}
        assert where(session, down)["AssignSubVariableOp"] == "2"


def test_a_queue_is_where_its_users_ask_for_in_every_step() -> None:
    queue = tf.FIFOQueue(3, tf.float32)
    with tf.device("/cpu:2"):
        put = queue.enqueue(1.0)
    take = queue.dequeue()
    with tf.Session(config=four()) as session:
        session.run(put)
        assert session.run(take) == 1.0
        assert where(session, put)["fifo_queue"] == where(session, take)["fifo_queue"] == "2"


def test_users_in_branches_and_loops_count_and_those_in_functions_follow() -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    w = tf.get_variable("w", initializer=1.0, use_resource=True)
    u = tf.get_variable("u", initializer=1.0, use_resource=True)

    def add(variable: Any, device: str) -> Any:
        with tf.device(device):
            return variable.assign_add(1.0)

    tf.cond(tf.placeholder_with_default(True, []), lambda: add(v, "/cpu:2"), lambda: v.assign_sub(1.0))
    tf.while_loop(lambda i: i < 1.0, lambda i: add(u, "/cpu:3"), [0.0])
    inside = tf.function(lambda: add(w, "/cpu:1"))()
    with tf.Session(config=four()) as session:
        assert where(session, v.initializer)["v"] == "2" and where(session, u.initializer)["u"] == "3"
        assert where(session, w.initializer)["w"] == where(session, inside)["w"] == "0"
        session.run(w.initializer)
        assert session.run(inside) == 2.0


@pytest.mark.parametrize("soft", [False, True])
def test_what_holds_state_stays_when_the_graph_grows(soft: bool) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.Session(config=four(soft)) as session:
        session.run(v.initializer)
        with tf.device("/cpu:2"):
            add = v.assign_add(1.0)
        assert session.run(add) == 2.0
        assert where(session, add)["v"] == where(session, add)["AssignAddVariableOp"] == "0"
        near = colocate(fresh("near"), "v", "/cpu:2")
        if soft:
            assert where(session, near)["near"] == "0"
        else:
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="Cannot colocate nodes .*near.* and .*: Cannot merge"
            ):
                session.run(near)


def test_groups_without_state_follow_the_whole_graph() -> None:
    """The node that the group is named after need not be there."""
    a = colocate(fresh("a"), "nobody")
    b = colocate(fresh("b"), "nobody", "/cpu:2")
    with tf.Session(config=four()) as session:
        assert where(session, a)["a"] == where(session, b)["b"] == "2"


def contradicting_nodes() -> Any:
    with tf.device("/cpu:1"):
        fresh("x")
    return colocate(fresh("y"), "x", "/cpu:2")


def contradicting_makers() -> Any:
    with tf.device("/cpu:1"):
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.colocate_with(v.handle):
        w = tf.get_variable("w", initializer=1.0, use_resource=True)
    w.handle.op._set_device("/cpu:3")
    return w.initializer


@pytest.mark.parametrize("program", [contradicting_nodes, contradicting_makers])
def test_contradictions_are_told_at_the_first_step(program: Callable[[], Any]) -> None:
    program()
    other = fresh("other")
    with tf.Session(config=four()) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot colocate nodes") as caught:
                session.run(other)
        assert re.search(
            r"\(made at .*test_whole_graph.py:\d+\) and .*incompatible ids: '/\S+:\d' and", str(caught.value)
        )
    with tf.Session(config=four(soft=True)) as session:
        session.run(other)
    with tf.Session(config=four(graph_options=tf.GraphOptions(place_pruned_graph=True))) as session:
        session.run(other)


def test_soft_placement_of_contradictions() -> None:
    y = contradicting_nodes()
    w = contradicting_makers()
    v = tf.get_default_graph().get_operation_by_name("v/Assign")
    with tf.Session(config=four(soft=True)) as session:
        assert where(session, y)["y"] == "0"  # neither is heard
        assert where(session, v)["v"] == "1" and where(session, w)["w"] == "3"  # each maker is


def test_steps_alone_decide_where_the_config_says_so() -> None:
    """And what the first step has decided stays."""
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.device("/cpu:2"):
        add = v.assign_add(1.0)
    with tf.Session(config=four(graph_options=tf.GraphOptions(place_pruned_graph=True))) as session:
        session.run(v.initializer)
        assert session.run(add) == 2.0 and where(session, add)["v"] == "0"


def test_reasons_name_nodes_that_the_step_does_not_need() -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.device("/cpu:2"):
        v.assign_add(1.0)
    with tf.Session(config=four()) as session:
        why = {n.name: (n.cause, n.why) for n in session.explain(v.initializer).nodes}
    assert why["v/Assign"] == ("resource", "follows the resource v")
    cause, text = why["v"]
    assert cause == "shared"
    assert re.fullmatch(
        r"shares a device with AssignAddVariableOp, asked for by tf.device at .*test_whole_graph.py:\d+, "
        "which this step does not need",
        text,
    )


def test_kernels_of_functions_count() -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    tf.function(lambda: v.assign_add(1.0))()
    devices = [NAMES[0].replace("CPU:0", "GPU:0"), NAMES[0]]
    for lacking, expected in (("nothing", "GPU:0"), ("AssignAddVariableOp", "CPU:0")):
        chooser = Chooser(devices, lambda n, kind, lacking=lacking: kind == "CPU" or n.type != lacking, False)
        whole = WholeGraph(tf.get_default_graph(), chooser)
        whole.settle()
        home = whole.home(v.handle.op)
        assert home is not None and home.device.endswith(expected)


def test_only_new_nodes_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    add = WholeGraph._add
    monkeypatch.setattr(WholeGraph, "_add", lambda self, op, device: (read.append(op.name), add(self, op, device)))
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session(config=four()) as session:
        session.run(v.initializer)
        first = len(read)
        session.run(v)
        assert len(read) == first
        session.run(tf.identity(v, name="again"))
        assert read[first:] == ["again"]
