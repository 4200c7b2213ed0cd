"""The fine-tuning example: the estimator's steps are those of a session, its model learns, and checkpoints carry over."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import headrace as tf

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "examples.json").read_text())["dynamic"]["fine_tuning"]


@pytest.fixture(autouse=True)
def event_files_closed(nothing_leaks):
    yield
    tf.summary.FileWriterCache.clear()


def test_the_estimator_takes_the_steps_of_tensorflow(example, capsys):
    losses = example("fine_tuning")["main"](["--steps", "30"])
    np.testing.assert_allclose(losses, GOLDEN["numbers"], rtol=1e-4, atol=1e-5)
    shown = capsys.readouterr().out
    assert "global_step = 30.0000" in shown and "predicted 60 sentences" in shown


def test_it_learns(example, capsys):
    losses = example("fine_tuning")["main"](["--steps", "110"])
    shown = dict(line.split(" = ") for line in capsys.readouterr().out.splitlines() if " = " in line)
    assert losses[0] > 0.6 and float(shown["eval_accuracy"]) > 0.9


def test_what_the_checkpoint_lacks_begins_as_it_is(example, tmp_path):
    """The output is not in the checkpoint, so its first loss is that of other weights below it only."""
    program = example("fine_tuning")
    path = tmp_path / "one" / "model.ckpt"
    program["write_checkpoint"](type("Options", (), {"init_checkpoint": str(path), "seed": 9}))
    names = {name for name, _ in tf.train.list_variables(str(path))}
    assert "bert/encoder/layer_1/attention/query/kernel" in names and "output_weights" not in names
    flags = ["--loop", "session", "--steps", "1"]
    (other,) = program["main"]([*flags, "--init_checkpoint", str(path)])
    assert other == program["main"]([*flags, "--init_checkpoint", str(path)])[0]
    assert abs(other - GOLDEN["numbers"][0]) > 1e-3


def test_flags(refuses):
    assert "invalid choice: 'tpu'" in refuses("fine_tuning", "--loop", "tpu")
