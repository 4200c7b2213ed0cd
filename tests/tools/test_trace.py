"""``headrace trace``: steps of a program are traced, and what is wrong with them is named."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.tools import trace

STARVING = """
import threading
import tensorflow as tf

queue = tf.FIFOQueue(1, [tf.float32], shapes=[[16]], name="input/fifo_queue")
fill = queue.enqueue(tf.ones([16]))
batch = queue.dequeue()  # line 7
w = tf.get_variable("w", [16])
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(batch * w), name="train")
sess = tf.Session()
sess.run(tf.global_variables_initializer())
more = threading.Event()


def feed():
    while not more.wait(0.001):
        if sess.waiting() and not more.wait(0.1):  # a slow reader, and never ahead
            sess.run(fill)


thread = threading.Thread(target=feed)
thread.start()
try:
    for i in range(12):
        sess.run(train)
        print("step", i)
finally:
    more.set()
    thread.join()
"""

STRAGGLER = """
import threading
import tensorflow as tf
from cluster.local_cluster import local_cluster

with local_cluster(ps=1, workers=3) as cluster:
    with tf.device("/job:ps"):
        w = tf.get_variable("w", [16])
    losses, fills = [], []
    for i in range(3):
        with tf.device(f"/job:worker/task:{i}"):
            queue = tf.FIFOQueue(100, [tf.float32], shapes=[[16]], name=f"input_{i}")
            fills.append(queue.enqueue(tf.ones([16])))
            losses.append(tf.reduce_sum(queue.dequeue(name=f"take_{i}") * w))  # line 14
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.add_n(losses), name="train")
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(w.initializer)
        for _ in range(50):
            sess.run(fills[:2])
        more = threading.Event()

        def feed():
            while not more.wait(0.001):
                if sess.waiting() and not more.wait(0.1):
                    sess.run(fills[2])

        thread = threading.Thread(target=feed)
        thread.start()
        try:
            for i in range(12):
                sess.run(train)
        finally:
            more.set()
            thread.join()
"""

MONITORED = """
import tensorflow as tf

step = tf.train.get_or_create_global_step()
bump = tf.assign_add(step, 1, name="bump")


class Hook(tf.train.SessionRunHook):
    def before_run(self, context):
        return tf.train.SessionRunArgs(step, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))

    def after_run(self, context, values):
        assert len(values.run_metadata.step_stats.dev_stats) == 1


with tf.train.MonitoredTrainingSession(hooks=[Hook(), tf.train.StopAtStepHook(12)]) as sess:
    while not sess.should_stop():
        sess.run(bump)
