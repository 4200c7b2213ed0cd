"""tf.train.replicas: one worker trains as without it, bit for bit; several as the mode says; workers come and go."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.graph.body import ancestors

RANDOM = np.random.RandomState(0)
ROWS = RANDOM.randn(12, 3).astype(np.float32)
WORDS = RANDOM.randint(0, 6, 12)
LABELS = RANDOM.randn(12).astype(np.float32)
STEPS = 6
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.05),
}
MODES: dict[str, dict[str, Any]] = {
    "async": {}, "stale": {"staleness": 0}, "sync": {}, "backup": {}, "quorum": {"quorum": 1, "grace_ms": 5},
    "local": {"steps": 1},
}  # fmt: skip


class Model:
    """A dense and a sparse variable, and a line through both."""

    def __init__(self, wrap: Callable[[Any], Any], optimizer: str = "adam") -> None:
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.words = tf.placeholder(tf.int64, [None])
        self.y = tf.placeholder(tf.float32, [None])
        self.w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32))
        self.table = tf.get_variable("table", initializer=np.full((6, 1), 0.5, np.float32))
        self.loss = tf.reduce_mean(tf.square(self.predict()[:, 0] - self.y))
        self.step = tf.train.get_or_create_global_step()
        self.optimizer = wrap(OPTIMIZERS[optimizer]())
        self.train = self.optimizer.minimize(self.loss, self.step)

    def predict(self) -> Any:
        return tf.matmul(self.x, self.w) + tf.nn.embedding_lookup(self.table, self.words)

    def feeds(self, rows: Any) -> dict[Any, Any]:
        return {self.x: ROWS[rows], self.words: WORDS[rows], self.y: LABELS[rows]}


def alone(optimizer: str, rows: Any = slice(None)) -> list[Any]:
    """What one session comes to without replicas."""
    with tf.Graph().as_default():
        model = Model(lambda one: one, optimizer)
        with tf.train.MonitoredTrainingSession() as session:
            for _ in range(STEPS):
                session.run(model.train, model.feeds(rows))
            return list(session.run([model.w, model.table, model.step]))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("mode", MODES)
def test_one_worker_trains_as_without_it_bit_for_bit(mode: str, optimizer: str) -> None:
    expected = alone(optimizer)
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, mode, 1, **MODES[mode]), optimizer)
        with tf.train.MonitoredTrainingSession() as session:
            for _ in range(STEPS):
                session.run(model.train, model.feeds(slice(None)))
            found = session.run([model.w, model.table, model.step])
            report = model.optimizer.report(session)
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, other)
    assert report["updates"] == STEPS and report["staleness"] == {0: STEPS} and report["workers"] == 1


BOTH = pytest.mark.parametrize("dense", ["servers", "all_reduce"])


@pytest.mark.parametrize(
    "arguments", [{"mode": mode, **MODES[mode]} for mode in MODES] + [{"mode": "sync", "dense": "all_reduce"}]
)
def test_a_checkpoint_has_the_names_of_the_optimizer_alone(arguments: dict[str, Any]) -> None:
    names = []
    for wrap in (lambda one: one, lambda one: tf.train.replicas(one, **arguments)):
        with tf.Graph().as_default():
            Model(wrap, "adam")
            names.append({variable.op.name for variable in tf.global_variables()})
    if arguments["mode"] == "local":  # slots are the worker's own
        names[0] = {name for name in names[0] if "Adam" not in name and "power" not in name}
    assert names[0] == names[1]


# ---- several workers: threads on one server


@pytest.fixture
def server() -> Iterator[Any]:
    server = tf.train.Server.create_local_server(tf.ConfigProto(device_count={"CPU": 4}, compile="off"))
    yield server
    tf.Session.reset(server.target)


def place(worker: int) -> Any:
    return tf.train.replica_device_setter(
        ps_tasks=1, ps_device="/job:localhost/cpu:0", worker_device=f"/job:localhost/task:0/cpu:{worker + 1}"
    )


class Job:
    """Workers that run one program, each in a thread."""

    def __init__(self, server: Any, workers: int) -> None:
        self.server, self.workers = server, workers
        self.ready = threading.Event()

    def run(
        self, wrap: Callable[[Any], Any], body: Callable[[int, Any, Model], Any], optimizer: str = "adam",
        hooks: Callable[[int, Model], list[Any]] = lambda worker, model: [],
    ) -> list[Any]:  # fmt: skip
        """What ``body(worker, session, model)`` returns for each worker."""

        def work(worker: int) -> Any:
            with tf.Graph().as_default(), tf.device(place(worker)):
                model = Model(wrap, optimizer)
                if worker:
                    assert self.ready.wait(60)
                own = hooks(worker, model)
                with tf.train.MonitoredTrainingSession(self.server.target, worker == 0, hooks=own) as session:
                    self.ready.set()
                    return body(worker, session, model)

        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(work, range(self.workers)))


def mine(worker: int, workers: int) -> slice:
    return slice(worker, None, workers)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("mode", ["sync", "backup", "quorum"])
def test_synchronous_modes_equal_large_batches(server: Any, mode: str, optimizer: str) -> None:
    arguments = {"sync": {}, "backup": {"backups": 0}, "quorum": {"quorum": 3}}[mode]

    def body(worker: int, session: Any, model: Model) -> Any:
        for _ in range(STEPS):
            session.run(model.train, model.feeds(mine(worker, 3)))
        return session.run([model.w, model.table, model.step])

    found = Job(server, 3).run(lambda one: tf.train.replicas(one, mode, 3, **arguments), body, optimizer)
    for values in found:
        for value, other in zip(values, alone(optimizer), strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


def test_the_order_of_arrival_does_not_matter(server: Any) -> None:
    def run(order: list[int]) -> list[Any]:
        turns = [threading.Event() for _ in range(4)]
        turns[0].set()

        def body(worker: int, session: Any, model: Model) -> Any:
            turn = order.index(worker)
            assert turns[turn].wait(60)
            turns[turn + 1].set()
            session.run(model.train, model.feeds(mine(worker, 3)))
            return session.run([model.w, model.table])

        values = Job(server, 3).run(lambda one: tf.train.replicas(one, "sync", 3), body)
        tf.Session.reset(server.target)
        return list(values[0])

    for value, other in zip(run([0, 1, 2]), run([2, 0, 1]), strict=True):
        np.testing.assert_array_equal(value, other)


def test_local_steps_average_the_copies(server: Any) -> None:
    def body(worker: int, session: Any, model: Model) -> Any:
        for _ in range(4):
            session.run(model.train, model.feeds(mine(worker, 2)))
        return session.run([model.w, model.step]), model.optimizer.report(session)["updates"]

    (values, updates), (others, _) = Job(server, 2).run(
        lambda one: tf.train.replicas(one, "local", 2, steps=2), body, "sgd"
    )
    w = [np.ones((3, 1)), np.ones((3, 1))]
    table = [np.full((6, 1), 0.5), np.full((6, 1), 0.5)]
    for step in range(4):
        for worker in range(2):
            rows = mine(worker, 2)
            out = ROWS[rows] @ w[worker] + table[worker][WORDS[rows]]
            error = 2 * (out[:, 0] - LABELS[rows])[:, None] / len(out)
            slope = np.zeros((6, 1))
            np.add.at(slope, WORDS[rows], error)
            w[worker] = w[worker] - 0.1 * ROWS[rows].T @ error
            table[worker] = table[worker] - 0.1 * slope
        if step % 2:
            w = [(w[0] + w[1]) / 2] * 2
            table = [(table[0] + table[1]) / 2] * 2
    assert updates == 2 and values[1] == others[1] == 4
    np.testing.assert_allclose(values[0], w[0], rtol=1e-5)
    np.testing.assert_array_equal(values[0], others[0])


def test_an_outer_optimizer_takes_the_way_to_the_mean_for_a_gradient() -> None:
    with tf.Graph().as_default():
        x = tf.Variable(3.0)
        outer = tf.train.MomentumOptimizer(0.7, 0.9)
        optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "local", 1, steps=2, outer=outer)
        train = optimizer.minimize(tf.square(x), tf.train.get_or_create_global_step())
        with tf.train.MonitoredTrainingSession() as session:
            for _ in range(6):
                session.run(train)
            found = session.run(x)
    value, speed = 3.0, 0.0
    for _ in range(3):
        speed = 0.9 * speed + value - value * 0.8**2
        value -= 0.7 * speed
    assert found == pytest.approx(value, rel=1e-5)


class Broken:
    """One worker whose updates can be begun, and finished by who comes after it."""

    def __init__(self, optimizer: str, mode: str) -> None:
        outer = {"outer": tf.train.MomentumOptimizer(0.7, 0.9)} if mode == "outer" else {}
        arguments: dict[str, Any] = {"mode": "local", "steps": 1, **outer}
        if mode in ("sync", "all_reduce"):
            arguments = {"mode": "sync", "dense": "servers" if mode == "sync" else mode}
        self.model = Model(lambda one: tf.train.replicas(one, **arguments), optimizer)
        ops = tf.get_default_graph().get_operations()
        (self.lead,) = [op for op in ops if op.type == "_LeadReplicas"]
        self.next, _ = [op for op in ops if op.type == "_NextUpdate"]
        self.finished, self.made = [op for op in ops if op.type == "_UpdateIsMade"]
        self.staged = [op for op in ops if op.type == "_UpdateIsStaged"]
        self.notes = [op for op in ops if op.type == "_NoteWritten"]
        self.init = [tf.global_variables_initializer(), tf.local_variables_initializer()]
        self.state = tf.global_variables()

    def train(self, begun: list[int] | None) -> list[Any]:
        """The values after two updates.  Of the second, the writes ``begun`` are made before another finishes it.

        With "all_reduce" it is staged before.
        """
        with tf.Session() as session, ThreadPoolExecutor(1) as pool:
            for init in self.init:
                session.run(init)
            assert not session.run(self.lead.outputs[0])
            for number in range(2):
                trained = pool.submit(session.run, self.model.train, self.model.feeds(slice(None)))
                if number == 0 or begun is None:
                    session.run(self.made)
                else:
                    # a node runs with all that it depends on
                    session.run([self.next, *self.staged, *(self.notes[i] for i in begun)])
                    session.run(self.finished)
                trained.result(60)
            assert self.model.optimizer.report(session)["repeated"] == (begun is not None)
            return session.run(self.state)


class _WhereFinite(tf.train.AdamOptimizer):
    """Its writes are in the body of a conditional."""

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        pairs = list(grads_and_vars)
        self._create_slots([variable for _, variable in pairs])
        is_finite = tf.reduce_all([tf.reduce_all(tf.is_finite(tf.convert_to_tensor(one))) for one, _ in pairs])
        apply = super().apply_gradients
        return tf.cond(is_finite, lambda: tf.group(apply(pairs, global_step, name)), tf.no_op).op


@pytest.mark.parametrize("mode", ["sync", "all_reduce", "local", "outer"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_update_that_was_begun_is_finished_and_no_more(optimizer: str, mode: str) -> None:
    """Whatever of it was done: variables, slots and the global step are those of two updates, up to rounding."""
    with tf.Graph().as_default():
        job = Broken(optimizer, mode)
        expected = job.train(None)
        assert len(job.notes) >= 3
        for begun in ([], *([i] for i in range(len(job.notes))), list(range(len(job.notes)))):
            for variable, value, other in zip(job.state, job.train(begun), expected, strict=True):
                np.testing.assert_allclose(value, other, 1e-6, err_msg=f"{variable.name}, {begun} were done")


def test_writes_in_a_conditional_are_done_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPTIMIZERS, "conditional", lambda: _WhereFinite(0.05))
    with tf.Graph().as_default():
        job = Broken("conditional", "sync")
        assert len(job.notes) == 1
        expected = job.train(None)
        for begun in ([], [0]):
            for value, other in zip(job.train(begun), expected, strict=True):
                np.testing.assert_allclose(value, other, 1e-6)


def test_who_does_not_finish_gets_no_update_that_was_begun() -> None:
    with tf.Graph().as_default():
        job = Broken("sgd", "sync")
        with tf.Session() as session, ThreadPoolExecutor(1) as pool:
            for init in job.init:
                session.run(init)
            trained = pool.submit(session.run, job.model.train, job.model.feeds(slice(None)))
            session.run(job.lead)
            session.run(job.notes)
            with pytest.raises(tf.errors.AbortedError, match="was begun and not finished"):
                session.run(job.made)
            session.run(job.finished)
            trained.result(60)
            assert session.run(job.model.step) == 1


def test_an_update_that_was_not_staged_everywhere_is_made_anew() -> None:
    """Its leader is lost when the mean is at the servers, but has not said so: nothing is written, and another begins again."""
    with tf.Graph().as_default():
        job = Broken("adam", "all_reduce")
        (staged,) = job.staged
        assert all(staged in ancestors([note]) for note in job.notes)  # no write comes before
        expected = job.train(None)
        job.staged = staged.control_inputs
        job.finished = job.made
        for value, other in zip(job.train([]), expected, strict=True):
            np.testing.assert_allclose(value, other, 1e-6)


@BOTH
def test_a_late_gradient_is_dropped(server: Any, dense: str) -> None:
    others, late = threading.Barrier(3, timeout=60), threading.Event()

    def body(worker: int, session: Any, model: Model) -> Any:
        if worker < 2:
            session.run(model.train, model.feeds(mine(worker, 3)))
            late.set()
        else:
            value = session.run(model.step)  # this worker was released for step 0, as the others
            assert late.wait(60) and value in (0, 1)
            session.run(model.train, model.feeds(mine(worker, 3)))
        others.wait()
        result = session.run(model.step), model.optimizer.report(session)
        others.wait()
        return result

    wrap = partial(tf.train.replicas, mode="backup", workers=3, backups=1, dense=dense)
    for step, report in Job(server, 3).run(wrap, body):
        assert step == 1 and report["updates"] == 1
        assert sorted(tally["late"] for tally in report["by_worker"].values()) == [0, 0, 1]
        assert sorted(tally["counted"] for tally in report["by_worker"].values()) == [0, 1, 1]


def test_a_worker_is_not_too_far_ahead(server: Any) -> None:
    slow = threading.Event()
    done: list[int] = []

    def body(worker: int, session: Any, model: Model) -> Any:
        if worker == 0:
            for i in range(5):
                session.run(model.train, model.feeds(mine(0, 2)))
                done.append(i)
                if i == 1:
                    slow.set()
        else:
            assert slow.wait(60)
            assert len(done) == 2  # the third would be the first that is two ahead
            for _ in range(5):
                session.run(model.train, model.feeds(mine(1, 2)))
        return model.optimizer.report(session)

    reports = Job(server, 2).run(lambda one: tf.train.replicas(one, "stale", 2, staleness=2), body)
    assert max(report["updates"] for report in reports) == 10


@BOTH
@pytest.mark.parametrize("leaver", [0, 1])
def test_the_others_go_on_when_a_worker_leaves(server: Any, leaver: int, dense: str) -> None:
    """The first to join makes the updates: when it leaves, the other does."""

    def body(worker: int, session: Any, model: Model) -> Any:
        for _ in range(2 if worker == leaver else 5):
            session.run(model.train, model.feeds(mine(worker, 2)))
        return session.run(model.step)

    steps = Job(server, 2).run(lambda one: tf.train.replicas(one, "sync", 2, dense=dense), body)
    assert steps[1 - leaver] == 5


@BOTH
def test_another_worker_may_come_later(server: Any, dense: str) -> None:
    came = threading.Event()

    def body(worker: int, session: Any, model: Model) -> Any:
        if worker == 1:
            came.set()
        for _ in range(3):
            session.run(model.train, model.feeds(mine(worker, 2)))
        assert came.wait(60)
        session.run(model.train, model.feeds(mine(worker, 2)))
        return model.optimizer.report(session)["by_worker"]

    tallies = Job(server, 2).run(lambda one: tf.train.replicas(one, "sync", 1, dense=dense), body)[1]
    assert len(tallies) == 2 and all(tally["counted"] + tally["late"] >= 3 for tally in tallies.values())


def test_workers_without_a_device_have_numbers() -> None:
    """They have the name of their task, and share it; one that joins anew keeps its number."""
    server = tf.train.Server.create_local_server(tf.ConfigProto(compile="off"))
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, "async", 2))
        init, join = tf.global_variables_initializer(), tf.local_variables_initializer()
        with tf.Session(server.target) as one, tf.Session(server.target) as other:
            one.run(init)
            for session in (one, other, other):
                session.run(join)
            reports = [model.optimizer.report(session) for session in (one, other)]
    names = ["/job:localhost/replica:0/task:0", "/job:localhost/replica:0/task:0 #2"]
    assert [report["worker"] for report in reports] == names and list(reports[0]["by_worker"]) == names
    assert [tally["sessions"] for tally in reports[0]["by_worker"].values()] == [1, 2]


@BOTH
def test_plain_sessions(dense: str) -> None:
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, "sync", 1, dense=dense))
        init = [tf.global_variables_initializer(), tf.local_variables_initializer()]
        with tf.Session() as session:
            session.run(init[0])
            session.run(init[1])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            session.run(model.train, model.feeds(slice(None)))
            assert session.run(model.step) == 1
            coordinator.request_stop()
            coordinator.join(threads)


@pytest.mark.parametrize("mode", MODES)
def test_a_normal_end_reports_no_error(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, mode, 1, **MODES[mode]))
        with tf.train.MonitoredTrainingSession() as session:
            session.run(model.train, model.feeds(slice(None)))
    assert "Running local_init_op." in caplog.messages
    assert [message for message in caplog.messages if "rror" in message] == []


# ---- mistakes


def test_a_session_that_has_not_joined_is_told_so() -> None:
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, "stale", 1, staleness=1))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(tf.errors.FailedPreconditionError, match="replicas/state"):
                session.run(model.train, model.feeds(slice(None)))


def test_a_worker_that_waits_for_others_says_so() -> None:
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, "sync", 2))
        with tf.train.MonitoredTrainingSession() as session:
            options = tf.RunOptions(timeout_in_ms=200)
            with pytest.raises(tf.errors.DeadlineExceededError, match="1 of 2 workers have joined"):
                session.run(model.train, model.feeds(slice(None)), options=options)


def test_nobody_makes_updates_without_queue_runners() -> None:
    with tf.Graph().as_default():
        model = Model(lambda one: tf.train.replicas(one, "sync", 1))
        init = [tf.global_variables_initializer(), tf.local_variables_initializer()]
        with tf.Session() as session:
            session.run(init[0])
            session.run(init[1])
            options = tf.RunOptions(timeout_in_ms=200)
            with pytest.raises(
                tf.errors.DeadlineExceededError, match="nobody makes it: no session runs its queue runners"
            ):
                session.run(model.train, model.feeds(slice(None)), options=options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"mode": "sync", "workers": 3, "dense": "all_reduce"},
            "mode='sync', workers=3, dense='all_reduce', elastic=True",
        ),
        ({"mode": "backup", "workers": 2}, "mode='backup', workers=2, backups=1, dense='servers', elastic=True"),
        (
            {"mode": "local", "workers": 2, "steps": 4},
            "mode='local', workers=2, steps=4, dense='servers', elastic=True",
        ),
    ],
)
def test_workers_that_differ_are_refused(server: Any, arguments: dict[str, Any], said: str) -> None:
    here = {"mode": "local", "workers": 2, "steps": 3} if "steps" in arguments else {"mode": "sync", "workers": 2}
    with tf.Graph().as_default(), tf.device(place(0)):
        Model(lambda one: tf.train.replicas(one, **here))
        with tf.train.MonitoredTrainingSession(server.target), tf.Graph().as_default(), tf.device(place(1)):
            Model(lambda one: tf.train.replicas(one, **arguments))
            with pytest.raises(tf.errors.InvalidArgumentError) as error:
                tf.train.MonitoredTrainingSession(server.target, is_chief=False)
    there = ", ".join(f"{key}={value!r}" for key, value in here.items())
    assert (
        f"replicas 'replicas' have {there}, dense='servers', elastic=True, and this worker has {said}: all workers" in
        error.value.message
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "fast"}, "mode must be one of 'async', 'stale', 'sync', 'backup', 'quorum', 'local', 'auto'; got 'fast'"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
        ({"mode": "sync", "backups": 1}, "backups is an argument of mode 'backup', and the mode is 'sync'"),
        ({"mode": "stale"}, "mode 'stale' needs staleness"),
        ({"mode": "stale", "staleness": -1}, "staleness must be a whole number of at least 0, got -1"),
        ({"mode": "backup", "workers": 3, "backups": 3}, "backups must be at least 0 and less than the 3 workers"),
        ({"mode": "quorum", "quorum": 2}, "quorum is 2, but there are 1 workers"),
        ({"mode": "quorum", "quorum": 1, "grace_ms": -1}, "grace_ms must be a number of milliseconds, got -1"),
        ({"mode": "local"}, "mode 'local' needs steps"),
        ({"mode": "local", "steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"mode": "sync", "dense": "ring"}, "dense must be 'servers' or 'all_reduce', got 'ring'"),
        ({"mode": "stale", "staleness": 1, "dense": "all_reduce"},
         "dense='all_reduce' is for the modes 'sync', 'backup', 'quorum', and the mode is 'stale'"),
        ({"mode": "local", "steps": 1, "dense": "all_reduce"}, "for the modes .*, and the mode is 'local'"),
        ({"mode": "async", "steps": 2}, "steps is an argument of mode 'local', and the mode is 'async'"),
    ],
)  # fmt: skip
def test_mistakes(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), **arguments)
    assert "test_replicas.py" in str(error.value)


def test_mistakes_of_type() -> None:
    with pytest.raises(TypeError, match=r"optimizer must be a tf\.train\.Optimizer, and none of replicas; got 'sgd'"):
        tf.train.replicas("sgd")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"outer must be a tf\.train\.Optimizer, and none of replicas; got 1"):
        tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "local", steps=1, outer=1)  # type: ignore[arg-type]
    for wrapped in (tf.train.replicas(OPTIMIZERS["sgd"]()), tf.train.SyncReplicasOptimizer(OPTIMIZERS["sgd"](), 1)):
        with pytest.raises(TypeError, match="and none of replicas; got <headrace"):
            tf.train.replicas(wrapped)


def test_mistakes_in_the_graph() -> None:
    with tf.Graph().as_default():
        x = tf.Variable(1.0)
        optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "sync")
        with pytest.raises(ValueError, match="count updates by the global step"):
            optimizer.minimize(x)
        with pytest.raises(ValueError, match="report\\(\\) can be called after"):
            optimizer.report(None)
        with pytest.raises(ValueError, match="pairs is empty"):
            optimizer.apply_gradients([])
        step = tf.train.get_or_create_global_step()
        optimizer.minimize(x, step)
        with pytest.raises(ValueError, match="can be called once"):
            optimizer.minimize(x, step)
        local = tf.train.replicas(tf.train.GradientDescentOptimizer(0.1), "local", steps=1)
        with pytest.raises(ValueError, match="use its compute_gradients"):
            local.apply_gradients([(tf.constant(1.0), x)], step)
