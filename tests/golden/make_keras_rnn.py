"""Runs ``keras_rnn_cases`` on TensorFlow and keeps what came out: ``python make_keras_rnn.py`` (needs tf_keras)."""

import os
import pathlib
import sys
import warnings

os.environ["TF_USE_LEGACY_KERAS"] = "1"
warnings.simplefilter("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from keras_rnn_cases import CASES, results  # noqa: E402

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
np.savez_compressed(pathlib.Path(__file__).with_name("keras_rnn.npz"), **results(tf))
print(len(CASES), "cases")
