"""What a session's configuration says about devices: which are visible, where nodes went, what is refused."""

import logging

import pytest

import headrace as tf

CPU = "/job:localhost/replica:0/task:0/device:CPU:"


def two(**more):  # type: ignore[no-untyped-def]
    return tf.ConfigProto(device_count={"CPU": 2}, compile="off", **more)


def test_log_device_placement(caplog: pytest.LogCaptureFixture) -> None:
    with tf.device("/cpu:1"):
        v = tf.Variable(1.0, name="v")
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.multiply(v, x, name="y")
    z = tf.cond(x > 0.0, lambda: tf.exp(y, name="e"), lambda: y)
    with caplog.at_level(logging.INFO, "headrace.place"), tf.Session(config=two(log_device_placement=True)) as session:
        session.run(v.initializer)
        session.run(y, {x: 1.0})
        session.run([y, z], {x: 2.0})
    lines = [r.getMessage() for r in caplog.records if r.name == "headrace.place"]
    assert len(lines) == len(set(lines))  # a node is named once
    assert {
        f"v: (VariableV2): {CPU}1", f"v/Assign: (Assign): {CPU}1", f"v/read: (Identity): {CPU}1",
        f"x: (Placeholder): {CPU}0", f"y: (Mul): {CPU}0", f"cond/e: (Exp): {CPU}0",
    } <= set(lines)  # fmt: skip


def test_no_log_that_is_not_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headrace.place"), tf.Session(config=two()) as session:
        session.run(tf.constant(1.0))
    assert not caplog.records


def test_device_filters_hide_devices() -> None:
    y = tf.exp(0.0, name="y")
    with tf.Session(config=two(device_filters=["/device:CPU:1"])) as session:
        assert [d.name for d in session.list_devices()] == [f"{CPU}1"]
        assert session.run(y) == 1.0
        assert {n.device for n in session._master.plan([], [y], []).graph.nodes} == {f"{CPU}1"}
        with tf.device("/cpu:0"):
            z = tf.exp(tf.placeholder_with_default(0.0, []))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assigned to /device:CPU:0 .*\[ \S*CPU:1 \]"):
            session.run(z)
    with tf.Session(config=two(device_filters=["/job:ps", "/job:localhost"])) as session:
        assert len(session.list_devices()) == 2


@pytest.mark.parametrize(
    ("filters", "message"),
    [(["/job:ps"], "leaves no CPU.*CPU:1; a filter"), (["/gpu:0"], "leaves no CPU"), (["what"], "Unknown attribute")],
)
def test_device_filters_that_cannot_be_are_refused(filters: list[str], message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"device_filters.*{message}.*test_session_placement.py"):
        tf.Session(config=two(device_filters=filters))
