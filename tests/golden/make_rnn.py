"""Runs ``rnn_cases`` on TensorFlow and keeps what came out: ``python tests/golden/make_rnn.py`` (needs TensorFlow 2.x)."""

import pathlib
import sys
import types
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from rnn_cases import CASES, run, weight  # noqa: E402
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl  # noqa: E402

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


class Face(types.SimpleNamespace):
    """``tf`` with the cells in their TF1 place."""

    def __getattr__(self, name):
        return getattr(tf, name)


class NN:
    rnn_cell = rnn_cell_impl

    def __getattr__(self, name):
        return getattr(tf.nn, name)


kept = {}
for name, build in CASES.items():
    tf.reset_default_graph()
    names, values, gradients = run(Face(nn=NN()), build, weight)
    kept[f"{name}/names"] = np.array(names)
    for kind, arrays in (("value", values), ("gradient", gradients)):
        for i, array in enumerate(arrays):
            kept[f"{name}/{kind}/{i}"] = array
np.savez_compressed(pathlib.Path(__file__).with_name("rnn.npz"), **kept)
print(len(CASES), "cases")
