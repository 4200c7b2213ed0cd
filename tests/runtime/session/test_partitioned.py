"""Steps over several devices of a process: what crosses, in how many messages, and how such a step ends."""

import os
import signal
import threading
from functools import partial

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf
from headrace import extend
from headrace.core.registry import REGISTRY
from headrace.graph import raw_ops
from headrace.passes.partition.cut import Cutting
from headrace.passes.partition.partition import partition
from headrace.resources.stepping.rendezvous import Rendezvous

TWO = tf.ConfigProto(device_count={"CPU": 2}, compile="off")


def on(device, function, *arguments):
    with tf.device(device):
        return function(*arguments)


@pytest.fixture
def session():
    with tf.Session(config=TWO) as session:
        yield session


@pytest.fixture
def messages(monkeypatch):
    """All that is sent, as (key, values)."""
    sent = []
    original = Rendezvous.send

    def send(table, step, key, values):
        sent.append((key, values))
        original(table, step, key, values)

    monkeypatch.setattr(Rendezvous, "send", send)
    return sent


def plan_of(session, fetches, feeds=(), targets=()):
    return session._master.plan(list(feeds), list(fetches), list(targets))


# ---- what is cut


def test_one_device_is_one_plain_plan(session):
    x = tf.placeholder(tf.float32, [2])
    y = on("/cpu:1", tf.exp, x)
    plan = plan_of(session, [y], [x])
    assert plan.partitions is None and plan.plain
    assert session.run(y, {x: [0.0, 0.0]}).tolist() == [1.0, 1.0]


def test_a_value_crosses_once_however_many_use_it(session, messages):
    x = tf.placeholder(tf.float32, [3])
    a = on("/cpu:0", tf.exp, x)
    users = [on("/cpu:1", f, a) for f in (tf.sin, tf.cos, tf.tanh)]
    session.run(users, {x: [0.1, 0.2, 0.3]})
    assert [len(values) for _, values in messages] == [1]


def test_what_crosses_in_one_round_is_one_message(session, messages):
    """As with a parameter server: one message with all weights, one with all gradients."""
    with tf.device("/cpu:1"):
        weights = [tf.Variable(np.full([4], 0.1 * i, np.float32)) for i in range(20)]
    x = tf.placeholder(tf.float32, [4])
    with tf.device("/cpu:0"):
        loss = tf.add_n([tf.reduce_sum(tf.square(w * x)) for w in weights])
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    messages.clear()
    session.run(train, {x: np.ones(4)})
    assert sorted(len(values) for _, values in messages) == [20, 20]
    plan = plan_of(session, [], [x], [train])
    (first,) = [m for m in plan.partitions.members if m.name.endswith("CPU:0")]
    assert len(first.worker.plan(first.handle).parts) == 2  # the wait, and all the rest


def test_transfers_kept_apart(session):
    x = tf.placeholder(tf.float32, [3])
    values = [on("/cpu:0", f, x) for f in (tf.sin, tf.cos)]
    sums = [on("/cpu:1", tf.reduce_sum, v) for v in values]
    from headrace.runtime.planning.plan import Request

    def takes(gather):
        graph = Request((x,), tuple(sums), ()).placed(session._master.planner.options())
        parts = {one.name[-5:]: one.graph for one in partition(graph, lambda device: device, Cutting(gather=gather))}
        return sum(n.type == "_RecvMany" for n in parts["CPU:1"].nodes)

    assert (takes(True), takes(False)) == (1, 2)


def test_a_control_edge_crosses_without_values(session, messages):
    a, b = (on(f"/cpu:{i}", tf.Variable, 0.0) for i in range(2))
    first = on("/cpu:0", a.assign_add, 1.0)
    with tf.control_dependencies([first]), tf.device("/cpu:1"):
        second = b.assign_add(5.0)
    session.run(tf.global_variables_initializer())
    messages.clear()
    session.run(second.op)
    assert [list(values) for _, values in messages] == [[]]
    assert session.run([a, b]) == [1.0, 5.0]


def test_feeds_and_fetches_of_any_place(session, messages):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    a, b = on("/cpu:0", tf.negative, x), on("/cpu:1", tf.negative, y)
    constant = on("/cpu:1", tf.constant, 7.0)
    assert session.run([a, b, x, y, constant, a], {x: 1.0, y: 2.0}) == [-1.0, -2.0, 1.0, 2.0, 7.0, -1.0]
    assert not messages  # each feed went to where it is used


def test_constants_are_copied_once_and_never_sent(session, messages):
    x = tf.placeholder(tf.float32, [3])
    large = on("/cpu:0", tf.constant, np.arange(3000, dtype=np.float32).reshape(1000, 3))
    here = on("/cpu:0", lambda: tf.reduce_sum(large * x))
    there = on("/cpu:1", lambda: tf.reduce_sum(large + x))
    session.run([here, there], {x: np.ones(3)})
    plan = plan_of(session, [here, there], [x])
    members = {m.name[-5:]: m for m in plan.partitions.members}
    kept = [m.worker.plan(m.handle) for m in members.values()]
    session.run([here, there], {x: np.ones(3)})
    assert not messages and len(members) == 2
    assert [m.worker.plan(m.handle) for m in members.values()] == kept  # registered once, with its constants


