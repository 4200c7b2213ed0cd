"""Writes arguments.json: what TensorFlow makes of the calls of argument_cases.py.  Run with TensorFlow installed."""

import json
from pathlib import Path

import tensorflow.compat.v1 as tf
from argument_cases import CALLS, outcomes

tf.disable_v2_behavior()
tf.logging.set_verbosity("FATAL")
config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
config.graph_options.rewrite_options.disable_meta_optimizer = True
found = {name: outcomes(tf, name, config) for name in CALLS}
lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
Path(__file__).with_name("arguments.json").write_text("{" + lines + "}\n")
