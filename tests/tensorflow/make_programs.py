"""Runs programs/*.py in real TensorFlow and keeps what they print: programs/*.txt.

    python tests/tensorflow/make_programs.py [name ...]

Needs an interpreter with TensorFlow 2, whose compat.v1 stands for TensorFlow 1.  What that no longer has in its old place
(tf.layers, tf.nn.rnn_cell, tf.contrib.lookup) is put back there; batch normalization and estimators, which are gone, are written
out (estimator_stand_in.py).
Keras is that of tf_keras, which must be installed too.  A program that runs ops eagerly gets a process of its own.
"""

import contextlib
import io
import os
import runpy
import subprocess
import sys
import types
import warnings
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.simplefilter("ignore")

import estimator_stand_in  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
import tf_keras.api._v1.keras as keras  # noqa: E402
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl  # noqa: E402
from tensorflow.python.keras.legacy_tf_layers import convolutional, core, pooling  # noqa: E402
from tensorflow.python.ops import lookup_ops  # noqa: E402

FOLDER = Path(__file__).parent / "programs"
EAGER = "enable_eager_execution()"


class Face(types.ModuleType):
    """A module with some names changed."""

    def __init__(self, name, below, **names):
        super().__init__(name)
        self.__dict__.update(names, _below=below)

    def __getattr__(self, name):
        return getattr(self.__dict__["_below"], name)


def batch_normalization(inputs, training=False):
    """What tf.layers.batch_normalization did with images, by default."""
    with tf.variable_scope(None, "batch_normalization"):
        size = [inputs.shape.as_list()[-1]]
        gamma = tf.get_variable("gamma", size, initializer=tf.ones_initializer())
        beta = tf.get_variable("beta", size, initializer=tf.zeros_initializer())
        mean = tf.get_variable("moving_mean", size, initializer=tf.zeros_initializer(), trainable=False)
        variance = tf.get_variable("moving_variance", size, initializer=tf.ones_initializer(), trainable=False)
        norm = tf.nn.fused_batch_norm
        outputs, new_mean, new_variance = tf.cond(
            training,
            lambda: norm(inputs, gamma, beta)[:3],
            lambda: norm(inputs, gamma, beta, mean, variance, is_training=False)[:3],
        )
        share = tf.cond(training, lambda: tf.constant(0.01), lambda: tf.constant(0.0))
        for average, value in ((mean, new_mean), (variance, new_variance)):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(average, (average - value) * share))
        return outputs


def install():
    """Makes ``import tensorflow`` mean TensorFlow 1, as near as can be."""
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    tf.logging.set_verbosity(tf.logging.FATAL)
    layers = types.ModuleType("tensorflow.layers")
    for module in (convolutional, core, pooling):
        vars(layers).update({name: value for name, value in vars(module).items() if not name.startswith("_")})
    layers.batch_normalization = batch_normalization
    sys.modules["tensorflow"] = Face(
        "tensorflow", tf, layers=layers, nn=Face("tensorflow.nn", tf.nn, rnn_cell=rnn_cell_impl),
        contrib=types.SimpleNamespace(
            lookup=lookup_ops, tpu=estimator_stand_in.tpu, data=tf.data.experimental,
            layers=types.SimpleNamespace(layer_norm=estimator_stand_in.layer_norm),
        ), keras=keras, estimator=estimator_stand_in.estimator,
    )  # fmt: skip
    modules = ("", ".layers", ".models", ".backend", ".preprocessing.text", ".preprocessing.sequence")
    for name in modules:
        module = keras
        for part in name.split(".")[1:]:
            module = getattr(module, part)
        sys.modules[f"tensorflow.keras{name}"] = module


def main(names):
    install()
    for path in sorted(FOLDER.glob("*.py")):
        if names and path.stem not in names:
            continue
        eager = EAGER in path.read_text()
        if eager and names != [path.stem]:
            subprocess.run([sys.executable, __file__, path.stem], check=True)
            continue
        if not eager:
            keras.backend.clear_session()
            tf.reset_default_graph()
        sys.argv = [str(path)]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            runpy.run_path(str(path), run_name="__main__")
        path.with_suffix(".txt").write_text(printed.getvalue())
        print(path.stem, len(printed.getvalue().splitlines()), "lines")


if __name__ == "__main__":
    main(sys.argv[1:])
