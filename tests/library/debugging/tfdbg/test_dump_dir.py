"""Files of tfdbg: TensorFlow reads ours."""

import json
import os
import subprocess

import pytest

import headrace as tf
from headrace.debugging import tfdbg

TENSORFLOW = os.environ.get("HEADRACE_TF_PYTHON", "")
READ = """
import json, sys
from tensorflow.python.debug.lib import debug_data
dump = debug_data.DebugDumpDir(sys.argv[1])
print(json.dumps([
    [(one.node_name, one.output_slot, one.debug_op, one.device_name, str(one.get_tensor().tolist()))
     for one in dump.dumped_tensor_data],
    [one.node_name for one in dump.find(debug_data.has_inf_or_nan)],
    dump.run_fetches_info, dump.run_feed_keys_info, dump.core_metadata.global_step,
]))
"""


def _dump(root):
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("deep"):
        y = tf.log(x, name="risky")
    text = tf.constant(["a", "b"], name="text")
    loop = tf.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="next_1"), [0])
    options = tf.RunOptions()
    tfdbg.watch_graph(options, y.graph, debug_urls=f"file://{root}", global_step=3)
    with tf.Session() as sess:
        sess.run([y, text, loop], {x: [0.0, 1.0]}, options=options)


def test_names_and_values_come_back(tmp_path):
    _dump(tmp_path)
    dump = tfdbg.DebugDumpDir(str(tmp_path))
    assert dump.get_tensors("while/next_1", 0, "DebugIdentity") == [1, 2, 3]
    assert dump.get_tensors("text", 0, "DebugIdentity")[0].tolist() == [b"a", b"b"]
    assert dump.debug_watch_keys("deep/risky") == ["deep/risky:0:DebugIdentity"]
    assert dump.debug_watch_keys("deep/risky", dump.devices()[0]) == ["deep/risky:0:DebugIdentity"]
    assert dump.debug_watch_keys("deep/risky", "/device:GPU:7") == []
    assert len(dump.get_tensor_file_paths("while/next_1", 0, "DebugIdentity")) == 3
    assert min(dump.get_rel_timestamps("while/next_1", 0, "DebugIdentity")) >= 0
    assert dump.size == len(dump.dumped_tensor_data)
    assert dump.node_exists("x")
    assert dump.node_device("x").endswith("CPU:0")
    with pytest.raises(ValueError, match='Watch key "y:0:DebugIdentity" does not exist'):
        dump.get_tensors("y", 0, "DebugIdentity")
    with pytest.raises(LookupError, match="set_python_graph"):
        dump.node_traceback("x")
    dump.set_python_graph(tf.get_default_graph())
    assert dump.node_op_type("deep/risky") == "Log"
    assert dump.node_traceback("deep/risky:0")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        tfdbg.DebugDumpDir(str(tmp_path / "nothing"))


@pytest.mark.skipif(not TENSORFLOW, reason="HEADRACE_TF_PYTHON names no Python with TensorFlow")
def test_tensorflow_reads_the_files(tmp_path, full_length):
    _dump(tmp_path)
    done = subprocess.run([TENSORFLOW, "-c", READ, str(tmp_path)], capture_output=True, check=True, text=True)
    data, strange, fetches, feeds, step = json.loads(done.stdout.splitlines()[-1])
    ours = tfdbg.DebugDumpDir(str(tmp_path))
    assert [tuple(one) for one in data] == [
        (one.node_name, one.output_slot, one.debug_op, one.device_name, str(one.get_tensor().tolist()))
        for one in ours.dumped_tensor_data
    ]
    assert (strange, fetches, feeds, step) == (["deep/risky"], ours.run_fetches_info, ours.run_feed_keys_info, 3)
