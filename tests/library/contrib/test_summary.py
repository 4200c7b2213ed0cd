"""tf.contrib.summary: nodes that write to event files.  Tags, steps and events are those that TensorFlow 2.21 writes."""

import os
from pathlib import Path
from typing import Any

import pytest

import headrace as tf
from headrace.graph import raw_ops

summary = tf.contrib.summary
OFF = tf.ConfigProto(compile="off")


def events(folder: Path) -> list[Any]:
    """The events of all files of a folder, without the first of each, which names the format."""
    names = sorted(os.listdir(folder))
    return [e for name in names for e in list(tf.train.summary_iterator(folder / name))[1:]]


def tags(folder: Path) -> list[tuple[int, str]]:
    return sorted((e.step, value.tag) for e in events(folder) for value in e.summary.value)


def test_a_graph_writes_what_is_recorded(tmp_path: Path) -> None:
    step = tf.train.create_global_step()
    writer = summary.create_file_writer(tmp_path, filename_suffix=".mine")
    assert summary.scalar("without a writer", 1.0).type == "NoOp"
    with writer.as_default():
        assert not summary.is_recording_summaries()
        assert summary.scalar("not asked for", 1.0).op.type == "Const"
    with writer.as_default(), summary.always_record_summaries():
        assert summary.scalar("loss", 0.5).name == "loss/Const:0"
        with tf.name_scope("scope"):
            summary.scalar("loss", 2, family="family")
            summary.scalar("loss", 2)
            with summary.never_record_summaries():
                summary.scalar("loss", 2)
        summary.generic("any", tf.constant([1, 2]), step=7)
    with writer.as_default(), summary.record_summaries_every_n_global_steps(2):
        summary.scalar("every", 3.0)
    operations = summary.all_summary_ops()
    assert operations == tf.summary.all_v2_summary_ops() and len(operations) == 7
    with tf.Session(config=OFF) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(summary.summary_writer_initializer_op())
        ran = []
        for _ in range(3):
            ran.append(sess.run(operations)[-1].item())
            sess.run(tf.assign_add(step, 1))
        sess.run(writer.close())
    assert ran == [True, False, True]
    every_step = ["family/scope/family/loss", "loss", "scope/loss"]
    expected = [(n, tag) for n in range(3) for tag in every_step] + [(0, "every"), (2, "every")] + 3 * [(7, "any")]
    assert tags(tmp_path) == sorted(expected)
    assert [name.endswith(".mine") for name in os.listdir(tmp_path)] == [True]


def test_what_is_written_is_what_summaries_give(tmp_path: Path) -> None:
    sound, picture = tf.constant([[0.5, -0.5, 0.0]]), tf.constant([[[[0.25], [float("nan")]]]])
    with summary.create_file_writer(tmp_path).as_default() as writer, summary.always_record_summaries():
        summary.histogram("numbers", [1.0, 2.0, 2.5], step=1)
        summary.image("picture", picture, max_images=1, step=1)
        summary.audio("sound", sound, 8000.0, 2, step=1)
        summary.generic("strings", tf.constant(["a"]), tf.SummaryMetadata(display_name="shown"), step=1)
        summary.generic("plain", tf.constant([1.0]), step=1)
    metadata = tf.SummaryMetadata(display_name="shown")
    with tf.name_scope("again"):
        others = [
            tf.summary.histogram("numbers", [1.0, 2.0, 2.5]),
            tf.summary.image("picture", picture, 1),
            tf.summary.audio("sound", sound, 8000.0, 2),
            tf.summary.tensor_summary("strings", tf.constant(["a"]), summary_metadata=metadata),
            tf.summary.tensor_summary("plain", tf.constant([1.0])),
        ]
    with tf.Session(config=OFF) as sess:
        sess.run(summary.summary_writer_initializer_op())
        for op in summary.all_summary_ops():
            sess.run(op)
        expected = [tf.Summary.FromString(s) for s in sess.run(others)]
        sess.run(writer.close())
    for made in expected:
        made.value[0].tag = made.value[0].tag.removeprefix("again/")
    expected[-1].value[0].ClearField("metadata")  # TensorFlow writes none if there is none
    assert [e.summary for e in events(tmp_path)] == expected


def test_initialize_opens_files_and_writes_a_graph(tmp_path: Path) -> None:
    tf.constant(1.0, name="node")
    with tf.Session(config=OFF) as sess, summary.create_file_writer(tmp_path).as_default() as writer:
        tf.summary.initialize(graph=sess.graph)
        with pytest.raises(TypeError, match=r"must be a tf\.Graph or a tf\.GraphDef, got 'graph'"):
            tf.summary.initialize(graph="graph")
        with pytest.raises(TypeError, match="to be tf.Tensor"):
            summary.graph(sess.graph)
        encoded = sess.graph.as_graph_def().SerializeToString()
        sess.run([summary.graph(tf.constant(encoded), step=3), summary.flush()])
        sess.run(writer.close())
    first, second = events(tmp_path)
    assert [(e.step, tf.GraphDef.FromString(e.graph_def).node[0].name) for e in (first, second)] == [
        (0, "node"), (3, "node"),
    ]  # fmt: skip


