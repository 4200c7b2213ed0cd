"""FileWriter: what it writes, as TensorBoard reads it."""

import os
import sys
import threading
import types

import numpy as np
import pytest

import headrace as tf

# TensorBoard's own way to be told that there is no TensorFlow: `tests/tensorflow` would pass for it.
sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))
EventAccumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator").EventAccumulator


def number(tag, value):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def events(folder):
    return [e for name in sorted(os.listdir(folder)) for e in tf.train.summary_iterator(os.path.join(folder, name))]


def test_tensorboard_reads_a_training_run(tmp_path):
    x = tf.placeholder(tf.float32, [4, 4, 4, 3], "x")
    weights = tf.Variable(tf.zeros([3]), name="weights")
    loss = tf.reduce_mean(tf.square(x * weights - 1))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    tf.summary.scalar("loss", loss)
    tf.summary.histogram("weights_seen", weights)
    tf.summary.image("input", x, max_outputs=2)
    tf.summary.audio("sound", tf.reshape(x, [4, 48]), 8000.0, max_outputs=1)
    tf.summary.text("note", tf.constant("**bold**"))
    merged = tf.summary.merge_all()
    initialize = tf.global_variables_initializer()
    losses = []
    with tf.Session() as session, tf.summary.FileWriter(tmp_path, session.graph) as writer:
        session.run(initialize)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 0)
        for step in range(5):
            feed = {x: np.full([4, 4, 4, 3], 0.5 + step)}
            summary, value, _ = session.run([merged, loss, train], feed)
            writer.add_summary(summary, step)
            losses.append(value)
        writer.add_run_metadata(tf.RunMetadata(), "last step", 4)
        writer.add_meta_graph(tf.MetaGraphDef(graph_def=session.graph_def))
        nodes = len(session.graph_def.node)
    read = EventAccumulator(str(tmp_path), size_guidance={"histograms": 0})
    read.Reload()
    tags = read.Tags()
    assert (tags["scalars"], tags["histograms"]) == (["loss"], ["weights_seen"])
    assert (tags["images"], tags["audio"]) == (["input/image/0", "input/image/1"], ["sound/audio"])
    assert (tags["tensors"], tags["run_metadata"]) == (["note"], ["last step"])
    assert [(e.step, e.value) for e in read.Scalars("loss")] == list(enumerate(losses))
    assert [e.step for e in read.Histograms("weights_seen")] == list(range(5))
    assert read.Histograms("weights_seen")[0].histogram_value.num == 3
    assert (read.Images("input/image/0")[0].width, read.Audio("sound/audio")[0].sample_rate) == (4, 8000)
    assert read.Tensors("note")[0].tensor_proto.string_val == [b"**bold**"]
    assert read.SummaryMetadata("note").plugin_data.plugin_name == "text"
    assert len(read.Graph().node) == nodes
    assert len(read.MetaGraph().graph_def.node) == nodes


def test_metadata_are_written_once_for_each_tag(tmp_path):
    text = tf.summary.text("t", tf.constant("a"))
    with tf.summary.FileWriter(tmp_path) as writer, tf.Session() as session:
        for step in range(2):
            writer.add_summary(session.run(text), step)
    first, second = [e.summary.value[0] for e in events(tmp_path)[1:]]
    assert (first.HasField("metadata"), second.HasField("metadata")) == (True, False)


def test_steps_may_be_any_integer(tmp_path):
    with tf.summary.FileWriter(tmp_path) as writer:
        for step in (None, 0, np.int64(2**40), np.array(7), -1):
            writer.add_summary(number("a", 1), step)
        with pytest.raises(ValueError, match="invalid literal"):
            writer.add_summary(number("a", 1), "seven")
    assert [e.step for e in events(tmp_path)[1:]] == [0, 0, 2**40, 7, -1]


def test_events_are_written_as_they_are(tmp_path):
    mine = tf.Event(wall_time=5, step=3, summary=number("a", 1))
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_event(mine)
        mine.step = 4  # too late
    assert [(e.wall_time, e.step) for e in events(tmp_path)[1:]] == [(5, 3)]


