"""The benchmark of queues: its rows move the elements they claim to, and how it is told."""

import json

import pytest

import headrace as tf
from benchmarks import queues, report

RESULT = {
    "processor": "a processor", "cpus": 2, "headrace": "1", "tensorflow": "2",
    "rows": {"FIFO, small": {"elements": 10, "headrace": [0.1, 0.2], "tensorflow": [0.2, 0.2], "ratio": 0.75}},
}  # fmt: skip


@pytest.mark.parametrize("kind", queues.KINDS)
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("pairs", [0, 2])
def test_a_call_adds_what_it_takes(kind, many, pairs, monkeypatch):
    monkeypatch.setitem(queues.STEPS, "small", 20)
    through = queues.Through(tf, kind, "small", many, pairs)
    try:
        through()
        through()
        (handle,) = [op for op in through._session.graph.get_operations() if op.type.endswith("QueueV2")]
        with through._session.graph.as_default():
            size = tf.raw_ops.QueueSizeV2(handle=handle.outputs[0])
        assert through._session.run(size) == (queues.STAY if kind == "shuffle" else 0)
    finally:
        through.close()


def test_training_on_shuffled_batches(monkeypatch):
    monkeypatch.setattr(queues, "BATCHES", 2)
    training = queues.Training(tf, 2)
    try:
        training()
        (weights,) = training._session.graph.get_collection("variables")
        assert abs(training._session.run(weights)).sum() > 0
    finally:
        training.close()


def test_rows_say_how_many_elements_they_move():
    assert queues.elements("FIFO, small, one by one, in turn") == 1
    assert queues.elements("shuffle, 1 MB, 8 together, 4 + 4 threads") == 8 * queues.STEPS["1 MB"]
    assert queues.elements("shuffle_batch of TFRecords to a training step, 2 threads") == queues.BATCH * queues.BATCHES
    assert len(queues.CASES) == 2 * 2 * 2 * 5 + 3


def test_the_report_is_markdown(tmp_path, capsys):
    path = tmp_path / "queues.json"
    path.write_text(json.dumps(RESULT))
    assert report.main([str(path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("a processor, 2 cores; Headrace 1 (interpreted), TensorFlow 2;")
    assert "| FIFO, small | 100 | 50 | 0.75 | 0.50-1.00 |" in text
