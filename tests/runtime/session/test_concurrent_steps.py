"""Steps at the same time over one variable: what `use_locking` promises, and that nothing breaks without it.

Everything runs with several threads in one session, and with two sessions on one server whose graphs name the same variable.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from resources.calls import run_threads

import headrace as tf
from headrace.resources.state.variable import Variable
from headrace.runtime.session import target

THREADS = 4
SIZES = [(), (8,), (100_000,)]  # by array kernels with the GIL held, and by torch's kernels without it

Build = Callable[[], tuple[tf.Variable, Any]]


class Race:
    """Runs the steps of a model on several threads, and gives the variable's last value."""

    def __init__(self, targets: list[str]) -> None:
        self._targets = targets

    def __call__(self, build: Build, times: int, run: Callable[[tf.Session, Any], Any] | None = None) -> Any:
        """``build`` makes (variable, fetches) in each graph; ``run(session, fetches)``: one step, or as many as it likes."""
        models: list[tuple[tf.Session, tf.Variable, Any]] = []
        for name in self._targets:
            with tf.Graph().as_default() as graph:
                variable, step = build()
                init = tf.global_variables_initializer()
            models.append((tf.Session(name, graph=graph), variable, step))
            if len(models) == 1:
                models[0][0].run(init)
        sessions = [model[0] for model in models]

        def work(session: tf.Session, step: Any) -> None:
            for _ in range(times):
                (run or tf.Session.run)(session, step)

        try:
            run_threads(*[(lambda s=s, step=step: work(s, step)) for s, _, step in models * (THREADS // len(models))])
            return sessions[0].run(models[0][1])
        finally:
            for session in sessions:
                session.close()


@pytest.fixture(params=["one session", "two sessions"])
def race(request: pytest.FixtureRequest) -> Iterator[Race]:
    if request.param == "one session":
        yield Race([""])
        return
    server = tf.train.Server.create_local_server()
    yield Race([server.target] * 2)
    target.withdraw(server.target)
    server._worker.close()


def times(shape: tuple[int, ...]) -> int:
    return 30 if np.prod(shape) > 1000 else 200


class TestLocked:
    @pytest.mark.parametrize("shape", SIZES)
    @pytest.mark.parametrize("update", [tf.assign_add, tf.assign_sub])
    def test_no_update_is_lost(self, race: Race, shape: tuple[int, ...], update: Any) -> None:
        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(tf.zeros(shape), name="v")
            return v, update(v, tf.ones(shape), use_locking=True).op

        total = THREADS * times(shape) * (1 if update is tf.assign_add else -1)
        assert np.all(race(build, times(shape)) == total)

    def test_updates_of_one_step_and_another_of_the_same_variable(self, race: Race) -> None:
        """Adds and subtracts the same in different steps; both take the variable's one lock."""

        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(tf.zeros([100_000]), name="v")
            ones = tf.ones([100_000])
            return v, [v.assign_add(ones, use_locking=True).op, v.assign_sub(ones, use_locking=True).op]

        def run(session: tf.Session, steps: Any) -> None:
            for step in steps:
                session.run(step)

        assert np.all(race(build, 25, run) == 0)

    def test_rows(self, race: Race) -> None:
        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(tf.zeros([50, 400]), name="v")
            return v, tf.scatter_add(v, tf.range(0, 50, 2), tf.ones([25, 400]), use_locking=True).op

        value = race(build, 100)
        assert np.all(value[::2] == THREADS * 100) and np.all(value[1::2] == 0)

    def test_gradient_descent(self, race: Race) -> None:
        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(tf.zeros([100_000]), name="v")
            optimizer = tf.train.GradientDescentOptimizer(1.0, use_locking=True)
            return v, optimizer.apply_gradients([(tf.ones([100_000]), v)])

        assert np.all(race(build, 50) == -THREADS * 50)

    def test_a_variable_and_its_slot_together(self, race: Race) -> None:
        """After k updates the slot is k and the variable -(1 + ... + k): any mixing of two updates would show."""

        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(tf.zeros([40_000]), name="v")
            optimizer = tf.train.MomentumOptimizer(1.0, 1.0, use_locking=True)
            return v, optimizer.apply_gradients([(tf.ones([40_000]), v)])

        updates = THREADS * 50
        assert np.all(race(build, 50) == -updates * (updates + 1) / 2)

    @pytest.mark.parametrize("shape", SIZES)
    def test_the_last_assignment_is_whole(self, race: Race, shape: tuple[int, ...]) -> None:
        numbers = iter(range(1, 1_000_000))

        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(tf.zeros(shape), name="v")
            x = tf.placeholder(tf.float32, [])
            return v, (tf.assign(v, tf.fill(shape, x) if shape else x, use_locking=True).op, x)

        def run(session: tf.Session, step: Any) -> None:
            session.run(step[0], {step[1]: next(numbers)})

        value = race(build, times(shape), run)
        assert value.min() == value.max() > 0

    def test_the_buffer_is_looked_up_under_the_lock(self, session: tf.Session) -> None:
        """Whoever held the lock before may have replaced the buffer."""
        v = tf.Variable([1.0, 1.0])
        adds = [tf.assign_add(v, [1.0, 1.0], use_locking=True), tf.assign_sub(v, [-1.0, -1.0], use_locking=True)]
        session.run(v.initializer)
        state = state_of(session, v)

        class Replacing:
            def __enter__(self) -> None:
                state.hold(torch.tensor([10.0, 20.0]))

            def __exit__(self, *error: object) -> None:
                pass

        state.lock = Replacing()  # type: ignore[assignment]
        for add in adds:
            assert session.run(add).tolist() == [11, 21]


class TestCounting:
    def test_every_number_once(self, race: Race) -> None:
        limit = 300
        counted: list[int] = []

        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(0, name="v")
            return v, v.count_up_to(limit)

        def run(session: tf.Session, step: Any) -> None:
            try:
                while True:
                    counted.append(session.run(step))
            except tf.errors.OutOfRangeError:
                pass

        assert race(build, 1, run) == limit
        assert sorted(counted) == list(range(limit))


class TestUnlocked:
    @pytest.mark.parametrize("shape", SIZES)
    def test_updates_may_be_lost_and_nothing_breaks(self, race: Race, shape: tuple[int, ...]) -> None:
        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(tf.zeros(shape), name="v")
            return v, v.assign_add(tf.ones(shape)).op

        value = race(build, times(shape))
        assert value.shape == shape
        assert np.all((value >= 1) & (value <= THREADS * times(shape)))

    def test_shapes_that_change(self, race: Race) -> None:
        """Every step replaces the buffer that others read and write just now."""

        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable([0.0], name="v", validate_shape=False)
            n = tf.placeholder(tf.int32, [])
            return v, (tf.assign(v, tf.zeros([n]), validate_shape=False, use_locking=False).op, n, tf.reduce_sum(v))

        def run(session: tf.Session, step: Any) -> None:
            for size in (3, 70_000, 1):
                session.run(step[0], {step[1]: size})
                assert session.run(step[2]) == 0

        assert race(build, 30, run).shape in [(1,), (3,), (70_000,)]

    def test_everybody_initialises(self, race: Race) -> None:
        def build() -> tuple[tf.Variable, Any]:
            v = tf.Variable(tf.fill([1000], 3.0), name="v")
            return v, (v.initializer, tf.reduce_min(v))

        def run(session: tf.Session, step: Any) -> None:
            session.run(step[0])
            assert session.run(step[1]) == 3

        assert np.all(race(build, 50, run) == 3)


class TestReaders:
    def test_do_not_wait_for_the_lock(self, session: tf.Session) -> None:
        v = tf.Variable(tf.ones([10]))
        read = tf.reduce_sum(v)
        session.run(v.initializer)
        session.run(read)
        sums: list[Any] = []
        with state_of(session, v).lock:
            reader = threading.Thread(target=lambda: sums.append(session.run(read)))
            reader.start()
            reader.join(10)
            assert sums == [10]

    def test_a_locked_update_waits(self, session: tf.Session) -> None:
        v = tf.Variable(tf.ones([10]))
        add, free = v.assign_add(tf.ones([10]), use_locking=True).op, v.assign_add(tf.ones([10])).op
        session.run(v.initializer)
        session.run([add, free])
        with state_of(session, v).lock:
            writer = threading.Thread(target=session.run, args=(add,))
            writer.start()
            session.run(free)  # does not ask for the lock
            writer.join(0.05)
            assert writer.is_alive() and session.run(v)[0] == 4
        writer.join(10)
        assert session.run(v)[0] == 5

    def test_a_value_does_not_change_after_the_step(self, session: tf.Session) -> None:
        """What ``run`` returned is the caller's, whatever other steps write later."""
        v = tf.Variable(tf.zeros([100_000]))
        add = v.assign_add(tf.ones([100_000])).op
        session.run(v.initializer)
        value = session.run(v)
        session.run(add)
        assert np.all(value == 0)


def state_of(session: tf.Session, variable: tf.Variable) -> Variable:
    state: Variable = session._master.registered._handles[variable.op.name]
    return state
