"""Runs the programs of control_flow_cases.py under TensorFlow and writes their values and gradients to control_flow.json."""

import json
from pathlib import Path

import tensorflow.compat.v1 as tf
from control_flow_cases import SEEDS, record

tf.disable_v2_behavior()
tf.enable_control_flow_v2()  # the older kind has no second-order gradients

if __name__ == "__main__":
    found = {str(seed): [[float(f"{x:.9g}") for x in row] for row in record(tf, seed)] for seed in SEEDS}
    Path(__file__).with_name("control_flow.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")
