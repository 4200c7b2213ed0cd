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
    with pytest.raises(tf.errors.UnimplementedError, match="show_memory"):
        Timeline(stats).generate_chrome_trace_format(show_memory=True)
