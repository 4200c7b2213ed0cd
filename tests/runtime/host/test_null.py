"""Devices without values: the null device, which computes nothing, and accelerators of torch type meta."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from running import initialized_session

import headrace as tf
from headrace.extend import op, raw_ops, register_device, register_null_device, remove_op, unregister_device
from headrace.runtime.host.device import local_devices

OFF = {"compile": "off", "device_count": {"GPU": 0}}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register_null_device(count=2)
    register_device("META", "meta", 2, priority=-1)
    yield
    for name in ("NULL", "META"):
        unregister_device(name)


def run(fetches: object, feed: object = None, **options: object) -> object:
    with initialized_session(config=tf.ConfigProto(**{**OFF, **options})) as session:
        return session.run(fetches, feed)


def nodes_on(device: str) -> tuple[tf.Tensor, dict[str, object]]:
    """A small program with all nodes on a device -> its input, and what can be fetched."""
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.device(device):
        v = tf.get_variable("v", [4, 3])
        y = tf.nn.relu(tf.matmul(x, v))
        loss = tf.reduce_sum(y * y)
        loop = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(h)), (0, y))
        fetches = {
            "v": v, "y": y, "shape": tf.shape(y), "flat": tf.reshape(y, [tf.shape(y)[0] * 3]), "loss": loss,
            "drawn": tf.random_normal([2, 5]), "parts": tf.split(y, 3, 1), "loop": loop,
            "train": tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss),
        }  # fmt: skip
    return x, fetches


class TestNull:
    def test_partial_runs(self) -> None:
        x, fetches = nodes_on("/null:1")
        y, after = fetches["y"], tf.placeholder(tf.float32, [])
        total = tf.reduce_sum(y) + after
        with initialized_session(config=tf.ConfigProto(**OFF)) as session:
            handle = session.partial_run_setup([y, total], [x, after])
            np.testing.assert_array_equal(session.partial_run(handle, y, {x: np.ones((2, 4))}), np.zeros((2, 3)))
            assert session.partial_run(handle, total, {after: 3.0}) == 3.0

    def test_gives_zeros_of_the_right_shape(self) -> None:
        x, fetches = nodes_on("/null:1")
        found = run(fetches, {x: np.ones((2, 4))})
        assert found["shape"].tolist() == [2, 3]
        assert found["loop"][0] == 3, "loops count"
        for name, shape in {"v": (4, 3), "y": (2, 3), "flat": (6,), "drawn": (2, 5), "loss": ()}.items():
            assert found[name].shape == shape and found[name].dtype == np.float32 and not np.any(found[name])
        assert [p.shape for p in found["parts"]] == [(2, 1)] * 3

    def test_runs_no_kernel_whose_shapes_are_known(self) -> None:
        calls = []
        tested = op("NullTested(x: T) -> (y: T)", T=[tf.float32])

        @tested.kernel
        def _(x: torch.Tensor) -> torch.Tensor:
            calls.append(x.device.type)
            return x + 1

        tested.shape(lambda x: x)
        try:
            for shape, expected in (([2], []), ([None], ["meta"])):
                x = tf.placeholder(tf.float32, shape)
                with tf.device("/null:0"):
                    y = raw_ops.NullTested(x)
                assert run(y, {x: [1.0, 2.0]}).tolist() == [0.0, 0.0]
                assert calls == expected
        finally:
            remove_op("NullTested")

    def test_values_that_leave_are_zeros(self, tmp_path: Path) -> None:
        with tf.device("/null:0"):
            fed = tf.placeholder(tf.float32, [2])
            x = fed * 2.0
            w = tf.get_variable("w", initializer=tf.constant([5.0]))
        with tf.device("/cpu:0"):
            there = x + 1.0
            chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: 1, lambda: 2)
            filled = tf.fill(tf.cast(x, tf.int32), 1.0)
            called = tf.py_func(lambda a: a + 7, [x], tf.float32)
        saver = tf.train.Saver([w])
        with tf.Session(config=tf.ConfigProto(**OFF)) as session:
            session.run(w.initializer)
            found = session.run([there, chosen, filled, called], {fed: [1.0, 2.0]})
            saver.save(session, str(tmp_path / "null"))
            assert tf.train.load_variable(str(tmp_path / "null"), "w").tolist() == [0.0]
        assert [np.asarray(f).tolist() for f in found] == [[1.0, 1.0], 2, [], [7.0, 7.0]]

    def test_a_predicate_is_false_there(self) -> None:
        x = tf.placeholder(tf.float32, [])
        with tf.device("/null:0"):
            y = tf.cond(x > 0, lambda: tf.constant([1.0]), lambda: tf.constant([1.0, 2.0]))
        assert run(tf.shape(y), {x: 1.0}).tolist() == [2]

    def test_a_variable_without_a_value_is_an_error(self) -> None:
        with tf.device("/null:0"):
            v = tf.Variable([1.0, 2.0])
            add = v.assign_add([1.0, 1.0])
        with tf.Session(config=tf.ConfigProto(**OFF)) as session:
            for fetch in (v, add):
                with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                    session.run(fetch)
            session.run(v.initializer)
            assert session.run(add).tolist() == [0.0, 0.0]

    def test_a_hot_step_is_not_compiled(self) -> None:
        x, fetches = nodes_on("/null:0")
        with initialized_session(config=tf.ConfigProto(compile="always", device_count={"GPU": 0})) as session:
            assert session.run(fetches["y"], {x: np.ones((2, 4))}).tolist() == [[0.0] * 3] * 2
            plan = session._master.plan([x], [fetches["y"]], [])
            assert [p.regions for p in plan.variants.compiled.values()] == [0]

    def test_beside_the_cpu_nothing_asks_for_a_compiler(self) -> None:
        x, fetches = nodes_on("/null:0")
        with tf.Session(config=tf.ConfigProto(compile="auto", device_count={"GPU": 0})) as session:
            plan = session._master.plan([x], [fetches["y"]], [])
            assert plan.variants is None or plan.variants.mode == "off"

    def test_a_traced_step(self) -> None:
        x, fetches = nodes_on("/null:0")
        with initialized_session(config=tf.ConfigProto(**OFF)) as session:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(fetches["y"], {x: np.ones((2, 4))}, options, metadata)
        assert any("NULL" in d.device for d in metadata.step_stats.dev_stats)


class TestMeta:
    def test_shapes_flow_and_operations_run(self) -> None:
        x, fetches = nodes_on("/meta:1")
        found = run({"shape": fetches["shape"], "train": fetches["train"]}, {x: np.ones((2, 4))})
        assert found["shape"].tolist() == [2, 3] and found["train"] is None

    @pytest.mark.parametrize("name", ["v", "y", "loss", "drawn"])
    def test_values_cannot_be_fetched(self, name: str) -> None:
        x, fetches = nodes_on("/meta:0")
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            run(fetches[name], {x: np.ones((2, 4))})
        said = str(e.value)
        assert fetches[name].name in said and "no values that could be fetched" in said and "tf.shape" in said
        assert said.count("test_null.py") >= 2, "the line that made the tensor, and the line that ran it"

    def test_values_cannot_be_copied(self) -> None:
        with tf.device("/meta:0"):
            x = tf.placeholder(tf.float32, [2]) * 2.0
        with tf.device("/cpu:0"):
            y = tf.tanh(x, name="on_host")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"no values that could be copied to cpu(.|\n)*on_host"
        ):
            run(y, {x.op.inputs[0]: [1.0, 2.0]})

    def test_between_two_of_them(self) -> None:
        x = tf.placeholder(tf.float32, [None, 2])
        with tf.device("/meta:0"):
            a = tf.matmul(x, x, transpose_b=True)
        with tf.device("/meta:1"):
            b = tf.shape(tf.tanh(a))
        assert run(b, {x: np.ones((3, 2))}).tolist() == [3, 3]

    def test_a_decision_needs_values(self) -> None:
        x = tf.placeholder(tf.float32, [])
        with tf.device("/meta:0"):
            y = tf.cond(x > 0, lambda: tf.constant(1.0), lambda: tf.constant(2.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="no values"):
            run(y, {x: 1.0})

    def test_memory_that_variables_would_take(self) -> None:
        with tf.device("/meta:0"):
            v = tf.get_variable("v", [1 << 20, 1 << 10])
        with tf.Session(config=tf.ConfigProto(**OFF)) as session:
            session.run(v.initializer)
            (stats,) = [s for name, s in session.device_stats().items() if name.endswith("META:0")]
        assert stats.variable_bytes == 4 << 30 and stats.bytes_in_use is None and stats.bytes_limit is None


def test_the_devices_of_these_types() -> None:
    by_name = {d.name.rpartition("/")[2]: d for d in local_devices({"GPU": 0})}
    assert [by_name[f"device:NULL:{i}"].is_null for i in (0, 1)] == [True, True]
    assert not by_name["device:META:0"].is_null
    assert by_name["device:META:0"].torch_device != by_name["device:META:1"].torch_device
    assert local_devices({"GPU": 0})[0].device_type == "CPU", "nothing goes there unasked"
