"""``headrace simulate``: a program runs up to its step, which is simulated on clusters that are described."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.library.simulation.grid import Row, explore
from headrace.library.simulation.outcome import Outcome
from headrace.tools import simulate as simulate_tool
from headrace.tools.simulate import DEFAULTS, HELP, Options, run, table
from headrace.tools.simulate_program import Plans
from tests.library.simulation.jobs import plain

ALONE = """
import sys
import numpy as np
import tensorflow as tf

print("the program prints", sys.argv[1:])
x = tf.placeholder(tf.float32, [None, 50])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 20)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        sess.run([train, loss], {x: np.ones([8, 50])})
raise SystemExit("the program went on")
"""

CLUSTER = """
import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "")
flags.DEFINE_string("worker_hosts", "", "")
flags.DEFINE_string("job_name", "", "")
flags.DEFINE_integer("task_index", 0, "")
flags.DEFINE_string("folder", "", "")
F = flags.FLAGS


def main(_):
    jobs = {"ps": F.ps_hosts.split(","), "worker": F.worker_hosts.split(",")}
    server = tf.train.Server(tf.train.ClusterSpec(jobs), F.job_name, F.task_index)
    if F.job_name == "ps":
        server.join()
    with tf.device(tf.train.replica_device_setter(cluster=jobs, worker_device=f"/job:worker/task:{F.task_index}")):
        queue = tf.FIFOQueue(10, tf.float32, [[8, 50]])
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(tf.ones([8, 50]))]))
        x = queue.dequeue()
        table = tf.get_variable("table", [1 << 40, 16])  # 64 TB: nothing may run
        loss = tf.reduce_mean(tf.nn.embedding_lookup(table, [1, 2])) + tf.reduce_mean(tf.layers.dense(x, 20))
        step = tf.train.get_or_create_global_step()
        sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 3, total_num_replicas=4)
        train = sync.minimize(loss, step)
        hook = sync.make_session_run_hook(F.task_index == 0)
    with tf.train.MonitoredTrainingSession(
        server.target, F.task_index == 0, checkpoint_dir=F.folder, hooks=[hook]
    ) as sess:
        while not sess.should_stop():
            sess.run([train, loss])