def test_mistakes(tmp_path):
    with tf.summary.FileWriter(tmp_path) as writer:
        for call, error, words in (
            (lambda: writer.add_summary("text"), TypeError, "got 'text' of type str"),
            (lambda: writer.add_summary(b"\xff\xff"), ValueError, "bytes that are no Summary"),
            (lambda: writer.add_graph(None), TypeError, "must be an instance of `Graph`"),
            (lambda: writer.add_graph(tf.Graph(), graph_def=tf.GraphDef()), ValueError, "but not both"),
            (lambda: writer.add_meta_graph(3), TypeError, "must be type MetaGraphDef"),
            (lambda: writer.add_event(3), TypeError, "takes a tf.Event, got 3"),
            (lambda: writer.add_session_log(3), TypeError, "takes a tf.SessionLog, got 3"),
        ):
            with pytest.raises(error, match=words):
                call()
        writer.add_run_metadata(tf.RunMetadata(), "once")
        with pytest.raises(ValueError, match="already used for this event type: 'once'"):
            writer.add_run_metadata(tf.RunMetadata(), "once")


def test_a_closed_writer_warns_and_can_be_reopened(tmp_path):
    writer = tf.summary.FileWriter(tmp_path)
    writer.add_summary(number("a", 1), 1)
    writer.close()
    for call in (lambda: writer.add_summary(number("a", 1), 2), writer.flush, lambda: writer.add_event(tf.Event())):
        with pytest.warns(UserWarning, match="closed FileWriter") as caught:
            call()
        assert caught[0].filename == __file__
    writer.reopen()
    writer.add_summary(number("a", 1), 3)
    writer.close()
    assert len(os.listdir(tmp_path)) == 2
    assert [e.step for e in events(tmp_path) if e.HasField("summary")] == [1, 3]
    assert writer.get_logdir() == str(tmp_path)


def test_a_graph_def_is_deprecated(tmp_path, caplog, graph):
    tf.constant(1, name="one")
    with tf.summary.FileWriter(tmp_path, graph_def=graph.as_graph_def()):
        assert "Passing a `GraphDef` to the SummaryWriter is deprecated" in caplog.text
    with tf.train.SummaryWriter(tmp_path, graph) as writer:
        assert isinstance(writer, tf.summary.FileWriter)
        assert "tf.train.SummaryWriter is deprecated" in caplog.text
    graphs = [tf.GraphDef.FromString(e.graph_def) for e in events(tmp_path) if e.graph_def]
    assert [[n.name for n in g.node] for g in graphs] == [["one"], ["one"]]


def test_one_writer_for_each_folder(tmp_path):
    cache = tf.summary.FileWriterCache
    first = cache.get(str(tmp_path / "a"))
    assert cache.get(str(tmp_path / "a")) is first
    assert cache.get(str(tmp_path / "b")) is not first
    cache.clear()
    assert all(t.name != "EventLoggerThread" for t in threading.enumerate())
    assert cache.get(str(tmp_path / "a")) is not first
    cache.clear()


def test_not_eagerly(tmp_path):
    with tf.eager_mode():
        assert tf.Summary.FromString(tf.summary.scalar("a", 1.5).numpy()).value[0].simple_value == 1.5
        for call in (lambda: tf.summary.FileWriter(tmp_path), lambda: tf.summary.merge([]), tf.summary.merge_all):
            with pytest.raises(RuntimeError, match="not compatible with eager execution"):
                call()


def test_numbers_need_no_tensorboard_and_messages_say_what_to_install(tmp_path, monkeypatch):
    summary = tf.summary.scalar("a", 1.5)
    tf.core.proto.protos.cache_clear()
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in [name for name in sys.modules if name.startswith("tensorboard.")]:
        monkeypatch.delitem(sys.modules, name)
    with tf.summary.FileWriter(tmp_path) as writer, tf.Session() as session:
        writer.add_summary(session.run(summary), 1)
        for ask in (lambda: tf.Summary, lambda: tf.summary.Event, lambda: writer.add_graph(session.graph)):
            with pytest.raises(ImportError, match=r"pip install tensorboard"):
                ask()
    monkeypatch.undo()
    assert events(tmp_path)[1].summary.value[0].simple_value == 1.5
