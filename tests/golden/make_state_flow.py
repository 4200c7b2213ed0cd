"""Runs the programs of state_flow_cases.py under TensorFlow and writes their results to state_flow.json."""

import json
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf
from state_flow_cases import SEEDS, grow, record

tf.disable_v2_behavior()
tf.disable_resource_variables()
tf.logging.set_verbosity("FATAL")

if __name__ == "__main__":
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    found = {str(seed): [float(f"{x:.12g}") for x in record(tf, *grow(seed), config)] for seed in SEEDS}
    lines = ",\n".join(f'"{seed}":{json.dumps(row)}' for seed, row in found.items())
    Path(__file__).with_name("state_flow.json").write_text(f"{{{lines}}}\n")
