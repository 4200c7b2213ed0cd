"""Tasks that move to other processes while workers train: nothing is lost, nobody restarts, every step counts once."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster
from cluster.ports import free_addresses

import headrace as tf
from headrace.cluster import arrival, request
from headrace.cluster.moving import move_task, task_name
from headrace.cluster.overview import Overview
from headrace.cluster.transport import open_endpoint

CONFIG = tf.ConfigProto(compile="off")
WORKERS = 4
WAIT_S = 60.0
PS0, PS1 = task_name("ps:0"), task_name("ps:1")


@pytest.fixture
def spare(make_server: Callable[..., tf.train.Server]) -> tf.train.Server:
    """A server that has no task of the job yet."""
    return make_server({"spare": free_addresses(1)}, config=CONFIG)


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(3, WORKERS) as cluster:
        yield cluster


def address_of(server: tf.train.Server) -> str:
    return str(server._home)


def move(cluster: LocalCluster, task: str, to: tf.train.Server, wait_secs: float = 20.0) -> str:
    return move_task(cluster.target("worker", 1), task, address_of(to), wait_secs=wait_secs)


class Worker(threading.Thread):
    """A monitored session in a thread of its own: each step adds 1 to a variable on each parameter server."""

    def __init__(self, cluster: LocalCluster, index: int) -> None:
        super().__init__(name=f"worker {index}")
        self.cluster, self.index = cluster, index
        self.steps = 0
        self.error: BaseException | None = None
        self.enough = threading.Event()

    def model(self) -> Any:
        with tf.device(tf.train.replica_device_setter(cluster=self.cluster.spec)):
            tf.train.get_or_create_global_step()
            self.counts = [tf.get_variable(f"count{i}", [], tf.int64, tf.zeros_initializer()) for i in range(3)]
            parts = tf.fixed_size_partitioner(self.cluster.spec.num_tasks("ps"))
            self.rows = tf.get_variable("rows", [6, 2], initializer=tf.zeros_initializer(), partitioner=parts)
            with tf.device("/job:ps/task:1"):
                table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1, shared_name="table")
            adds = [table.insert(tf.constant([1], tf.int64), tf.constant([2], tf.int64))]
            adds += [count.assign_add(1, use_locking=True) for count in self.counts]
            return tf.group(*adds, *(part.assign_add(tf.ones_like(part), use_locking=True) for part in self.rows))

    def run(self) -> None:
        try:
            with tf.Graph().as_default():
                train = self.model()
                with self.session() as session:
                    while not self.enough.is_set():
                        session.run(train)
                        self.steps += 1
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def session(self) -> Any:
        config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{self.index}"])
        return tf.train.MonitoredTrainingSession(
            self.cluster.target("worker", self.index), self.index == 0, config=config, log_step_count_steps=None
        )


def wait_for_steps(workers: list[Worker], more: int = 5) -> None:
    """Until each worker has made some more steps."""
    before = [worker.steps for worker in workers]
    until = threading.Event()
    for _ in range(int(WAIT_S / 0.01)):
        errors = [worker.error for worker in workers if worker.error is not None]
        assert not errors, errors
        if all(worker.steps >= steps + more for worker, steps in zip(workers, before, strict=True)):
            return
        until.wait(0.01)
    raise AssertionError(f"no progress: {before}, {[worker.steps for worker in workers]}")


def finish(workers: list[Worker]) -> int:
    """Ends the workers; how many steps they have made."""
    for worker in workers:
        worker.enough.set()
    for worker in workers:
        worker.join(WAIT_S)
        assert not worker.is_alive() and worker.error is None, worker.error
    return sum(worker.steps for worker in workers)


def values(cluster: LocalCluster) -> tuple[list[int], np.ndarray]:
    with tf.Graph().as_default():
        reader = Worker(cluster, 0)
        reader.model()
        with tf.Session(cluster.target("worker", 0)) as session:
            return session.run(reader.counts), session.run(tf.convert_to_tensor(reader.rows))


@pytest.fixture
def workers(cluster: LocalCluster) -> Iterator[list[Worker]]:
    """Workers that train."""
    workers = [Worker(cluster, i) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    try:
        wait_for_steps(workers)
        yield workers
    finally:
        for worker in workers:
            worker.enough.set()
        for worker in workers:
            worker.join(WAIT_S)


def check_counts(cluster: LocalCluster, workers: list[Worker]) -> None:
    """Every step of the workers was applied once on each task."""
    steps = finish(workers)
    counts, rows = values(cluster)
    assert counts == [steps] * 3
    assert (rows == steps).all()


# ---- training goes on


@pytest.mark.parametrize("task", ["ps:1", "ps:0"])  # the latter has the global step and the chief's lease
def test_every_step_of_asynchronous_workers_counts_once(
    cluster: LocalCluster, workers: list[Worker], spare: tf.train.Server, task: str
) -> None:
    new = move(cluster, task, spare)
    wait_for_steps(workers)
    assert all(worker.error is None for worker in workers)
    with Overview(cluster.target("worker", 0)) as overview:
        assert overview.addresses[task_name(task)] == new
    check_counts(cluster, workers)


def test_tasks_gather_in_one_process_and_part_again(
    cluster: LocalCluster, workers: list[Worker], spare: tf.train.Server
) -> None:
    """One server leaves, another comes: tasks may move as often as one likes."""
    move(cluster, "ps:1", cluster.server("ps", 0))
    wait_for_steps(workers, 2)
    move(cluster, "ps:2", cluster.server("ps", 0))
    wait_for_steps(workers, 2)
    move(cluster, "ps:1", spare)
    wait_for_steps(workers, 2)
    move(cluster, "ps:1", cluster.server("ps", 1))  # where it was in the beginning
    wait_for_steps(workers, 2)
    check_counts(cluster, workers)


def test_two_tasks_at_the_same_time(cluster: LocalCluster, workers: list[Worker], spare: tf.train.Server) -> None:
    with ThreadPoolExecutor(2) as threads:
        moves = [threads.submit(move, cluster, task, spare) for task in ("ps:1", "ps:2")]
        assert len({one.result() for one in moves}) == 2
    wait_for_steps(workers)
    check_counts(cluster, workers)


def test_two_processes_that_want_the_same_task(
    cluster: LocalCluster, workers: list[Worker], spare: tf.train.Server
) -> None:
    """One gets it.  The other comes too early, or takes it over from the first."""
    with ThreadPoolExecutor(2) as threads:
        moves = [threads.submit(move, cluster, "ps:1", to) for to in (spare, cluster.server("ps", 0))]
        failures = [error for one in moves if (error := one.exception()) is not None]
    assert len(failures) < 2
    for error in failures:
        assert isinstance(error, (tf.errors.FailedPreconditionError, tf.errors.UnavailableError)), error
    wait_for_steps(workers)
    check_counts(cluster, workers)


class End:
    """Ends all workers after the same update, which none of them has made when it is chosen.

    What a worker reads after an update is the same for all: the next update waits for its own gradient.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = 0
        self.last = 1 << 40

    def goes_on_after(self, step: int) -> bool:
        with self._lock:
            self._seen = max(self._seen, step)
            return step < self.last

    def choose(self) -> None:
        with self._lock:
            self.last = self._seen + 1


