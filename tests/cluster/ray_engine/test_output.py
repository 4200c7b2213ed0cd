"""Lines of all tasks on one terminal."""

import pytest

from headrace.cluster.ray_engine.output import Output


def test_lines_have_the_name_of_their_task(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output()
    output.show("ps 0", "out", "one")
    output.show("worker 1", "err", "two")
    output.say("three")
    assert capsys.readouterr() == ("[ps 0] one\n", "[worker 1] two\nheadrace: three\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    output.show("ps 0", "out", "one")
    output.show("worker 1", "out", "two")
    assert capsys.readouterr().out == "\033[36m[ps 0]\033[0m one\n\033[33m[worker 1]\033[0m two\n"
    monkeypatch.setenv("NO_COLOR", "1")
    output.show("ps 0", "out", "one")
    assert capsys.readouterr().out == "[ps 0] one\n"


TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    "    sess.run(y)",
    "tf.errors.NotFoundError: no file on /job:worker/task:0",
    "\t [[node y]]",
    "",
    "Original stack trace for 'y':",
    '  File "train.py", line 2, in <module>',
]


def _show(output: Output, task: str, lines: list[str]) -> None:
    for line in lines:
        output.show(task, "err", line)


def test_a_traceback_of_several_tasks_is_written_once(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    _show(output, "ps 0", ["before", *TRACEBACK[:3]])
    _show(output, "worker 1", [line.replace("task:0", "task:1") for line in TRACEBACK])
    _show(output, "ps 0", [*TRACEBACK[3:], "after"])
    output.flush("worker 1")
    output.flush("worker 1")
    _show(output, "ps 0", TRACEBACK)
    output.flush("ps 0")
    shown = [f"[ps 0] {line}" for line in ["before", *TRACEBACK, "after"]]
    last = "[worker 1] tf.errors.NotFoundError: no file on /job:worker/task:1  (the same traceback as in ps 0)"
    again = "[ps 0] tf.errors.NotFoundError: no file on /job:worker/task:0  (the same traceback as before)"
    assert capsys.readouterr().err.splitlines() == [*shown, last, again]


def test_another_traceback_is_written_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    _show(output, "ps 0", TRACEBACK)
    _show(output, "worker 1", [line.replace("line 3", "line 4") for line in TRACEBACK])
    output.show("worker 1", "out", "more")
    output.flush("ps 0")
    assert len(capsys.readouterr().err.splitlines()) == 2 * len(TRACEBACK)
