"""ProgressHook: lines where there is no terminal, tqdm's bar where there is one."""

from __future__ import annotations

import builtins
import io
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as tf
from headrace.library.train.hook import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A second passes with every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def run(train: Any, count: int, hook: Any) -> None:
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(count):
            sess.run(train)


def test_lines(train: Any, clock: Clock) -> None:
    file = io.StringIO()
    loss = tf.constant(0.123456)
    run(train, 5, tf.train.ProgressHook(last_step=100, tensors={"loss": loss}, every_secs=4, file=file))
    lines = file.getvalue().splitlines()
    assert re.fullmatch(r"step \d/100 \(\d %\), [\d.]+ steps/s, (\d+:)+\d\d left, loss 0.1235", lines[0])
    assert len(lines) == 2
    assert lines[-1].startswith("step 5/100 (5 %), ")


def test_lines_without_an_end(train: Any) -> None:
    file = io.StringIO()
    run(train, 3, tf.train.ProgressHook(file=file))
    assert re.fullmatch(r"step 3, [\d.e+]+ steps/s\n", file.getvalue())


def test_a_bar_in_a_terminal(train: Any) -> None:
    file = Terminal()
    x = tf.constant([1, 2], name="pair")
    hook = tf.train.ProgressHook(last_step=4, tensors=[x], every_secs=1e-9, file=file)
    run(train, 4, hook)
    last = file.getvalue().split("\r")[-1]
    assert "100%" in last
    assert "4/4" in last
    assert "pair=[1 2]" in last


def test_a_bar_in_a_notebook(train: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without ipywidgets tqdm draws it as text."""
    shell = SimpleNamespace(kernel=object(), config={})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    run(train, 4, tf.train.ProgressHook(last_step=4, every_secs=1e-9))
    assert "4/4" in capsys.readouterr().err.split("\r")[-1]
    file = io.StringIO()
    run(train, 4, tf.train.ProgressHook(last_step=8, file=file))
    assert file.getvalue().startswith("step 4/8 (50 %)")


def test_without_tqdm_lines_are_shown(train: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def no_tqdm(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "tqdm":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_tqdm)
    file = Terminal()
    run(train, 2, tf.train.ProgressHook(last_step=2, file=file))
    assert file.getvalue().startswith("step 2/2 (100 %), ")


def test_a_recovered_session_goes_on_from_its_step(train: Any, clock: Clock) -> None:
    file = io.StringIO()

    class Fail(tf.train.SessionRunHook):
        runs = 0

        def before_run(self, run_context: Any) -> None:
            self.runs += 1
            if self.runs == 3:
                raise tf.errors.AbortedError(None, None, "gone")

    with tf.train.MonitoredSession(hooks=[Fail(), tf.train.ProgressHook(every_secs=1000, file=file)]) as sess:
        for _ in range(4):
            sess.run(train)
    assert file.getvalue().startswith("step 2, ")  # no checkpoint: it began again, and nothing is negative


@pytest.mark.parametrize("seconds, text", [(5, "0:05"), (65.4, "1:05"), (3600 * 26, "26:00:00")])
def test_durations(seconds: float, text: str) -> None:
    assert progress._duration(seconds) == text


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="last_step must be positive"):
        tf.train.ProgressHook(last_step=0)
    with pytest.raises(ValueError, match="every_secs must be positive"):
        tf.train.ProgressHook(every_secs=0)
    with pytest.raises(TypeError, match="tensors must be a dict or list"):
        tf.train.ProgressHook(tensors="loss:0")