class Synchronous(Worker):
    """Workers that wait for each other: the gradient of each is 1, so each update takes 1 from both variables."""

    end: End

    def model(self) -> Any:
        with tf.device(tf.train.replica_device_setter(cluster=self.cluster.spec)):
            self.step = tf.train.get_or_create_global_step()
            self.variables = [tf.get_variable(f"v{i}", [], initializer=tf.zeros_initializer()) for i in range(2)]
            optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), WORKERS)
            train = optimizer.minimize(tf.add_n(self.variables), self.step)
        self.hooks = [optimizer.make_session_run_hook(self.index == 0)]
        return train

    def session(self) -> Any:
        config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{self.index}"])
        return tf.train.MonitoredTrainingSession(
            self.cluster.target("worker", self.index), self.index == 0, hooks=self.hooks, config=config,
            log_step_count_steps=None,
        )  # fmt: skip

    def run(self) -> None:
        try:
            with tf.Graph().as_default():
                train = self.model()
                with self.session() as session:
                    going = True
                    while going:
                        session.run(train)
                        self.steps += 1
                        going = self.end.goes_on_after(session.run(self.step))
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error


@pytest.mark.parametrize("task", ["ps:1", "ps:0"])
def test_synchronous_workers(cluster: LocalCluster, spare: tf.train.Server, task: str) -> None:
    """Every update is applied to both servers, once."""
    end = End()
    workers = [Synchronous(cluster, i) for i in range(WORKERS)]
    for worker in workers:
        worker.end = end
        worker.start()
    try:
        wait_for_steps(workers, 3)
        move(cluster, task, spare)
        wait_for_steps(workers, 3)
    finally:
        end.choose()
        for worker in workers:
            worker.join(WAIT_S)
    assert [worker.error for worker in workers] == [None] * WORKERS
    with tf.Graph().as_default():
        reader = Synchronous(cluster, 0)
        reader.model()
        with tf.Session(cluster.target("worker", 0)) as session:
            step, first, second = session.run([reader.step, *reader.variables])
    assert step == end.last and first == second == -float(step)


