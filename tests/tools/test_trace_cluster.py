"""``headrace trace grpc://host:port``: the steps of a job that runs are traced by its tasks; the program knows nothing of it."""

import json
import threading
from contextlib import contextmanager

import pytest
from cluster.local_cluster import local_cluster

import headrace as tf
from headrace.tools import trace


@contextmanager
def running(*loops):
    """Calls each function again and again, on threads of their own."""
    stop, failed = threading.Event(), []

    def again(loop):
        try:
            while not stop.is_set():
                loop()
        except BaseException as e:  # noqa: BLE001 - raised below
            failed.append(e)

    threads = [threading.Thread(target=again, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed


def test_a_straggler_of_a_job_that_runs(tmp_path, capsys):
    """Worker 1 waits for a queue that is filled slowly."""
    pause = threading.Event()
    with local_cluster(ps=1, workers=2) as cluster:
        with tf.device("/job:ps"):
            w = tf.get_variable("w", [16], initializer=tf.ones_initializer())
        losses, fills = [], []
        for i in range(2):
            with tf.device(f"/job:worker/task:{i}"):
                queue = tf.FIFOQueue(1000, [tf.float32], shapes=[[16]], name=f"input_{i}")
                fills.append(queue.enqueue_many([tf.ones([200, 16]), tf.ones([1, 16])][i : i + 1]))
                losses.append(tf.reduce_sum(queue.dequeue(name=f"take_{i}") * w))
        train = tf.train.GradientDescentOptimizer(1e-3).minimize(tf.add_n(losses))
        with tf.Session(cluster.target("worker", 0)) as sess:
            sess.run(w.initializer)
            sess.run(fills[0])

            def feed():
                pause.wait(0.05)
                sess.run(fills[1])

            with running(lambda: sess.run(train), feed):
                out = tmp_path / "job.json"
                assert trace.main(["--steps", "3", "--json", "--out", str(out), cluster.target("ps", 0)]) == 0
                found = json.loads(capsys.readouterr().out)
                assert trace.main(["--steps", "2", "--out", str(out), cluster.target("worker", 1)]) == 0, "once more"
                sess.run(fills[0]), sess.run(fills[1])
        workers = [cluster.server(*task)._service.worker for task in (("ps", 0), ("worker", 0), ("worker", 1))]
        assert all(worker.step_tracer is None for worker in workers), "nothing is traced afterwards"
    assert found["steps"] == 3
    assert found["verdict"].startswith("worker 1 takes "), found
    assert "it waits for queue input_1" in found["verdict"] and "test_trace_cluster.py:" in found["verdict"]
    assert [task["task"] for task in found["tasks"]] == ["ps 0", "worker 0", "worker 1"]
    events = json.loads(out.read_text())["traceEvents"]
    assert {e["name"] for e in events if e.get("cat") == "Step"} == {"step 1", "step 2"}
    assert {e["name"] for e in events if e.get("cat") == "Wait"} >= {"waits for worker 1", "waits for queue input_1"}
    assert any(e["ph"] == "f" and e["cat"] == "Message" for e in events)
    text = capsys.readouterr().out
    assert "2 steps of " in text and "between two of them the program does something else for" in text


def test_a_task_alone(tmp_path, capsys):
    """A step that is not cut; the session writes by one request, and reads by another."""
    with local_cluster(ps=0, workers=1) as cluster:
        w = tf.get_variable("w", [100, 100], initializer=tf.zeros_initializer())
        train = tf.assign_add(w, tf.matmul(w, w), name="train")
        with tf.Session(cluster.target("worker", 0)) as sess:
            sess.run(w.initializer)

            with running(lambda: (sess.run(train), sess.run(w))):
                assert trace.main(["--out", str(tmp_path / "t.json"), "--json", cluster.target("worker", 0)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 5
    assert any("`train`" in item["what"] for item in found["items"]), "the request that writes"


def test_nothing_runs(tmp_path, capsys):
    with local_cluster(ps=0, workers=1) as cluster:
        out = tmp_path / "none.json"
        assert trace.main(["--seconds", "0.3", "--out", str(out), cluster.target("worker", 0)]) == 1
        assert "no step was traced by all its tasks within 0.3 s" in capsys.readouterr().err
        assert not out.exists() and cluster.server("worker", 0)._service.worker.step_tracer is None


def test_strangers_are_refused(capsys, monkeypatch):
    with local_cluster(ps=0, workers=1) as cluster:
        monkeypatch.setenv("HEADRACE_CLUSTER_KEY", "another key than the servers have")
        assert trace.main([cluster.target("worker", 0)]) == 1
        assert "another cluster key" in capsys.readouterr().err
        assert cluster.server("worker", 0)._service.worker.step_tracer is None


def test_one_asker_at_a_time(capsys):
    with local_cluster(ps=0, workers=1) as cluster:
        cluster.server("worker", 0)._service._traces.begin("somebody", 5, 30.0)
        assert trace.main(["--seconds", "0.3", cluster.target("worker", 0)]) == 1
        assert "somebody else has steps of /job:worker/replica:0/task:0 traced" in capsys.readouterr().err


def test_a_program_that_is_slow_between_its_steps(tmp_path, capsys):
    pause = threading.Event()
    with local_cluster(ps=1, workers=1) as cluster:
        with tf.device("/job:ps"):
            w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        with tf.device("/job:worker"):
            train = tf.assign_add(w, 1.0)
        with tf.Session(cluster.target("worker", 0)) as sess:
            sess.run(w.initializer)
            with running(lambda: (sess.run(train), pause.wait(0.1))):
                out = str(tmp_path / "t.json")
                assert trace.main(["--steps", "3", "--json", "--out", out, cluster.target("ps", 0)]) == 0
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert "of the time outside of steps: between two of them it does something else" in verdict


def test_options_come_first(capsys):
    assert trace.main(["grpc://localhost:1", "--out", "x.json"]) == 2
    assert "options come before the target: headrace trace --out x.json grpc://localhost:1" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--fetch", "loss"], ["--go-on"]])
def test_what_is_for_programs_only(arguments, capsys):
    assert trace.main([*arguments, "grpc://localhost:1"]) == 2
    assert "are for a program" in capsys.readouterr().err
