"""The benchmark of the simulator: its jobs, and how it judges."""

import pytest

import headrace as tf
from benchmarks import _simulate_jobs, simulate
from benchmarks._simulate_figures import NETWORK, dense_job
from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import Rules, computing
from headrace.library.simulation.simulate import run
from headrace.passes.cost.rates import USUAL


def row(case: str, measured: float, simulated: float) -> dict[str, object]:
    return {"case": case, "measured": measured, "simulated": simulated}


def test_settings_that_are_clearly_apart_are_compared() -> None:
    rows = [row("a", 100, 50), row("a", 105, 20), row("a", 200, 60), row("a", 300, 55), row("b", 1, 1000)]
    assert simulate.order(rows) == (4, 5)


@pytest.mark.parametrize("case", ["scalar", "sparse_1", "dense_1"])
def test_null_steps(case: str) -> None:
    job = _simulate_jobs.null_job(case, 2, USUAL)
    assert job.servers == 2 and computing(job.step) > 0
    assert run(job, Cluster(3, 2), rounds=4).steps > 0


@pytest.mark.parametrize(
    "rules", [Rules("async"), Rules("sync"), Rules("backup", backups=1)], ids=lambda rules: rules.mode
)
def test_a_dense_job(rules: Rules) -> None:
    """10 MB each way at 1 GB/s, and 0.1 s of computing; an update takes the gradients of those that count."""
    outcome = run(dense_job(10e6, 2, 0.1, rules), Cluster(4, 2, NETWORK), rounds=12)
    assert 0.12 < outcome.times["p50"] < 0.25
    if rules.gathers:
        counted = 4 - (rules.backups or 0)
        assert outcome.counted == pytest.approx(counted * outcome.updates, rel=0.1)


def test_a_step_is_timed_here() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2])
        assert _simulate_jobs._local_step(tf, graph, tf.square(x), {x: [1.0, 2.0]}) > 0
