"""What traces tell, from events that are written down here."""

import pytest

from headrace.library.testing.profiler.findings import find

MS = 1000


def trace(*slices, steps=((0, 100),)):
    """Events of a trace: slices as (task, category, op, node, first and last millisecond), and the steps."""
    tasks = {}
    events = [
        {"name": f"step {i}", "ph": "X", "cat": "Step", "pid": 99, "tid": 99, "ts": a * MS, "dur": (b - a) * MS}
        for i, (a, b) in enumerate(steps)
    ]  # fmt: skip
    for task, category, op, node, began, ended in slices:
        job, _, index = task.partition(" ")
        device = f"/job:{job}/replica:0/task:{index}/device:CPU:0 Compute"
        if task not in tasks:
            tasks[task] = len(tasks) + 1
            events.append({"name": "process_name", "ph": "M", "pid": tasks[task], "args": {"name": device}})
        name = f"waits for {node}" if category == "Wait" else op
        args = {"name": node, "op": op, "source": f"train.py:{len(node)}"}
        events.append({
            "name": name, "ph": "X", "cat": category, "pid": tasks[task], "tid": category == "Wait",
            "ts": began * MS, "dur": (ended - began) * MS, "args": args,
        })  # fmt: skip
    return events


def test_a_starving_queue_is_named():
    waits = ("localhost 0", "Wait", "QueueDequeueV2", "queue input", 0, 90)
    found = find([trace(waits, ("localhost 0", "Op", "MatMul", "product", 90, 96))])
    assert found.verdict == "the step is starved: it waits for queue input (train.py:11) for 90% of the step."
    (task,) = found.tasks
    assert (task.computes, task.waits, task.rest) == pytest.approx((0.06, 0.9, 0.04))
    assert [item.what for item in found.items] == ["waits for queue input", "MatMul `product`"]


def test_waiting_beside_computing_is_not_waiting():
    waits = ("localhost 0", "Wait", "QueueDequeueV2", "queue input", 0, 90)
    found = find([trace(waits, ("localhost 0", "Op", "MatMul", "product", 5, 96))])
    assert found.verdict == "the step is slow in one place: it spends 91% of the step in MatMul `product` (train.py:7)."
    assert found.items[1].share == pytest.approx(0.05)


def test_the_slowest_stage_of_an_iterator_is_named():
    found = find([trace(
        ("localhost 0", "Wait", "IteratorGetNext", "next", 0, 80),
        ("localhost 0", "Stage", "MapDataset", "next/MapDataset", 0, 70),
        ("localhost 0", "Stage", "RangeDataset", "next/RangeDataset", 0, 10),
    )])  # fmt: skip
    assert (
        found.verdict
        == "the step is starved: it waits for next, mostly on MapDataset (train.py:4) for 80% of the step."
    )


def test_a_straggler_is_named_with_what_it_does():
    slices = [(f"worker {i}", "Op", "MatMul", "product", 0, 20) for i in range(3)]
    slices += [
        ("worker 3", "Wait", "QueueDequeueV2", "queue input_3", 0, 75),
        ("worker 3", "Op", "MatMul", "product", 75, 95),
    ]
    slices += [("worker 0", "Wait", "_RecvMany", "worker 3", 20, 95)]  # its own time is short
    found = find([trace(*slices)])
    assert found.verdict == (
        "worker 3 takes 4.8 times the median of the other tasks of 'worker': "
        "it waits for queue input_3 (train.py:13) for 75% of the step."
    )
    assert [round(t.own_micros) for t in found.tasks] == [20 * MS, 20 * MS, 20 * MS, 95 * MS]


def test_a_straggler_that_computes_in_traces_of_several_workers():
    traces = [
        trace((f"worker {i}", "Op", "Conv2D", "conv", 0, ms), ("ps 0", "Op", "Assign", "a", 0, 1))
        for i, ms in enumerate((20, 22, 90))
    ]
    found = find(traces)
    assert found.verdict == (
        "worker 2 takes 4.3 times the median of the other tasks of 'worker': "
        "it spends 90% of the step in Conv2D `conv` (train.py:4)."
    )
    assert found.steps == 3


def test_nodes_of_a_body_are_counted_once():
    loop = ("localhost 0", "Op", "While", "loop", 0, 90)
    body = [("localhost 0", "Op", "MatMul", "loop/product", t, t + 20) for t in (5, 30, 60)]
    found = find([trace(loop, *body)])
    assert [(i.what, round(i.micros)) for i in found.items] == [
        ("MatMul `loop/product`", 60 * MS),
        ("While `loop`", 30 * MS),
    ]
    assert found.tasks[0].computes == pytest.approx(0.9)


def test_times_are_those_of_a_step():
    found = find(
        [trace(("ps 0", "Op", "Exp", "e", 0, 10), ("ps 0", "Op", "Exp", "e", 50, 80), steps=((0, 50), (50, 100)))]
    )
    assert (found.steps, found.step_micros, found.items[0].micros) == (2, 50 * MS, 20 * MS)


def test_a_step_between_nodes_and_one_of_many_nodes():
    assert find([trace(("ps 0", "Op", "Exp", "e", 0, 3))]).verdict.startswith("No node takes long: 97% of the step")
    many = [("ps 0", "Op", "Exp", f"e{i}", 10 * i, 10 * i + 10) for i in range(10)]
    assert find([trace(*many)]).verdict.startswith("The time is spread over many nodes. The most, 10%, is Exp `e0`")


def test_a_trace_without_steps_is_one_step_from_its_first_node_to_its_last():
    found = find([trace(("ps 0", "Op", "Exp", "e", 10, 30), ("ps 0", "Op", "Log", "l", 30, 50), steps=())])
    assert (found.steps, found.step_micros) == (1, 40 * MS)
    assert [item.share for item in found.items] == [0.5, 0.5]


def test_a_trace_without_nodes_and_steps_is_refused():
    with pytest.raises(ValueError, match="the trace has neither steps nor nodes"):
        find([trace(steps=())])


def test_idle_devices_say_why():
    (one, other) = find([trace(
        ("ps 0", "Op", "Exp", "e", 0, 20), ("ps 0", "Wait", "_RecvMany", "worker 0", 10, 90),
        ("worker 0", "Op", "Exp", "f", 0, 75),
    )]).devices  # fmt: skip
    nothing = "nothing is ready: Python between nodes, or other devices compute"
    assert one.device == "ps 0 CPU:0"
    assert one.idle == pytest.approx(0.8)
    assert one.causes == (("waits for worker 0", pytest.approx(0.7)), (nothing, pytest.approx(0.1)))
    assert other.causes == ((nothing, pytest.approx(0.25)),)


def test_what_was_between_two_steps_is_no_idle_time():
    slices = [("ps 0", "Op", "Exp", "e", 0, 10), ("ps 0", "Wait", "_RecvMany", "worker 0", 10, 100)]
    (one,) = find([trace(*slices, steps=((0, 10), (90, 100)))]).devices
    assert one.causes == (("waits for worker 0", pytest.approx(0.5)),)


def test_the_costliest_ops_are_no_waits():
    found = find([trace(("ps 0", "Wait", "_RecvMany", "worker 0", 10, 90), ("ps 0", "Op", "Exp", "e", 0, 8))])
    assert [item.what for item in found.costliest(10)] == ["Exp `e`"]
