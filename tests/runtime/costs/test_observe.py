"""Measured costs from steps that have run."""

from types import SimpleNamespace

import pytest

import headrace as tf
from headrace.passes.cost.measured import key_of
from headrace.passes.cost.model import CALL
from headrace.runtime.costs import observe
from headrace.runtime.costs.observe import Span, Stopwatch, of_entries, of_spans
from headrace.runtime.host.recorder import Entry
from tests.passes.steps import step

CPU, GPU = (f"/job:localhost/replica:0/task:0/device:{name}:0" for name in ("CPU", "GPU"))


def two_nodes(device, shape=(2,)):
    x = tf.placeholder(tf.float32, shape)
    graph = step([tf.exp(tf.sqrt(x))], [x])
    for node in graph.nodes:
        node.device = device
    return graph.feeds[0], *graph.nodes[1:]


def seconds(measured):
    return {(device, key.partition("(")[0]): time for device, key, time, _ in measured.rows()}


def test_what_is_freed_after_a_node_is_its_own_and_looks_at_the_clock_are_not():
    _, root, power = two_nodes(CPU)
    run = [
        Span(root, 1000, 2000, 2000, [(2,)]),
        Span(power, 7000, 9000, 9000, [(2,)]),
        Span(power, 9100, 9200, 9200, [(2,)]),
    ]
    measured = of_spans([run], {}, {}, "CPU", look=10)
    # 5000 ns pass until the next begins, 100 of which the recorder takes: the rest frees memory.
    assert seconds(measured)["CPU", "Sqrt"] == pytest.approx((1000 - 10 + 4900) / 1e9)
    assert seconds(measured)["CPU", "Exp"] == pytest.approx(((2000 - 10) + (100 - 10)) / 2 / 1e9)


def test_of_several_runs_the_median_counts():
    _, root, _ = two_nodes(CPU)
    runs = [[Span(root, 0, nanos, nanos, [(2,)])] for nanos in (5000, 1000, 900_000)]
    ((device, key, time, count),) = of_spans(runs, {}, {}, "CPU").rows()
    assert (device, key, time, count) == ("CPU", key_of(root), 5e-6, 3)


def test_thread_and_accelerator_are_two_figures():
    _, root, power = two_nodes(GPU)
    run = [Span(root, 0, 3000, 20_000, [(2,)]), Span(power, 20_500, 25_500, 27_000, [(2,)])]
    measured = seconds(of_spans([run], {}, {"GPU": 2000.0}, "CPU"))
    assert measured == {
        ("GPU", "Sqrt"): pytest.approx(15e-6), ("GPU" + CALL, "Sqrt"): pytest.approx(3e-6),
        ("GPU", "Exp"): 0.0, ("GPU" + CALL, "Exp"): pytest.approx(5e-6),
    }  # fmt: skip


def test_shapes_that_are_seen_make_the_key():
    x, root, power = two_nodes("", shape=(None,))
    assert key_of(root) is None
    run = [Span(root, 0, 1, 1, [(7,)]), Span(power, 2, 3, 3, [(7,)])]
    keys = [key for _, key, _, _ in of_spans([run], {x: (7,)}, {}, "CPU").rows()]
    assert keys == ["Sqrt(float32[7]; T=float32)", "Exp(float32[7]; T=float32)"]
    assert [k for _, k, _, _ in of_spans([run], {}, {}, "CPU").rows()] == keys[1:]  # of what is fed nobody knows


def test_entries_of_a_trace_tell_too():
    _, root, power = two_nodes(CPU)
    entries = [
        Entry(root, 0, 4000, 1, outputs=[((2,), 8)]), Entry(power, 4000, 5000, 1, outputs=[((2,), 8)]),
        Entry(power, 6000, 9000, 1, outputs=[((2,), 8)]), Entry(root, 0, 9, 1, stage="map of a dataset"),
    ]  # fmt: skip
    assert seconds(of_entries(entries, "CPU")) == {
        ("CPU", "Sqrt"): 4e-6, ("CPU", "Exp"): pytest.approx(2e-6),
    }  # fmt: skip


def test_a_stopwatch_waits_for_the_accelerator_and_notes_both_times(monkeypatch):
    clock = iter([5, 8, 20])
    waited = []
    monkeypatch.setattr(observe.torch.accelerator, "synchronize", waited.append)
    devices = {CPU: SimpleNamespace(type="cpu"), GPU: SimpleNamespace(type="cuda")}
    watch = Stopwatch(devices.__getitem__, lambda: next(clock))
    _, root, _ = two_nodes(CPU)
    _, power, _ = two_nodes(GPU)
    watch.note(root, 1, [SimpleNamespace(shape=(2,))])
    assert (watch.spans, waited) == ([Span(root, 1, 5, 5, [(2,)])], [])
    watch.note(power, 6, [object()])
    assert watch.spans[1:] == [Span(power, 6, 8, 20, [None])]
    assert waited == [devices[GPU]]
    watch.start()
    assert watch.spans == []


def test_a_stopwatch_adds_its_looks_at_the_clock():
    ticks = iter(range(1_000_000))
    # A span has one tick in it; without a stopwatch all the nodes together have one.
    assert observe.excess(lambda: next(ticks)) == pytest.approx(1, rel=0.02)
