"""RunConfig: its defaults, its replacements, and the task that TF_CONFIG gives a process."""

import json
from typing import Any

import pytest

import headrace as tf

RunConfig = tf.estimator.RunConfig


def test_defaults() -> None:
    config = RunConfig()
    assert (config.save_checkpoints_secs, config.save_checkpoints_steps, config.keep_checkpoint_max) == (600, None, 5)
    assert (config.save_summary_steps, config.log_step_count_steps, config.tf_random_seed) == (100, 100, None)
    assert (config.task_type, config.task_id, config.master, config.is_chief) == ("worker", 0, "", True)
    assert (config.num_ps_replicas, config.num_worker_replicas, config.global_id_in_cluster) == (0, 1, 0)
    assert config.model_dir is None
    assert not config.cluster_spec


def test_replacing_makes_another_one() -> None:
    config = RunConfig(save_checkpoints_secs=30)
    other = config.replace(save_checkpoints_steps=5, model_dir="/a")
    assert (other.save_checkpoints_steps, other.save_checkpoints_secs, other.model_dir) == (5, None, "/a")
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs, config.model_dir) == (None, 30, None)
    assert other.replace(keep_checkpoint_max=1).save_checkpoints_steps == 5


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"save_checkpoints_steps": 1, "save_checkpoints_secs": 1}, ValueError, "Only one of `save_checkpoints_steps`"),
        ({"save_checkpoints_steps": -1}, ValueError, "save_checkpoints_steps must be a number at least 0.*got -1"),
        ({"log_step_count_steps": 0}, ValueError, "log_step_count_steps must be a number above 0.*got 0"),
        ({"copies_secs": 0}, ValueError, "copies_secs must be a number above 0.*got 0"),
        ({"keep_checkpoint_max": "5"}, ValueError, "keep_checkpoint_max must be a number.*got '5'"),
        ({"session_config": {}}, ValueError, "session_config must be a tf.ConfigProto"),
        ({"tf_random_seed": 1.5}, ValueError, "tf_random_seed must be a whole number"),
        ({"device_fn": "cpu"}, ValueError, "device_fn must be a function"),
        ({"protocol": "http"}, ValueError, "protocol must be"),
        ({"model_dir": ""}, ValueError, "model_dir should be non-empty"),
        ({"train_distribute": object()}, TypeError, "takes a tf.distribute.Strategy"),
    ],
)
def test_what_is_refused(arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        RunConfig(**arguments)
    assert "test_run_config.py" in str(raised.value)
    with pytest.raises(error, match=says):
        RunConfig().replace(**arguments)


def test_only_settings_can_be_replaced() -> None:
    with pytest.raises(ValueError, match=r"Replacing \['master'\] is not supported"):
        RunConfig().replace(master="grpc://x")


CLUSTER = {"chief": ["a:1"], "ps": ["b:1", "c:1"], "worker": ["d:1", "e:1"]}


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (("chief", 0), (True, 2, 3, 0, "grpc://a:1")),
        (("worker", 1), (False, 2, 3, 2, "grpc://e:1")),
        (("ps", 1), (False, 2, 3, 4, "grpc://c:1")),
        (("evaluator", 0), (False, 0, 0, None, "")),
    ],
)
def test_a_task_of_a_cluster(monkeypatch: pytest.MonkeyPatch, task: Any, expected: Any) -> None:
    text = json.dumps({"cluster": CLUSTER, "task": {"type": task[0], "index": task[1]}, "model_dir": "/m"})
    monkeypatch.setenv("TF_CONFIG", text)
    config = RunConfig()
    assert (config.task_type, config.task_id) == task
    found = (config.is_chief, config.num_ps_replicas, config.num_worker_replicas, config.global_id_in_cluster)
    assert (*found, config.master) == expected
    assert config.model_dir == "/m"
    with pytest.raises(ValueError, match="model_dir is '/n' in the RunConfig and '/m' in TF_CONFIG"):
        RunConfig("/n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "TF_CONFIG must be JSON, got '{'"),
        ("[1]", "must be a JSON object"),
        ('{"task": {"type": "worker", "index": 3}}', "got type 'worker', index 3"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}', 'must have one "chief" node'),
        ('{"cluster": {"chief": ["a:1"]}}', "task type and index must be set"),
        ('{"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 4}}', "4 is not a valid task of 'chief'"),
    ],
)
def test_mistakes_in_the_environment(monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=says):
        RunConfig()