def test_initialize_needs_a_writer_and_a_session(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="No default tf.contrib.summary.SummaryWriter found"):
        tf.summary.initialize()
    with summary.create_file_writer(tmp_path).as_default(), pytest.raises(ValueError, match="session"):
        tf.summary.initialize()


def test_a_writer_that_is_not_open(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default(), summary.always_record_summaries():
        write = summary.scalar("loss", 1.0, step=0)
    with tf.Session(config=OFF) as sess:
        for op in (write, writer.flush(), writer.close()):
            with pytest.raises(tf.errors.NotFoundError, match=r"not open: run its init\(\)"):
                sess.run(op)
        for _ in range(2):  # a second file
            sess.run(writer.init())
            sess.run(writer.init())
            sess.run(write)
            sess.run(writer.close())
    assert len(os.listdir(tmp_path)) == 2 and tags(tmp_path) == [(0, "loss")] * 2


def test_a_step_must_be_one_number(tmp_path: Path) -> None:
    with (
        summary.create_file_writer(tmp_path).as_default(),
        pytest.raises(ValueError, match=r"`step` must be a scalar.*\(2,\)"),
    ):
        summary.scalar("loss", 1.0, step=[1, 2])


def test_no_folder_is_a_writer_that_does_nothing() -> None:
    writer = summary.create_file_writer(None)
    with writer.as_default(), summary.always_record_summaries():
        assert summary.scalar("loss", 1.0).type == "NoOp"
    assert writer.init() is writer.flush() is writer.close() is None


def test_eager(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.eager_mode():
        step = tf.train.get_or_create_global_step()
        writer = summary.create_file_writer(tmp_path)
        with writer.as_default(), summary.record_summaries_every_n_global_steps(2):
            for _ in range(4):
                summary.scalar("loss", 1.0)
                step.assign_add(1)
            summary.graph(tf.Graph())
        assert tags(tmp_path) == [(0, "loss"), (2, "loss")]  # on disk at the end of the block
        assert summary.all_summary_ops() is None
        with pytest.raises(RuntimeError, match="only supported in graph mode"):
            summary.summary_writer_initializer_op()
        tf.summary.initialize()
        writer.close()
    assert events(tmp_path)[-1].HasField("graph_def")


def test_a_file_writer_of_a_session_shares_the_file(tmp_path: Path) -> None:
    value = tf.Summary(value=[tf.Summary.Value(tag="accuracy", simple_value=0.5)])
    with summary.create_file_writer(tmp_path).as_default(), summary.always_record_summaries():
        loss = summary.scalar("loss", 1.0, step=1)
    with tf.Session(config=OFF) as sess:
        writer = tf.summary.FileWriter(tmp_path, sess.graph, session=sess)
        sess.run(loss)
        writer.add_summary(value, 2)
        writer.flush()
        assert tags(tmp_path) == [(1, "loss"), (2, "accuracy")] and len(os.listdir(tmp_path)) == 1
        with pytest.raises(TypeError, match="takes a tf.Event, got 3"):
            writer.add_event(3)
        writer.close()
        writer.reopen()
        writer.add_summary(value.SerializeToString(), 3)
        writer.close()
    assert tags(tmp_path) == [(1, "loss"), (2, "accuracy"), (3, "accuracy")] and len(os.listdir(tmp_path)) == 2


def test_encoded_summaries_and_events(tmp_path: Path) -> None:
    encoded = tf.Summary(value=[tf.Summary.Value(tag="one", simple_value=1.0)]).SerializeToString()
    with summary.create_file_writer(tmp_path).as_default() as writer:
        whole = summary.import_event(tf.Event(step=5, wall_time=2.0).SerializeToString())
    with tf.Session(config=OFF) as sess:
        sess.run(writer.init())
        sess.run(raw_ops.WriteRawProtoSummary(writer.handle, 4, encoded))
        sess.run(whole)
        sess.run(writer.close())
    raw, imported = events(tmp_path)
    assert (raw.step, raw.summary.value[0].tag, imported.step, imported.wall_time) == (4, "one", 5, 2.0)


def test_folders_of_evaluations() -> None:
    assert summary.eval_dir("model") == os.path.join("model", "eval")
    assert summary.eval_dir("model", "test") == os.path.join("model", "eval_test")