# ---- what moves


def test_all_that_has_a_name_moves(cluster: LocalCluster, spare: tf.train.Server) -> None:
    with tf.device("/job:ps/task:1"):
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, shared_name="table")
        queue = tf.RandomShuffleQueue(100, 0, [tf.float32, tf.string], shapes=[[2], []], seed=5, shared_name="queue")
        large = tf.get_variable("large", [3 << 20], initializer=tf.random_uniform_initializer())  # of several messages
        words = tf.get_variable("words", initializer=tf.constant(["a", "bc"]))
        nothing = tf.get_variable("nothing", [2])
        with tf.container("other"):
            inner = tf.get_variable("inner", initializer=tf.constant(7, tf.int8))
    insert = table.insert(tf.constant(["one", "two"]), tf.constant([1, 2], tf.int64))
    number = tf.placeholder(tf.float32, [])
    enqueue = queue.enqueue([tf.stack([number, -number]), tf.as_string(number)])
    look = table.lookup(tf.constant(["two", "three"]))
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run([large.initializer, words.initializer, inner.initializer, insert])
        for i in range(40):
            session.run(enqueue, {number: i})
        before = session.run(large)
    move(cluster, "ps:1", spare)
    with tf.Session(cluster.target("worker", 0)) as session:
        assert (session.run(large) == before).all()
        assert session.run(words).tolist() == [b"a", b"bc"] and session.run(inner) == 7
        assert session.run(tf.report_uninitialized_variables([large, words, nothing, inner])).tolist() == [b"nothing"]
        assert session.run(look).tolist() == [2, -1]
        pairs = [session.run(queue.dequeue()) for _ in range(40)]
    assert sorted(pair[0][0] for pair in pairs) == list(range(40))
    assert all(float(text) == numbers[0] == -numbers[1] for numbers, text in pairs)


def test_many_small_variables(cluster: LocalCluster, spare: tf.train.Server) -> None:
    """They come together in a few messages."""
    with tf.device("/job:ps/task:1"):
        variables = [tf.get_variable(f"v{i}", initializer=tf.constant([i, i])) for i in range(1500)]
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
    move(cluster, "ps:1", spare)
    with tf.Session(cluster.target("worker", 0)) as session:
        assert [value[1] for value in session.run(variables)] == list(range(1500))


def test_a_step_that_waits_at_a_queue_is_given_up(cluster: LocalCluster, spare: tf.train.Server) -> None:
    """It has taken nothing, so a new session may run it again."""
    with tf.device("/job:ps/task:1"):
        queue = tf.FIFOQueue(10, tf.int32, shapes=[[]], shared_name="queue")
    element, enqueue = queue.dequeue(), queue.enqueue(3)
    session = tf.Session(cluster.target("worker", 0))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(session.run, element)
        service = cluster.server("ps", 1)._service
        for _ in range(int(WAIT_S / 0.01)):
            if any(s.graph.steps.status() for s in service._sessions.values()):
                break
            threading.Event().wait(0.01)
        move(cluster, "ps:1", spare)
        with pytest.raises(tf.errors.AbortedError, match=f"{PS1} moves to {address_of(spare).partition(':')[0]}"):
            waiting.result(WAIT_S)
    session.close()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(enqueue)
        assert session.run(element) == 3


# ---- who finds it


def count(cluster: LocalCluster, worker: int, spec: Any = None) -> int:
    """Adds 1 on ps:1 by a new session of a worker; the sum."""
    with tf.Graph().as_default(), tf.device("/job:ps/task:1"):
        counter = tf.get_variable("counter", [], tf.int32, tf.zeros_initializer())
        with tf.Session(cluster.target("worker", worker), config=CONFIG) as session:
            if len(session.run(tf.report_uninitialized_variables([counter]))):
                session.run(counter.initializer)
            return int(session.run(counter.assign_add(1)))


def test_a_worker_that_starts_later_asks_where_the_task_was(cluster: LocalCluster, spare: tf.train.Server) -> None:
    assert count(cluster, 0) == 1
    move(cluster, "ps:1", spare)
    cluster.restart("worker", 3)  # it knows the cluster spec only
    assert count(cluster, 3) == 2


