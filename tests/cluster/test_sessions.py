"""Sessions on a task: one that is over stays over, others go on, and the next begins when all of its steps are over."""

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster
from hypothesis import given
from hypothesis import strategies as st

import headrace as tf
from headrace.cluster import connection as connection_module
from headrace.cluster import sessions as sessions_module
from headrace.cluster.admission import SESSIONS
from headrace.cluster.opened import Opened
from headrace.cluster.request import Close, Hello, Introduction, Open, Register, Run, Send, Take, ask
from headrace.cluster.session_config import to_plain
from headrace.cluster.sessions import RemoteSession, Sessions
from headrace.cluster.transport import open_endpoint

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
CONFIG = to_plain(tf.ConfigProto())


class Partitions:
    """Steps that end when they are told to."""

    def __init__(self) -> None:
        self.running: list[Any] = []

    def run(self, handle: int, step: int, feeds: Any, done: Any, until: Any) -> None:
        if handle < 0:
            raise RuntimeError("the pool is closed")
        self.running.append(done)

    def end_one(self) -> None:
        self.running.pop()([], None)

    def close(self) -> None: ...


def remote(client: Introduction | None = None, peer: str = "client#1") -> Any:
    graph: Any = SimpleNamespace(close=lambda: None)
    partitions: Any = Partitions()
    return RemoteSession(peer, client, graph, partitions)


NAMES = st.sampled_from("abc")
EVENTS = st.tuples(st.sampled_from(["open", "run", "end a step", "end", "fence"]), NAMES)


@given(st.lists(EVENTS, max_size=40))
def test_what_is_over_stays_over_and_others_go_on(events: list[tuple[str, str]]) -> None:
    sessions, made, over, told = Sessions(PS), {}, set(), []
    for event, name in events:
        live = name in made and name not in over
        if event == "open" and not live:
            session = remote()
            if name in over:
                with pytest.raises(tf.errors.AbortedError, match=f"has no session {name}: it was"):
                    sessions.add(name, session)
            else:
                sessions.add(name, session)
                made[name] = session
        elif event == "run" and live:
            sessions.find(name).run(0, 1, [], lambda *result: told.append(result), None)
        elif event == "run" and name in made:
            with pytest.raises(tf.errors.AbortedError, match="it was"):  # found before it was over
                made[name].run(0, 1, [], lambda *result: told.append(result), None)
        elif event == "end a step" and name in made and made[name].partitions.running:
            made[name].partitions.end_one()
        elif event == "end":
            sessions.end(name, "it was ended")
            over.add(name)
        elif event == "fence" and not (name in made and made[name].partitions.running):
            sessions.fence([name], "it was given up")
            over.add(name)
        assert len(sessions) == len(made.keys() - over)
        assert all(sessions.find(one) is made[one] for one in made.keys() - over)
        assert all(sessions.is_over(one) for one in over)


def test_a_fence_waits_for_the_steps_under_way() -> None:
    sessions, session, told = Sessions(PS), remote(), []
    sessions.add("a", session)
    for _ in range(2):
        session.run(0, 1, [], lambda *result: told.append("over"), None)
    session.run(-1, 1, [], lambda results, error: told.append(str(error)), None)  # has not begun
    fence = threading.Thread(
        target=lambda: (sessions.fence(["a", "never begun"], "it was given up"), told.append("fenced"))
    )
    fence.start()
    for _ in range(2):
        assert fence.is_alive() and "fenced" not in told
        session.partitions.end_one()
    fence.join(30)
    assert told == ["the pool is closed", "over", "over", "fenced"]


def test_as_many_as_may_come_late_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "OVER", 10)
    sessions = Sessions(PS)
    for i in range(30):
        sessions.end(f"s{i}", "it was ended")
    assert [i for i in range(30) if sessions.is_over(f"s{i}")] == list(range(20, 30))


def test_all_sessions_that_may_be_open_can_be_lost_twice() -> None:
    sessions = Sessions(PS)
    names = [f"s{i}" for i in range(2 * SESSIONS)]
    for name in names:
        sessions.end(name, "its client was lost")
    assert all(map(sessions.is_over, names))


def test_a_session_whose_steps_are_under_way_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "OVER", 2)
    sessions, session = Sessions(PS), remote()
    sessions.add("slow", session)
    session.run(0, 1, [], lambda *result: None, None)
    for name in ("slow", "a", "b", "c"):
        sessions.end(name, "its client was lost")
    assert [name for name in ("slow", "a", "b", "c") if sessions.is_over(name)] == ["slow", "c"]
    session.partitions.end_one()
    sessions.end("d", "its client was lost")
    assert not sessions.is_over("slow")


