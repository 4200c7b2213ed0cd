"""Partial runs over the tasks of a cluster: a parameter server and two workers in this process that speak over sockets."""

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace import raw_ops
from headrace.cluster.connection import close_client_endpoint

PS, W0, W1 = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
TASKS = (PS, W0, W1)
PS_NAME = "/job:ps/replica:0/task:0"

pytestmark = pytest.mark.allow_leaks(reason="the servers live as long as the module")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=2) as one:
        yield one


@pytest.fixture(params=["a task", "no task"])
def session(cluster: LocalCluster, request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tf.Session]:
    """A session of a client that is worker 0, or none of the tasks.  Its steps leave nothing on the servers."""
    if request.param == "no task":
        monkeypatch.setattr("headrace.client.session.find", lambda target: None)
    with tf.Session(cluster.target("worker", 0)) as one:
        yield one
    assert_nothing_left(cluster)


def servers(cluster: LocalCluster) -> list[Any]:
    return list(cluster._servers.values())


def until(condition: Callable[[], bool]) -> None:
    """Waits for what other threads do."""
    looked = threading.Event()
    for _ in range(3000):
        if condition():
            return
        looked.wait(0.01)
    raise AssertionError("it has not come to pass")


def assert_nothing_left(cluster: LocalCluster) -> None:
    """No message, no call, no step and no session of another process is on a task."""
    for server in servers(cluster):
        until(lambda server=server: not server._service._sessions and not len(server._worker.rendezvous))
        until(lambda server=server: not len(server._service.admission))
        assert server._worker.rendezvous.untaken == 0


