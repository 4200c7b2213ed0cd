"""The benchmark of steps: what is compared with what, and how it is told."""

import json
import subprocess
import sys

import pytest

from benchmarks import _harness, _step_runner, _step_table, report
from benchmarks._peers import workload


def entry(*times, **fields):
    """What the runner knows about a framework whose samples took these times."""
    samples = [{"step_s": seconds, "peak_bytes": 2**30} for seconds in times]
    found = {"version": "1", "losses": [1.0], "build_s": 1.0, "first_s": 2.0, "samples": samples, **fields}
    _step_runner._summarise(found)
    return found


FOUND = {
    "headrace": entry(0.4, 0.4, 0.4),
    "headrace-compiled": entry(0.1, 0.2, 0.3),
    "torch": entry(0.2, 0.2, 0.2),
    "jax": {"error": "stopped: no memory"},
}
RESULT = {
    "time": "2026-01-02T03:04:05", "processor": "a processor", "cpus": 2, "threads": 2, "rounds": 3, "seconds": 1.0,
    "busy": False, "frameworks": list(FOUND), "workloads": {"mlp": {"title": "MLP", "found": FOUND}},
}  # fmt: skip


def test_the_best_of_ours_is_compared_round_by_round():
    assert _step_runner.best(FOUND) == "headrace-compiled"
    assert _step_runner.ratios(FOUND, "torch") == pytest.approx([0.5, 1.0, 1.5])


def test_a_framework_that_failed_has_no_ratio():
    assert _step_runner.ratios(FOUND, "jax") == []
    assert _step_runner.ratios({"torch": FOUND["torch"]}, "torch") == []
    assert _step_runner.best({"headrace": {"error": "x"}}) is None


def test_losses_must_agree_with_the_first():
    found = {"a": {"losses": [1.0, 0.5]}, "b": {"losses": [1.0, 0.5004]}, "c": {"losses": [1.0, 0.51]}}
    _step_runner.check_losses(found, 1e-3)
    assert "error" not in found["a"] and "error" not in found["b"]
    assert "differ" in found["c"]["error"]


def test_the_table_gives_times_ratios_and_reasons():
    header, row = _step_table.step_times(RESULT)
    assert header[-2:] == ["best / PyTorch eager", "best / JAX"]
    assert row == ["MLP", "400 ms", "200 ms", "200 ms", "failed", "1.00 (0.50-1.50)", "-"]
    assert _step_table.errors(RESULT) == ["MLP, JAX: stopped: no memory"]


def test_the_report_is_markdown(tmp_path, capsys):
    path = tmp_path / "steps.json"
    path.write_text(json.dumps(RESULT))
    assert report.main([str(path)]) == 0
    text = capsys.readouterr().out
    assert "| MLP | 400 ms | 200 ms |" in text
    assert "a processor, 2 threads" in text


@pytest.mark.parametrize("suite", ["CPU", "SMALL", "GPU", "GPU_SMALL"])
def test_every_workload_has_its_model(suite):
    for chosen in getattr(workload, suite).values():
        assert chosen.bare or (_harness.ROOT / "headrace" / "models" / f"{chosen.model}.py").exists()


def test_models_run_under_another_face_than_headrace():
    """What TensorFlow's worker relies on: `import headrace` gives another library, `headrace.models` our files."""
    code = (
        "from types import SimpleNamespace\nfrom benchmarks._peers import tf1_peer\n"
        "tf1_peer.stand_in(SimpleNamespace(float32='theirs'))\n"
        "import headrace, headrace.models.mlp as mlp\n"
        "assert headrace.float32 == mlp.tf.float32 == 'theirs'\nassert mlp.example(2)[0].shape == (2, 784)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=_harness.ROOT)


def test_a_worker_answers_with_losses_and_times():
    order = _step_runner.Order("SMALL", threads=1, start_s=100.0)
    worker = _step_runner.StepWorker("headrace", "mlp", order)
    try:
        assert len(worker.start["losses"]) == 3
        assert worker.sample(0.01)["median_s"] > 0
    finally:
        worker.close()


def test_a_worker_that_fails_says_why():
    with pytest.raises(_step_runner.WorkerError, match="no such workload|KeyError"):
        _step_runner.StepWorker("headrace", "no such workload", _step_runner.Order("SMALL", start_s=100.0))
