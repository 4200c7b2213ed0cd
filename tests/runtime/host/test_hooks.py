"""Hooks of a device type: what they are asked for, by which kinds of step, and what memory comes to."""

from __future__ import annotations

import gc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from resources.calls import run_threads
from runtime.host.counting_device import Counting, registered

import headrace as tf
from headrace import extend
from headrace.eager.context import EagerContext
from headrace.graph import raw_ops
from headrace.runtime.host.device import local_devices, part_of

OFF = {"compile": "off", "device_count": {"GPU": 0}}
X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


def session(**options: Any) -> tf.Session:
    return tf.Session(config=tf.ConfigProto(**{**OFF, **options}))


# ---- what is asked for


@pytest.mark.parametrize("compiled", ["off", "always"])
def test_a_step_copies_its_feed_launches_its_kernels_and_copies_its_fetch(npu: Counting, compiled: str) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.device("/npu:0"):
        y = tf.tanh(x) * x
    with session(compile=compiled) as sess:
        np.testing.assert_allclose(sess.run(y, {x: X}), np.tanh(X) * X, rtol=1e-6)
        assert npu.copies == [("host", "NPU:0", 24), ("NPU:0", "host", 24)]
        assert npu.launches == [("Tanh", "NPU:0"), ("Mul", "NPU:0")]
        assert npu.allocations == [("NPU:0", (2, 3))] * 3  # the feed and both results
        assert npu.bytes == {"NPU:0": 0}
        assert npu.most == {"NPU:0": 72}


