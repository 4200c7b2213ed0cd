"""Merged traces in which no message arrives before it was sent."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.core.proto import protos
from headrace.runtime.session.causality import Crossing, crossings, moves, settle

PS, WORKER, OTHER = (f"/job:{job}/replica:0/task:{i}" for job, i in (("ps", 0), ("worker", 0), ("worker", 1)))


def stats_of(*nodes):
    """A trace of nodes as (task, name, op, inputs, nanoseconds of begin and end)."""
    stats = protos().StepStats()
    devices = {}
    for task, name, op, inputs, began, ended in nodes:
        if task not in devices:
            devices[task] = stats.dev_stats.add(device=f"{task}/device:CPU:0")
        node = devices[task].node_stats.add(node_name=name, timeline_label=f"{name} = {op}({', '.join(inputs)})")
        node.all_start_nanos, node.all_end_rel_nanos = began, ended - began
    return stats


def begins(stats):
    return {node.node_name: node.all_start_nanos for device in stats.dev_stats for node in device.node_stats}


def test_a_message_that_arrives_too_early_moves_the_task_that_takes_it():
    stats = stats_of(
        (WORKER, "_send/k", "_SendMany", ["x"], 5000, 6000),
        (PS, "_recv/k", "_RecvMany", ["k"], 1000, 2000),
        (PS, "after", "Exp", ["k"], 2000, 2500),
    )
    assert settle(stats, WORKER) == {PS: 3000}
    assert begins(stats) == {"_send/k": 5000, "_recv/k": 4000, "after": 5000}
    node = stats.dev_stats[1].node_stats[0]
    assert (node.all_start_micros, node.scheduled_micros, node.scheduled_nanos) == (4, 4, 3000)


def test_the_task_that_stays_is_the_one_that_asks():
    stats = stats_of(
        (WORKER, "_send/k", "_SendMany", ["x"], 5000, 6000), (PS, "_recv/k", "_RecvMany", ["k"], 1000, 2000)
    )
    assert settle(stats, PS) == {WORKER: -3000}
    assert begins(stats)["_send/k"] == 2000


def test_a_trace_that_is_right_stays_as_it_is():
    stats = stats_of(
        (WORKER, "_send/k", "_SendMany", ["x"], 5000, 6000), (PS, "_recv/k", "_RecvMany", ["k"], 1000, 5500)
    )
    assert settle(stats, WORKER) == {}
    assert begins(stats) == {"_send/k": 5000, "_recv/k": 1000}


def test_messages_of_one_key_go_together_in_their_order():
    stats = stats_of(
        (WORKER, "_send/k", "_SendMany", ["x"], 10, 11), (WORKER, "_send/k", "_SendMany", ["x"], 30, 31),
        (PS, "_recv/k", "_RecvMany", ["k", "l"], 0, 12), (PS, "_recv/k", "_RecvMany", ["k", "l"], 13, 40),
    )  # fmt: skip
    assert list(crossings(stats)) == [Crossing(WORKER, 10, PS, 12), Crossing(WORKER, 30, PS, 40)]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4), st.integers(0, 4), st.integers(0, 10**6), st.integers(0, 1000)
        ).filter(lambda m: m[0] != m[1]),
        max_size=20,
    ),
    st.lists(st.integers(-5000, 5000), min_size=5, max_size=5),
)  # fmt: skip
def test_clocks_that_are_wrong_by_a_constant_are_always_settled(messages, wrong):
    seen = [
        Crossing(f"t{a}", at + wrong[a], f"t{b}", at + took + wrong[b]) for a, b, at, took in messages
    ]  # fmt: skip
    moved = moves(seen, "t0")
    assert "t0" not in moved
    for one in seen:
        assert one.arrived + moved.get(one.destination, 0) >= one.sent + moved.get(one.source, 0)
