"""tf.train.SyncReplicasOptimizer: replicas in threads train as one session with their batches together does."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from library.train.replica.replica import FEATURES, WAIT_S, Replica, started, threads, together

import headrace as tf

ServerMaker = Callable[[int], tf.train.Server]
OPTIMIZERS = {
    "gradient_descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
}
ROWS = len(FEATURES)


def large_batch(optimizer: str, steps: int, use_resource: bool = False, rows: Any = slice(None)) -> list[Any]:
    """What one session with all the data comes to."""
    model = Replica(0, OPTIMIZERS[optimizer], use_resource=use_resource)
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(graph=model.graph, config=config) as model.sess:
        sess = model.sess
        sess.run(model.init)
        for _ in range(steps):
            model.run(rows)
        values: list[Any] = sess.run(model.values)
        return values


def replicas(
    count: int, optimizer: str = "gradient_descent", use_resource: bool = False, **options: Any
) -> list[Replica]:
    synchronous = {"replicas_to_aggregate": count, **options}
    return [Replica(i, OPTIMIZERS[optimizer], synchronous, use_resource) for i in range(count)]


def assert_close(values: list[Any], expected: list[Any]) -> None:
    for value, other in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


class TestSynchronous:
    @pytest.mark.parametrize("count", [1, 2, 4])
    @pytest.mark.parametrize("optimizer", OPTIMIZERS)
    def test_replicas_train_as_one_large_batch(self, make_server: ServerMaker, count: int, optimizer: str) -> None:
        self._compare(make_server, count, optimizer, use_resource=False)

    def test_resource_variables(self, make_server: ServerMaker) -> None:
        self._compare(make_server, 2, "momentum", use_resource=True)

    def _compare(self, make_server: ServerMaker, count: int, optimizer: str, use_resource: bool) -> None:
        members = replicas(count, optimizer, use_resource)
        share = ROWS // count
        with started(make_server(count).target, members):
            steps = together(
                [partial(r.run, slice(i * share, (i + 1) * share)) for i, r in enumerate(members)], rounds=5
            )
            values = members[-1].sess.run(members[-1].values)
        assert steps == [[1, 2, 3, 4, 5]] * count
        assert_close(values, large_batch(optimizer, 5, use_resource))

    @pytest.mark.parametrize("optimizer", OPTIMIZERS)
    def test_variables_on_two_devices(self, make_server: ServerMaker, optimizer: str) -> None:
        """The bias is on a device of its own, as on a second parameter server."""
        options = {"replicas_to_aggregate": 2}
        members = [Replica(i, OPTIMIZERS[optimizer], options, bias_device="/cpu:3") for i in range(2)]
        with started(make_server(3).target, members):
            together([partial(members[0].run, slice(0, 4)), partial(members[1].run, slice(4, 8))], rounds=5)
            values = members[1].sess.run(members[1].values)
        assert members[0].b.device != members[0].w.device
        assert_close(values, large_batch(optimizer, 5))

    def test_averages_follow_each_step(self, make_server: ServerMaker) -> None:
        [member] = replicas(1, variable_averages=True)
        with started(make_server(1).target, [member]):
            expected = member.sess.run(member.w)
            for _ in range(3):
                member.run()
                expected = 0.5 * expected + 0.5 * member.sess.run(member.w)
                _poll(partial(_is_close, member, expected))

    def test_one_replica_computes_several_batches(self, make_server: ServerMaker) -> None:
        """With fewer replicas than gradients, each computes more than one batch for a step."""
        [member] = replicas(1, replicas_to_aggregate=4, total_num_replicas=1)
        with started(make_server(1).target, [member], num_tokens=3):
            steps = [int(member.run(slice(2 * (i % 4), 2 * (i % 4) + 2))) for i in range(12)]
            values = member.sess.run(member.values)
        assert steps == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]
        assert_close(values, large_batch("gradient_descent", 3))


class TestBackupWorkers:
    def test_a_stopped_worker_does_not_hold_up_the_others(self, make_server: ServerMaker) -> None:
        members = replicas(3, replicas_to_aggregate=2, total_num_replicas=3)
        first, second, _stopped = members
        with started(make_server(3).target, members), threads(2) as begin:
            goal = 10

            def work(replica: Replica) -> None:
                while replica.sess.run(replica.step) < goal:
                    replica.run()

            for call in [begin(work, first), begin(work, second)]:
                call.result(WAIT_S)
            assert first.sess.run(first.step) >= goal

    def test_a_late_gradient_is_dropped(self, make_server: ServerMaker) -> None:
        members = replicas(3, replicas_to_aggregate=2, total_num_replicas=3)
        first, second, late = members
        with started(make_server(3).target, members):
            assert together([partial(first.run, slice(0, 4)), partial(second.run, slice(4, 8))], 1) == [[1], [1]]
            before = late.sess.run(late.values)
            assert late.run(slice(0, 1)) == 1  # the third token: it does not wait
            assert_close(late.sess.run(late.values), before)
            assert _accumulated(late) == [0, 0, 0]
            assert together([partial(first.run, slice(0, 4)), partial(late.run, slice(4, 8))], 1) == [[2], [2]]
            values = late.sess.run(late.values)
        assert_close(values, large_batch("gradient_descent", 2))

    def test_the_gradients_that_come_first_count(self, make_server: ServerMaker) -> None:
        """The chief itself may be the one that is late."""
        members = replicas(3, replicas_to_aggregate=2, total_num_replicas=3)
        chief, first, second = members
        with started(make_server(3).target, members):
            together([partial(first.run, slice(0, 4)), partial(second.run, slice(4, 8))], 1)
            values = chief.sess.run(chief.values)
        assert_close(values, large_batch("gradient_descent", 1))


class TestMonitoredSessions:
    def test_chief_and_workers(self, make_server: ServerMaker) -> None:
        """Each replica is a monitored session with the optimizer's hook; the chief begins and ends them."""
        target, members = make_server(2).target, replicas(2)
        ready, done = threading.Event(), threading.Event()

        def replicate(index: int) -> int:
            replica, is_chief = members[index], index == 0
            if not is_chief:
                assert ready.wait(WAIT_S)
            hooks = [replica.optimizer.make_session_run_hook(is_chief, num_tokens=0)]
            steps = 0
            with (
                replica.graph.as_default(),
                tf.train.MonitoredTrainingSession(target, is_chief=is_chief, hooks=hooks) as replica.sess,
            ):
                ready.set()
                for _ in range(4):
                    assert not replica.sess.should_stop()
                    steps = replica.run(slice(4 * index, 4 * index + 4))
                    barrier.wait(WAIT_S)
                if is_chief:
                    values.extend(replica.sess.run(replica.values))
                    done.set()
                assert done.wait(WAIT_S)
            return steps

        values: list[Any] = []
        barrier = threading.Barrier(2)
        with threads(2) as begin:
            assert [call.result(WAIT_S) for call in [begin(replicate, i) for i in range(2)]] == [4, 4]
        assert_close(values, large_batch("gradient_descent", 4))

    def test_a_worker_stops_when_the_chief_is_gone(self, make_server: ServerMaker) -> None:
        target, members = make_server(2).target, replicas(2)
        ready, over = threading.Event(), threading.Event()
        chief, worker = members

        def work() -> int:
            assert ready.wait(WAIT_S)
            runs = 0
            hooks = [worker.optimizer.make_session_run_hook(is_chief=False)]
            with (
                worker.graph.as_default(),
                tf.train.MonitoredTrainingSession(target, is_chief=False, hooks=hooks) as worker.sess,
            ):
                over.set()
                while not worker.sess.should_stop():
                    worker.run()
                    runs += 1
            return runs

        with threads(1) as begin:
            call = begin(work)
            hooks = [chief.optimizer.make_session_run_hook(is_chief=True, num_tokens=0)]
            with (
                chief.graph.as_default(),
                tf.train.MonitoredTrainingSession(target, hooks=hooks) as chief.sess,
            ):
                ready.set()
                assert over.wait(WAIT_S)
                assert chief.run() >= 1  # the worker may have brought it further meanwhile
            assert call.result(WAIT_S) >= 1

    def test_the_next_chief_opens_the_token_queue_again(self, make_server: ServerMaker) -> None:
        target = make_server(1).target
        for _ in range(2):
            (chief,) = replicas(1)
            hooks = [chief.optimizer.make_session_run_hook(is_chief=True, num_tokens=0)]
            with (
                chief.graph.as_default(),
                tf.train.MonitoredTrainingSession(target, hooks=hooks) as chief.sess,
            ):
                assert [chief.run(), chief.run()] == [1, 2]

    def test_a_chief_that_lost_a_task_does_not_stop_the_others(self, make_server: ServerMaker) -> None:
        """A worker waits for its token while the chief makes a new session; then both go on."""
        target, (chief, worker) = make_server(2).target, replicas(2)
        lost, ready, steps = threading.Event(), threading.Event(), threading.Event()

        def work() -> list[int]:
            found: list[int] = []
            assert ready.wait(WAIT_S)
            hooks = [worker.optimizer.make_session_run_hook(is_chief=False)]
            with (
                worker.graph.as_default(),
                tf.train.MonitoredTrainingSession(target, is_chief=False, hooks=hooks) as worker.sess,
            ):
                steps.set()
                while True:  # until the chief closes the queue: whoever takes the chief's token owes it another batch
                    found.append(int(worker.run()))
            return found

        def lose(step_context: Any) -> None:
            if not lost.is_set():
                lost.set()
                raise tf.errors.AbortedError(None, None, "a parameter server is lost")

        with threads(1) as begin:
            call = begin(work)
            hooks = [chief.optimizer.make_session_run_hook(is_chief=True, num_tokens=0)]
            with (
                chief.graph.as_default(),
                tf.train.MonitoredTrainingSession(target, hooks=hooks) as chief.sess,
            ):
                ready.set()
                assert steps.wait(WAIT_S)
                chief.sess.run_step_fn(lose)
                found = [int(chief.run()) for _ in range(2)]
            assert 1 <= found[0] <= found[1]
            assert sorted(call.result(WAIT_S))[0] >= 1

    def test_default_tokens_let_replicas_begin(self, make_server: ServerMaker) -> None:
        """By default each replica may compute one batch more for the first step."""
        [member] = replicas(1)
        hooks = [member.optimizer.make_session_run_hook(is_chief=True)]
        with (
            member.graph.as_default(),
            tf.train.MonitoredTrainingSession(make_server(1).target, hooks=hooks) as member.sess,
        ):
            assert member.run() == 0  # the first token is there before any update
            assert member.run() in (0, 1)

    def test_the_hook_needs_the_training_op(self) -> None:
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
        with pytest.raises(ValueError, match=r"apply_gradients should be called before using the hook"):
            optimizer.make_session_run_hook(is_chief=True).begin()

    def test_the_hook_needs_initialised_variables(self, make_server: ServerMaker) -> None:
        [member] = replicas(1)
        hook = member.optimizer.make_session_run_hook(is_chief=True, num_tokens=0)
        with member.graph.as_default():
            hook.begin()
            message = r"did not make model ready.*Variables not initialized: .*model/w"
            with member.open(make_server(1).target) as sess, pytest.raises(RuntimeError, match=message):
                hook.after_create_session(sess, tf.train.Coordinator())


