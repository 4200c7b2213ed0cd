"""Makes nn.npz: the results of nn_cases.py by real TensorFlow.  Run with an interpreter that has tensorflow."""

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf
from nn_cases import CASES, values

tf.disable_v2_behavior()
tf.logging.set_verbosity("FATAL")


def results(case):
    with tf.Graph().as_default():
        fetches = case(tf, lambda name, shape: tf.constant(values(name, shape)))
        config = tf.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.Session(config=config) as session:
            return session.run(fetches)


if __name__ == "__main__":
    arrays = {}
    for name, case in CASES.items():
        for i, array in enumerate(results(case)):
            arrays[f"{name}|{i}"] = array
    path = Path(__file__).parent / "nn.npz"
    np.savez_compressed(path, **arrays)
    print(f"{len(CASES)} cases, {len(arrays)} arrays, {path.stat().st_size} bytes")