tf.app.run(main)
"""


def simulate(*arguments: str, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "headrace.tools.simulate", *arguments], cwd=folder, capture_output=True, text=True, timeout=200,
        check=False, env={**os.environ, "HEADRACE_COMPILE": "off"},
    )  # fmt: skip


def test_a_program_for_one_machine(tmp_path: Path) -> None:
    done = simulate(
        "--workers", "1,4", "--ps", "1:2", "--events", "2000", "--mode", "async,sync", "--png", "rates.png", "program.py",
        "--own", text=ALONE, folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the program prints ['--own']" in done.stderr
    assert "the program went on" not in done.stderr
    first, alone, computes, holds, header, *rows, best, times = done.stdout.splitlines()
    assert first.startswith("Request 2: Mean:0, GradientDescent (run at ") and first.endswith("program.py:13)")
    assert alone.split()[:2] == ["here,", "alone"]
    assert "sends 4.08 kB and takes 4.08 kB" in computes and holds.endswith("hold 4.08 kB")
    assert header.split()[:4] == ["mode", "workers", "ps", "steps/s"]
    where = [("async", "1", "1"), ("async", "4", "1"), ("async", "1", "2"), ("async", "4", "2")]
    assert [tuple(row.split()[:3]) for row in rows] == where + [("sync", *rest) for _, *rest in where]
    assert best.startswith("best: ") and times.startswith("planned in ")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_a_program_for_a_cluster_starts_no_server_and_runs_nothing(tmp_path: Path) -> None:
    done = simulate(
        "--workers", "4", "--ps", "1,2", "--events", "2000", "--json", "program.py", "--folder=model", text=CLUSTER,
        folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [(row["mode"], row["workers"], row["servers"]) for row in told["rows"]] == [
        ("backup", 4, 1),
        ("backup", 4, 2),
    ]
    assert all(row["counted"] < row["steps"] for row in told["rows"])  # one of four is late
    assert told["rows"][0]["memory"]["server"] > 1 << 45
    assert told["best"] in (0, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_a_program_without_a_step(tmp_path: Path) -> None:
    done = simulate("program.py", text="import tensorflow as tf\ntf.constant(1)\n", folder=tmp_path)
    assert done.returncode == 1
    assert "headrace simulate: the program ended: no request trained or was run twice" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"workers": "none"}, "--workers: numbers of tasks"), ({"ps": "0"}, "--ps: numbers of tasks"),
        ({"mode": "fast"}, "--mode is all, or some of async"),
        ({"slow": "often"}, "--slow: slow is none"), ({"fail": "1"}, "--fail: a rate of failures"),
        ({"link": "fast"}, "--link: a link is"),
        ({"speed": 0.0}, "--speed must be a positive number"), ({"quorum": 2.0}, "--quorum is a share"),
        ({"save": 0.0}, "--save must be a positive number"), ({"restart": -1.0}, "--restart is a number of seconds"),
        ({"copies": float("nan")}, "--copies is a number of seconds"), ({"step": 0}, "--step is the number of a request"),
        ({"step_ms": 0.0}, "--step-ms must be a positive number"), ({"backups": -2}, "--backups must be at least -1"),
        ({"staleness": -1}, "--staleness must be at least 0"), ({"every": 0}, "--every must be at least 1"),
        ({"cores": -1}, "--cores must be at least 0"), ({"events": 0}, "--events must be at least 1"),
        ({"grace_ms": -1.0}, "--grace-ms must be at least 0"), ({"png": "missing/rates.png"}, "--png"),
    ],
)  # fmt: skip
def test_mistakes(given: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    png = given.get("png")
    options = {**DEFAULTS, **{name: value for name, value in given.items() if name != "png"}}
    assert run(["program.py"], False, png, **options) == 2  # type: ignore[arg-type]
    assert capsys.readouterr().err.startswith(f"headrace simulate: {said}")


@pytest.mark.parametrize("known", [0, 2])
def test_ctrl_c(known: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What has been simulated until then is shown."""

    def stop(*arguments: object) -> Iterator[Row]:
        yield from itertools.islice(explore(*arguments), known)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(simulate_tool, "explore", stop)
    monkeypatch.setattr(simulate_tool, "plan_all", lambda *arguments: {"async": Plans({1: plain()}, title="the step")})
    assert run(["program.py"], False, None, **{**DEFAULTS, "workers": "1:8", "ps": "1"}) == 130
    out, err = capsys.readouterr()
    assert err == f"headrace simulate: stopped after {known} clusters\n"
    assert [line.split()[:3] for line in out.splitlines() if line.startswith("async ")] == [
        ["async", "1", "1"], ["async", "2", "1"],
    ][:known]  # fmt: skip


def test_options() -> None:
    options = Options(**{**DEFAULTS, "mode": "all", "backups": 2, "link": "1Gbit,1ms", "fail": "1/h"})
    assert options.modes == ["async", "stale", "sync", "backup", "quorum", "local"]
    assert options.rules("backup").backups == 2 and options.rules("stale").staleness == 4
    assert options.cluster.link.bandwidth == 1.25e8
    assert options.cluster.failures.rate == pytest.approx(1 / 3600)
    assert HELP.keys() == DEFAULTS.keys()


def test_the_table() -> None:
    times, causes = {f"p{n}": 0.01 for n in (10, 50, 90, 99)}, {"worker": 0.006, "server": 0.001, "others": 0.003}
    busy = {"server": 0.5, "in": 0.2, "out": 0.1, "worker": 0.6}
    outcomes = [
        Outcome(n, 2, n * 80.0, n * each, 80.0, times, causes, busy, memory={"server": 2e6, "worker": 3e3})
        for n, each in ((1, 80.0), (10, 60.0))
    ]
    rows = [Row("sync", outcome) for outcome in outcomes]
    header, one, ten = table(rows).splitlines()
    assert header.split("  ")[0] == "mode"
    assert one.split() == "sync 1 2 80 100% 10 ms 10 ms 10 ms worker 60% others 30% 50% 20% 0% 100.0% 2 MB 3 kB".split()
    assert (
        ten.split() == "sync 10 2 600 75% 10 ms 10 ms 10 ms worker 60% others 30% 50% 20% 25% 100.0% 2 MB 3 kB".split()
    )
