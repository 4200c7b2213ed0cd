"""The critical path of steps that are written down here."""

import pytest

from headrace.library.testing.profiler.critical_path import BETWEEN, COMPUTES, TRAVELS, WAITS, critical_path

MS = 1000


def node(task, category, op, name, began, ended, inputs=(), tid=1):
    """A slice, and the name of its device."""
    job, _, index = task.partition(" ")
    pid = {"worker 0": 1, "ps 0": 2, "worker 1": 3}[task]
    device = f"/job:{job}/replica:0/task:{index}/device:CPU:0 Compute"
    args = {"name": name, "op": op, "source": f"train.py:{len(name)}"}
    args |= {f"input{i}": one for i, one in enumerate(inputs)}
    return [
        {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": device}},
        {
            "name": f"waits for {name}" if category == "Wait" else op, "ph": "X", "cat": category, "pid": pid,
            "tid": 10 * pid + (0 if category == "Wait" else tid), "ts": began * MS, "dur": (ended - began) * MS, "args": args,
        },
    ]  # fmt: skip


def message(number, sender, wait):
    """An arrow from the beginning of a slice to the last moment of another."""
    return [
        {"ph": "s", "cat": "Message", "name": "k", "id": number, "pid": sender["pid"], "tid": sender["tid"], "ts": sender["ts"]},
        {"ph": "f", "cat": "Message", "name": "k", "id": number, "pid": wait["pid"], "tid": wait["tid"],
         "ts": wait["ts"] + wait["dur"] - 1, "bp": "e"},
    ]  # fmt: skip


def path(events, *steps):
    return [
        (hop.task, hop.what, hop.cause, round(hop.micros / MS, 2))
        for hop in critical_path(events, [(a * MS, b * MS) for a, b in steps])
    ]


def test_nodes_one_after_another_with_a_gap():
    events = node("worker 0", "Op", "Exp", "e", 2, 10) + node("worker 0", "Op", "Log", "l", 13, 20, ["e"])
    assert path(events, (0, 21)) == [
        ("worker 0", "Exp `e`", COMPUTES, 8),
        ("worker 0", "Log `l`", COMPUTES, 7),
        ("worker 0", "between nodes", BETWEEN, 4),  # 3 between the two, 1 after the last
        ("", "before the first node", BETWEEN, 2),
    ]


def test_of_two_branches_the_longer_one_is_on_the_path():
    events = [
        *node("worker 0", "Op", "Exp", "short", 0, 3, tid=1), *node("worker 0", "Op", "Exp", "long", 0, 9, tid=2),
        *node("worker 0", "Op", "AddV2", "sum", 10, 12, ["short", "long:0"], tid=1),
    ]  # fmt: skip
    assert [what for _, what, _, _ in path(events, (0, 12))] == ["Exp `long`", "AddV2 `sum`", "between nodes"]


def test_a_message_leads_to_the_task_that_sent_it():
    send = node("ps 0", "Op", "_SendMany", "_send/ps>/job:worker/replica:0/task:0 k", 8, 9)
    wait = node("worker 0", "Wait", "_RecvMany", "ps 0", 0, 12, ["k"])
    events = [
        *node("ps 0", "Op", "Exp", "parameters", 0, 8), *send, *wait, *message(1, send[1], wait[1]),
        *node("worker 0", "Op", "MatMul", "product", 12, 20, ["parameters"]),
    ]  # fmt: skip
    assert path(events, (0, 20)) == [
        ("worker 0", "MatMul `product`", COMPUTES, 8),
        ("ps 0", "Exp `parameters`", COMPUTES, 8),
        ("worker 0", "a message from ps 0", TRAVELS, 3),
        ("ps 0", "sending to worker 0", COMPUTES, 1),
    ]


def test_nodes_that_take_no_whole_microsecond():
    """Two of them on two threads had each ended when the other began; a message had come when its sender began."""
    events = [
        *node("worker 0", "Op", "Exp", "e", 5, 5, tid=1), *node("worker 0", "Op", "Log", "l", 5, 5, ["e"], tid=2),
        *node("worker 0", "Op", "Exp", "e2", 5, 5, ["l"], tid=1),
    ]  # fmt: skip
    assert path(events, (0, 7)) == [
        ("", "before the first node", BETWEEN, 5),
        ("worker 0", "between nodes", BETWEEN, 2),
    ]
    send = node("ps 0", "Op", "_SendMany", "_send", 5, 5, ["ps 0"])
    wait = node("worker 0", "Wait", "_RecvMany", "ps 0", 5, 5, ["k"])
    back = node("worker 0", "Op", "_SendMany", "k", 5, 5, ["ps 0"])
    events = [*send, *wait, *back, *message(1, send[1], wait[1]), *node("worker 0", "Op", "Exp", "e", 5, 6, ["ps 0"])]
    assert path(events, (0, 6))[0] == ("", "before the first node", BETWEEN, 5)


def test_a_wait_for_a_queue_is_itself_on_the_path():
    events = node("worker 0", "Wait", "QueueDequeueV2", "queue q", 0, 15) + node(
        "worker 0", "Op", "Exp", "e", 15, 20, ["queue q"]
    )
    assert path(events, (0, 20))[0] == ("worker 0", "waits for queue q", WAITS, 15)


def test_the_nodes_of_a_loop_are_the_loop():
    events = [
        *node("worker 0", "Op", "While", "loop", 0, 10), *node("worker 0", "Op", "Exp", "inner", 2, 4),
        *node("worker 0", "Op", "Exp", "inner", 6, 8),
    ]  # fmt: skip
    assert path(events, (0, 10)) == [("worker 0", "While `loop`", COMPUTES, 10)]


def test_the_mean_of_several_steps():
    events = node("worker 0", "Op", "Exp", "e", 0, 10) + node("worker 0", "Op", "Exp", "e", 20, 24)
    ((_, what, _, micros), *_) = path(events, (0, 10), (20, 24))
    assert (what, micros) == ("Exp `e`", 7)
    (hop, *_) = critical_path(events, [(0, 10 * MS), (20 * MS, 24 * MS)])
    assert hop.share == pytest.approx(1.0)


def test_a_step_without_nodes():
    assert path([], (0, 5)) == [("", "before the first node", BETWEEN, 5)]
