"""A step that waits for another task says what that task waits for."""

import threading

import pytest
from cluster.local_cluster import local_cluster

import headrace as tf
from headrace.cluster.remote import RemoteRuns


@pytest.mark.parametrize("client", ["worker", "none of them"])
def test_what_the_other_task_waits_for(client, monkeypatch, caplog):
    """The client's own partition waits for a task, or it has none and waits for all."""
    monkeypatch.setattr("headrace.resources.stepping.step.REPORT_AFTER", 0.1)
    with local_cluster(ps=1, workers=1) as cluster:
        with tf.device("/job:ps"):
            queue = tf.FIFOQueue(10, tf.float32, [[]], name="empty")
            element = queue.dequeue(name="take")
            put = queue.enqueue(1.0)
        if client == "worker":
            with tf.device("/job:worker"):
                element = element + 1.0
        with tf.Session(cluster.target("worker", 0)) as sess:
            thread = threading.Thread(target=sess.run, args=(element,))
            thread.start()
            told = [""]
            for _ in range(1000):
                told = [
                    r.getMessage() for r in caplog.records if "\n\t on /job:ps/replica:0/task:0: " in r.getMessage()
                ]
                if told:
                    break
                threading.Event().wait(0.01)
            sess.run(put)
            thread.join(30)
    assert told, [r.getMessage() for r in caplog.records]
    first, _, elsewhere = told[0].partition("\n\t on /job:ps/replica:0/task:0: ")
    assert "FIFOQueue 'empty' has 0 of" in elsewhere and "test_partitioned_waits.py:" in elsewhere
    if client == "worker":
        assert "/job:ps/replica:0/task:0/device:CPU:0 has not sent" in first


def test_a_task_that_does_not_answer_is_left_out():
    class Silent:
        lost = None
        address = "nowhere"

        def call(self, method, request, tensors, answered, seconds):
            answered({}, [], tf.errors.DeadlineExceededError(None, None, "no answer"))

    assert RemoteRuns(Silent(), "s", "/job:ps/replica:0/task:0", 1, lambda asked, there: 0).waiting(5) == ""
