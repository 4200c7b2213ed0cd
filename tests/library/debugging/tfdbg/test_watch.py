"""tfdbg: which tensors a run leaves in files, and what is in them."""

import json

import numpy as np
import pytest

import headrace as tf
from headrace.debugging import tfdbg


def _watched(options):
    return [f"{one.node_name}:{one.output_slot}" for one in options.debug_options.debug_tensor_watch_opts]


def _graph():
    x = tf.placeholder(tf.float32, [2], name="x")
    loop = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.multiply(v, 2.0, name="doubled")), [0, x])[1]
    return x, tf.log(loop, name="risky")


def test_patterns_choose_tensors():
    x, y = _graph()
    options = tf.RunOptions()
    tfdbg.watch_graph(options, y.graph, node_name_regex_whitelist="x|.*doubled$")
    assert _watched(options) == ["x:0", "while/doubled:0"]
    options = tf.RunOptions()
    tfdbg.watch_graph(options, y.graph, op_type_regex_whitelist="Log", tensor_dtype_regex_whitelist="float")
    assert _watched(options) == ["risky:0"]
    options = tf.RunOptions()
    tfdbg.watch_graph_with_blacklists(options, y.graph, node_name_regex_blacklist="while")
    assert _watched(options) == ["x:0", "risky:0"]


def test_a_run_leaves_what_is_watched(tmp_path):
    x, y = _graph()
    options = tf.RunOptions()
    url = f"file://{tmp_path}/dump"
    tfdbg.watch_graph(options, y.graph, debug_urls=url, node_name_regex_whitelist=".*doubled$|risky", global_step=7)
    tfdbg.add_debug_tensor_watch(options, "risky", 0, ["DebugNanCount", "DebugNumericSummary"], url, global_step=7)
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(y, {x: [0.0, 1.0]}, options=options), [-np.inf, np.log(8.0)], rtol=1e-6)
    dump = tfdbg.DebugDumpDir(str(tmp_path / "dump"))
    assert [one.tolist() for one in dump.get_tensors("while/doubled", 0, "DebugIdentity")] == [[0, 2], [0, 4], [0, 8]]
    assert dump.get_tensors("risky", 0, "DebugNanCount")[0].tolist() == [0]
    summary = dump.get_tensors("risky", 0, "DebugNumericSummary")[0]
    assert summary[:8].tolist() == [1, 2, 0, 1, 0, 0, 1, 0]
    assert summary[-3:].tolist() == [1, 1, 2], "dtype, rank, size"
    assert [one.node_name for one in dump.find(tfdbg.has_inf_or_nan, first_n=1)] == ["risky"]
    assert dump.core_metadata.global_step == 7
    assert dump.run_fetches_info == "['risky:0']"
    assert dump.run_feed_keys_info == "['x:0']"
    assert dump.devices() == ["/job:localhost/replica:0/task:0/device:CPU:0"]


def test_a_callable_with_options(tmp_path):
    x, y = _graph()
    options = tf.RunOptions()
    tfdbg.add_debug_tensor_watch(options, "risky", debug_urls=f"file://{tmp_path}/dump")
    with tf.Session() as sess:
        sess.make_callable(y, [x], accept_options=True)([1.0, 1.0], options=options)
    assert tfdbg.DebugDumpDir(str(tmp_path / "dump")).nodes() == ["risky"]


def test_a_name_that_leads_out_of_the_folder(tmp_path):
    away = tf.constant(1.0, name="a/../../../away")
    options = tf.RunOptions()
    tfdbg.watch_graph(options, tf.get_default_graph(), debug_urls=f"file://{tmp_path}/dumps")
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="its name leads to"):
        sess.run(away, options=options)
    assert not [file for file in tmp_path.iterdir() if file.name != "dumps"]


def test_what_is_refused():
    x, y = _graph()
    with tf.Session() as sess:
        options = tf.RunOptions()
        tfdbg.add_debug_tensor_watch(options, "risky", debug_urls="grpc://localhost:6064")
        with pytest.raises(tf.errors.UnimplementedError, match="debug_urls are folders"):
            sess.run(y, {x: [1.0, 1.0]}, options=options)
        options = tf.RunOptions()
        tfdbg.add_debug_tensor_watch(options, "risky", debug_ops="DebugNothing", debug_urls="file:///tmp/x")
        with pytest.raises(tf.errors.InvalidArgumentError, match="there is no debug op 'DebugNothing'"):
            sess.run(y, {x: [1.0, 1.0]}, options=options)


def test_watch_options_say_what_they_are():
    assert "node_name_regex_whitelist='a'" in repr(tfdbg.WatchOptions(node_name_regex_whitelist="a"))
    assert json.dumps(tfdbg.WatchOptions().debug_ops) == '["DebugIdentity"]'