def test_a_worker_that_starts_when_the_old_process_is_gone_asks_the_others(
    cluster: LocalCluster, spare: tf.train.Server
) -> None:
    assert count(cluster, 0) == 1
    move(cluster, "ps:1", spare)
    cluster.server("ps", 1)._stop()
    cluster.restart("worker", 3)
    assert count(cluster, 3) == 2
    cluster.restart("ps", 0)  # it has forgotten, and hears it from whoever greets it
    assert count(cluster, 3) == 3
    cluster.restart("worker", 2)
    assert count(cluster, 2) == 4


def test_a_process_that_is_started_again_where_the_task_was(cluster: LocalCluster, spare: tf.train.Server) -> None:
    """It takes itself for the task until it hears better."""
    assert count(cluster, 0) == 1
    move(cluster, "ps:1", spare)
    cluster.restart("ps", 1)
    assert count(cluster, 0) == 2
    cluster.restart("worker", 3)
    assert count(cluster, 3) == 3


def test_a_client_that_names_the_old_process_as_its_target(cluster: LocalCluster, spare: tf.train.Server) -> None:
    assert count(cluster, 0) == 1
    old = cluster.spec.task_address("ps", 1)
    move(cluster, "ps:1", spare)
    with tf.device("/job:ps/task:1"):
        counter = tf.get_variable("counter", [], tf.int32)
    for target in (f"grpc://{old}", cluster.target("ps", 1)):
        with tf.Session(target) as session:
            assert session.run(counter) == 1


