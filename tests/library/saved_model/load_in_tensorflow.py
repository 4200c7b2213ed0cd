"""Loads with TensorFlow the models that Headrace saved: ``<python with tensorflow> load_in_tensorflow.py FOLDER``."""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, str(Path(__file__).parents[2] / "golden"))

import numpy as np
import saved_model_cases as cases
import tensorflow as tf2
import tensorflow.compat.v1 as tf


def check(outputs, expected, run):
    for key, value in outputs.items():
        wanted = expected[f"{run}_{key}"]
        if value.dtype == object:
            np.testing.assert_array_equal(value, np.char.encode(wanted).astype(object), f"{run} {key}")
        else:
            np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6, err_msg=f"{run} {key}")


def main(folder):
    expected = np.load(f"{folder}/outputs.npz")
    for run, (name, signature, feeds) in enumerate(cases.feeds(tf)):
        with tf.Session(graph=tf.Graph()) as session:
            model = tf.saved_model.loader.load(session, ["serve"], f"{folder}/{name}")
            assert tf.saved_model.signature_def_utils.is_valid_signature(model.signature_def[signature])
            check(cases.run(tf, session, model, signature, feeds), expected, run)
    _, _, feeds = cases.feeds(tf)[2]
    with tf.Session(graph=tf.Graph()) as session:
        graph_def = tf.GraphDef.FromString(Path(folder, "lstm_frozen.pb").read_bytes())
        tf.import_graph_def(graph_def, name="")
        check({"chosen": session.run("chosen:0", {f"{key}:0": value for key, value in feeds.items()})}, expected, 2)
    restored = tf2.saved_model.load(f"{folder}/lenet").signatures["serving_default"]  # as TensorFlow 2 loads it
    outputs = restored(image=tf2.constant(cases.feeds(tf)[1][2]["image"]))
    check({key: value.numpy() for key, value in outputs.items()}, expected, 1)
    print("loaded")


if __name__ == "__main__":
    main(sys.argv[1])
