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
