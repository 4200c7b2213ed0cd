"""The demo program, shortened to a few steps."""

import sys

import pytest

from headrace.tools import demo

SHORT = ["--steps", "3", "--batch-size", "8"]


def test_it_reports_the_accuracy_and_what_to_try_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main([*SHORT, "--goal", "0"]) == 0
    printed = capsys.readouterr().out
    assert "1438 digits to learn from, 359 to be tested on" in printed
    assert "Test accuracy: 0." in printed
    assert "What to try next" in printed


def test_it_fails_below_the_goal(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main([*SHORT, "--goal", "1.01"]) == 1
    assert "The goal was not reached" in capsys.readouterr().err


def test_it_shows_progress_without_tqdm(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert demo.main([*SHORT, "--goal", "0"]) == 0
    assert capsys.readouterr().err == " 33% 66% 100%\n"


def test_training_lowers_the_loss(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--steps", "150", "--goal", "0.8"]) == 0


@pytest.mark.parametrize("steps", ["0", "-3", "many"])
def test_a_number_of_steps_that_makes_no_sense_is_refused(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--steps", steps])
    assert "--steps" in capsys.readouterr().err
