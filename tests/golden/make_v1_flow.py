"""Builds the programs of v1_flow_cases.py with real TensorFlow, runs them, and writes v1_flow.json.xz.

`make_v1_flow.py first last file` writes others, for the conformance run.
"""

import json
import lzma
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow.compat.v1 as tf
from v1_flow_cases import SEEDS, case

tf.disable_v2_behavior()
tf.disable_control_flow_v2()
tf.disable_resource_variables()
tf.logging.set_verbosity("FATAL")

if __name__ == "__main__":
    seeds, path = SEEDS, Path(__file__).with_name("v1_flow.json.xz")
    if sys.argv[1:]:
        seeds, path = range(int(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3])
    found = {str(seed): case(tf, seed) for seed in seeds}
    path.write_bytes(lzma.compress(json.dumps(found).encode(), preset=9))