def on(device: str, make: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    with tf.device(device):
        return make(*arguments, **keywords)


def placeholders(names: str) -> list[tf.Tensor]:
    return [tf.placeholder(tf.float32, [], name=name) for name in names]


class Background:
    """A call on another thread."""

    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        self._outcome: list[Any] = []
        self._thread = threading.Thread(target=self._run, args=(call, arguments), daemon=True)
        self._thread.start()

    def _run(self, call: Callable[..., Any], arguments: Any) -> None:
        try:
            self._outcome = [call(*arguments), None]
        except BaseException as e:  # noqa: BLE001 - join raises it
            self._outcome = [None, e]

    def join(self) -> Any:
        self._thread.join(60)
        assert not self._thread.is_alive(), "it hangs"
        result, error = self._outcome
        if error is not None:
            raise error
        return result


class TestResults:
    def test_feeds_of_several_calls_meet_on_several_tasks(self, session: tf.Session) -> None:
        a, b, c = placeholders("abc")
        first = on(PS, tf.add, a, b)
        second = on(W1, lambda: first * c + a)  # a is fed to two tasks
        third = on(W0, tf.negative, second)
        handle = session.partial_run_setup([first, second, third], [a, b, c])
        assert session.partial_run(handle, [], {a: 1.0}) == []
        assert session.partial_run(handle, first, {b: 2.0}) == 3.0
        assert session.partial_run(handle, {"all": [second, third]}, {c: 10.0}) == {"all": [31.0, -31.0]}
        with pytest.raises(tf.errors.InvalidArgumentError, match="its run has ended"):
            session.partial_run(handle, third)

    def test_what_needs_one_feed_does_not_wait_for_another(self, session: tf.Session) -> None:
        """Both values go from one task to another in the same round; in a step they would travel together."""
        a, b = placeholders("ab")
        squares = [on(PS, tf.square, x) for x in (a, b)]
        results = [on(W1, tf.negative, square) for square in squares]
        handle = session.partial_run_setup(results, [a, b])
        assert session.partial_run(handle, results[1], {b: 3.0}) == -9.0
        assert session.partial_run(handle, results[0], {a: 2.0}) == -4.0

    def test_a_write_does_not_wait_for_a_read_that_waits(self, session: tf.Session) -> None:
        (a,) = placeholders("a")
        v = on(PS, tf.Variable, 1.0, name="written_early")
        waited = on(W1, tf.square, a)
        with tf.control_dependencies([waited]):
            later = on(PS, lambda: v.read_value() + waited)
        write = on(PS, v.assign_add, 1.0)
        session.run(v.initializer)
        handle = session.partial_run_setup([later, write], [a])
        assert session.partial_run(handle, write) == 2.0
        assert session.partial_run(handle, later, {a: 3.0}) == 11.0

    def test_effects_happen_once(self, session: tf.Session) -> None:
        a, b = placeholders("ab")
        v = on(PS, tf.Variable, 0.0, name="counted")
        session.run(v.initializer)
        update = on(PS, v.assign_add, on(W1, tf.square, a))
        target = on(PS, lambda: v.assign_add(on(W0, tf.negative, b)).op)
        handle = session.partial_run_setup([update, target], [a, b])
        assert session.partial_run(handle, update, {a: 3.0}) == 9.0
        session.partial_run(handle, [], {b: 1.0})  # the last call: all has run when it returns
        assert session.run(v) == 8.0
        handle = session.partial_run_setup(target, [b])
        session.partial_run(handle, [], {b: 8.0})
        assert session.run(v) == 0.0

    def test_a_fetch_is_what_was_read_then(self, cluster: LocalCluster, session: tf.Session) -> None:
        """It waits on its task for the client to take it, and does not share the memory of the variable."""
        v = on(PS, tf.Variable, np.zeros(3, np.float32), name="read_then")
        read = on(PS, lambda: tf.identity(v))
        session.run(v.initializer)
        handle = session.partial_run_setup([read], [])
        until(lambda: any(server._worker.rendezvous.untaken for server in servers(cluster)))
        session.run(v.assign([5.0, 5.0, 5.0]))
        assert session.partial_run(handle, read).tolist() == [0.0, 0.0, 0.0]

    def test_values_may_be_changed_by_who_fed_and_fetched_them(self, session: tf.Session) -> None:
        x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
        here, there = [on(task, tf.negative, x) for task in (W0, PS)]
        sums = [on(task, lambda v=v: v + y) for task, v in ((W0, here), (PS, there), (W0, x), (W1, x))]
        handle = session.partial_run_setup([here, there, *sums], [x, y])
        fed = np.array([1.0, 2.0], np.float32)
        for fetched in session.partial_run(handle, [here, there], {x: fed}):
            fetched[:] = 100.0
        fed[:] = 100.0
        results = session.partial_run(handle, sums, {y: [1.0, 1.0]})
        assert [r.tolist() for r in results] == [[0.0, -1.0], [0.0, -1.0], [2.0, 3.0], [2.0, 3.0]]

    def test_strings_fed_fetches_constants_and_what_nobody_needs(self, session: tf.Session) -> None:
        text, (unused, b) = tf.placeholder(tf.string, [None]), placeholders("ub")
        joined = on(PS, tf.string_join, [text, on(W1, tf.identity, text)])
        constant = on(W1, tf.constant, 7)
        handle = session.partial_run_setup([joined, constant, b, text], [text, unused, b])
        assert session.partial_run(handle, constant) == 7
        assert session.partial_run(handle, [joined, text], {text: ["x", "y"]})[0].tolist() == [b"xx", b"yy"]
        assert session.partial_run(handle, b, {b: 4.0}) == 4.0
        session.partial_run(handle, [], {unused: 1.0})

    @pytest.mark.parametrize("control_flow", ["auto", "lowered"])
    def test_loops_and_conditionals(self, cluster: LocalCluster, control_flow: str) -> None:
        a, b = placeholders("ab")
        body = lambda i, x: (i + 1, on(PS, lambda: x * a) if control_flow == "auto" else x * a)  # noqa: E731
        _, power = on(W1, lambda: tf.while_loop(lambda i, x: i < 3, body, [0, 1.0]))
        chosen = on(W1, lambda: tf.cond(b > 0.0, lambda: on(W1, lambda: power + b), lambda: on(W1, lambda: power - b)))
        config = tf.ConfigProto(control_flow=control_flow)
        with tf.Session(cluster.target("worker", 0), config=config) as session:
            handle = session.partial_run_setup([power, chosen], [a, b])
            assert session.partial_run(handle, power, {a: 2.0}) == 8.0
            assert session.partial_run(handle, chosen, {b: -1.0}) == 9.0
        assert_nothing_left(cluster)

    def test_what_a_branch_that_is_not_taken_makes(self, session: tf.Session) -> None:
        a, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
        with tf.device(PS):
            no, yes = raw_ops.Switch(data=a, pred=p)
            fetches = [tf.negative(no, name="dead"), tf.square(yes)]
        handle = session.partial_run_setup(fetches, [a, p])
        assert session.partial_run(handle, fetches[1], {a: 3.0, p: True}) == 9.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="The tensor returned for dead:0 was not valid"):
            session.partial_run(handle, fetches[0])

    @pytest.mark.parametrize("seed", range(6))
    def test_random_graphs(self, session: tf.Session, seed: int) -> None:
        """Feeds come in a random order; whatever can be computed is fetched, sometimes late, and is what ``run`` computes."""
        draw = random.Random(seed)
        inputs = placeholders("abcde")
        values, needs = list(inputs), [{i} for i in range(len(inputs))]
        v = on(PS, tf.Variable, 0.5, name=f"random_{seed}")
        session.run(v.initializer)
        for _ in range(25):
            i, k = draw.randrange(len(values)), draw.randrange(len(values))
            build = draw.choice([tf.add, tf.subtract, tf.minimum, lambda x, y: tf.tanh(x) * v + y])
            values.append(on(draw.choice(TASKS), build, values[i], values[k]))
            needs.append(needs[i] | needs[k])
        fetches = draw.sample(range(len(inputs), len(values)), 12)
        fed = {x: float(i + 1) / 7.0 for i, x in enumerate(inputs)}
        expected = dict(zip(fetches, session.run([values[i] for i in fetches], fed), strict=True))
        handle = session.partial_run_setup([values[i] for i in fetches], inputs)
        there: set[int] = set()
        for i in draw.sample(range(len(inputs)), len(inputs)):
            there.add(i)
            ready = [k for k in fetches if needs[k] <= there and (draw.random() < 0.7 or len(there) == len(inputs))]
            fetches = [k for k in fetches if k not in ready]
            results = session.partial_run(handle, [values[k] for k in ready], {inputs[i]: fed[inputs[i]]})
            np.testing.assert_allclose(results, [expected[k] for k in ready], rtol=1e-6)
        assert not fetches