def test_a_launch_says_which_node_it_is_for(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.device("/npu:1"):
        y = tf.exp(x, name="grown")
    with session() as sess:
        sess.run(y, {x: X})
    (node,) = npu.nodes
    assert (node.name, node.op, node.device.name) == ("grown", "Exp", "/job:localhost/replica:0/task:0/device:NPU:1")
    assert "test_hooks.py" in node.source


def test_a_constant_is_copied_once_and_lives_as_long_as_the_session(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.device("/npu:0"):
        y = x + np.ones([2, 3], np.float32)
    with session() as sess:
        sess.run(y, {x: X})
        sess.run(y, {x: X})
        assert npu.copies.count(("host", "NPU:0", 24)) == 3  # two feeds and the constant
        assert npu.bytes == {"NPU:0": 24}
    assert npu.bytes == {"NPU:0": 0}


def test_a_view_is_no_new_memory_and_not_contiguous_values_are_copied_whole(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.device("/npu:0"):
        y = tf.transpose(tf.reshape(x, [3, 2]))
    with session() as sess:
        np.testing.assert_array_equal(sess.run(y, {x: X}), X.reshape(3, 2).T)
    assert npu.most == {"NPU:0": 24}
    assert npu.copies[-1] == ("NPU:0", "host", 24)


def test_shapes_strings_and_integers_of_the_host_stay_there(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.device("/npu:0"):
        rows = tf.shape(x)[0] + 1
        text = tf.string_join([tf.as_string(rows), "rows"])
    with session() as sess:
        assert sess.run([rows, text], {x: X}) == [3, b"3rows"]
    assert not npu.launches


def test_several_outputs_lists_and_empty_values(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    none = tf.placeholder(tf.float32, [0, 3])
    with tf.device("/npu:0"):
        parts = tf.split(x, 3, axis=1)
        best = tf.nn.top_k(x, 2)
        mean, variance = tf.nn.moments(x, [0])
        empty = none + 1.0
    with session() as sess:
        a, b, c, d, e = sess.run([parts[2], best.values, best.indices, variance, empty], {x: X, none: np.zeros((0, 3))})
    assert a.tolist() == [[3.0], [6.0]] and b.tolist() == [[3.0, 2.0], [6.0, 5.0]]
    assert c.tolist() == [[2, 1], [2, 1]] and d.tolist() == [2.25] * 3 and e.shape == (0, 3)
    assert npu.bytes == {"NPU:0": 0}


def test_a_copy_gets_contiguous_tensors_also_of_conjugates(npu: Counting) -> None:
    x = tf.placeholder(tf.complex64, [2])
    with tf.device("/npu:0"):
        y = tf.conj(x)
    with session() as sess:
        assert sess.run(y, {x: [1 + 2j, 3]}).tolist() == [1 - 2j, 3]


def test_only_the_hooks_that_there_are(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    for i, hooks in enumerate(
        (
            extend.DeviceHooks(allocate=npu.allocate),
            extend.DeviceHooks(copy=npu.copy),
            extend.DeviceHooks(launch=npu.launch),
        )
    ):
        npu.clear()
        with registered("ONE", hooks):
            with tf.device("/one:0"):
                y = tf.exp(x)
            with session() as sess:
                np.testing.assert_allclose(sess.run(y, {x: X}), np.exp(X), rtol=1e-6)
        asked = [len(npu.allocations), len(npu.copies), len(npu.launches)]
        assert asked == [[2, 0, 0], [0, 2, 0], [0, 0, 1]][i]


def test_a_launch_hook_may_give_outputs_of_its_own() -> None:
    hooks = extend.DeviceHooks(launch=lambda run, node: run() + 100.0 if node.op == "Mul" else run())
    with registered("NPU", hooks):
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/npu:0"):
            y = -(x * x)
        with session() as sess:
            assert sess.run(y, {x: [1.0, 2.0]}).tolist() == [-101.0, -104.0]


def test_a_kernel_of_the_type_is_what_is_launched(npu: Counting) -> None:
    op = extend.op("Twice(x: float) -> (y: float)", view=False)
    try:
        op.kernel(lambda x: x + x)
        op.kernel(lambda x: x * 20.0, device="NPU")
        x = tf.placeholder(tf.float32, [1])
        with tf.device("/npu:0"):
            y = raw_ops.Twice(x)
        with session() as sess:
            assert sess.run(y, {x: [1.0]}).tolist() == [20.0]
        assert npu.ops == ["Twice"]
    finally:
        extend.remove_op("Twice")


# ---- state


def model(device: str) -> tuple[tf.Tensor, tf.Tensor, tf.Operation]:
    """A small network with 3 * 4 + 4 + 4 * 1 = 20 weights, trained with momentum: 20 more."""
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    with tf.device(device):
        w = tf.get_variable("w", [3, 4], initializer=tf.constant_initializer(0.1))
        b = tf.get_variable("b", [4], initializer=tf.zeros_initializer())
        v = tf.get_variable("v", [4, 1], initializer=tf.constant_initializer(0.2))
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w) + b), v) - 1.0))
        train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    return x, loss, train


WEIGHTS = 20 * 4  # bytes
INITIAL = 2 * WEIGHTS  # the constants that the variables and their slots begin with


@pytest.mark.parametrize("compiled", ["off", "auto", "always"])
def test_a_training_step_is_counted_to_the_byte(npu: Counting, compiled: str) -> None:
    losses = {}
    for device in ("/cpu:0", "/npu:0"):
        with tf.Graph().as_default():
            x, loss, train = model(device)
            with session(compile=compiled) as sess:
                sess.run(tf.global_variables_initializer())
                if device == "/npu:0":
                    assert npu.bytes == {"NPU:0": 2 * WEIGHTS + INITIAL}
                    (stats,) = [s for name, s in sess.device_stats().items() if name.endswith("NPU:0")]
                    assert stats.variable_bytes == 2 * WEIGHTS
                sess.run([loss, train], {x: X})
                after = npu.bytes.get("NPU:0")
                losses[device] = [sess.run([loss, train], {x: X})[0] for _ in range(3)]
                assert npu.bytes.get("NPU:0") == after  # each step gives back what it took
                gc.collect()
                assert npu.bytes.get("NPU:0") == after
    np.testing.assert_allclose(losses["/npu:0"], losses["/cpu:0"], rtol=1e-5)
    assert npu.bytes == {"NPU:0": 0}
    assert npu.most["NPU:0"] > 2 * WEIGHTS + INITIAL
    assert {"MatMul", "Relu"} <= set(npu.ops)


def test_variables_are_in_memory_of_the_hook_however_they_get_their_values(npu: Counting, tmp_path: Path) -> None:
    with tf.device("/npu:0"):
        v = tf.get_variable("v", [4], initializer=tf.zeros_initializer())
        r = tf.get_variable("r", [4], use_resource=True, initializer=tf.ones_initializer())
        fed = tf.placeholder(tf.float32, [None])
        grow = tf.assign(v, fed, validate_shape=False)
        add = r.assign_add(tf.ones([4]))
        scatter = tf.scatter_update(v, [1], [7.0])
    saver = tf.train.Saver([v, r])
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run([add, scatter])
        path = saver.save(sess, str(tmp_path / "model"))
    assert npu.bytes == {"NPU:0": 0}
    with session() as sess:
        saver.restore(sess, path)
        assert npu.bytes == {"NPU:0": 32}
        assert sess.run([v, r])[0].tolist() == [0.0, 7.0, 0.0, 0.0]
        assert sess.run(r).tolist() == [2.0] * 4
        sess.run(grow, {fed: np.arange(8.0)})
        assert npu.bytes == {"NPU:0": 48}  # the old buffer is given back
    assert npu.bytes == {"NPU:0": 0}


def test_the_memory_of_a_closed_session_is_free_without_the_collector() -> None:
    gc.disable()
    try:
        counting = Counting()
        with registered("NPU", counting.hooks):
            x = tf.placeholder(tf.float32, [None])
            with tf.device("/npu:0"):
                v = tf.get_variable("v", initializer=np.ones(4, np.float32))
                y = v * tf.reduce_sum(x)
            with session(compile="auto") as sess:
                sess.run(v.initializer)
                for _ in range(3):
                    sess.run(y, {x: [1.0]})
            assert counting.bytes == {"NPU:0": 0}
    finally:
        gc.enable()


# ---- control flow and functions


def test_kernels_in_conditionals_and_loops_are_launched_and_their_holders_are_not(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/npu:0"):
        loop = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.sin(h)), (0, x))[1]
        branch = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x), lambda: tf.cos(x))
    with session() as sess:
        a, b = sess.run([loop, branch], {x: [0.5, 1.0]})
        np.testing.assert_allclose(a, np.sin(np.sin(np.sin([0.5, 1.0]))), rtol=1e-6)
        np.testing.assert_allclose(b, np.exp([0.5, 1.0]), rtol=1e-6)
        assert npu.ops.count("Sin") == 3 and npu.ops.count("Exp") == 1 and "Cos" not in npu.ops
        assert not {"While", "If"} & set(npu.ops)
        left = npu.bytes["NPU:0"]
        sess.run([loop, branch], {x: [0.5, 1.0]})
        assert npu.bytes["NPU:0"] == left <= 4  # the constant of the condition