class TestBuilding:
    def test_names_that_programs_rely_on(self) -> None:
        [member] = replicas(1)
        with member.graph.as_default():
            assert [v.op.name for v in tf.local_variables()] == ["sync_rep_local_step"]
        assert member.graph.get_operation_by_name("sync_token_q").get_attr("shared_name") == b"sync_token_q"
        assert member.optimizer.get_chief_queue_runner().name == "sync_token_q"
        holders = ("ResourceConditionalAccumulator", "SparseConditionalAccumulator")
        accumulators = [op for op in member.graph.get_operations() if op.type in holders]
        shared = [b"model/w:0/grad_accum", b"model/b:0/grad_accum", b"model/table:0/grad_accum"]
        assert [op.get_attr("shared_name") for op in accumulators] == shared

    def test_slots_are_the_wrapped_optimizers(self) -> None:
        [member] = replicas(1, "momentum")
        assert member.optimizer.get_slot_names() == ["momentum"]
        assert member.optimizer.get_slot(member.w, "momentum").op.name == "model/w/Momentum"
        with member.graph.as_default():
            assert len(member.optimizer.variables()) == 3

    def test_no_variable_changes_before_all_averages_are_taken(self, make_server: ServerMaker) -> None:
        """A replica that reads between would have variables of two steps."""
        [member] = replicas(1)
        with started(make_server(1).target, [member]):
            before = member.sess.run(member.values)
            with member.graph.as_default():
                (first, _), *others = member.optimizer._accumulators
                w_first = first.apply_grad(tf.ones([3, 1]), 0)
                rest = []
                for one, _ in others:
                    if isinstance(one, tf.SparseConditionalAccumulator):
                        rest.append(one.apply_grad([0], tf.ones([1, 1]), local_step=0))
                    else:
                        rest.append(one.apply_grad(1.0, 0))
            member.sess.run(w_first)
            _poll(lambda: _accumulated(member)[0] == 0)  # it is taken
            threading.Event().wait(0.1)  # and could be applied now
            assert_close(member.sess.run(member.values), before)
            member.sess.run(rest)
            _poll(lambda: int(member.sess.run(member.step)) == 1)
            assert not np.allclose(member.sess.run(member.w), before[1])

    def test_a_variable_without_gradient(self) -> None:
        v, w = tf.Variable(1.0), tf.Variable(2.0)
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
        pairs = optimizer.compute_gradients(v * 3.0, [v, w])
        assert pairs[1][0] is None
        optimizer.apply_gradients(pairs, tf.train.get_or_create_global_step())
        assert len(optimizer._accumulators) == 1

    def test_errors(self) -> None:
        v, step = tf.Variable(1.0), tf.train.get_or_create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 4, total_num_replicas=2)
        with pytest.raises(ValueError, match="Must supply at least one variable"):
            optimizer.apply_gradients([], step)
        with pytest.raises(ValueError, match="Global step is required to check staleness"):
            optimizer.minimize(v * 2.0)
        with pytest.raises(ValueError, match=r"get_chief_queue_runner\(\) should be called after apply_gradients\(\)"):
            optimizer.get_chief_queue_runner()
        with pytest.raises(ValueError, match=r"get_init_tokens_op\(\) should be called after apply_gradients\(\)"):
            optimizer.get_init_tokens_op()
        with pytest.raises(ValueError, match="A gradient must be a Tensor, IndexedSlices or None; got 3"):
            optimizer.apply_gradients([(3, v)], step)
        with pytest.raises(ValueError, match="must be at least 1; got 0 and 0"):
            tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 0)

    def test_too_few_tokens(self) -> None:
        [member] = replicas(1, replicas_to_aggregate=4, total_num_replicas=2)
        with member.graph.as_default():
            with pytest.raises(
                ValueError, match=r"Too few tokens to finish the first step: 1 \(given\) vs 2 \(needed\)"
            ):
                member.optimizer.get_init_tokens_op(1)
            assert member.optimizer.get_init_tokens_op(2).type == "QueueEnqueueManyV2"


def _accumulated(replica: Replica) -> list[int]:
    with replica.graph.as_default():
        counts = [accumulator.num_accumulated() for accumulator, _ in replica.optimizer._accumulators]
    return [int(count) for count in replica.sess.run(counts)]


def _is_close(replica: Replica, expected: Any) -> bool:
    return np.allclose(replica.sess.run(replica.average), expected, rtol=1e-5)


def _poll(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(WAIT_S * 100)):
        if condition():
            return
        pause.wait(0.01)
    pytest.fail(f"not within {WAIT_S} s")
