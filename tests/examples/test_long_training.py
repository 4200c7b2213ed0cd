"""The long training, stopped by SIGTERM and started again: where it would be without the stop; TensorBoard reads its log."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import headrace as tf

# TensorBoard's own way to be told that there is no TensorFlow: `tests/tensorflow` would pass for it.
sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))
EventAccumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator").EventAccumulator

EXAMPLE = Path(__file__).parents[2] / "examples" / "long_training.py"
STEPS = 1200


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(EXAMPLE), "--folder", str(folder), "--steps", str(STEPS)], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "HEADRACE_COMPILE": "off"},
    )  # fmt: skip


def finish(process: subprocess.Popen[str], status: int) -> str:
    out, log = process.communicate(timeout=100)
    assert process.returncode == status, log
    return out


def stop_after(process: subprocess.Popen[str], line: str) -> None:
    """Sends SIGTERM when the log has such a line."""
    assert process.stderr is not None
    for text in process.stderr:
        if line in text:
            process.send_signal(signal.SIGTERM)
            return
    raise AssertionError(f"the log never had {line!r}")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """A training that was stopped once, one that was not, and what both printed."""
    whole, stopped = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("stopped")
    printed = [finish(start(whole), 0)]
    process = start(stopped)
    stop_after(process, " sec)")  # of a second line with the loss: some hundred steps
    assert finish(process, 143) == ""
    step = int(tf.train.load_variable(str(stopped), "global_step"))
    assert 100 <= step < STEPS
    printed.append(finish(start(stopped), 0))
    return whole, stopped, printed


@pytest.mark.usefixtures("full_length")
def test_a_stop_changes_the_result_by_rounding_only(folders: tuple[Path, Path, list[str]]) -> None:
    whole, stopped, printed = folders
    losses = [float(text.removeprefix(f"step {STEPS}, loss ")) for text in printed]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    readers = [tf.train.load_checkpoint(str(folder)) for folder in (whole, stopped)]
    names = readers[0].get_variable_to_shape_map()
    assert names.keys() == readers[1].get_variable_to_shape_map().keys()
    for name in names:
        # Hooks are due at other steps after a restart, so that other plans run; they may round otherwise.
        np.testing.assert_allclose(readers[0].get_tensor(name), readers[1].get_tensor(name), rtol=1e-3, atol=1e-5)


@pytest.mark.usefixtures("full_length")
def test_tensorboard_reads_the_log(folders: tuple[Path, Path, list[str]]) -> None:
    scalars = []
    for folder in folders[:2]:
        log = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        log.Reload()
        tags = log.Tags()
        assert tags["graph"]
        assert "weights" in tags["histograms"]
        assert tags["run_metadata"]
        assert "global_step/sec" in tags["scalars"]
        scalars.append({event.step: event.value for event in log.Scalars("loss")})
    whole, stopped = scalars
    assert len(whole) == STEPS // 20
    shared = whole.keys() & stopped.keys()
    assert len(shared) > 5
    assert all(whole[step] == pytest.approx(stopped[step], abs=1e-4) for step in shared)


@pytest.mark.usefixtures("full_length")
def test_traces_are_there(folders: tuple[Path, Path, list[str]]) -> None:
    for folder in folders[:2]:
        assert list(folder.glob("timeline-*.json"))