@pytest.mark.parametrize("flow", ["auto", "lowered"])
def test_the_gradient_of_a_loop_is_the_one_of_the_cpu(npu: Counting, flow: str) -> None:
    results = []
    for device in ("/cpu:0", "/npu:0"):
        with tf.Graph().as_default(), session(control_flow=flow) as sess:
            x = tf.placeholder(tf.float32, [2])
            with tf.device(device):
                w = tf.get_variable("w", initializer=np.array([0.5, 2.0], np.float32))
                _, y, _ = tf.while_loop(
                    lambda i, h, w: i < 4,
                    lambda i, h, w: (i + 1, tf.cond(tf.reduce_sum(h) > 0.0, lambda: tf.tanh(h * w), lambda: h - w), w),
                    (0, x, w),
                )
                grad = tf.gradients(tf.reduce_sum(y), [x, w])
            sess.run(w.initializer)
            results.append(sess.run([y, *grad], {x: [0.3, -0.1]}))
    for cpu, there in zip(*results, strict=True):
        np.testing.assert_allclose(there, cpu, rtol=1e-5)
    assert "Tanh" in npu.ops and npu.bytes == {"NPU:0": 0}


def test_primitives_hand_values_on_in_the_memory_of_the_host(npu: Counting) -> None:
    x, p = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool, [])
    with tf.device("/npu:0"):
        off, on = raw_ops.Switch(tf.exp(x), p)
        y = raw_ops.Merge([tf.sin(off), tf.cos(on)]).output
    with session(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1))) as sess:
        np.testing.assert_allclose(sess.run(y, {x: [0.0, 1.0], p: True}), np.cos(np.exp([0.0, 1.0])), rtol=1e-6)
        np.testing.assert_allclose(sess.run(y, {x: [0.0, 1.0], p: False}), np.sin(np.exp([0.0, 1.0])), rtol=1e-6)
    assert npu.bytes == {"NPU:0": 0}


@pytest.mark.parametrize("decorator", [tf.function, tf.Defun(tf.int32, tf.float32)], ids=["function", "Defun"])
def test_kernels_in_functions_that_call_themselves(npu: Counting, decorator: Any) -> None:
    @decorator
    def add(n: Any, x: Any) -> Any:
        return tf.cond(n > 0, lambda: add(n - 1, x) + tf.exp(x), lambda: x * 0.0)

    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [2])
    with tf.device("/npu:0"):
        y = add(n, x)
        (slope,) = tf.gradients(y, x)
    with session() as sess:
        np.testing.assert_allclose(sess.run([y, slope], {n: 5, x: [0.0, 1.0]}), [5 * np.exp([0.0, 1.0])] * 2, rtol=1e-6)
        assert npu.ops.count("Exp") >= 5
    gc.collect()  # the code of such a function refers to itself
    assert npu.bytes == {"NPU:0": 0}


