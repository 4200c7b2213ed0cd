"""What tasks run: the flags that a script defines, arguments, TF_CONFIG; what cannot be a cluster."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

import headrace.cluster
from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.ray_engine.options import Options
from headrace.cluster.ray_engine.program import FLAGS, TaskName, arguments_for, flags_of, tf_config


@pytest.mark.parametrize(
    "source, flags",
    [
        ("tf.app.flags.DEFINE_string('job_name', '', 'ps or worker')", ["job_name"]),
        ("flags.DEFINE_integer('task_index', 0, ''); DEFINE_list('ps_hosts', [], '')", ["task_index", "ps_hosts"]),
        (
            "parser.add_argument('-j', '--job_name')\nparser.add_argument('--worker_hosts')",
            ["job_name", "worker_hosts"],
        ),
        ("@click.option('--task_index')\ndef main(task_index): pass", ["task_index"]),
        ("tf.train.Server(cluster, job_name='ps', task_index=0)", []),
        ("print('job_name'); x = {'ps_hosts': 1}; DEFINE_string(name, 'job_name2', '')", []),
        ("# flags.DEFINE_string('job_name')", []),
        ("not python at all", []),
    ],
)
def test_flags_that_a_script_defines(source: str, flags: list[str]) -> None:
    assert flags_of(source) == flags


def test_arguments_of_a_task() -> None:
    program = ["train.py", "--batch=64", "--task_index", "5", "file"]
    arguments = arguments_for(TaskName("worker", 1), program, FLAGS, ["a:1", "b:2"], ["c:3", "d:4"])
    assert arguments == [
        "-m", "headrace.tensorflow", "train.py", "--job_name=worker", "--ps_hosts=a:1,b:2", "--worker_hosts=c:3,d:4",
        "--batch=64", "--task_index", "5", "file",
    ]  # fmt: skip
    assert arguments_for(TaskName("ps", 0), ["train.py"], [], ["a:1"], []) == ["-m", "headrace.tensorflow", "train.py"]


def test_tf_config() -> None:
    whole = ClusterSpec({"ps": ["a:1"], "worker": ["b:2", "c:3"]})
    assert json.loads(tf_config(TaskName("worker", 1), whole)) == {
        "cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]}, "task": {"type": "worker", "index": 1},
    }  # fmt: skip
    added = ClusterSpec({"ps": ["a:1"], "worker": {4: "d:4"}})
    described = json.loads(tf_config(TaskName("worker", 4), added))
    assert ClusterSpec(described["cluster"]) == added


def test_the_chief_is_one_of_the_workers() -> None:
    servers, workers = Options(ps=2, workers=3, chief=True).names()
    assert [name.device for name in servers] == ["/job:ps/task:0", "/job:ps/task:1"]
    assert [str(name) for name in workers] == ["chief 0", "worker 0", "worker 1"]


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"ps": -1}, ValueError, r"number of parameter servers, must be 0 or more: received -1 \(at .*test_program.py:\d+\)"),
        ({"workers": 0}, ValueError, "workers, their number, must be 1 or more: received 0"),
        ({"gpus_per_worker": -1}, ValueError, "gpus_per_worker must be 0 or more: received -1"),
        ({"cpus_per_worker": 0}, ValueError, "cpus_per_worker must be more than 0: received 0"),
        ({"cpus_per_ps": -0.5}, ValueError, "cpus_per_ps must be more than 0: received -0.5"),
        ({"program": []}, ValueError, "program must be a script and its arguments: received an empty list"),
        ({"program": ["nowhere.py"]}, FileNotFoundError, r"there is no script 'nowhere.py' in .* \(at .*test_program.py"),
    ],
)  # fmt: skip
def test_what_is_no_cluster(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        headrace.cluster.ray(**options)


def test_a_script_outside_the_working_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "train.py").write_text("parser.add_argument('--job_name')")
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    script = Options(program=["inside/train.py", "3"], working_dir="inside").script()
    assert script is not None
    assert (script.directory, script.command, script.flags) == (
        str(tmp_path / "inside"),
        ["train.py", "3"],
        ["job_name"],
    )
    for flags, chosen in ((True, list(FLAGS)), (False, [])):
        script = Options(program=["inside/train.py"], flags=flags).script()
        assert script is not None and script.flags == chosen and script.command == ["inside/train.py"]
    with pytest.raises(ValueError, match="'train.py' is not in the working_dir 'inside'"):
        Options(program=["train.py"], working_dir="inside").script()


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without_ray(name: str, *arguments: Any) -> Any:
        if name == "ray":
            raise ModuleNotFoundError("No module named 'ray'", name="ray")
        return load(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(ImportError, match=r"clusters on Ray need ray: pip install 'headrace\[cluster\]'"):
        headrace.cluster.ray()
