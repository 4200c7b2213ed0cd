"""tf.train.replica_device_setter and the strategies of tf.contrib.training, against TensorFlow's devices."""

import json
import logging
from pathlib import Path

import pytest
from golden import replica_device_cases as cases

import headrace as tf

GOLDEN = json.loads((Path(cases.__file__).parent / "replica_devices.json").read_text())

# Where Headrace differs, and nothing but the name of a device does.
ELSEWHERE = (
    "/ReadVariableOp",  # TensorFlow 1.15 puts these beside the variable, as Headrace does; later ones let the placer
    "AssignMovingAvg",  # computed where the average is
    "queue", "sync_token_q",  # TensorFlow names the CPU; here queues are on the host whatever the device
    "embedding_lookup_grad/Shape",  # a constant here
)  # fmt: skip


@pytest.mark.parametrize("name", cases.CASES)
def test_devices_are_tensorflows(name: str) -> None:
    devices, golden = cases.devices(tf, name), GOLDEN[name]
    shared = [op for op in devices if op in golden and not any(part in op for part in ELSEWHERE)]
    assert {op: devices[op] for op in shared} == {op: golden[op] for op in shared}


def test_most_nodes_are_compared() -> None:
    shared = sum(len(cases.devices(tf, name).keys() & GOLDEN[name].keys()) for name in cases.CASES)
    assert shared > 0.8 * sum(map(len, GOLDEN.values()))


def placed(strategy: object, shapes: list[list[int]], use_resource: bool = False) -> list[str]:
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)):
        made = [
            tf.get_variable("Variable" + f"_{i}" * (i > 0), shape, use_resource=use_resource)
            for i, shape in enumerate(shapes)
        ]
        return [v.device for v in made]


class TestStrategies:
    @pytest.mark.parametrize("use_resource", [False, True])
    def test_greedy_by_bytes(self, use_resource: bool) -> None:
        greedy = tf.contrib.training.GreedyLoadBalancingStrategy(2, tf.contrib.training.byte_size_load_fn)
        shapes = [[2, 2], [2, 1], [2, 2], [1, 3]]
        expected = ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:1", "/job:ps/task:0"]
        assert placed(greedy, shapes, use_resource) == expected

    def test_random_is_tensorflows_hash(self) -> None:
        devices = placed(tf.contrib.training.RandomStrategy(2, seed=0), [[2]] * 4)
        assert devices == [f"/job:ps/task:{task}" for task in (1, 0, 1, 1)]

    def test_what_is_not_a_function(self) -> None:
        with pytest.raises(TypeError, match=r"ps_strategy must be callable.*got 3 .*test_device_setter.py"):
            tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3)  # type: ignore[arg-type]

    def test_what_is_not_a_cluster(self) -> None:
        with pytest.raises(TypeError, match=r"`cluster` must be a dictionary"):
            tf.train.replica_device_setter(cluster="ps0:2222")


def test_no_parameter_servers() -> None:
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["w0:1"]}) is None
    with tf.device("/cpu:0"), tf.device(tf.train.replica_device_setter()):
        assert not tf.constant(1).device


def test_without_merging_there_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tensorflow"):
        tf.train.replica_device_setter(ps_tasks=1, merge_devices=False)
    assert "merge_devices=true" in caplog.text
