"""Coordinator: who stops, what `join` waits for and raises, as in TensorFlow; bad uses and messages are ours."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator

import pytest

import headrace as tf

LIMIT_S = 20.0
"""No wait of a test takes longer."""


@pytest.fixture
def blocked() -> Iterator[Callable[[str], threading.Thread]]:
    """Starts threads of a name that run until the test ends."""
    release = threading.Event()
    threads: list[threading.Thread] = []

    def start(name: str) -> threading.Thread:
        threads.append(threading.Thread(target=release.wait, args=(LIMIT_S,), name=name))
        threads[-1].start()
        return threads[-1]

    yield start
    release.set()
    for thread in threads:
        thread.join()


def started(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target)
    thread.start()
    return thread


class TestStop:
    def test_at_first(self, coord: tf.train.Coordinator) -> None:
        assert not coord.should_stop() and not coord.joined
        assert coord.wait_for_stop(0.001) is False
        coord.raise_requested_exception()

    def test_every_thread_sees_the_stop(self, coord: tf.train.Coordinator) -> None:
        waits: list[bool] = []
        threads = [started(lambda: waits.append(coord.wait_for_stop(LIMIT_S))) for _ in range(4)]
        coord.request_stop()
        coord.join(threads)
        assert waits == [True] * 4
        assert coord.should_stop() and coord.joined and coord.wait_for_stop()

    def test_one_thread_stops_the_others(self, coord: tf.train.Coordinator) -> None:
        def work(number: int) -> None:
            while not coord.wait_for_stop(0.001):
                if number == 2:
                    coord.request_stop()

        coord.join([started(lambda n=n: work(n)) for n in range(4)])
        assert coord.should_stop()

    def test_clear_stop_makes_it_new(self, coord: tf.train.Coordinator) -> None:
        coord.request_stop(ValueError("first"))
        with pytest.raises(ValueError, match="first"):
            coord.join()
        coord.clear_stop()
        assert not coord.should_stop() and not coord.joined
        coord.raise_requested_exception()
        coord.request_stop()
        coord.join()

    @pytest.mark.parametrize("order", [[], [ValueError("first")], [tf.errors.OutOfRangeError(None, None, "the end")]])
    def test_the_first_request_decides(self, coord: tf.train.Coordinator, order: list[Exception]) -> None:
        coord.request_stop(*order)
        coord.request_stop(KeyError("second"))
        if order and isinstance(order[0], ValueError):
            for raising in (coord.raise_requested_exception, coord.join, coord.join):
                with pytest.raises(ValueError, match="first"):
                    raising()
        else:
            coord.join()
        assert coord.joined

    def test_what_is_logged(self, coord: tf.train.Coordinator, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "tensorflow"):
            coord.request_stop(ValueError("first"))
            coord.request_stop(KeyError("second"))
        first, second = (record.getMessage() for record in caplog.records)
        assert first.startswith("Error reported to Coordinator: <class 'ValueError'>, first")
        assert "after the stop was requested, and not raised: <class 'KeyError'>" in second


class TestErrors:
    def test_join_raises_with_the_traceback_of_the_thread(self, coord: tf.train.Coordinator) -> None:
        def fails() -> None:
            raise ValueError("deep down")

        def work() -> None:
            with coord.stop_on_exception():
                fails()

        thread = started(work)
        for _ in range(2):  # the second time it is as long as the first
            with pytest.raises(ValueError, match="deep down") as error:
                coord.join([thread])
            names = [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
            assert names[-2:] == ["work", "fails"]
            assert names.count("join") == 1

    def test_what_exc_info_gives(self, coord: tf.train.Coordinator) -> None:
        try:
            raise KeyError("here")
        except KeyError:
            coord.request_stop(sys.exc_info())
        with pytest.raises(KeyError, match="here") as error:
            coord.join()
        assert traceback.extract_tb(error.value.__traceback__)[-1].line == 'raise KeyError("here")'

    def test_an_exception_that_was_never_raised(self, coord: tf.train.Coordinator) -> None:
        coord.request_stop((ValueError, ValueError("made here"), None))
        with pytest.raises(ValueError, match="made here"):
            coord.join()

    def test_the_end_of_the_input_is_a_clean_stop(self, coord: tf.train.Coordinator) -> None:
        with coord.stop_on_exception():
            raise tf.errors.OutOfRangeError(None, None, "the end")
        coord.join()
        assert coord.should_stop()

    @pytest.mark.parametrize("types", [(KeyError, tf.errors.CancelledError), [KeyError]])
    def test_clean_stop_exception_types(self, types: object) -> None:
        coord = tf.train.Coordinator(clean_stop_exception_types=types)
        coord.request_stop(KeyError("clean"))
        coord.join()
        coord.clear_stop()
        coord.request_stop(tf.errors.OutOfRangeError(None, None, "not in the list"))
        with pytest.raises(tf.errors.OutOfRangeError):
            coord.join()

    @pytest.mark.parametrize("error", [KeyboardInterrupt("k"), SystemExit(3), ValueError("v")])
    def test_stop_on_exception_takes_everything(self, coord: tf.train.Coordinator, error: BaseException) -> None:
        with coord.stop_on_exception():
            raise error
        assert coord.should_stop()
        with pytest.raises(type(error)):
            coord.join()

    def test_after_join_an_error_is_raised_where_it_is_reported(self, coord: tf.train.Coordinator) -> None:
        coord.request_stop()
        coord.join()
        coord.request_stop()
        coord.request_stop(tf.errors.OutOfRangeError(None, None, "clean"))
        with pytest.raises(ValueError, match="late"):
            coord.request_stop(ValueError("late"))
        with pytest.raises(ValueError, match="later"), coord.stop_on_exception():
            raise ValueError("later")
        coord.raise_requested_exception()
        coord.join()


class TestJoin:
    def test_threads_that_end_without_a_stop(self, coord: tf.train.Coordinator) -> None:
        before = time.monotonic()
        coord.join([started(lambda: None)])
        assert coord.joined and not coord.should_stop()
        assert time.monotonic() - before < LIMIT_S

    def test_registered_threads_and_those_passed(self, coord: tf.train.Coordinator) -> None:
        ended: list[str] = []

        def work(name: str) -> None:
            coord.wait_for_stop(LIMIT_S)
            ended.append(name)

        first, second = started(lambda: work("first")), started(lambda: work("second"))
        coord.register_thread(first)
        coord.register_thread(first)
        coord.request_stop()
        coord.join([second, first])
        assert sorted(ended) == ["first", "second"]

    def test_a_thread_registered_while_join_waits(self, coord: tf.train.Coordinator) -> None:
        ended: list[str] = []

        def child() -> None:
            coord.wait_for_stop(LIMIT_S)
            ended.append("child")

        def parent() -> None:
            thread = threading.Thread(target=child)
            coord.register_thread(thread)
            thread.start()
            coord.request_stop()

        coord.join([started(parent)])
        assert ended == ["child"]

    def test_a_thread_that_was_not_started_is_not_waited_for(self, coord: tf.train.Coordinator) -> None:
        coord.join([threading.Thread(target=lambda: None)])
        assert coord.joined

    @pytest.mark.parametrize("grace", [0.02, 0, -1])
    def test_threads_that_do_not_stop(
        self, coord: tf.train.Coordinator, blocked: Callable[[str], threading.Thread], grace: float
    ) -> None:
        coord.register_thread(blocked("slow"))
        passed = blocked("slower")
        coord.request_stop()
        with pytest.raises(
            RuntimeError, match=f"threads still running: slow slower. After the stop they had {grace} sec"
        ):
            coord.join([passed], stop_grace_period_secs=grace)
        assert coord.joined
        with pytest.raises(RuntimeError, match="threads still running: slower[.]"):  # the others are forgotten
            coord.join([passed], stop_grace_period_secs=grace)

    def test_the_message_says_where_they_are(self, coord: tf.train.Coordinator) -> None:
        release, inside = threading.Event(), threading.Event()

        def work() -> None:
            inside.set()
            release.wait(LIMIT_S)

        thread = threading.Thread(target=work, name="deaf")
        thread.start()
        inside.wait(LIMIT_S)
        coord.request_stop()
        line = work.__code__.co_firstlineno + 2
        try:
            with pytest.raises(
                RuntimeError, match=f"deaf is at .*test_coordinator.py:{line}[.] .at .*test_coordinator.py"
            ):
                coord.join([thread], stop_grace_period_secs=0)
        finally:
            release.set()
            thread.join()

    def test_ignore_live_threads(
        self, coord: tf.train.Coordinator, blocked: Callable[[str], threading.Thread], caplog: pytest.LogCaptureFixture
    ) -> None:
        coord.request_stop()
        with caplog.at_level(logging.INFO, "tensorflow"):
            coord.join([blocked("deaf")], stop_grace_period_secs=0.01, ignore_live_threads=True)
        assert "threads still running: deaf" in caplog.text

    def test_an_error_goes_before_threads_that_do_not_stop(
        self, coord: tf.train.Coordinator, blocked: Callable[[str], threading.Thread]
    ) -> None:
        coord.request_stop(ValueError("why"))
        with pytest.raises(ValueError, match="why"):
            coord.join([blocked("deaf")], stop_grace_period_secs=0.01)

    def test_a_thread_that_waits_for_itself(self, coord: tf.train.Coordinator) -> None:
        errors: list[BaseException] = []

        def work() -> None:
            coord.register_thread(threading.current_thread())
            coord.request_stop()
            try:
                coord.join(stop_grace_period_secs=LIMIT_S)
            except RuntimeError as error:
                errors.append(error)

        started(work).join(LIMIT_S)
        assert "threads still running" in str(errors[0])


NOT_ERRORS = [
    "text", 3, (), (1, 2), (1, 2, 3), (None, None, None), (ValueError, None, None), ValueError,
    [ValueError, ValueError("l"), None], (ValueError, ValueError("t"), "traceback"),
]  # fmt: skip


class TestBadUses:
    @pytest.mark.parametrize("ex", NOT_ERRORS, ids=repr)
    def test_request_stop(self, coord: tf.train.Coordinator, ex: object) -> None:
        with pytest.raises(TypeError, match="ex must be an exception, or a tuple .* got .*test_coordinator.py:"):
            coord.request_stop(ex)
        assert not coord.should_stop()

    @pytest.mark.parametrize("types", [ValueError, 3, (3,), "KeyError"])
    def test_clean_stop_exception_types(self, types: object) -> None:
        with pytest.raises(TypeError, match="must be a tuple of classes of exceptions, got .*test_coordinator.py:"):
            tf.train.Coordinator(clean_stop_exception_types=types)

    def test_what_is_no_thread(self, coord: tf.train.Coordinator) -> None:
        with pytest.raises(TypeError, match="waits for objects of threading.Thread, got 3 .*test_coordinator.py:"):
            coord.register_thread(3)
        with pytest.raises(TypeError, match="waits for objects of threading.Thread, got 3 .*test_coordinator.py:"):
            coord.join([3])
        with pytest.raises(TypeError, match="must be a list of threads, got 3"):
            coord.join(3)

    @pytest.mark.parametrize("grace", [None, "long"])
    def test_stop_grace_period_secs(self, coord: tf.train.Coordinator, grace: object) -> None:
        coord.request_stop()
        with pytest.raises(TypeError, match="must be a number of seconds, got .*test_coordinator.py:"):
            coord.join(stop_grace_period_secs=grace)


def test_many_threads_stop_and_fail_together(coord: tf.train.Coordinator) -> None:
    """Whoever fails first is raised, and no thread is left."""
    start = threading.Barrier(16)

    def work(number: int) -> None:
        with coord.stop_on_exception():
            start.wait(LIMIT_S)
            raise ValueError(f"number {number}")

    threads = [started(lambda n=n: work(n)) for n in range(16)]
    with pytest.raises(ValueError, match="number"):
        coord.join(threads)
    assert not any(thread.is_alive() for thread in threads)
