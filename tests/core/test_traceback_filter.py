"""Uncaught exceptions show the user's frames; Headrace's are hidden unless somebody asks for them."""

import sys
import threading
import traceback
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as tf
from headrace.core import traceback_filter
from headrace.core.source import Source

PROGRAM = """
def train():
    with tf.Session() as session:
        session.run(tf.Variable([1.0], name="w") * 2.0)
train()
"""


@pytest.fixture
def error() -> BaseException:
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        exec(compile(PROGRAM, "program.py", "exec"), {"tf": tf})
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 4
    return caught.value


@pytest.fixture
def filtering() -> Iterator[None]:
    yield
    tf.debugging.enable_traceback_filtering()


def _files(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def test_frames_of_headrace_are_hidden(error: BaseException) -> None:
    traceback_filter.hide_frames(error)
    assert _files(error) == [__file__, "program.py", "program.py"]
    assert "frames of Headrace are hidden; HEADRACE_TRACEBACK=full shows them" in error.__notes__[-1]


def test_one_frame_is_one() -> None:
    with pytest.raises(TypeError) as caught:
        exec(compile("bool(tf.constant(1.0))", "program.py", "exec"), {"tf": tf})
    traceback_filter.hide_frames(caught.value)
    assert caught.value.__notes__ == ["(1 frame of Headrace is hidden; HEADRACE_TRACEBACK=full shows it)"]


def test_an_uninitialised_variable_begins_with_no_error_of_ours(error: BaseException) -> None:
    text = "".join(traceback.format_exception(error))
    assert "AttributeError" not in text and "direct cause" not in text


def test_filtering_can_be_turned_off(error: BaseException, filtering: None) -> None:
    before = _files(error)
    tf.debugging.disable_traceback_filtering()
    assert not tf.debugging.is_traceback_filtering_enabled()
    traceback_filter.hide_frames(error)
    assert _files(error) == before


def test_an_error_of_others_is_left_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", "program.py", "exec"))
    before = _files(caught.value)
    traceback_filter.hide_frames(caught.value)
    assert _files(caught.value) == before and not hasattr(caught.value, "__notes__")


def test_the_hooks_of_python(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    traceback_filter.install()
    sys.excepthook(type(error), error, error.__traceback__)
    shown = capsys.readouterr().err
    assert 'File "program.py", line 4, in train' in shown and "session.py" not in shown
    threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.main_thread())))
    assert 'File "program.py", line 4, in train' in capsys.readouterr().err


def test_somebody_elses_hooks_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*args: Any) -> None: ...

    monkeypatch.setattr(sys, "excepthook", other)
    monkeypatch.setattr(threading, "excepthook", other)
    traceback_filter.install()
    assert sys.excepthook is other and threading.excepthook is other


class _Shell:
    """Stands for IPython's."""

    custom_exceptions: tuple[Any, ...] = ()
    compile = SimpleNamespace(_filename_map={"/tmp/ipykernel_7/12.py": 3})

    def set_custom_exc(self, kinds: tuple[Any, ...], handler: Any) -> None:
        self.custom_exceptions, self.handler = kinds, handler

    def showtraceback(self, shown: Any, tb_offset: Any, running_compiled_code: bool) -> None:
        self.shown = shown


def test_a_notebook(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = _Shell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    traceback_filter.install()
    shell.handler(shell, type(error), error, error.__traceback__)
    assert [frame.filename for frame in traceback.extract_tb(shell.shown[2])] == [__file__, "program.py", "program.py"]
    assert str(Source("/tmp/ipykernel_7/12.py", 5, "f")) == "Cell In[3]:5"
