"""Measuring the machine: programs as steps have them, figures that are possible, a clock that the caller may choose."""

from functools import partial

import pytest

from headrace.core.dtypes import float32
from headrace.extend import register_device, unregister_device
from headrace.passes.cost.rates import BUS, HOST, NEAR, NETWORK, Link
from headrace.passes.cost.use import CONVOLUTION, USES
from headrace.runtime.costs import calibrate, programs
from headrace.runtime.costs.probe import Bench, shortest


@pytest.fixture
def bench():
    made = Bench(1)
    yield made
    made.close()


@pytest.fixture
def small(monkeypatch):
    """Figures of a moment."""
    monkeypatch.setattr(calibrate, "SHARE", 1e-4)
    monkeypatch.setattr(calibrate, "LARGE", {"": 1 << 14})
    monkeypatch.setattr(calibrate, "ROWS", {"": 64})
    monkeypatch.setattr(calibrate, "PICTURES", {"": 1})


def test_all_figures_are_measured(small, monkeypatch):
    monkeypatch.setattr(calibrate, "_between_tasks", lambda: Link(1.0, 2.0))
    monkeypatch.setattr(calibrate, "_steps", [lambda clock: 5.0])
    machine = calibrate.measure(2)
    rates = machine.rates["CPU"]
    assert rates.flops.keys() == {"float32", "float64", "float32 convolution", "float64 convolution"}
    assert {*rates.launches} == {*USES}
    assert {*rates.bandwidths, CONVOLUTION} == {*USES}
    numbers = [
        *rates.flops.values(),
        *rates.bandwidths.values(),
        rates.bandwidth,
        rates.launch,
        rates.array,
        rates.memory,
    ]
    assert all(0 < number < float("inf") for number in numbers)
    assert rates.launch < 1e-2
    assert rates.queued == 0
    assert machine.step == 5.0
    assert {*machine.links} == {NEAR, BUS, HOST, NETWORK}
    assert machine.links[HOST] == Link(1.0, 2.0)
    assert machine.links[NETWORK].latency >= 1.0  # no network is quicker than the host itself


def test_random_numbers_have_a_state_on_each_device():
    """A generator of one device draws nothing on another."""
    register_device("ACCELERATOR", "cpu", 1)
    try:
        both = Bench(1)
        for name in ("ACCELERATOR", "CPU"):
            both.probe(name, partial(programs.drawing, 8)).seconds(1e-4)
        assert len(both.registered._states.all()) == 2
        both.close()
    finally:
        unregister_device("ACCELERATOR")


def test_a_machine_without_the_libraries_of_clusters_takes_the_usual_link(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(calibrate.importlib, "import_module", missing)
    assert calibrate._between_tasks() is None


def test_a_probe_runs_as_a_step_does_and_knows_its_work(bench):
    probe = bench.probe("CPU", partial(programs.product, 4, 8, float32))
    assert (probe.nodes, probe.work.flops) == (1, 2 * 4 * 8 * 8)
    (result,) = probe.program.call(*probe.inputs)
    assert result.shape == (4, 8)
    on_arrays = bench.probe("CPU", partial(programs.chain, 8, [4]), arrays=True)
    assert len(on_arrays.program.on_arrays) == 8
    assert not bench.probe("CPU", partial(programs.chain, 8, [4])).program.on_arrays


@pytest.mark.parametrize(
    ("make", "types"),
    [
        (programs.mixture, {"BiasAdd", "Relu", "AddN", "ReluGrad"}),
        (partial(programs.convolution, 1, float32, 4, 2), {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"}),
        (partial(programs.pooling, 1, 4, 2), {"MaxPool", "MaxPoolGrad"}),
        (partial(programs.rows, 8, 4, 2), {"GatherV2", "UnsortedSegmentSum"}),
        (partial(programs.drawing, 8), {"RandomUniform"}),
    ],
)
def test_the_programs_run(bench, make, types):
    probe = bench.probe("CPU", make)
    probe.program.call(*probe.inputs)
    assert types <= {node.type for node in probe.program.lines.values()}


def test_the_shortest_sample_counts_and_a_slow_call_is_not_repeated_for_long():
    now = [0.0]
    durations = iter([9.0, 4.0, 7.0, 3.0])
    calls = []

    def run():
        calls.append(1)
        now[0] += next(durations)

    assert shortest(run, lambda: None, 1.0, lambda: now[0]) == 3.0
    assert len(calls) == 4  # one to warm up, one to see how long it takes, two samples at least
