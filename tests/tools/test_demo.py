"""The demo program, shortened to a few steps."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.models import digits
from headrace.tools import demo

SHORT = ["--steps", "3", "--batch-size", "8"]


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)


def test_it_reports_the_accuracy_and_what_to_try_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main([*SHORT, "--goal", "0"]) == 0
    printed, progress = capsys.readouterr()
    assert "1438 digits to learn from, 359 to be tested on" in printed
    assert "Test accuracy: 0." in printed
    assert "What to try next" in printed
    assert "step 3/3 (100 %)" in progress


def test_it_leaves_a_checkpoint_events_a_timeline_and_a_picture(tmp_path: Path) -> None:
    folder = tmp_path / "left"
    for _ in range(2):  # the second run begins anew
        assert demo.main([*SHORT, "--goal", "0", "--folder", str(folder)]) == 0
    assert tf.train.load_variable(str(folder), "global_step") == 3
    assert (folder / "model.ckpt-3.meta").exists()
    assert json.loads((folder / "timeline-3.json").read_text())["traceEvents"]
    tags = {
        value.tag
        for file in folder.glob("events.out.tfevents.*")
        for event in tf.train.summary_iterator(str(file))
        for value in event.summary.value
    }
    assert {"training/loss", "training/accuracy", "hidden", "confusion/image"} <= tags
    with tf.Session() as session:
        picture = session.run(tf.image.decode_png((folder / "confusion.png").read_bytes()))
    assert picture.shape == (11 * 10 * demo.SCALE, 11 * 10 * demo.SCALE, 1)


def test_the_picture_is_dark_where_the_answers_are() -> None:
    _, test = digits.load()
    picture = demo.draw(np.eye(10, dtype=int) * 30, test)[..., 0]
    cell = 10 * demo.SCALE
    assert (picture[2 * cell : 3 * cell, 2 * cell : 3 * cell] == 0).all()
    assert (picture[2 * cell : 3 * cell, 3 * cell : 4 * cell] == 255).all()
    assert picture[cell:, :cell].min() == 0  # the digits at the head of the rows


def test_the_next_commands_begin_with_the_environment_unless_it_is_active(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", f"{Path.cwd()}/env")
    monkeypatch.setenv("PATH", "")
    first, *others = demo.next_commands(Path("out"))
    assert first[0] == ". env/bin/activate"
    assert "tensorboard --logdir out" in dict(others)
    Path("env/bin").mkdir(parents=True)
    Path("env/bin/python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{Path.cwd()}/env/bin")
    assert list(demo.next_commands(Path("out"))) == others


def test_it_fails_below_the_goal(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main([*SHORT, "--goal", "1.01"]) == 1
    assert "The goal was not reached" in capsys.readouterr().err


def test_training_lowers_the_loss() -> None:
    assert demo.main(["--steps", "150", "--goal", "0.8"]) == 0


@pytest.mark.parametrize("steps", ["0", "-3", "many"])
def test_a_number_of_steps_that_makes_no_sense_is_refused(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--steps", steps])
    assert "--steps" in capsys.readouterr().err
