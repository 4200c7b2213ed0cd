"""Timeline against what real TensorFlow makes of the same trace (tests/golden/timeline.pbtxt)."""

import json
from pathlib import Path

import pytest
from google.protobuf import text_format
from tensorboard.compat.proto.step_stats_pb2 import StepStats

import headrace as tf
from headrace.profiler import Timeline

GOLDEN = Path(__file__).parents[3] / "golden"


@pytest.fixture
def stats():
    return text_format.Parse((GOLDEN / "timeline.pbtxt").read_text(), StepStats())


def events(text):
    """The events of a trace; arrows are numbered in their order."""
    found = json.loads(text)["traceEvents"]
    numbers: dict[int, int] = {}
    return [{**e, "id": numbers.setdefault(e["id"], len(numbers))} if "id" in e else e for e in found]


def test_the_trace_is_tensorflows(stats):
    ours = events(Timeline(stats).generate_chrome_trace_format())
    assert ours == events((GOLDEN / "timeline.json").read_text())


def test_without_arrows(stats):
    ours = events(Timeline(stats).generate_chrome_trace_format(show_dataflow=False))
    assert ours == [e for e in events((GOLDEN / "timeline.json").read_text()) if e["ph"] not in "st"]


def test_mistakes(stats):
    with pytest.raises(ValueError, match="trace_level=tf.RunOptions.FULL_TRACE"):
        Timeline(tf.RunMetadata().step_stats)
    with pytest.raises(ValueError, match="op_time must be one of schedule, gpu, all, got 'never'"):
        Timeline(stats).generate_chrome_trace_format(op_time="never")


PS, WORKER = (f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker"))
KEY = f"{PS}>{WORKER} 0"


def own_stats(*devices):
    """A trace as Headrace makes it: for each device its nodes as (label, first and last microsecond, thread)."""
    stats = StepStats()
    for name, nodes in devices:
        device = stats.dev_stats.add(device=name, thread_names={0: "waiting", 7: "MainThread"})
        for label, began, ended, thread in nodes:
            node = device.node_stats.add(node_name=label.split(" = ")[0], timeline_label=label, thread_id=thread)
            node.all_start_nanos, node.all_end_rel_nanos = began * 1000, (ended - began) * 1000
            node.output.add()
    return stats


def test_threads_have_their_names_and_waits_their_causes():
    found = Timeline(
        own_stats((PS, [
            ("loop = While(x)", 10, 100, 7), ("body = Add(y)", 20, 30, 7), ("after = Mul(loop)", 100, 110, 7),
            ("deq = QueueDequeueV2(input/queue)", 5, 50, 0), ("it = IteratorGetNext(files)", 6, 60, 0),
        ]))
    ).events()  # fmt: skip
    lanes = {e["tid"]: e["args"]["name"] for e in found if e["name"] == "thread_name"}
    assert lanes == {1: "MainThread", 2: "waiting", 3: "waiting"}
    assert {e["name"]: e["tid"] for e in found if e["ph"] == "X"} == {
        "While": 1, "Add": 1, "Mul": 1, "waits for queue input/queue": 2, "waits for iterator files": 3
    }  # fmt: skip


def test_an_arrow_goes_from_what_sends_to_where_it_arrives():
    sends = [(f"_send/{KEY} = _SendMany(v)", t, t + 5, 7) for t in (10, 30)]  # in a loop of two iterations
    takes = [(f"_recv/0 = _RecvMany({KEY})", t, t + 12, 0) for t in (2, 22)]
    found = Timeline(own_stats((PS, sends), (WORKER, takes))).events()
    arrows = [e for e in found if e["ph"] in "sf"]
    assert [(e["ph"], e["pid"], e["ts"]) for e in arrows] == [("s", 1, 10), ("f", 3, 13), ("s", 1, 30), ("f", 3, 33)]
    assert [e["id"] for e in arrows[::2]] == [e["id"] for e in arrows[1::2]]
    assert [e["ts"] for e in found if e["name"] == "arrives"] == [13, 33]
    assert [e["name"] for e in found if e.get("cat") == "Wait"] == ["waits for ps 0"] * 2


def test_memory_is_a_counter():
    stats = own_stats((PS, [("a = Exp(x)", 1, 9, 7)]))
    stats.dev_stats[0].node_stats[0].memory.add(allocator_name="host", allocator_bytes_in_use=4096)
    (counter,) = [e for e in Timeline(stats).events(show_memory=True) if e["ph"] == "C"]
    assert (counter["name"], counter["ts"], counter["args"]) == ("ps 0 host", 9, {"bytes": 4096})
    assert not [e for e in Timeline(stats).events() if e["ph"] == "C"]


def test_a_step_says_how_much_memory_is_in_use_and_where_its_nodes_were_made(session):
    x = tf.placeholder(tf.float32, [None, 8])
    product = tf.matmul(x, tf.ones([8, 8]), name="product")
    metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(product, {x: [[1.0] * 8]}, options=options, run_metadata=metadata)
    found = Timeline(metadata.step_stats, product.graph).events(show_memory=True)
    assert next(e for e in found if e["ph"] == "C")["args"]["bytes"] > 1 << 20
    (made,) = [e["args"]["source"] for e in found if e["ph"] == "X" and e["args"]["name"] == "product"]
    assert made.rpartition(":")[0].endswith(Path(__file__).name)


def test_an_arrow_from_the_node_that_fills_a_queue_to_the_wait_that_it_ends():
    stats = own_stats((WORKER, [
        ("next = QueueDequeueV2(q)", 0, 50, 0),
        ("early = QueueEnqueueV2(q, a)", -10, -5, 7),
        ("fill = QueueEnqueueV2(q, x)", 40, 45, 7),
        ("late = QueueEnqueueV2(q, y)", 60, 65, 7),
        ("other = QueueEnqueueV2(p, y)", 46, 48, 7),
    ]))  # fmt: skip
    arrows = [e for e in Timeline(stats).events() if e.get("cat") == "Queue"]
    assert [(e["ph"], e["name"], e["ts"]) for e in arrows] == [("s", "q", 40), ("f", "q", 49)]
    assert not [e for e in Timeline(stats).events(show_dataflow=False) if e.get("cat") == "Queue"]
