"""LooperThread: how often it calls, what it does at its ends, what an error does."""

from __future__ import annotations

import threading

import pytest

import headrace as tf


class Looper(tf.train.LooperThread):
    """Keeps what was called; stops its coordinator after three beats; raises where it is told to."""

    def __init__(self, coord: tf.train.Coordinator, interval: float | None, fails_in: str = "") -> None:
        super().__init__(coord, interval)
        self.coord = coord
        self.calls: list[str] = []
        self.fails_in = fails_in

    def note(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fails_in:
            raise KeyError(name)

    def start_loop(self) -> None:
        self.note("start")

    def stop_loop(self) -> None:
        self.note("stop")

    def run_loop(self) -> None:
        self.note("beat")
        if self.calls.count("beat") == 3:
            self.coord.request_stop()


@pytest.mark.parametrize("interval", [None, 0, 0.001, -1])
def test_start_beats_stop(coord: tf.train.Coordinator, interval: float | None) -> None:
    looper = Looper(coord, interval)
    looper.start()
    coord.join()  # it is registered
    assert looper.calls == ["start", "beat", "beat", "beat", "stop"]
    assert looper.daemon and not looper.is_alive() and isinstance(looper, threading.Thread)


@pytest.mark.parametrize("interval", [None, 60])
def test_a_stop_before_the_start(coord: tf.train.Coordinator, interval: float | None) -> None:
    coord.request_stop()
    looper = Looper(coord, interval)
    looper.start()
    coord.join()
    assert looper.calls == ["start", "stop"]


@pytest.mark.parametrize("interval", [None, 0.001])
@pytest.mark.parametrize(("fails_in", "calls"), [("start", ["start"]), ("beat", ["start", "beat"])])
def test_an_error_stops_the_coordinator(
    coord: tf.train.Coordinator, interval: float | None, fails_in: str, calls: list[str]
) -> None:
    looper = Looper(coord, interval, fails_in)
    looper.start()
    with pytest.raises(KeyError, match=fails_in):
        coord.join()
    assert looper.calls == calls


def test_an_error_after_the_stop_is_not_raised(coord: tf.train.Coordinator) -> None:
    looper = Looper(coord, None, "stop")
    looper.start()
    coord.join()
    assert looper.calls[-1] == "stop"


def test_the_end_of_the_input_is_a_clean_stop(coord: tf.train.Coordinator) -> None:
    def read() -> None:
        raise tf.errors.OutOfRangeError(None, None, "the end")

    looper = tf.train.LooperThread.loop(coord, 0.001, read)
    coord.join([looper])
    assert coord.should_stop() and not looper.is_alive()


def test_loop_passes_arguments(coord: tf.train.Coordinator) -> None:
    received = []

    def beat(*args: object, **kwargs: object) -> None:
        received.append((args, kwargs))
        coord.request_stop()

    looper = tf.train.LooperThread.loop(coord, None, beat, args=[1, 2], kwargs={"a": 3})
    coord.join()
    assert type(looper) is tf.train.LooperThread
    assert received == [((1, 2), {"a": 3})]


def test_without_a_target_it_waits_for_the_stop(coord: tf.train.Coordinator) -> None:
    looper = tf.train.LooperThread(coord, 0.001)
    looper.start()
    assert looper.is_alive()
    coord.request_stop()
    coord.join()


def test_a_stop_ends_a_long_pause(coord: tf.train.Coordinator) -> None:
    beat = threading.Event()
    tf.train.LooperThread.loop(coord, 3600, beat.set)
    assert beat.wait(20)  # the first call comes without a pause
    coord.request_stop()
    coord.join(stop_grace_period_secs=20)


class Clock:
    """A clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class TimedCoordinator(tf.train.Coordinator):
    """Waits without waiting: the clock moves instead."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        self.clock.now += max(timeout or 0.0, 0.0)
        return self.should_stop()


def test_beats_keep_to_the_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A beat that takes three intervals is followed by those it has delayed, without a pause."""
    clock = Clock()
    monkeypatch.setattr("headrace.library.train.looper_thread.time", clock)
    coord, beats = TimedCoordinator(clock), []

    def beat() -> None:
        beats.append(clock.now - 100)
        clock.now += 6.0 if len(beats) == 1 else 0.5
        if len(beats) == 6:
            coord.request_stop()

    tf.train.LooperThread.loop(coord, 2.0, beat)
    coord.join()
    assert beats == [0.0, 6.0, 6.5, 7.0, 8.0, 10.0]


class TestBadUses:
    @pytest.mark.parametrize("coord", [None, 3])
    def test_no_coordinator(self, coord: object) -> None:
        with pytest.raises(ValueError, match="'coord' argument must be a Coordinator: .*test_looper_thread.py:"):
            tf.train.LooperThread(coord, 1)

    def test_no_interval(self, coord: tf.train.Coordinator) -> None:
        with pytest.raises(TypeError, match="must be a number of seconds or None, got 'soon' .*test_looper_thread.py:"):
            tf.train.LooperThread.loop(coord, "soon", print)

    def test_no_target(self, coord: tf.train.Coordinator) -> None:
        with pytest.raises(TypeError, match="target must be something to call, got 3 .*test_looper_thread.py:"):
            tf.train.LooperThread(coord, 1, target=3)

    @pytest.mark.parametrize("options", [{"args": (1,)}, {"kwargs": {"a": 1}}])
    def test_arguments_without_a_target(self, coord: tf.train.Coordinator, options: dict[str, object]) -> None:
        with pytest.raises(ValueError, match="require that you also pass 'target' .*test_looper_thread.py:"):
            tf.train.LooperThread(coord, 1, **options)

    def test_a_bad_looper_is_not_registered(self, coord: tf.train.Coordinator) -> None:
        with pytest.raises(TypeError):
            tf.train.LooperThread(coord, 1, target=3)
        coord.join()