print("the end")
"""


def run(*arguments, folder, text=None):
    if text is not None:
        (folder / "program.py").write_text(text)
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "headrace.tools.trace", *arguments], cwd=folder, capture_output=True, text=True, timeout=200,
        env={**os.environ, "HEADRACE_COMPILE": "off", "PYTHONPATH": paths},
    )  # fmt: skip


def test_a_starving_queue(tmp_path):
    done = run("--steps", "3", "program.py", folder=tmp_path, text=STARVING)
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith("The step is starved: it waits for queue input/fifo_queue (")
    assert "program.py:7) for " in first
    assert "step 4" in done.stderr and "step 6" not in done.stderr, "the program ends with the last traced step"
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events if e.get("cat") == "Step"] == ["step 1", "step 2", "step 3"]
    assert [e["name"] for e in events if e.get("cat") == "Wait"] == ["waits for queue input/fifo_queue"] * 3


def test_a_straggler_over_tasks(tmp_path, full_length):
    done = run("--json", "--fetch", "train", "--out", "cluster.json", "program.py", folder=tmp_path, text=STRAGGLER)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"].startswith("worker 2 takes "), found
    assert "it waits for queue input_2" in found["verdict"] and "program.py:14" in found["verdict"]
    assert [task["task"] for task in found["tasks"]] == ["ps 0", "worker 0", "worker 1", "worker 2"]
    events = json.loads((tmp_path / "cluster.json").read_text())["traceEvents"]
    assert {e["name"] for e in events if e.get("cat") == "Wait"} >= {"waits for worker 2", "waits for queue input_2"}
    assert any(e["ph"] == "f" for e in events)


def test_a_monitored_session_whose_hook_traces_too(tmp_path, full_length):
    done = run("--go-on", "program.py", folder=tmp_path, text=MONITORED)
    assert done.returncode == 0, done.stderr
    assert "AssignAdd `bump`" in done.stdout and "program.py:5" in done.stdout
    assert "the end" in done.stderr, "the program has gone on"


def written(folder, worker, took):
    """A trace of a worker whose one node takes so many microseconds."""
    device = f"/job:worker/replica:0/task:{worker}/device:CPU:0 Compute"
    place = {"ph": "X", "pid": 1, "tid": 1, "ts": 0}
    events = [
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": device}},
        {
            **place,
            "name": "Conv2D",
            "cat": "Op",
            "dur": took,
            "args": {"name": "c", "op": "Conv2D", "source": "t.py:3"},
        },
        {**place, "name": "step 1", "cat": "Step", "pid": 2, "tid": 2, "dur": 1000},
    ]
    path = folder / f"w{worker}.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return str(path)


def test_a_trace_is_judged_again_with_all_its_parts(tmp_path, capsys):
    path = written(tmp_path, 0, 900)
    assert trace.main([path]) == 0
    out = capsys.readouterr().out
    assert f"1 step of 1 ms. Timeline: {path}," in out
    assert "Critical path, 90% of it nodes and messages" in out
    assert out.count("900 us    worker 0  Conv2D `c`") == 2, "where the time goes, and the path"
    assert "worker 0 CPU:0  10%   nothing is ready" in out
    assert [one.name for one in tmp_path.iterdir()] == ["w0.json"], "nothing is written"
    assert trace.main(["--json", path]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["timeline"] == path
    assert found["path"][0]["what"] == "Conv2D `c`"
    assert found["devices"][0]["idle"] == pytest.approx(0.1)


def test_traces_of_several_workers_are_judged_together(tmp_path, capsys):
    paths = [written(tmp_path, i, took) for i, took in enumerate((100, 110, 900))]
    out = tmp_path / "new" / "all.json"
    assert trace.main(["--read", "--out", str(out), *paths]) == 0
    assert capsys.readouterr().out.startswith(
        "worker 2 takes 8.6 times the median of the other tasks of 'worker': it spends 90% of the step in Conv2D `c` (t.py:3)."
    )
    events = json.loads(out.read_text())["traceEvents"]
    assert len({(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}) == 6
    assert [e["args"]["name"][:2] for e in events if e["ph"] == "M"] == ["1:", "2:", "3:"]


def test_a_disk_that_is_full(tmp_path, capsys):
    assert trace.main(["--read", "--out", "/dev/full", *(written(tmp_path, i, 100) for i in range(2))]) == 2
    streams = capsys.readouterr()
    assert "/dev/full cannot be written: No space left on device" in streams.err and not streams.out


@pytest.mark.parametrize("text", ["{}", "no JSON", '{"traceEvents": []}'])
def test_what_is_not_a_trace_is_refused(tmp_path, capsys, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    assert trace.main(["--read", str(path)]) == 2
    assert "traces are files that headrace trace or a Timeline wrote" in capsys.readouterr().err


def test_a_program_that_runs_nothing_twice(tmp_path, capsys, monkeypatch):
    program = tmp_path / "once.py"
    program.write_text("import tensorflow as tf\nwith tf.Session() as s:\n    s.run(tf.constant(1.0))\n")
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert trace.main([str(program)]) == 1
    assert "no request was run twice; it takes 4 runs of a request to trace one" in capsys.readouterr().err
