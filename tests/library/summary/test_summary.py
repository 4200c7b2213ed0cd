"""tf.summary: what users may pass and what they are told; names, tags and bytes are in test_summary_golden.py."""

import numpy as np
import pytest
from running import run

import headrace as tf


def parsed(tensor, feed=None):
    return tf.Summary.FromString(run(tensor, feed))


def test_summaries_follow_what_is_fed(session):
    x = tf.placeholder(tf.float32, [None])
    tf.summary.scalar("sum", tf.reduce_sum(x))
    tf.summary.histogram("all", x)
    merged = tf.summary.merge_all()
    for values in ([1, 2], [3, 4, 5]):
        total, histogram = tf.Summary.FromString(session.run(merged, {x: values})).value
        assert total.simple_value == sum(values)
        assert histogram.histo.num == len(values)


def test_collections(graph):
    plain, mine = tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 1.0, collections=["mine"])
    nowhere = tf.summary.scalar("c", 1.0, collections=[])
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [plain]
    assert tf.get_collection("mine") == [mine]
    assert nowhere.graph is graph
    assert tf.summary.merge_all("other") is None


def test_the_graph_is_that_of_the_values():
    with tf.Graph().as_default() as other:
        x = tf.constant(1.0)
    assert tf.summary.scalar("a", x).graph is other


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: tf.summary.scalar("a", "text"), TypeError, "string not in list of allowed values"),
        (lambda: tf.summary.scalar(None, 1.0), ValueError, "must be provided"),
        (lambda: tf.summary.text("a", tf.constant(1)), ValueError, "to have dtype string, got dtype tf.int32"),
        (lambda: tf.summary.text("a", "plain"), ValueError, "Expected tensor plain to have dtype string, got a str"),
        (lambda: tf.summary.image("a", tf.zeros([1, 2, 2, 3]), max_outputs=0), ValueError, "less than minimum 1"),
        (lambda: tf.summary.image("a", tf.zeros([1, 2, 2, 3], tf.int32)), TypeError, "int32 not in list"),
        (lambda: tf.summary.merge([]), ValueError, "shorter than minimum length 1"),
    ],
)
def test_mistakes_while_building(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tf.summary.scalar("a", [1.0, 2.0]), r"not the same shape: \[\] != \[2\] \(tag 'a'\)"),
        (lambda: tf.summary.histogram("h", [1.0, np.nan]), "Nan in summary histogram for: h"),
        (lambda: tf.summary.histogram("h", [1.0, np.inf]), "Infinity in summary histogram for: h"),
        (lambda: tf.summary.image("i", tf.zeros([2, 2, 3])), r"4-D with last dim 1, 3, or 4, not \[2, 2, 3\]"),
        (lambda: tf.summary.image("i", tf.zeros([1, 0, 2, 3])), "non-zero dims"),
        (lambda: tf.summary.audio("s", tf.zeros([2]), 8000), r"3-D or 2-D, got: \[2\]"),
        (lambda: tf.summary.audio("s", tf.zeros([1, 2]), 0), "sample_rate must be > 0"),
        (lambda: tf.summary.merge([tf.summary.scalar("a", 1)] * 2), "Duplicate tag a found in summary inputs"),
        (lambda: tf.summary.merge(["junk"]), "Could not parse one of the summary inputs"),
    ],
)
def test_mistakes_while_running(make, words):
    summary = make()
    with pytest.raises(tf.errors.InvalidArgumentError, match=words) as raised, tf.Session() as session:
        session.run(summary)
    assert __file__ in str(raised.value)  # the line that made the summary


def test_metadata_that_the_user_made():
    metadata = tf.SummaryMetadata(plugin_data={"plugin_name": "mine", "content": b"x"})
    (value,) = parsed(tf.summary.tensor_summary("t", [1.0], summary_metadata=metadata, display_name="shown")).value
    assert value.metadata.plugin_data.plugin_name == "mine"
    assert metadata.display_name == value.metadata.display_name == "shown"


def test_descriptions_of_nodes():
    described = tf.raw_ops.TensorSummary(tensor=[1.0], description='{"typeHint": "mine"}')
    assert tf.summary.get_summary_description(described.op.node_def).type_hint == "mine"
    with pytest.raises(ValueError, match="Can't get_summary_description on Const"):
        tf.summary.get_summary_description(tf.constant(1).op.node_def)
    assert parsed(described).value[0].node_name == "TensorSummary"


def test_no_gradient_flows_through_summaries():
    x = tf.constant(2.0)
    summary = tf.summary.scalar("a", x)
    with tf.control_dependencies([summary]):
        y = x * x
    (grad,) = tf.gradients(y, x)
    assert run(grad) == 4


def test_summaries_of_a_while_loop_and_bfloat16():
    body = tf.while_loop(lambda i, s: i < 3, lambda i, s: [i + 1, tf.summary.scalar("in", i, [])], [0, ""])[1]
    assert parsed(body).value[0].simple_value == 2
    assert parsed(tf.summary.scalar("b", tf.cast(1.5, tf.bfloat16))).value[0].simple_value == 1.5
    assert parsed(tf.summary.histogram("b", tf.cast([1.5], tf.bfloat16))).value[0].histo.max == 1.5
    assert parsed(tf.summary.tensor_summary("b", tf.cast([1.5], tf.bfloat16))).value[0].tensor.dtype == 14


def test_names_from_before_1_0(caplog):
    made = [
        tf.scalar_summary("a tag", 1.0),
        tf.scalar_summary(["p", "q"], [1.0, 2.0], name="both"),
        tf.histogram_summary("h", [1.0], name="histogram"),
        tf.image_summary("i", tf.zeros([1, 2, 2, 1]), max_images=1),
        tf.audio_summary("s", tf.zeros([1, 4]), 8000.0, max_outputs=1),
    ]
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == made
    assert [t.op.name for t in made[:3]] == ["ScalarSummary", "both", "histogram"]
    tags = [v.tag for v in parsed(tf.merge_all_summaries()).value]
    assert tags == ["a tag", "p", "q", "h", "i/image", "s/audio"]
    assert [v.tag for v in parsed(tf.merge_summary(made[:2])).value] == ["a tag", "p", "q"]
    assert "tf.scalar_summary is deprecated; use tf.summary.scalar instead" in caplog.text


def test_graphs_with_summaries_go_through_a_graph_def():
    x = tf.placeholder(tf.float32, [None], "x")
    with tf.name_scope("s"):
        tf.summary.scalar("mean", tf.reduce_mean(x))
        tf.summary.image("i", tf.reshape(x, [1, 1, -1, 1]))
        tf.summary.text("t", tf.constant("words"))
    merged = tf.summary.merge_all()
    expected = parsed(merged, {x: [1.0, 3.0]})
    definition = merged.graph.as_graph_def()
    with tf.Graph().as_default():
        y = tf.placeholder(tf.float32, [None])
        (again,) = tf.import_graph_def(definition, {"x:0": y}, [merged.name])
        assert parsed(again, {y: [1.0, 3.0]}) == expected