@pytest.mark.parametrize("dtype", [tf.int32, tf.bool, tf.complex64, tf.bfloat16, tf.string])
def test_values_of_all_kinds_cross(session, dtype):
    x = tf.placeholder(dtype, [2])
    y = on("/cpu:1", tf.identity, on("/cpu:0", tf.reverse, x, [0]))
    z = on("/cpu:1", tf.concat, [y, y], 0)
    fed = np.array([b"a", b"b"], object) if dtype is tf.string else np.array([0, 1]).astype(dtype.as_numpy_dtype)
    assert session.run(z, {x: fed}).tolist() == [*fed[::-1].tolist()] * 2


# ---- state


def test_what_is_sent_is_not_torn_by_an_update(session):
    """The value read before the update crosses, although the update is in place and over before the value is used."""
    v = on("/cpu:0", tf.Variable, np.zeros(1000, np.float32))
    before = v.read_value()
    with tf.control_dependencies([before]):
        update = on("/cpu:0", v.assign_add, np.ones(1000, np.float32))
    with tf.control_dependencies([update.op]), tf.device("/cpu:1"):
        used = tf.reduce_sum(before)
    session.run(v.initializer)
    for i in range(20):
        assert session.run([used, update.op])[0] == 1000 * i


def test_concurrent_steps(session):
    v = on("/cpu:1", tf.Variable, 0.0)
    x = tf.placeholder(tf.float32, [])
    y = on("/cpu:0", tf.square, x)
    add = on("/cpu:1", lambda: v.assign_add(y, use_locking=True))
    result = on("/cpu:0", tf.negative, on("/cpu:1", lambda: y + 1.0))
    session.run(v.initializer)

    def work(i):
        for _ in range(50):
            assert session.run([result, add.op], {x: float(i)})[0] == -(i * i + 1.0)

    run_threads(*(partial(work, i) for i in range(4)))
    assert session.run(v) == 50 * (0 + 1 + 4 + 9)
    assert len(session._master.worker.rendezvous) == 0


def test_a_reset_is_seen_by_registered_partitions():
    server = tf.train.Server.create_local_server(TWO)
    v = on("/cpu:1", tf.Variable, 3.0)
    y = on("/cpu:0", tf.negative, v)
    with tf.Session(server.target) as session:
        session.run(v.initializer)
        assert session.run(y) == -3.0
        tf.Session.reset(server.target)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(y)
        session.run(v.initializer)
        assert session.run(y) == -3.0


def test_partial_runs(session):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    a = on("/cpu:1", tf.negative, x)
    b = on("/cpu:0", lambda: a * y)
    handle = session.partial_run_setup([a, b], [x, y])
    assert session.partial_run(handle, a, {x: 2.0}) == -2.0
    assert session.partial_run(handle, b, {y: 3.0}) == -6.0


# ---- how a step ends


def test_devices_work_at_the_same_time(session):
    """A kernel that blocks its thread until the other device's kernel has begun; on one device it would wait for ever."""
    together = threading.Barrier(2)
    meet = extend.op("Meet(x: float32) -> (y: float32)", stateful=True)
    try:
        meet.shape(lambda x: x)
        meet.kernel(lambda x: together.wait(30) * 0 + x)
        x = tf.placeholder(tf.float32, [2])
        both = [on(f"/cpu:{i}", lambda: extend.raw_ops.Meet(tf.exp(x))) for i in range(2)]
        for value in session.run(both, {x: [0.0, 0.0]}):
            assert value.tolist() == [1.0, 1.0]
    finally:
        REGISTRY.remove("Meet")


def test_the_first_error_ends_all_partitions_and_the_next_step_is_clean(session):
    x = tf.placeholder(tf.int32, [])
    queue = on("/cpu:1", lambda: tf.FIFOQueue(10, tf.float32, [[]]))
    a = on("/cpu:0", lambda: tf.gather([1.0, 2.0], x))
    taken = on("/cpu:1", queue.dequeue)
    b = on("/cpu:1", lambda: a + taken)
    with pytest.raises(tf.errors.InvalidArgumentError, match="test_partitioned.py:") as e:
        session.run(b, {x: 9})
    assert e.value.op.type == "GatherV2" and "device:CPU:0" in e.value.message
    assert session.waiting() == "" and len(session._master.worker.rendezvous) == 0
    session.run(queue.enqueue(5.0))
    assert session.run(b, {x: 1}) == 7.0


def test_a_step_out_of_time_says_what_it_waits_for(session):
    queue = on("/cpu:1", lambda: tf.FIFOQueue(10, tf.float32, [[]], name="empty"))
    y = on("/cpu:0", tf.negative, on("/cpu:1", queue.dequeue))
    with pytest.raises(tf.errors.DeadlineExceededError, match="FIFOQueue 'empty' has 0 of 10|has not sent"):
        session.run(y, options=tf.RunOptions(timeout_in_ms=100))
    session.run(queue.enqueue(1.0))
    assert session.run(y) == -1.0