def test_a_process_that_is_started_again_has_its_tasks(
    make_server: Callable[..., tf.train.Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without their state, as every process that is started again; the file says which tasks they are."""
    with local_cluster(2, 2) as cluster:
        address = free_addresses(1)
        monkeypatch.setenv("HEADRACE_TASKS_FILE", str(tmp_path / "spare"))
        spare = make_server({"spare": address}, config=CONFIG)
        assert count(cluster, 0) == 1
        new = move_task(cluster.target("worker", 0), "ps:1", address[0])
        assert count(cluster, 0) == 2
        spare._stop()
        again = make_server({"spare": address}, config=CONFIG)
        assert [server._worker.task for server in again._takeovers.servers[1:]] == [PS1]
        assert count(cluster, 1) == 1
        move_task(cluster.target("worker", 0), "ps:1", cluster.spec.task_address("ps", 0))
        again._stop()
        third = make_server({"spare": address}, config=CONFIG)
        assert len(third._takeovers.servers) == 1
        assert third._takeovers.server._addresses.moves == {}  # of its own cluster
        assert count(cluster, 1) == 2
        assert new.partition(":")[0] == address[0].partition(":")[0]


def test_a_file_that_is_none(make_server: Callable[..., tf.train.Server], tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text('{"own": 3}')
    monkeypatch.setenv("HEADRACE_TASKS_FILE", str(tmp_path / "file"))
    with pytest.raises(tf.errors.DataLossError, match=r"HEADRACE_TASKS_FILE=.*file is not a note of tasks"):
        make_server({"spare": free_addresses(1)}, config=CONFIG)


# ---- what fails


class Killed(RuntimeError):
    """The process that takes over is gone."""


POINTS = {
    "when some know of it": (request.StandBy, 1), "as it asks": (request.Depart, 0),
    "while it pulls": (request.Pull, 0), "before sessions end": (request.Settle, 0), "with the rest": (request.Pull, 1),
    "when those of the task have ended": (request.EndSessions, 0), "when more have ended": (request.EndSessions, 1),
    "before it is the owner": (request.HandOver, 0),
}  # fmt: skip


def interrupt(monkeypatch: pytest.MonkeyPatch, point: str, action: Callable[[], None]) -> None:
    """Calls the action instead of the request of this point."""
    kind, number = POINTS[point]
    real_ask, real_call = arrival.ask, arrival.call
    count = iter(range(100))

    def look(asked: Any) -> None:
        if isinstance(asked, kind) and next(count) == number:
            action()

    def ask(peer: Any, asked: Any, *arguments: Any, **keywords: Any) -> Any:
        look(asked)
        return real_ask(peer, asked, *arguments, **keywords)

    def call(peer: Any, asked: Any, *arguments: Any) -> None:
        look(asked)
        real_call(peer, asked, *arguments)

    monkeypatch.setattr(arrival, "ask", ask)
    monkeypatch.setattr(arrival, "call", call)


def kill() -> None:
    raise Killed("killed")


@pytest.mark.usefixtures("full_length")
@pytest.mark.parametrize("point", POINTS)
def test_the_new_process_ends_in_the_middle(
    cluster: LocalCluster, workers: list[Worker], spare: tf.train.Server, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task stays where it was, and training goes on; the next move succeeds."""
    interrupt(monkeypatch, point, kill)
    with pytest.raises(tf.errors.OpError, match="killed"):
        move(cluster, "ps:1", spare)
    wait_for_steps(workers)
    monkeypatch.undo()
    assert not cluster.server("ps", 1)._service.residence.gone_to
    move(cluster, "ps:1", spare)
    wait_for_steps(workers, 2)
    check_counts(cluster, workers)


@pytest.mark.usefixtures("full_length")
@pytest.mark.parametrize("point", ["while it pulls", "before sessions end", "before it is the owner"])
def test_the_old_process_is_killed_in_the_middle(
    cluster: LocalCluster, workers: list[Worker], spare: tf.train.Server, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is a killed server: started again it has no values, and the chief initialises the model."""
    interrupt(monkeypatch, point, lambda: cluster.restart("ps", 1))
    with pytest.raises(tf.errors.OpError):
        move(cluster, "ps:1", spare)
    wait_for_steps(workers)
    assert not cluster.server("ps", 1)._service.residence.gone_to
    finish(workers)


def test_the_answer_of_the_old_process_is_lost(
    cluster: LocalCluster, workers: list[Worker], spare: tf.train.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has given the task away: the new process asks it, and serves."""
    real_ask = arrival.ask

    def ask(peer: Any, asked: Any, *arguments: Any, **keywords: Any) -> Any:
        answer = real_ask(peer, asked, *arguments, **keywords)
        if isinstance(asked, request.HandOver):
            raise tf.errors.UnavailableError(None, None, "the connection has ended")
        return answer

    monkeypatch.setattr(arrival, "ask", ask)
    move(cluster, "ps:1", spare)
    wait_for_steps(workers)
    check_counts(cluster, workers)


def test_who_may_not_take_over(cluster: LocalCluster, spare: tf.train.Server) -> None:
    stranger = open_endpoint(key="not the key of this cluster, by far")
    try:
        with pytest.raises(tf.errors.OpError, match="another cluster key"):
            request.ask(
                stranger.connect(cluster.spec.task_address("ps", 1)), request.Depart("localhost:1", ""), seconds=20
            )
    finally:
        stranger.close()


def test_wrong_arguments(cluster: LocalCluster, spare: tf.train.Server) -> None:
    with pytest.raises(
        tf.errors.NotFoundError, match=r"there is no task /job:ps/replica:0/task:7; the tasks are /job:ps"
    ):
        move(cluster, "ps:7", spare)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cannot take over /job:ps/.* its process is /job:worker"):
        move(cluster, "ps:1", cluster.server("worker", 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{PS1} is in the process at localhost:.* already"):
        move(cluster, "ps:1", cluster.server("ps", 1))
    with pytest.raises(ValueError, match=r'a task is named "ps:2" or "/job:ps/task:2": received .ps.'):
        move(cluster, "ps", spare)


@pytest.mark.usefixtures("full_length")
def test_a_new_process_that_is_not_there(cluster: LocalCluster) -> None:
    with pytest.raises(tf.errors.UnavailableError, match="could not be reached"):
        move_task(cluster.target("worker", 1), "ps:1", free_addresses(1)[0])


def test_a_task_that_a_session_of_its_own_process_uses_stays(cluster: LocalCluster, spare: tf.train.Server) -> None:
    session = tf.Session(cluster.target("ps", 1))
    with pytest.raises(tf.errors.FailedPreconditionError, match="1 sessions of its own process use it"):
        move(cluster, "ps:1", spare)
    session.close()
    move(cluster, "ps:1", spare)


def test_messages_out_of_turn(cluster: LocalCluster) -> None:
    """Who has not begun to take the task over gets nothing of it."""
    endpoint = open_endpoint()
    try:
        peer = endpoint.connect(cluster.spec.task_address("ps", 1))
        for asked in (request.Pull([(0, 0, 1)]), request.Settle(), request.HandOver()):
            with pytest.raises(tf.errors.AbortedError, match=f"{PS1} is not about to move"):
                request.ask(peer, asked, seconds=20)
        with pytest.raises(tf.errors.AbortedError, match="has no session"):
            request.ask(peer, request.Depart("localhost:1", "nobody"), seconds=20)
    finally:
        endpoint.close()
