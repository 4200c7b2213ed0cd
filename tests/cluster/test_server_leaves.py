"""SIGTERM at a server that only serves: its sessions hear why it goes, and its process exits with 143."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster.connection import close_client_endpoint

SERVER = """
import signal
import sys
import headrace as tf

def handled(number, handler, handle=signal.signal):
    handle(number, handler)
    if callable(handler):
        print("ready", flush=True)

server = tf.train.Server({"ps": sys.argv[1:]}, "ps", 0, config=tf.ConfigProto(compile="off"))
signal.signal = handled
server.join()
print("never")
"""


@contextmanager
def parameter_server(*addresses: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    addresses = addresses or tuple(free_addresses(1))
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, *addresses], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process, f"grpc://{addresses[0]}"
        finally:
            process.kill()
            close_client_endpoint()


def end(process: subprocess.Popen[str]) -> str:
    """Waits for the end by SIGTERM; gives the log."""
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (143, "")
    return said


def test_a_step_that_waits_at_a_server_that_leaves_is_told_so() -> None:
    with parameter_server() as (process, target), ThreadPoolExecutor(1) as threads:
        with tf.device("/job:ps/task:0"):
            begun, never = tf.FIFOQueue(1, tf.int32), tf.FIFOQueue(1, tf.int32)
            with tf.control_dependencies([begun.enqueue(1)]):
                element = never.dequeue()
            is_there = begun.dequeue()
        with tf.Session(target) as sess:
            waiting = threads.submit(sess.run, element)
            sess.run(is_there)
            process.send_signal(signal.SIGTERM)
            with pytest.raises(
                tf.errors.UnavailableError, match="/task:0 is leaving: its process has received SIGTERM"
            ):
                waiting.result()
        assert "SIGTERM: /job:ps/replica:0/task:0 leaves, with 1 sessions open" in end(process)


def test_a_server_that_nobody_uses_leaves() -> None:
    with parameter_server() as (process, _):
        process.send_signal(signal.SIGTERM)
        assert "with 0 sessions open" in end(process)


def test_a_monitored_session_goes_on_when_the_server_is_back() -> None:
    (address,) = free_addresses(1)
    with tf.device("/job:ps/task:0"):
        count = tf.get_variable("count", initializer=0)
        add = count.assign_add(1)
    with parameter_server(address) as (process, target):
        session = tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=target))
        assert [session.run(add), session.run(add)] == [1, 2]
        process.send_signal(signal.SIGTERM)
        end(process)
        with parameter_server(address) as (process, _):
            assert session.run(add) == 1
            session.close()
