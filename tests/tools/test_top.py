"""headrace top: rates from two samples, the tables at two widths, a running cluster, targets that cannot be reached."""

import io
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.ports import free_addresses
from rich.console import Console

import headrace as tf
from headrace.core.device import short
from headrace.tools.top import main, show_cluster
from headrace.tools.top_report import report
from headrace.tools.top_table import duration, number, size, tables, who_waits

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
RECEIVING = {
    "node": f"_recv/{WORKER}/device:CPU:0/0", "op": "_RecvMany", "made_at": "train.py:20",
    "for": f"{PS}/device:CPU:0 has not sent {PS}/device:CPU:0>{WORKER}/device:CPU:0 0",
}  # fmt: skip


def link(peer: str, sent: int, received: int) -> dict[str, Any]:
    return {
        "peer": peer, "sent_bytes": sent, "sent_messages": sent // 100, "received_bytes": received,
        "received_messages": received // 100, "shared_bytes": 0,
    }  # fmt: skip


def status(task: str, time: float, done: int, links: list[Any], **more: Any) -> dict[str, Any]:
    device = {
        "name": f"{task}/device:CPU:0", "type": "CPU", "bytes_limit": None, "bytes_in_use": None,
        "variable_bytes": 4000,
    }  # fmt: skip
    return {
        "task": task, "incarnation": 7, "time": time, "uptime": 3725.0, "sessions": 2, "steps_done": done, "steps": [],
        "queues": [], "devices": [device], "resident_bytes": 1_500_000_000, "refused": {}, "links": links, **more,
    }  # fmt: skip


def visitor(task: str, address: str, silent: float, sessions: int) -> dict[str, Any]:
    return {
        "task": task, "address": address, "incarnation": 5, "silent_seconds": silent, "connections": sessions,
        "sessions": sessions,
    }  # fmt: skip


def samples() -> tuple[dict[str, Any], dict[str, Any]]:
    """A parameter server with a full queue, a worker that waits for it, one that does not answer, and a client."""
    queue = {
        "name": "examples", "kind": "FIFOQueue", "container": "localhost", "device": f"{PS}/device:CPU:0", "size": 3,
        "capacity": 3, "closed": False, "waiting_to_add": 1, "waiting_to_take": 0,
    }  # fmt: skip
    adding = {
        "node": "one_more", "op": "QueueEnqueueV2", "made_at": "train.py:12",
        "for": "FIFOQueue 'examples' has 3 of 3 elements, 1 waits to be added (made at train.py:10)",
    }  # fmt: skip
    waiting = [{"number": 6, "seconds": 3.25, "waits": [adding]}]
    lost = {"/job:worker/replica:0/task:1": {"error": "host2:2222 could not be reached within 2.0 s"}}
    before = {
        PS: status(PS, 10.0, 100, [link(WORKER, 1000, 500), link("laptop:99", 0, 100)]),
        WORKER: status(WORKER, 10.0, 50, [link(PS, 500, 1000)]),
        **lost,
    }
    after = {
        PS: status(
            PS, 12.0, 300, [link(WORKER, 5_001_000, 2500), link("laptop:99", 0, 300)],
            queues=[queue], steps=waiting, refused={"malformed": 1, "handshake": 3},
            visitors=[visitor(WORKER, "host1:2222", 0.42, 2), visitor("", "laptop:99", 65.0, 0)],
        ),
        WORKER: status(
            WORKER, 12.0, 51, [link(PS, 2500, 5_000_900)],
            steps=[{"number": 9, "seconds": 3.2, "waits": [RECEIVING]}],
        ),
        **lost,
    }  # fmt: skip
    return before, after


