"""train_and_evaluate in a cluster: what each task that TF_CONFIG names does, and all of them together."""

import json
import os
import subprocess
import sys
import textwrap
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster.ports import free_addresses

import headrace as tf
from headrace.library.estimator import task_role
from headrace.library.estimator.estimator import _replica_device_setter, _session_config

X = {"x": np.linspace(-1, 1, 20).astype(np.float32)}
COLUMNS = [tf.feature_column.numeric_column("x")]
CLUSTER = {"chief": ["localhost:2220"], "ps": ["localhost:2221", "localhost:2222"], "worker": ["localhost:2223"] * 3}


def once() -> Any:
    return tf.estimator.inputs.numpy_input_fn(X, X["x"] * 2, 10, shuffle=False)()


def forever() -> Any:
    return tf.estimator.inputs.numpy_input_fn(X, X["x"] * 2, 10, num_epochs=None, shuffle=False)()


def regressor(folder: Path, **options: Any) -> Any:
    config = tf.estimator.RunConfig(str(folder), save_checkpoints_steps=4, **options)
    return tf.estimator.LinearRegressor(COLUMNS, config=config)


def be(monkeypatch: pytest.MonkeyPatch, job: str, index: int = 0, cluster: Any = None) -> None:
    """This process is a task of the cluster."""
    environment = {"cluster": cluster or CLUSTER, "task": {"type": job, "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(environment))


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would happen: servers that start and join, delays, calls of train."""
    noted: list[Any] = []

    class FakeServer:
        def __init__(self, cluster: Any, job: str, index: int, protocol: Any, config: Any) -> None:
            noted.append(("server", job, index))

        def join(self) -> None:
            noted.append(("join",))

    monkeypatch.setattr(task_role, "Server", FakeServer)
    monkeypatch.setattr(task_role.time, "sleep", lambda seconds: noted.append(("sleep", seconds)))
    monkeypatch.setattr(
        tf.estimator.Estimator, "train", lambda self, *args, **options: noted.append(("train", options))
    )
    return noted


def run(estimator: Any, **options: Any) -> Any:
    return tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(forever, max_steps=8), tf.estimator.EvalSpec(once, **options)
    )


class TestRoles:
    def test_a_parameter_server_joins_its_server(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[Any]
    ) -> None:
        be(monkeypatch, "ps", 1)
        assert run(regressor(tmp_path)) == (None, [])
        assert events == [("server", "ps", 1), ("join",)]

    @pytest.mark.parametrize(
        ("job", "index", "most", "delays"),
        [
            ("chief", 0, None, []),
            ("worker", 0, None, [5.0]),
            ("worker", 2, None, [15.0]),
            ("worker", 2, 7, [7.0]),
            ("worker", 2, 0, []),
        ],
    )
    def test_workers_begin_later(
        self, job: str, index: int, most: Any, delays: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        events: list[Any],
    ) -> None:  # fmt: skip
        be(monkeypatch, job, index)
        estimator = regressor(tmp_path, experimental_max_worker_delay_secs=most)
        tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(forever, 8), tf.estimator.EvalSpec(once))
        start, *slept, (_, options) = events
        assert start == ("server", job, index)
        assert slept == [("sleep", seconds) for seconds in delays]
        assert options["max_steps"] == 8 and options["saving_listeners"] == []

    def test_a_master_evaluates_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[Any]) -> None:
        be(monkeypatch, "master", 0, {"master": ["localhost:2220"], "ps": ["localhost:2221"]})
        run(regressor(tmp_path))
        assert len(events[-1][1]["saving_listeners"]) == 1

    def test_a_chief_on_its_own_needs_no_server(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[Any]
    ) -> None:
        be(monkeypatch, "chief", 0, {"chief": ["localhost:2220"]})
        run(regressor(tmp_path))
        assert [event[0] for event in events] == ["train"]

    def test_the_evaluator_ends_with_the_last_step(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        steps = iter([4, 8])

        def train_a_little(seconds: float) -> None:
            """Another task has saved a checkpoint while the evaluator slept."""
            monkeypatch.delenv("TF_CONFIG")
            regressor(tmp_path).train(forever, max_steps=next(steps))

        be(monkeypatch, "evaluator")
        estimator = regressor(tmp_path)
        monkeypatch.setattr(task_role.time, "sleep", train_a_little)
        monkeypatch.setattr(monkeypatch, "delenv", lambda name: os.environ.pop(name, None))
        results, _ = run(estimator, start_delay_secs=0, throttle_secs=60)
        assert results["global_step"] == 8
        tf.summary.FileWriterCache.clear()

    @pytest.mark.parametrize(
        ("job", "index", "says"),
        [
            ("evaluator", 1, "only be one `evaluator` task"),
            ("reader", 0, "'reader' is not supported. Supported .* chief"),
        ],
    )
    def test_what_is_refused(
        self, job: str, index: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        be(monkeypatch, job, index, {**CLUSTER, "reader": ["localhost:2229"]})
        with pytest.raises(ValueError, match=says) as raised:
            run(regressor(tmp_path))
        assert "test_task_role.py" in str(raised.value)


class TestSessions:
    def test_tasks_work_with_parameter_servers_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        be(monkeypatch, "worker", 2)
        config = tf.estimator.RunConfig()
        assert _session_config(config).device_filters == ["/job:ps", "/job:worker/task:2"]
        with tf.device(_replica_device_setter(config)):
            variables = [tf.Variable(0.0) for _ in range(3)]
            total = tf.add_n([v * 2.0 for v in variables])
        assert [v.device for v in variables] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
        assert total.device == "/job:worker/task:2"

    def test_an_evaluator_works_on_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        be(monkeypatch, "evaluator")
        config = tf.estimator.RunConfig()
        assert not _session_config(config).device_filters and _replica_device_setter(config) is None
        assert not config.cluster_spec


PROGRAM = """
    import os
    import sys
    import time
    import numpy as np
    import tensorflow as tf

    x = {"x": np.linspace(-1, 1, 40).astype(np.float32)}
    columns = [tf.feature_column.numeric_column("x")]
    train = tf.estimator.inputs.numpy_input_fn(x, x["x"] * 2, 10, num_epochs=None, shuffle=True)
    test = tf.estimator.inputs.numpy_input_fn(x, x["x"] * 2, 10, shuffle=False)
    config = tf.estimator.RunConfig(sys.argv[1], save_checkpoints_steps=100, experimental_max_worker_delay_secs=0)
    optimizer = tf.train.GradientDescentOptimizer(0.05)
    model = tf.estimator.LinearRegressor(columns, optimizer=optimizer, config=config)

    class Meet(tf.train.SessionRunHook):  # the chief does not end before the worker has begun
        def after_run(self, run_context, run_values):
            met = os.path.join(sys.argv[1], "worker has begun")
            if not config.is_chief:
                open(met, "w").close()
            for _ in range(1000):
                if os.path.exists(met):
                    break
                time.sleep(0.1)

    results, _ = tf.estimator.train_and_evaluate(
        model, tf.estimator.TrainSpec(train, max_steps=300, hooks=[Meet()]),
        tf.estimator.EvalSpec(test, start_delay_secs=0, throttle_secs=0),
    )
    print("results", results)
"""


def test_all_tasks_together(tmp_path: Path) -> None:
    """A program for TensorFlow as it is: each process is told by TF_CONFIG which task it is."""
    script, folder = tmp_path / "train.py", tmp_path / "model"
    script.write_text(textwrap.dedent(PROGRAM))
    addresses = free_addresses(3)
    cluster = {"ps": addresses[:1], "chief": addresses[1:2], "worker": addresses[2:]}
    tasks = ("ps", "chief", "worker", "evaluator")
    with ExitStack() as stack:
        processes = []
        for job in tasks:
            environment = {
                **os.environ, "HEADRACE_COMPILE": "off", "HEADRACE_JOIN_SECONDS": "8",
                "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}}),
            }  # fmt: skip
            process = subprocess.Popen(
                [sys.executable, "-m", "headrace.tensorflow", str(script), str(folder)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
            )  # fmt: skip
            processes.append(stack.enter_context(process))
            stack.callback(process.kill)
        outputs = dict(zip(tasks, [process.communicate(timeout=110)[0] for process in processes], strict=True))
    assert [process.returncode for process in processes] == [0, 0, 0, 0], outputs
    assert "'global_step': np.int64(30" in outputs["evaluator"] or "'global_step': 30" in outputs["evaluator"]
    loss = float(outputs["evaluator"].split("'average_loss': ")[-1].removeprefix("np.float32(").split(")")[0])
    assert loss < 0.05
    assert "results None" in outputs["worker"] and "results None" in outputs["chief"]