class TestMistakes:
    def test_a_call_that_is_refused_changes_nothing(self, session: tf.Session) -> None:
        a, b = placeholders("ab")
        r = on(PS, tf.add, a, b, name="refused")
        s = on(W1, tf.negative, r, name="second")
        handle = session.partial_run_setup([r, s], [a, b])

        def refused(text: str, fetches: Any, feeds: Any = None) -> None:
            with pytest.raises(tf.errors.InvalidArgumentError, match=text) as e:
                session.partial_run(handle, fetches, feeds)
            assert "test_partial_run.py" in str(e.value)

        refused("Fetch refused:0 can't be computed from the feeds .* so far; not fed yet: b:0", r, {a: 1.0})
        refused("The feed second:0 was not specified in partial_run_setup", [], {s: 1.0})
        refused("The fetch a:0 was not specified in partial_run_setup", a)
        session.partial_run(handle, [], {a: 1.0})
        refused("The feed a:0 has already been fed", r, {a: 2.0, b: 2.0})
        assert session.partial_run(handle, [r, r], {b: 2.0}) == [3.0, 3.0]
        refused("The fetch refused:0 has already been fetched", r)
        assert session.partial_run(handle, s) == -3.0
        refused("Must run 'setup' before performing partial runs", s)

    def test_operations_and_repeated_feeds(self, session: tf.Session) -> None:
        (a,) = placeholders("a")
        r = on(PS, tf.negative, a)
        handle = session.partial_run_setup([r.op], [a])
        with pytest.raises(RuntimeError, match="requires empty `target_list`"):
            session.partial_run(handle, r.op, {a: 1.0})
        session.partial_run(handle, [], {a: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="a:0 is in the list of feeds twice"):
            session.partial_run_setup([r], [a, a])

    def test_an_error_on_another_task_ends_it(self, session: tf.Session) -> None:
        i, (b,) = tf.placeholder(tf.int32, []), placeholders("b")
        failing = on(PS, tf.gather, [1.0, 2.0], i, name="failing")
        used = on(W1, lambda: failing + b)
        alone = on(W0, tf.negative, b)
        handle = session.partial_run_setup([used, alone, failing], [i, b])
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices = 7") as e:
            session.partial_run(handle, failing, {i: 7})
        assert e.value.op.name == "failing" and "test_partial_run.py" in str(e.value)
        with pytest.raises(tf.errors.InvalidArgumentError, match="its run has ended"):
            session.partial_run(handle, alone, {b: 1.0})
        handle = session.partial_run_setup([used, alone], [i, b])
        session.partial_run(handle, [], {i: 9})
        partial = session._partials[handle]
        until(lambda: partial._run._error is not None)
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices = 9"):  # nobody fetched it, but it was to run
            session.partial_run(handle, alone, {b: 1.0})


class TestThreads:
    def test_partial_runs_that_overlap(self, session: tf.Session) -> None:
        a, b = placeholders("ab")
        first = on(PS, tf.square, a)
        second = on(W1, lambda: first * b)
        handles = [session.partial_run_setup([first, second], [a, b]) for _ in range(5)]
        assert [session.partial_run(h, first, {a: float(i)}) for i, h in enumerate(handles)] == [0, 1, 4, 9, 16]
        assert session.run(second, {a: 3.0, b: 3.0}) == 27.0
        assert [session.partial_run(h, second, {b: 2.0}) for h in reversed(handles)] == [32, 18, 8, 2, 0]

    def test_threads_with_runs_of_their_own(self, session: tf.Session) -> None:
        a, b = placeholders("ab")
        v = on(PS, tf.Variable, 0.0, name="of_all_threads")
        first = on(PS, lambda: v.assign_add(a, use_locking=True).op)
        second = on(W1, lambda: on(PS, tf.square, a) * b)
        session.run(v.initializer)

        def work(i: int) -> list[float]:
            results = []
            for _ in range(10):
                handle = session.partial_run_setup([second, first], [a, b])
                session.partial_run(handle, [], {a: float(i)})
                results.append(session.partial_run(handle, second, {b: 2.0}))
            return results

        for i, one in enumerate([Background(work, i) for i in range(4)]):
            assert one.join() == [2.0 * i * i] * 10
        assert session.run(v) == 60.0

    def test_threads_of_one_run(self, session: tf.Session) -> None:
        """One waits for a fetch; what another one feeds meanwhile lets it come."""
        a, b = placeholders("ab")
        queue = on(PS, tf.FIFOQueue, 3, tf.float32, [[]], shared_name="of_one_run")
        taken = on(W1, lambda: on(PS, queue.dequeue) + a)
        put = on(PS, queue.enqueue, on(W1, tf.square, b))
        handle = session.partial_run_setup([taken, put], [a, b])
        waits = Background(session.partial_run, handle, taken, {a: 1.0})
        until(lambda: "partial_run waits for" in session.waiting())
        session.partial_run(handle, [], {b: 3.0})
        assert waits.join() == 10.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="its run has ended"):
            session.partial_run(handle, [])


