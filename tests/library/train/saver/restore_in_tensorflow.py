"""Restores with TensorFlow what Headrace saved: ``<python with tensorflow> restore_in_tensorflow.py FOLDER``."""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, str(Path(__file__).parents[3] / "golden"))

import checkpoint_cases as cases
import numpy as np
import tensorflow.compat.v1 as tf


def restored(prefix, build):
    with tf.Graph().as_default(), tf.Session() as session:
        variables = build()
        tf.train.Saver().restore(session, prefix)
        return session.run(variables)


def partitioned():
    cases.make_partitioned(tf, rows=2, columns=5)
    return {
        name: tf.get_default_graph().get_collection(tf.GraphKeys.GLOBAL_VARIABLES, name) for name in ("rows", "columns")
    }


def main(folder):
    tf.disable_v2_behavior()
    plain = cases.plain()
    for name in ("plain", "sharded", "again"):
        values = restored(
            f"{folder}/{name}", lambda: {n: tf.Variable(a, name=n) for n, a in plain.items() if "none" not in n}
        )
        for key, value in values.items():
            np.testing.assert_array_equal(value, plain[key], f"{name} {key}")
    parts = restored(f"{folder}/partitioned", partitioned)
    np.testing.assert_array_equal(np.concatenate(parts["rows"]), cases.ROWS)
    np.testing.assert_array_equal(np.concatenate(parts["columns"], 1), cases.COLUMNS)
    np.testing.assert_array_equal(tf.train.load_variable(f"{folder}/partitioned", "rows"), cases.ROWS)
    bits = restored(f"{folder}/odd", lambda: tf.Variable(tf.zeros([3], tf.bfloat16), name="bfloat16", trainable=False))
    np.testing.assert_allclose(bits.astype(np.float32), cases.BFLOAT16, rtol=0.01)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(f"{folder}/network.meta")
        saver.restore(session, f"{folder}/network")
        (y,) = tf.get_collection("outputs")
        np.testing.assert_allclose(session.run(y, {"x:0": np.eye(3)}), cases.network_output(np.eye(3)), rtol=1e-5)
        assert [v.name for v in tf.trainable_variables()] == ["layer/w/part_0:0", "layer/w/part_1:0", "layer/b:0"]
        assert tf.get_collection("sizes") == [3] and tf.get_collection("names") == [b"layer"]
    assert tf.train.latest_checkpoint(folder) == f"{folder}/again"
    print("restored")


if __name__ == "__main__":
    main(sys.argv[1])