def test_sessions_of_earlier_processes_of_a_task() -> None:
    sessions = Sessions(PS)
    for name, task, incarnation in [("a", WORKER, 1), ("b", WORKER, 2), ("c", PS, 1), ("d", "", 1), ("e", WORKER, 1)]:
        sessions.add(name, remote(Introduction(task, incarnation, "there:1")))
    sessions.end("e", "its client was lost")  # its steps may not be over
    assert sorted(sessions.before(Introduction(WORKER, 2, "there:1"))) == ["a", "e"]
    assert sessions.before(Introduction("", 2, "there:1")) == sessions.before(None) == []


def test_a_process_tells_which_sessions_are_over() -> None:
    opened = Opened()
    one, two, three = peers = [SimpleNamespace(lost=None) for _ in range(3)]
    for name, peer in zip("abc", peers, strict=True):
        opened.add("there:1", name, peer)
    opened.add("elsewhere:1", "a", one)
    assert opened.over("there:1") == []
    two.lost = tf.errors.UnavailableError(None, None, "silent")
    opened.give_up("there:1", "c")
    opened.give_up("there:1", "unknown")
    assert opened.over("there:1") == ["b", "c"]
    opened.forget("there:1", ["b", "c"])
    assert opened.over("there:1") == [] == opened.over("elsewhere:1")
    opened.forget("there:1", ["a"])
    assert list(opened._sessions) == ["elsewhere:1"]


# ---- over sockets


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(1, 1) as cluster:
        yield cluster


@pytest.fixture
def connect(cluster: LocalCluster) -> Iterator[Callable[[], Any]]:
    """Connections of a client, each of its own."""
    endpoint = open_endpoint()
    yield lambda: endpoint.connect(cluster.spec.task_address("ps", 0))
    endpoint.close()


def test_what_comes_late_in_the_name_of_a_session_is_refused(cluster: LocalCluster, connect: Any) -> None:
    old, new = connect(), connect()
    for name in ("a", "b", "c"):
        ask(old, Open(name, CONFIG, {}), seconds=30)
    ask(old, Close("c"), seconds=30)
    ask(new, Open("d", CONFIG, {}, over=["a"]), seconds=30)
    late = [
        Run("a", 0, 1, None, []), Take("a", 1, ["key"]), Register("a", None, [], [], {}, [], {}), Open("a", CONFIG, {}),
    ]  # fmt: skip
    for request in late:
        with pytest.raises(tf.errors.AbortedError, match=f"{PS} has no session a: its client has given it up"):
            ask(old, request, seconds=30)
    with pytest.raises(tf.errors.AbortedError, match="has no session c: its client has closed it"):
        ask(old, Run("c", 0, 1, None, []), seconds=30)
    for name, untaken in (("a", 0), ("b", 1)):
        old.push("send", Send(1, "key", name), [np.float32(1)])
        ask(old, Hello(), seconds=30)  # it comes after the push
        assert cluster.server("ps", 0)._worker.rendezvous.untaken == untaken
    with pytest.raises(tf.errors.AbortedError, match="Graph handle is not found"):  # others go on
        ask(old, Run("b", 0, 1, None, []), seconds=30)


def test_a_task_that_was_started_again_ends_what_it_had(cluster: LocalCluster, connect: Any) -> None:
    first, second = connect(), connect()
    for name, peer, incarnation in (("a", first, 1), ("b", second, 2)):
        ask(peer, Hello(PS, Introduction(WORKER, incarnation, "there:1")), seconds=30)
        ask(peer, Open(name, CONFIG, {}), seconds=30)
    with pytest.raises(tf.errors.AbortedError, match="has no session a: its client was"):  # lost, or started again
        ask(second, Run("a", 0, 1, None, []), seconds=30)


def test_a_new_session_ends_those_whose_connection_was_lost_and_no_others(cluster: LocalCluster) -> None:
    with tf.device("/job:ps"):
        v = tf.get_variable("v", [], tf.int64, initializer=tf.zeros_initializer())
        add = v.assign_add(1)
    lost, other = (tf.Session(cluster.target("worker", 0)) for _ in range(2))
    other.run(v.initializer)
    assert lost.run(add) == 1
    service, opened = cluster.server("ps", 0)._service, connection_module._opened
    name = lost._master._cluster._session
    peer = opened._sessions[cluster.spec.task_address("ps", 0)][name]
    assert peer is not None
    gone = threading.Event()
    peer.on_lost(lambda error: gone.set())
    peer.close(tf.errors.UnavailableError(None, None, "nothing comes"))
    assert gone.wait(30)
    with tf.Session(cluster.target("worker", 0)) as third:
        assert third.run(add) == 2
        assert other.run(add) == 3
        assert service._sessions.is_over(name) and len(service._sessions) == 2
        with pytest.raises(tf.errors.UnavailableError, match="nothing comes"):
            lost.run(add)
    lost.close()
    assert other.run(v) == 3
    other.close()
    assert cluster.spec.task_address("ps", 0) not in opened._sessions and len(service._sessions) == 0
