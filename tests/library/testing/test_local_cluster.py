"""tf.test.create_local_cluster: servers of this process."""

import pytest

import headrace as tf


def test_a_worker_uses_a_variable_of_a_parameter_server() -> None:
    pytest.importorskip("zmq")
    workers, ps = tf.test.create_local_cluster(num_workers=2, num_ps=1)
    try:
        assert [server.server_def.job_name for server in (*workers, *ps)] == ["worker", "worker", "ps"]
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(3.0)
        with tf.device("/job:worker/task:1"):
            y = v * 2.0
        with tf.Session(workers[0].target) as session:
            session.run(v.initializer)
            assert session.run(y) == 6.0
    finally:
        for server in (*workers, *ps):
            server._stop()
    with pytest.raises(ValueError, match="num_ps must be a number of servers, got -1"):
        tf.test.create_local_cluster(1, -1)