def wait_until(condition):
    for _ in range(1000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come to this")


def test_waiting_names_both_partitions_and_closing_ends_them():
    queue = on("/cpu:1", lambda: tf.FIFOQueue(10, tf.float32, [[]], name="empty"))
    y = on("/cpu:0", tf.negative, on("/cpu:1", queue.dequeue))
    session = tf.Session(config=TWO)
    ended = []

    def work():
        try:
            session.run(y)
        except tf.errors.CancelledError as e:
            ended.append(e)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: "has not sent" in session.waiting() and "'empty'" in session.waiting())
    session.close()
    thread.join(30)
    assert len(ended) == 1


def test_interrupting_a_step_of_two_partitions(session):
    queue = on("/cpu:1", lambda: tf.FIFOQueue(10, tf.float32, [[]]))
    y = on("/cpu:0", tf.negative, on("/cpu:1", queue.dequeue))

    ended = threading.Event()

    def interrupt():
        wait_until(lambda: "has not sent" in session.waiting())
        os.kill(os.getpid(), signal.SIGINT)
        if not ended.wait(20):
            session.run(queue.enqueue(0.0))  # so that the test fails, and does not end by a signal of its time limit

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        session.run(y)
    ended.set()
    thread.join()
    assert session.waiting() == "" and len(session._master.worker.rendezvous) == 0
    session.run(queue.enqueue(1.0))
    assert session.run(y) == -1.0


def test_an_error_of_a_python_function(session):
    def fail(x):
        raise ValueError("no such luck")

    x = on("/cpu:0", lambda: tf.py_func(fail, [1.0], tf.float32))
    y = on("/cpu:1", tf.negative, x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no such luck"):
        session.run(y)


# ---- what cannot be cut


def test_primitives_over_two_devices(session):
    """A conditional made of them is cut; what stays primitives, since a part of it is fetched, is refused."""
    p = tf.placeholder(tf.bool, [])
    x = on("/cpu:0", tf.constant, [1.0, 2.0])
    no, yes = on("/cpu:0", raw_ops.Switch, x + 1.0, p)
    cosine = on("/cpu:0", tf.cos, yes)
    merged, _ = on("/cpu:0", raw_ops.Merge, [on("/cpu:1", tf.sin, no), cosine])
    for value, function in ((True, np.cos), (False, np.sin)):
        np.testing.assert_allclose(session.run(merged, {p: value}), function([2.0, 3.0]), rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be on one device, but .*test_partitioned.py"):
        session.run([merged, cosine], {p: True})


def test_primitives_on_one_device_of_two(session):
    p = tf.placeholder(tf.bool, [])
    x = on("/cpu:0", tf.exp, tf.placeholder_with_default([1.0, 2.0], [2]))
    with tf.device("/cpu:1"):
        no, yes = raw_ops.Switch(x, p)
        merged, _ = raw_ops.Merge([tf.negative(no), tf.square(yes)])
    y = on("/cpu:0", tf.reduce_sum, merged)
    assert session.run(y, {p: True}) == pytest.approx(np.square(np.exp([1.0, 2.0])).sum(), rel=1e-5)
    assert session.run(y, {p: False}) == pytest.approx(-np.exp([1.0, 2.0]).sum(), rel=1e-5)


@pytest.mark.parametrize("fetched", ["", "/cpu:0", "/cpu:1"])
def test_a_group_runs_what_is_on_every_device_and_nothing_is_sent_for_it(session, messages, fetched):
    x = tf.placeholder(tf.float32, [])
    sums = [on(f"/cpu:{i % 2}", tf.Variable, 0.0) for i in range(4)]
    other = on(fetched, tf.sin, x)
    ones = [on("/cpu:1", tf.identity, x), on("/cpu:0", tf.identity, x)]  # each is sent to the other device
    changes = [on(f"/cpu:{i % 2}", tf.multiply, ones[i % 2], i + 1.0) for i in range(4)]
    adds = [
        on(f"/cpu:{i % 2}", tf.assign_add, one, change)
        for i, (one, change) in enumerate(zip(sums, changes, strict=True))
    ]
    with tf.control_dependencies([tf.group(*adds)]):  # this group comes before something, so it is waited for
        clears = [on(f"/cpu:{i % 2}", tf.assign, one, one * 10.0) for i, one in enumerate(sums)]
    add, clear = tf.group(*adds), tf.group(*clears)
    session.run([v.initializer for v in sums])
    messages.clear()
    fetches = [other, add] if fetched else add
    for n in range(1, 4):
        session.run(fetches, {x: 1.0})
        assert session.run(sums) == [n * (i + 1.0) for i in range(4)]
    assert all(values for _, values in messages)
    session.run(clear, {x: 1.0})
    assert session.run(sums) == [40.0 * (i + 1.0) for i in range(4)]
