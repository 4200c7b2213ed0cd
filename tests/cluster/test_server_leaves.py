"""SIGTERM at a server that only serves: its sessions hear why it goes, and its process exits with 143."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

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

jobs = dict(zip(("ps", "worker"), ([address] for address in sys.argv[1:])))
server = tf.train.Server(jobs, "ps", 0, config=tf.ConfigProto(compile="off"))
signal.signal = handled
signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
server.join()
print("never")
"""


CHIEF = """
import sys
import headrace as tf

ps, worker, folder = sys.argv[1:]
server = tf.train.Server({"ps": [ps], "worker": [worker]}, "worker", 0, config=tf.ConfigProto(compile="off"))
with tf.device("/job:ps/task:0"):
    step = tf.train.get_or_create_global_step()
    add = step.assign_add(1)
with tf.train.MonitoredTrainingSession(
    server.target, checkpoint_dir=folder, save_checkpoint_secs=3600, save_summaries_steps=None, log_step_count_steps=None
) as sess:
    while True:
        print(sess.run(add), flush=True)
"""


@contextmanager
def parameter_server(*addresses: str, blocked: str = "") -> Iterator[tuple[subprocess.Popen[str], str]]:
    addresses = addresses or tuple(free_addresses(1))
    program = SERVER.replace("BLOCKED", f"[{blocked}]")
    with subprocess.Popen(
        [sys.executable, "-c", program, *addresses], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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


def test_a_server_serves_on_until_workers_have_left() -> None:
    ps, worker = free_addresses(2)
    with parameter_server(ps, worker) as (process, _):
        own = tf.train.Server({"ps": [ps], "worker": [worker]}, "worker", 0, config=tf.ConfigProto(compile="off"))
        with tf.device("/job:ps/task:0"):
            count = tf.get_variable("count", initializer=0)
            add = count.assign_add(1)
        try:
            with tf.Session(own.target) as sess:
                sess.run(count.initializer)
                process.send_signal(signal.SIGTERM)
                assert process.stderr is not None
                assert (
                    "ps/replica:0/task:0 serves on until these have left, 30 s at most: worker 0"
                    in process.stderr.readline()
                )
                assert sess.run(add) == 1
            assert "leaves" not in end(process), "nobody loses anything"
        finally:
            own._stop()


def test_a_server_does_not_serve_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_LEAVE_SECONDS", "0.1")
    ps, worker = free_addresses(2)
    with parameter_server(ps, worker) as (process, _):
        own = tf.train.Server({"ps": [ps], "worker": [worker]}, "worker", 0, config=tf.ConfigProto(compile="off"))
        with tf.device("/job:ps/task:0"):
            element = tf.FIFOQueue(1, tf.int32).dequeue()
        try:
            with tf.Session(own.target) as sess, ThreadPoolExecutor(1) as threads:
                waiting = threads.submit(sess.run, element)
                process.send_signal(signal.SIGTERM)
                with pytest.raises(tf.errors.UnavailableError):
                    waiting.result()
            assert "with 1 sessions open" in end(process)
        finally:
            own._stop()


def test_a_job_that_is_stopped_as_a_whole_saves_its_last_step(tmp_path: Path) -> None:
    """The server first: it is still there when the chief saves."""
    ps, worker = free_addresses(2)
    arguments = [sys.executable, "-c", CHIEF, ps, worker, str(tmp_path)]
    with (
        parameter_server(ps, worker) as (server, _),
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as chief,
    ):
        try:
            assert chief.stdout is not None and chief.stdout.readline() == "1\n"
            server.send_signal(signal.SIGTERM)
            assert server.stderr is not None and "serves on" in server.stderr.readline()
            chief.send_signal(signal.SIGTERM)
            *_, last = ["1", *chief.stdout.read().split()]
            assert chief.wait(60) == 143
        finally:
            chief.kill()
        assert "leaves" not in end(server), "nobody loses anything"
    saved = tf.train.latest_checkpoint(str(tmp_path))
    assert saved in [str(tmp_path / f"model.ckpt-{int(last) + more}") for more in (0, 1)]  # `run` exits after a step


@pytest.mark.parametrize("blocked", ["", "signal.SIGTERM"], ids=["awake", "asleep"])
def test_a_server_that_nobody_uses_leaves(blocked: str) -> None:
    """Another thread takes a signal that the main thread blocks, as one that comes while the main thread falls asleep."""
    with parameter_server(blocked=blocked) as (process, _):
        process.send_signal(signal.SIGTERM)
        assert "leaves" not in end(process), "nobody loses anything"


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