class TestEnds:
    def test_what_it_waits_for_is_told(self, session: tf.Session) -> None:
        a, b = placeholders("ab")
        here = on(W0, lambda: a + b)
        handle = session.partial_run_setup([here], [a, b])
        session.partial_run(handle, [], {a: 1.0})
        if not session._target or session._master._cluster.includes_own:  # a task says it where it waits
            until(lambda: "partial_run has not fed b:0" in session.waiting() and "a:0" not in session.waiting())
        assert session.partial_run(handle, here, {b: 1.0}) == 2.0
        assert session.waiting() == ""

    def test_a_session_that_is_closed_frees_what_was_unfinished(
        self, cluster: LocalCluster, session: tf.Session
    ) -> None:
        a, b = placeholders("ab")
        queue = on(PS, tf.FIFOQueue, 3, tf.float32, [[]])
        first, second = on(PS, tf.square, a), on(W1, tf.negative, b)
        third = on(W1, lambda: on(PS, queue.dequeue) + first)
        for _ in range(20):  # fed nothing, fed a part, and with fetches that nobody takes
            session.partial_run_setup([first, second], [a, b])
            session.partial_run(session.partial_run_setup([first, second], [a, b]), [], {a: 1.0})
        pools = [server._worker.pool for server in servers(cluster)]
        until(lambda: all(pool.threads <= 2 for pool in pools))  # none of them holds a thread
        handle = session.partial_run_setup([third, second], [a, b])
        waits = Background(session.partial_run, handle, third, {a: 1.0})
        until(lambda: "partial_run waits for" in session.waiting())
        session.close()
        with pytest.raises(tf.errors.CancelledError, match="the session was closed"):
            waits.join()
        with pytest.raises(RuntimeError, match="closed Session"):
            session.partial_run(handle, second, {b: 1.0})
        assert_nothing_left(cluster)
        assert not any(server._worker.sessions() for server in servers(cluster))

    def test_a_client_that_is_gone(self, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headrace.client.session.find", lambda target: None)
        a, b = placeholders("ab")
        first = on(PS, tf.square, a)
        second = on(W1, lambda: first + b)
        session = tf.Session(cluster.target("worker", 0))
        handle = session.partial_run_setup([first, second], [a, b])
        session.partial_run(handle, [], {a: 1.0})
        until(lambda: any(server._worker.rendezvous.untaken for server in servers(cluster)))
        queue = on(PS, tf.FIFOQueue, 3, tf.float32, [[]])
        taken = on(PS, queue.dequeue)
        waits = Background(session.partial_run, session.partial_run_setup([taken]), taken)
        until(lambda: "partial_run waits for" in session.waiting())
        close_client_endpoint()  # as a process does that ends
        with pytest.raises(tf.errors.CancelledError):
            waits.join()
        assert_nothing_left(cluster)
        session.close()

    def test_too_many_that_are_unfinished(self, session: tf.Session, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headrace.runtime.session.master.PARTIAL_RUNS", 2)
        (a,) = placeholders("a")
        r = on(PS, tf.negative, a)
        handles = [session.partial_run_setup([r], [a]) for _ in range(2)]
        with pytest.raises(
            tf.errors.ResourceExhaustedError, match=r"2 partial runs .* unfinished.*test_partial_run.py"
        ):
            session.partial_run_setup([r], [a])
        assert session.partial_run(handles[0], r, {a: 1.0}) == -1.0
        assert session.partial_run(session.partial_run_setup([r], [a]), r, {a: 2.0}) == -2.0

    def test_a_call_that_is_out_of_time(self, cluster: LocalCluster) -> None:
        """The limit is that of each call: a run may be left alone for longer."""
        a, b = placeholders("ab")
        queue = on(PS, tf.FIFOQueue, 3, tf.float32, [[]], shared_name="out_of_time")
        first = on(PS, tf.square, a)
        taken = on(W1, lambda: on(PS, queue.dequeue) + b)
        config, generous = tf.ConfigProto(operation_timeout_in_ms=1500), tf.RunOptions(timeout_in_ms=60_000)
        with tf.Session(cluster.target("worker", 0), config=config) as session:
            handle = session.partial_run_setup([first, taken], [a, b])
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(on(PS, queue.dequeue))
            assert session.partial_run(handle, first, {a: 3.0}) == 9.0
            with pytest.raises(tf.errors.DeadlineExceededError, match=r"out of time.*\n.*partial_run waits for"):
                session.partial_run(handle, taken, {b: 3.0})
            with pytest.raises(tf.errors.InvalidArgumentError, match="its run has ended"):
                session.partial_run(handle, [])
            session.run(on(PS, queue.enqueue, 1.0), options=generous)
            assert session.run(on(PS, queue.size), options=generous) == 1, "the run that was ended takes nothing"
        assert_nothing_left(cluster)

    @pytest.mark.parametrize("waits", [True, False])
    def test_a_task_that_is_lost(self, waits: bool) -> None:
        a, b = placeholders("ab")
        queue = on(PS, tf.FIFOQueue, 3, tf.float32, [[]])
        first = on(W1, tf.square, on(PS, lambda: queue.dequeue() if waits else tf.negative(a)))
        second = on(W1, tf.negative, b)
        with local_cluster(ps=1, workers=2) as cluster, tf.Session(cluster.target("worker", 0)) as session:
            handle = session.partial_run_setup([first, second], [a, b])
            lost = Background(session.partial_run, handle, first, {a: 1.0}) if waits else None
            if waits:
                until(lambda: "partial_run waits for" in session.waiting())
            cluster._servers["ps", 0]._stop()
            with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError), match=PS_NAME):
                if lost is not None:
                    lost.join()
                else:
                    session.partial_run(handle, first, {a: 1.0})
            with pytest.raises(tf.errors.InvalidArgumentError, match="its run has ended"):
                session.partial_run(handle, second, {b: 1.0})
            others = [server for server in servers(cluster) if server is not cluster._servers["ps", 0]]
            until(lambda: not any(server._worker.rendezvous.untaken for server in others))