def drawn(width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(tables(report(*samples()), "grpc://host0:2222"))
    return [line.rstrip() for line in console.export_text().splitlines()]


class TestReport:
    def test_rates(self) -> None:
        shown = report(*samples())
        assert [task.get("steps_per_second") for task in shown["tasks"]] == [100.0, 0.5, None]
        links = {(one["from"], one["to"]): one for one in shown["links"]}
        assert set(links) == {(PS, WORKER), (WORKER, PS), (PS, "laptop:99"), ("laptop:99", PS)}
        assert links[PS, WORKER]["bytes"] == 5_001_000, "what the sender says"
        assert links[PS, WORKER]["bytes_per_second"] == 2_500_000
        assert links["laptop:99", PS]["messages_per_second"] == 1.0

    def test_a_task_that_was_started_again_has_no_rate_yet(self) -> None:
        before, after = samples()
        after[PS]["incarnation"] = 8
        shown = report(before, after)
        assert shown["tasks"][0]["steps_per_second"] is None
        assert report({}, after)["tasks"][0]["steps_per_second"] is None

    def test_what_a_silent_task_sent_is_what_the_other_received(self) -> None:
        before, after = samples()
        after[WORKER] = {"error": "gone"}
        links = {(one["from"], one["to"]): one for one in report(before, after)["links"]}
        assert links[WORKER, PS]["bytes"] == 2500

    def test_who_leads_a_job_is_watched_all_the_time_and_left_out(self) -> None:
        before, after = samples()
        told = report(before, after)["waits"]
        watching = {"node": "LeaseChange", "op": "_LeaseChange", "made_at": "train.py:9", "for": "Lease 'global_step'"}
        after[PS]["steps"] = [*after[PS]["steps"], {"number": 7, "seconds": 100.0, "waits": [watching]}]
        assert told and report(before, after)["waits"] == told


class TestTables:
    @pytest.mark.parametrize("width", [80, 120])
    def test_everything_fits(self, width: int) -> None:
        lines = drawn(width)
        assert max(map(len, lines)) <= width
        assert "task            up   sessions   steps/s   under way   memory   variables" in lines
        assert "ps 0       1:02:05          2       100           1   1.5 GB        4 kB" in lines
        assert "worker 1         -          -         -           -        -           -" in lines
        assert "worker 1 does not answer: host2:2222 could not be reached within 2.0 s" in lines
        assert "ps 0 has refused: handshake 3, malformed 1" in lines
        assert "examples   ps 0   ##########     3 of 3             1              0" in lines
        assert "ps 0           worker 0   host1:2222    0.4 s ago          2" in lines
        assert "ps 0           a client   laptop:99      1:05 ago          0" in lines
        assert any(line.startswith("ps 0 -> worker 0") and "2.5 MB" in line for line in lines)
        assert any("ps 0 has not sent a value for train.py:20" in line for line in lines)
        text = " ".join(" ".join(lines).split())
        assert "one_more (QueueEnqueueV2, train.py:12): FIFOQueue 'examples' has 3 of 3 elements" in text

    def test_tasks_that_have_moved_and_the_process_that_has_them(self) -> None:
        where = {"host": "host1", "process": 4711, "address": "host1:40211", "moves": {PS: [1, "host1:40211"]}}
        other = {**where, "task": "/job:ps/replica:0/task:1"}
        console = Console(width=80, file=io.StringIO(), record=True)
        after = {PS: status(PS, 1.0, 0, [], **where), other["task"]: {**status(PS, 1.0, 0, []), **other}}
        console.print(tables(report({}, after)))
        lines = [line.rstrip() for line in console.export_text().splitlines()]
        assert "ps 0 has moved to host1:40211" in lines
        assert "process 4711 on host1 has ps 0, ps 1" in lines

    def test_an_idle_cluster_has_one_table(self) -> None:
        console = Console(width=80, file=io.StringIO(), record=True)
        console.print(tables(report({}, {PS: status(PS, 1.0, 0, [])})))
        assert len(console.export_text().splitlines()) == 3

    def test_words(self) -> None:
        assert short(f"{PS}/device:CPU:0 and {WORKER}/device:GPU:1") == "ps 0 and worker 0/device:GPU:1"
        assert [number(v) for v in (None, 0.0, 1.234, 99.6, 1234.5)] == ["-", "0", "1.23", "99.6", "1234"]
        assert [size(v) for v in (None, 12, 1500, 999_600, 2.5e9, 3e15)] == [
            "-", "12 B", "1.5 kB", "1 MB", "2.5 GB", "3000 TB",
        ]  # fmt: skip
        assert [duration(v) for v in (3.21, 65, 7445)] == ["3.2 s", "1:05", "2:04:05"]
        assert who_waits({"node": "", "op": "", "made_at": "", "for": "a lock"}) == "an eager op: a lock"


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A parameter server and a worker that speak over sockets; a second worker is not there."""
    addresses = free_addresses(3)
    spec = {"ps": addresses[:1], "worker": addresses[1:]}
    config = tf.ConfigProto(compile="off")
    servers = [tf.train.Server(spec, job, 0, config=config) for job in ("ps", "worker")]
    try:
        yield servers
    finally:
        for server in servers:
            server._stop()


def test_a_full_queue_and_a_step_that_waits(cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.device("/job:ps"):
        queue = tf.FIFOQueue(3, tf.float32, [[]], shared_name="examples")
        fill = queue.enqueue_many([[1.0, 2.0, 3.0]])
        one_more = queue.enqueue(4.0, name="one_more")
    with tf.control_dependencies([one_more]), tf.device("/job:worker/task:0"):
        after = tf.constant(1.0) + 1.0
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with tf.Session(cluster[1].target, config=config) as session:
        session.run(fill)
        thread = threading.Thread(target=session.run, args=(after,))
        thread.start()
        for _ in range(1000):
            if "has not sent" in session.waiting():
                break
            threading.Event().wait(0.01)
        assert show_cluster(cluster[0].target, as_json=True, interval=0.05) == 0
        shown = json.loads(capsys.readouterr().out)
        session.run(queue.dequeue())
        thread.join(30)
        assert show_cluster(cluster[1].target, interval=0.05) == 0, "no terminal: the tables once"
    tasks = {task["task"]: task for task in shown["tasks"]}
    assert list(tasks) == [PS, WORKER, "/job:worker/replica:0/task:1"]
    assert "could not be reached" in tasks["/job:worker/replica:0/task:1"]["error"]
    assert tasks[PS]["sessions"] == tasks[WORKER]["sessions"] == 1
    assert tasks[PS]["steps_done"] == 1 and len(tasks[PS]["steps"]) == 1
    (full,) = shown["queues"]
    assert (full["task"], full["size"], full["capacity"], full["waiting_to_add"]) == (PS, 3, 3, 1)
    waits = {wait["task"]: wait for wait in shown["waits"]}
    assert waits[PS]["node"] == "one_more" and "FIFOQueue 'examples' has 3 of 3 elements" in waits[PS]["for"]
    assert "test_top.py" in waits[PS]["made_at"]
    assert f"{PS}/device:CPU:0>{WORKER}" in waits[WORKER]["for"]
    assert {(one["from"], one["to"]) for one in shown["links"]} == {(PS, WORKER), (WORKER, PS)}
    assert all(one["bytes"] > 0 for one in shown["links"])
    assert [(one["on"], one["task"], one["sessions"]) for one in shown["visitors"]] == [(PS, WORKER, 1)]
    assert 0 <= shown["visitors"][0]["silent_seconds"] < 30
    text = capsys.readouterr().out
    assert "ps 0" in text and "worker 1 does not answer" in text and "0 of 3" not in text
    assert show_cluster(cluster[0].target, interval=0.01, picture=str(tmp_path / "top.svg")) == 0
    drawn = (tmp_path / "top.svg").read_text()
    assert "steps/s" in drawn and "font-face" not in drawn and not capsys.readouterr().out
    assert show_cluster(cluster[0].target, interval=0.01, picture=str(tmp_path / "no" / "top.svg")) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


def iterator(seconds: float, elements: int, computing: float, waited: float) -> dict[str, Any]:
    stage = {
        "stage": "ShuffleDataset 'rows' (made at train.py:5)", "elements": elements, "computing_s": computing,
        "waited_s": waited, "held": 90, "room": 100,
    }  # fmt: skip
    return {"device": "cpu", "iterator": "it", "made_at": "train.py:9", "seconds": seconds, "stages": [stage]}


def test_stages_of_datasets_as_rates() -> None:
    before = {PS: status(PS, 10.0, 1, [], iterators=[iterator(4.0, 1000, 1.0, 2.0)])}
    after = {PS: status(PS, 12.0, 1, [], iterators=[iterator(6.0, 1500, 2.0, 2.5)])}
    (row,) = report(before, after)["stages"]
    assert (row["task"], row["iterator"], row["held"], row["room"]) == (PS, "it", 90, 100)
    assert (row["elements_per_second"], row["computing"], row["waited"]) == (250.0, 0.5, 0.25)
    begun_anew = {PS: status(PS, 12.0, 1, [], iterators=[iterator(0.5, 10, 0.1, 0.2)])}
    (row,) = report(before, begun_anew)["stages"]
    assert (row["elements_per_second"], row["computing"], row["waited"]) == (20.0, 0.2, 0.4)
    text = io.StringIO()
    Console(file=text, width=120).print(tables(report(before, after)))
    assert "ShuffleDataset 'rows' (made at train.py:5)" in text.getvalue() and "90 of 100" in text.getvalue()


def test_the_stages_of_a_cluster(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.device("/job:ps"):
        made = tf.data.Dataset.range(10).batch(2).make_initializable_iterator()
        element = made.get_next()
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with tf.Session(cluster[1].target, config=config) as session:
        session.run(made.initializer)
        session.run(element)
        assert show_cluster(cluster[0].target, as_json=True, interval=0.01) == 0
        session.run(element)
        assert show_cluster(cluster[0].target, as_json=True, interval=0.01) == 0
    shown = json.loads(capsys.readouterr().out.partition("\n}\n")[2])["stages"]
    assert [(row["task"], row["stage"].split()[0]) for row in shown] == [(PS, "BatchDatasetV2"), (PS, "RangeDataset")]


def replicas(name: str, late: int, slow: list[Any]) -> dict[str, Any]:
    tally = {"counted": 30, "late": late, "sessions": 1, "working": 3.0, "waiting": 1.0}
    return {
        "name": name, "container": "localhost", "device": f"{PS}/device:CPU:0", "updates": 60, "workers": 2, "repeated": 0,
        "needed": 1, "staleness": {"0": 30, "3": 30}, "slow": slow,
        "by_worker": {"/job:worker/task:0": tally, "/job:worker/task:1": {**tally, "late": 0}},
    }  # fmt: skip


def test_replicas_have_a_line() -> None:
    fresh = {**replicas("fresh", 0, []), "updates": 0, "staleness": {}, "by_worker": {}}
    after = {PS: status(PS, 12.0, 1, [], replicas=[replicas("job", 20, [["/job:worker/task:1", 4.13]]), fresh])}
    shown = report({}, after)
    assert [one["task"] for one in shown["replicas"]] == [PS, PS] and "replicas" not in shown["tasks"][0]
    for width in (80, 120):
        text = io.StringIO()
        Console(file=text, width=width).print(tables(shown))
        lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
        assert "job ps 0 2 60 25.0 % 1.5 worker 1 (4.1)" in lines
        assert "fresh ps 0 2 0 - -" in lines


def test_the_replicas_of_a_cluster(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    place = tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with tf.device(place):
        x = tf.get_variable("x", [], initializer=tf.ones_initializer())
        optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "sync", name="example")
        train = optimizer.minimize(tf.square(x), tf.train.get_or_create_global_step())
    with tf.train.MonitoredTrainingSession(cluster[1].target, config=config) as session:
        for _ in range(3):
            session.run(train)
        assert show_cluster(cluster[0].target, as_json=True, interval=0.01) == 0
        (one,) = json.loads(capsys.readouterr().out)["replicas"]
    assert (one["task"], one["name"], one["updates"], one["workers"]) == (PS, "example", 3, 1)
    assert one["staleness"] == {"0": 3} and one["by_worker"]["/job:worker/task:0"]["counted"] == 3


class TestProblems:
    @pytest.mark.parametrize("target", ["localhost", "http://localhost:1", "grpc://:22", "grpc://localhost:0", ""])
    def test_a_bad_target(self, target: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([target]) == 2
        assert f"a target is grpc://host:port, the address of any task: received {target!r}" in capsys.readouterr().err

    def test_nobody_is_there(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headrace.cluster.overview.Overview.__init__.__defaults__", (0.2,))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            assert show_cluster(f"grpc://localhost:{free.getsockname()[1]}") == 1
        assert "could not be reached within 0.2 s" in capsys.readouterr().err

    def test_a_host_that_is_not_known(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("HEADRACE_CLUSTER_KEY", raising=False)
        assert main(["nosuch.invalid:1"]) == 1
        told = capsys.readouterr().err
        assert "to connect to nosuch.invalid:1, which is not this machine, a key is needed" in told
        assert ".py" not in told, "no line of the command itself"

    def test_another_key(
        self, cluster: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEADRACE_CLUSTER_KEY", "another key than the servers have")
        assert show_cluster(cluster[0].target, as_json=True) == 1
        assert "another cluster key" in capsys.readouterr().err


def test_a_terminal_shows_it_anew_until_ctrl_c(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class FakeOverview:
        def __init__(self, target: str) -> None:
            self.samples = iter([*samples(), samples()[1]])

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def sample(self) -> Any:
            try:
                return next(self.samples)
            except StopIteration:
                raise KeyboardInterrupt from None

    monkeypatch.setattr("headrace.tools.top.Overview", FakeOverview)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert show_cluster("grpc://host0:2222", interval=0.0) == 0
    text = capsys.readouterr().out
    assert text.count("Ctrl-C ends") == 2 and "who waits on what" in text