def test_queues_hold_what_is_in_the_memory_of_the_host(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/npu:0"):
        queue = tf.FIFOQueue(3, [tf.float32], [[2]])
        put, got = queue.enqueue(tf.exp(x)), tf.sqrt(queue.dequeue())
    with session() as sess:
        sess.run(put, {x: [0.0, 2.0]})
        assert npu.copies[-1] == ("NPU:0", "host", 8) and npu.bytes == {"NPU:0": 0}
        np.testing.assert_allclose(sess.run(got), np.exp([0.0, 1.0]), rtol=1e-6)
        assert npu.copies[-2:] == [("host", "NPU:0", 8), ("NPU:0", "host", 8)]


# ---- several devices


@pytest.mark.parametrize(("partition", "between"), [("auto", [("NPU:0", "NPU:1", 24)]), ("always", [])])
def test_two_devices_of_the_type(npu: Counting, partition: str, between: list[Any]) -> None:
    """In one partition a value goes from one to the other directly, between two of them by way of the host."""
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.device("/npu:0"):
        y = tf.exp(x)
    with tf.device("/npu:1"):
        z = tf.sqrt(y)
    with session(partition=partition) as sess:
        np.testing.assert_allclose(sess.run(z, {x: X}), np.exp(X / 2), rtol=1e-5)
        through = [c for c in npu.copies if "host" not in c]
        assert through == between
        assert sorted(npu.launches) == [("Exp", "NPU:0"), ("Sqrt", "NPU:1")]
        assert npu.bytes == {"NPU:0": 0, "NPU:1": 0}
        transfers = [(t.source[-5:], t.destination[-5:]) for t in sess.explain(z, {x: X}).transfers]
        assert ("NPU:0", "NPU:1") in transfers


def test_two_types_copy_by_way_of_the_host(npu: Counting) -> None:
    other = Counting()
    x = tf.placeholder(tf.float32, [2, 3])
    with registered("TPU", other.hooks, 1):
        with tf.device("/npu:0"):
            y = tf.exp(x)
        with tf.device("/npu:1"):
            y = tf.identity(y + y)
        with tf.device("/tpu:0"):
            z = tf.sqrt(y)
        with session() as sess:
            np.testing.assert_allclose(sess.run(z, {x: X}), np.sqrt(2 * np.exp(X)), rtol=1e-5)
    assert npu.copies == [("host", "NPU:0", 24), ("NPU:0", "NPU:1", 24), ("NPU:1", "host", 24)]
    assert other.copies == [("host", "TPU:0", 24), ("TPU:0", "host", 24)]


@pytest.mark.parametrize("late", [False, True])
def test_transfers_between_a_cpu_and_devices_of_their_own_partitions(npu: Counting, late: bool) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    v = tf.get_variable("v", initializer=X)
    with tf.device("/npu:0"):
        y = tf.exp(x) * v
    with tf.device("/cpu:0"):
        z = y + tf.sqrt(v)
    with session(partition="always", late_transfers=late) as sess:
        sess.run(v.initializer)
        np.testing.assert_allclose(sess.run(z, {x: X}), np.exp(X) * X + np.sqrt(X), rtol=1e-5)
    assert {c[:2] for c in npu.copies} == {("host", "NPU:0"), ("NPU:0", "host")}


@pytest.mark.parametrize("partition", ["auto", "always"])
def test_a_loop_over_two_devices(npu: Counting, partition: str) -> None:
    x = tf.placeholder(tf.float32, [2])

    def body(i: Any, h: Any) -> Any:
        with tf.device("/npu:1"):
            h = tf.sin(h)
        with tf.device("/cpu:0"):
            return i + 1, h * 2.0

    with tf.device("/npu:0"):
        start = tf.exp(x)
        _, y = tf.while_loop(lambda i, h: i < 3, body, (0, start))
    with session(partition=partition) as sess:
        expected = np.exp([0.5, 1.0])
        for _ in range(3):
            expected = np.sin(expected) * 2
        np.testing.assert_allclose(sess.run(y, {x: [0.5, 1.0]}), expected, rtol=1e-5)
    assert npu.launches.count(("Sin", "NPU:1")) == 3


def test_partial_runs_and_traced_steps(npu: Counting) -> None:
    x, z = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    with tf.device("/npu:0"):
        y = tf.exp(x)
    with tf.device("/npu:1"):
        total = y + z
    with session() as sess:
        handle = sess.partial_run_setup([y, total], [x, z])
        assert sess.partial_run(handle, y, {x: [0.0, 0.0]}).tolist() == [1.0, 1.0]
        assert sess.partial_run(handle, total, {z: [1.0, 2.0]}).tolist() == [2.0, 3.0]
        assert ("NPU:0", "NPU:1", 8) in npu.copies
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert sess.run(total, {x: [0.0, 0.0], z: [1.0, 2.0]}, options, metadata).tolist() == [2.0, 3.0]
        assert any("NPU:1" in d.device for d in metadata.step_stats.dev_stats)


def test_concurrent_steps_give_back_what_they_take(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/npu:0"):
        y = tf.reduce_sum(tf.exp(x) * x)
    with session() as sess:
        sess.run(y, {x: [1.0]})
        results: list[float] = []

        def work(size: int) -> None:
            for _ in range(20):
                results.append(sess.run(y, {x: np.zeros(size)}))

        run_threads(*(partial(work, i + 1) for i in range(4)))
        assert results == [0.0] * 80
        assert npu.bytes == {"NPU:0": 0}


@pytest.mark.parametrize(("mode", "parts"), [("auto", ["CPU:0", "GPU:0", "NPU:0", "NPU:0"]), ("always", None)])
def test_beside_a_gpu_devices_of_the_type_are_a_partition(npu: Counting, mode: str, parts: list[str] | None) -> None:
    hooked = [d for d in local_devices(prefix="/task:0") if d.hooks is not None]
    others = [extend.Device("/task:0/device:CPU:0", "CPU", torch.device("cpu"))]
    others.append(extend.Device("/task:0/device:GPU:0", "GPU", torch.device("cuda", 0)))
    part = part_of([*others, *hooked], mode)
    assert [part(d.name)[-5:] for d in (*others, *hooked)] == (parts or ["CPU:0", "GPU:0", "NPU:0", "NPU:1"])


# ---- the rest of the system


def test_explain_says_that_such_a_device_is_not_compiled(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.device("/npu:0"):
        y = tf.exp(x) * x + 1.0
    with session(compile="always") as sess:
        sess.run(y, {x: X})
        (strand,) = sess.explain(y, {x: X}).strands
    assert (strand.tier, strand.regions, strand.arrays) == ("interpreted", 0, 0)


def test_the_cpu_beside_such_a_device_is_compiled(npu: Counting) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.exp(x) * x + tf.sqrt(x)
    with tf.device("/npu:0"):
        z = tf.tanh(y) * y
    after = tf.exp(-z) * z + tf.sqrt(z)
    with session(compile="always") as sess:
        before = np.exp(X) * X + np.sqrt(X)
        expected = np.tanh(before) * before
        np.testing.assert_allclose(sess.run(after, {x: X}), np.exp(-expected) * expected + np.sqrt(expected), rtol=1e-5)
        assert sess.explain(after, {x: X}).strands[0].regions == 2
    assert npu.ops == ["Tanh", "Mul"]
    assert npu.copies == [("host", "NPU:0", 24), ("NPU:0", "host", 24)]


def test_a_type_without_hooks_is_what_it_was() -> None:
    """No line of its steps differs from those on the CPU."""
    sources = []
    for hooks in (None, extend.DeviceHooks()):
        with registered("NPU", hooks, 1):
            x = tf.placeholder(tf.float32, [2, 3])
            for device in ("/cpu:0", "/npu:0"):
                with tf.device(device):
                    y = tf.reduce_sum(tf.exp(x))
                with session() as sess:
                    assert all(d.hooks is None for d in sess._master.devices)
                    sources.append(sess._master.plan([x], [y], []).programs[0].source)
    assert len(set(sources)) == 1


def test_the_type_passes_every_check_of_a_device(npu: Counting) -> None:
    report = extend.devicecheck("NPU", config=tf.ConfigProto(**OFF))
    assert not report.failed
    gc.collect()
    assert npu.bytes == {"NPU:0": 0, "NPU:1": 0}


def test_ops_do_not_run_eagerly_on_it(npu: Counting) -> None:
    eager = EagerContext()
    with eager.as_default():
        assert eager.place() == torch.device("cpu")
        with (
            tf.device("/npu:0"),
            pytest.raises(tf.errors.UnimplementedError, match=r"NPU:0 has hooks.*eagerly.*test_hooks"),
        ):
            eager.place()
