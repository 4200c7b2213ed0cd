"""Makes layers.npz and layers.json: the programs of layers_cases.py by real TensorFlow.

Run with an interpreter that has tensorflow.  Batch normalization is not among them: TensorFlow 2 no longer ships TF1's.
"""

import json
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf
from layers_cases import CASES, fixed, node_names, variable_names
from tensorflow.python.keras.legacy_tf_layers import convolutional, core, pooling

tf.disable_v2_behavior()
tf.logging.set_verbosity("FATAL")


class Layers:
    """tf.layers as it was."""


for module in (convolutional, core, pooling):
    for name, value in vars(module).items():
        if not name.startswith("_") and callable(value):
            setattr(Layers, name, staticmethod(value))

if __name__ == "__main__":
    folder = Path(__file__).parent
    arrays, names = {}, {}
    for name, case in CASES.items():
        with tf.Graph().as_default(), tf.Session() as session, tf.variable_scope("", initializer=fixed):
            fetches = case(tf, Layers)
            names[name] = {"variables": variable_names(tf), "nodes": node_names(tf)}
            session.run(tf.global_variables_initializer())
            for i, array in enumerate(session.run(fetches)):
                arrays[f"{name}|{i}"] = array
    np.savez_compressed(folder / "layers.npz", **arrays)
    (folder / "layers.json").write_text(json.dumps(names, indent=0) + "\n")
    print(f"{len(CASES)} cases, {len(arrays)} arrays")
